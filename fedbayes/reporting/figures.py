"""Look and saving of figures: page width, colours that colour-blind readers can tell apart, no dates inside.

Figures are made with matplotlib's objects, without pyplot, so that nothing global is touched. A figure is
drawn inside `with style():`, built by `new_figure`, and saved by `save_figure` as PNG and PDF with a caption.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fedbayes.atomic_file import write_atomically
from fedbayes.reporting.files import remove_stale

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE_WIDTH = 7.0  # inches: the text width of an A4 or letter page
# Okabe and Ito's palette without its yellow, which is too light for lines on white
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
SUFFIXES = (".png", ".pdf", ".md")
_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 8.0,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}


@contextmanager
def style() -> Iterator[None]:
    """Draw in the report's style, whatever the user's matplotlibrc says."""
    import matplotlib

    # asking for the backend would load pyplot
    defaults = {
        key: value for key, value in matplotlib.rcParamsDefault.items() if not key.startswith("backend")
    }
    with matplotlib.rc_context(defaults | _STYLE):
        yield


def new_figure(height: float, width: float = PAGE_WIDTH) -> Figure:
    """Empty figure in inches with constrained layout, which keeps labels and legends from overlapping."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def say_empty(axes: Axes, words: str) -> None:
    """Write why a panel has no data instead of leaving an empty box; panels that share its axes keep theirs."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, words, ha="center", va="center", transform=axes.transAxes, color="#555555", wrap=True)


def save_figure(figure: Figure, folder: Path, name: str, caption: str) -> list[Path]:
    """Write `figures/<name>.png`, `.pdf` and the caption `<name>.md` below `folder`.

    Equal data give equal bytes: neither file holds a date.
    """
    stem = Path(folder) / "figures" / name
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # what has been laid out once need not be again for the second file
    written = []
    for suffix, metadata in (
        (".png", {"Software": None}),
        (".pdf", {"CreationDate": None, "Producer": None, "Creator": None}),
    ):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=suffix[1:], dpi=200, metadata=metadata)
        written.append(write_atomically(stem.with_name(name + suffix), buffer.getvalue()))
    written.append(write_atomically(stem.with_name(f"{name}.md"), f"![{name}]({name}.png)\n\n{caption}\n"))
    return written


def explain_absence(folder: Path, name: str, reason: str) -> list[Path]:
    """Leave a note `figures/<name>.md` where a figure cannot be drawn and remove an older picture of it."""
    figures = Path(folder) / "figures"
    note = write_atomically(figures / f"{name}.md", f"Not drawn: {reason}\n")
    remove_stale(figures, [name], [note], SUFFIXES)
    return [note]
