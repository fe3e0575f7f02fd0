"""Which rows of a FedAnDE run belong to one curve, and which data sets may be averaged together.

A series is a learner in a regime at one order n. Rows of different protocol, partition, epsilon, rounds or
`settings` are variants of it and are never averaged; the main tables and figures show one variant each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fedbayes.reporting import fedande_published as published

REGIMES = ("local", "federated", "centralised")
LEARNERS = ("generative", "discriminative")
CELL = ["dataset", "clients", "regime", "learner", "n"]
REPEAT = ["seed", "fold"]
# settings that concern one learner in one regime; every other setting must agree across compared series
OWN_SETTINGS = ("local_max_iterations", "local_solver", "local_steps", "rounds")


def model_name(learner: str, n: int) -> str:
    """NB, A1DE, A2DE ... and the same with a raised w for the weighted, discriminative models."""
    name = "NB" if n == 0 else f"A{int(n)}DE"
    return name + ("ʷ" if learner == "discriminative" else "")


def parse_settings(settings: str) -> dict[str, str]:
    """`a=1;b=2` as a mapping."""
    return dict(part.split("=", 1) if "=" in part else (part, "") for part in settings.split(";") if part)


@dataclass(frozen=True)
class Study:
    """All rows of a results folder, split into the variant shown and the others.

    Attributes
    ----------
    runs : DataFrame
        Every row, with `shared` and `own` describing its variant and `main` telling whether it is shown.
    facts : mapping
        The manifest's facts of each data set.
    variants : dict of (learner, regime) to str
        Words for the variant shown; empty for the paper's settings.
    shared : str
        Words for what all shown series have in common beyond the paper's settings.
    baselines : DataFrame
        Rows of learners that are not the paper's; no part of `runs`.
    """

    runs: pd.DataFrame
    facts: Mapping[str, Mapping[str, Any]]
    variants: dict[tuple[str, str], str]
    shared: str
    baselines: pd.DataFrame

    @property
    def main(self) -> pd.DataFrame:
        """Finished rows of the variants shown."""
        return self.runs[self.runs["main"] & (self.runs["status"] == "done")]

    @property
    def planned(self) -> pd.DataFrame:
        """All rows of the variants shown, whatever their status."""
        return self.runs[self.runs["main"]]

    @property
    def others(self) -> pd.DataFrame:
        """Finished rows of the other variants."""
        return self.runs[~self.runs["main"] & (self.runs["status"] == "done")]

    @property
    def datasets(self) -> list[str]:
        """Names of all data sets with rows, by size, unavailable ones (size unknown) in the paper's order."""
        return ordered_datasets(self.runs)

    def caption(self) -> str:
        """Sentence naming the settings of the shown series where they differ from the paper's."""
        words = [self.shared] if self.shared else []
        words += [f"{learner} {regime}: {own}" for (learner, regime), own in self.variants.items() if own]
        return f"Settings: {'; '.join(words)}." if words else ""


def ordered_datasets(runs: pd.DataFrame) -> list[str]:
    """Data sets by number of rows (Table 1 where a data set could not be loaded), then by name."""
    table_1 = {dataset.name: dataset.rows for dataset in published.TABLE_1}
    sizes = runs.groupby("dataset")["rows"].max()
    known = {name: table_1.get(name, np.inf) if pd.isna(size) else size for name, size in sizes.items()}
    return sorted(known, key=lambda name: (known[name], name))


