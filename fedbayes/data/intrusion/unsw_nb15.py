"""UNSW-NB15 (Moustafa and Slay, MilCIS 2015): flows of a cyber range, normal or one of nine attacks."""

import os
from pathlib import Path

import numpy as np

from fedbayes.data.dataset import MixedDataset
from fedbayes.data.intrusion.cleaning import Layout, Rows, assemble, extract
from fedbayes.data.intrusion.columns import (
    ROW_NUMBERS,
    as_numbers,
    as_text,
    match_columns,
    missing_cells,
    read_labels,
)
from fedbayes.data.intrusion.location import data_files, unavailable
from fedbayes.data.intrusion.tables import Table, column_names, read_table
from fedbayes.data.intrusion.text import name_key, stem
from fedbayes.errors import DataError

_FEATURES = """
    dur proto service state spkts dpkts sbytes dbytes rate sttl dttl sload dload sloss dloss sinpkt dinpkt sjit
    djit swin stcpb dtcpb dwin tcprtt synack ackdat smean dmean trans_depth response_body_len ct_srv_src
    ct_state_ttl ct_dst_ltm ct_src_dport_ltm ct_dst_sport_ltm ct_dst_src_ltm is_ftp_login ct_ftp_cmd
    ct_flw_http_mthd ct_src_ltm ct_srv_dst is_sm_ips_ports
"""
FEATURES = tuple(_FEATURES.split())
CATEGORICAL = ("proto", "service", "state")
NUMERIC = tuple(name for name in FEATURES if name not in CATEGORICAL)
CLASSES = (
    *("Analysis", "Backdoor", "DoS", "Exploits", "Fuzzers", "Generic", "Normal"),
    *("Reconnaissance", "Shellcode", "Worms"),
)
FILES = "both UNSW_NB15_training-set and UNSW_NB15_testing-set (.csv or .parquet, each also with .gz)"
# Known by their rows: widely spread copies have the two names swapped.
PART_ROWS = {175_341: "training set", 82_332: "testing set"}
COMPLETE_COUNTS = (2_677, 2_329, 16_353, 44_525, 24_246, 58_871, 93_000, 13_987, 1_511, 174)

_CODES = {name_key(name): code for code, name in enumerate(CLASSES)} | {
    "backdoors": CLASSES.index("Backdoor")
}
_NORMAL = CLASSES.index("Normal")
_WANTED = {**{name: () for name in FEATURES}, "attack_cat": (), "label": ()}
_DROPPED = {"identifiers": ("id", *ROW_NUMBERS)}


def load(
    *, name: str, title: str, data_dir: str | os.PathLike | None, drop_duplicates: bool, missing: str
) -> MixedDataset:
    """Load the official training and testing partitions, in this order, with the ten classes of ``attack_cat``.

    The complete data have 257,673 rows. ``id`` and the binary ``label`` are dropped. One partition alone, or
    other rows in the same columns, are loaded and marked incomplete.

    Raises
    ------
    DataUnavailable
        None of the files is there.
    DataError
        A file is malformed, or both partitions have the official numbers of rows but not of classes.
    """
    paths = find(data_dir)
    if not paths:
        raise unavailable(name, title, FILES, data_dir)
    parts, notes, complete = _choose({path: read(path) for path in paths})
    data = assemble(
        parts,
        Layout(name, title, CATEGORICAL, NUMERIC, CLASSES),
        missing=missing,
        drop_duplicates=drop_duplicates,
        complete=complete,
        notes=notes,
    )
    counts = tuple(np.bincount(data.y, minlength=len(CLASSES)).tolist())
    if complete and not drop_duplicates and counts != COMPLETE_COUNTS:
        found = ", ".join(f"{label} {count:,}" for label, count in zip(CLASSES, counts, strict=True))
        raise DataError(f"{name}: the files are not the official ones; rows by class are {found}")
    return data


def find(data_dir: str | os.PathLike | None) -> list[Path]:
    """Files below a folder that have the class column of the two partitions, or their names.

    A file that only has the name, or whose cells are separated by something else, is found too, so that reading
    it says what is wrong.
    """
    found = []
    for path in data_files(data_dir, ("unswnb15",), ("unswnb15",)):
        header = name_key(",".join(column_names(path)))
        if "attackcat" in header or name_key(stem(path)).startswith(("unswnb15training", "unswnb15testing")):
            found.append(path)
    return found


def read(path: Path) -> Rows:
    """Usable rows of one file."""
    table = read_table(path)
    columns = match_columns(table, _WANTED, _DROPPED)
    y = _labels(table, columns)
    table.notes.append(f"{path.name}: the binary label left out, attack_cat is the class")
    return extract(table, columns, CATEGORICAL, NUMERIC, y)


def _labels(table: Table, columns: dict[str, int]) -> np.ndarray:
    """Classes of ``attack_cat``, checked against the binary label; empty cells of normal rows are normal."""
    binary = as_numbers(table, columns["label"], "label")
    empty = missing_cells(as_text(table.columns[columns["attack_cat"]]))
    y = read_labels(table, columns["attack_cat"], "attack_cat", _code)
    filled = empty & (binary == 0)
    y[filled] = _NORMAL
    if filled.any():
        table.notes.append(
            f"{table.path.name}: {filled.sum():,} empty attack_cat cells with label 0 read as Normal"
        )
    odd = np.flatnonzero((y < 0) | ((y == _NORMAL) != (binary == 0)) | ~np.isin(binary, (0, 1)))
    if odd.size:
        row = int(odd[0])
        label = as_text(table.columns[columns["attack_cat"]])[row].as_py()
        raise DataError(f"{table.place(row)}: attack_cat {label!r} contradicts label {binary[row]:g}")
    return y


def _code(label: str) -> int | None:
    key = name_key(label)
    return -1 if key in ("", "nan", "none", "null", "na") else _CODES.get(key)


def _choose(files: dict[Path, Rows]) -> tuple[list[Rows], list[str], bool]:
    """The official partitions if any file is one, else all files; words about them; whether they are complete."""
    official: dict[int, Path] = {}
    for path, content in files.items():
        if content.in_file in PART_ROWS:
            official.setdefault(content.in_file, path)
    chosen = [official[rows] for rows in PART_ROWS if rows in official] or list(files)
    notes = []
    if len(official) < len(PART_ROWS):
        found = ", ".join(_describe(path, files[path].in_file) for path in chosen)
        total = sum(PART_ROWS)
        notes.append(f"partial data: {found}; the complete data have {total:,} rows in two files")
    unused = [path.name for path in files if path not in chosen]
    if unused:
        notes.append(f"not used: {', '.join(unused)}")
    return [files[path] for path in chosen], notes, len(official) == len(PART_ROWS)


def _describe(path: Path, rows: int) -> str:
    part = f" (the official {PART_ROWS[rows]})" if rows in PART_ROWS else ""
    return f"{path.name} with {rows:,} rows{part}"
