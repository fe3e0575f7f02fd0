"""CIC-IDS2017 (Sharafaldin et al., ICISSP 2018) as the paper uses it: 77 features, benign or attack.

Three public forms of the eight files are known: cleaned Parquet files (``Protocol`` and 76 numbers), the original
``GeneratedLabelledFlows`` (these, and identifiers) and the original ``MachineLearningCSV`` (no ``Protocol``).
The data are larger than memory should have to hold, so rows are first reduced to keys, and only those that are
kept are then gathered.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from fedbayes.data.dataset import MixedDataset
from fedbayes.data.intrusion import cache
from fedbayes.data.intrusion.cleaning import Layout, Rows, assemble, extract
from fedbayes.data.intrusion.columns import match_columns, read_labels
from fedbayes.data.intrusion.flow_features import ALIASES, IDENTIFIERS, NUMERIC, PROTOCOL
from fedbayes.data.intrusion.location import data_files, unavailable
from fedbayes.data.intrusion.tables import column_names, read_table
from fedbayes.data.intrusion.text import name_key, stem
from fedbayes.errors import DataError

CLASSES = ("benign", "attack")
FILES = "the eight cleaned Parquet files, or the eight original CSV files of GeneratedLabelledFlows,"
FORMS = ("cleaned", "labelled-flows", "machine-learning")
# Rows of the official files in the order of the week; they tell the parts apart whatever the files are called.
ORIGINAL_ROWS = {
    529_918: "Monday",
    445_909: "Tuesday",
    692_703: "Wednesday",
    170_366: "Thursday morning, web attacks",
    288_602: "Thursday afternoon, infiltration",
    191_033: "Friday morning, botnet",
    286_467: "Friday afternoon, port scan",
    225_745: "Friday afternoon, DDoS",
}
CLEANED_ROWS = {
    458_831: "Monday, benign",
    389_714: "Tuesday, brute force",
    584_991: "Wednesday, DoS",
    155_820: "Thursday, web attacks",
    207_630: "Thursday, infiltration",
    176_038: "Friday, botnet",
    119_522: "Friday, port scan",
    221_264: "Friday, DDoS",
}
CLEANED_DISTINCT = 2_231_806
SAMPLE_SEED = 42

_ATTACKS = """
    bot, botnet, ddos, dos goldeneye, dos hulk, dos slowhttptest, dos slowloris, ftp-patator, ssh-patator,
    heartbleed, infiltration, infilteration, portscan, port scan, web attack brute force, web attack xss,
    web attack sql injection
