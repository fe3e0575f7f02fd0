"""What all intrusion data sets need before they can be learned from; every change to the data is counted in words."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pyarrow as pa

from fedbayes.data.dataset import MixedDataset
from fedbayes.data.intrusion.tables import Table, as_numbers, as_text, missing_cells, name_key
from fedbayes.errors import DataError

MISSING_CATEGORY = "?"
# Row numbers that pandas and other tools write into a file; they say nothing about a flow.
ROW_NUMBERS = ("", "index", "unnamed0", "unnamed01", "level0")


@dataclass
class Rows:
    """Rows of one file after the checks: text columns, numbers, labels, and what was done to them."""

    categorical: list
    numeric: np.ndarray
    y: np.ndarray
    notes: list[str] = field(default_factory=list)


def match_columns(
    table: Table,
    wanted: Mapping[str, Collection[str]],
    dropped: Mapping[str, Collection[str]],
    optional: Collection[str] = (),
) -> dict[str, int]:
    """Find the columns of a file by name.

    Parameters
    ----------
    table
        A file with column names.
    wanted
        Name of each column to use -> keys (`name_key`) under which files write it, besides its own.
    dropped
        Reason -> keys of columns that are left out on purpose; each removal is noted.
    optional
        Wanted names that may be absent.

    Raises
    ------
    DataError
        Columns are missing, unknown, or repeated with different content.
    """
    known = {key: name for name, keys in wanted.items() for key in (name_key(name), *keys)}
    reasons = {key: reason for reason, keys in dropped.items() for key in keys}
    found: dict[str, int] = {}
    extra, removed = [], {}
    for index, written in enumerate(table.names):
        key = name_key(written)
        base = re.sub(r"\d$", "", key) if re.search(r"\.\d$", written) else key
        if key in reasons:
            removed.setdefault(reasons[key], []).append(written or "(no name)")
        elif base not in known:
            extra.append(written)
        elif known[base] in found:
            if not table.columns[found[known[base]]].equals(table.columns[index]):
                raise DataError(f"{table.path}: column '{written}' stands twice with different content")
            removed.setdefault("repeated column", []).append(known[base])
        else:
            found[known[base]] = index
    missing = [name for name in wanted if name not in found and name not in optional]
    if missing:
        raise DataError(f"{table.path}: {_count(missing, 'column')} missing: {_some(missing)}")
    if extra:
        raise DataError(
            f"{table.path}: {_count(extra, 'column')} unknown: {_some(extra)};"
            " remove what does not belong to the data set"
        )
    for reason, names in removed.items():
        table.notes.append(f"{table.path.name}: {reason} left out: {', '.join(names)}")
    return found


def extract(
    table: Table,
    columns: Mapping[str, int],
    categorical: Sequence[str],
    numeric: Sequence[str],
    y: np.ndarray,
) -> Rows:
    """Turn matched columns into text and numbers and leave out the rows that cannot be used.

    Rows with ``y < 0`` (the caller has counted them) and rows with an empty, ``NaN`` or infinite number are dropped.
    """
    numbers = np.empty((table.rows, len(numeric)))
    for position, name in enumerate(numeric):
        numbers[:, position] = as_numbers(table, columns[name], name)
    numbers += 0.0  # -0.0 and 0.0 are one number
    texts = [as_text(table.columns[columns[name]]) for name in categorical]
    finite = np.isfinite(numbers)
    good = finite.all(axis=1)
    notes = list(table.notes)
    bad = np.count_nonzero(~good & (y >= 0))
    if bad:
        cells = np.count_nonzero(~finite[y >= 0], axis=0)
        which = ", ".join(f"{numeric[j]} {cells[j]:,}" for j in np.flatnonzero(cells)[:6])
        notes.append(f"{table.path.name}: {bad:,} rows with an empty or infinite number dropped ({which})")
    keep = good & (y >= 0)
    if not keep.all():
        mask = pa.array(keep)
        texts, numbers, y = [text.filter(mask) for text in texts], numbers[keep], y[keep]
    return Rows(texts, numbers, y.astype(np.int32), notes)


def labels(table: Table, index: int, name: str, code_of: Callable[[str], int | None]) -> np.ndarray:
    """Class codes of a label column; `code_of` gets each distinct label and returns its code, None if unknown.

    Raises
    ------
    DataError
        A label is unknown; the message names file, line and label.
    """
    text = as_text(table.columns[index])
    encoded = text.dictionary_encode()
    codes = np.array(
        [-2 if (code := code_of(value)) is None else code for value in encoded.dictionary.to_pylist()]
    )
    y = codes[encoded.indices.to_numpy(zero_copy_only=False)] if len(codes) else np.zeros(0, int)
    unknown = np.flatnonzero(y == -2)
    if unknown.size:
        row = int(unknown[0])
        raise DataError(
            f"{table.line(row)}, column '{name}': unknown label {text[row].as_py()[:40]!r}"
            f" ({unknown.size:,} such rows)"
        )
    return y


def label_key(label: str) -> str:
    """Letters and digits of a label in lower case, so that dashes of any kind, spaces and case do not matter."""
    return name_key(label.removesuffix("."))


def encode(
    texts: Sequence, names: Sequence[str], missing: str
) -> tuple[np.ndarray, tuple[tuple[str, ...], ...], list[str]]:
    """Codes of text columns over a global vocabulary in text order.

    An empty cell becomes one more, last, value ``?`` (``missing="category"``) or the most frequent value
    (``missing="mode"``).

    Returns
    -------
    codes : ndarray of int32, shape (rows, columns)
    categories : tuple of tuple of str
    notes : list of str
    """
    rows = len(texts[0]) if texts else 0
    codes = np.empty((rows, len(texts)), np.int32)
    categories, notes = [], []
    for position, (text, name) in enumerate(zip(texts, names, strict=True)):
        gaps = missing_cells(text)
        encoded = text.dictionary_encode()
        written = encoded.dictionary.to_pylist()
        values = encoded.indices.to_numpy(zero_copy_only=False)
        used = sorted({written[code] for code in np.unique(values[~gaps])})
        place = {value: code for code, value in enumerate(used)}
        column = np.array([place.get(value, -1) for value in written], np.int32)[values]
        if gaps.any():
            if missing == "mode" and used:
                column[gaps] = np.argmax(np.bincount(column[~gaps], minlength=len(used)))
                notes.append(
                    f"{np.count_nonzero(gaps):,} missing cells of {name} set to the most frequent value"
                )
            else:
                column[gaps] = len(used)
                used.append(MISSING_CATEGORY)
                notes.append(f"{np.count_nonzero(gaps):,} missing cells of {name} kept as a category")
        codes[:, position] = column
        categories.append(tuple(used))
    return codes, tuple(categories), notes


def first_of_duplicates(codes: np.ndarray, numbers: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Boolean mask of the rows that do not repeat an earlier row in all features and the label."""
    frame = pd.concat(
        [pd.DataFrame(codes), pd.DataFrame(numbers), pd.DataFrame(y)], axis=1, ignore_index=True
    )
    return ~frame.duplicated(keep="first").to_numpy()


