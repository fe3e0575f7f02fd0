"""Figures 1 to 11 under the governance paper's numbering, and the same kinds for data that it does not have.

Every figure shows both readings in rows of panels, never pooled; the published averages stand beside ours where
the paper prints any.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fedbayes.reporting import governance_published as published
from fedbayes.reporting.figures import explain_absence, save_figure, style
from fedbayes.reporting.governance_alignment import draw_alignment, draw_weights
from fedbayes.reporting.governance_controls import disclaimer
from fedbayes.reporting.governance_densities import CLASSES, chosen_cell, draw_densities
from fedbayes.reporting.governance_format import caption
from fedbayes.reporting.governance_gradients import draw_gradient
from fedbayes.reporting.governance_series import PAPER_SETTINGS, READINGS, Series
from fedbayes.reporting.governance_study import Study

FEATURE = "duration"


@dataclass(frozen=True)
class Variant:
    """Settings that share one set of figures, and what their file names end in."""

    label: str
    suffix: str


def write_figures(study: Study, folder: Path) -> list[Path]:
    """Draw every figure below `folder`; one that cannot be drawn leaves a note that says why."""
    written: list[Path] = []
    with style():
        # a quick start on other data shows those alone
        for variant in _variants(study.of_paper) if study.of_paper or not study.others else []:
            written += _paper_figures(study, folder, variant)
        for dataset in dict.fromkeys(series.dataset for series in study.others):
            for variant in _variants(study.of(dataset)):
                stem = dataset.replace("-", "_")
                names = [f"{stem}_{kind}" for kind in ("gradient", "alignment", "weights")]
                written += _dataset_figures(study, folder, dataset, variant, names, [""] * 3)
    return written


def _variants(series: list[Series]) -> list[Variant]:
    """Settings in order; those of the paper, or else the first, have plain file names."""
    labels = list(dict.fromkeys(one.label for one in series)) or [PAPER_SETTINGS]
    plain = PAPER_SETTINGS if PAPER_SETTINGS in labels else labels[0]  # those of Table I's nodes come first
    return [Variant(label, "" if label == plain else f"_{_slug(label)}") for label in labels]


def _slug(label: str) -> str:
    kept = [character if character.isalnum() or character in ".=" else "_" for character in label]
    return "_".join(part for part in "".join(kept).replace("=", "-").split("_") if part)


def _paper_figures(study: Study, folder: Path, variant: Variant) -> list[Path]:
    written = []
    for dataset, paper in published.DATASETS.items():
        names = [f"figure_{number}{variant.suffix}" for number in paper.figures]
        titles = [f"Figure {number}. " for number in paper.figures]
        written += _dataset_figures(study, folder, dataset, variant, names, titles)
    found = {name: _by_reading(study, name, variant) for name in published.DATASETS}
    present = [name for name, series in found.items() if series]
    if not present:
        written += explain_absence(
            folder, f"figure_10{variant.suffix}", f"no finished rows ({variant.label})."
        )
        return written + _density_figure(study, folder, variant)
    words = (
        "Figure 10. ICC alignment across data sets: learned weights of A averaged over seeds and levels, controls A0 "
        "(lambda = 0) and AR (ICC reversed) beside them; orange: the target made of the ICC; diamonds: Table VII."
    )
    absent = [study.title(name) for name in found if name not in present]
    if absent:
        words += f" Without finished rows, and so without a panel: {', '.join(absent)}."
    rows = _readings(found.values())
    figure = draw_alignment([[found[name].get(reading) for name in present] for reading in rows], rows,
                            [study.title(name) for name in present])  # fmt: skip
    written += save_figure(
        figure, folder, f"figure_10{variant.suffix}", _words(study, words, variant, present)
    )
    return written + _density_figure(study, folder, variant)


def _by_reading(study: Study, dataset: str, variant: Variant) -> dict[str, Series]:
    return {series.reading: series for series in study.of(dataset) if series.label == variant.label}


def _readings(found) -> list[str]:
    present = {reading for series in found for reading in series}
    return [reading for reading in READINGS if reading in present] or list(READINGS)


def _dataset_figures(
    study: Study, folder: Path, dataset: str, variant: Variant, names: list[str], titles: list[str]
) -> list[Path]:
    """Gradient, alignment and weights of one data set."""
    found = _by_reading(study, dataset, variant)
    title = study.title(dataset)
    if not found:
        reason = f"no finished rows of {title} ({variant.label})."
        return [path for name in names for path in explain_absence(folder, name, reason)]
    rows = _readings([found])
    series = [found[reading] for reading in rows]
    thin = [f"{one.reading}: {one.coverage}" for one in series if one.published and not one.full]
    remark = f"{disclaimer(study, series)} {'Coverage: ' + '; '.join(thin) + '.' if thin else ''}".strip()
    seeds = max(len(one.seeds) for one in series)
    gradient = (
        f"{titles[0]}Heterogeneity gradient, {title}: macro-F1 and mean ANLL per proposal over the Dirichlet levels, "
        f"means over {seeds} seeds; bars: smallest to largest of the seeds. Right of the line: mean over all levels "
        "here, and as printed (hollow)."
    )
    alignment = (
        f"{titles[1]}ICC alignment, {title}: learned weights averaged over seeds and levels, of A and of its controls "
        "A0 (lambda = 0) and AR (ICC reversed); orange: the target made of the ICC; diamonds: published."
    )
    weights = (
        f"{titles[2]}Learned weights of A per node over the levels, {title}: means over {seeds} seeds; bars: "
        "smallest to largest of the seeds; dotted: the target made of the ICC."
    )
    cells = [[one] for one in series]
    drawn = (draw_gradient(series), draw_alignment(cells, rows, [title]), draw_weights(series))
    written = []
    for figure, name, words in zip(drawn, names, (gradient, alignment, weights), strict=True):
        text = _words(study, f"{words} {remark}".strip(), variant, [dataset])
        written += save_figure(figure, folder, name, text)
    return written


def _density_figure(study: Study, folder: Path, variant: Variant) -> list[Path]:
    name = f"figure_11{variant.suffix}"
    found = _by_reading(study, "nsl-kdd", variant)
    cells = {reading: chosen_cell(series, study.gaussians, FEATURE) for reading, series in found.items()}
    cells = {reading: chosen for reading, chosen in cells.items() if chosen is not None}
    if not cells:
        reason = f"no Gaussians of NSL-KDD's {FEATURE} in node_gaussians.csv ({variant.label})."
        return explain_absence(folder, name, reason)
    rows = _readings([cells])
    alpha, seed = next(iter(cells.values()))[:2]
    words = (
        f"Figure 11. Densities per node, NSL-KDD, {FEATURE} in seconds ({' and '.join(CLASSES.values())}), at alpha = "
        f"{alpha:g}, seed {seed}; logarithmic density axis. Each curve is a node's Gaussian, dotted black their mixture with the weights learned by A "
        "under each reading (the node Gaussians are the same). Negative durations, to which the Gaussians give "
        "weight, do not exist; no column of the data is shown."
    )
    nodes = next(iter(found.values())).nodes
    figure = draw_densities([(reading, cells[reading][2]) for reading in rows], nodes, FEATURE)
    return save_figure(figure, folder, name, _words(study, words, variant, ["nsl-kdd"]))


def _words(study: Study, words: str, variant: Variant, datasets: list[str]) -> str:
    return caption(study, f"{words} Settings: {variant.label}.", datasets)
