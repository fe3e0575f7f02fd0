"""The features that the releases of CIC-IDS2017 share, under the names of 2017, and the names others use."""

from fedbayes.data.intrusion.columns import ROW_NUMBERS
from fedbayes.data.intrusion.text import name_key

_NUMERIC = """
    Flow Duration, Total Fwd Packets, Total Backward Packets, Total Length of Fwd Packets,
    Total Length of Bwd Packets, Fwd Packet Length Max, Fwd Packet Length Min, Fwd Packet Length Mean,
    Fwd Packet Length Std, Bwd Packet Length Max, Bwd Packet Length Min, Bwd Packet Length Mean,
    Bwd Packet Length Std, Flow Bytes/s, Flow Packets/s, Flow IAT Mean, Flow IAT Std, Flow IAT Max, Flow IAT Min,
    Fwd IAT Total, Fwd IAT Mean, Fwd IAT Std, Fwd IAT Max, Fwd IAT Min, Bwd IAT Total, Bwd IAT Mean, Bwd IAT Std,
    Bwd IAT Max, Bwd IAT Min, Fwd PSH Flags, Bwd PSH Flags, Fwd URG Flags, Bwd URG Flags, Fwd Header Length,
    Bwd Header Length, Fwd Packets/s, Bwd Packets/s, Min Packet Length, Max Packet Length, Packet Length Mean,
    Packet Length Std, Packet Length Variance, FIN Flag Count, SYN Flag Count, RST Flag Count, PSH Flag Count,
    ACK Flag Count, URG Flag Count, CWE Flag Count, ECE Flag Count, Down/Up Ratio, Average Packet Size,
    Avg Fwd Segment Size, Avg Bwd Segment Size, Fwd Avg Bytes/Bulk, Fwd Avg Packets/Bulk, Fwd Avg Bulk Rate,
    Bwd Avg Bytes/Bulk, Bwd Avg Packets/Bulk, Bwd Avg Bulk Rate, Subflow Fwd Packets, Subflow Fwd Bytes,
    Subflow Bwd Packets, Subflow Bwd Bytes, Init_Win_bytes_forward, Init_Win_bytes_backward, act_data_pkt_fwd,
    min_seg_size_forward, Active Mean, Active Std, Active Max, Active Min, Idle Mean, Idle Std, Idle Max, Idle Min
"""
# Left: the name of 2017. Right: names in the cleaned Parquet files and in the corrected release.
_ALIASES = """
    Total Fwd Packets = Total Fwd Packet
    Total Backward Packets = Total Bwd packets
    Total Length of Fwd Packets = Fwd Packets Length Total, Total Length of Fwd Packet
    Total Length of Bwd Packets = Bwd Packets Length Total, Total Length of Bwd Packet
    Min Packet Length = Packet Length Min
    Max Packet Length = Packet Length Max
    CWE Flag Count = CWR Flag Count
    Average Packet Size = Avg Packet Size
    Avg Fwd Segment Size = Fwd Segment Size Avg
    Avg Bwd Segment Size = Bwd Segment Size Avg
    Fwd Avg Bytes/Bulk = Fwd Bytes/Bulk Avg
    Fwd Avg Packets/Bulk = Fwd Packet/Bulk Avg
    Fwd Avg Bulk Rate = Fwd Bulk Rate Avg
    Bwd Avg Bytes/Bulk = Bwd Bytes/Bulk Avg
    Bwd Avg Packets/Bulk = Bwd Packet/Bulk Avg
    Bwd Avg Bulk Rate = Bwd Bulk Rate Avg
    Init_Win_bytes_forward = Init Fwd Win Bytes, FWD Init Win Bytes
    Init_Win_bytes_backward = Init Bwd Win Bytes, Bwd Init Win Bytes
    act_data_pkt_fwd = Fwd Act Data Packets, Fwd Act Data Pkts
    min_seg_size_forward = Fwd Seg Size Min
"""


def _read_aliases() -> dict[str, tuple[str, ...]]:
    pairs = (line.split(" = ") for line in _ALIASES.strip().splitlines())
    return {name.strip(): tuple(name_key(other) for other in others.split(",")) for name, others in pairs}


NUMERIC = tuple(name.strip() for name in _NUMERIC.split(","))
ALIASES = {**dict.fromkeys(NUMERIC, ()), **_read_aliases()}
PROTOCOL = "Protocol"
PORT = "Destination Port"
IDENTIFIERS = {
    "identifiers, addresses, ports and times": (
        *("id", "flowid", "timestamp", "sourceip", "srcip", "destinationip", "dstip", "externalip"),
        *("sourceport", "srcport", "destinationport", "dstport"),
        *ROW_NUMBERS,
    )
}
