"""Which rows of a governance run may be averaged together, and the sums and means made of them.

A series is the set of finished rows of one data set, one reading, one list of settings and one number of
nodes. Nothing is ever pooled over two series, except where a table says "combined" and names its rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from fedbayes.evaluation import mcnemar
from fedbayes.federated.governance import PAPER_NODES, NodeProfile, icc_values, target_weights
from fedbayes.reporting import governance_published as published

READINGS = ("paper", "density")
PROPOSALS = ("A", "B", "C", "E")
CONTROLS = ("A0", "AR")
DESCRIPTIONS = {
    "A": "A (ICC-regularised)",
    "B": "B (size-proportional)",
    "C": "C (centralised)",
    "E": "E (inverse entropy)",
    "A0": "A0 (lambda = 0)",
    "AR": "AR (ICC reversed)",
}
PAPER_SETTINGS = "settings of the paper"
# Data that stand in for a data set of the paper without being it; they have tables and figures of their own.
OTHER_TITLES = {
    "synthetic-flows": "synthetic flows",
    "cic-ids2017-corrected": "CIC-IDS2017, corrected",
    "cic-ids2017-reduced": "CIC-IDS2017, reduced",
}
CONFIGURATION = ["alpha", "seed"]


@dataclass(frozen=True)
class Series:
    """The finished rows of one data set, reading, list of settings and number of nodes.

    Attributes
    ----------
    dataset, reading, settings, clients
        What the rows have in common; `settings` is empty for those of the paper.
    runs : DataFrame
        Columns as in runs.csv, status done.
    partial : str
        Empty, or the words "partial data: ..." that belong on everything made of this series.
    profiles : tuple of NodeProfile
        Governance indicators of the nodes, in the order of the `weights` column.
    """

    dataset: str
    title: str
    reading: str
    settings: str
    clients: int
    runs: pd.DataFrame = field(repr=False)
    partial: str = ""
    profiles: tuple[NodeProfile, ...] = PAPER_NODES

    @property
    def label(self) -> str:
        """Settings in words, with the number of nodes where it is not three."""
        parts = [part for part in self.settings.split(";") if part and not part.startswith("nodes=")]
        if self.profiles != PAPER_NODES:
            parts.append(f"{self.clients} nodes of their own profiles")
        return ", ".join(parts) or PAPER_SETTINGS

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the nodes."""
        return tuple(profile.name for profile in self.profiles)

    @property
    def target(self) -> tuple[float, ...]:
        """Weights that the penalty of proposal A pulls to, in node order."""
        method = settings_value(self.settings, "target", "normalised")
        return tuple(map(float, target_weights(icc_values(self.profiles), method)))

    @property
    def published(self) -> published.PublishedDataset | None:
        """What the paper prints about this data set, if anything."""
        return published.DATASETS.get(self.dataset)

    @cached_property
    def levels(self) -> list[float]:
        """Concentrations with at least one finished row, ascending."""
        return sorted(self.runs["alpha"].unique())

    @cached_property
    def seeds(self) -> list[int]:
        """Seeds with at least one finished row, ascending."""
        return sorted(int(seed) for seed in self.runs["seed"].unique())

    def at(self, alpha: float) -> Series:
        """The same series at one level."""
        if alpha not in self._by_level:
            self._by_level[alpha] = self._restricted(np.isclose(self.runs["alpha"], alpha))
        return self._by_level[alpha]

    def at_paper_levels(self) -> Series:
        """The same series without levels that the paper does not have; averages are made of these."""
        inside = _among(self.runs["alpha"], published.LEVELS)
        return self if inside.all() else self._restricted(inside)

    def _restricted(self, kept: np.ndarray) -> Series:
        return replace(self, runs=self.runs[kept])

    # the rows never change, and tables, figures and claims ask for the same parts of them
    @cached_property
    def _by_level(self) -> dict[float, Series]:
        return {}

    @cached_property
    def _wide(self) -> dict[str, pd.DataFrame]:
        return {}

    def values(self, column: str = "macro_f1") -> pd.DataFrame:
        """One row per configuration (alpha, seed), one column per proposal; infinite values are left out."""
        if column not in self._wide:
            first = self.runs.drop_duplicates([*CONFIGURATION, "proposal"])
            wide = first.pivot(index=CONFIGURATION, columns="proposal", values=column)
            self._wide[column] = wide.where(np.isfinite(wide))
        return self._wide[column]

    def mean(self, proposal: str, column: str = "macro_f1") -> float | None:
        """Mean over configurations, None without data."""
        wide = self.values(column)
        return _finite_mean(wide[proposal]) if proposal in wide else None

    def difference(self, first: str, second: str, column: str = "macro_f1") -> Difference:
        """Mean of first minus second over the configurations that have both."""
        wide = self.values(column)
        if first not in wide or second not in wide:
            return Difference(None, None, 0)
        paired = (wide[first] - wide[second]).dropna().to_numpy()
        return Difference.of(paired)

    def weights(self, proposal: str = "A") -> np.ndarray:
        """Training weights of a proposal, shape (configurations, nodes); without rows (0, nodes)."""
        rows = self.runs[(self.runs["proposal"] == proposal) & (self.runs["weights"].fillna("") != "")]
        parsed = [[float(part) for part in str(text).split(";")] for text in rows["weights"]]
        return np.array([row for row in parsed if len(row) == self.clients]).reshape(-1, self.clients)

    def discordant(self, proposal: str = "A") -> pd.DataFrame:
        """Rows of one proposal that carry a McNemar table against B, in order of level and seed."""
        rows = self.runs[(self.runs["proposal"] == proposal) & self.runs["only_first"].notna()]
        return rows.sort_values(CONFIGURATION)

    def pooled(self, proposal: str = "A") -> PooledMcNemar | None:
        """McNemar's test of a proposal against B over all configurations as one table, as the settings have it."""
        return pool_mcnemar(self.discordant(proposal), mcnemar_method(self.settings))

    @cached_property
    def configurations(self) -> int:
        """Number of finished configurations (level, seed)."""
        return len(self.runs[CONFIGURATION].drop_duplicates())

    @cached_property
    def coverage(self) -> str:
        """How much of the paper's grid of 7 levels and 35 configurations is there, in words."""
        inside = self.at_paper_levels()
        whole = len(published.LEVELS) * len(published.SEEDS)
        return f"{len(inside.levels)} of {len(published.LEVELS)} levels, {inside.configurations} of {whole} configurations"

    @property
    def full(self) -> bool:
        """Whether every level of the paper has all seeds."""
        seeds = self.runs.drop_duplicates(CONFIGURATION).groupby("alpha").size()
        return len(self.at_paper_levels().levels) == len(published.LEVELS) and seeds.min() >= len(
            published.SEEDS
        )


