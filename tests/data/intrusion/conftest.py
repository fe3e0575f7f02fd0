"""Tiny hand-made files in the forms in which the intrusion data sets are published."""

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """Every test has a cache folder of its own."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("FEDBAYES_CACHE", str(folder))
    return folder


def nsl_row(**changes):
    """Return cells of one NSL-KDD row, in the order of the features, then label and difficulty."""
    from fedbayes.data.intrusion.nsl_kdd import FEATURES

    cells = dict.fromkeys(FEATURES, "0")
    cells |= {"protocol_type": "tcp", "service": "http", "flag": "SF", "label": "normal", "difficulty": "21"}
    cells |= {name: str(value) for name, value in changes.items()}
    return list(cells.values())


def unsw_row(**changes):
    """Return cells of one UNSW-NB15 row, in the order of the official header."""
    from fedbayes.data.intrusion.unsw_nb15 import FEATURES

    cells = {"id": "1", **dict.fromkeys(FEATURES, "0"), "attack_cat": "Normal", "label": "0"}
    cells |= {"proto": "tcp", "service": "-", "state": "FIN"}
    cells |= {name: str(value) for name, value in changes.items()}
    return list(cells.values())


CLEANED_NAMES = {
    "Total Length of Fwd Packets": "Fwd Packets Length Total",
    "Total Length of Bwd Packets": "Bwd Packets Length Total",
    "Min Packet Length": "Packet Length Min",
    "Max Packet Length": "Packet Length Max",
    "Average Packet Size": "Avg Packet Size",
    "Init_Win_bytes_forward": "Init Fwd Win Bytes",
    "Init_Win_bytes_backward": "Init Bwd Win Bytes",
    "act_data_pkt_fwd": "Fwd Act Data Packets",
    "min_seg_size_forward": "Fwd Seg Size Min",
}


def flow_header(form):
    """Return column names of CIC-IDS2017: ``labelled-flows``, ``machine-learning`` or ``cleaned``."""
    from fedbayes.data.intrusion.flow_features import NUMERIC

    names = list(NUMERIC)
    if form == "cleaned":
        return ["Protocol", *(CLEANED_NAMES.get(name, name) for name in names), "Label"]
    names.insert(
        names.index("Avg Bwd Segment Size") + 1, "Fwd Header Length"
    )  # stands twice in the originals
    front = ["Destination Port"]
    if form == "labelled-flows":
        front = ["Flow ID", "Source IP", "Source Port", "Destination IP", *front, "Protocol", "Timestamp"]
    return [*front, *names, "Label"]


def flow_row(form, label="BENIGN", protocol=6, **numbers):
    """Return cells of one flow under `flow_header`; `numbers` by the names of 2017, passed with ``**``."""
    cells = {
        **{"Flow ID": "a-b", "Source IP": "10.0.0.1", "Source Port": "1234", "Destination IP": "10.0.0.2"},
        **{"Destination Port": "80", "Protocol": str(protocol), "Timestamp": "3/7/2017 8:55", "Label": label},
        "Fwd Header Length": "32",
    }
    for name, number in numbers.items():
        cells[CLEANED_NAMES.get(name, name) if form == "cleaned" else name] = str(number)
    return [cells.get(name, "0") for name in flow_header(form)]


def write_csv(path, rows, header=None, encoding="utf-8", end="\n"):
    """Write rows of cells, compressed when the name ends in ``.gz``."""
    import gzip

    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [",".join(cells) for cells in ([header] if header else []) + list(rows)]
    content = (end.join(lines) + end).encode(encoding)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.fixture
def make():
    """The helpers of this file, as one object."""
    from types import SimpleNamespace

    return SimpleNamespace(
        nsl_row=nsl_row, unsw_row=unsw_row, flow_row=flow_row, flow_header=flow_header, write_csv=write_csv
    )


@pytest.fixture
def load():
    """Load a data set by the name of its loader."""
    from fedbayes.data import intrusion
    from fedbayes.data.specification import load_specification

    def load(name, folder, **settings):
        return intrusion.load(load_specification(name), data_dir=folder, **settings)

    return load
