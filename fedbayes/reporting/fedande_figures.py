"""Figures 1 to 4 of the FedAnDE paper, under its own numbers and in its own layout."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fedbayes.reporting import fedande_published as published
from fedbayes.reporting.fedande_series import LEARNERS, Block, Study, model_name, summarise
from fedbayes.reporting.fedande_tables import half_width, pool, title
from fedbayes.reporting.figures import (
    MARKERS,
    PALETTE,
    explain_absence,
    new_figure,
    save_figure,
    say_empty,
    style,
)
from fedbayes.reporting.partial import is_partial, partial_note

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = ("local", "federated")
DASHES = {"generative": "-", "discriminative": (0, (4, 1.6))}
INTERVAL = "95 % t intervals of the mean over folds x seeds"


def regimes(study: Study) -> list[str]:
    """The regimes that have a panel: those of which a row was planned for any data set."""
    planned = set(study.planned["regime"])
    return [regime for regime in PANELS if regime in planned]


def curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy and the half width of its interval for every cell."""
    table = summarise(rows, "accuracy")
    table["half_width"] = [
        half_width(np.array([r.sd]), np.array([r.rows])) for r in table.itertuples(index=False)
    ]
    return table


def draw_curves(axes: Axes, table: pd.DataFrame, clients: list[int], *, hollow: bool = False) -> None:
    """One line per learner and order; client numbers stand at equal distances, since the paper's nearly double."""
    for (learner, n), line in table.groupby(["learner", "n"], sort=True):
        line = line.sort_values("clients")
        x = np.array([clients.index(value) for value in line["clients"]], dtype=float)
        mean, width = line["mean"].to_numpy(), line["half_width"].fillna(0.0).to_numpy()
        markers = list(range(len(x)))
        if len(x) == 1:
            # nothing to join: a piece of line on both sides still tells the learner, and carries the band
            x, markers = x[0] + np.array([-0.12, 0.0, 0.12]), [1]
            mean, width = mean.repeat(3), width.repeat(3)
        colour = PALETTE[int(n) % len(PALETTE)]
        axes.plot(
            x,
            mean,
            color=colour,
            linestyle=DASHES[learner],
            linewidth=0.9 if hollow else 1.3,
            marker=MARKERS[int(n) % len(MARKERS)],
            markevery=markers,
            markerfacecolor="white" if hollow else colour,
            markeredgecolor=colour,
            zorder=3 + n,
        )
        axes.fill_between(
            x,
            np.maximum(mean - width, 0.0),
            np.minimum(mean + width, 1.0),
            color=colour,
            alpha=0.18,
            linewidth=0,
        )


def dress(axes: Axes, clients: list[int], *, labels: bool = True) -> None:
    """Ticks at the client numbers, a margin left and right."""
    axes.set_xticks(range(len(clients)), [str(value) for value in clients])
    axes.set_xlim(-0.35, len(clients) - 0.65)
    if labels:
        axes.set_xlabel("clients C")


def label_left(panels: np.ndarray, words: str) -> None:
    """Name the shared vertical axis at the first panel that shows one."""
    shown = [axes for axes in panels if axes.axison]
    if shown:
        shown[0].set_ylabel(words)
        shown[0].tick_params(labelleft=True)


def legend(figure: Figure, table: pd.DataFrame, *, regimes: bool = False) -> None:
    """Legend below the panels: colour and marker are the order, dashes the learner, hollow markers local."""
    from matplotlib.lines import Line2D

    rows = []
    for learner in LEARNERS:
        orders = sorted(table.loc[table["learner"] == learner, "n"].unique())
        looks = [
            {"color": PALETTE[int(n) % len(PALETTE)], "marker": MARKERS[int(n) % len(MARKERS)]}
            for n in orders
        ]
        rows.append(
            [
                Line2D([], [], linestyle=DASHES[learner], label=model_name(learner, n), **look)
                for n, look in zip(orders, looks, strict=True)
            ]
        )
    extra = []
    if regimes:
        for regime, face, width in (("local", "white", 0.9), ("federated", "#555555", 1.3)):
            look = {"color": "#555555", "marker": "o", "markerfacecolor": face, "linewidth": width}
            extra.append(Line2D([], [], label=regime, **look))
    handles = [handle for row in rows for handle in row] + extra
    columns = len(handles)
    if columns > 6:  # two lines, generative above discriminative; a legend is filled column by column
        width = max(len(row) for row in rows)
        blank = Line2D([], [], linestyle="", label=" ")
        padded = [row + [blank] * (width - len(row)) for row in rows]
        handles = [handle for pair in zip(*padded, strict=True) for handle in pair] + extra
        columns = -(-len(handles) // 2)
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, handlelength=3.0)


