"""The converged local solver against independent loops, scipy's optimisers and itself."""

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

from fedbayes.models.engine.layout import log_tables, make_structure, sort_rows
from fedbayes.models.engine.newton import solve
from fedbayes.models.engine.newton_line import line_minimum

RHO = 1e-8


def problem(X, y, cardinalities, classes, parents):
    structure = make_structure(parents, cardinalities, classes)
    rows = sort_rows(X, y, structure)
    return rows, log_tables(rows, structure, 1.0), structure


def random_problem(seed, rows, cardinalities, classes, parents, signal=0.5):
    """Rows whose attributes lean towards the class, so that the optimum is neither trivial nor separable."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    cardinalities = np.asarray(cardinalities)
    X = rng.integers(0, cardinalities, (rows, len(cardinalities)))
    leaning = rng.random(X.shape) < signal * rng.random(len(cardinalities))
    X = np.where(leaning, y[:, None] % cardinalities, X)
    return problem(X, y, cardinalities, classes, parents)


def score(rows, tables, structure, weights):
    """Scores of the sorted rows by plain loops, and the feature that each weight multiplies."""
    lanes, others = structure.lanes, len(structure.others)
    scores = np.zeros((len(rows.y), structure.classes))
    features = np.zeros((len(rows.y), structure.classes, len(weights)))
    for k in range(len(rows.cells)):
        for i in range(rows.starts[k], rows.starts[k + 1]):
            for c in range(structure.classes):
                features[i, c, c] = tables.prior[c]
                features[i, c, lanes + c] = tables.parent[k, c]
                for j in range(others):
                    at = 2 * lanes + (k * others + j) * lanes + c
                    features[i, c, at] = tables.theta[k, rows.codes[i, j], c]
                scores[i, c] = features[i, c] @ weights
    return scores, features


def objective(weights, rows, tables, structure, rho=RHO):
    """Penalised objective, gradient and Hessian, made independently of the solver."""
    scores, features = score(rows, tables, structure, weights)
    own = scores[np.arange(len(rows.y)), rows.y][:, None]
    margins = scores - own
    top = np.maximum(margins.max(1, keepdims=True), 0.0)
    exponentials = np.exp(margins - top)
    total = exponentials.sum(1, keepdims=True)
    probability = exponentials / total
    value = float((np.log(total) + top).sum()) + 0.5 * rho * ((weights - 1) ** 2).sum()
    residual = probability.copy()
    for i, own_class in enumerate(rows.y):
        residual[i, own_class] = -np.delete(probability[i], own_class).sum()
    gradient = np.einsum("ic,icw->w", residual, features) + rho * (weights - 1)
    centred = features - np.einsum("ic,icw->iw", probability, features)[:, None, :]
    hessian = np.einsum("ic,icw,icv->wv", probability, centred, centred) + rho * np.eye(len(weights))
    return value, gradient, hessian


SHAPES = [
    # rows, cardinalities, classes, parents, signal
    pytest.param(60, (2, 3, 2, 4), 2, (), 0.5, id="2 classes, naive Bayes"),
    pytest.param(150, (3, 2, 3, 2), 2, (0,), 0.5, id="2 classes, 3 cells"),
    pytest.param(150, (3, 2, 3, 3, 2), 3, (1, 2), 0.4, id="3 classes, 6 cells"),
    pytest.param(120, (2, 4, 3), 5, (0,), 0.5, id="5 classes"),
    pytest.param(150, (3, 4, 3), 18, (0,), 0.6, id="18 classes"),
    pytest.param(14, (3, 3, 2, 3, 3, 3), 4, (0,), 0.9, id="fewer rows than weights"),
    pytest.param(30, (2,) * 9, 3, (), 0.9, id="separable"),
]


@pytest.mark.parametrize(("rows", "cardinalities", "classes", "parents", "signal"), SHAPES)
def test_gradient_vanishes_and_a_second_start_agrees(rows, cardinalities, classes, parents, signal):
    data = random_problem(1, rows, cardinalities, classes, parents, signal)
    weights, iterations, value = solve(*data)
    penalised, gradient, _ = objective(weights, *data)
    assert 0 < iterations < 70
    assert np.abs(gradient).max() < 1e-8
    assert value == pytest.approx(penalised - 0.5 * RHO * ((weights - 1) ** 2).sum(), rel=1e-6, abs=1e-12)

    start = np.ones_like(weights)
    real = real_lanes(data[2], len(data[0].cells))
    start[real] += np.random.default_rng(2).normal(size=real.sum())
    again, _, _ = solve(*data, start=start)
    assert np.abs(posterior(weights, *data) - posterior(again, *data)).max() < 1e-5


def real_lanes(structure, cells):
    """Mask of the weights that belong to a class."""
    mask = np.zeros((2 + cells * len(structure.others), structure.lanes), bool)
    mask[:, : structure.classes] = True
    return mask.ravel()


def posterior(weights, rows, tables, structure):
    """Posteriors over every value of every attribute: one test row per sorted row, values shifted by one."""
    shift = (rows.codes - structure.offsets + 1) % structure.cardinalities + structure.offsets
    moved = SimpleNamespace(cells=rows.cells, starts=rows.starts, codes=shift, y=rows.y)
    scores, _ = score(moved, tables, structure, weights)
    exponentials = np.exp(scores - scores.max(1, keepdims=True))
    return exponentials / exponentials.sum(1, keepdims=True)


@pytest.mark.parametrize(
    ("rows", "cardinalities", "classes", "parents"),
    [(60, (2, 3, 2), 2, (0,)), (80, (3, 2, 2), 3, ()), (60, (2, 2, 3), 5, (1,))],
)
def test_agrees_with_scipy(rows, cardinalities, classes, parents):
    # a larger rho, so that scipy's tolerances pin the optimum down
    data = random_problem(3, rows, cardinalities, classes, parents)
    weights, _, _ = solve(*data, rho=1e-2)
    reference = minimize(
        lambda w: objective(w, *data, rho=1e-2)[:2],
        np.ones_like(weights),
        jac=True,
        hess=lambda w: objective(w, *data, rho=1e-2)[2],
        method="trust-exact",
        options={"gtol": 1e-11, "maxiter": 500},
    )
    np.testing.assert_allclose(weights, reference.x, atol=1e-8)


@pytest.mark.parametrize("parents", [(), (1,), (0, 2)])
def test_not_worse_than_lbfgs(parents):
    data = random_problem(4, 200, (3, 2, 4, 3, 2), 3, parents)
    weights, _, value = solve(*data)
    _, features = score(*data, weights)
    own = np.arange(len(data[0].y)), data[0].y

    def loss(w):
        scores = features @ w
        top = scores.max(1, keepdims=True)
        exponentials = np.exp(scores - top)
        total = exponentials.sum(1, keepdims=True)
        residual = exponentials / total
        residual[own] -= 1.0
        return float((np.log(total) + top).sum() - scores[own].sum()), np.einsum(
            "ic,icw->w", residual, features
        )

    options = {"maxiter": 3000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-9}
    reference = minimize(loss, np.ones_like(weights), jac=True, method="L-BFGS-B", options=options)
    assert value <= reference.fun + 1e-6 * max(reference.fun, 1.0)


def test_optimum_is_the_nearest_to_the_start_in_directions_without_data():
    # the second attribute is constant: its weights can only act as a class's bias
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 80)
    X = np.column_stack([np.where(rng.random(80) < 0.7, y, 1 - y), np.zeros(80, int), rng.integers(0, 3, 80)])
    data = problem(X, y, (2, 2, 3), 2, ())
    weights, _, _ = solve(*data)
    _, gradient, _ = objective(weights, *data)
    assert np.abs(gradient).max() < 1e-8
    prior, constant = data[1].prior[:2], data[1].theta[0, 2, :2]
    moved = weights.reshape(-1, 2) - 1.0
    # of all ways to share a bias, the one of least change is proportional to the feature
    np.testing.assert_allclose(moved[0] * constant, moved[3] * prior, rtol=1e-4, atol=1e-5)


def test_empty_client_keeps_its_weights():
    data = problem(np.zeros((0, 3), int), np.zeros(0, int), (2, 3, 2), 3, (1,))
    weights, iterations, value = solve(*data)
    assert iterations == 0
    assert value == 0.0
    assert np.array_equal(weights, np.ones(8))


def test_one_row_and_one_class():
    one = problem(np.array([[1, 0, 2]]), np.array([1]), (2, 3, 3), 3, (0,))
    same = problem(np.tile([[1, 0, 2], [0, 2, 1]], (5, 1)), np.full(10, 2), (2, 3, 3), 4, (0,))
    for data in (one, same):
        weights, iterations, value = solve(*data)
        _, gradient, _ = objective(weights, *data)
        assert np.isfinite(weights).all()
        assert iterations < 70
        assert value < 1e-4
        assert np.abs(gradient).max() < 1e-8


def test_many_rows_in_one_cell():
    data = random_problem(6, 3000, (3,) * 8, 3, (), signal=0.3)
    weights, iterations, _ = solve(*data)
    _, gradient, _ = objective(weights, *data)
    assert iterations < 20
    assert np.abs(gradient).max() < 1e-8


def test_pad_lanes_stay_as_they_are():
    data = random_problem(7, 50, (2, 3, 2), 3, (0,))
    weights, _, _ = solve(*data)
    pads = ~real_lanes(data[2], len(data[0].cells))
    assert pads.sum() == 6
    assert np.array_equal(weights[pads], np.ones(6))


def test_rho_must_be_positive():
    with pytest.raises(ValueError, match="rho"):
        solve(*random_problem(7, 5, (2, 3), 2, ()), rho=0.0)


def test_iteration_limit():
    data = random_problem(8, 100, (2, 3, 3), 2, (0,))
    _, iterations, _ = solve(*data, max_iterations=2)
    assert iterations == 2


def _digest():
    import hashlib

    content = hashlib.sha256()
    for shape in (
        (100, (3,) * 6, 2, (0,)),
        (100, (3,) * 6, 3, (0,)),
        (60, (3, 3, 4), 5, ()),
        (9, (3,) * 8, 3, (1,)),
    ):
        weights, _, value = solve(*random_problem(9, *shape))
        content.update(weights.tobytes() + np.float64(value).tobytes())
    return content.hexdigest()


def test_same_bits_in_another_process_with_more_threads():
    program = f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); import test_newton; print(test_newton._digest())"
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "NUMBA_NUM_THREADS": "2"}
    other = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert other.stdout.strip() == _digest()


def test_line_search_never_climbs():
    # one row falls steeply within a thousandth of the direction, then 28 % as many rise again
    margins = np.array([[0.0, 0.0], [50.0, -30.0]])
    direction = np.array([[0.0, 0.0], [-1e5, 3e4]])
    loss = np.log1p(np.exp(margins[1])).sum()
    posterior = 1 / (1 + np.exp(-margins[1]))
    step = line_minimum(margins, direction, loss, float(posterior @ direction[1]), 0.0, 0.0, 0.3)
    assert step > 0
    assert np.logaddexp(0, margins[1] + step * direction[1]).sum() < loss
