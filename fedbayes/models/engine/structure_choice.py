"""Which superparent sets a model uses when all of them would be too many: at random, or by mutual information.

Neither way enumerates all n-subsets of attributes when there are many, so that time and memory follow the number
of sets that is asked for. The chosen sets are in lexicographic order, as all of them are elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from fedbayes.models.engine.compilation import compiled
from fedbayes.models.engine.vector_arithmetic import log

EXHAUSTIVE = 100_000
"""Most sets of one size that are all scored; beyond, larger sets are grown from the best smaller ones."""

Sets = list[tuple[int, ...]]


def all_sets(n_attributes: int, n: int) -> Sets:
    """All n-subsets in lexicographic order."""
    return list(itertools.combinations(range(n_attributes), n))


def random_structures(n_attributes: int, n: int, count: int, rng: np.random.Generator) -> Sets:
    """Draw distinct superparent sets, each set of sets equally probable; all of them when there are not more.

    Parameters
    ----------
    n_attributes, n : int
        Number of attributes and of superparents.
    count : int
        How many sets are wanted, >= 1.
    rng : numpy.random.Generator
        The only source of randomness.

    Returns
    -------
    list of tuple of int
        Ascending attributes, in lexicographic order.
    """
    total = comb(n_attributes, n)
    if total <= count:
        return all_sets(n_attributes, n)
    if total <= 4 * count:
        every = all_sets(n_attributes, n)
        return [every[i] for i in np.sort(rng.choice(total, count, replace=False))]
    chosen: set[tuple[int, ...]] = set()
    while len(chosen) < count:  # a set drawn before is drawn again: at most a quarter are taken
        chosen.add(tuple(np.sort(rng.choice(n_attributes, n, replace=False)).tolist()))
    return sorted(chosen)


@dataclass(frozen=True)
class InformativeStructures:
    """Superparent sets chosen by information, and what was counted to choose them.

    Attributes
    ----------
    structures : list of tuple of int
        The sets, in lexicographic order.
    sets : int
        Superparent sets whose joint counts with the class were needed: so many counts change with one row.
    numbers : int
        Numbers in these counts: what a client has to send for the choice.
    """

    structures: Sets
    sets: int
    numbers: int


def informative_structures(
    X: np.ndarray,
    y: np.ndarray,
    cardinalities: Sequence[int],
    n_classes: int,
    n: int,
    count: int,
    noise: Callable[[tuple[int, ...]], np.ndarray] | None = None,
) -> InformativeStructures:
    """Superparent sets with the highest mutual information with the class.

    Where there are at most :data:`EXHAUSTIVE` sets all are scored. Otherwise the search grows them: the `count`
    best sets of one attribute less, each with any further attribute, from the largest size that can be scored
    whole.

    Parameters
    ----------
    X : ndarray (rows, d) of int
        Codes inside their domains, of all rows that may be counted.
    y : ndarray (rows,) of int
        Classes.
    cardinalities : sequence of int
        Domain sizes.
    n_classes, n : int
        Number of classes and of superparents, n >= 1.
    count : int
        How many sets are wanted, >= 1.
    noise : callable, optional
        Given a shape, draws what is added to the counts of a set before its information is computed; the
        sums are clamped at 0.

    Returns
    -------
    InformativeStructures
    """
    columns = np.ascontiguousarray(np.asarray(X, np.int32).T)
    y, cards = np.asarray(y, np.int32), np.asarray(cardinalities, np.int64)
    d, size = len(cards), n
    while size > 1 and comb(d, size) > EXHAUSTIVE:
        size -= 1
    candidates = np.array(all_sets(d, size), np.int64)
    sets = numbers = 0
    while True:
        sets += len(candidates)
        numbers += n_classes * int(cards[candidates].prod(axis=1).sum())
        scores = _scores(columns, y, candidates, cards, n_classes, noise)
        # rounded, so that equal sets stay equal whatever the order of their sums; the first ones win
        best = np.sort(np.argsort(-np.round(scores, 12), kind="stable")[:count])
        if size == n:
            return InformativeStructures([tuple(row) for row in candidates[best].tolist()], sets, numbers)
        grown = {
            tuple(sorted((*row, j))) for row in candidates[best].tolist() for j in range(d) if j not in row
        }
        candidates, size = np.array(sorted(grown), np.int64), size + 1


def most_sets_counted(n_attributes: int, n: int, count: int) -> int:
    """Upper bound of :attr:`InformativeStructures.sets`, known before any row is counted."""
    size, total = n, 0
    while size > 1 and comb(n_attributes, size) > EXHAUSTIVE:
        size -= 1
    total = comb(n_attributes, size)
    while size < n:
        size += 1
        total += min(
            comb(n_attributes, size), min(count, comb(n_attributes, size - 1)) * (n_attributes - size + 1)
        )
    return total


def _scores(columns, y, candidates, cards, n_classes, noise) -> np.ndarray:
    scores = np.empty(len(candidates))
    if noise is None:
        _score_sets(columns, y, candidates, cards, n_classes, scores)
        return scores
    for i, members in enumerate(candidates):
        counts = np.zeros((int(cards[members].prod()), n_classes))
        _count_set(columns, y, members, cards, counts)
        scores[i] = _information(np.maximum(counts + noise(counts.shape), 0.0))
    return scores


@compiled
def _count_set(columns, y, members, cards, counts):
    for i in range(y.shape[0]):
        cell = np.int64(0)
        for a in range(members.shape[0]):
            cell = cell * cards[members[a]] + columns[members[a], i]
        counts[cell, y[i]] += 1.0


@compiled
def _information(counts):
    """Mutual information of a table's rows and columns in nats; 0 for an empty one."""
    total = 0.0
    by_class = np.zeros(counts.shape[1])
    for cell in range(counts.shape[0]):
        for c in range(counts.shape[1]):
            by_class[c] += counts[cell, c]
            total += counts[cell, c]
    result = 0.0
    for cell in range(counts.shape[0]):
        in_cell = 0.0
        for c in range(counts.shape[1]):
            in_cell += counts[cell, c]
        for c in range(counts.shape[1]):
            if counts[cell, c] > 0.0:
                share = counts[cell, c] / total
                result += share * (log(counts[cell, c]) + log(total) - log(in_cell) - log(by_class[c]))
    return result


@compiled
def _score_sets(columns, y, candidates, cards, n_classes, scores):
    for s in range(candidates.shape[0]):
        cells = 1
        for a in range(candidates.shape[1]):
            cells *= cards[candidates[s, a]]
        counts = np.zeros((cells, n_classes))
        _count_set(columns, y, candidates[s], cards, counts)
        scores[s] = _information(counts)
