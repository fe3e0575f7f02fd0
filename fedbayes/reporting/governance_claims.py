"""CLAIMS.md of the governance paper: its claims, the rule that decides each, our numbers, the verdict."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from fedbayes.reporting import governance_published as published
from fedbayes.reporting.claims import NOT, NOT_TESTABLE, PARTLY, REPRODUCED, Claim
from fedbayes.reporting.governance_checks import EMPTY, FAILED, PASSED, Check, falling_levels
from fedbayes.reporting.governance_evidence import Finding, judge
from fedbayes.reporting.governance_results import levels_significant
from fedbayes.reporting.governance_series import READINGS, Series, combined_means, pool_mcnemar
from fedbayes.reporting.governance_study import Study
from fedbayes.reporting.governance_summary import alignment_counts

NSL, CIC, UNSW = published.DATASETS
ALL = (NSL, CIC, UNSW)
CLOSE = 0.01  # macro-F1 that counts as the published value
CLOSE_MARGIN = 0.005  # the same for a difference of two
NO_RESULT = Finding("no results", None)


def claims(study: Study, checks: list[Check]) -> list[Claim]:
    """Every claim of the paper; `checks` are the outcomes of `run_checks`."""
    return [*(build(study) for build in _CLAIMS), _checks(checks), *(build(study) for build in _UNTESTED)]


def _claim(section: str, quote: str, rule: str, datasets, decide, note: str = "") -> Callable[[Study], Claim]:
    return lambda study: judge(study, section, quote, rule, datasets, decide, note)


def _verdict(full: bool, half: bool) -> str:
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
    return Finding(text, _verdict(close and margin.mean > 0, margin.mean > 0))


def _margin(name: str, margin) -> str:
    error = "" if margin.standard_error is None else f" (s.e. {margin.standard_error:.4f})"
    return f"{name} {margin.mean:+.4f}{error}"


def beats(first: str, second: str, series: Series) -> Finding:
    """First above second on average; "reproduced" when by more than two standard errors."""
    margin = series.difference(first, second)
    if margin.mean is None:
        return NO_RESULT
    clear = margin.standard_error is not None and margin.mean > 2 * margin.standard_error
    return Finding(_margin(f"{first} - {second}", margin), _verdict(clear, margin.mean > 0))


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
    return Finding(text, _verdict(all(kept), any(kept)))


def significant_levels(series: Series) -> Finding:
    """Levels significant in favour of A, by the pooled test, against the printed number of seven."""
    counted = levels_significant(series)
    if counted is None:
        return NO_RESULT
    found, against, total = counted
    favour, printed = found - against, series.published.levels_significant
    text = f"{favour}/{total} levels for A, {against}/{total} for B"
    return Finding(
        text, _verdict(favour == printed and not against and total == 7, abs(favour - printed) <= 1)
    )


def significant_configurations(series: Series) -> Finding:
    """Share of single configurations significant in favour of A against 70/94."""
    pooled = pool_mcnemar(series.discordant("A"))
    if pooled is None:
        return NO_RESULT
    share = pooled.better / pooled.configurations
    printed = published.SIGNIFICANT_CONFIGURATIONS / published.CONFIGURATIONS
    text = f"{pooled.better} of {pooled.configurations} for A ({share:.0%}), {pooled.worse} for B"
    return Finding(text, _verdict(share >= printed - 0.05, share > 0.5))


def no_degradation(series: Series) -> Finding:
    """Configurations significantly worse than B."""
    pooled = pool_mcnemar(series.discordant("A"))
    if pooled is None:
        return NO_RESULT
    share = pooled.worse / pooled.configurations
    text = f"{pooled.worse} of {pooled.configurations} configurations significantly worse"
    # a test at .05 of equal classifiers rejects in 2.5 % on this side
    return Finding(text, _verdict(pooled.worse == 0, share <= 0.025))


def leads_everywhere(series: Series) -> Finding:
    """Levels at which the mean of A lies above that of B."""
    margins = [series.at(level).difference("A", "B").mean for level in series.levels]
    margins = [margin for margin in margins if margin is not None]
    if not margins:
        return NO_RESULT
    above = sum(margin > 0 for margin in margins)
    return Finding(
        f"A above B at {above} of {len(margins)} levels",
        _verdict(above == len(margins), above > len(margins) / 2),
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
    return Finding(text, _verdict(highest and lowest, highest or lowest))


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
    return Finding(text, _verdict(single == total, kept == len(samples)))


def full_hierarchy(series: Series) -> Finding:
    """Mean weights fall in the order of the ICC."""
    weights = series.weights("A")
    if not len(weights):
        return NO_RESULT
    ends, falling, total = alignment_counts(weights)
    mean = weights.mean(axis=0)
    text = f"mean weights {_shares(mean)}; full order in {falling} of {total} configurations"
    return Finding(text, _verdict(bool((np.diff(mean) < 0).all()), ends > total / 2))


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
    return Finding(f"Fin > Gov: {', '.join(words)}", _verdict(kept and against, kept or against))


def prior_helps(series: Series) -> Finding:
    """A above both the mixture without penalty and the one with the ICC reversed."""
    margins = {name: series.difference("A", name) for name in ("A0", "AR")}
    if any(margin.mean is None for margin in margins.values()):
        return NO_RESULT
    clear = [m.standard_error is not None and m.mean > 2 * m.standard_error for m in margins.values()]
    text = ", ".join(_margin(f"A - {name}", margin) for name, margin in margins.items())
    return Finding(text, _verdict(all(clear), any(clear)))


def near_parity(series: Series) -> Finding:
    """First two mean weights within .05."""
    weights = series.weights("A")
    if not len(weights):
        return NO_RESULT
    mean = weights.mean(axis=0)
    apart = abs(mean[0] - mean[1])
    return Finding(f"mean weights {_shares(mean)}", _verdict(apart <= 0.05, apart <= 0.1))


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
    return Finding(text, _verdict(spread["low"] > 1.25 * spread["high"], spread["low"] > spread["high"]))


def gradient_falls(series: Series) -> Finding:
    """Mean JSD falls from level to level."""
    falls, steps = falling_levels(series)
    if not steps:
        return NO_RESULT
    first, last = (series.at(level).mean("B", "jsd") for level in (series.levels[0], series.levels[-1]))
    text = f"JSD {first:.3f} to {last:.3f}, falls in {falls} of {steps} steps"
    return Finding(text, _verdict(falls == steps, first > last))


def nearly_uniform(series: Series) -> Finding:
    """JSD at alpha = 1 below .1, where equal shares would give about 0."""
    value = series.at(1.0).mean("B", "jsd")
    if value is None:
        return NO_RESULT
    return Finding(f"JSD {value:.3f} at alpha = 1", _verdict(value < 0.1, value < 0.2))


def classes_disappear(series: Series) -> Finding:
    """Configurations in which some node has no row of some class."""
    rows = series.runs[series.runs["proposal"] == "B"]
    if rows.empty:
        return NO_RESULT
    hit = int((rows["absent_classes"] > 0).sum())
    pairs = series.clients * int(rows["classes"].iloc[0])
    text = f"in {hit} of {len(rows)} configurations, {rows['absent_classes'].mean():.1f} of {pairs} (node, class) pairs on average"
    return Finding(text, _verdict(hit > len(rows) / 2, hit > 0))


def _shares(values) -> str:
    return "/".join(f"{value:.3f}" for value in values)


def _combined(study: Study) -> Claim:
    """Combined improvement: the mean over configurations, as printed; only three complete data sets decide."""
    outcomes, numbers = set(), []
    for reading in READINGS:
        found = [study.chosen(name).get(reading) for name in ALL]
        margins = {one.title: margins_of(one) for one in found if one is not None}
        by_sets, by_count = combined_means(margins)
        if by_sets is None:
            continue
        numbers.append(
            f"{reading}: {by_sets:+.4f} as the mean of {len(margins)} of 3 data sets, {by_count:+.4f} as that of "
            f"{sum(map(len, margins.values()))} configurations"
        )
        if all(map(study.complete, ALL)) and len(margins) == len(ALL):
            close = abs(by_count - published.COMBINED_DELTA) <= CLOSE_MARGIN
            outcomes.add(_verdict(close, by_count > 0))
    verdict = NOT_TESTABLE if not outcomes else outcomes.pop() if len(outcomes) == 1 else PARTLY
    note = "the printed means give +.0298 as the mean of data sets"
    need = "needs all three data sets complete" if verdict == NOT_TESTABLE else ""
    parts = [need, study.partial(ALL), note]
    return Claim(
        "VII", "combined F1-macro improvement is +0.0272",
        "mean of A - B over the configurations of all three data sets positive (partly), within .005 of print "
        "(reproduced); both rules are shown", ". ".join(numbers) or "no results", verdict,
        ". ".join(part for part in parts if part),
    )  # fmt: skip


def margins_of(series: Series) -> np.ndarray:
    """A - B of every configuration that has both."""
    wide = series.values()
    return (wide["A"] - wide["B"]).dropna().to_numpy() if {"A", "B"} <= set(wide.columns) else np.array([])


def _checks(outcomes: list[Check]) -> Claim:
    passed = sum(check.outcome == PASSED for check in outcomes)
    invariants = sum(check.kind == "invariant" for check in outcomes)
    wrong = [check.name for check in outcomes if check.outcome == FAILED]
    tested = any(check.outcome != EMPTY for check in outcomes)
    verdict = NOT_TESTABLE if not tested else NOT if wrong else PARTLY
    return Claim(
        "IV-C", "Result in v1.0: 15/15 passed",
        "the paper names 12; reproduced would need 15 named checks, partly: every named invariant holds here",
        f"{passed} of {invariants} invariants hold, {len(outcomes) - invariants} findings reported"
        + (f"; failed: {', '.join(wrong)}" if wrong else ""),
        verdict, "see table_checks; findings do not decide whether a run is reported",
    )  # fmt: skip


def _untested(section: str, quote: str, rule: str, note: str) -> Callable[[Study], Claim]:
    return lambda study: Claim(section, quote, rule, "none", NOT_TESTABLE, note)


_SCORES = f"A > B on average (partly), and A, B within {CLOSE} and A - B within {CLOSE_MARGIN} of print (reproduced)"
_LEVELS = "levels whose pooled McNemar p < .05 favours A: the printed number and none for B (reproduced), one off (partly)"
_CLEAR = "mean difference positive (partly) and above two standard errors (reproduced)"

_CLAIMS: tuple[Callable[[Study], Claim], ...] = (
    _claim("abstract, V-A", "0.9135 vs. 0.9076 (+0.0059)", _SCORES, [NSL], score_margin),
    _claim("abstract, V-B", "0.7556 vs. 0.6771 (+0.0785)", _SCORES, [CIC], score_margin),
    _claim("abstract, V-C", "0.2110 vs. 0.2060 (+0.0050)", _SCORES, [UNSW], score_margin),
    _claim("abstract", "outperforms size-proportional federated averaging in all three datasets",
           f"on every data set: {_CLEAR}", ALL, partial(beats, "A", "B")),
    _combined,
    _claim("abstract", "significance holds in 70 of 94 configurations",
           "share of configurations significant in favour of A at least 74 % less 5 points (reproduced), above half "
           "(partly), on every data set", ALL, significant_configurations),
    _claim("V-A", "Significance holds at 6 of 7 levels", _LEVELS, [NSL], significant_levels),
    _claim("V-B", "Significance holds at 6 of 7 levels", _LEVELS, [CIC], significant_levels,
           "Table V prints 5 stars"),
    _claim("V-C", "Significance holds at 1 of 7 levels", _LEVELS, [UNSW], significant_levels),
    _claim("VI-A", "does not produce statistically significant degradation", "no configuration significantly worse "
           "than B (reproduced); at most 2.5 %, the rate of equal classifiers (partly)", ALL, no_degradation),
    _claim("Fig. 1", "Proposal A leads B consistently", "mean of A above B at every level (reproduced), at most of "
           "them (partly)", [NSL], leads_everywhere),
    _claim("V-A", "The centralized oracle (C = 0.8814) falls below both federated proposals", "C below A and B (reproduced), below "
           "one (partly)", [NSL], centralised_below),
    _claim("V-B", "The centralized model (C = 0.5353) falls below the federated proposals", "C below A and B "
           "(reproduced), below one (partly)", [CIC], centralised_below),
    _claim("V-C", "The centralized model (C = 0.2345) outperforms both federated proposals", "C above A and B "
           "(reproduced), above one (partly)", [UNSW], centralised_above),
    _claim("V-B", "Proposal A also outperforms E (0.6916)", _CLEAR, [CIC], partial(beats, "A", "E")),
    _claim("abstract", "assigned the highest weight to the institutionally most mature node", "on every data set mean "
           "weights put Financial first and Government last (reproduced), one of the two (partly)", ALL,
           extreme_weights, "Table VII prints ~.40/.40/.20 for CIC-IDS2017"),
    _claim("V-D", "In every dataset and every heterogeneity level, the Financial node (ICC = 0.393) received a higher "
           "learned weight", "Fin > Gov in every configuration (reproduced), on average at every level "
           "(partly)", ALL, ends_at_every_level),
    _claim("abstract, V-D", "without any explicit ordering constraint", "the order stays as frequent without the "
           "penalty (A0 within 10 points of A) and prevails with the ICC reversed (AR above half): both (reproduced), "
           "one (partly)", ALL, order_without_penalty, "the penalty's target is itself ordered"),
    _claim("V-B, VI-D", "the ICC mechanism captures something real", "A above A0 (lambda = 0) and above AR (ICC "
           "reversed) by more than two standard errors: both (reproduced), one (partly)", ALL, prior_helps),
    _claim("Fig. 3", "Financial node (blue) maintains consistent dominance", "Financial first in every configuration "
           "(reproduced), on average at every level (partly)", [NSL], dominant_at_every_level),
    _claim("Fig. 5", "Financial and Health nodes show near parity", "mean weights within .05 (reproduced), .1 "
           "(partly)", [CIC], near_parity),
    _claim("Fig. 6", "Higher volatility reflects class imbalance under Dirichlet partitioning at low alpha levels", "weights' standard deviation "
           "over seeds at alpha <= .1 above that at alpha >= .7 (partly), by a quarter (reproduced)", [CIC],
           more_volatile_at_low_levels),
    _claim("Figs. 8, 9", "Clearest alignment with the full ICC hierarchy", "mean weights fall in the order of the ICC "
           "(reproduced), Fin > Gov in most configurations (partly)", [UNSW], full_hierarchy),
    _claim("III-B, IV-C", "Lower alpha produces more heterogeneous partitions", "mean JSD falls at every step "
           "(reproduced), from the first to the last level (partly)", ALL, gradient_falls,
           "a strictly falling mean of five draws is itself a matter of luck"),
    _claim("III-B", "alpha = 1.0 approximates uniform distribution", "JSD at alpha = 1 below .1 (reproduced), .2 "
           "(partly); equal shares give about 0", ALL, nearly_uniform, "printed JSD: .297"),
    _claim("V-C", "often disappear from some nodes entirely", "a (node, class) pair "
           "without rows in most configurations (reproduced), in some (partly)", [UNSW], classes_disappear),
)  # fmt: skip

_UNTESTED: tuple[Callable[[Study], Claim], ...] = (
    _untested("III-D, VI-B", "Without it, the ANLL reaches values in the millions",
              "would need J without log-softmax", "the unnormalised objective is not part of this experiment"),
    _untested("abstract", "information that organisations already collect through standard risk management audits",
              "would need audited institutions", "the three profiles of Table I are invented, the nodes are random "
              "shares of one data set"),
)  # fmt: skip
