"""From the columns of a file to the columns of a data set: names, text, numbers and labels."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fedbayes.data.intrusion.tables import Table, is_number
from fedbayes.data.intrusion.text import name_key
from fedbayes.errors import DataError

# Row numbers that pandas and other tools write into a file; they say nothing about a flow.
ROW_NUMBERS = ("", "index", "unnamed0", "unnamed01", "level0")
_MISSING = pa.array(["", "nan", "na", "n/a", "null", "none", "?"])


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

    Returns
    -------
    dict
        Wanted name -> index of the column.

    Raises
    ------
    DataError
        Columns are missing, unknown, or repeated with different content.
    """
    known = {key: name for name, keys in wanted.items() for key in (name_key(name), *keys)}
    reasons = {key: reason for reason, keys in dropped.items() for key in keys}
    found: dict[str, int] = {}
    extra: list[str] = []
    removed: dict[str, list[str]] = {}
    for index, written in enumerate(table.names):
        # pandas writes the second of two equal names as "name.1"
        name = known.get(name_key(re.sub(r"\.\d$", "", written)), known.get(name_key(written)))
        if name is None and name_key(written) in reasons:
            removed.setdefault(reasons[name_key(written)], []).append(written or "(no name)")
        elif name is None:
            extra.append(written)
        elif name not in found:
            found[name] = index
        elif table.columns[found[name]].equals(table.columns[index]):
            removed.setdefault("repeated columns", []).append(name)
        else:
            raise DataError(f"{table.path}: column '{written}' stands twice with different content")
    missing = [name for name in wanted if name not in found and name not in optional]
    if missing:
        raise DataError(f"{table.path}: {_count(missing)} missing: {_some(missing)}")
    if extra:
        raise DataError(
            f"{table.path}: {_count(extra)} unknown: {_some(extra)}; remove what is not part of the data set"
        )
    for reason, names in removed.items():
        table.notes.append(f"{table.path.name}: {reason} left out: {', '.join(names)}")
    return found


def as_text(column: pa.Array) -> pa.Array:
    """Column as text without surrounding spaces; whole numbers lose a trailing ``.0``, nulls become empty."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    text = pc.utf8_trim_whitespace(pc.fill_null(pc.cast(column, pa.string()), ""))
    return pc.replace_substring_regex(text, r"^(-?\d+)\.0+$", r"\1")


def as_numbers(table: Table, index: int, name: str) -> np.ndarray:
    """Column as float64; empty cells and ``NaN`` become NaN and ``Infinity`` infinite, which the caller drops.

    Raises
    ------
    DataError
        A cell is text; the message names file, line, column and cell.
    """
    column = table.columns[index]
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    try:
        numbers = pc.cast(column, pa.float64(), safe=is_text)
        return pc.fill_null(numbers, np.nan).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        if not is_text:
            raise DataError(
                f"{table.path}: column '{name}' holds {column.type} values, expected numbers"
            ) from error
    text = pc.utf8_trim_whitespace(pc.fill_null(column, ""))
    text = pc.if_else(pc.is_in(pc.utf8_lower(text), value_set=_MISSING), "nan", text)
    try:
        return pc.cast(text, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        cells = text.to_pylist()
    for row, cell in enumerate(cells):
        if not is_number(cell):
            raise DataError(f"{table.place(row)}, column '{name}': {cell[:40]!r} is not a number")
    return np.array([float(cell) for cell in cells])


def missing_cells(text: pa.Array) -> np.ndarray:
    """Boolean mask of the missing cells of a text column: empty, ``?``, ``NaN`` and the like (``-`` is a value)."""
    return pc.is_in(pc.utf8_lower(text), value_set=_MISSING).to_numpy(zero_copy_only=False)


def read_labels(table: Table, index: int, name: str, code_of: Callable[[str], int | None]) -> np.ndarray:
    """Class codes of a label column.

    Parameters
    ----------
    code_of
        Gets each distinct label and returns its code, -1 for rows to leave out, None if it is unknown.

    Raises
    ------
    DataError
        A label is unknown; the message names file, line and label.
    """
    text = as_text(table.columns[index])
    encoded = text.dictionary_encode()
    codes = [code_of(label) for label in encoded.dictionary.to_pylist()]
    y = np.array([-2 if code is None else code for code in codes], dtype=np.int32)[
        encoded.indices.to_numpy(zero_copy_only=False)
    ]
    unknown = np.flatnonzero(y == -2)
    if unknown.size:
        row = int(unknown[0])
        more = f" ({unknown.size:,} such rows)" if unknown.size > 1 else ""
        raise DataError(
            f"{table.place(row)}, column '{name}': unknown label {text[row].as_py()[:40]!r}{more}"
        )
    return y


def _count(names: Sequence[str]) -> str:
    return f"{len(names)} column{'s' if len(names) > 1 else ''}"


def _some(names: Sequence[str], limit: int = 8) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")
