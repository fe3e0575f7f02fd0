"""NSL-KDD (Tavallaee et al., CISDA 2009): connections of a simulated network, normal or attack."""

import os
import re
from pathlib import Path

import numpy as np

from fedbayes.data.dataset import MixedDataset
from fedbayes.data.intrusion.cleaning import (
    ROW_NUMBERS,
    Rows,
    assemble,
    extract,
    label_key,
    labels,
    match_columns,
)
from fedbayes.data.intrusion.location import data_files, unavailable
from fedbayes.data.intrusion.tables import EXTENSIONS, Table, extension, name_key, read_table, stem
from fedbayes.errors import DataError

FEATURES = tuple(
    [
        "duration",
        "protocol_type",
        "service",
        "flag",
        "src_bytes",
        "dst_bytes",
        "land",
        "wrong_fragment",
        "urgent",
        "hot",
        "num_failed_logins",
        "logged_in",
        "num_compromised",
        "root_shell",
        "su_attempted",
        "num_root",
        "num_file_creations",
        "num_shells",
        "num_access_files",
        "num_outbound_cmds",
        "is_host_login",
        "is_guest_login",
        "count",
        "srv_count",
        "serror_rate",
        "srv_serror_rate",
        "rerror_rate",
        "srv_rerror_rate",
        "same_srv_rate",
        "diff_srv_rate",
        "srv_diff_host_rate",
        "dst_host_count",
        "dst_host_srv_count",
        "dst_host_same_srv_rate",
        "dst_host_diff_srv_rate",
        "dst_host_same_src_port_rate",
        "dst_host_srv_diff_host_rate",
        "dst_host_serror_rate",
        "dst_host_srv_serror_rate",
        "dst_host_rerror_rate",
        "dst_host_srv_rerror_rate",
    ]
)
CATEGORICAL = ("protocol_type", "service", "flag")
NUMERIC = tuple(name for name in FEATURES if name not in CATEGORICAL)
CLASSES = ("normal", "attack")
ATTACKS = frozenset(
    [
        "apache2",
        "back",
        "buffer_overflow",
        "ftp_write",
        "guess_passwd",
        "httptunnel",
        "imap",
        "ipsweep",
        "land",
        "loadmodule",
        "mailbomb",
        "mscan",
        "multihop",
        "named",
        "neptune",
        "nmap",
        "perl",
        "phf",
        "pod",
        "portsweep",
        "processtable",
        "ps",
        "rootkit",
        "saint",
        "satan",
        "sendmail",
        "smurf",
        "snmpgetattack",
        "snmpguess",
        "spy",
        "sqlattack",
        "teardrop",
        "udpstorm",
        "warezclient",
        "warezmaster",
        "worm",
        "xlock",
        "xsnoop",
        "xterm",
        "anomaly",
        "attack",
        "dos",
        "probe",
        "r2l",
        "u2r",
    ]
)
FILES = "KDDTrain+ and KDDTest+ (.txt, .csv, .arff or .parquet, or .gz of these)"
# Official rows; bytes sent tell an untouched copy from a scaled one with the same number of rows.
TRAIN_ROWS, TEST_ROWS = 125_973, 22_544
DISTINCT_ROWS, DISTINCT_NORMAL, DISTINCT_ATTACK = 147_888, 76_967, 70_921

_WANTED = {
    **{name: () for name in FEATURES},
    "label": ("class", "labels", "attack", "attacktype", "outcome", "target", "type"),
}
_DROPPED = {
    "difficulty score (it leaks the label)": (
        *("difficulty", "difficultylevel", "level", "difficultyscore", "score", "lastflag", "dificulty"),
    ),
    "row numbers": ROW_NUMBERS,
}
_ATTACK_KEYS = frozenset(label_key(name) for name in ATTACKS)


def find(data_dir: str | os.PathLike | None) -> dict[str, Path]:
    """Files of NSL-KDD below a folder: ``train`` and ``test``, or ``train20``, ``test21``, or one ``whole`` file."""
    parts: dict[str, Path] = {}
    for path in data_files(data_dir, ("nslkdd",), ("kddtrain", "kddtest", "nslkdd")):
        part = _part(name_key(stem(path)))
        if part and (part not in parts or _rank(path) < _rank(parts[part])):
            parts[part] = path
    return parts


