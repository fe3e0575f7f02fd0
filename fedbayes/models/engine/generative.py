"""Posteriors of generative models: counts -> log tables -> average over structures."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from math import comb
from typing import Protocol

import numpy as np

from fedbayes.models.categorical_input import check_codes, in_domain
from fedbayes.models.engine.compilation import compiled
from fedbayes.models.engine.counting import RowCounts, SubsetCounts
from fedbayes.models.engine.layout import Structure, make_structure
from fedbayes.models.engine.scoring import add_posteriors, prepare_rows, sort_rows
from fedbayes.models.engine.tables import PAD_PRIOR, log_of_counts
from fedbayes.models.engine.vector_arithmetic import log

TABULATED_COUNTS = 4096
"""Counts up to this one have the logarithm of each table's sum looked up instead of computed."""


class TableSource(Protocol):
    """What gives the log tables of each structure."""

    def log_tables(
        self, structure: Structure, index: int, cells: np.ndarray, unseen: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log tables for some cells of a structure.

        Parameters
        ----------
        structure : Structure
            The structure.
        index : int
            Its position among all structures.
        cells : ndarray (K,) int64
            Cells that are needed; -1 stands for a cell with a superparent value outside its domain.
        unseen : int
            1: each attribute gets one more value, with count zero, after those of its domain; 0: none.

        Returns
        -------
        base : ndarray (K, V)
            log P(y) + log P(cell | y), -1e30 in pad lanes.
        theta : ndarray (K, S + unseen * q, V)
            log P(x_j | y, cell).
        """


def all_structures(n_attributes: int, n: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """All structures with their positions, in lexicographic order."""
    return enumerate(itertools.combinations(range(n_attributes), n))


def average_posteriors(
    X: np.ndarray,
    cardinalities: np.ndarray,
    n_classes: int,
    n: int,
    source: TableSource,
    structures: Sequence[tuple[int, ...]] | None = None,
) -> np.ndarray:
    """Mean over structures of the normalised posterior.

    Parameters
    ----------
    X : ndarray (rows, d) of int
        Codes; one outside its domain counts as a value that was never seen.
    cardinalities : ndarray (d,) int64
        Domain sizes.
    n_classes, n : int
        Number of classes and of superparents.
    source : TableSource
        Gives the log tables of each structure.
    structures : sequence of tuple of int, optional
        Sets of superparents to average over; by default all of them.

    Returns
    -------
    ndarray (rows, n_classes)
    """
    X = check_codes(X, len(cardinalities))
    # rows outside the domains: one more value per attribute, so that all rows take the same way
    unseen = int(not in_domain(X, cardinalities).all())
    widened = cardinalities + unseen
    if unseen:
        X = np.where((X < 0) | (cardinalities <= X), cardinalities, X).astype(np.int32)
    rows = prepare_rows(X, widened)
    out = np.zeros((len(X), n_classes))
    if not len(X):
        return out
    chosen = all_structures(len(cardinalities), n) if structures is None else enumerate(structures)
    for index, parents in chosen:
        structure = make_structure(parents, cardinalities, n_classes)
        scored = make_structure(parents, widened, n_classes) if unseen else structure
        cells, starts, order = sort_rows(rows, scored)
        known = known_cells(cells, structure) if unseen else cells
        base, theta = source.log_tables(structure, index, known, unseen)
        add_posteriors(rows, scored, starts, order, base, theta, out)
    out /= comb(len(cardinalities), n) if structures is None else len(structures)
    return out


def known_cells(cells: np.ndarray, structure: Structure) -> np.ndarray:
    """Cells over the widened domains as cells of the structure, -1 where a superparent is unseen."""
    known, weight = np.zeros(len(cells), np.int64), 1
    outside = np.zeros(len(cells), bool)
    left = cells
    for cardinality in structure.parent_cardinalities[::-1]:
        left, value = np.divmod(left, cardinality + 1)
        outside |= value == cardinality
        known += weight * value
        weight *= cardinality
    return np.where(outside, -1, known)


class CountTables:
    """Log tables of exact counts, smoothed and normalised.

    Parameters
    ----------
    counts : SubsetCounts or RowCounts
        Counts of all training rows.
    smoothing : float
        Added to every count.
    """

    def __init__(self, counts: SubsetCounts | RowCounts, smoothing: float):
        self.counts, self.smoothing = counts, float(smoothing)
        largest = int(counts.class_counts.max(initial=0))
        self._log_counts = log_of_counts(largest, self.smoothing)
        # log(N(y, cell) + smoothing * cardinality): one row of frequent counts for each cardinality
        self._widths, self._width_of = np.unique(counts.cardinalities, return_inverse=True)
        self._log_totals = np.array(
            [log_of_counts(min(largest, TABULATED_COUNTS), self.smoothing * width) for width in self._widths]
        )
        self._log_prior = log_prior(counts.class_counts.astype(np.float64), self.smoothing)

    def log_tables(
        self, structure: Structure, index: int, cells: np.ndarray, unseen: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """See :class:`TableSource`."""
        stored = self.counts.structure(structure)
        base, theta = _empty_tables(structure, len(cells), unseen)
        _fill_from_counts(
            stored.counts,
            stored.offset,
            stored.inner,
            stored.step,
            structure.cardinalities,
            structure.cells,
            cells,
            self.counts.class_counts,
            self._log_prior,
            self._log_counts,
            self._log_totals,
            self._width_of[structure.others],
            self.smoothing,
            unseen,
            base,
            theta,
        )
        return base, theta


def log_prior(class_counts: np.ndarray, smoothing: float) -> np.ndarray:
    """Logarithm of the smoothed and normalised class counts."""
    smoothed = np.maximum(class_counts, 0.0) + smoothing
    result = np.empty(len(smoothed))
    _logs(smoothed, smoothed.sum(), result)
    return result


def dense_log_tables(
    structure: Structure,
    class_log_prior: np.ndarray,
    parent: np.ndarray,
    conditional: np.ndarray,
    smoothing: float,
    cells: np.ndarray,
    unseen: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Log tables of real-valued counts: clamped at 0, smoothed, each table divided by its own sum.

    Parameters
    ----------
    structure : Structure
        The structure.
    class_log_prior : ndarray (o,)
        log P(y).
    parent : ndarray (cells, o)
        Counts of (cell, y).
    conditional : ndarray (cells, S, o)
        Counts of (cell, value, y).
    smoothing : float
        Added to every count.
    cells, unseen
        See :class:`TableSource`.
    """
    base, theta = _empty_tables(structure, len(cells), unseen)
    _fill_from_dense(
        parent, conditional, structure.cardinalities, cells, class_log_prior, smoothing, unseen, base, theta
    )
    return base, theta


def _empty_tables(structure: Structure, cells: int, unseen: int) -> tuple[np.ndarray, np.ndarray]:
    values = structure.values + unseen * len(structure.others)
    base = np.full((cells, structure.lanes), PAD_PRIOR)
    return base, np.zeros((cells, values, structure.lanes))


@compiled
def _logs(numerators, denominator, out):
    shift = log(denominator)
    for i in range(numerators.shape[0]):
        out[i] = log(numerators[i]) - shift


@compiled
def _fill_from_counts(
    counts,
    offset,
    inner,
    step,
    cardinalities,
    n_cells,
    cells,
    class_counts,
    class_log_prior,
    log_counts,
    log_totals,
    width_of,
    smoothing,
    unseen,
    base,
    theta,
):
    o = class_counts.shape[0]
    parent_shift = np.empty(o)
    for y in range(o):
        parent_shift[y] = class_log_prior[y] - log(class_counts[y] + smoothing * n_cells)
    in_cell, shift = np.empty(o, np.int64), np.empty(o)
    for k in range(cells.shape[0]):
        cell = cells[k]
        in_cell[:] = 0
        if cell >= 0:  # N(y, cell): any subset's counts, summed over the attribute that is no superparent
            at = offset[0] + (cell // inner[0]) * step[0] + cell % inner[0]
            for x in range(cardinalities[0]):
                for y in range(o):
                    in_cell[y] += counts[at + x * inner[0], y]
        for y in range(o):
            base[k, y] = parent_shift[y] + log_counts[in_cell[y]]
        value = 0
        for j in range(cardinalities.shape[0]):
            at = offset[j] + (cell // inner[j]) * step[j] + cell % inner[j]
            seen = cardinalities[j] if cell >= 0 else 0
            for y in range(o):
                if in_cell[y] < log_totals.shape[1]:
                    shift[y] = log_totals[width_of[j], in_cell[y]]
                else:
                    shift[y] = log(in_cell[y] + smoothing * cardinalities[j])
            for x in range(seen):
                for y in range(o):
                    theta[k, value + x, y] = log_counts[counts[at + x * inner[j], y]] - shift[y]
            for x in range(seen, cardinalities[j] + unseen):
                for y in range(o):
                    theta[k, value + x, y] = log_counts[0] - shift[y]
            value += cardinalities[j] + unseen


@compiled
def _fill_from_dense(
    parent, conditional, cardinalities, cells, class_log_prior, smoothing, unseen, base, theta
):
    n_cells, o = parent.shape
    log_smoothing = log(smoothing)
    total = np.zeros(o)
    for cell in range(n_cells):
        for y in range(o):
            total[y] += max(parent[cell, y], 0.0) + smoothing
    for k in range(cells.shape[0]):
        cell = cells[k]
        for y in range(o):
            count = max(parent[cell, y], 0.0) if cell >= 0 else 0.0
            base[k, y] = class_log_prior[y] + (log(count + smoothing) - log(total[y]))
        value, wide = 0, 0
        for j in range(cardinalities.shape[0]):
            for y in range(o):
                column = smoothing * cardinalities[j]
                if cell >= 0:
                    for x in range(cardinalities[j]):
                        column += max(conditional[cell, value + x, y], 0.0)
                shift = log(column)
                for x in range(cardinalities[j] + unseen):
                    if cell >= 0 and x < cardinalities[j]:
                        smoothed = max(conditional[cell, value + x, y], 0.0) + smoothing
                        theta[k, wide + x, y] = log(smoothed) - shift
                    else:
                        theta[k, wide + x, y] = log_smoothing - shift
            value += cardinalities[j]
            wide += cardinalities[j] + unseen