def figure_1(study: Study, block: Block, folder: Path) -> list[Path]:
    """Figure 1: accuracy averaged over data sets against the number of clients, local | federated."""
    table = pool(block, "accuracy")
    table = table[table["regime"].isin(PANELS)]
    if not len(table):
        return explain_absence(folder, "figure_1", "no data set is complete across the compared series.")
    clients = list(block.clients)
    with style():
        figure = new_figure(3.2)
        shown = regimes(study)
        panels = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
        for axes, regime in zip(panels, shown, strict=True):
            part = table[table["regime"] == regime]
            axes.set_title(regime.capitalize())
            if len(part):
                draw_curves(axes, part, clients)
                dress(axes, clients)
            else:
                _panel_without_data(axes, study, None, regime)
        label_left(panels, "mean test accuracy")
        legend(figure, table)
        partial = partial_note(block.datasets, study.facts)
        single = (summarise(block.rows, "accuracy")["rows"] < 2).any()
        if partial.startswith("Partial"):
            names = [name for name in block.datasets if is_partial(name, study.facts)]
            figure.suptitle(f"with partial data of {', '.join(names)}", fontsize=8.5)
        caption = _caption(
            "Figure 1. Mean test accuracy for generative (solid lines) and discriminative (dashed lines) models in "
            + (
                "client-local (left) and federated (right) settings."
                if len(shown) > 1
                else f"{shown[0]} settings."
            ),
            "Bands: 95 % t intervals of the mean over these data sets, from the spread over folds x seeds"
            + (
                " (a data set with a single repeat is given the mean variance of the others)."
                if single
                else "."
            ),
            block.note(),
            _noise(study),
            study.caption(),
            partial,
        )
        return save_figure(figure, folder, "figure_1", caption)


def figure_2(study: Study, folder: Path, dataset: str = "kr-vs-k") -> list[Path]:
    """Figure 2: accuracy on Kr-vs-K, generative | discriminative, local models with hollow markers."""
    rows = study.main[(study.main["dataset"] == dataset) & study.main["regime"].isin(PANELS)]
    if not len(rows):
        return explain_absence(folder, "figure_2", f"no finished rows of {dataset} in this folder.")
    table = curves(rows)
    clients = sorted(int(value) for value in table["clients"].unique())
    with style():
        figure = new_figure(3.2)
        panels = figure.subplots(1, 2, sharey=True)
        for axes, learner in zip(panels, LEARNERS, strict=True):
            axes.set_title(learner.capitalize())
            part = table[table["learner"] == learner]
            if not len(part):
                _panel_without_data(axes, study, dataset, learner)
                continue
            for regime in PANELS:
                draw_curves(axes, part[part["regime"] == regime], clients, hollow=regime == "local")
            dress(axes, clients)
        label_left(panels, "test accuracy")
        legend(figure, table, regimes=True)
        if "(partial data)" in title(study, dataset):
            figure.suptitle(title(study, dataset), fontsize=8.5)
        caption = _caption(
            f"Figure 2. Test accuracy on {title(study, dataset)} for generative (left, solid) and discriminative "
            "(right, dashed) models; filled markers: federated, hollow markers and thin lines: client-local.",
            f"Bands: {INTERVAL} ({_repeats_of(rows)}).",
            _noise(study),
            study.caption(),
            partial_note([dataset], study.facts),
        )
        return save_figure(figure, folder, "figure_2", caption)


