"""Tables that the governance paper lacks: controls, McNemar in full, centralised scores, data of its own."""

from __future__ import annotations

from collections.abc import Iterable

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
    p_value,
    signed,
    without_constant,
)
from fedbayes.reporting.governance_series import (
    CONTROLS,
    DESCRIPTIONS,
    Series,
    mcnemar_method,
)
from fedbayes.reporting.governance_study import Study
from fedbayes.reporting.governance_summary import alignment_counts, study_datasets

ORDER = ("A", *CONTROLS, "E", "B", "C")


def extra_tables(study: Study) -> list[Table]:
    """Controls, McNemar per level and per configuration, and the centralised scores of the notebook."""
    names = study_datasets(study)
    return [
        controls_table(study, study.of_paper, "table_controls", names),
        mcnemar_levels_table(study, study.of_paper, "table_mcnemar_levels", names),
        mcnemar_configurations_table(study, study.of_paper, "table_mcnemar_configurations", names),
        centralised_table(study),
    ]


def other_tables(study: Study) -> list[Table]:
    """Scores and McNemar tables of data sets that are none of the paper's, each under its own name."""
    tables = []
    for dataset in dict.fromkeys(series.dataset for series in study.others):
        series, stem = study.of(dataset), dataset.replace("-", "_")
        tables += [
            levels_table(study, series, f"{stem}_levels"),
            controls_table(study, series, f"{stem}_controls", [dataset]),
            mcnemar_levels_table(study, series, f"{stem}_mcnemar_levels", [dataset]),
        ]
    return tables


def disclaimer(study: Study, series: Iterable[Series]) -> str:
    """What data that the paper does not have are; empty for its own data sets."""
    names = {one.dataset for one in series} - set(published.DATASETS)
    if not names:
        return ""
    if "synthetic-flows" in names:
        return "Synthetic flows made by a generator, no real traffic; not comparable with any number of the paper."
    titles = ", ".join(sorted(study.title(name) for name in names))
    return f"{titles}: not one of the paper's data sets; kept out of its tables."


def controls_table(study: Study, series: list[Series], name: str, datasets: Iterable[str]) -> Table:
    """A beside its controls: scores, A minus each, weights, and how often the order of the nodes holds."""
    rows = []
    for one in series:
        inside = one.at_paper_levels() if one.dataset in published.DATASETS else one
        scores = one.published.scores if one.published else {}
        for proposal in ORDER:
            rows.append(_control_row(inside, proposal, scores.get(proposal)))
    words = (
        "A beside its controls: A0 drops the penalty (lambda = 0), AR reverses the ICC among the nodes, E weighs by "
        "inverse label entropy, B by size, C is centralised. 'A minus this' is paired by configuration, with its "
        "standard error; 'first > last' counts configurations where the first node outweighs the last. "
    )
    return _table(study, series, name, words, rows, datasets)


def _control_row(series: Series, proposal: str, printed: float | None) -> dict:
    ours = series.mean(proposal)
    margin = series.difference("A", proposal)
    weights = series.weights(proposal)
    ends, falling, total = alignment_counts(weights)
    mean = weights.mean(axis=0) if len(weights) else None
    pooled = series.pooled(proposal) if proposal != "B" else None
    own = proposal == "A"
    return {
        "Dataset": series.title,
        "reading": series.reading,
        "settings": series.label,
        "proposal": DESCRIPTIONS[proposal],
        "macro-F1": number(ours, 4),
        "published": number(printed, 4, NOT_PRINTED),
        "difference": gap(ours, printed, 4),
        "A minus this": NOT_APPLICABLE if own else signed(margin.mean, 4),
        "s.e.": NOT_APPLICABLE if own else number(margin.standard_error, 4),
        "ANLL (mean)": number(series.mean(proposal, "anll_mean"), 3),
        "ANLL (median)": number(series.mean(proposal, "anll_median"), 3),
        "weights": _weights(mean) if proposal != "C" else NOT_APPLICABLE,
        "first > last": _share(ends, total, proposal),
        "all falling": _share(falling, total, proposal),
        "better/worse than B": NOT_APPLICABLE
        if proposal == "B"
        else (NO_DATA if pooled is None else f"{pooled.better}/{pooled.worse} of {pooled.configurations}"),
    }


def _weights(mean) -> str:
    return NO_DATA if mean is None else " ".join(f"{weight:.3f}" for weight in mean)


def _share(count: int, total: int, proposal: str) -> str:
    if proposal == "C":
        return NOT_APPLICABLE
    return f"{count}/{total}" if total else NO_DATA


def mcnemar_levels_table(study: Study, series: list[Series], name: str, datasets: Iterable[str]) -> Table:
    """McNemar of every proposal against B per level: pooled counts, direction, and the single p-values beside."""
    rows = []
    for one in series:
        for proposal in [p for p in ORDER if p != "B"]:
            for level in one.levels:
                row = _level_row(one, proposal, level)
                if row:
                    rows.append(row)
    methods = sorted({mcnemar_method(one.settings) for one in series}) or ["yates"]
    words = (
        f"McNemar's test against B per level ({', '.join(methods)}): discordant counts summed over seeds, which side "
        "they favour, p of the summed table (starred: p < 0.05), and mean and median of the p-values of single seeds. Test "
        "rows of different seeds overlap, so the pooled p is smaller than that of an independent test. "
    )
    return _table(study, series, name, words, rows, datasets)


