"""Cells of an experiment's grid and the key that identifies each."""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

RESULTS_VERSION = 1
"""Raised by every change that alters a number; part of every cell's key."""


def text(value: Any) -> str:
    """A value as it stands in a results file: floats by ``repr``, nothing for None or NaN."""
    if value is None:
        return ""
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(float(value))
    return str(value)


@lru_cache(maxsize=4096)
def _settings_text(settings: tuple[tuple[str, Any], ...]) -> str:
    return ";".join(f"{name}={text(value)}" for name, value in settings)


@dataclass(frozen=True, init=False)
class Cell:
    """One cell of a grid: everything that can change its numbers, and nothing else.

    Fields that do not apply to a cell are None. ``settings`` holds, in alphabetical order, the
    result-affecting fields that differ from the paper's default and have no column of their own.
    """

    experiment: str
    dataset: str
    clients: int
    seed: int
    partition: str | None = None
    n: int | None = None
    learner: str | None = None
    regime: str | None = None
    protocol: str | None = None
    epsilon: float | None = None
    alpha: float | None = None
    reading: str | None = None
    settings: tuple[tuple[str, Any], ...] = ()

    def __init__(
        self, experiment, dataset, clients, seed, partition=None, n=None, learner=None, regime=None,
        protocol=None, epsilon=None, alpha=None, reading=None, settings=(),
    ):  # fmt: skip
        # a grid makes a hundred thousand of them: the generated one sets field by field, three times as slow
        self.__dict__.update(
            experiment=experiment, dataset=dataset, clients=clients, seed=seed, partition=partition, n=n,
            learner=learner, regime=regime, protocol=protocol, epsilon=epsilon, alpha=alpha, reading=reading,
            settings=settings,
        )  # fmt: skip

    @property
    def key(self) -> str:
        """Sixteen hexadecimal digits that name this cell's content."""
        known = self.__dict__.get("_key")  # a cached_property takes a lock in Python 3.11
        if known is None:
            known = self.__dict__["_key"] = sha256(self._content.encode()).hexdigest()[:16]
        return known

    @property
    def _content(self) -> str:
        epsilon = "" if self.epsilon is None else text(self.epsilon)
        return (
            f"{RESULTS_VERSION}|{self.experiment}|{self.dataset}|{self.clients}|{self.seed}|{self.partition}|"
            f"{self.n}|{self.learner}|{self.regime}|{self.protocol}|{epsilon}|{text(self.alpha)}|"
            f"{self.reading}|{_settings_text(self.settings)}"
        )

    @property
    def settings_text(self) -> str:
        """The column ``settings``: ``key=value;...``."""
        return _settings_text(self.settings)


@dataclass(frozen=True)
class Task:
    """The unit of work: cells that share data, partition and fold, computed together.

    Attributes
    ----------
    parts
        For every cell the sub-keys (fold number or proposal names) that are asked for.
    parameters
        The experiment's checked settings.
    cost
        Rough seconds on one core, for the progress bar and for balancing shards.
    threads
        How many threads may share the task where tasks are fewer than processes; no result depends on it.
    """

    experiment: str
    dataset: str
    cells: tuple[Cell, ...]
    parts: tuple[str, ...]
    parameters: Any
    cost: float
    label: str = ""
    threads: int = 1


def balanced_shard(tasks: Sequence[Task], index: int, count: int) -> list[Task]:
    """Tasks of shard ``index`` (from 1) of ``count``, dealt by falling cost to the shard with the least.

    The deal depends on the full list alone, so that shards started apart are disjoint and complete.
    """
    loads = [(0.0, shard) for shard in range(min(count, len(tasks)))]  # a heap; more shards stay empty
    mine = []
    for task in sorted(tasks, key=lambda task: (-task.cost, task.label)):
        load, lightest = loads[0]
        heapq.heapreplace(loads, (load + task.cost, lightest))
        if lightest == index - 1:
            mine.append(task)
    return mine