def build_study(runs: pd.DataFrame, facts: Mapping[str, Mapping[str, Any]]) -> Study:
    """Choose the variant that the main tables and figures show.

    First what concerns all series (protocol, partition, common settings), then each learner and regime on its own
    (epsilon, rounds, solver): most finished rows win; ties go to what departs least from the paper's settings, then to
    the Newton solver.
    """
    baselines = runs[~runs["learner"].isin(LEARNERS)]
    runs = runs[runs["learner"].isin(LEARNERS)].copy()
    runs["n"] = runs["n"].astype(int)
    runs["clients"] = runs["clients"].astype(int)
    described = [_describe(row) for row in runs[_VARIANT_COLUMNS].itertuples(index=False)]
    runs["shared"] = [shared for shared, _ in described]
    runs["own"] = [own for _, own in described]
    # the same repeat twice can only come from two versions of the program; the finished, later row counts
    runs = runs.iloc[np.argsort(runs["status"] == "done", kind="stable")]
    runs = runs.drop_duplicates([*CELL, *REPEAT, "shared", "own"], keep="last")
    # sums of floats depend on the order of their terms, results must not depend on the order of rows
    runs = runs.sort_values([*CELL, "shared", "own", *REPEAT], kind="stable", ignore_index=True)
    shared = _preferred(runs, "shared")
    candidates = runs[runs["shared"] == shared]
    variants = {
        (learner, regime): _preferred(group, "own")
        for regime in REGIMES
        for learner in LEARNERS
        if len(group := candidates[(candidates["learner"] == learner) & (candidates["regime"] == regime)])
    }
    chosen = [variants.get((row.learner, row.regime)) for row in runs.itertuples(index=False)]
    runs["main"] = (runs["shared"] == shared) & (
        runs["own"] == pd.Series(chosen, index=runs.index, dtype=object)
    )
    return Study(runs, facts, variants, shared, baselines)


_VARIANT_COLUMNS = ["protocol", "partition", "settings", "learner", "regime", "epsilon", "rounds"]


def _describe(row: Any) -> tuple[str, str]:
    """What a row shares with all series, and what is its own, in words; empty for the paper's choices."""
    settings = parse_settings(row.settings)
    own = [f"{key}={value}" for key, value in settings.items() if key in OWN_SETTINGS]
    shared = [f"{key}={value}" for key, value in settings.items() if key not in OWN_SETTINGS]
    if row.partition not in ("", "stratified", "none"):  # none: a centralised model, which has no clients
        shared.insert(0, f"partition={row.partition}")
    if row.protocol not in ("", "paper"):
        shared.insert(0, f"protocol={row.protocol}")
    federated = row.regime == "federated"
    if (
        federated
        and row.learner == "generative"
        and row.epsilon != published.EPSILON
        and row.epsilon == row.epsilon
    ):
        own.insert(0, "no noise (epsilon=inf)" if np.isinf(row.epsilon) else f"epsilon={row.epsilon:g}")
    # where the settings do not say (agreeing on structures by information is a round, but none of training)
    told = "rounds" in settings or settings.get("structure_choice") == "information"
    rounds = published.ROUNDS if told else row.rounds
    if federated and row.learner == "discriminative" and rounds == rounds and rounds != published.ROUNDS:
        own.insert(0, f"rounds={rounds:g}")
    return ", ".join(shared), ", ".join(own)


def _preferred(rows: pd.DataFrame, column: str) -> str:
    if not len(rows):
        return ""
    done = rows["status"] == "done"

    def rank(variant: str) -> tuple:
        chosen = rows[column] == variant
        departures = len(variant.split(", ")) if variant else 0
        return -(chosen & done).sum(), -chosen.sum(), departures, "newton" not in variant, variant

    return min(rows[column].unique(), key=rank)


def summarise(rows: pd.DataFrame, value: str, by: list[str] | None = None) -> pd.DataFrame:
    """Mean and standard deviation (ddof 1) over folds and seeds, with their counts.

    Returns
    -------
    DataFrame
        Columns of `by`, then mean, sd, rows, folds, seeds.
    """
    groups = rows.groupby(by or CELL, sort=True, observed=True)
    table = groups.agg(
        mean=(value, "mean"),
        sd=(value, "std"),
        rows=(value, "count"),
        folds=("fold", "nunique"),
        seeds=("seed", "nunique"),
    )
    return table.reset_index()