def assemble(
    parts: Sequence[Rows],
    *,
    name: str,
    title: str,
    categorical: Sequence[str],
    numeric: Sequence[str],
    class_names: Sequence[str],
    missing: str,
    drop_duplicates: bool,
    complete: bool,
    notes: Sequence[str] = (),
) -> MixedDataset:
    """Put the rows of several files below one another, in order, and make a data set of them."""
    texts = [pa.concat_arrays([part.categorical[j] for part in parts]) for j in range(len(categorical))]
    numbers = np.concatenate([part.numeric for part in parts])
    y = np.concatenate([part.y for part in parts])
    said = [*notes, *(note for part in parts for note in part.notes)]
    if len(y) == 0:
        raise DataError(f"{name}: no usable rows are left ({'; '.join(said)})")
    codes, categories, more = encode(texts, categorical, missing)
    if not texts:
        codes = np.empty((len(y), 0), np.int32)
    said += more
    if drop_duplicates:
        keep = first_of_duplicates(codes, numbers, y)
        repeated = np.count_nonzero(~keep)
        if repeated:
            codes, numbers, y = codes[keep], numbers[keep], y[keep]
        said.append(f"{repeated:,} rows repeat an earlier one in all features and the class, dropped")
    return MixedDataset(
        name=name,
        title=title,
        X_categorical=codes,
        X_numeric=numbers,
        y=y,
        categorical_names=tuple(categorical),
        numeric_names=tuple(numeric),
        categories=categories,
        n_categories=tuple(len(values) for values in categories),
        class_names=tuple(class_names),
        source="file",
        complete=complete,
        notes=tuple(said),
    )


def _count(items: Sequence[str], word: str) -> str:
    return f"{len(items)} {word}{'s' if len(items) > 1 else ''}"


def _some(names: Sequence[str], limit: int = 8) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")
