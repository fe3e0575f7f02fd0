"""Vector operations against numpy; exp and log against extended precision."""

import numpy as np
import pytest
from numba import njit

from fedbayes.models.engine import vector_arithmetic as va


@njit
def _apply(lanes, a, b, c):
    target = va.pointer(c)
    va.assign_product(lanes, target, va.pointer(a), va.pointer(b))
    va.multiply_add(lanes, target, va.pointer(a), va.pointer(a))
    va.add(lanes, target, va.pointer(b))
    va.subtract_number(lanes, target, 0.5)
    va.multiply_number(lanes, target, 2.0)
    return va.total(lanes, target), va.largest(lanes, target)


@pytest.mark.parametrize("width", [2, 4, 7, 18])
def test_operations_touch_exactly_their_lanes(width):
    rng = np.random.default_rng(width)
    a, b = rng.integers(-9, 9, (2, width + 3)).astype(float)
    c = np.full(width + 3, 77.0)
    result = _apply(va.lane_tuple(width), a, b, c)
    expected = ((a * b + a * a + b - 0.5) * 2)[:width]
    np.testing.assert_array_equal(c, [*expected, 77, 77, 77])
    assert result == (expected.sum(), expected.max())


@njit
def _exp_and_log(x, y, exps, logs):
    for i in range(x.shape[0]):
        exps[i] = va.exp(x[i])
        logs[i] = va.log(y[i])


def test_exp_and_log_are_within_two_units_in_the_last_place():
    rng = np.random.default_rng(0)
    x = np.concatenate([-rng.uniform(0, 700, 5000), -rng.uniform(0, 1e-3, 500), [0.0, -708.0]])
    y = np.concatenate([np.exp(rng.uniform(-700, 700, 5000)), rng.uniform(0.9, 1.1, 500), [1.0, 2.0]])
    exps, logs = np.empty_like(x), np.empty_like(y)
    _exp_and_log(x, y, exps, logs)
    for own, exact in ((exps, np.exp(x.astype(np.longdouble))), (logs, np.log(y.astype(np.longdouble)))):
        assert np.all(np.abs(own - exact) <= 2 * np.spacing(np.abs(own)))
    assert exps[-2] == 1.0
    assert logs[-2] == 0.0


def test_exp_stays_positive_far_below():
    x = np.array([-1e4, -1e30])
    exps, logs = np.empty(2), np.empty(2)
    _exp_and_log(x, np.ones(2), exps, logs)
    assert np.all(exps > 0)
    assert np.all(exps < 1e-300)
