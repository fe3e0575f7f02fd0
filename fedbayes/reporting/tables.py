"""One DataFrame becomes three files: CSV with full precision, Markdown and LaTeX for reading."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from fedbayes.atomic_file import write_atomically

MISSING = "–"
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
    "–": "--",
    "ε": r"$\varepsilon$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "∞": r"$\infty$",
    "×": r"$\times$",
    "λ": r"$\lambda$",
    "α": r"$\alpha$",
    "Δ": r"$\Delta$",
    "−": r"$-$",
    "ʷ": r"\textsuperscript{w}",
}
_LATEX_PATTERN = re.compile("|".join(map(re.escape, _LATEX)))


def escape_latex(text: str) -> str:
    """Text with every character that LaTeX would interpret escaped; line breaks become spaces."""
    return _LATEX_PATTERN.sub(lambda match: _LATEX[match.group()], " ".join(str(text).split()))


def escape_markdown(text: str) -> str:
    """Text that stays inside one cell of a Markdown table."""
    plain = " ".join(str(text).split()).replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*")
    return re.sub(r"<(?=[A-Za-z/!])", r"\\<", plain)  # would be taken for an HTML tag


def format_number(value: object, digits: int = 4) -> str:
    """A cell as text: missing as a dash, whole numbers plain, other numbers with `digits` decimals."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        if math.isinf(value):
            return "∞" if value > 0 else "−∞"
        return f"{value:.{digits}f}"
    return str(value)


def format_mean_sd(mean: float, sd: float, digits: int = 3) -> str:
    """`0.912 ± 0.013`; the mean alone where there is no spread to give."""
    if math.isnan(mean):
        return MISSING
    return f"{mean:.{digits}f}" if math.isnan(sd) else f"{mean:.{digits}f} ± {sd:.{digits}f}"


def format_p(p: float) -> str:
    """A p-value to three decimals, or `< .001`."""
    if math.isnan(p):
        return MISSING
    return "< .001" if p < 0.001 else f"{p:.3f}"


def to_markdown(frame: pd.DataFrame, caption: str = "", notes: tuple[str, ...] | list[str] = ()) -> str:
    """Pipe table of a frame of strings, numbers aligned right, caption above and notes below."""
    header = [escape_markdown(column) for column in frame.columns]
    rows = [[escape_markdown(value) for value in row] for row in frame.itertuples(index=False)]
    rules = ["---:" if right else ":---" for right in _right_aligned(frame)]
    lines = ["| " + " | ".join(cells) + " |" for cells in [header, rules, *rows]]
    above = [f"**{caption}**", ""] if caption else []
    below = [line for note in notes if note for line in ("", note)]
    return "\n".join([*above, *lines, *below]) + "\n"


def to_latex(
    frame: pd.DataFrame, caption: str = "", label: str = "", notes: tuple[str, ...] | list[str] = ()
) -> str:
    """LaTeX longtable (package booktabs and longtable) of a frame of strings, everything escaped."""
    alignment = "".join("r" if right else "l" for right in _right_aligned(frame))
    row_end = r" \\"
    header = " & ".join(escape_latex(column) for column in frame.columns) + row_end
    body = [
        " & ".join(escape_latex(value) for value in row) + row_end for row in frame.itertuples(index=False)
    ]
    title = [rf"\caption{{{escape_latex(caption)}}}\label{{tab:{label}}}" + row_end] if caption else []
    across = rf"\multicolumn{{{len(frame.columns)}}}{{p{{0.95\linewidth}}}}"
    below = [rf"{across}{{\footnotesize {escape_latex(note)}}}{row_end}" for note in notes if note]
    lines = [
        r"{\footnotesize\setlength{\tabcolsep}{3pt}",
        rf"\begin{{longtable}}{{{alignment}}}",
        *title,
        r"\toprule",
        header,
        r"\midrule",
        r"\endhead",
        *body,
        r"\bottomrule",
        *below,
        r"\end{longtable}}",
    ]
    return "\n".join(lines) + "\n"


def write_table(
    frame: pd.DataFrame,
    folder: Path,
    name: str,
    *,
    caption: str = "",
    notes: tuple[str, ...] | list[str] = (),
    display: pd.DataFrame | None = None,
    formats: Mapping[str, Callable[[object], str]] | None = None,
    digits: int = 4,
) -> list[Path]:
    """Write `tables/<name>.csv`, `.md` and `.tex` below `folder`.

    Parameters
    ----------
    frame : DataFrame
        The numbers; the CSV holds them with full precision (floats by repr), missing values empty.
    folder : Path
        Folder of the results; the files go to its `tables`.
    name : str
        File name without ending, also the LaTeX label.
    caption, notes
        Above and below the Markdown and LaTeX tables. Words about partial data belong here.
    display : DataFrame, optional
        What Markdown and LaTeX show where it differs from `frame` (mean ± sd in one cell, say).
    formats : mapping of column to function, optional
        How a column's values become text; other columns use `format_number`.
    digits : int
        Decimals of floats without a format of their own.

    Returns
    -------
    list of Path
        The three files.
    """
    shown = display if display is not None else frame
    formats = formats or {}
    text = pd.DataFrame(
        {
            column: [
                formats[column](value) if column in formats else format_number(value, digits)
                for value in shown[column]
            ]
            for column in shown.columns
        },
        columns=shown.columns,
        dtype=object,
    )
    stem = Path(folder) / "tables" / name
    return [
        write_atomically(stem.with_name(f"{name}.csv"), frame.to_csv(index=False, lineterminator="\n")),
        write_atomically(stem.with_name(f"{name}.md"), to_markdown(text, caption, notes)),
        write_atomically(stem.with_name(f"{name}.tex"), to_latex(text, caption, name, notes)),
    ]


def _right_aligned(frame: pd.DataFrame) -> list[bool]:
    """Columns in which every shown value starts like a number."""
    pattern = re.compile(r"^([<−+-]?\s*[\d.∞]|–$)")
    return [len(frame) > 0 and all(pattern.match(str(value)) for value in frame[column]) for column in frame]
