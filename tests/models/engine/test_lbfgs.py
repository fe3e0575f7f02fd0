"""Iterates of the optimiser against scipy's L-BFGS-B on the same compiled objective."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.optimize._dcsrch import DCSRCH

from fedbayes.models.engine.clients import TrainingRows, prepare_clients
from fedbayes.models.engine.layout import make_structure
from fedbayes.models.engine.lbfgs import make_workspace, minimise, padded_length
from fedbayes.models.engine.line_search import STATE_SIZE, begin, next_step
from fedbayes.models.engine.problem import evaluate


def one_client(cardinalities, n, o, rows, seed):
    rng = np.random.default_rng(seed)
    X = np.stack([rng.integers(0, r, rows) for r in cardinalities], 1).astype(np.int32)
    y = ((X[:, 0] + X[:, 1] * X[:, 2] + (rng.random(rows) < 0.3)) % o).astype(np.int32)
    clients = prepare_clients(TrainingRows([(X, y)], 1.0), make_structure(range(n), cardinalities, o))
    return clients, clients.structure.weight_count(len(clients.cells))


@pytest.mark.parametrize(
    ("cardinalities", "n", "o", "rows"),
    [((4,) * 6, 1, 3, 200), ((3,) * 8, 2, 2, 500), ((4,) * 5, 0, 18, 300), ((3,) * 6, 3, 4, 60)],
)
@pytest.mark.parametrize("iterations", [1, 2, 5, 12])
def test_iterates_are_those_of_scipy(cardinalities, n, o, rows, iterations):
    clients, size = one_client(cardinalities, n, o, rows, seed=rows)
    problem = clients.problems[0]

    def objective(w):
        gradient = np.empty(size)
        return evaluate(problem, w, gradient), gradient

    options = {"maxiter": iterations, "maxcor": 10, "ftol": 2.22e-9, "gtol": 1e-5, "maxls": 20}
    expected = minimize(objective, np.ones(size), jac=True, method="L-BFGS-B", options=options)
    weights = np.zeros(padded_length(size))
    weights[:size] = 1
    value, done, evaluations = minimise(problem, weights, iterations, make_workspace(len(weights)))
    assert (done, evaluations) == (expected.nit, expected.nfev)
    assert value == pytest.approx(expected.fun, rel=1e-12)
    np.testing.assert_allclose(weights[:size], expected.x, atol=1e-10)
    assert np.all(weights[size:] == 0)
    by_lane = weights[:size].reshape(-1, clients.structure.lanes)
    assert np.all(by_lane[:, o:] == 1)


def test_a_long_run_ends_near_the_optimum():
    clients, size = one_client((3,) * 5, 1, 2, 400, seed=9)
    weights = np.zeros(padded_length(size))
    weights[:size] = 1
    value, iterations, evaluations = minimise(
        clients.problems[0], weights, 15000, make_workspace(len(weights))
    )
    assert 15 < iterations < 15000
    assert evaluations > iterations

    def objective(w):
        gradient = np.empty(size)
        return evaluate(clients.problems[0], w, gradient), gradient

    best = minimize(
        objective, np.ones(size), jac=True, method="L-BFGS-B", options={"maxcor": 30, "ftol": 1e-12}
    )
    assert best.fun - 1e-3 < value < best.fun + 0.05


def test_no_iterations_and_no_slope_leave_the_weights_alone():
    clients, size = one_client((3,) * 4, 1, 2, 50, seed=1)
    weights = np.zeros(padded_length(size))
    weights[:size] = 1
    before = weights.copy()
    assert minimise(clients.problems[0], weights, 0, make_workspace(len(weights)))[1:] == (0, 1)
    np.testing.assert_array_equal(weights, before)


@pytest.mark.parametrize("step", [1e-4, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("curve", [0, 1, 2, 3])
def test_line_search_takes_the_trial_steps_of_minpack(curve, step):
    functions = (
        (lambda a: (a - 2) ** 2, lambda a: 2 * (a - 2)),
        (lambda a: -a / (a * a + 2), lambda a: (a * a - 2) / (a * a + 2) ** 2),
        (
            lambda a: (a + 0.004) ** 5 - 2 * (a + 0.004) ** 4,
            lambda a: 5 * (a + 0.004) ** 4 - 8 * (a + 0.004) ** 3,
        ),
        (lambda a: np.cos(3 * a) - 0.5 * a, lambda a: -3 * np.sin(3 * a) - 0.5),
    )
    value, slope = functions[curve]
    tried = []

    def recorded(a):
        tried.append(a)
        return value(a)

    DCSRCH(recorded, slope, 1e-3, 0.9, 0.1, 0.0, 1e10)(step, value(0.0), slope(0.0), maxiter=20)
    state = np.empty(STATE_SIZE)
    begin(state, value(0.0), slope(0.0), step)
    own, done = [], False
    while not done and len(own) < len(tried):
        own.append(step)
        step, done = next_step(state, step, value(step), slope(step))
    np.testing.assert_allclose(own, tried, rtol=1e-9)
