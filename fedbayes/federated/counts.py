"""Federated generative models: clients send noisy counts once, the server adds them up.

Every client adds Laplace(Delta / epsilon) noise to every entry of all its tables, whether or not it has rows
there: the class counts (once, shared by all structures), and for each structure P the counts of (y, cell) and of
(y, cell, x_j). The server adds the clients' tables, clamps the sums at 0, smooths them and divides each table by
its own sum (FedAnDE, section 4, "Generative baseline"). Without noise (epsilon infinite) the result is the model
of all rows together, however they are spread over clients.

The noise of a structure comes from a generator of its own, made from the caller's generator and the structure's
index, so that it depends neither on the order of work nor on the test rows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from fedbayes.federated.privacy import MECHANISMS, check_epsilon, noise_sum, sensitivity
from fedbayes.models.categorical_input import Client, check_clients, check_order, check_smoothing
from fedbayes.models.engine.compilation import compiled
from fedbayes.models.engine.counting import RowCounts, SubsetCounts, count, table_entries
from fedbayes.models.engine.generative import (
    CountTables,
    TableSource,
    all_structures,
    average_posteriors,
    dense_log_tables,
    log_prior,
)
from fedbayes.models.engine.layout import Structure, make_structure


def generative_parameters(n: int, cardinalities: Sequence[int], n_classes: int) -> int:
    """Numbers that one client sends: the class table and all tables of all structures."""
    return table_entries(n, cardinalities, n_classes)


class NoisyCounts:
    """The server's sums of the clients' noisy counts, structure by structure.

    Parameters
    ----------
    counts : SubsetCounts or RowCounts
        Exact sums over clients.
    clients : int
        Number of clients, each adding its noise (one without rows too).
    scale : float
        Sensitivity over epsilon.
    rng : numpy.random.Generator
        Gives the seed of all noise; advanced by one draw.
    mechanism : {"laplace", "geometric"}
        Distribution of the noise.
    """

    def __init__(
        self,
        counts: SubsetCounts | RowCounts,
        clients: int,
        scale: float,
        rng: np.random.Generator,
        mechanism: str = "laplace",
    ):
        self._counts, self._clients, self._scale, self._mechanism = counts, clients, scale, mechanism
        self._seed = rng.integers(2**32, size=8, dtype=np.uint32).tolist()
        self.class_counts = counts.class_counts + self._noise((0,), counts.n_classes)

    def _noise(self, key: tuple[int, ...], *shapes) -> np.ndarray | list[np.ndarray]:
        rng = np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=key))
        noise = [noise_sum(self._mechanism, rng, self._clients, self._scale, shape) for shape in shapes]
        return noise[0] if len(noise) == 1 else noise

    def structure(self, structure: Structure, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Noisy sums of one structure: (cells, o) for its cells and (cells, S, o) for the other attributes."""
        o = structure.classes
        parent, conditional = self._noise(
            (1, index), (structure.cells, o), (structure.cells, structure.values, o)
        )
        stored = self._counts.structure(structure)
        _add_counts(
            stored.counts,
            stored.offset,
            stored.inner,
            stored.step,
            structure.cardinalities,
            parent,
            conditional,
        )
        return parent, conditional


class _NoisyTables:
    """Log tables of noisy counts, kept or drawn when they are needed."""

    def __init__(self, counts: NoisyCounts | _KeptCounts, smoothing: float):
        self._counts, self._smoothing = counts, smoothing
        self._log_prior = log_prior(counts.class_counts, smoothing)
        self.noise_seconds = 0.0

    def log_tables(self, structure: Structure, index: int, cells: np.ndarray, unseen: int):
        started = time.perf_counter()
        parent, conditional = self._counts.structure(structure, index)
        self.noise_seconds += time.perf_counter() - started
        return dense_log_tables(
            structure, self._log_prior, parent, conditional, self._smoothing, cells, unseen
        )


class _KeptCounts:
    """Noisy sums of all structures: what the server knows, and nothing else."""

    def __init__(self, noisy: NoisyCounts, cardinalities: np.ndarray, n_classes: int, n: int):
        self.class_counts = noisy.class_counts
        self.tables = [
            noisy.structure(make_structure(parents, cardinalities, n_classes), index)
            for index, parents in all_structures(len(cardinalities), n)
        ]

    def structure(self, structure: Structure, index: int) -> tuple[np.ndarray, np.ndarray]:
        return self.tables[index]


