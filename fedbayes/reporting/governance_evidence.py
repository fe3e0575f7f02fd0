"""How the rows of a study decide a claim: per reading on complete data, with the words for what is missing.

Rules of evidence. Only complete data sets decide; results of partial data are shown, labelled, and decide nothing.
Each reading gets an outcome of its own. Both agree: that is the verdict. They differ: "partly", and the note says
which is which. A claim about all three data sets is at best "partly" while one of them is partial or missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fedbayes.reporting import governance_published as published
from fedbayes.reporting.claims import NOT, NOT_TESTABLE, PARTLY, REPRODUCED, Claim
from fedbayes.reporting.governance_series import READINGS, Series
from fedbayes.reporting.governance_study import Study


@dataclass(frozen=True)
class Finding:
    """What one series says about a claim: numbers in words and an outcome, None where it says nothing."""

    numbers: str
    outcome: str | None


Judge = Callable[[Series], Finding]


def judge(
    study: Study, section: str, quote: str, rule: str, datasets: Iterable[str], decide: Judge, note: str = ""
) -> Claim:
    """Decide a claim about one or several data sets.

    Parameters
    ----------
    datasets : iterable of str
        Data sets that the claim speaks about.
    decide : callable
        Series to `Finding`.
    """
    datasets = list(datasets)
    numbers, outcomes = [], {}
    shown: dict[str, list[str]] = {}
    for reading in READINGS:
        said, decided = [], []
        for dataset in datasets:
            series = study.chosen(dataset).get(reading)
            if series is None or series.runs.empty:
                decided.append(None)
                continue
            finding = decide(series)
            mark = " (partial data)" if series.partial else ""
            said.append(f"{series.title}{mark} {finding.numbers}")
            if series.partial and finding.outcome:
                shown.setdefault(series.title, []).append(f"{reading} {finding.outcome}")
            decided.append(None if series.partial else finding.outcome)
        if said:
            numbers.append(f"{reading}: {'; '.join(said)}")
        outcomes[reading] = _over_datasets(decided)
    verdict, remark = _over_readings(outcomes)
    remarks = [remark, _absent(study, datasets), study.partial(datasets)]
    if shown:
        alone = "; ".join(f"{title}: {', '.join(said)}" for title, said in shown.items())
        remarks.append(f"on the partial data alone {alone}")
    return Claim(
        section=section,
        quote=quote,
        rule=rule,
        numbers=". ".join(numbers) or "no results",
        verdict=verdict,
        note=". ".join(text for text in [*remarks, note] if text),
    )


def _over_datasets(decided: list[str | None]) -> str:
    known = [outcome for outcome in decided if outcome is not None]
    if not known:
        return NOT_TESTABLE
    if len(set(known)) == 1 and (known[0] != REPRODUCED or len(known) == len(decided)):
        return known[0]
    # "in all three" is refuted by one, and supported but not settled by those that are there
    return NOT if NOT in known else PARTLY


def _over_readings(outcomes: dict[str, str]) -> tuple[str, str]:
    known = {reading: outcome for reading, outcome in outcomes.items() if outcome != NOT_TESTABLE}
    if not known:
        return NOT_TESTABLE, ""
    if len(set(known.values())) == 1:
        without = [reading for reading in outcomes if reading not in known]
        return next(iter(known.values())), f"no results in the reading {without[0]}" if without else ""
    return PARTLY, ", ".join(f"reading {reading}: {outcome}" for reading, outcome in known.items())


def _absent(study: Study, datasets: list[str]) -> str:
    absent = [published.DATASETS[name].title for name in datasets if not study.chosen(name)]
    words = [f"no results of {', '.join(absent)}"] if absent else []
    thin = study.thin(datasets)
    return ". ".join([*words, thin.rstrip(".")] if thin else words)
