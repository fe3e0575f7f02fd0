"""Tables IV, V and VI of the governance paper: one data set, level by level.

The per-level macro-F1 values are those that the paper leaves as dashes.
"""

from __future__ import annotations

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
    p_value,
    signed,
    without_constant,
)
from fedbayes.reporting.governance_series import PROPOSALS, Series
from fedbayes.reporting.governance_study import Study

FILES = {"IV": "table_4", "V": "table_5", "VI": "table_6"}


def results_table(study: Study, dataset: str) -> Table:
    """Tables IV, V and VI: macro-F1 per level (dashes in the paper) and McNemar's test of A against B."""
    paper = published.DATASETS[dataset]
    rows: list[dict] = []
    for series in study.of(dataset):
        rows += _series_rows(series, paper)
    if not rows:
        rows = [_level_row(None, level, paper) for level in published.LEVELS] + _average_rows(None, paper)
    words = (
        f"Table {paper.results_table}. {paper.title} results: macro-F1 averaged over seeds, A - B with its "
        "standard error over configurations, McNemar A against B pooled over seeds (starred: p < 0.05); "
        "'better/worse' counts single configurations significant in favour of A and of B."
    )
    coverage = "; ".join(f"{s.reading}, {s.label}: {s.coverage}" for s in study.of(dataset)) or NO_DATA
    frame = without_constant(make_frame(rows), "settings")
    name = FILES[paper.results_table]
    return Table(name, caption(study, f"{words} Coverage: {coverage}.", [dataset]), frame)


def _series_rows(series: Series, paper: published.PublishedDataset) -> list[dict]:
    levels = sorted({*published.LEVELS, *(round(float(level), 12) for level in series.levels)})
    return [_level_row(series, level, paper) for level in levels] + _average_rows(series, paper)


def _level_row(series: Series | None, level: float, paper: published.PublishedDataset) -> dict:
    here = series.at(level) if series is not None else None
    jsd = here.mean("B", "jsd") if here is not None else None
    printed = published.JSD.get(level)
    pooled = None
    if here is not None:
        pooled = here.pooled()
    return {
        "reading": series.reading if series is not None else NO_DATA,
        "settings": series.label if series is not None else NO_DATA,
        "alpha": f"{level:.2f}" if level == round(level, 2) else f"{level:g}",
        "JSD": number(jsd, 3),
        "JSD published": number(printed, 3, NOT_PRINTED),
        "JSD difference": gap(jsd, printed, 3),
        **_scores(here),
        "p (pooled)": NO_DATA if pooled is None else p_value(pooled.p, star=True),
        "p published": _starred(paper.p_values[level]) if level in paper.p_values else NOT_PRINTED,
        "better/worse": NO_DATA if pooled is None else f"{pooled.better}/{pooled.worse}",
    }


def _average_rows(series: Series | None, paper: published.PublishedDataset) -> list[dict]:
    """Average over the paper's levels, the published one, and the difference."""
    inside = series.at_paper_levels() if series is not None else None
    levels = _levels_significant(inside)
    single = inside.pooled() if inside is not None else None
    common = {
        "reading": series.reading if series is not None else NO_DATA,
        "settings": series.label if series is not None else NO_DATA,
    }
    blank = dict.fromkeys(("JSD", "JSD published", "JSD difference"), NOT_APPLICABLE)
    ours = {
        **common,
        "alpha": "Avg.",
        **blank,
        **_scores(inside),
        "p (pooled)": levels,
        "p published": f"{paper.levels_significant}/7",
        "better/worse": NO_DATA if single is None else f"{single.better}/{single.worse}",
    }
    printed = {f"{proposal}": number(paper.scores.get(proposal), 4, NOT_PRINTED) for proposal in PROPOSALS}
    beside = {
        **common,
        "alpha": "Avg. published",
        **blank,
        **printed,
        "A - B": signed(paper.ours - paper.baseline, 4),
        "s.e.": NOT_PRINTED,
        "p (pooled)": NOT_APPLICABLE,
        "p published": f"{paper.levels_significant}/7",
        "better/worse": NOT_PRINTED,
    }
    means = {proposal: inside.mean(proposal) if inside is not None else None for proposal in PROPOSALS}
    margin = inside.difference("A", "B").mean if inside is not None else None
    difference = {
        **common,
        "alpha": "difference",
        **blank,
        **{proposal: gap(means[proposal], paper.scores.get(proposal), 4) for proposal in PROPOSALS},
        "A - B": gap(margin, paper.ours - paper.baseline, 4),
        "s.e.": NOT_APPLICABLE,
        "p (pooled)": NOT_APPLICABLE,
        "p published": NOT_APPLICABLE,
        "better/worse": NOT_APPLICABLE,
    }
    return [ours, beside, difference]


def _scores(series: Series | None) -> dict[str, str]:
    if series is None:
        return {**dict.fromkeys(PROPOSALS, NO_DATA), "A - B": NO_DATA, "s.e.": NO_DATA}
    margin = series.difference("A", "B")
    return {
        **{proposal: number(series.mean(proposal), 4) for proposal in PROPOSALS},
        "A - B": signed(margin.mean, 4),
        "s.e.": number(margin.standard_error, 4),
    }


def _levels_significant(series: Series | None) -> str:
    counted = levels_significant(series) if series is not None else None
    return NO_DATA if counted is None else f"{counted[0]}/{counted[2]}"


def levels_significant(series: Series) -> tuple[int, int, int] | None:
    """Levels whose pooled p is below .05, those of them that favour B, and all levels; None without data."""
    pooled = [series.at(level).pooled() for level in series.levels]
    tested = [one for one in pooled if one is not None]
    if not tested:
        return None
    significant = [one for one in tested if one.significant]
    return len(significant), sum(one.direction == "second" for one in significant), len(tested)


def _starred(printed: str) -> str:
    return f"{printed} *" if published.is_significant(printed) else printed