@dataclass(frozen=True)
class Difference:
    """Mean paired difference, its standard error over configurations, and their number."""

    mean: float | None
    standard_error: float | None
    configurations: int

    @classmethod
    def of(cls, paired: np.ndarray) -> Difference:
        """Make it of the paired differences, shape (configurations,)."""
        count = len(paired)
        if not count:
            return cls(None, None, 0)
        error = float(np.std(paired, ddof=1) / np.sqrt(count)) if count > 1 else None
        return cls(float(np.mean(paired)), error, count)


@dataclass(frozen=True)
class PooledMcNemar:
    """McNemar's test of several configurations.

    `statistic` and `p` belong to the table of summed counts; `mean_p` and `median_p` summarise the p-values
    of the configurations; `better` and `worse` count those significant in favour of the first and of the
    second.
    """

    configurations: int
    only_first: int
    only_second: int
    statistic: float
    p: float
    mean_p: float
    median_p: float
    better: int
    worse: int

    @property
    def direction(self) -> str:
        """Which of the two is right more often where they disagree."""
        if self.only_first == self.only_second:
            return "neither"
        return "first" if self.only_first > self.only_second else "second"

    @property
    def significant(self) -> bool:
        """Whether the pooled test rejects at the paper's threshold."""
        return self.p < published.SIGNIFICANCE


def pool_mcnemar(rows: pd.DataFrame, method: str = "yates") -> PooledMcNemar | None:
    """Sum the discordant counts of several configurations and test them as one table.

    Parameters
    ----------
    rows : DataFrame
        Rows of one proposal with columns both_right, only_first, only_second, both_wrong, mcnemar_p.
    method : {"yates", "exact", "mid-p"}
        Test of the pooled table; the p-values of the rows stay as they are.

    Returns
    -------
    PooledMcNemar or None
        None without rows.

    Notes
    -----
    The test parts of different seeds overlap, so the pooled p-value is smaller than an independent test set
    of that size would give. It is one answer to how five repetitions become one p-value, which the paper
    does not say.
    """
    if not len(rows):
        return None
    counts = [int(rows[name].sum()) for name in ("both_right", "only_first", "only_second", "both_wrong")]
    statistic, p = mcnemar(*counts, method=method)
    single = rows["mcnemar_p"].to_numpy(dtype=float)
    significant = single < published.SIGNIFICANCE
    in_favour = (rows["only_first"] > rows["only_second"]).to_numpy()
    return PooledMcNemar(
        configurations=len(rows),
        only_first=counts[1],
        only_second=counts[2],
        statistic=statistic,
        p=p,
        mean_p=float(single.mean()),
        median_p=float(np.median(single)),
        better=int((significant & in_favour).sum()),
        worse=int((significant & ~in_favour).sum()),
    )


def settings_value(settings: str, key: str, default: str) -> str:
    """Value of one key in a list of settings `key=value;...`."""
    return dict(part.split("=", 1) for part in settings.split(";") if "=" in part).get(key, default)


def profiles_of(settings: str) -> tuple[NodeProfile, ...]:
    """Node profiles that settings name (`nodes=name/cmm/kci/kri/cvss|...`), else those of Table I."""
    entries = settings_value(settings, "nodes", "")
    if not entries:
        return PAPER_NODES
    parts = [entry.split("/") for entry in entries.split("|")]
    return tuple(NodeProfile(name, *map(float, values)) for name, *values in parts)


def mcnemar_method(settings: str) -> str:
    """Test named in the settings (`mcnemar=exact`), Yates where they name none."""
    return settings_value(settings, "mcnemar", "yates")


def combined_means(per_dataset: Mapping[str, np.ndarray]) -> tuple[float | None, float | None]:
    """Combine data sets by both rules.

    Parameters
    ----------
    per_dataset : mapping of data set to ndarray of shape (configurations,)
        Scores of one proposal; data sets without configurations are left out.

    Returns
    -------
    mean_of_datasets, mean_of_configurations : float or None
        The first weights data sets equally, the second configurations.
    """
    present = [np.asarray(values) for values in per_dataset.values() if len(values)]
    if not present:
        return None, None
    return float(np.mean([values.mean() for values in present])), float(np.concatenate(present).mean())


def _finite_mean(values: pd.Series) -> float | None:
    values = values.dropna()
    return float(values.mean()) if len(values) else None


def _among(values: pd.Series, levels: Iterable[float]) -> np.ndarray:
    return np.isclose(values.to_numpy(dtype=float)[:, None], np.array(list(levels))[None, :]).any(axis=1)
