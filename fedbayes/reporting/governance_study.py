"""What a results folder of the governance experiment holds, sorted into series and into what is missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from fedbayes.federated.governance import PAPER_NODES, NodeProfile
from fedbayes.reporting import governance_published as published
from fedbayes.reporting.governance_series import OTHER_TITLES, PAPER_SETTINGS, READINGS, Series, profiles_of
from fedbayes.reporting.partial import is_partial


@dataclass(frozen=True)
class Study:
    """A results folder of the governance experiment.

    Attributes
    ----------
    runs : DataFrame
        Every row of runs.csv, whatever its status.
    facts : mapping
        Data set name to its entry in the manifest, the latest one.
    gaussians : DataFrame
        node_gaussians.csv, empty where there is none.
    """

    runs: pd.DataFrame = field(repr=False)
    facts: Mapping[str, dict]
    gaussians: pd.DataFrame = field(repr=False)

    @cached_property
    def done(self) -> pd.DataFrame:
        """Rows that carry results."""
        return self.runs[self.runs["status"] == "done"]

    @property
    def node_sets(self) -> dict[str, tuple[NodeProfile, ...]]:
        """Label of settings to node profiles, each set of profiles once; those of Table I without any series."""
        sets: dict[tuple[NodeProfile, ...], str] = {}
        for series in self.series:
            sets.setdefault(series.profiles, series.label)
        return {label: profiles for profiles, label in sets.items()} or {PAPER_SETTINGS: PAPER_NODES}

    @cached_property
    def series(self) -> list[Series]:
        """Every series with finished rows: the paper's data sets first, its settings first."""
        keys = ["dataset", "reading", "settings", "clients"]
        rows = self.done.assign(settings=self.done["settings"].fillna(""))
        found = [self._series(*key, chosen) for key, chosen in rows.groupby(keys, sort=False)]
        return sorted(found, key=_order)

    def of(self, dataset: str) -> list[Series]:
        """Series of one data set."""
        return [series for series in self.series if series.dataset == dataset]

    @property
    def of_paper(self) -> list[Series]:
        """Series of the three data sets of the paper; the only ones that enter its tables."""
        return [series for series in self.series if series.dataset in published.DATASETS]

    @property
    def others(self) -> list[Series]:
        """Series of every other data set: synthetic flows, variants, a user's own."""
        return [series for series in self.series if series.dataset not in published.DATASETS]

    def combinations(self, own_nodes: bool = True) -> list[tuple[str, str, dict[str, Series]]]:
        """Reading, label of the settings, and the series by data set that may be combined.

        `own_nodes=False` leaves out settings whose nodes are not those of Table I.
        """
        groups: dict[tuple[str, str], dict[str, Series]] = {}
        for series in self.of_paper:
            if series.profiles != PAPER_NODES and not own_nodes:
                continue
            groups.setdefault((series.reading, series.label), {})[series.dataset] = series
        return [(reading, label, found) for (reading, label), found in groups.items()]

    @cached_property
    def chosen_label(self) -> str:
        """Label of the settings that decide claims: the paper's where there are such rows, else the first."""
        labels = [series.label for series in self.of_paper if series.profiles == PAPER_NODES]
        return PAPER_SETTINGS if PAPER_SETTINGS in labels or not labels else labels[0]

    def chosen(self, dataset: str) -> dict[str, Series]:
        """Series by reading that decide claims about a data set, restricted to the paper's levels."""
        return self._chosen.get(dataset, {})

    @cached_property
    def _chosen(self) -> dict[str, dict[str, Series]]:
        found: dict[str, dict[str, Series]] = {}
        for series in self.series:
            if series.label == self.chosen_label:
                found.setdefault(series.dataset, {})[series.reading] = series.at_paper_levels()
        return found

    def title(self, dataset: str) -> str:
        """Name of a data set for readers."""
        known = published.DATASETS.get(dataset)
        if known:
            return known.title
        return OTHER_TITLES.get(dataset) or str(self.facts.get(dataset, {}).get("title", dataset))

    def partial(self, datasets: Iterable[str]) -> str:
        """The words "partial data: ..." when any of these data sets is not known to be complete, else empty."""
        words = []
        for dataset in dict.fromkeys(datasets):
            if dataset not in self.facts and (self.done["dataset"] == dataset).any():
                words.append(f"the manifest does not say whether {self.title(dataset)} is complete")
            if not is_partial(dataset, self.facts):
                continue
            facts = self.facts[dataset]
            rows, known = facts.get("rows"), published.DATASETS.get(dataset)
            counted = f"{int(rows):,} rows" if rows else "a part"
            if known and rows:
                counted = f"{int(rows):,} rows where the paper has {known.records:,}"
            words.append(f"{self.title(dataset)} is {counted}")
        return f"partial data: {'; '.join(words)}" if words else ""

    def complete(self, dataset: str) -> bool:
        """Whether there are finished rows, made of the complete data set."""
        return bool(self.of(dataset)) and not self.partial([dataset])

    def thin(self, datasets: Iterable[str]) -> str:
        """Which of these data sets have less than the paper's grid in the rows that decide claims, else empty."""
        words = []
        for dataset in datasets:
            said: dict[str, list[str]] = {}
            for reading, series in self.chosen(dataset).items():
                if not series.full:
                    said.setdefault(series.coverage, []).append(reading)
            readings = list(self.chosen(dataset))
            words += [
                f"{self.title(dataset)} {text}" + ("" if which == readings else f" (reading {which[0]})")
                for text, which in said.items()
            ]
        return f"Less than the paper's grid: {'; '.join(words)}." if words else ""

    @cached_property
    def missing(self) -> list[str]:
        """One sentence for each data set, reading, level or row of the paper's grid without results."""
        if not self.of_paper and self.others:
            return []
        said = []
        for dataset, paper in published.DATASETS.items():
            rows = self.runs[self.runs["dataset"] == dataset]
            if not (rows["status"] == "done").any():
                said.append(f"{paper.title}: no results{_reasons(rows)}.")
                continue
            absent: dict[tuple[str, str], list[str]] = {}
            for series in self.of(dataset):
                levels = [f"{level:g}" for level in published.LEVELS if not len(series.at(level).runs)]
                if levels:
                    absent.setdefault((series.label, ", ".join(levels)), []).append(series.reading)
            for (label, levels), readings in absent.items():
                where = f"{paper.title}, {label}, {' and '.join(readings)}"
                said.append(f"{where}: no results at alpha {levels}.")
            without = set(READINGS) - {series.reading for series in self.of(dataset)}
            said += [f"{paper.title}: no results in the reading {reading}." for reading in sorted(without)]
        unfinished = self.runs[self.runs["status"] != "done"]
        unfinished = unfinished[unfinished["dataset"].isin(self.done["dataset"].unique())]
        for (dataset, status), rows in unfinished.groupby(["dataset", "status"], sort=True):
            said.append(f"{self.title(dataset)}: {len(rows)} rows {status}{_reasons(rows)}.")
        return said

    def _series(self, dataset: str, reading: str, settings: str, clients: int, rows: pd.DataFrame) -> Series:
        return Series(
            dataset=dataset,
            title=self.title(dataset),
            reading=reading,
            settings=settings,
            clients=int(clients),
            runs=rows,
            partial=self.partial([dataset]),
            profiles=profiles_of(settings),
        )


def _order(series: Series) -> tuple:
    names = list(published.DATASETS)
    place = names.index(series.dataset) if series.dataset in names else len(names)
    reading = READINGS.index(series.reading) if series.reading in READINGS else len(READINGS)
    own = series.profiles != PAPER_NODES
    return place, series.dataset, series.settings != "", own, series.settings, series.clients, reading


def _reasons(rows: pd.DataFrame) -> str:
    messages = rows["message"].dropna().astype(str)
    distinct = sorted({message for message in messages if message})
    if not distinct:
        return ""
    # a report may be shared: where files lie on this machine is nobody's business
    first = re.sub(r"(?<![\w:])/[^\s;,:)]+", "PATH", distinct[0])
    more = f" (and {len(distinct) - 1} other messages)" if len(distinct) > 1 else ""
    return f": {first.rstrip('.')}{more}"
