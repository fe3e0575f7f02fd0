"""Figures 2, 3, 5, 6, 8, 9 and 10: learned weights of the nodes beside the target made of the ICC."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedbayes.federated.governance import PAPER_NODES
from fedbayes.reporting.figures import MARKERS, PALETTE, new_figure, say_empty
from fedbayes.reporting.governance_series import DESCRIPTIONS, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TARGET_COLOUR = "#E69F00"
BARS = {"A": (PALETTE[0], ""), "A0": ("#9ecae1", "//"), "AR": ("#bdbdbd", "..")}
WIDTH = 0.27
FEW_NODES = 4  # from more nodes on their names stand upright


def draw_alignment(cells: list[list[Series | None]], rows: list[str], columns: list[str]) -> Figure:
    """Bars of mean weights: a row of panels per reading, a column per data set, None where there are no data."""
    figure = new_figure(2.2 * len(rows) + 0.8, width=7.0 if len(columns) > 1 else 4.6)
    grid = figure.subplots(len(rows), len(columns), squeeze=False)
    top = 1.05 * max((_highest(series) for row in cells for series in row if series is not None), default=1.0)
    handles: dict[str, object] = {}
    for reading, line, row in zip(rows, grid, cells, strict=True):
        for axes, title, series in zip(line, columns, row, strict=True):
            mark = "\n(partial data)" if series is not None and series.partial else ""
            axes.set_title(f"{title}, '{reading}'{mark}")
            if series is None or not len(series.weights("A")):
                say_empty(axes, "no data")
                continue
            _bars(axes, series)
            axes.set_ylim(0, top)
            handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        line[0].set_ylabel("mean weight")
    found = dict.fromkeys(s.partial for row in cells for s in row if s is not None and s.partial)
    partial = "; ".join(found).replace("; partial data: ", "; ")
    if handles:
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=3,
            title=_wrapped(partial) or None, title_fontsize=7.5,
        )  # fmt: skip
    return figure


def draw_weights(series: list[Series]) -> Figure:
    """Weights of A over the levels, one panel per reading, with the target dotted in each node's colour."""
    figure = new_figure(3.0)
    grid = figure.subplots(1, len(series), squeeze=False, sharey=True)[0]
    tops = []
    for axes, one in zip(grid, series, strict=True):
        tops.append(_curves(axes, one))
        axes.set_title(panel_title(one))
        axes.set_xlabel("Dirichlet alpha (low: heterogeneous)")
    grid[0].set_ylabel("mean weight")
    grid[0].set_ylim(0, min(1.0, 1.08 * max(tops)))
    handles, labels = grid[0].get_legend_handles_labels()
    title = _wrapped(series[0].partial) or None
    figure.legend(handles, labels, loc="outside lower center", ncols=4, title=title, title_fontsize=7.5)
    return figure


def line_of(node: int) -> str:
    """Line style of a node: the palette starts again after its last colour, dashed."""
    return "-" if node < len(PALETTE) else "--"


def panel_title(series: Series) -> str:
    """Data set and reading, with the mark of partial data."""
    return f"{series.title}, reading '{series.reading}'{' (partial data)' if series.partial else ''}"


def _bars(axes: Axes, series: Series) -> None:
    places = np.arange(series.clients)
    for shift, (proposal, (colour, hatch)) in enumerate(BARS.items(), start=-1):
        weights = series.weights(proposal)
        if len(weights):
            axes.bar(
                places + shift * WIDTH, weights.mean(axis=0), WIDTH * 0.92, color=colour, hatch=hatch,
                edgecolor="white", linewidth=0.4, label=DESCRIPTIONS[proposal],
            )  # fmt: skip
    axes.plot(places, series.target, color=TARGET_COLOUR, marker="o", label="target (ICC)")
    if series.published and series.profiles == PAPER_NODES:
        axes.plot(
            places - WIDTH, series.published.weights, ls="none", marker="D", ms=5, mfc="white", mec="black",
            label="published (Table VII)",
        )  # fmt: skip
    few = series.clients <= FEW_NODES
    axes.set_xticks(places, series.nodes, rotation=0 if few else 90)
    axes.grid(axis="x", visible=False)


def _highest(series: Series) -> float:
    means = [weights.mean(axis=0).max() for weights in map(series.weights, BARS) if len(weights)]
    printed = series.published.weights if series.published and series.profiles == PAPER_NODES else ()
    return max([*means, *series.target, *printed])


def _curves(axes: Axes, series: Series) -> float:
    """Draw the curves of one series and return its highest value."""
    places = np.arange(len(series.levels))
    samples = [series.at(level).weights("A") for level in series.levels]
    if not all(len(sample) for sample in samples):
        say_empty(axes, "no data")
        return 1.0
    means = np.array([sample.mean(axis=0) for sample in samples])
    reach = np.array(
        [
            [mean - sample.min(axis=0), sample.max(axis=0) - mean]
            for mean, sample in zip(means, samples, strict=True)
        ]
    )
    for node, name in enumerate(series.nodes):
        colour, marker = PALETTE[node % len(PALETTE)], MARKERS[node % len(MARKERS)]
        nudge = min(0.06, 0.4 / series.clients) * (node - (series.clients - 1) / 2)
        axes.errorbar(
            places + nudge, means[:, node], reach[:, :, node].T, color=colour, marker=marker, capsize=2,
            elinewidth=0.7, ls=line_of(node), label=name,
        )  # fmt: skip
        axes.axhline(
            series.target[node],
            color=colour,
            ls=":",
            lw=1.2,
            label="target (ICC), dotted" if not node else None,
        )
    axes.set_xticks(places, [f"{level:g}" for level in series.levels])
    return max((means + reach[:, 1]).max(), *series.target)


def _wrapped(words: str, width: int = 90) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(words, width))
