"""Federated generative models: clients send noisy counts once, the server adds them up.

Every client adds Laplace(Delta / epsilon) noise to every entry of all its tables, whether or not it has rows
there: the class counts (once, shared by all structures), and for each structure P the counts of (y, cell) and of
(y, cell, x_j). The server adds the clients' tables, clamps the sums at 0, smooths them and divides each table by
its own sum (FedAnDE, section 4, "Generative baseline"). Without noise (epsilon infinite) the result is the model
of all rows together, however they are spread over clients.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations

import numpy as np

from fedbayes.federated.noisy_counts import KeptCounts, NoisyCounts, NoisyTables, exact_counts
from fedbayes.federated.privacy import MECHANISMS, check_epsilon, sensitivity
from fedbayes.models.categorical_input import (
    Client,
    check_cardinalities,
    check_clients,
    check_order,
    check_smoothing,
    check_structures,
)
from fedbayes.models.engine.counting import chosen_table_entries, count, table_entries
from fedbayes.models.engine.generative import (
    CountTables,
    TableSource,
    average_posteriors,
)
from fedbayes.models.engine.layout import Structure, make_structure

Sums = Callable[[Structure, int], tuple[np.ndarray, np.ndarray]]


Structures = Sequence[tuple[int, ...]]


def generative_parameters(
    n: int, cardinalities: Sequence[int], n_classes: int, structures: Structures | None = None
) -> int:
    """Numbers that one client sends: the class table and all tables of all structures, or of those given."""
    if structures is not None:
        return chosen_table_entries(structures, cardinalities, n_classes)
    return table_entries(n, cardinalities, n_classes)


class FederatedGenerative:
    """A federated generative AnDE model as the server holds it.

    Attributes
    ----------
    class_counts : ndarray (o,)
        The server's sums of the class counts, with noise where there is any, before clamping.
    n, n_classes, cardinalities, smoothing, epsilon
        As given.
    structures : list of tuple of int
        Sets of superparents, in lexicographic order.
    """

    def __init__(
        self, class_counts, sums: Sums, source: TableSource, cardinalities, n_classes, n, smoothing, epsilon,
        structures,
    ):  # fmt: skip
        self.structures = structures
        self.class_counts, self._sums, self._source = class_counts, sums, source
        self.cardinalities, self.n_classes, self.n = cardinalities, n_classes, n
        self.smoothing, self.epsilon = smoothing, epsilon

    def counts(self, parents: Sequence[int]) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        """The server's sums of one structure, before clamping.

        Parameters
        ----------
        parents : sequence of int
            Superparents, ascending.

        Returns
        -------
        cell_counts : ndarray (o, cells)
            Counts of (y, cell).
        conditional_counts : dict of ndarray (o, cells, cardinality of j)
            Counts of (y, cell, x_j) for each attribute j that is no superparent.
        """
        wanted = tuple(int(p) for p in parents)
        if wanted not in self.structures:
            raise ValueError(f"parents must be {self.n} ascending attributes of a structure, got {wanted}")
        structure = make_structure(wanted, self.cardinalities, self.n_classes)
        parent, conditional = self._sums(structure, self.structures.index(wanted))
        bounds = zip(structure.others, structure.offsets, structure.cardinalities, strict=True)
        return parent.T, {
            int(j): conditional[:, start : start + width].transpose(2, 0, 1) for j, start, width in bounds
        }

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Posterior of each row, averaged over structures.

        Parameters
        ----------
        X : ndarray (rows, d) of int
            Codes; one outside its domain counts as a value or cell with count zero.

        Returns
        -------
        ndarray (rows, n_classes)
        """
        return average_posteriors(
            X, self.cardinalities, self.n_classes, self.n, self._source, self.structures
        )


