"""Both kernels against loops in extended precision, finite differences, and each other."""

from itertools import pairwise

import numpy as np
import pytest

from fedbayes.models.engine import problem as fields
from fedbayes.models.engine.clients import TrainingRows, prepare_clients
from fedbayes.models.engine.grouping import choose, groupings
from fedbayes.models.engine.layout import make_structure
from fedbayes.models.engine.problem import evaluate, kernel_address
from fedbayes.models.engine.span import evaluate_span


def loops(clients, c, weights):
    """Objective and gradient of client c, row by row in extended precision."""
    structure, (rows, tables) = clients.structure, clients.view(c)
    o, width, q = structure.classes, structure.lanes, len(structure.others)
    w = weights.astype(np.longdouble)
    own = w[2 * width :].reshape(-1, q, width)
    gradient = np.zeros(len(weights), np.longdouble)
    by_cell = gradient[2 * width :].reshape(-1, q, width)
    value = np.longdouble(0)
    for k in range(len(rows.cells)):
        for i in range(rows.starts[k], rows.starts[k + 1]):
            theta = tables.theta[k, rows.codes[i], :o].astype(np.longdouble)
            score = w[:o] * tables.prior[:o] + w[width : width + o] * tables.parent[k, :o]
            score += (own[k, :, :o] * theta).sum(0)
            p = np.exp(score - score.max())
            value += np.log(p.sum()) + score.max() - score[rows.y[i]]
            p /= p.sum()
            p[rows.y[i]] -= 1
            gradient[:o] += p * tables.prior[:o]
            gradient[width : width + o] += p * tables.parent[k, :o]
            by_cell[k, :, :o] += p * theta
    return value, gradient


def make(cardinalities, n, o, rows, seed=0):
    rng = np.random.default_rng(seed)
    X = np.stack([rng.integers(0, r, rows) for r in cardinalities], 1).astype(np.int32)
    y = ((X[:, 0] + X[:, 1] + (rng.random(rows) < 0.3)) % o).astype(np.int32)
    half = rows // 3
    parts = [(X[:half], y[:half]), (X[half:], y[half:])]
    clients = prepare_clients(TrainingRows(parts, 1.0), make_structure(range(n), cardinalities, o))
    weights = []
    for c in range(2):
        cells = len(clients.view(c)[0].cells)
        w = 1 + 0.5 * rng.standard_normal(clients.structure.weight_count(cells))
        w.reshape(-1, clients.structure.lanes)[:, o:] = 1
        weights.append(w)
    return clients, weights


CASES = [  # cardinalities, superparents, classes, rows
    ((3,) * 9, 1, 2, 700),
    ((2, 3, 4, 2, 3), 0, 3, 300),
    ((3,) * 8, 2, 3, 900),
    ((2, 3, 2, 3, 4, 1), 3, 5, 200),
    ((4, 4, 8, 8), 1, 18, 400),
    ((3, 4, 5), 1, 19, 90),
    ((3, 2), 1, 2, 70),
]


@pytest.mark.parametrize(("cardinalities", "n", "o", "rows"), CASES)
def test_kernels_agree_with_loops_to_1e_12(cardinalities, n, o, rows):
    clients, weights = make(cardinalities, n, o, rows)
    for c, w in enumerate(weights):
        value, expected = loops(clients, c, w)
        span = clients.problems[c].copy()
        span[fields.GROUPS], span[fields.KERNEL] = 0, kernel_address(evaluate_span, clients.structure.lanes)
        for own in (clients.problems[c], span):
            gradient = np.full_like(w, np.nan)
            assert abs(evaluate(own, w, gradient) / value - 1) < 1e-12
            assert np.abs(gradient - expected).max() < 1e-12 * max(1, np.abs(expected).max())
            assert np.all(np.abs(gradient.reshape(-1, clients.structure.lanes)[:, o:]) < 1e-270)


@pytest.mark.parametrize(("cardinalities", "n", "o", "rows"), CASES[:3])
def test_gradient_agrees_with_finite_differences(cardinalities, n, o, rows):
    clients, weights = make(cardinalities, n, o, rows)
    problem, w = clients.problems[1], weights[1]
    gradient, scratch = np.empty_like(w), np.empty_like(w)
    evaluate(problem, w, gradient)
    active = np.flatnonzero((np.arange(len(w)) % clients.structure.lanes) < o)
    for index in np.random.default_rng(1).choice(active, 12, replace=False):
        step = 1e-5
        above, below = w.copy(), w.copy()
        above[index] += step
        below[index] -= step
        difference = (evaluate(problem, above, scratch) - evaluate(problem, below, scratch)) / (2 * step)
        assert difference == pytest.approx(gradient[index], rel=1e-6, abs=1e-6)


def test_both_kernels_are_in_use():
    grouped = make((3,) * 8, 2, 3, 900)[0].problems[:, fields.GROUPS]
    assert np.all(grouped > 0)
    spanned = make((4, 4, 8, 8), 1, 18, 60)[0].problems[:, fields.GROUPS]
    assert np.all(spanned == 0)


def test_weights_far_out_stay_finite():
    clients, weights = make((3,) * 5, 1, 3, 200)
    for factor in (1e3, -1e3):
        gradient = np.empty_like(weights[0])
        far = weights[0].copy()
        far.reshape(-1, 4)[:, :3] *= factor
        assert np.isfinite(evaluate(clients.problems[0], far, gradient))
        assert np.all(np.isfinite(gradient))


def test_few_rows_or_large_tables_get_no_groups():
    cardinalities = np.array([3] * 10)
    assert choose(cardinalities, 4, np.array([10, 5000]), np.array([9, 9])).tolist()[0] == -1
    assert choose(cardinalities, 4, np.array([10, 5000]), np.array([9, 9])).tolist()[1] >= 0
    assert choose(np.array([5000] * 4), 18, np.array([10**6]), np.array([1])).tolist() == [-1]
    for members, entries in groupings((2, 3, 2, 700, 2), 4):
        assert members[0] == 0
        assert members[-1] == 5
        assert entries[-1] == sum(np.prod((2, 3, 2, 700, 2)[a:b]) for a, b in pairwise(members))
