"""Counts of subsets against numpy, by bit sets and row by row; sizes against enumeration."""

import itertools
from math import comb, prod

import numpy as np
import pytest

from fedbayes.models.engine import counting
from fedbayes.models.engine.counting import RowCounts, SubsetCounts, peak_bytes, subset_entries, table_entries
from fedbayes.models.engine.layout import make_structure


def expected_counts(X, y, subset, cardinalities, classes):
    shape = [cardinalities[j] for j in subset]
    table = np.zeros((prod(shape), classes), int)
    np.add.at(table, (np.ravel_multi_index(tuple(X[:, j] for j in subset), shape), y), 1)
    return table


@pytest.mark.parametrize("n", [0, 1, 2, 3])
@pytest.mark.parametrize("rows", [1, 64, 700])
def test_every_subset(n, rows):
    rng = np.random.default_rng(n + rows)
    cardinalities = np.array([2, 3, 1, 40, 2])  # the long one is counted row by row
    X = np.stack([rng.integers(c, size=rows) for c in cardinalities], axis=1)
    y = rng.choice(4, p=[0.7, 0.2, 0.0, 0.1], size=rows)
    counts = SubsetCounts(cardinalities, 4, n)
    for part in np.array_split(np.arange(rows), 3):
        counts.add(X[part], y[part])
    np.testing.assert_array_equal(counts.class_counts, np.bincount(y, minlength=4))
    subsets = list(itertools.combinations(range(5), n + 1))
    assert len(counts.offsets) == len(subsets) + 1
    for t, subset in enumerate(subsets):
        stored = counts.counts[counts.offsets[t] : counts.offsets[t + 1]]
        np.testing.assert_array_equal(stored, expected_counts(X, y, subset, cardinalities, 4))


@pytest.mark.parametrize("source", [SubsetCounts, RowCounts])
@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_every_structure(source, n):
    rng = np.random.default_rng(n)
    cardinalities = np.array([2, 3, 2, 4, 3])
    X = np.stack([rng.integers(c, size=90) for c in cardinalities], axis=1)
    y = rng.integers(3, size=90)
    counts = source(cardinalities, 3, n)
    counts.add(X, y)
    for parents in itertools.combinations(range(5), n):
        structure = make_structure(parents, cardinalities, 3)
        found = counts.structure(structure)
        for index, j in enumerate(structure.others):
            table = expected_counts(X, y, [*parents, j], cardinalities, 3)
            for v, x in itertools.product(range(structure.cells), range(cardinalities[j])):
                inner = found.inner[index]
                at = found.offset[index] + (v // inner) * found.step[index] + x * inner + v % inner
                np.testing.assert_array_equal(found.counts[at], table[v * cardinalities[j] + x])


def test_counts_of_many_structures_are_not_kept(monkeypatch):
    X, y = np.zeros((3, 4), int), np.zeros(3, int)
    cardinalities = np.full(4, 3)
    assert isinstance(counting.count([(X, y)], cardinalities, 2, 1), SubsetCounts)
    monkeypatch.setattr(counting, "SUBSET_LIMIT", 4 * subset_entries(1, cardinalities, 2) - 1)
    assert isinstance(counting.count([(X, y)], cardinalities, 2, 1), RowCounts)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_sizes(n):
    cardinalities, classes = [2, 5, 3, 4, 1], 3
    subsets = itertools.combinations(cardinalities, n + 1)
    assert subset_entries(n, cardinalities, classes) == classes * sum(map(prod, subsets))
    tables = classes
    for parents in itertools.combinations(range(5), n):
        cells = prod(cardinalities[p] for p in parents)
        others = [cardinalities[j] for j in range(5) if j not in parents]
        tables += classes * cells * (1 + sum(others))
    assert table_entries(n, cardinalities, classes) == tables


def test_peak_is_known_before_allocation_and_bounded():
    huge = peak_bytes(2, [1000] * 10, 10)
    assert huge > 2**40
    assert peak_bytes(2, [3] * 42, 3, rows=67557, clients=100) < 2**30
    # more structures cost no more than the kept counts and one offset each
    small, large = peak_bytes(3, [3] * 40, 3), peak_bytes(3, [3] * 60, 3)
    assert large - small <= counting.SUBSET_LIMIT + 8 * comb(60, 4) + 2**20
