"""Matched comparisons behind the claims: accuracies of two series on the same data set, clients, seed and fold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fedbayes.reporting.claims import NOT, NOT_TESTABLE, PARTLY, REPRODUCED, Claim, verdict_of_share
from fedbayes.reporting.fedande_series import LEARNERS, REPEAT, Block, Study

Column = tuple[str, str, int, int]  # regime, learner, n, clients
GENERAL = 6  # a claim about the paper's twelve data sets is decided on at least half of them

THETA_NOTE = (
    "A weight multiplies the client's own log theta, which the method keeps private, so the mean of the weights is "
    "not a mean of like things."
)
NOISE_NOTE = (
    "Here every client's noise has the printed scale Δ/ε. The released code uses another scale for one client and "
    "1/ε for all others, which is far less noise."
)


RELEASED_NOTE = (
    "The released code adds noise of scale 1/ε, not Δ/ε, at all clients but one; the paper's account of its curves "
    "fits that, not the printed formula."
)


class Evidence:
    """Accuracies of the shown variants, arranged for matched differences.

    Attributes
    ----------
    clients, orders : tuple of int
        Client numbers and orders n that have finished rows.
    block : Block
        The complete block, for claims about pooled means.
    """

    def __init__(self, study: Study, block: Block):
        rows = study.main[study.main["regime"].isin(["local", "federated"])]
        self.study = study
        self.block = block
        self.clients = tuple(sorted(int(value) for value in rows["clients"].unique()))
        self.orders = tuple(sorted(int(value) for value in rows["n"].unique()))
        wide = rows.pivot_table(
            index=["dataset", "seed", "fold"],
            columns=["regime", "learner", "n", "clients"],
            values="accuracy",
        )
        self._values = wide.to_numpy().T
        self._position = {tuple(column): i for i, column in enumerate(wide.columns)}
        self._dataset, self._names = pd.factorize(wide.index.get_level_values("dataset"))

    @property
    def ends(self) -> tuple[int, int]:
        """Smallest and largest number of clients, 0 and 0 without rows."""
        return (self.clients[0], self.clients[-1]) if self.clients else (0, 0)

    @property
    def fewest(self) -> str:
        """The smallest number of clients in words; its number only where there is another one."""
        few, many = self.ends
        return f"C = {few}" if few != many else "the smallest C"

    @property
    def most(self) -> str:
        """The largest number of clients in words; its number only where there is another one."""
        few, many = self.ends
        return f"C = {many}" if few != many else "the largest C"

    @property
    def steps(self) -> list[tuple[int, int]]:
        """Neighbouring orders."""
        return [(n, n + 1) for n in self.orders if n + 1 in self.orders]

    def difference(self, plus: Sequence[Column], minus: Sequence[Column]) -> pd.Series:
        """Mean over matched repeats of the sum of `plus` minus the sum of `minus`, one value for each data set."""
        values = self._columns([*plus, *minus])
        if values is None:
            return pd.Series(dtype=float)
        return self._by_dataset(values[: len(plus)].sum(axis=0) - values[len(plus) :].sum(axis=0))

    def spread(self, plus: Column, minus: Column) -> pd.Series:
        """Standard deviation over matched repeats of a difference, one value for each data set."""
        values = self._columns([plus, minus])
        if values is None:
            return pd.Series(dtype=float)
        return pd.Series(values[0] - values[1]).groupby(self._names[self._dataset]).std().dropna()

    def level(self, column: Column, dataset: str) -> float:
        """Mean accuracy of one cell, NaN where there is none."""
        return float(self.difference([column], []).get(dataset, np.nan))

    def best(self, candidates: Sequence[Column], among: Sequence[Column]) -> pd.Series:
        """Lead of the best of `candidates` over the best of the rest of `among`, on data sets that have all."""
        values = self._columns(among)
        if values is None:
            return pd.Series(dtype=float)
        values = np.where(np.isnan(values).any(axis=0), np.nan, values)
        means = pd.DataFrame(
            {column: self._by_dataset(row) for column, row in zip(among, values, strict=True)}
        )
        rest = [column for column in among if column not in candidates]
        return means[list(candidates)].max(axis=1) - means[rest].max(axis=1)

    def _columns(self, columns: Sequence[Column]) -> np.ndarray | None:
        if any(column not in self._position for column in columns):
            return None
        return self._values[[self._position[column] for column in columns]]

    def _by_dataset(self, values: np.ndarray) -> pd.Series:
        known = ~np.isnan(values)
        length = len(self._names)
        counts = np.bincount(self._dataset[known], minlength=length)
        sums = np.bincount(self._dataset[known], weights=values[known], minlength=length)
        return pd.Series(sums[counts > 0] / counts[counts > 0], index=self._names[counts > 0])


def collect(parts: Iterable[pd.Series], datasets: Sequence[str] | None = None) -> pd.Series:
    """All cells of a claim: values indexed by data set, restricted to `datasets` when given."""
    parts = [part for part in parts if len(part)]
    cells = pd.concat(parts) if parts else pd.Series(dtype=float)
    return cells if datasets is None else cells[cells.index.isin(datasets)]


@dataclass(frozen=True)
class Finding:
    """Share of cells in which a statement holds, in words and as a verdict."""

    verdict: str
    numbers: str


def judge(
    cells: pd.Series,
    *,
    margin: float = 0.0,
    reproduced: float = 0.9,
    partly: float = 0.5,
    needed: int = GENERAL,
    mean: bool = True,
) -> Finding:
    """Decide a statement that holds in a cell when its value exceeds `margin`.

    Parameters
    ----------
    cells : Series
        Differences of accuracy, indexed by data set.
    reproduced, partly : float
        Shares of the cells needed.
    needed : int
        Data sets needed, otherwise not testable.
    mean : bool
        Whether the mean must exceed the margin too before the verdict is `reproduced`.
    """
    if not len(cells):
        return Finding(NOT_TESTABLE, "no cell with both sides finished")
    cells = cells.round(12)  # a tie stays one, whatever the order of the sums behind both sides
    holds = int((cells > margin).sum())
    datasets = cells.index.nunique()
    share = holds / len(cells)
    numbers = (
        f"holds in {holds} of {len(cells)} cells ({100 * share:.0f} %), mean difference {points(cells.mean())}, "
        f"{datasets} data set{'s' if datasets != 1 else ''}"
    )
    if datasets < needed:
        return Finding(NOT_TESTABLE, f"{numbers}; at least {needed} data sets are needed")
    verdict = verdict_of_share(share, reproduced, partly)
    if verdict == REPRODUCED and mean and cells.mean() <= margin:
        verdict = PARTLY
    return Finding(verdict, numbers)


def points(value: float) -> str:
    """Difference of accuracy in percentage points with its sign."""
    return f"{100 * value:+.1f} points"


def share_claim(section: str, quote: str, statement: str, cells: pd.Series, note: str = "", **rule) -> Claim:
    """Claim decided by `judge`, its rule written out."""
    finding = judge(cells, **rule)
    reproduced, partly = rule.get("reproduced", 0.9), rule.get("partly", 0.5)
    mean = " and on average" if rule.get("mean", True) else ""
    words = (
        f"{statement}. Reproduced: in at least {100 * reproduced:.0f} % of the cells{mean}; "
        f"partly: in more than {100 * partly:.0f} %."
    )
    return Claim(section, quote, words, finding.numbers, finding.verdict, note)


def both(first: Finding, second: Finding) -> str:
    """Verdict of a claim with two halves: reproduced when both are, not when both fail, else partly."""
    verdicts = {first.verdict, second.verdict}
    if NOT_TESTABLE in verdicts:
        return NOT_TESTABLE
    return verdicts.pop() if len(verdicts) == 1 else PARTLY if verdicts != {NOT} else NOT


def learner_pairs(evidence: Evidence, regimes: Sequence[str]) -> list[pd.Series]:
    """Discriminative minus generative for each regime, order and number of clients."""
    return [
        evidence.difference([(regime, "discriminative", n, c)], [(regime, "generative", n, c)])
        for regime in regimes
        for n in evidence.orders
        for c in evidence.clients
    ]


def regime_pairs(evidence: Evidence, learners: Sequence[str] = LEARNERS) -> list[pd.Series]:
    """Federated minus local for each learner, order and number of clients."""
    return [
        evidence.difference([("federated", learner, n, c)], [("local", learner, n, c)])
        for learner in learners
        for n in evidence.orders
        for c in evidence.clients
    ]


def order_steps(
    evidence: Evidence, regimes: Sequence[str] = ("local", "federated"), learners: Sequence[str] = LEARNERS
) -> list[pd.Series]:
    """Order n + 1 minus order n for each series and number of clients."""
    return [
        evidence.difference([(regime, learner, high, c)], [(regime, learner, low, c)])
        for regime in regimes
        for learner in learners
        for low, high in evidence.steps
        for c in evidence.clients
    ]


def gap_growth(
    evidence: Evidence, few: int, many: int, learners: Sequence[str] = LEARNERS
) -> list[pd.Series]:
    """How much larger federated minus local is with `many` clients than with `few`, by learner and order."""
    return [
        evidence.difference(
            [("federated", learner, n, many), ("local", learner, n, few)],
            [("local", learner, n, many), ("federated", learner, n, few)],
        )
        for learner in learners
        for n in evidence.orders
    ]


def noise_loss(study: Study, order: int | None = None) -> pd.Series:
    """Accuracy with epsilon 1 minus accuracy without noise on matched repeats, by data set, clients and order."""
    rows = study.runs
    rows = rows[
        (rows["status"] == "done")
        & (rows["shared"] == study.shared)
        & (rows["regime"] == "federated")
        & (rows["learner"] == "generative")
        & rows["epsilon"].isin([1.0, np.inf])
    ]
    if order is not None:
        rows = rows[rows["n"] == order]
    wide = rows.pivot_table(index=["dataset", "clients", "n", *REPEAT], columns="epsilon", values="accuracy")
    if 1.0 not in wide or np.inf not in wide:
        return pd.Series(dtype=float)
    loss = (wide[1.0] - wide[np.inf]).groupby(["dataset", "clients", "n"]).mean().dropna()
    return loss.droplevel(["clients", "n"])