def _level_row(series: Series, proposal: str, level: float) -> dict | None:
    pooled = series.at(level).pooled(proposal)
    if pooled is None:
        return None
    printed = series.published.p_values.get(level) if series.published and proposal == "A" else None
    favours = {"first": proposal, "second": "B", "neither": "neither"}[pooled.direction]
    return {
        "Dataset": series.title,
        "reading": series.reading,
        "settings": series.label,
        "proposal": DESCRIPTIONS[proposal],
        "alpha": f"{level:g}",
        "seeds": str(pooled.configurations),
        "only this right": pooled.only_first,
        "only B right": pooled.only_second,
        "favours": favours,
        "statistic": number(pooled.statistic, 2),
        "p (pooled)": p_value(pooled.p, star=True),
        "p (mean)": p_value(pooled.mean_p),
        "p (median)": p_value(pooled.median_p),
        "better/worse": f"{pooled.better}/{pooled.worse}",
        "p published": printed or NOT_PRINTED,
    }


def mcnemar_configurations_table(
    study: Study, series: list[Series], name: str, datasets: Iterable[str]
) -> Table:
    """McNemar of A against B for every configuration, with Holm's correction over each reading and settings."""
    rows: list[dict] = []
    groups: dict[tuple[str, str], list[Series]] = {}
    for one in series:
        groups.setdefault((one.reading, one.label), []).append(one)
    for family in groups.values():
        rows += _family_rows(family)
    words = (
        "McNemar's test of A against B in every configuration; p (Holm) corrects over all configurations of one "
        "reading and settings. "
    )
    return _table(study, series, name, words, rows, datasets)


def family_corrected(family: list[Series]) -> pd.DataFrame:
    """Rows of A of several series with the column `p_holm`, corrected over all of them."""
    from statsmodels.stats.multitest import multipletests

    rows = pd.concat([one.discordant("A") for one in family])
    p_values = rows["mcnemar_p"].astype(float)
    return rows.assign(p_holm=multipletests(p_values, method="holm")[1] if len(rows) else p_values)


def _family_rows(family: list[Series]) -> list[dict]:
    titles = {one.dataset: one.title for one in family}
    rows = []
    for row in family_corrected(family).itertuples():
        first, second = int(row.only_first), int(row.only_second)
        rows.append(
            {
                "Dataset": titles[row.dataset],
                "reading": row.reading,
                "settings": family[0].label,
                "alpha": f"{row.alpha:g}",
                "seed": int(row.seed),
                "only A right": first,
                "only B right": second,
                "favours": "neither" if first == second else ("A" if first > second else "B"),
                "statistic": number(float(row.mcnemar_statistic), 2),
                "p": p_value(float(row.mcnemar_p), star=True),
                "p (Holm)": p_value(float(row.p_holm), star=True),
            }
        )
    return rows


def levels_table(study: Study, series: list[Series], name: str) -> Table:
    """Macro-F1 of every proposal per level, for data that the paper does not have."""
    rows = []
    for one in series:
        for level in [*one.levels, None]:
            here = one if level is None else one.at(level)
            jsd = here.mean("B", "jsd")
            rows.append(
                {
                    "Dataset": one.title,
                    "reading": one.reading,
                    "settings": one.label,
                    "alpha": "Avg." if level is None else f"{level:g}",
                    "JSD": number(jsd, 3),
                    **{proposal: number(here.mean(proposal), 4) for proposal in ORDER},
                    "A - B": signed(here.difference("A", "B").mean, 4),
                }
            )
    return _table(study, series, name, "Macro-F1 per level. ", rows, [one.dataset for one in series])


def centralised_table(study: Study) -> Table:
    """Macro-F1 of C per seed beside the output of the author's public notebook."""
    rows = []
    for dataset, by_seed in published.CENTRALISED_BY_SEED.items():
        for series in study.of(dataset):
            scores = series.runs[series.runs["proposal"] == "C"].groupby("seed")["macro_f1"].mean()
            for seed, printed in by_seed.items():
                ours = float(scores[seed]) if seed in scores.index else None
                rows.append(
                    {
                        "Dataset": series.title,
                        "reading": series.reading,
                        "settings": series.label,
                        "seed": seed,
                        "C": number(ours, 4),
                        "C in the notebook": number(printed, 4),
                        "difference": gap(ours, printed, 4),
                    }
                )
    names = [dataset for dataset in published.CENTRALISED_BY_SEED if study.of(dataset)]
    words = "Centralised macro-F1 per seed beside the output of the author's public notebook (v1.0). "
    return _table(study, study.of_paper, "table_centralised", words, rows, names)


def _table(study, series, name, words, rows, datasets) -> Table:
    frame = make_frame(rows)
    thin = study.thin(name for name in datasets if name in published.DATASETS)
    parts = (words.strip(), disclaimer(study, series), thin)
    text = caption(study, " ".join(part for part in parts if part), datasets)
    return Table(name, text, without_constant(frame, "settings"))
