"""Kernels in the span of the rows against a dense matrix of features."""

import numpy as np
import pytest

from fedbayes.models.engine import gram
from fedbayes.models.engine.clients import TrainingRows, prepare_clients
from fedbayes.models.engine.layout import make_structure
from fedbayes.models.engine.problem import call
from fedbayes.models.engine.row_space import choose_row_space, make_row_space

SHAPES = [(2, (2, 3, 2, 4), 0), (3, (3, 2, 4, 2, 3, 2), 1), (5, (2, 3, 4, 2, 5), 2), (18, (3, 4, 2, 3, 2), 3)]


def prepare(o, cardinalities, n, sizes=(23, 0, 1, 70), seed=0):
    rng = np.random.default_rng(seed)
    parts = []
    for size in sizes:
        X = np.stack([rng.integers(0, r, size) for r in cardinalities], 1).astype(np.int32)
        parts.append((X, rng.integers(0, o, size).astype(np.int32)))
    return prepare_clients(TrainingRows(parts, 0.5), make_structure(range(n), cardinalities, o))


def features(clients, c):
    """Features (rows, V, dense weights) of a client, one (row, class) after the other; pad lanes 0."""
    structure, (rows, tables) = clients.structure, clients.view(c)
    width, q = structure.lanes, len(structure.others)
    phi = np.zeros((len(rows.y), width, 2 + structure.cells * q, width))
    for k, cell in enumerate(rows.cells):
        for i in range(rows.starts[k], rows.starts[k + 1]):
            for y in range(structure.classes):
                phi[i, y, 0, y], phi[i, y, 1, y] = tables.prior[y], tables.parent[k, y]
                phi[i, y, 2 + cell * q : 2 + (cell + 1) * q, y] = tables.theta[k, rows.codes[i], y]
    return phi.reshape(len(rows.y), width, -1)


@pytest.mark.parametrize(("o", "cardinalities", "n"), SHAPES)
def test_kernels_are_products_with_the_features(o, cardinalities, n):
    clients = prepare(o, cardinalities, n)
    space = make_row_space(clients, np.diff(clients.first_row) > 0)
    assert space.chosen.tolist() == [True, False, True, True]
    width, rng = clients.structure.lanes, np.random.default_rng(1)
    for c in np.flatnonzero(space.chosen):
        problem, phi = space.problems[c], features(clients, c)
        numbers = len(phi) * width
        assert problem[gram.NUMBERS] == numbers
        coefficients, out = rng.standard_normal((len(phi), width)), np.full(numbers + 8, 7.0)
        coefficients[:, o:] = 0.0
        combination = np.einsum("iy,iyw->w", coefficients, phi)

        call(problem[gram.FILL], problem, out, out)
        call(problem[gram.PRODUCT], problem, coefficients.reshape(-1), out)
        scores = out[:numbers].reshape(-1, width)
        np.testing.assert_allclose(scores[:, :o], (phi @ combination)[:, :o], rtol=1e-12, atol=1e-11)

        weights = rng.standard_normal(phi.shape[2])
        call(problem[gram.SCORES], problem, weights, out)
        np.testing.assert_allclose(scores[:, :o], (phi @ weights)[:, :o], rtol=1e-12, atol=1e-12)
        assert (out[numbers:] == 7.0).all()

        target = weights.copy()
        call(problem[gram.COLLECT], problem, coefficients.reshape(-1), target)
        np.testing.assert_allclose(target, weights + combination, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("o", "cardinalities", "n"), SHAPES)
def test_stationary_means_that_no_weight_has_a_larger_gradient(o, cardinalities, n):
    clients = prepare(o, cardinalities, n)
    space = make_row_space(clients, np.diff(clients.first_row) > 0)
    rng, met = np.random.default_rng(2), set()
    for c in np.flatnonzero(space.chosen):
        problem, phi = space.problems[c], features(clients, c)
        for balanced in (False, True):  # in balance: w0 has no gradient, and does not decide
            for scale in (1e-3, 0.5, 0.999999, 1.000001, 2.0, 100.0):
                coefficients = rng.standard_normal((len(phi), clients.structure.lanes))
                coefficients[:, o:] = 0.0
                if balanced and len(phi) > 1:
                    coefficients -= coefficients.mean(axis=0)
                coefficients *= scale / np.abs(np.einsum("iy,iyw->w", coefficients, phi)).max()
                found = call(problem[gram.STATIONARY], problem, coefficients.reshape(-1), np.ones(1))
                assert found == (scale <= 1)
                met.add(found)
    assert met == {0.0, 1.0}


def test_residuals_and_objective():
    clients = prepare(3, (3, 2, 4), 1, sizes=(150,))
    problem, y = make_row_space(clients, np.ones(1, bool)).problems[0], clients.y
    scores = 3 * np.random.default_rng(3).standard_normal((len(y), 4))
    scores[:, 3] = -1e30
    expected = np.exp(scores - scores.max(1, keepdims=True))
    expected /= expected.sum(1, keepdims=True)
    value = -np.log(expected[np.arange(len(y)), y]).sum()
    expected[np.arange(len(y)), y] -= 1
    flat = np.concatenate([scores.ravel(), np.full(8, 7.0)])
    assert call(problem[gram.RESIDUALS], problem, flat, flat) == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(flat[:-8].reshape(-1, 4), expected, atol=1e-15)


def test_clients_are_chosen_by_sizes():
    clients = prepare(3, (3, 2, 4, 2, 3, 2), 1, sizes=(6, 0, 600))
    squares = [(clients.view(c)[0].starts[1:] - clients.view(c)[0].starts[:-1]) ** 2 for c in range(3)]
    work = np.array([5 * squares[0].sum(), 10**9, 5 * squares[2].sum() - 1])
    assert choose_row_space(clients, work).tolist() == [True, False, False]
    assert clients.row_space.chosen.tolist() == [True, False, False]
    assert clients.row_space is clients.row_space
    huge = prepare(2, (2, 2), 0, sizes=(2000, 2000, 2000, 1000))  # 2 * 2000 ** 2 numbers each
    assert choose_row_space(huge, np.full(4, 10**9)).tolist() == [True, True, False, False]
