"""Superparent sets chosen at random or by mutual information."""

import itertools
from collections import Counter
from math import comb

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from fedbayes.models.engine import structure_choice
from fedbayes.models.engine.structure_choice import (
    informative_structures,
    most_sets_counted,
    random_structures,
)

CARDINALITIES = (2, 3, 2, 4, 3)


def sample(rows=200, seed=0):
    rng = np.random.default_rng(seed)
    X = np.stack([rng.integers(0, c, rows) for c in CARDINALITIES], axis=1)
    return X, (X[:, 1] + (X[:, 3] > 1) + rng.integers(0, 2, rows)) % 3


def information(X, y, members):
    """From scikit-learn, on the joint values as text."""
    return mutual_info_score(y, ["/".join(map(str, row)) for row in X[:, members]])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_most_informative_sets(n):
    X, y = sample()
    every = list(itertools.combinations(range(5), n))
    ranked = sorted(every, key=lambda members: -information(X, y, members))
    found = informative_structures(X, y, CARDINALITIES, 3, n, 2)
    assert found.structures == sorted(ranked[:2])
    assert found.sets == comb(5, n)
    assert found.numbers == 3 * sum(np.prod([CARDINALITIES[j] for j in members]) for members in every)
    assert informative_structures(X, y, CARDINALITIES, 3, n, 99).structures == every


def test_equal_sets_are_taken_in_their_order():
    X = np.zeros((6, 4), int)
    assert informative_structures(X, np.arange(6) % 2, (2, 2, 2, 2), 2, 2, 2).structures == [(0, 1), (0, 2)]
    assert informative_structures(X[:0], np.zeros(0, int), (2, 2, 2, 2), 2, 1, 1).structures == [(0,)]


def test_large_sets_grow_from_the_best_smaller_ones(monkeypatch):
    monkeypatch.setattr(structure_choice, "EXHAUSTIVE", 5)  # single attributes alone are all scored
    X, y = sample()
    found = informative_structures(X, y, CARDINALITIES, 3, 3, 2)
    best = [(j,) for j in range(5)]
    counted = 0
    for _ in range(2):
        counted += len(best)
        best = sorted(best, key=lambda members: -information(X, y, members))[:2]
        best = sorted(
            {tuple(sorted({*members, j})) for members in best for j in range(5) if j not in members}
        )
    counted += len(best)
    assert found.structures == sorted(sorted(best, key=lambda members: -information(X, y, members))[:2])
    assert found.sets == counted <= most_sets_counted(5, 3, 2) == 5 + 2 * 4 + 2 * 3


def test_noise_enters_the_counts():
    X, y = sample()

    def noise(shape):  # attribute 0 has two values: only its counts become a perfect predictor
        return np.array([[900.0, -900, 0], [-900, 900, 0]]) if shape == (2, 3) else np.zeros(shape)

    found = informative_structures(X[:, [1, 0, 4]], y, (3, 2, 3), 3, 1, 1, noise)
    assert found.structures == [(1,)]


def test_random_sets_are_distinct_sorted_and_fair():
    rng = np.random.default_rng(0)
    for d, n, count in ((300, 3, 50), (6, 2, 7), (6, 2, 15), (6, 2, 99)):
        chosen = random_structures(d, n, count, rng)
        assert len(chosen) == min(count, comb(d, n)) == len(set(chosen))
        assert chosen == sorted(chosen) and all(list(s) == sorted(set(s)) for s in chosen)
    for count in (1, 5):  # both ways of drawing
        drawn = Counter(s for _ in range(300) for s in random_structures(5, 2, count, rng))
        expected = 300 * count / 10
        assert len(drawn) == 10 and all(abs(k - expected) < 5 * expected**0.5 for k in drawn.values())
