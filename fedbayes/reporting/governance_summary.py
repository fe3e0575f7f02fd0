"""Tables VII and VIII of the governance paper: learned weights and scores of all data sets, combined."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from fedbayes.reporting import governance_published as published
from fedbayes.reporting.governance_format import (
    NO_DATA,
    NOT_APPLICABLE,
    NOT_PRINTED,
    Table,
    caption,
    gap,
    make_frame,
    number,
    signed,
    without_constant,
)
from fedbayes.reporting.governance_results import levels_significant
from fedbayes.reporting.governance_series import PooledMcNemar, Series, combined_means, pool_mcnemar
from fedbayes.reporting.governance_study import Study


def alignment_table(study: Study) -> Table:
    """Table VII: learned weights of A per data set, and how often the order of the nodes holds."""
    rows = []
    for reading, label, found in study.combinations(own_nodes=False):
        for dataset, paper in published.DATASETS.items():
            rows.append(_alignment_row(found.get(dataset), paper.title, reading, label, paper))
        rows += _combined_alignment(found, reading, label)
    words = caption(
        study,
        "Table VII. ICC alignment: learned weights of proposal A, averaged over seeds and levels. "
        "'Fin > Gov' and 'Fin > Hlth > Gov' count configurations. A tilde marks a value that the paper gives "
        f"as approximate. {study.thin(study_datasets(study))}".strip(),
        study_datasets(study),
    )
    return Table("table_7", words, without_constant(make_frame(rows), "settings"))


def summary_table(study: Study) -> Table:
    """Table VIII: A against B for all data sets, combined by both rules."""
    rows = []
    for reading, label, found in study.combinations():
        for dataset, paper in published.DATASETS.items():
            rows.append(_summary_row(found.get(dataset), paper, reading, label))
        rows += _combined_summary(found, reading, label)
    rows += _published_combinations()
    words = caption(
        study,
        "Table VIII. All data sets: A against B. 'Levels' counts levels whose pooled McNemar p is below "
        "0.05, 'configurations' single ones, each with how many favour A (better) and B (worse). The last "
        f"rows combine the published means of the three data sets by both rules. "
        f"{study.thin(study_datasets(study))}".strip(),
        study_datasets(study),
    )
    return Table("table_8", words, without_constant(make_frame(rows), "settings"))


def study_datasets(study: Study) -> list[str]:
    """Data sets of the paper that have results here."""
    return [dataset for dataset in published.DATASETS if study.of(dataset)]


def alignment_counts(weights: np.ndarray) -> tuple[int, int, int]:
    """Configurations where the first node outweighs the last, where all weights fall, and all of them."""
    if not len(weights):
        return 0, 0, 0
    ends = weights[:, 0] > weights[:, -1]
    falling = (weights[:, :-1] > weights[:, 1:]).all(axis=1)
    return int(ends.sum()), int(falling.sum()), len(weights)


def _alignment_row(series, title, reading, label, paper) -> dict:
    weights = series.at_paper_levels().weights("A") if series is not None else ()
    mean = list(weights.mean(axis=0)) if len(weights) else None
    tilde = "~" if paper.weights_approximate else ""
    row = {"Dataset": title, "reading": reading, "settings": label}
    row |= _weight_cells(mean, paper.weights, tilde)
    ends, falling, total = alignment_counts(weights)
    row["Fin > Gov"] = f"{ends}/{total}" if total else NO_DATA
    row["Fin > Hlth > Gov"] = f"{falling}/{total}" if total else NO_DATA
    row["Alignment published"] = paper.alignment
    return row


def _weight_cells(mean: list[float] | None, printed: tuple[float, ...] | None, tilde: str = "") -> dict:
    cells = {}
    usable = mean if mean is not None and len(mean) == len(published.NODES) else None
    for node, short in enumerate(("Fin.", "Hlth.", "Gov.")):
        ours = usable[node] if usable is not None else None
        beside = printed[node] if printed is not None else None
        cells[f"w({short})"] = number(ours, 3)
        cells[f"w({short}) published"] = NOT_PRINTED if beside is None else f"{tilde}{number(beside, 3)}"
        cells[f"w({short}) difference"] = gap(ours, beside, 3)
    return cells


def _combined_alignment(found: dict[str, Series], reading: str, label: str) -> list[dict]:
    parts = {name: series.at_paper_levels().weights("A") for name, series in found.items()}
    parts = {name: weights for name, weights in parts.items() if len(weights) and weights.shape[1] == 3}
    if not parts:
        return []
    rows = []
    columns = [
        combined_means({name: weights[:, node] for name, weights in parts.items()}) for node in range(3)
    ]
    counts = [alignment_counts(weights) for weights in parts.values()]
    ends, falling, total = (sum(column) for column in zip(*counts, strict=True))
    agree = sum(weights[:, 0].mean() > weights[:, -1].mean() for weights in parts.values())
    for place, rule in enumerate(_rules(len(parts), total)):
        row = {"Dataset": f"Combined, {rule}", "reading": reading, "settings": label}
        row |= _weight_cells([column[place] for column in columns], published.COMBINED_WEIGHTS)
        row |= _not_comparable(row, len(parts))
        row["Fin > Gov"] = f"{ends}/{total}"
        row["Fin > Hlth > Gov"] = f"{falling}/{total}"
        row["Alignment published"] = f"Fin > Gov: 3/3 (here {agree}/{len(parts)})"
        rows.append(row)
    return rows


def _rules(datasets: int, configurations: int) -> tuple[str, str]:
    """Names of both rules of combination, with how much of the paper's grid they rest on."""
    whole = len(published.DATASETS) * len(published.LEVELS) * len(published.SEEDS)
    return f"mean of {datasets} of 3 data sets", f"mean of {configurations} of {whole} configurations"