class FederatedGenerative:
    """A federated generative AnDE model as the server holds it.

    Attributes
    ----------
    class_counts : ndarray (o,)
        The server's sums of the class counts, with noise where there is any, before clamping.
    n, n_classes, cardinalities, smoothing, epsilon
        As given.
    """

    def __init__(self, tables, source: TableSource, cardinalities, n_classes, n, smoothing, epsilon):
        self._tables, self._source = tables, source
        self.class_counts = tables.class_counts
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
        positions = {candidate: i for i, candidate in all_structures(len(self.cardinalities), self.n)}
        if wanted not in positions:
            raise ValueError(f"parents must be {self.n} ascending attributes, got {wanted}")
        index = positions[wanted]
        structure = make_structure(wanted, self.cardinalities, self.n_classes)
        if isinstance(self._tables, _KeptCounts):
            parent, conditional = self._tables.structure(structure, index)
        else:
            parent, conditional = exact_counts(self._tables, structure)
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
        return average_posteriors(X, self.cardinalities, self.n_classes, self.n, self._source)


def exact_counts(counts: SubsetCounts | RowCounts, structure: Structure) -> tuple[np.ndarray, np.ndarray]:
    """Counts of one structure without noise: (cells, o) and (cells, S, o), float64."""
    parent = np.zeros((structure.cells, structure.classes))
    conditional = np.zeros((structure.cells, structure.values, structure.classes))
    stored = counts.structure(structure)
    _add_counts(
        stored.counts, stored.offset, stored.inner, stored.step, structure.cardinalities, parent, conditional
    )
    return parent, conditional


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

    Returns
    -------
    FederatedGenerative
        With noise it holds the noisy tables only, never the exact counts.

    Raises
    ------
    ValueError
        For data outside the domains, n >= d (``n_features=<d>``), epsilon <= 0 or NaN, or a finite epsilon
        without `rng`.
    """
    counts, noisy, cardinalities, smoothing, epsilon = _collect(
        clients, cardinalities, n_classes, n, epsilon, smoothing, rng, mechanism
    )
    if noisy is None:
        tables, source = counts, CountTables(counts, smoothing)
    else:
        tables = _KeptCounts(noisy, cardinalities, n_classes, n)
        source = _NoisyTables(tables, smoothing)
    return FederatedGenerative(tables, source, cardinalities, n_classes, n, smoothing, epsilon)


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
) -> tuple[np.ndarray, float]:
    """``fit_generative(...).predict_proba(X)`` to the last bit, holding the noise of one structure at a time.

    Parameters
    ----------
    clients, cardinalities, n_classes, n, epsilon, smoothing, rng, mechanism
        As in :func:`fit_generative`.
    X : ndarray (rows, d) of int
        Rows to predict.

    Returns
    -------
    posteriors : ndarray (rows, n_classes)
    predict_seconds : float
        Time of the prediction alone, without counting and drawing noise.
    """
    counts, noisy, cardinalities, smoothing, _ = _collect(
        clients, cardinalities, n_classes, n, epsilon, smoothing, rng, mechanism
    )
    source = CountTables(counts, smoothing) if noisy is None else _NoisyTables(noisy, smoothing)
    started = time.perf_counter()
    posteriors = average_posteriors(X, cardinalities, n_classes, n, source)
    elapsed = time.perf_counter() - started
    return posteriors, elapsed - (0.0 if noisy is None else source.noise_seconds)


def _collect(clients, cardinalities, n_classes, n, epsilon, smoothing, rng, mechanism):
    """Check everything, count, and set up the noise."""
    epsilon, smoothing = check_epsilon(epsilon), check_smoothing(smoothing)
    if np.isfinite(epsilon) and not isinstance(rng, np.random.Generator):
        raise ValueError(f"epsilon={epsilon!r} needs rng, a numpy.random.Generator, for the noise")
    if mechanism not in MECHANISMS:
        raise ValueError(f"mechanism must be one of {', '.join(MECHANISMS)}, got {mechanism!r}")
    clients, cardinalities = check_clients(clients, cardinalities, n_classes)
    n = check_order(n, len(cardinalities))
    counts = count(clients, cardinalities, n_classes, n)
    if np.isinf(epsilon):
        return counts, None, cardinalities, smoothing, epsilon
    scale = sensitivity(n, len(cardinalities)) / epsilon
    return counts, NoisyCounts(counts, len(clients), scale, rng, mechanism), cardinalities, smoothing, epsilon


@compiled
def _add_counts(counts, offset, inner, step, cardinalities, parent, conditional):
    cells, o = parent.shape
    for cell in range(cells):
        value = 0
        for j in range(cardinalities.shape[0]):
            at = offset[j] + (cell // inner[j]) * step[j] + cell % inner[j]
            for x in range(cardinalities[j]):
                for y in range(o):
                    conditional[cell, value + x, y] += counts[at + x * inner[j], y]
                    if j == 0:
                        parent[cell, y] += counts[at + x * inner[j], y]
            value += cardinalities[j]
