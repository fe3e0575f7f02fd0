"""Rules that decide the governance paper's claims: each turns one series into numbers and an outcome."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedbayes.reporting import governance_published as published
from fedbayes.reporting.claims import NOT, PARTLY, REPRODUCED
from fedbayes.reporting.governance_checks import falling_levels
from fedbayes.reporting.governance_evidence import Finding
from fedbayes.reporting.governance_results import levels_significant
from fedbayes.reporting.governance_series import Series
from fedbayes.reporting.governance_summary import alignment_counts

CLOSE = 0.01  # macro-F1 that counts as the published value
CLOSE_MARGIN = 0.005  # the same for a difference of two
NO_RESULT = Finding("no results", None)


def verdict_of(full: bool, half: bool) -> str:
    """Verdict of a claim that holds in full, or by half."""
    return REPRODUCED if full else PARTLY if half else NOT


def score_margin(series: Series) -> Finding:
    """Scores of A and B and their difference against the printed ones."""
    paper, margin = series.published, series.difference("A", "B")
    if margin.mean is None:
        return NO_RESULT
    ours, baseline = series.mean("A"), series.mean("B")
    printed = paper.ours - paper.baseline
    close = (
        abs(ours - paper.ours) <= CLOSE
        and abs(baseline - paper.baseline) <= CLOSE
        and abs(margin.mean - printed) <= CLOSE_MARGIN
    )
    text = f"A {ours:.4f}, B {baseline:.4f}, {_margin('A - B', margin)}"
    return Finding(text, verdict_of(close and margin.mean > 0, margin.mean > 0))


def _margin(name: str, margin) -> str:
    error = "" if margin.standard_error is None else f" (s.e. {margin.standard_error:.4f})"
    return f"{name} {margin.mean:+.4f}{error}"


def beats(first: str, second: str, series: Series) -> Finding:
    """First above second on average; "reproduced" when by more than two standard errors."""
    margin = series.difference(first, second)
    if margin.mean is None:
        return NO_RESULT
    clear = margin.standard_error is not None and margin.mean > 2 * margin.standard_error
    return Finding(_margin(f"{first} - {second}", margin), verdict_of(clear, margin.mean > 0))


def centralised_below(series: Series) -> Finding:
    """C below A and B (reproduced), below one of them (partly)."""
    return _centralised(series, lambda other, c: c < other)


def centralised_above(series: Series) -> Finding:
    """C above A and B (reproduced), above one of them (partly)."""
    return _centralised(series, lambda other, c: c > other)


def _centralised(series: Series, holds: Callable[[float, float], bool]) -> Finding:
    scores = {name: series.mean(name) for name in ("A", "B", "C")}
    if None in scores.values():
        return NO_RESULT
    text = ", ".join(f"{name} {value:.4f}" for name, value in scores.items())
    kept = [holds(scores[name], scores["C"]) for name in ("A", "B")]
    return Finding(text, verdict_of(all(kept), any(kept)))


def significant_levels(series: Series) -> Finding:
    """Levels significant in favour of A, by the pooled test, against the printed number of seven."""
    counted = levels_significant(series)
    if counted is None:
        return NO_RESULT
    found, against, total = counted
    favour, printed = found - against, series.published.levels_significant
    text = f"{favour}/{total} levels for A, {against}/{total} for B"
    return Finding(
        text, verdict_of(favour == printed and not against and total == 7, abs(favour - printed) <= 1)
    )


def significant_configurations(series: Series) -> Finding:
    """Share of single configurations significant in favour of A against 70/94."""
    pooled = series.pooled()
    if pooled is None:
        return NO_RESULT
    share = pooled.better / pooled.configurations
    printed = published.SIGNIFICANT_CONFIGURATIONS / published.CONFIGURATIONS
    text = f"{pooled.better} of {pooled.configurations} for A ({share:.0%}), {pooled.worse} for B"
    return Finding(text, verdict_of(share >= printed - 0.05, share > 0.5))


def no_degradation(series: Series) -> Finding:
    """Configurations significantly worse than B."""
    pooled = series.pooled()
    if pooled is None:
        return NO_RESULT
    share = pooled.worse / pooled.configurations
    text = f"{pooled.worse} of {pooled.configurations} configurations significantly worse"
    # a test at .05 of equal classifiers rejects in 2.5 % on this side
    return Finding(text, verdict_of(pooled.worse == 0, share <= 0.025))


def leads_everywhere(series: Series) -> Finding:
    """Levels at which the mean of A lies above that of B."""
    margins = [series.at(level).difference("A", "B").mean for level in series.levels]
    margins = [margin for margin in margins if margin is not None]
    if not margins:
        return NO_RESULT
    above = sum(margin > 0 for margin in margins)
    return Finding(
        f"A above B at {above} of {len(margins)} levels",
        verdict_of(above == len(margins), above > len(margins) / 2),
    )


def extreme_weights(series: Series) -> Finding:
    """Mean weights: the first node highest and the last lowest."""
    weights = series.weights("A")
    if not len(weights):
        return NO_RESULT
    mean = weights.mean(axis=0)
    highest, lowest = int(mean.argmax()) == 0, int(mean.argmin()) == len(mean) - 1
    first = int((weights.argmax(axis=1) == 0).sum())
    text = f"mean weights {_shares(mean)}; Financial highest in {first}/{len(weights)} configurations"
    return Finding(text, verdict_of(highest and lowest, highest or lowest))


def ends_at_every_level(series: Series) -> Finding:
    """Levels whose mean weights put Financial above Government, and configurations that do."""
    return _ends(series, lambda mean: mean[0] > mean[-1], "Fin > Gov")


def dominant_at_every_level(series: Series) -> Finding:
    """Levels whose mean weights put Financial first."""
    return _ends(series, lambda mean: mean.argmax() == 0, "Financial first")


def _ends(series: Series, holds: Callable[[np.ndarray], bool], words: str) -> Finding:
    samples = [series.at(level).weights("A") for level in series.levels]
    samples = [sample for sample in samples if len(sample)]
    if not samples:
        return NO_RESULT
    kept = sum(bool(holds(sample.mean(axis=0))) for sample in samples)
    single = sum(bool(holds(row)) for sample in samples for row in sample)
    total = sum(len(sample) for sample in samples)
    text = f"{words} at {kept} of {len(samples)} levels on average, in {single} of {total} configurations"
    return Finding(text, verdict_of(single == total, kept == len(samples)))


def full_hierarchy(series: Series) -> Finding:
    """Mean weights fall in the order of the ICC."""
    weights = series.weights("A")
    if not len(weights):
        return NO_RESULT
    ends, falling, total = alignment_counts(weights)
    mean = weights.mean(axis=0)
    text = f"mean weights {_shares(mean)}; full order in {falling} of {total} configurations"
    return Finding(text, verdict_of(bool((np.diff(mean) < 0).all()), ends > total / 2))


def order_without_penalty(series: Series) -> Finding:
    """Whether the order of A stays without the penalty (A0) and with the ICC reversed (AR)."""
    shares, words = {}, []
    for proposal in ("A", "A0", "AR"):
        ends, _, total = alignment_counts(series.weights(proposal))
        if not total:
            return NO_RESULT
        shares[proposal] = ends / total
        words.append(f"{proposal} {ends}/{total}")
    kept = shares["A0"] >= shares["A"] - 0.1
    against = shares["AR"] > 0.5
    return Finding(f"Fin > Gov: {', '.join(words)}", verdict_of(kept and against, kept or against))


def prior_helps(series: Series) -> Finding:
    """A above both the mixture without penalty and the one with the ICC reversed."""
    margins = {name: series.difference("A", name) for name in ("A0", "AR")}
    if any(margin.mean is None for margin in margins.values()):
        return NO_RESULT
    clear = [m.standard_error is not None and m.mean > 2 * m.standard_error for m in margins.values()]
    text = ", ".join(_margin(f"A - {name}", margin) for name, margin in margins.items())
    return Finding(text, verdict_of(all(clear), any(clear)))


def near_parity(series: Series) -> Finding:
    """First two mean weights within .05."""
    weights = series.weights("A")
    if not len(weights):
        return NO_RESULT
    mean = weights.mean(axis=0)
    apart = abs(mean[0] - mean[1])
    return Finding(f"mean weights {_shares(mean)}", verdict_of(apart <= 0.05, apart <= 0.1))


def more_volatile_at_low_levels(series: Series) -> Finding:
    """Spread of the weights over seeds at alpha <= .1 against alpha >= .7."""
    spread = {}
    for name, levels in (
        ("low", [v for v in series.levels if v <= 0.1]),
        ("high", [v for v in series.levels if v >= 0.7]),
    ):
        samples = [series.at(level).weights("A") for level in levels]
        samples = [sample.std(axis=0, ddof=1).mean() for sample in samples if len(sample) > 1]
        if not samples:
            return NO_RESULT
        spread[name] = float(np.mean(samples))
    text = f"standard deviation {spread['low']:.3f} at alpha <= 0.1, {spread['high']:.3f} at alpha >= 0.7"
    return Finding(text, verdict_of(spread["low"] > 1.25 * spread["high"], spread["low"] > spread["high"]))


def gradient_falls(series: Series) -> Finding:
    """Mean JSD falls from level to level."""
    falls, steps = falling_levels(series)
    if not steps:
        return NO_RESULT
    first, last = (series.at(level).mean("B", "jsd") for level in (series.levels[0], series.levels[-1]))
    text = f"JSD {first:.3f} to {last:.3f}, falls in {falls} of {steps} steps"
    return Finding(text, verdict_of(falls == steps, first > last))


def nearly_uniform(series: Series) -> Finding:
    """JSD at alpha = 1 below .1, where equal shares would give about 0."""
    value = series.at(1.0).mean("B", "jsd")
    if value is None:
        return NO_RESULT
    return Finding(f"JSD {value:.3f} at alpha = 1", verdict_of(value < 0.1, value < 0.2))


def classes_disappear(series: Series) -> Finding:
    """Configurations in which some node has no row of some class."""
    rows = series.runs[series.runs["proposal"] == "B"]
    if rows.empty:
        return NO_RESULT
    hit = int((rows["absent_classes"] > 0).sum())
    pairs = series.clients * int(rows["classes"].iloc[0])
    text = f"in {hit} of {len(rows)} configurations, {rows['absent_classes'].mean():.1f} of {pairs} (node, class) pairs on average"
    return Finding(text, verdict_of(hit > len(rows) / 2, hit > 0))


def _shares(values) -> str:
    return "/".join(f"{value:.3f}" for value in values)


def margins_of(series: Series) -> np.ndarray:
    """A - B of every configuration that has both."""
    wide = series.values()
    return (wide["A"] - wide["B"]).dropna().to_numpy() if {"A", "B"} <= set(wide.columns) else np.array([])