def fit_generative(
    clients: Sequence[Client],
    cardinalities: Sequence[int],
    n_classes: int,
    *,
    n: int,
    epsilon: float = np.inf,
    smoothing: float = 1.0,
    rng: np.random.Generator | None = None,
    mechanism: str = "laplace",
    structures: Structures | None = None,
) -> FederatedGenerative:
    """Federate generative AnDE: add up the clients' counts, with noise where epsilon is finite.

    Parameters
    ----------
    clients : sequence of (X, y)
        Integer codes (rows, d) and class indices (rows,) of each client, which may have no rows.
    cardinalities : sequence of int
        Domain sizes, known to all clients.
    n_classes : int
        Number of classes o.
    n : int
        Number of superparents, 0 <= n < d.
    epsilon : float
        Privacy budget of one client's row over all tables; infinity for no noise.
    smoothing : float
        Added to every entry by the server.
    rng : numpy.random.Generator
        Source of the noise; needed when epsilon is finite.
    mechanism : {"laplace", "geometric"}
        Noise of the paper, or its whole-number counterpart.
    structures : sequence of tuple of int, optional
        Sets of superparents to average over, each of n ascending indices; by default all of them. Delta counts
        these alone, so they must not be chosen by looking at the clients' rows without noise.

    Returns
    -------
    FederatedGenerative
        With noise it holds the noisy tables only, never the exact counts.

    Raises
    ------
    ValueError
        For data outside the domains, n >= d (``n_features=<d>``), epsilon <= 0 or NaN, a finite epsilon without
        `rng`, or structures that are none.
    """
    d = len(check_cardinalities(cardinalities))
    structures = check_structures(structures, check_order(n, d), d)
    counts, noisy, cardinalities, smoothing, epsilon = _collect(
        clients, cardinalities, n_classes, n, epsilon, smoothing, rng, mechanism, structures
    )
    structures = structures or list(combinations(range(d), n))
    if noisy is None:
        held, sums, source = counts, partial(exact_counts, counts), CountTables(counts, smoothing)
    else:
        held = KeptCounts(noisy, cardinalities, n_classes, structures)
        sums, source = held.structure, NoisyTables(held, smoothing)
    return FederatedGenerative(
        held.class_counts, sums, source, cardinalities, n_classes, n, smoothing, epsilon, structures
    )


def generative_posteriors(
    clients: Sequence[Client],
    cardinalities: Sequence[int],
    n_classes: int,
    X: np.ndarray,
    *,
    n: int,
    epsilon: float = np.inf,
    smoothing: float = 1.0,
    rng: np.random.Generator | None = None,
    mechanism: str = "laplace",
    structures: Structures | None = None,
    also_released: int = 0,
) -> tuple[np.ndarray, float]:
    """``fit_generative(...).predict_proba(X)`` to the last bit, holding the noise of one structure at a time.

    Parameters
    ----------
    clients, cardinalities, n_classes, n, epsilon, smoothing, rng, mechanism
        As in :func:`fit_generative`.
    X : ndarray (rows, d) of int
        Rows to predict.
    structures : sequence of tuple of int, optional
        Sets of superparents of the model; by default all of them. Delta then counts these alone.
    also_released : int
        Counts changed by one row that are released under the same epsilon (those the structures were chosen
        by); added to Delta.

    Returns
    -------
    posteriors : ndarray (rows, n_classes)
    predict_seconds : float
        Time of the prediction alone, without counting and drawing noise.
    """
    d = len(check_cardinalities(cardinalities))
    structures = check_structures(structures, check_order(n, d), d)
    counts, noisy, cardinalities, smoothing, _ = _collect(
        clients, cardinalities, n_classes, n, epsilon, smoothing, rng, mechanism, structures, also_released
    )
    source = CountTables(counts, smoothing) if noisy is None else NoisyTables(noisy, smoothing)
    started = time.perf_counter()
    posteriors = average_posteriors(X, cardinalities, n_classes, n, source, structures)
    elapsed = time.perf_counter() - started
    return posteriors, elapsed - (0.0 if noisy is None else source.noise_seconds)


def _collect(
    clients, cardinalities, n_classes, n, epsilon, smoothing, rng, mechanism, structures=None, also_released=0
):
    """Check everything, count, and set up the noise."""
    epsilon, smoothing = check_epsilon(epsilon), check_smoothing(smoothing)
    if np.isfinite(epsilon) and not isinstance(rng, np.random.Generator):
        raise ValueError(f"epsilon={epsilon!r} needs rng, a numpy.random.Generator, for the noise")
    if mechanism not in MECHANISMS:
        raise ValueError(f"mechanism must be one of {', '.join(MECHANISMS)}, got {mechanism!r}")
    clients, cardinalities = check_clients(clients, cardinalities, n_classes)
    n = check_order(n, len(cardinalities))
    counts = count(clients, cardinalities, n_classes, n, chosen=structures is not None)
    if np.isinf(epsilon):
        return counts, None, cardinalities, smoothing, epsilon
    used = None if structures is None else len(structures)
    scale = (sensitivity(n, len(cardinalities), used) + also_released) / epsilon
    return counts, NoisyCounts(counts, len(clients), scale, rng, mechanism), cardinalities, smoothing, epsilon