def per_dataset_figures(study: Study, folder: Path) -> list[Path]:
    """Figures 3 and 4 (the paper's smaller and larger six), then `figure_other_k` for further data sets."""
    known = set(published.TITLES)
    others = [name for name in study.datasets if name not in known]
    groups = [
        ("figure_3", "Figure 3. Accuracy results (first six data sets)", list(published.SMALLER_SIX)),
        ("figure_4", "Figure 4. Accuracy results (last six data sets)", list(published.LARGER_SIX)),
    ]
    for start in range(0, len(others), 6):
        number = start // 6 + 1
        groups.append(
            (f"figure_other_{number}", "Accuracy results (further data sets)", others[start : start + 6])
        )
    written = []
    for name, heading, datasets in groups:
        present = [dataset for dataset in study.datasets if dataset in datasets]
        finished = set(study.main["dataset"])
        if not any(dataset in finished for dataset in present):
            reason = f"no finished rows of {', '.join(datasets)} in this folder."
            written += explain_absence(folder, name, reason)
        else:
            written += _dataset_grid(study, folder, name, heading, present)
    return written


def _dataset_grid(study: Study, folder: Path, name: str, heading: str, datasets: list[str]) -> list[Path]:
    """Pairs of panels local | federated, two data sets side by side, as many lines as needed."""
    rows = study.main[study.main["dataset"].isin(datasets) & study.main["regime"].isin(PANELS)]
    table = curves(rows)
    lines, shown = -(-len(datasets) // 2), regimes(study)
    with style():
        figure = new_figure(0.6 + 2.25 * lines)
        parts = np.atleast_2d(figure.subfigures(lines, min(2, len(datasets)), squeeze=False))
        for position, dataset in enumerate(datasets):
            part = parts[position // 2, position % 2]
            here = table[table["dataset"] == dataset]
            clients = sorted(int(value) for value in here["clients"].unique())
            panels = part.subplots(1, len(shown), sharey=True, squeeze=False)[0]
            size = study.runs.loc[study.runs["dataset"] == dataset, "rows"].max()
            part.suptitle(
                title(study, dataset) + (f", m = {int(size):,}" if size == size else ""), fontsize=8.5
            )
            for axes, regime in zip(panels, shown, strict=True):
                axes.set_title(regime, fontsize=7.5)
                lines_here = here[here["regime"] == regime]
                if len(lines_here):
                    draw_curves(axes, lines_here, clients)
                    dress(axes, clients)
                else:
                    _panel_without_data(axes, study, dataset, regime)
            label_left(panels, "test accuracy")
        legend(figure, table)
        missing = [dataset for dataset in datasets if dataset not in set(table["dataset"])]
        caption = _caption(
            f"{heading}: {', '.join(title(study, dataset) for dataset in datasets)}, ordered by the number of rows m. "
            "Solid lines: generative models; dashed lines: discriminative models.",
            f"Bands: {INTERVAL} ({_repeats_of(rows)}); no band where there is one repeat.",
            f"Without finished rows: {', '.join(missing)}." if missing else "",
            _noise(study),
            study.caption(),
            partial_note(datasets, study.facts),
        )
        return save_figure(figure, folder, name, caption)


def _panel_without_data(axes: Axes, study: Study, dataset: str | None, part: str) -> None:
    rows = study.planned
    rows = rows[
        ((rows["dataset"] == dataset) | (dataset is None))
        & ((rows["regime"] == part) | (rows["learner"] == part))
    ]
    statuses = sorted(set(rows["status"]) - {"done"})
    say_empty(axes, f"no finished rows\n({', '.join(statuses)})" if statuses else f"{part}:\nnot run")


def _repeats_of(rows: pd.DataFrame) -> str:
    counts = rows.groupby("dataset").agg(folds=("fold", "nunique"), seeds=("seed", "nunique"))
    pairs = sorted(set(counts.itertuples(index=False, name=None)))
    return " or ".join(f"{folds} x {seeds}" for folds, seeds in pairs)


def _noise(study: Study) -> str:
    rows = study.main[(study.main["regime"] == "federated") & (study.main["learner"] == "generative")]
    values = sorted(set(rows["epsilon"].dropna()))
    if not values:
        return ""
    words = "without noise" if np.isinf(values[0]) else f"with Laplace noise of epsilon = {values[0]:g}"
    return f"Federated generative models {words}."


def _caption(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)
