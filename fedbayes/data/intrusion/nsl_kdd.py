"""NSL-KDD (Tavallaee et al., CISDA 2009): connections of a simulated network, normal or attack."""

import os
import re
from pathlib import Path

import numpy as np

from fedbayes.data.dataset import MixedDataset
from fedbayes.data.intrusion.cleaning import Layout, Rows, assemble, extract
from fedbayes.data.intrusion.columns import ROW_NUMBERS, as_text, match_columns, read_labels
from fedbayes.data.intrusion.location import data_files, unavailable
from fedbayes.data.intrusion.tables import Table, is_number, read_table
from fedbayes.data.intrusion.text import EXTENSIONS, extension, name_key, stem
from fedbayes.errors import DataError

_FEATURES = """
    duration protocol_type service flag src_bytes dst_bytes land wrong_fragment urgent hot num_failed_logins
    logged_in num_compromised root_shell su_attempted num_root num_file_creations num_shells num_access_files
    num_outbound_cmds is_host_login is_guest_login count srv_count serror_rate srv_serror_rate rerror_rate
    srv_rerror_rate same_srv_rate diff_srv_rate srv_diff_host_rate dst_host_count dst_host_srv_count
    dst_host_same_srv_rate dst_host_diff_srv_rate dst_host_same_src_port_rate dst_host_srv_diff_host_rate
    dst_host_serror_rate dst_host_srv_serror_rate dst_host_rerror_rate dst_host_srv_rerror_rate
"""
# The last line holds the names that copies use instead of those of the 39 attacks.
_ATTACKS = """
    apache2 back buffer_overflow ftp_write guess_passwd httptunnel imap ipsweep land loadmodule mailbomb mscan
    multihop named neptune nmap perl phf pod portsweep processtable ps rootkit saint satan sendmail smurf
    snmpgetattack snmpguess spy sqlattack teardrop udpstorm warezclient warezmaster worm xlock xsnoop xterm
    anomaly attack dos probe r2l u2r
"""
FEATURES = tuple(_FEATURES.split())
CATEGORICAL = ("protocol_type", "service", "flag")
NUMERIC = tuple(name for name in FEATURES if name not in CATEGORICAL)
CLASSES = ("normal", "attack")
FILES = "KDDTrain+ and KDDTest+ (.txt, .csv, .arff or .parquet, each also with .gz)"
TRAIN_ROWS, TEST_ROWS = 125_973, 22_544
DISTINCT_NORMAL, DISTINCT_ATTACK = 76_967, 70_921

_ATTACK_KEYS = frozenset(name_key(name) for name in _ATTACKS.split())
_WANTED = {
    **{name: () for name in FEATURES},
    "label": ("class", "labels", "attack", "attacktype", "outcome", "target", "type"),
}
_DROPPED = {
    "difficulty score (it leaks the label)": (
        "difficulty",
        "difficultylevel",
        "difficultyscore",
        "level",
        "score",
        "lastflag",
    ),
    "row numbers": ROW_NUMBERS,
}


def load(
    *, name: str, title: str, data_dir: str | os.PathLike | None, drop_duplicates: bool, missing: str
) -> MixedDataset:
    """Load KDDTrain+ and then KDDTest+, in their official order, with the binary label.

    The complete data have 148,517 rows, of which 147,888 are left after dropping those that repeat an earlier
    one in the 41 features and the binary label (76,967 normal, 70,921 attack). Less than both files is loaded
    and marked incomplete.

    Raises
    ------
    DataUnavailable
        None of the files is there.
    DataError
        A file is malformed, or both have the official numbers of rows but not the official content.
    """
    files, words = choose(find(data_dir))
    if not files:
        raise unavailable(name, title, FILES, data_dir)
    parts = {part: read(path) for part, path in files.items()}
    rows = {part: content.in_file for part, content in parts.items()}
    complete = rows in ({"train": TRAIN_ROWS, "test": TEST_ROWS}, {"whole": TRAIN_ROWS + TEST_ROWS})
    if not complete and not words:
        found = ", ".join(f"{path.name} {rows[part]:,}" for part, path in files.items())
        words = (
            f"partial data: {found} rows; official are {TRAIN_ROWS:,} in KDDTrain+, {TEST_ROWS:,} in KDDTest+"
        )
    data = assemble(
        list(parts.values()),
        Layout(name, title, CATEGORICAL, NUMERIC, CLASSES),
        missing=missing,
        drop_duplicates=drop_duplicates,
        complete=complete,
        notes=[words] if words else [],
    )
    if complete:
        _check_official(data, drop_duplicates)
    return data


def find(data_dir: str | os.PathLike | None) -> dict[str, Path]:
    """Files below a folder: ``train``, ``test``, ``train20`` (20Percent), ``test21``, and one ``whole`` file."""
    parts: dict[str, Path] = {}
    for path in data_files(data_dir, ("nslkdd",), ("kddtrain", "kddtest", "nslkdd")):
        part = _part(name_key(stem(path)))
        if part and (part not in parts or _rank(path) < _rank(parts[part])):
            parts[part] = path
    return parts


def choose(parts: dict[str, Path]) -> tuple[dict[str, Path], str]:
    """Which of the files found are used, in order, and words where they are not the complete data."""
    if "whole" in parts and not {"train", "test"} <= set(parts):
        return {"whole": parts["whole"]}, ""
    chosen = {}
    for full, sample in (("train", "train20"), ("test", "test21")):
        part = full if full in parts else sample
        if part in parts:
            chosen[part] = parts[part]
    absent = [words for part, words in (("train", "KDDTrain+"), ("test", "KDDTest+")) if part not in chosen]
    if not chosen or not absent:
        return chosen, ""
    names = ", ".join(path.name for path in chosen.values())
    return chosen, f"partial data: only {names} found, {' and '.join(absent)} missing"


def read(path: Path) -> Rows:
    """Usable rows of one file."""
    table = read_table(path)
    if not table.names:
        table.names = _names_by_position(table)
    columns = match_columns(table, _WANTED, _DROPPED)
    y = read_labels(table, columns["label"], "label", _code)
    return extract(table, columns, CATEGORICAL, NUMERIC, y)


def _check_official(data: MixedDataset, drop_duplicates: bool) -> None:
    counts = tuple(np.bincount(data.y, minlength=2).tolist())
    if drop_duplicates and counts != (DISTINCT_NORMAL, DISTINCT_ATTACK):
        raise DataError(
            f"{data.name}: {counts[0]:,} normal and {counts[1]:,} attack rows without duplicates, expected"
            f" {DISTINCT_NORMAL:,} and {DISTINCT_ATTACK:,}; the files are not the official ones"
        )
    if data.X_numeric[:, NUMERIC.index("src_bytes")].max() <= 1:
        raise DataError(
            f"{data.name}: src_bytes never exceeds 1, so this copy has been scaled; get the original"
        )


def _names_by_position(table: Table) -> list[str]:
    width, place = len(table.columns), len(FEATURES)
    found = f"{width} columns without a header"
    if width in (42, 43):
        cell = as_text(table.columns[place][:1])[0].as_py()
        if is_number(cell):
            found += f", of which number {place + 1} holds {cell} and not a label"
    if width not in (42, 43) or is_number(cell):
        raise DataError(
            f"{table.path}: {found}; expected 42 (41 features and the label) or 43 (and the difficulty score)"
        )
    return [*FEATURES, "label", "difficulty"][:width]


def _code(label: str) -> int | None:
    key = name_key(label)
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
    """Text before the other forms: every public copy of it has the original numbers and attack names."""
    return EXTENSIONS.index(extension(path)), str(path)
