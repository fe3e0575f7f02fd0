"""CSV files: a header line, then one row a line; commas, semicolons or tabs; UTF-8."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...errors import DataError
from ..table import Table, encode_texts
from .content import read_lines

_DELIMITERS = (",", ";", "\t")


def read_csv(path: Path, missing_values: Sequence[str]) -> Table:
    """Read a CSV file; see `fedbayes.data.files.read_table`."""
    lines = read_lines(path)
    header = next((line for line in lines if line.strip()), None)
    if header is None:
        raise DataError(f"{path}: the file is empty")
    delimiter = max(_DELIMITERS, key=header.count)
    # Line ends are put back so that a quoted value may hold one.
    reader = csv.reader(
        (line + "\n" for line in lines), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    names: list[str] | None = None
    rows: list[list[str]] = []
    numbers: list[int] = []
    ended = 0
    try:
        for row in reader:
            number, ended = ended + 1, reader.line_num
            if not row or (len(row) == 1 and not row[0].strip() and (names is None or len(names) > 1)):
                continue
            if names is None:
                names = _read_names(path, number, row)
            elif len(row) != len(names):
                raise DataError(f"{path}, line {number}: {len(row)} values, expected {len(names)}")
            elif [cell.strip() for cell in row] == names:
                raise DataError(f"{path}, line {number}: repeats the header; remove this line")
            else:
                rows.append(row)
                numbers.append(number)
    except csv.Error as error:
        raise DataError(f"{path}, line {ended + 1}: cannot be read as CSV ({error})") from error
    assert names is not None
    if not rows:
        raise DataError(f"{path}: no rows after the header")
    columns = [
        encode_texts(name, [cell.strip() for cell in cells], missing_values)
        for name, cells in zip(names, zip(*rows, strict=True), strict=True)
    ]
    return Table(label=str(path), columns=tuple(columns), rows=len(rows), lines=np.array(numbers))


def _read_names(path: Path, number: int, row: list[str]) -> list[str]:
    names = [name.strip() for name in row]
    for position, name in enumerate(names):
        if not name:
            raise DataError(
                f"{path}, line {number}: column {position + 1} has no name; "
                "the first line must name every column (an index column left by pandas: write with index=False)"
            )
        if name in names[:position]:
            raise DataError(f"{path}, line {number}: the column name '{name}' occurs twice")
    return names