"""
_ATTACK_KEYS = frozenset(name_key(name) for name in _ATTACKS.split(","))
_WANTED = {PROTOCOL: (), **ALIASES, "Label": ()}
_KNOWN = {key: name for name, keys in _WANTED.items() for key in (name_key(name), *keys)}
_STEMS = (
    "webattacksbalanced",
    *(f"{day}workinghours" for day in ("monday", "tuesday", "wednesday", "thursday", "friday")),
    *("benignmonday", "botnetfriday", "bruteforcetuesday", "ddosfriday", "doswednesday"),
    *("infiltrationthursday", "portscanfriday", "webattacksthursday"),
)
_ROWS_IN_MEMORY = 600_000


@dataclass(frozen=True)
class FlowFile:
    """One file, its form and the features it has."""

    path: Path
    form: str
    features: tuple[str, ...]


def load(
    *,
    name: str,
    title: str,
    data_dir: str | os.PathLike | None,
    drop_duplicates: bool,
    missing: str,
    sample_rows: int | None = 100_000,
) -> MixedDataset:
    """Load CIC-IDS2017 with the binary label and the paper's 77 features, as far as the files have them.

    Duplicates are dropped over features and binary label, first kept; of more than `sample_rows` rows a stratified
    sample (seed 42) is taken, in the order of the files. Incomplete are: fewer than the eight files, samples, and
    files without ``Protocol``. Features that are missing are named in the notes.

    Raises
    ------
    DataUnavailable
        None of the files is there.
    DataError
        A file is malformed.
    """
    files = choose(find(data_dir))
    if not files:
        raise unavailable(name, title, FILES, data_dir)
    features = [
        feature for feature in (PROTOCOL, *NUMERIC) if all(feature in file.features for file in files)
    ]
    reader = _Reader(features)
    files, notes, complete = _official(files, reader)
    absent = [feature for feature in (PROTOCOL, *NUMERIC) if feature not in features]
    if absent:
        total = len(NUMERIC) + 1
        notes.append(f"partial data: {len(features)} of {total} features, missing: {', '.join(absent)}")
    keep, left, more = _select([row_keys(reader.rows(file)) for file in files], drop_duplicates, sample_rows)
    notes += more
    if complete and drop_duplicates and files[0].form == "cleaned" and left != CLEANED_DISTINCT:
        notes.append(f"{left:,} rows without duplicates; the published count is {CLEANED_DISTINCT:,}")
    categorical = tuple(feature for feature in features if feature == PROTOCOL)
    numeric = tuple(feature for feature in features if feature != PROTOCOL)
    return assemble(
        [_take(reader.rows(file), mask) for file, mask in zip(files, keep, strict=True)],
        Layout(name, title, categorical, numeric, CLASSES),
        missing=missing,
        drop_duplicates=False,
        complete=complete and not absent,
        notes=notes,
    )


def find(data_dir: str | os.PathLike | None) -> list[FlowFile]:
    """Files below a folder that have at least half of the 76 numeric features, or the name of an official file.

    Raises
    ------
    DataError
        A file has the name of an official one or most of the features, but cannot be used.
    """
    found = []
    for path in data_files(data_dir, ("cicids2017",), (*_STEMS, "cicids2017")):
        keys = [name_key(written) for written in column_names(path)]
        features = tuple(dict.fromkeys(_KNOWN[key] for key in keys if key in _KNOWN))
        most = len(features) >= len(NUMERIC) // 2
        claimed = (
            most or name_key(stem(path)).startswith(_STEMS) or (len(keys) == 1 and "flowduration" in keys[0])
        )
        if not claimed or {"fwdrstflags", "totaltcpflowtime", "attemptedcategory", "attacktype"} & set(keys):
            continue
        if not most or "Label" not in features:
            raise _unusable(path, features)
        if "fwdpacketslengthtotal" in keys:
            form = "cleaned"
        else:
            form = "labelled-flows" if PROTOCOL in features else "machine-learning"
        found.append(FlowFile(path, form, features))
    return found


def _unusable(path: Path, features: Sequence[str]) -> DataError:
    read_table(path)  # an empty or damaged file, or another delimiter, is the better explanation
    if "Label" not in features:
        return DataError(f"{path}: 1 column missing: 'Label'")
    return DataError(
        f"{path}: only {len(features) - 1} of the {len(NUMERIC) + 1} features found in its header"
    )


def choose(files: Sequence[FlowFile]) -> list[FlowFile]:
    """Files of one form: the first form with all eight, else that with the most files."""
    groups = {form: [file for file in files if file.form == form] for form in FORMS}
    best = max(FORMS, key=lambda form: (min(len(groups[form]), 8), -FORMS.index(form)))
    return groups[best]


class _Reader:
    """Reads files once, through the cache, and keeps small ones in memory."""

    def __init__(self, features: Sequence[str]) -> None:
        self._features = features
        self._kept: dict[Path, Rows] = {}

    def rows(self, file: FlowFile) -> Rows:
        if file.path in self._kept:
            return self._kept[file.path]
        copy = cache.copy_path("flows", [file.path], {"features": self._features})
        rows = cache.read_rows(copy)
        if rows is None:
            rows = read(file.path, self._features)
            cache.write_rows(copy, rows)
        if sum(len(other.y) for other in self._kept.values()) + len(rows.y) <= _ROWS_IN_MEMORY:
            self._kept[file.path] = rows
        return rows


def read(path: Path, features: Sequence[str]) -> Rows:
    """Usable rows of one file, with the features named."""
    table = read_table(path)
    unused = {"features that other files lack": [key for key, name in _KNOWN.items() if name not in features]}
    unused["features that other files lack"].remove("label")
    wanted = {name: keys for name, keys in _WANTED.items() if name in features or name == "Label"}
    columns = match_columns(table, wanted, {**IDENTIFIERS, **unused})
    y = read_labels(table, columns["Label"], "Label", _code)
    numeric = [name for name in features if name != PROTOCOL]
    return extract(table, columns, [PROTOCOL] if PROTOCOL in features else [], numeric, y)


def row_keys(rows: Rows) -> np.ndarray:
    """128-bit keys of rows and their labels, shape (rows, 3) of uint64: equal rows have equal keys.

    That two different rows of 2.8 million share a key has a probability below 1e-25.
    """
    columns = []
    for text in rows.categorical:
        encoded = text.dictionary_encode()
        hashes = [hashlib.sha256(value.encode()).digest()[:8] for value in encoded.dictionary.to_pylist()]
        columns.append(
            np.frombuffer(b"".join(hashes), np.uint64)[encoded.indices.to_numpy(zero_copy_only=False)]
        )
    columns += [np.ascontiguousarray(column).view(np.uint64) for column in rows.numeric.T]
    keys = np.empty((3, len(rows.y)), np.uint64)
    for key, factor in zip(keys, (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F), strict=False):
        key[:] = factor
        for column in columns:
            key ^= column
            key *= np.uint64(factor)
            key ^= key >> np.uint64(29)
    keys[2] = rows.y
    return keys.T


def _official(files: list[FlowFile], reader: _Reader) -> tuple[list[FlowFile], list[str], bool]:
    """The official parts if any file is one, else all files; words about them; whether they are complete."""
    known = CLEANED_ROWS if files[0].form == "cleaned" else ORIGINAL_ROWS
    rows = {file: reader.rows(file).in_file for file in files}
    parts = {}
    for file in files:
        if rows[file] in known:
            parts.setdefault(rows[file], file)
    whole = [file for file in files if rows[file] == sum(known)]
    chosen = whole[:1] or [file for file in files if file in parts.values()] or files
    notes = []
    complete = bool(whole) or len(parts) == len(known)
    if not complete:
        names = ", ".join(file.path.name for file in chosen)
        absent = [part for count, part in known.items() if count not in parts]
        notes.append(f"partial data: only {names}; missing official files: {'; '.join(absent)}")
    unused = [file.path.name for file in files if file not in chosen]
    if unused:
        notes.append(f"not used: {', '.join(unused)}")
    return chosen, notes, complete


def _select(
    keys: list[np.ndarray], drop_duplicates: bool, sample_rows: int | None
) -> tuple[list[np.ndarray], int, list[str]]:
    """Choose rows.

    Returns
    -------
    masks : list of ndarray of bool
        One per file: the rows that are neither duplicates nor left out by sampling.
    left : int
        Rows without duplicates, before sampling.
    notes : list of str
    """
    import pandas as pd

    together = pd.DataFrame(np.concatenate(keys))
    keep = np.ones(len(together), bool)
    notes = []
    if drop_duplicates:
        keep = ~together.duplicated(keep="first").to_numpy()
        repeated = np.count_nonzero(~keep)
        notes.append(f"{repeated:,} rows that repeat an earlier one in all features and the class dropped")
    left = np.flatnonzero(keep)
    if sample_rows is not None and len(left) > sample_rows:
        from sklearn.model_selection import train_test_split

        y = together[2].to_numpy()[left]
        sampled, _ = train_test_split(left, train_size=sample_rows, stratify=y, random_state=SAMPLE_SEED)
        keep[:] = False
        keep[sampled] = True
        notes.append(f"stratified sample of {sample_rows:,} of {len(left):,} rows (seed {SAMPLE_SEED})")
    ends = np.cumsum([len(part) for part in keys])
    return np.split(keep, ends[:-1]), len(left), notes


def _take(rows: Rows, mask: np.ndarray) -> Rows:
    texts = [text.filter(pa.array(mask)) for text in rows.categorical]
    return Rows(texts, rows.numeric[mask], rows.y[mask], rows.in_file, rows.notes)


def _code(label: str) -> int | None:
    key = name_key(label)
    if key == "benign":
        return 0
    return 1 if key in _ATTACK_KEYS else None
