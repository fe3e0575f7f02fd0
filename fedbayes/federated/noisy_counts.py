"""The server's sums of noisy counts, structure by structure, and the log tables made of them.

The noise of a structure comes from a generator of its own, made from one seed and the structure's index, so that
it depends neither on the order of work nor on the test rows, and need not be kept.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np

from fedbayes.federated.privacy import noise_sum
from fedbayes.models.engine.compilation import compiled
from fedbayes.models.engine.counting import RowCounts, SubsetCounts
from fedbayes.models.engine.generative import dense_log_tables, log_prior
from fedbayes.models.engine.layout import Structure, make_structure


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


class KeptCounts:
    """Noisy sums of the structures of a model: what the server knows, and nothing else."""

    def __init__(
        self,
        noisy: NoisyCounts,
        cardinalities: np.ndarray,
        n_classes: int,
        structures: Iterable[tuple[int, ...]],
    ):
        self.class_counts = noisy.class_counts
        self.tables = [
            noisy.structure(make_structure(parents, cardinalities, n_classes), index)
            for index, parents in enumerate(structures)
        ]

    def structure(self, structure: Structure, index: int) -> tuple[np.ndarray, np.ndarray]:
        """See :meth:`NoisyCounts.structure`."""
        return self.tables[index]


class NoisyTables:
    """Log tables of noisy counts, kept or drawn when they are needed.

    Parameters
    ----------
    counts : NoisyCounts or KeptCounts
        The server's sums.
    smoothing : float
        Added to every entry.

    Attributes
    ----------
    noise_seconds : float
        Time spent so far on drawing noise.
    """

    def __init__(self, counts: NoisyCounts | KeptCounts, smoothing: float):
        self._counts, self._smoothing = counts, smoothing
        self._log_prior = log_prior(counts.class_counts, smoothing)
        self.noise_seconds = 0.0

    def log_tables(self, structure: Structure, index: int, cells: np.ndarray, unseen: int):
        """See :class:`fedbayes.models.engine.generative.TableSource`."""
        started = time.perf_counter()
        parent, conditional = self._counts.structure(structure, index)
        self.noise_seconds += time.perf_counter() - started
        return dense_log_tables(
            structure, self._log_prior, parent, conditional, self._smoothing, cells, unseen
        )


def exact_counts(
    counts: SubsetCounts | RowCounts, structure: Structure, index: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Counts of one structure without noise: (cells, o) and (cells, S, o), float64."""
    parent = np.zeros((structure.cells, structure.classes))
    conditional = np.zeros((structure.cells, structure.values, structure.classes))
    stored = counts.structure(structure)
    _add_counts(
        stored.counts, stored.offset, stored.inner, stored.step, structure.cardinalities, parent, conditional
    )
    return parent, conditional


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
