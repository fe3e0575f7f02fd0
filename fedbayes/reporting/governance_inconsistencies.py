"""Twelve places where the governance paper disagrees with itself, each with the numbers that reveal it.

What follows from printed numbers alone is computed here from `governance_published`; our own results stand
beside it, one reading after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from fedbayes.federated.governance import PAPER_NODES, icc_values, target_weights
from fedbayes.reporting import governance_published as published
from fedbayes.reporting.governance_format import NO_DATA, Table, caption, make_frame
from fedbayes.reporting.governance_results import levels_significant
from fedbayes.reporting.governance_series import READINGS, Series, combined_means
from fedbayes.reporting.governance_study import Study
from fedbayes.reporting.governance_summary import alignment_counts, published_combinations, study_datasets

Found = dict[str, Series]


def inconsistencies_table(study: Study) -> Table:
    """All twelve as one table: what the paper says, what reveals it, and ours in both readings."""
    rows = [
        {
            "No.": str(place),
            "The paper says": says,
            "Numbers that reveal it": reveal(),
            "Ours": ours(study),
        }
        for place, (says, reveal, ours) in enumerate(_ENTRIES, start=1)
    ]
    words = (
        "Inconsistencies inside the paper. The third column follows from printed numbers alone; the last one holds "
        f"ours ({study.chosen_label}), the two readings side by side, never pooled."
    )
    names = study_datasets(study)
    words = " ".join(part for part in (words, study.thin(names)) if part)
    return Table("table_inconsistencies", caption(study, words, names), make_frame(rows))


def configuration_splits(total: int = published.CONFIGURATIONS) -> list[tuple[int, int, int]]:
    """Numbers of configurations per data set (1 to 35 each) that give both combined means of Table VIII.

    Returns
    -------
    list of tuple
        Every split of `total` whose weighted means of A and of B round to the printed .6049 and .5777.
    """
    papers, most = list(published.DATASETS.values()), len(published.LEVELS) * len(published.SEEDS)
    counts = np.stack(np.meshgrid(*[np.arange(1, most + 1)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    counts = counts[counts.sum(axis=1) == total]
    fits = np.ones(len(counts), dtype=bool)
    for proposal, printed in published.COMBINED_SCORES.items():
        scores = np.array([paper.scores[proposal] for paper in papers])
        fits &= np.abs(counts @ scores / total - printed) <= 0.00005
    return [tuple(map(int, row)) for row in counts[fits]]


def mean_published_weights() -> tuple[float, ...]:
    """Mean of the rows of Table VII, in node order."""
    return tuple(np.mean([paper.weights for paper in published.DATASETS.values()], axis=0).tolist())


def _by_reading(study: Study, say: Callable[[Found], str]) -> str:
    """One sentence per reading about the data sets that have results in it."""
    parts = []
    for reading in READINGS:
        found = {name: study.chosen(name).get(reading) for name in published.DATASETS}
        found = {name: series for name, series in found.items() if series is not None}
        parts.append(f"{reading}: {say(found) if found else NO_DATA}")
    return "; ".join(parts)


def _each(found: Found, say: Callable[[Series], str]) -> str:
    return ", ".join(f"{_name(series)} {say(series)}" for series in found.values())


def _name(series: Series) -> str:
    return f"{series.title} (partial data)" if series.partial else series.title


def _shares(values: Iterable[float], digits: int = 3) -> str:
    return "/".join(f"{value:.{digits}f}" for value in values)


def _combined_reveal() -> str:
    (sets, by_sets), (configurations, by_count) = published_combinations().items()
    splits = configuration_splits()
    most = len(published.LEVELS) * len(published.SEEDS) * len(published.DATASETS)
    words = " or ".join(" + ".join(map(str, split)) for split in splits)
    return (
        f"{sets}: {by_sets[0]:.4f} / {by_sets[1]:.4f}; {configurations}: {by_count[0]:.4f} / {by_count[1]:.4f}. "
        f"Of all splits of {published.CONFIGURATIONS} over NSL-KDD, CIC-IDS2017 and UNSW-NB15, {len(splits)} gives "
        f"both printed means ({words}); {most - published.CONFIGURATIONS} of {most} configurations are missing."
    )


def _combined_ours(study: Study) -> str:
    def say(found: Found) -> str:
        both = {p: combined_means({n: _scores(s, p) for n, s in found.items()}) for p in ("A", "B")}
        if None in both["A"] or None in both["B"]:
            return NO_DATA
        count = sum(series.configurations for series in found.values())
        return (
            f"mean of {len(found)} of 3 data sets {both['A'][0]:.4f} / {both['B'][0]:.4f}, "
            f"mean of {count} configurations {both['A'][1]:.4f} / {both['B'][1]:.4f}"
        )

    return _by_reading(study, say)


def _scores(series: Series, proposal: str) -> np.ndarray:
    wide = series.values()
    return wide[proposal].dropna().to_numpy() if proposal in wide else np.array([])


def _significance_reveal() -> str:
    papers = published.DATASETS.values()
    said = sum(paper.levels_significant for paper in papers)
    starred = sum(paper.levels_starred for paper in papers)
    levels = len(published.LEVELS) * len(papers)
    cic = published.DATASETS["cic-ids2017"]
    share = published.SIGNIFICANT_CONFIGURATIONS / published.CONFIGURATIONS
    return (
        f"{published.SIGNIFICANT_CONFIGURATIONS}/{published.CONFIGURATIONS} is {share:.0%}; the tables claim "
        f"{' + '.join(f'{p.levels_significant}/7' for p in papers)} = {said}/{levels} ({said / levels:.0%}) and print "
        f"{' + '.join(str(p.levels_starred) for p in papers)} = {starred} stars: Table V says "
        f"{cic.levels_significant}/7 above {cic.levels_starred} stars."
    )


def _significance_ours(study: Study) -> str:
    def one(series: Series) -> str:
        levels, single = levels_significant(series), series.pooled()
        if levels is None or single is None:
            return NO_DATA
        return (
            f"{levels[0]}/{levels[2]} levels ({levels[1]} for B), {single.better + single.worse}/"
            f"{single.configurations} configurations ({single.worse} for B)"
        )

    return _by_reading(study, lambda found: _each(found, one))


def _jsd_reveal() -> str:
    values = _shares([published.JSD[level] for level in published.LEVELS])
    return f"{values} in each of Tables IV, V and VI, for 2, 2 and 10 classes and three sets of class shares."


def _jsd_ours(study: Study) -> str:
    found = {}
    for name in published.DATASETS:
        series = next(iter(study.chosen(name).values()), None)
        if series is not None:
            found[name] = series
    if not found:
        return NO_DATA
    by_level = [[s.at(level).mean("B", "jsd") for s in found.values()] for level in published.LEVELS]
    means = [np.mean(values) for values in by_level if None not in values]
    per_set = _each(found, lambda s: _shares([v for v in map(_jsd_at(s), s.levels) if v is not None]))
    return (
        f"per data set: {per_set}; averaged over {len(found)} of 3 at {len(means)} levels: {_shares(means)}"
    )


def _jsd_at(series: Series) -> Callable[[float], float | None]:
    return lambda level: series.at(level).mean("B", "jsd")


def _weights_reveal() -> str:
    return (
        f"Combined {_shares(published.COMBINED_WEIGHTS)} equals the row of NSL-KDD; the mean of the three rows is "
        f"{_shares(mean_published_weights())}."
    )


def _weights_ours(study: Study) -> str:
    def say(found: Found) -> str:
        parts = {name: series.weights("A") for name, series in found.items()}
        columns = [
            combined_means({n: w[:, k] for n, w in parts.items()}) for k in range(len(published.NODES))
        ]
        if any(None in column for column in columns):
            return NO_DATA
        return (
            f"mean of {len(found)} of 3 data sets {_shares(c[0] for c in columns)}, of configurations "
            f"{_shares(c[1] for c in columns)}"
        )

    return _by_reading(study, say)


def _highest_reveal() -> str:
    cic = published.DATASETS["cic-ids2017"]
    return f"Table VII, {cic.title}: ~{_shares(cic.weights, 2)}: Financial and Health share the first place."


def _highest_ours(study: Study) -> str:
    def one(series: Series) -> str:
        weights = series.weights("A")
        if not len(weights):
            return NO_DATA
        first = int((weights.argmax(axis=1) == 0).sum())
        return f"{_shares(weights.mean(axis=0))}, Financial highest in {first}/{len(weights)}"

    return _by_reading(study, lambda found: _each(found, one))


def _ordering_reveal() -> str:
    target = target_weights(icc_values(PAPER_NODES))
    return (
        f"The penalty 0.10 |w - target|^2 pulls to {_shares(target)}, which is ordered, and "
        f"'{published.CHECKS_NAMED[10]}' is a check that a run must pass before it is reported (section IV-C)."
    )


def _ordering_ours(study: Study) -> str:
    def one(series: Series) -> str:
        counts = {name: alignment_counts(series.weights(name)) for name in ("A", "A0", "AR")}
        words = [f"{ends}/{total} {name}" for name, (ends, _, total) in counts.items() if total]
        return f"Fin > Gov in {', '.join(words)}" if words else NO_DATA

    return _by_reading(study, lambda found: _each(found, one))


def _checks_reveal() -> str:
    named = ", ".join(published.CHECKS_NAMED)
    return f"{len(published.CHECKS_NAMED)} are named in section IV-C: {named}."


def _target_reveal() -> str:
    values = icc_values(PAPER_NODES)
    distance = np.linalg.norm(target_weights(values) - target_weights(values, "projected"))
    return (
        f"ICC {_shares(values)}: projected on the simplex {_shares(target_weights(values, 'projected'))}, normalised "
        f"{_shares(target_weights(values))}; they lie {distance:.3f} apart."
    )


def _target_ours(study: Study) -> str:
    labels = {series.label for series in study.of_paper}
    rule = "projected" if any("target=projected" in label for label in labels) else "normalised"
    return f"target {rule} here, the other one is an option; Table I lists both"


def _uniform_reveal() -> str:
    nodes = len(published.NODES)
    # order statistics of a flat Dirichlet: the largest of k shares is (1 + 1/2 + ... + 1/k) / k on average
    largest = sum(1 / place for place in range(1, nodes + 1)) / nodes
    deviation = np.sqrt((nodes - 1) / (nodes**2 * (nodes + 1)))
    return (
        f"Dir(1,1,1) is uniform over the simplex: the largest of {nodes} shares is {largest:.3f} on average and a share "
        f"has standard deviation {deviation:.3f}; equal shares would be {1 / nodes:.3f} with JSD 0, but the paper's "
        f"own JSD at alpha = 1 is {published.JSD[1.0]:.3f}."
    )


def _uniform_ours(study: Study) -> str:
    def one(series: Series) -> str:
        value = series.at(1.0).mean("B", "jsd")
        return NO_DATA if value is None else f"JSD {value:.3f} at alpha = 1"

    return _by_reading(study, lambda found: _each(found, one))


def _density_reveal() -> str:
    posterior, prior = 0.9, 0.5
    score, other = posterior**2 / prior, (1 - posterior) ** 2 / prior
    return (
        "P(c | x_cat) P(c | x_num) / P(c) is no density of x: two classes with prior "
        f"{prior} and both posteriors {posterior} score {score:.2f} and {other:.2f}, sum {score + other:.2f}. A single "
        "model decides alike under both forms, a mixture of nodes does not."
    )


def _means(found: Found, proposals: tuple[str, ...]) -> str:
    def one(series: Series) -> str:
        scores = {name: series.mean(name) for name in proposals}
        return ", ".join(f"{name} {value:.4f}" for name, value in scores.items() if value is not None)

    return _each(found, one)


def _ceiling_reveal() -> str:
    words = []
    for paper in published.DATASETS.values():
        below = [name for name in ("A", "B") if paper.centralised < paper.scores[name]]
        place = f"below {' and '.join(below)}" if below else "above A and B"
        words.append(f"{paper.title} C {paper.centralised:.4f} {place}")
    return f"{'; '.join(words)}."


def _repetitions_reveal() -> str:
    printed = published.DATASETS["unsw-nb15"].p_values
    fifths = [p for p in printed.values() if not p.startswith("<") and round(float(p) * 5, 6).is_integer()]
    return (
        f"UNSW-NB15 prints {', '.join(printed.values())}: {len(fifths)} of 7 are whole fifths, as means of five "
        "p-values near 0 or 1 would be."
    )


def _repetitions_ours(study: Study) -> str:
    def one(series: Series) -> str:
        pooled = [series.at(level).pooled() for level in series.levels]
        tested = [item for item in pooled if item is not None]
        if not tested:
            return NO_DATA
        counts = [sum(value < published.SIGNIFICANCE for value in column) for column in
                  ([t.p for t in tested], [t.mean_p for t in tested], [t.median_p for t in tested])]  # fmt: skip
        return f"levels below .05 by pooled/mean/median p: {'/'.join(map(str, counts))} of {len(tested)}"

    return _by_reading(study, lambda found: _each(found, one))


_ENTRIES: tuple[tuple[str, Callable[[], str], Callable[[Study], str]], ...] = (
    ("Combined average .6049 / .5777 (Table VIII)", _combined_reveal, _combined_ours),
    ("Significant in 70 of 94 configurations; 6/7, 6/7 and 1/7 levels (abstract, Tables IV-VI, VIII)",
     _significance_reveal, _significance_ours),
    ("One JSD column for all data sets (Tables IV-VI)", _jsd_reveal, _jsd_ours),
    ("Combined weights .374 / .330 / .296 (Table VII)", _weights_reveal, _weights_ours),
    ("Highest weight to the most mature node 'in all three cases' (abstract)", _highest_reveal, _highest_ours),
    ("'Without any explicit ordering constraint' (abstract, V-D, VII)", _ordering_reveal, _ordering_ours),
    ("'15 automatic checks', '15/15 passed' (IV-C)", _checks_reveal,
     lambda study: "the 12 named ones run here, see table_checks"),
    ("ICC 'projected onto the probability simplex' (III-E), prior 'normalized' (Figs. 2, 10)",
     _target_reveal, _target_ours),
    ("'alpha = 1.0 approximates uniform distribution' (III-B)", _uniform_reveal, _uniform_ours),
    ("'Real Mixture of Gaussians' of the score in III-C (III-D)", _density_reveal,
     lambda study: _by_reading(study, lambda found: _means(found, ("A", "B", "C")))),
    ("C is the 'unreachable ceiling' (IV-B)", _ceiling_reveal,
     lambda study: _by_reading(study, lambda found: _means(found, ("A", "B", "C")))),
    ("One p-value per level from five repetitions (III-F, Tables IV-VI)", _repetitions_reveal, _repetitions_ours),
)  # fmt: skip
