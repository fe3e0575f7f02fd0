"""A table as a file holds it: coded columns, before domains and row order are made canonical."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

MISSING = -1


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a file.

    Attributes
    ----------
    name : str
    values : tuple of str
        Its distinct values, in the order of their codes.
    codes : ndarray of int32, shape (rows,)
        Index into ``values``; ``MISSING`` where the cell is missing.
    declared : bool
        True where the file declares the domain (so that ``values`` may hold values without a row), False
        where ``values`` are those that occur, as text.
    """

    name: str
    values: tuple[str, ...]
    codes: np.ndarray
    declared: bool


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of one file, and how to speak about them in an error message.

    Attributes
    ----------
    label : str
        What to call the source in messages: the file, or the rules.
    columns : tuple of Column
    rows : int
    lines : ndarray of int, shape (rows,), or None
        The line of the file each row comes from, for text files.
    """

    label: str
    columns: tuple[Column, ...]
    rows: int
    lines: np.ndarray | None = None

    def place(self, row: int) -> str:
        """Say where row ``row`` (from 0) is: ``file.arff, line 17`` or ``file.parquet, row 17``."""
        if self.lines is None:
            return f"{self.label}, row {row + 1}"
        return f"{self.label}, line {self.lines[row]}"


def encode_texts(name: str, texts: Iterable[str | None], missing_values: Sequence[str] = ()) -> Column:
    """Code a column whose domain is what occurs in it; ``None`` and ``missing_values`` are missing."""
    index: dict[str | None, int] = dict.fromkeys((None, *missing_values), MISSING)
    absent = len(index)
    codes = np.array([index.setdefault(text, len(index) - absent) for text in texts], dtype=np.int32)
    values = tuple(text for text, code in index.items() if code != MISSING and text is not None)
    return Column(name=name, values=values, codes=codes, declared=False)
