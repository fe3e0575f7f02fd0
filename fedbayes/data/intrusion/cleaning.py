"""Clean rows and put them together as a data set; every change to the data is counted in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from fedbayes.data.dataset import MixedDataset
from fedbayes.data.intrusion.columns import as_numbers, as_text, missing_cells
from fedbayes.data.intrusion.tables import Table
from fedbayes.errors import DataError

MISSING_CATEGORY = "?"


@dataclass
class Rows:
    """Usable rows of one file: text columns, finite numbers, labels; what was done; and how many rows it has."""

    categorical: list[pa.Array]
    numeric: np.ndarray
    y: np.ndarray
    in_file: int
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Layout:
    """What a data set looks like: its names and its features."""

    name: str
    title: str
    categorical: tuple[str, ...]
    numeric: tuple[str, ...]
    class_names: tuple[str, ...]


def extract(
    table: Table,
    columns: Mapping[str, int],
    categorical: Sequence[str],
    numeric: Sequence[str],
    y: np.ndarray,
) -> Rows:
    """Turn matched columns into text and numbers and leave out the rows that cannot be used.

    These are rows with ``y < 0`` (the caller counts them) and rows with an empty, ``NaN`` or infinite number.

    Raises
    ------
    DataError
        A numeric column holds text.
    """
    numbers = np.empty((table.rows, len(numeric)))
    for position, name in enumerate(numeric):
        numbers[:, position] = as_numbers(table, columns[name], name)
    numbers += 0.0  # -0.0 and 0.0 are one number
    texts = [as_text(table.columns[columns[name]]) for name in categorical]
    notes = list(table.notes)
    finite = np.isfinite(numbers)
    keep = finite.all(axis=1) & (y >= 0)
    lost = np.count_nonzero((y >= 0) & ~keep)
    if lost:
        cells = np.count_nonzero(~finite[y >= 0], axis=0)
        which = ", ".join(f"{numeric[column]} {cells[column]:,}" for column in np.flatnonzero(cells)[:6])
        notes.append(
            f"{table.path.name}: {lost:,} rows with an empty or infinite number dropped (cells: {which})"
        )
    if not keep.all():
        mask = pa.array(keep)
        texts, numbers, y = [text.filter(mask) for text in texts], numbers[keep], y[keep]
    return Rows(texts, numbers, y.astype(np.int32), table.rows, notes)


def encode(
    texts: Sequence[pa.Array], names: Sequence[str], missing: str
) -> tuple[np.ndarray, tuple[tuple[str, ...], ...], list[str]]:
    """Code text columns over a global vocabulary in text order.

    An empty cell becomes one more, last, value ``?`` (``missing="category"``) or the most frequent value
    (``missing="mode"``).

    Returns
    -------
    codes : ndarray of int32, shape (rows, columns)
    categories : tuple of tuple of str
    notes : list of str
    """
    codes = np.empty((len(texts[0]) if texts else 0, len(texts)), np.int32)
    categories, notes = [], []
    for position, (text, name) in enumerate(zip(texts, names, strict=True)):
        gaps = missing_cells(text)
        encoded = text.dictionary_encode()
        written = encoded.dictionary.to_pylist()
        places = encoded.indices.to_numpy(zero_copy_only=False)
        values = sorted({written[place] for place in np.unique(places[~gaps])})
        code_of = {value: code for code, value in enumerate(values)}
        column = np.array([code_of.get(value, -1) for value in written], np.int32)[places]
        if gaps.any():
            many = f"{np.count_nonzero(gaps):,} missing cells of {name}"
            if missing == "mode" and values:
                column[gaps] = np.argmax(np.bincount(column[~gaps], minlength=len(values)))
                notes.append(f"{many} set to the most frequent value")
            else:
                column[gaps] = len(values)
                values.append(MISSING_CATEGORY)
                notes.append(f"{many} kept as a category")
        codes[:, position] = column
        categories.append(tuple(values))
    return codes, tuple(categories), notes


def first_of_duplicates(codes: np.ndarray, numbers: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Boolean mask of the rows that do not repeat an earlier row in all features and the class."""
    import pandas as pd

    frames = [pd.DataFrame(codes), pd.DataFrame(numbers), pd.DataFrame(y)]
    return ~pd.concat(frames, axis=1, ignore_index=True).duplicated(keep="first").to_numpy()


def assemble(
    parts: Sequence[Rows],
    layout: Layout,
    *,
    missing: str,
    drop_duplicates: bool,
    complete: bool,
    notes: Sequence[str] = (),
) -> MixedDataset:
    """Put the rows of several files below one another, in order, and make a data set of them.

    Raises
    ------
    DataError
        No usable rows are left.
    """
    numbers = np.concatenate([part.numeric for part in parts])
    y = np.concatenate([part.y for part in parts])
    said = [*notes, *_merged([note for part in parts for note in part.notes])]
    if len(y) == 0:
        raise DataError(f"{layout.name}: no usable rows are left ({'; '.join(said)})")
    texts = [pa.concat_arrays(columns) for columns in zip(*(part.categorical for part in parts), strict=True)]
    codes, categories, more = encode(texts, layout.categorical, missing)
    if not texts:
        codes = np.empty((len(y), 0), np.int32)
    said += more
    if drop_duplicates:
        keep = first_of_duplicates(codes, numbers, y)
        if not keep.all():
            codes, numbers, y = codes[keep], numbers[keep], y[keep]
        repeated = np.count_nonzero(~keep)
        said.append(f"{repeated:,} rows that repeat an earlier one in all features and the class dropped")
    return MixedDataset(
        name=layout.name,
        title=layout.title,
        X_categorical=codes,
        X_numeric=numbers,
        y=y,
        categorical_names=layout.categorical,
        numeric_names=layout.numeric,
        categories=categories,
        n_categories=tuple(len(values) for values in categories),
        class_names=layout.class_names,
        source="file",
        complete=complete,
        notes=tuple(said),
    )


def _merged(notes: Sequence[str]) -> list[str]:
    """Say once what is true of several files: ``16 files: identifiers left out: id``."""
    files: dict[str, list[str]] = {}
    for note in notes:
        file, _, words = note.partition(": ")
        files.setdefault(words, []).append(file)
    return [
        f"{names[0] if len(names) == 1 else f'{len(names)} files'}: {words}" for words, names in files.items()
    ]