def load(
    *, name: str, title: str, data_dir: str | os.PathLike | None, drop_duplicates: bool, missing: str
) -> MixedDataset:
    """Load KDDTrain+ and then KDDTest+, in their official order, with the binary label.

    The complete data have 148,517 rows, 147,888 after dropping those that repeat an earlier one in the 41 features
    and the binary label (76,967 normal, 70,921 attack). Less than both files is loaded and marked incomplete.

    Raises
    ------
    DataUnavailable
        None of the files is there.
    DataError
        A file is malformed, or both files have the official numbers of rows but not the official content.
    """
    files, note = choose(find(data_dir))
    if not files:
        raise unavailable(name, title, FILES, data_dir)
    parts = [read(path) for path in files.values()]
    raw = {part: rows for part, (rows, _) in zip(files, parts, strict=True)}
    complete = raw == {"train": TRAIN_ROWS, "test": TEST_ROWS} or raw == {"whole": TRAIN_ROWS + TEST_ROWS}
    notes = [note] if note else []
    if not complete and not note:
        found = ", ".join(f"{path.name} {raw[part]:,}" for part, path in files.items())
        notes.append(
            f"partial data: {found} rows, official are {TRAIN_ROWS:,} (KDDTrain+) and {TEST_ROWS:,} (KDDTest+)"
        )
    data = assemble(
        [rows for _, rows in parts],
        name=name,
        title=title,
        categorical=CATEGORICAL,
        numeric=NUMERIC,
        class_names=CLASSES,
        missing=missing,
        drop_duplicates=drop_duplicates,
        complete=complete,
        notes=notes,
    )
    if complete and drop_duplicates:
        counts = tuple(np.bincount(data.y, minlength=2).tolist())
        if counts != (DISTINCT_NORMAL, DISTINCT_ATTACK):
            raise DataError(
                f"{name}: {len(data.y):,} rows ({counts[0]:,} normal, {counts[1]:,} attack) are left after dropping"
                f" duplicates, expected {DISTINCT_ROWS:,} ({DISTINCT_NORMAL:,}, {DISTINCT_ATTACK:,});"
                " a file is not the official one"
            )
    if complete and data.X_numeric[:, NUMERIC.index("src_bytes")].max() <= 1:
        raise DataError(
            f"{name}: src_bytes never exceeds 1, so the numbers have been scaled; get the official files"
        )
    return data


def choose(parts: dict[str, Path]) -> tuple[dict[str, Path], str]:
    """Which of the files found are used, in order, and words where they are not the complete data."""
    if "whole" in parts and not ("train" in parts and "test" in parts):
        return {"whole": parts["whole"]}, ""
    chosen = {}
    for full, sample in (("train", "train20"), ("test", "test21")):
        if full in parts:
            chosen[full] = parts[full]
        elif sample in parts:
            chosen[sample] = parts[sample]
    if not chosen or list(chosen) == ["train", "test"]:
        return chosen, ""
    wanted = {"train": "KDDTrain+", "test": "KDDTest+"}
    absent = [words for part, words in wanted.items() if part not in chosen]
    names = ", ".join(path.name for path in chosen.values())
    return chosen, f"partial data: only {names} found, {' and '.join(absent)} missing"


def read(path: Path) -> tuple[int, Rows]:
    """Number of rows of a file and its usable rows."""
    table = read_table(path)
    if not table.names:
        table.names = _names_by_position(table)
    rows = table.rows
    columns = match_columns(table, _WANTED, _DROPPED)
    y = labels(table, columns["label"], "label", _code)
    return rows, extract(table, columns, CATEGORICAL, NUMERIC, y)


def _names_by_position(table: Table) -> list[str]:
    width = len(table.columns)
    if width not in (42, 43):
        raise DataError(
            f"{table.path}: {width} columns without a header, expected 42 (41 features, label) or 43 (and difficulty)"
        )
    return [*FEATURES, "label", "difficulty"][:width]


def _code(label: str) -> int | None:
    key = label_key(label)
    if key == "normal":
        return 0
    return 1 if key in _ATTACK_KEYS else None


def _part(key: str) -> str | None:
    if "train" in key:
        return "train20" if re.search(r"20(percent|pct)?$", key) else "train"
    if "test" in key:
        return "test21" if key.endswith("21") else "test"
    return "whole" if key == "nslkdd" else None


def _rank(path: Path) -> tuple[int, str]:
    """Text comes first: it alone has the names of the attacks in every public copy."""
    return EXTENSIONS.index(extension(path)), str(path)