@dataclass(frozen=True)
class Block:
    """The data sets, series and client numbers that are complete together, and their matched rows.

    Every data set has all of `series` at all of `clients`; `rows` keeps only the (seed, fold) repeats that all of
    them have, so that no mean compares different folds or different sets of data sets.
    """

    datasets: tuple[str, ...]
    series: tuple[tuple[str, str, int], ...]  # (regime, learner, n)
    clients: tuple[int, ...]
    rows: pd.DataFrame
    left_out: tuple[str, ...]  # words: what is not in the block

    def note(self) -> str:
        """Sentence that names what the pooled numbers rest on."""
        if not self.datasets:
            return "No data set is complete across the compared series."
        repeats = self.rows.groupby("dataset")[REPEAT].apply(lambda rows: len(rows.drop_duplicates()))
        spread = (
            f"{repeats.min()}" if repeats.min() == repeats.max() else f"{repeats.min()} to {repeats.max()}"
        )
        words = f"Pooled over {len(self.datasets)} data sets complete in every compared series "
        words += f"({', '.join(self.datasets)}), each with {spread} fold x seed repeats common to all series."
        return words + (f" Not pooled: {'; '.join(self.left_out)}." if self.left_out else "")


def complete_block(rows: pd.DataFrame) -> Block:
    """Largest complete block found by dropping, one at a time, what lacks the largest share of its cells.

    Candidates are data sets, (learner, regime) pairs, orders and client numbers; ties drop a data set first.
    What a pair lacks counts half: to compare learners and regimes is what rows are pooled for.
    """
    axes = {
        "dataset": ordered_datasets(rows) if len(rows) else [],
        "pair": sorted(set(zip(rows["regime"], rows["learner"], strict=True))),
        "n": sorted(rows["n"].unique()),
        "clients": sorted(rows["clients"].unique()),
    }
    present = np.zeros([len(values) for values in axes.values()], dtype=bool)
    position = {axis: {value: i for i, value in enumerate(values)} for axis, values in axes.items()}
    for row in rows[CELL].drop_duplicates().itertuples(index=False):
        where = (row.dataset, (row.regime, row.learner), row.n, row.clients)
        present[tuple(position[axis][value] for axis, value in zip(axes, where, strict=True))] = True
    dropped: list[str] = []
    while present.size and not present.all():
        missing = [
            (share * (1 - present.mean(axis=tuple(a for a in range(4) if a != axis))[i]), -axis, -i)
            for axis, share in enumerate((1.0, 0.5, 1.0, 1.0))
            for i in range(present.shape[axis])
        ]
        _, axis, index = max(missing)
        axis, index = -axis, -index
        name = list(axes)[axis]
        dropped.append(_words(name, axes[name].pop(index)))
        present = np.delete(present, index, axis=axis)
    kept = rows[
        rows["dataset"].isin(axes["dataset"])
        & rows["n"].isin(axes["n"])
        & rows["clients"].isin(axes["clients"])
        & pd.Series(
            [pair in axes["pair"] for pair in zip(rows["regime"], rows["learner"], strict=True)], rows.index
        )
    ]
    wanted = len(axes["pair"]) * len(axes["n"]) * len(axes["clients"])
    counts = kept.groupby(["dataset", *REPEAT])["cell"].transform("count") if len(kept) else 0
    matched = kept[counts == wanted] if len(kept) else kept
    unmatched = [name for name in axes["dataset"] if name not in set(matched["dataset"])]
    dropped += [f"{name} (no fold x seed common to all series)" for name in unmatched]
    datasets = tuple(name for name in axes["dataset"] if name not in unmatched)
    series = (
        tuple((regime, learner, n) for regime, learner in axes["pair"] for n in axes["n"]) if datasets else ()
    )
    return Block(datasets, _sorted_series(series), tuple(axes["clients"]), matched, tuple(dropped))


def _sorted_series(series: Iterable[tuple[str, str, int]]) -> tuple[tuple[str, str, int], ...]:
    return tuple(sorted(series, key=lambda s: (REGIMES.index(s[0]), LEARNERS.index(s[1]), s[2])))


def _words(axis: str, value: Any) -> str:
    if axis == "pair":
        return " ".join(value)
    return str(value) if axis == "dataset" else f"{'C' if axis == 'clients' else axis}={value}"
