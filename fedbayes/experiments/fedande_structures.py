"""Which superparent sets the models of a fold use, and what it costs to agree on them."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedbayes.experiments.fedande_parameters import setting
from fedbayes.federated.privacy import laplace_sum, sensitivity
from fedbayes.grid import Cell
from fedbayes.models.engine.structure_choice import (
    Sets,
    informative_structures,
    most_sets_counted,
    random_structures,
)
from fedbayes.randomness import generator

Client = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Chosen:
    """Superparent sets of a model.

    Attributes
    ----------
    structures : list of tuple of int, or None
        In lexicographic order; None stands for all of them.
    numbers : int
        Counts that every client has sent for the choice, before any table.
    sets : int
        How many of these counts one row changes, at most.
    seconds : float
        Time of the choice.
    """

    structures: Sets | None = None
    numbers: int = 0
    sets: int = 0
    seconds: float = 0.0


class Chooser:
    """Superparent sets for the cells of one fold, which share their limit and their way of choosing.

    Random sets come from the cell's seed, the same for every regime, learner and number of clients. The most
    informative ones come from training rows alone: a client on its own uses its own, a federation the sum of the
    clients' counts by class, which is one more round. Where the federated model has noise these counts have it
    too, at the same scale, and what one row changes in them is part of Delta.

    Parameters
    ----------
    cell : Cell
        Any of the cells.
    fold : int
    clients : sequence of (X, y)
    cardinalities : sequence of int
    n_classes : int
    """

    def __init__(
        self, cell: Cell, fold: int, clients: Sequence[Client], cardinalities: Sequence[int], n_classes: int
    ):
        self._cell, self._fold, self._clients = cell, fold, clients
        self._cardinalities, self._n_classes = cardinalities, n_classes
        self.limit, self.way = setting(cell, "max_structures"), setting(cell, "structure_choice")
        if self.limit is not None and self.limit >= math.comb(len(cardinalities), cell.n):
            self.limit, self.way = None, "all"  # nothing to choose, so nothing to send for it
        self._known: dict[float, Chosen] = {}

    def alone(self, cell: Cell) -> bool:
        """Whether each client of the cell has sets of its own."""
        return self.way == "information" and cell.regime == "local"

    def own(self, client: Client) -> Chosen:
        """Sets that one client chooses from its own rows."""
        return self._informative([client], None)

    def common(self, epsilon: float = math.inf) -> Chosen:
        """Sets that all clients use together; a finite ``epsilon`` puts noise on the counts they are chosen by."""
        if self.limit is None:
            return Chosen()
        if self.way == "random":
            rng = generator(self._cell.seed, "structures", self._fold, self._cell.n)
            return Chosen(random_structures(len(self._cardinalities), self._cell.n, self.limit, rng))
        if epsilon not in self._known:
            self._known[epsilon] = self._informative(self._clients, epsilon)
        return self._known[epsilon]

    def _informative(self, clients: Sequence[Client], epsilon: float | None) -> Chosen:
        started = time.perf_counter()
        d, n = len(self._cardinalities), self._cell.n
        noise, most = None, 0
        if epsilon is not None and math.isfinite(epsilon):
            most = most_sets_counted(d, n, self.limit)
            scale = (sensitivity(n, d, min(self.limit, math.comb(d, n))) + most) / epsilon
            rng = generator(self._cell.seed, "noise of the choice", self._fold, len(clients), n)

            def noise(shape):
                return laplace_sum(rng, len(clients), scale, shape)

        found = informative_structures(
            np.concatenate([X for X, _ in clients]),
            np.concatenate([y for _, y in clients]),
            self._cardinalities,
            self._n_classes,
            n,
            self.limit,
            noise,
        )
        return Chosen(found.structures, found.numbers, most, time.perf_counter() - started)
