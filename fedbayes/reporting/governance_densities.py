"""Figure 11: the nodes' Gaussians of one attribute and their mixture, drawn from node_gaussians.csv."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fedbayes.reporting.figures import PALETTE, new_figure, say_empty
from fedbayes.reporting.governance_alignment import FEW_NODES, line_of
from fedbayes.reporting.governance_series import Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLASSES = {"normal": "left: normal traffic", "attack": "right: attack traffic"}
MIDDLE = 0.3  # the middle level of the paper's seven; it names no cell for its figure
POINTS = 800
SPREAD = 3.5  # standard deviations drawn on either side


def chosen_cell(
    series: Series, gaussians: pd.DataFrame, feature: str
) -> tuple[float, int, pd.DataFrame] | None:
    """Level, seed and Gaussians of the cell to draw.

    The lowest seed at the level nearest to .3, among the cells whose Gaussians of the feature are in the file;
    None when there is none.
    """
    if gaussians.empty:
        return None
    rows = gaussians[gaussians["feature"] == feature]
    cells = series.runs[series.runs["cell"].isin(rows["cell"].unique())]
    if cells.empty:
        return None
    distance = np.abs(np.log(cells["alpha"] / MIDDLE)).round(9)
    first = cells.assign(distance=distance).sort_values(["distance", "seed", "cell"], kind="stable").iloc[0]
    chosen = rows[rows["cell"] == first["cell"]]
    return float(first["alpha"]), int(first["seed"]), chosen


def draw_densities(readings: list[tuple[str, pd.DataFrame]], nodes: tuple[str, ...], feature: str) -> Figure:
    """A row of panels per reading, a column per class; colours follow the order of the nodes."""
    classes = sorted({name for _, rows in readings for name in rows["class"]}, key=_place)
    figure = new_figure(2.3 * len(readings) + 0.6)
    grid = figure.subplots(len(readings), len(classes), squeeze=False)
    handles: dict[str, object] = {}
    for line, (reading, rows) in zip(grid, readings, strict=True):
        for axes, name in zip(line, classes, strict=True):
            _panel(axes, rows[rows["class"] == name], nodes)
            few = len(nodes) <= FEW_NODES
            axes.set_title(f"{name}, reading '{reading}'" + (f"\n{_weights(rows, nodes)}" if few else ""))
            handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        line[0].set_ylabel("density (1/s)")
    for axes in grid[-1]:
        axes.set_xlabel(f"{feature} (s)")
    handles = {name: handles[name] for name in (*nodes, "mixture") if name in handles}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
    return figure


def _place(name: str) -> tuple[int, str]:
    """Normal traffic on the left, as in the paper."""
    return list(CLASSES).index(name) if name in CLASSES else len(CLASSES), name


def _weights(rows: pd.DataFrame, nodes: tuple[str, ...]) -> str:
    """Node weights in the order of the legend."""
    by_node = rows.groupby("node")["weight"].first()
    return f"weights {', '.join(f'{by_node[name]:.2f}' for name in nodes if name in by_node.index)}"


def _panel(axes: Axes, rows: pd.DataFrame, nodes: tuple[str, ...]) -> None:
    if rows.empty:
        say_empty(axes, "no data")
        return
    rows = rows[rows["standard_deviation"] > 0]
    means, deviations = rows["mean"].to_numpy(float), rows["standard_deviation"].to_numpy(float)
    low, high = (means - SPREAD * deviations).min(), (means + SPREAD * deviations).max()
    # narrow curves need points of their own
    near = np.linspace(-SPREAD, SPREAD, POINTS)
    x = np.unique(
        np.concatenate([np.linspace(low, high, POINTS), *(means[:, None] + deviations[:, None] * near)])
    )
    curves = normal_density(x, means[:, None], deviations[:, None])
    weights = rows["weight"].to_numpy(float)
    for curve, name in zip(curves, rows["node"], strict=True):
        place = nodes.index(name) if name in nodes else 0
        axes.plot(x, curve, color=PALETTE[place % len(PALETTE)], ls=line_of(place), label=str(name))
    axes.plot(x, weights @ curves, color="black", ls=":", lw=1.4, label="mixture")
    top = curves.max()
    axes.set_yscale("log")
    axes.set_ylim(top * 1e-6, top * 3)
    axes.locator_params(axis="x", nbins=5)


def normal_density(x: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Gaussian density, in one over the unit of x."""
    return np.exp(-0.5 * ((x - mean) / deviation) ** 2) / (deviation * np.sqrt(2 * np.pi))
