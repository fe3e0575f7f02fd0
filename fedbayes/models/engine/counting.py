"""Counts of generative models: every subset of n + 1 attributes is counted once, for all structures.

A structure with superparents P needs N(y, cell) and N(y, cell, x_j) for each other attribute j: the joint counts
of the subsets P + {j}. Each subset of n + 1 attributes belongs to n + 1 structures, so :class:`SubsetCounts`
counts it once. Where these counts would take more than 256 MiB, :class:`RowCounts` counts each structure when it
is asked for, so that memory does not grow with the number of structures. Counts are whole numbers and add over
clients: the counts of all rows are the server's sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, prod

import numpy as np

from fedbayes.models.engine.layout import Structure
from fedbayes.models.engine.subset_counting import (
    count_structure,
    count_subsets,
    locate_subsets,
    subset_offsets,
)

SUBSET_LIMIT = 256 * 2**20
"""Bytes of counts that are kept for all structures together; beyond, each structure is counted on its own."""


@dataclass(frozen=True)
class StructureCounts:
    """Counts of one structure, in whatever order they are stored.

    The count of class y, cell v and value x of other attribute j (the j-th of ``structure.others``) is
    ``counts[offset[j] + (v // inner[j]) * step[j] + x * inner[j] + v % inner[j], y]``.
    """

    counts: np.ndarray
    offset: np.ndarray
    inner: np.ndarray
    step: np.ndarray


def _elementary_symmetric(cardinalities: Sequence[int], order: int) -> int:
    """Sum over all subsets of `order` attributes of the product of their cardinalities."""
    sums = [1] + [0] * order
    for cardinality in cardinalities:
        for k in range(order, 0, -1):
            sums[k] += int(cardinality) * sums[k - 1]
    return sums[order]


def subset_entries(n: int, cardinalities: Sequence[int], n_classes: int) -> int:
    """Numbers in the counts of all subsets of n + 1 attributes, by class."""
    return n_classes * _elementary_symmetric(cardinalities, n + 1)


def table_entries(n: int, cardinalities: Sequence[int], n_classes: int) -> int:
    """Numbers in one client's tables over all structures.

    The class table is shared (o numbers); each structure P adds o * cells for P(cell | y) and
    o * cells * cardinality_j for each P(x_j | y, cell).
    """
    cells = _elementary_symmetric(cardinalities, n)
    joint = (n + 1) * _elementary_symmetric(cardinalities, n + 1)
    return n_classes * (1 + cells + joint)


def chosen_table_entries(
    structures: Sequence[tuple[int, ...]], cardinalities: Sequence[int], n_classes: int
) -> int:
    """:func:`table_entries` of some structures instead of all."""
    values = sum(int(c) for c in cardinalities)
    entries = 1
    for parents in structures:
        own = [int(cardinalities[p]) for p in parents]
        entries += prod(own) * (1 + values - sum(own))
    return n_classes * entries


def peak_bytes(
    n: int,
    cardinalities: Sequence[int],
    n_classes: int,
    *,
    rows: int = 0,
    clients: int = 1,
    structures: int | None = None,
) -> int:
    """Memory that the streamed models take at most for their tables, in bytes, known before any is allocated.

    Counts of all structures (as long as they are kept together), and for the largest structure the tables of
    all clients over the cells that rows can occupy, with the noise of the generative model.

    Parameters
    ----------
    n, cardinalities, n_classes
        The model.
    rows : int
        Rows of all clients together; 0 when not known.
    clients : int
        Number of clients.
    structures : int, optional
        Number of structures where these are chosen; by default all of them. Chosen ones are counted one by one.
    """
    d = len(cardinalities)
    ordered = sorted((int(c) for c in cardinalities), reverse=True)
    cells = prod(ordered[:n])
    entries = (n_classes + 1) * (1 + sum(ordered))  # of one cell, at most
    occupied = min(clients * cells, rows) if rows else clients * cells
    if structures is None:
        counts = min(4 * subset_entries(n, cardinalities, n_classes), SUBSET_LIMIT) + 8 * comb(d, n + 1)
    else:
        counts = 4 * cells * entries + 8 * (n + 1) * min(structures, comb(d, n))
    return counts + 8 * (4 * cells + occupied) * entries + 8 * rows * (d + n_classes)


class SubsetCounts:
    """Joint counts N(y, x_T) of every subset T of n + 1 attributes.

    Parameters
    ----------
    cardinalities : ndarray (d,) int64
        Domain sizes.
    n_classes : int
        Number of classes o.
    n : int
        Number of superparents.

    Attributes
    ----------
    offsets : ndarray (number of subsets + 1,) int64
        First row of each subset's counts, subsets in lexicographic order.
    counts : ndarray (joint values of all subsets, o) int32
        Within a subset in mixed radix, the first attribute most significant.
    class_counts : ndarray (o,) int64
        N(y).
    """

    def __init__(self, cardinalities: np.ndarray, n_classes: int, n: int):
        self.cardinalities = np.asarray(cardinalities, np.int64)
        self.n_classes, self.n = int(n_classes), int(n)
        d = len(self.cardinalities)
        self.offsets = subset_offsets(self.cardinalities, n + 1, comb(d, n + 1))
        self.counts = np.zeros((self.offsets[-1], n_classes), np.int32)
        self.class_counts = np.zeros(n_classes, np.int64)
        self._binomials = np.array([[comb(i, k) for k in range(n + 2)] for i in range(d + 1)], np.int64)

    def add(self, X: np.ndarray, y: np.ndarray) -> None:
        """Count the rows of one client.

        Parameters
        ----------
        X : ndarray (rows, d) of int
            Codes inside their domains.
        y : ndarray (rows,) of int
            Classes.
        """
        if not len(y):
            return
        self.class_counts += np.bincount(y, minlength=self.n_classes)
        y = np.asarray(y, np.int32)
        columns = np.ascontiguousarray(np.asarray(X, np.int32).T)
        class_starts = np.concatenate([[0], np.cumsum(np.bincount(y, minlength=self.n_classes))])
        order = np.argsort(y, kind="stable")
        count_subsets(columns, y, order, class_starts, self.cardinalities, self.n, self.counts)

    def structure(self, structure: Structure) -> StructureCounts:
        """Where the counts of one structure are."""
        q = len(structure.others)
        offset, inner = np.empty(q, np.int64), np.empty(q, np.int64)
        parents = np.array(structure.parents, np.int64)
        locate_subsets(
            parents, structure.others, self.cardinalities, self.offsets, self._binomials, offset, inner
        )
        return StructureCounts(self.counts, offset, inner, inner * structure.cardinalities)


class RowCounts:
    """The rows themselves: each structure is counted when it is asked for."""

    def __init__(self, cardinalities: np.ndarray, n_classes: int, n: int):
        self.cardinalities = np.asarray(cardinalities, np.int64)
        self.n_classes, self.n = int(n_classes), int(n)
        self.class_counts = np.zeros(n_classes, np.int64)
        self._rows: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, X: np.ndarray, y: np.ndarray) -> None:
        """Take in the rows of one client."""
        self.class_counts += np.bincount(y, minlength=self.n_classes)
        self._rows.append((np.asarray(X, np.int32), np.asarray(y, np.int32)))

    def structure(self, structure: Structure) -> StructureCounts:
        """Count the rows for one structure."""
        counts = np.zeros((structure.cells * structure.values, self.n_classes), np.int32)
        parents = np.array(structure.parents, np.int64)
        for X, y in self._rows:
            count_structure(
                X,
                y,
                parents,
                structure.parent_cardinalities,
                structure.others,
                structure.offsets,
                structure.values,
                counts,
            )
        q = len(structure.others)
        return StructureCounts(
            counts, structure.offsets, np.ones(q, np.int64), np.full(q, structure.values, np.int64)
        )


def count(
    clients: Sequence[tuple[np.ndarray, np.ndarray]],
    cardinalities: np.ndarray,
    n_classes: int,
    n: int,
    *,
    chosen: bool = False,
) -> SubsetCounts | RowCounts:
    """Counts of all clients together.

    Parameters
    ----------
    clients : sequence of (X, y)
        Codes inside their domains, classes from 0.
    cardinalities : ndarray (d,) int64
        Domain sizes.
    n_classes, n : int
        Number of classes and of superparents.
    chosen : bool
        Whether only some structures will be asked for, so that counting every subset is not worth it.
    """
    fits = not chosen and 4 * subset_entries(n, cardinalities, n_classes) <= SUBSET_LIMIT
    counts = (SubsetCounts if fits else RowCounts)(cardinalities, n_classes, n)
    for X, y in clients:
        counts.add(X, y)
    return counts
