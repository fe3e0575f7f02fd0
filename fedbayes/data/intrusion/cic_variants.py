"""Two samples made of CIC-IDS2017 that are not the paper's data: the corrected release, and a reduced copy."""

import os
from pathlib import Path

import numpy as np

from fedbayes.data.dataset import MixedDataset
from fedbayes.data.intrusion.cleaning import Layout, Rows, assemble, extract
from fedbayes.data.intrusion.columns import ROW_NUMBERS, match_columns, read_labels
from fedbayes.data.intrusion.flow_features import ALIASES, IDENTIFIERS, NUMERIC, PORT, PROTOCOL
from fedbayes.data.intrusion.location import data_files, unavailable
from fedbayes.data.intrusion.tables import column_names, read_table
from fedbayes.data.intrusion.text import name_key, stem

CORRECTED_CATEGORICAL = (PROTOCOL, "ICMP Code", "ICMP Type")
CORRECTED_NUMERIC = (*NUMERIC, "Fwd RST Flags", "Bwd RST Flags", "Total TCP Flow Time")
CORRECTED_CLASSES = (
    *("BENIGN", "Botnet", "DDoS", "DoS GoldenEye", "DoS Hulk", "DoS Slowhttptest", "DoS Slowloris"),
    *("FTP-Patator", "Heartbleed", "Infiltration", "Infiltration - Portscan", "Portscan", "SSH-Patator"),
    *("Web Attack - Brute Force", "Web Attack - SQL Injection", "Web Attack - XSS"),
)
REDUCED_CLASSES = (*("Bots", "Brute Force", "DDoS", "DoS", "Normal Traffic", "Port Scanning", "Web Attacks"),)
_REDUCED_LEFT_OUT = """
    Total Backward Packets, Total Length of Bwd Packets, Fwd PSH Flags, Bwd PSH Flags, Fwd URG Flags, Bwd URG Flags,
    SYN Flag Count, RST Flag Count, URG Flag Count, CWE Flag Count, ECE Flag Count, Down/Up Ratio,
    Avg Fwd Segment Size, Avg Bwd Segment Size, Fwd Avg Bytes/Bulk, Fwd Avg Packets/Bulk, Fwd Avg Bulk Rate,
    Bwd Avg Bytes/Bulk, Bwd Avg Packets/Bulk, Bwd Avg Bulk Rate, Subflow Fwd Packets, Subflow Bwd Packets,
    Subflow Bwd Bytes, Active Std, Idle Std
"""
_LEFT_OUT = frozenset(name.strip() for name in _REDUCED_LEFT_OUT.split(","))
REDUCED_NUMERIC = tuple(name for name in NUMERIC if name not in _LEFT_OUT)

_CORRECTED_DROPPED = {**IDENTIFIERS, "Attempted Category (made with the label)": ("attemptedcategory",)}
_CORRECTED_CODES = {name_key(name): code for code, name in enumerate(CORRECTED_CLASSES)}
_REDUCED_CODES = {name_key(name): code for code, name in enumerate(REDUCED_CLASSES)}


def load_corrected(
    *, name: str, title: str, data_dir: str | os.PathLike | None, drop_duplicates: bool, missing: str
) -> MixedDataset:
    """Load flows of the corrected release of CIC-IDS2017 (Liu et al., CNS 2022) with their 16 classes.

    Features are ``Protocol``, the two ICMP codes and 79 numbers; identifiers, addresses, ports and times are
    dropped, and so are flows of attacks that were only attempted. Files are taken in the order of their names.

    Raises
    ------
    DataUnavailable
        None of the files is there.
    DataError
        A file is malformed.
    """
    paths = find_corrected(data_dir)
    if not paths:
        raise unavailable(name, title, "CSV or Parquet files of the corrected release", data_dir)
    return assemble(
        [_read_corrected(path) for path in paths],
        Layout(name, title, CORRECTED_CATEGORICAL, CORRECTED_NUMERIC, CORRECTED_CLASSES),
        missing=missing,
        drop_duplicates=drop_duplicates,
        complete=False,
        notes=[
            "a sample of the corrected release, not of the data of 2017; class ratios are not those of traffic"
        ],
    )


def load_reduced(
    *, name: str, title: str, data_dir: str | os.PathLike | None, drop_duplicates: bool, missing: str
) -> MixedDataset:
    """Load the class-balanced sample of a cleaned CIC-IDS2017 with 52 features and 7 merged classes.

    ``Destination Port`` is a category here, since a port is a name; the other 51 features are numbers.

    Raises
    ------
    DataUnavailable
        The file is not there.
    DataError
        The file is malformed.
    """
    paths = find_reduced(data_dir)
    if not paths:
        raise unavailable(name, title, "cicids2017_sample.csv (52 features and Attack Type)", data_dir)
    return assemble(
        [_read_reduced(path) for path in paths],
        Layout(name, title, (PORT,), REDUCED_NUMERIC, REDUCED_CLASSES),
        missing=missing,
        drop_duplicates=drop_duplicates,
        complete=False,
        notes=["a sample with equally many flows of each class, features chosen by its makers"],
    )


def find_corrected(data_dir: str | os.PathLike | None) -> list[Path]:
    """Files below a folder that have the columns which the corrected release added, or lie in its own folder."""
    own = data_files(data_dir, ("cicids2017corrected", "cicids2017improved"))
    marks = {"fwdrstflags", "totaltcpflowtime"}
    shared = [
        path
        for path in data_files(data_dir, ("cicids2017",))
        if marks & set(map(name_key, column_names(path)))
    ]
    return own or shared


def find_reduced(data_dir: str | os.PathLike | None) -> list[Path]:
    """Files below a folder that have the merged class ``Attack Type`` or the name of the sample; the first one."""
    found = data_files(data_dir, ("cicids2017reduced", "cicids2017"), ("cicids2017sample",))
    return [
        path
        for path in found
        if "attacktype" in name_key(",".join(column_names(path)))
        or name_key(stem(path)).startswith(("cicids2017sample", "cicids2017reduced"))
    ][:1]


def _read_corrected(path: Path) -> Rows:
    wanted = {
        **{name: ALIASES.get(name, ()) for name in (*CORRECTED_CATEGORICAL, *CORRECTED_NUMERIC)},
        "Label": (),
    }
    table = read_table(path)
    columns = match_columns(table, wanted, _CORRECTED_DROPPED)
    y = read_labels(table, columns["Label"], "Label", _corrected_code)
    attempted = np.count_nonzero(y < 0)
    if attempted:
        table.notes.append(f"{path.name}: {attempted:,} flows of attempted attacks dropped")
    return extract(table, columns, CORRECTED_CATEGORICAL, CORRECTED_NUMERIC, y)


def _read_reduced(path: Path) -> Rows:
    wanted = {**{name: ALIASES.get(name, ()) for name in (PORT, *REDUCED_NUMERIC)}, "Attack Type": ()}
    table = read_table(path)
    columns = match_columns(table, wanted, {"row numbers": ROW_NUMBERS})
    y = read_labels(
        table, columns["Attack Type"], "Attack Type", lambda label: _REDUCED_CODES.get(name_key(label))
    )
    return extract(table, columns, (PORT,), REDUCED_NUMERIC, y)


def _corrected_code(label: str) -> int | None:
    key = name_key(label)
    return -1 if key.endswith("attempted") else _CORRECTED_CODES.get(key)