def _not_comparable(row: dict, datasets: int) -> dict:
    """Means of fewer data sets than the paper's three have no difference from its combined values."""
    if datasets == len(published.DATASETS):
        return {}
    return {name: f"{datasets} of 3 data sets" for name in row if name.endswith("difference")}


def _summary_row(series, paper, reading, label) -> dict:
    inside = series.at_paper_levels() if series is not None else None
    means = {p: inside.mean(p) if inside is not None else None for p in ("A", "B")}
    margin = inside.difference("A", "B").mean if inside is not None else None
    row = {"Dataset": paper.title, "reading": reading, "settings": label}
    row |= _score_cells(means, margin, paper.ours, paper.baseline)
    counted = levels_significant(inside) if inside is not None else None
    single = inside.pooled() if inside is not None else None
    row["Levels (better/worse)"] = (
        NO_DATA if counted is None else f"{counted[0]}/{counted[2]} ({counted[0] - counted[1]}/{counted[1]})"
    )
    row["Levels published"] = f"{paper.levels_significant}/7"
    row["Configurations (better/worse)"] = _single(single)
    row["Configurations published"] = NOT_PRINTED
    return row


def _single(pooled: PooledMcNemar | None) -> str:
    if pooled is None:
        return NO_DATA
    both = pooled.better + pooled.worse
    return f"{both}/{pooled.configurations} ({pooled.better}/{pooled.worse})"


def _score_cells(means: dict, margin: float | None, ours: float, baseline: float) -> dict:
    return {
        "A (ICC)": number(means["A"], 4),
        "A published": number(ours, 4),
        "A difference": gap(means["A"], ours, 4),
        "B (FedAvg)": number(means["B"], 4),
        "B published": number(baseline, 4),
        "B difference": gap(means["B"], baseline, 4),
        "Delta": signed(margin, 4),
        "Delta published": signed(ours - baseline, 4),
        "Delta difference": gap(margin, ours - baseline, 4),
    }


def _combined_summary(found: dict[str, Series], reading: str, label: str) -> list[dict]:
    inside = {name: series.at_paper_levels() for name, series in found.items()}
    paired = {
        name: series.values()[["A", "B"]].dropna() for name, series in inside.items() if _has_both(series)
    }
    paired = {name: frame for name, frame in paired.items() if len(frame)}
    if not paired:
        return []
    combined = {
        p: combined_means({n: frame[p].to_numpy() for n, frame in paired.items()}) for p in ("A", "B")
    }
    pooled = pd.concat([inside[name].discordant("A") for name in paired])
    single = pool_mcnemar(pooled)
    rows = []
    for place, rule in enumerate(_rules(len(paired), sum(map(len, paired.values())))):
        means = {proposal: values[place] for proposal, values in combined.items()}
        row = {"Dataset": f"Combined, {rule}", "reading": reading, "settings": label}
        row |= _score_cells(means, means["A"] - means["B"], *published.COMBINED_SCORES.values())
        row |= _not_comparable(row, len(paired))
        row["Levels (better/worse)"] = NOT_APPLICABLE
        row["Levels published"] = NOT_APPLICABLE
        row["Configurations (better/worse)"] = _single(single)
        row["Configurations published"] = (
            f"{published.SIGNIFICANT_CONFIGURATIONS}/{published.CONFIGURATIONS} (direction not printed)"
        )
        rows.append(row)
    return rows


def _has_both(series: Series) -> bool:
    return {"A", "B"} <= set(series.values().columns)


def published_combinations() -> dict[str, tuple[float, float]]:
    """Macro-F1 of A and B combined from the published means, by rule."""
    papers = published.DATASETS.values()
    total = sum(paper.configurations for paper in papers)
    by_set = [sum(getattr(p, name) for p in papers) / len(papers) for name in ("ours", "baseline")]
    weighted = [
        math.fsum(getattr(p, name) * p.configurations for p in papers) / total
        for name in ("ours", "baseline")
    ]
    counts = " + ".join(str(paper.configurations) for paper in papers)
    return {
        "mean of data sets": (by_set[0], by_set[1]),
        f"mean of {counts} = {total} configurations": (weighted[0], weighted[1]),
    }


def _published_combinations() -> list[dict]:
    rows = []
    for rule, (ours, baseline) in published_combinations().items():
        row = {"Dataset": f"Published means, {rule}", "reading": "published", "settings": "published"}
        row |= _score_cells({"A": ours, "B": baseline}, ours - baseline, *published.COMBINED_SCORES.values())
        row |= dict.fromkeys(("Levels (better/worse)", "Levels published"), NOT_APPLICABLE)
        row |= dict.fromkeys(("Configurations (better/worse)", "Configurations published"), NOT_APPLICABLE)
        rows.append(row)
    return rows
