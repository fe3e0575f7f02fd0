"""From a table to a `CategoricalDataset`: domains, missing values, checks, and one row order for every source."""

import re
from dataclasses import replace

import numpy as np

from ..errors import DataError
from .dataset import CategoricalDataset
from .specification import DatasetSpecification
from .table import MISSING, Column, Table

MAX_INTEGER_VALUES = 50
"""Most distinct whole numbers that are taken as categories without a word."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity|nan)", re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d+(\.0*)?")
_LEADING_ZERO = re.compile(r"[+-]?0\d+")


def make_categorical(
    table: Table,
    specification: DatasetSpecification,
    *,
    source: str,
    missing: str = "category",
    drop_duplicates: bool = False,
    target: str | None = None,
) -> CategoricalDataset:
    """Check a table against its description and put it into canonical form.

    The domains are the declared values, where the source declares them, in text order; a missing value is
    the last value of the attributes that have one. Rows are sorted by their codes, then by class, so that
    every source of the same data gives the same arrays.

    Parameters
    ----------
    table : Table
    specification : DatasetSpecification
    source : str
        Goes into ``CategoricalDataset.source``.
    missing : {"category", "mode"}
        Keep missing cells as one more value, or replace them by the attribute's most frequent value (the
        first in text order where several are).
    drop_duplicates : bool
        Drop rows that repeat an earlier one in all attributes and the class.
    target : str, optional
        The class column; default is the specification's.

    Raises
    ------
    DataError
        No such target, a missing class label, fewer than two classes, numbers that are no categories, or
        other numbers of rows, attributes or classes than the specification promises.
    """
    label_column, attributes = _split_columns(table, specification, target or specification.target)
    notes: list[str] = []
    class_column = _sorted_domain(_as_categories(table, label_column, is_target=True))
    _check_classes(table, class_column, notes)
    columns = [_sorted_domain(_as_categories(table, column)) for column in attributes]
    _note_identifiers(table, columns, notes)
    _check_expected(table, specification, len(columns), len(class_column.values))
    columns = _settle_missing(columns, missing, notes)
    X = np.column_stack([column.codes for column in columns]).astype(np.int32)
    y = class_column.codes
    order = np.lexsort((y, *X.T[::-1]))
    X, y = X[order], y[order]
    if drop_duplicates:
        repeated = np.zeros(len(y), dtype=bool)
        repeated[1:] = (X[1:] == X[:-1]).all(axis=1) & (y[1:] == y[:-1])
        X, y = X[~repeated], y[~repeated]
        notes.append(f"{int(repeated.sum())} rows that repeat another one dropped")
    dataset = CategoricalDataset(
        name=specification.name,
        title=specification.title,
        X=X,
        y=y,
        attribute_names=tuple(column.name for column in columns),
        cardinalities=tuple(len(column.values) for column in columns),
        categories=tuple(column.values for column in columns),
        class_names=class_column.values,
        source=source,
        notes=tuple(notes),
    )
    known = specification.fingerprint
    if known and missing == "category" and not drop_duplicates and dataset.fingerprint != known:
        note = "not the same rows, names or values as the data behind the published results"
        return replace(dataset, notes=(*dataset.notes, note))
    return dataset


def find_column(table: Table, name: str) -> Column | None:
    """Find a column by its name, or by its name in other capitals where that is unique."""
    exact = [column for column in table.columns if column.name == name]
    similar = [column for column in table.columns if column.name.casefold() == name.casefold()]
    found = exact or similar
    return found[0] if len(found) == 1 else None


def _split_columns(
    table: Table, specification: DatasetSpecification, target: str | None
) -> tuple[Column, list[Column]]:
    names = [column.name for column in table.columns]
    label_column = find_column(table, target) if target else None
    if label_column is None:
        raise DataError(
            f"{table.label}: no column '{target}' (the target of '{specification.name}'); "
            f"the columns are {_listed(names)}"
        )
    ignored = specification.ignore
    if label_column.name in ignored:
        raise DataError(f"{table.label}: the target '{label_column.name}' is also listed in ignore")
    unknown = [name for name in ignored if name not in names]
    if unknown and specification.file is not None:
        raise DataError(
            f"{table.label}: no column '{unknown[0]}' (listed in ignore); the columns are {_listed(names)}"
        )
    attributes = [c for c in table.columns if c is not label_column and c.name not in ignored]
    if not attributes:
        raise DataError(f"{table.label}: no attribute is left beside the target '{label_column.name}'")
    if table.rows == 0:
        raise DataError(f"{table.label}: holds no rows")
    return label_column, attributes


def _as_categories(table: Table, column: Column, is_target: bool = False) -> Column:
    """Take whole numbers as categories where they are few; refuse columns that measure something."""
    if column.declared:
        return column
    numeric = [value for value in column.values if _NUMBER.fullmatch(value)]
    if not numeric or len(numeric) < 0.9 * len(column.values):
        return column
    what = f"{table.label}: {'the target' if is_target else 'attribute'} '{column.name}'"
    remedy = (
        "choose a column of categories as target"
        if is_target
        else f"sort the numbers into a few classes first, or leave the column out (ignore: [{column.name}])"
    )
    fractions = [value for value in numeric if not _WHOLE.fullmatch(value)]
    if fractions:
        raise DataError(
            f"{what} holds numbers that are not whole (such as {fractions[0]}), no categories; {remedy}"
        )
    if len(column.values) > MAX_INTEGER_VALUES:
        raise DataError(
            f"{what} holds {len(column.values)} different numbers, more than {MAX_INTEGER_VALUES}, "
            f"no categories; {remedy}"
        )
    if any(_LEADING_ZERO.fullmatch(value) for value in column.values):
        return column  # codes such as 007: text, as they stand
    whole = [_plain_whole(value) if _WHOLE.fullmatch(value) else value for value in column.values]
    values = tuple(dict.fromkeys(whole))
    recode = np.array([values.index(value) for value in whole] + [MISSING], dtype=np.int32)
    return replace(column, values=values, codes=recode[column.codes])


def _plain_whole(text: str) -> str:
    """Write ``+5`` and ``5.0`` as ``5``; as text, since a number may have thousands of digits."""
    digits = text.split(".")[0].lstrip("+-").lstrip("0")
    return ("-" if text.startswith("-") else "") + digits if digits else "0"


def _sorted_domain(column: Column) -> Column:
    """Put the values into text order (by code point)."""
    order = sorted(range(len(column.values)), key=column.values.__getitem__)
    rank = np.empty(len(order) + 1, dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    rank[-1] = MISSING
    return replace(column, values=tuple(column.values[i] for i in order), codes=rank[column.codes])


def _check_classes(table: Table, column: Column, notes: list[str]) -> None:
    unlabelled = np.flatnonzero(column.codes == MISSING)
    if unlabelled.size:
        raise DataError(
            f"{table.place(int(unlabelled[0]))}: the target '{column.name}' is missing "
            f"({unlabelled.size} rows in all); remove these rows"
        )
    counts = np.bincount(column.codes, minlength=len(column.values))
    if (counts > 0).sum() < 2:
        raise DataError(
            f"{table.label}: the target '{column.name}' has only one class "
            f"('{column.values[int(counts.argmax())]}'); a classifier needs two"
        )
    empty = [value for value, count in zip(column.values, counts, strict=True) if count == 0]
    if empty:
        notes.append(f"declared classes without rows: {_listed(empty)}")


def _note_identifiers(table: Table, columns: list[Column], notes: list[str]) -> None:
    for column in columns:
        if len(column.values) > max(MAX_INTEGER_VALUES, table.rows // 2):
            notes.append(
                f"attribute '{column.name}' has {len(column.values)} values in {table.rows} rows; "
                f"if it only names the rows, leave it out (ignore: [{column.name}])"
            )


def _check_expected(table: Table, specification: DatasetSpecification, attributes: int, classes: int) -> None:
    found = {"rows": table.rows, "attributes": attributes, "classes": classes}
    wrong = [
        f"{value} {field} instead of {getattr(specification, field)}"
        for field, value in found.items()
        if getattr(specification, field) not in (None, value)
    ]
    if wrong:
        raise DataError(
            f"{table.label}: not the data set '{specification.name}' as described: {', '.join(wrong)}"
        )


def _settle_missing(columns: list[Column], missing: str, notes: list[str]) -> list[Column]:
    cells = [int((column.codes == MISSING).sum()) for column in columns]
    if not any(cells):
        return columns
    settled: list[Column] = []
    kept = replaced = 0
    for column, count in zip(columns, cells, strict=True):
        empty = count == len(column.codes)
        if empty:
            notes.append(f"attribute '{column.name}' is missing in every row")
        if count == 0:
            settled.append(column)
        elif missing == "mode" and not empty:
            mode = int(np.bincount(column.codes[column.codes != MISSING]).argmax())
            settled.append(
                replace(column, codes=np.where(column.codes == MISSING, np.int32(mode), column.codes))
            )
            replaced += count
        else:
            name = "?"
            while name in column.values:
                name = f"({name})"
            codes = np.where(column.codes == MISSING, np.int32(len(column.values)), column.codes)
            settled.append(replace(column, values=(*column.values, name), codes=codes))
            kept += count
    if kept:
        notes.append(f"{kept} missing cells kept as a category of their own")
    if replaced:
        notes.append(f"{replaced} missing cells replaced by the attribute's most frequent value")
    return settled


def _listed(names: list[str], most: int = 12) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"
