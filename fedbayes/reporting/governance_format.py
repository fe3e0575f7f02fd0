"""How a number of the governance report is written."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from fedbayes.reporting.tables import MISSING, write_table

if TYPE_CHECKING:
    from fedbayes.reporting.governance_study import Study

NOT_PRINTED = "not printed"
NO_DATA = "no data"
NOT_APPLICABLE = MISSING


class Shown(str):
    """A number as readers see it, with the unrounded number for the CSV file."""

    __slots__ = ("value",)

    def __new__(cls, text: str, value: float) -> Shown:
        """Text and the number behind it."""
        shown = super().__new__(cls, text)
        shown.value = value
        return shown


def make_frame(rows: list[dict]) -> pd.DataFrame:
    """Frame of finished cells, one "no data" without rows; type object, since pandas would turn `Shown` to text."""
    return pd.DataFrame(rows or [{"Dataset": NO_DATA}], dtype=object)


@dataclass(frozen=True)
class Table:
    """A finished table: file name without ending, caption, a frame of text and `Shown`, and notes below it."""

    name: str
    caption: str
    frame: pd.DataFrame = field(repr=False)
    notes: tuple[str, ...] = ()

    def write(self, folder: Path) -> list[Path]:
        """Write CSV (unrounded), Markdown and LaTeX below `folder`."""
        cells = self.frame.to_dict("records")
        numbers = make_frame([{name: _plain(cell) for name, cell in row.items()} for row in cells])
        text = make_frame([{name: str(cell) for name, cell in row.items()} for row in cells])
        return write_table(numbers, folder, self.name, caption=self.caption, notes=self.notes, display=text)


def _plain(cell: object) -> object:
    return cell.value if isinstance(cell, Shown) else cell


def number(value: float | None, digits: int, absent: str = NO_DATA) -> str:
    """Fixed decimals; `absent` for None and for anything not finite."""
    if value is None or not math.isfinite(value):
        return absent
    return Shown(f"{value:.{digits}f}", float(value))


def signed(value: float | None, digits: int, absent: str = NO_DATA) -> str:
    """Fixed decimals with a sign; a rounded zero has a plus."""
    if value is None or not math.isfinite(value):
        return absent
    return Shown(f"{round(value, digits) + 0.0:+.{digits}f}", float(value))


def gap(ours: float | None, printed: float | None, digits: int) -> str:
    """Ours minus the published value."""
    if printed is None:
        return NOT_PRINTED
    return NO_DATA if ours is None else signed(ours - printed, digits)


def p_value(p: float, star: bool = False) -> str:
    """Three decimals, or the paper's bound below .001, with a star when below .05."""
    text = "<0.001" if p < 0.001 else f"{p:.3f}"
    return Shown(f"{text} *" if star and p < 0.05 else text, float(p))


def caption(study: Study, words: str, datasets: Iterable[str]) -> str:
    """Caption followed by the words for partial data where they apply."""
    partial = study.partial(datasets)
    return f"{words} [{partial}]" if partial else words


def without_constant(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Drop the column of settings when every row has those of the paper."""
    from fedbayes.reporting.governance_series import PAPER_SETTINGS

    if column not in frame or set(frame[column]) - {PAPER_SETTINGS, "published", NO_DATA}:
        return frame
    return frame.drop(columns=column)
