"""Figures 1, 4 and 7: macro-F1 and ANLL of every proposal over the levels of heterogeneity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedbayes.reporting.figures import MARKERS, PALETTE, new_figure, say_empty
from fedbayes.reporting.governance_alignment import panel_title
from fedbayes.reporting.governance_series import DESCRIPTIONS, PROPOSALS, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {"A": PALETTE[0], "B": PALETTE[1], "C": "#555555", "E": PALETTE[2]}
SYMBOLS = dict(zip(PROPOSALS, MARKERS, strict=False))
COLUMNS = (("macro_f1", "macro-F1"), ("anll_mean", "mean ANLL (nats)"))
LOG_FROM = 100.0  # largest over smallest value from which a logarithmic axis reads better


def draw_gradient(series: list[Series]) -> Figure:
    """One row of two panels per reading, macro-F1 on the left and ANLL on the right."""
    figure = new_figure(2.35 * len(series) + 0.6)
    grid = figure.subplots(len(series), 2, squeeze=False)
    for axes, one in zip(grid, series, strict=True):
        for panel, (column, title) in zip(axes, COLUMNS, strict=True):
            _panel(panel, one, column)
            panel.set_ylabel(title)
            panel.set_title(panel_title(one))
    for panel in grid[-1]:
        panel.set_xlabel("Dirichlet alpha (low: heterogeneous)")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=4, columnspacing=1.2,
        title=series[0].partial or None, title_fontsize=7.5,
    )  # fmt: skip
    return figure


def _panel(axes: Axes, series: Series, column: str) -> None:
    wide, levels = series.values(column), series.levels
    printed = series.published.scores if series.published and column == "macro_f1" else {}
    shown: list[float] = []
    for place, proposal in enumerate(PROPOSALS):
        if proposal not in wide:
            continue
        look = {"color": COLOURS[proposal], "marker": SYMBOLS[proposal]}
        curve = wide[proposal].dropna().groupby(level="alpha").agg(["mean", "min", "max"])
        if curve.empty:
            continue
        # shifted a little, so that the bars of two proposals do not cover each other
        x = np.array([levels.index(level) for level in curve.index]) + 0.09 * (place - 1.5)
        shown += [curve["min"].min(), curve["max"].max()]
        reach = np.abs(curve[["min", "max"]].to_numpy().T - curve["mean"].to_numpy())
        axes.errorbar(x, curve["mean"], reach, elinewidth=0.6, label=DESCRIPTIONS[proposal], **look)
        axes.plot(len(levels) + 0.1, series.mean(proposal, column), ls="none", **look)
        if proposal in printed:
            axes.plot(len(levels) + 1.2, printed[proposal], ls="none", mfc="none", **look)
    if not shown:
        say_empty(axes, "no data")
        return
    if column != "macro_f1" and max(shown) > LOG_FROM * max(min(shown), 1e-12):
        axes.set_yscale("log")
    axes.axvline(len(levels) - 0.45, color="#999999", lw=0.6)
    extra = [len(levels) + 0.1, *([len(levels) + 1.2] if printed else [])]
    words = ["mean\nhere", *(["mean\nprinted"] if printed else [])]
    axes.set_xticks([*range(len(levels)), *extra], [*(f"{level:g}" for level in levels), *words])
    axes.set_xlim(-0.5, extra[-1] + 0.6)
