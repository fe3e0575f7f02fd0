"""L-BFGS in the span of the rows against L-BFGS on the weights."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbayes.models.engine.clients import TrainingRows, prepare_clients
from fedbayes.models.engine.gram_lbfgs import MOST_ITERATIONS, _direction
from fedbayes.models.engine.layout import make_structure
from fedbayes.models.engine.row_space import make_row_space
from fedbayes.models.engine.training import federate


def make_clients(rng, sizes, cardinalities, o, noise=0.4, absent=True):
    """Rows whose class hangs together with two attributes, some of them twice; client 0 lacks a class."""
    parts = []
    for index, size in enumerate(sizes):
        X = np.stack([rng.integers(0, r, size) for r in cardinalities], 1).astype(np.int32)
        X[size // 2 : size // 2 + size // 8] = X[: size // 8]
        y = (X[:, 0] + X[:, -1] + rng.integers(0, o, size) * (rng.random(size) < noise)) % o
        if index == 0 and absent:
            y = np.where(y == o - 1, 0, y)
        parts.append((X, y.astype(np.int32)))
    return parts


def both(parts, parents, cardinalities, o, rounds, steps, smoothing=1.0):
    """Results of training on the weights, and in the span of the rows of all clients."""
    structure = make_structure(parents, cardinalities, o)
    results = []
    for everywhere in (False, True):
        clients = prepare_clients(TrainingRows(parts, smoothing), structure)
        chosen = (np.diff(clients.first_row) > 0) & everywhere
        space = make_row_space(clients, chosen)
        assert np.array_equal(space.chosen, chosen)
        results.append(federate(clients, rounds, steps, row_space=space))
    return results


CASES = [
    (2, 0, (3, 2, 4, 3, 2), (25, 1, 0, 9)),
    (2, 1, (3, 2, 4, 3, 2, 3), (20, 12, 1)),
    (3, 2, (3, 3, 2, 4, 3, 2), (40, 6, 15)),
    (5, 1, (4, 3, 2, 4, 3), (50, 0, 20, 3)),
    (5, 3, (2, 3, 2, 3, 2, 4), (30, 1, 1)),
    (18, 2, (3, 2, 4, 3, 2), (60, 25)),
]


@pytest.mark.parametrize(("o", "n", "cardinalities", "sizes"), CASES)
def test_rounds_end_with_the_same_weights(o, n, cardinalities, sizes):
    parts = make_clients(np.random.default_rng(10 * o + n), sizes, cardinalities, o)
    for parents in list(itertools.combinations(range(len(cardinalities)), n))[:6]:
        expected, found = both(parts, parents, cardinalities, o, rounds=4, steps=5)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-10, atol=1e-10)
        assert np.array_equal(found[1], expected[1])
        assert np.array_equal(found[2], expected[2])


@pytest.mark.parametrize("steps", [0, 1, 2, MOST_ITERATIONS, MOST_ITERATIONS + 1])
def test_any_number_of_steps(steps):
    cardinalities = (3, 2, 4, 3, 2)
    parts = make_clients(np.random.default_rng(3), (30, 17, 1), cardinalities, 3)
    expected, found = both(parts, (1,), cardinalities, 3, 2, steps)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-9, atol=1e-9)
    assert np.array_equal(found[1:], expected[1:])
    assert (found[0].tobytes() == expected[0].tobytes()) == (steps in (0, MOST_ITERATIONS + 1))


def test_clients_of_both_kinds_side_by_side():
    cardinalities, o = (3, 2, 4, 3, 2, 2, 3), 3
    parts = make_clients(np.random.default_rng(4), (9, 800, 0, 11), cardinalities, o)
    clients = prepare_clients(TrainingRows(parts, 1.0), make_structure((0,), cardinalities, o))
    assert clients.row_space.chosen.tolist() == [True, False, False, True]
    expected, _ = both(parts, (0,), cardinalities, o, 4, 5)
    found = federate(clients, 4, 5)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-10, atol=1e-10)
    assert np.array_equal(found[1:], expected[1:])


def test_clients_that_start_at_their_optimum_stay_there_and_need_no_blocks():
    cardinalities = (3, 2, 4, 3)
    parts = make_clients(np.random.default_rng(5), (9, 5), cardinalities, 2)
    parts = [(X, np.zeros_like(y)) for X, y in parts]
    expected, found = both(parts, (1,), cardinalities, 2, 3, 5, smoothing=1e-12)
    assert (found[0] == 1.0).all() and not found[1].any()
    assert found[2].tolist() == expected[2].tolist() == [3, 3]


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3, 5]), st.integers(0, 3), st.floats(0.0, 1.0))
@settings(max_examples=40, deadline=None)
def test_random_sparse_clients(seed, o, n, noise):
    rng = np.random.default_rng(seed)
    cardinalities = tuple(rng.integers(2, 5, n + 1 + rng.integers(0, 6)).tolist())
    sizes = rng.integers(0, 12, rng.integers(1, 5)).tolist()
    parts = make_clients(rng, sizes, cardinalities, o, noise, absent=rng.random() < 0.5)
    parents = tuple(sorted(rng.choice(len(cardinalities), n, replace=False).tolist()))
    expected, found = both(parts, parents, cardinalities, o, rounds=1, steps=5)
    # clients whose classes come apart end at tiny residuals, and both ways at their rounding
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-6, atol=1e-6)
    assert np.array_equal(found[1], expected[1])


def test_direction_is_that_of_the_two_loop_recursion():
    rng = np.random.default_rng(6)
    gradients = rng.standard_normal((5, 12))
    taken = np.zeros((4, 4))
    at = np.array([1, 2, 4, 0])  # the third step is not remembered
    steps, changes = [], []
    for p in range(3):
        taken[p, : at[p]] = rng.standard_normal(at[p])
        steps.append(taken[p, : at[p]] @ gradients[: at[p]])
        changes.append(gradients[at[p]] - gradients[at[p] - 1])
    bend = np.array([s @ y for s, y in zip(steps, changes, strict=True)] + [0.0])
    size = np.array([y @ y for y in changes] + [0.0])
    inverse = np.eye(12) * bend[2] / size[2]
    for s, y, b in zip(steps, changes, bend, strict=False):
        v = np.eye(12) - np.outer(y, s) / b
        inverse = v.T @ inverse @ v + np.outer(s, s) / b
    pull, products = np.zeros((4, 5)), gradients @ gradients.T
    pull[:3] = np.array(steps) @ gradients.T
    d = np.empty(5)
    _direction(products, taken, pull, bend, size, at, 3, 4, np.empty(4), d)
    np.testing.assert_allclose(d @ gradients, -inverse @ gradients[4], rtol=1e-9, atol=1e-9)
