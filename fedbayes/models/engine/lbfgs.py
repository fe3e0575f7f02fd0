"""L-BFGS for unbounded problems with the iterates of L-BFGS-B 3.0 (Byrd, Lu, Nocedal, Zhu 1995).

Without bounds L-BFGS-B steps along the two-loop recursion's direction; scaling, line search, skipped
updates, restarts and stopping rules are those of the reference program, so that iterates agree with SciPy's
``minimize(method="L-BFGS-B")`` up to rounding.
"""

import numpy as np

from fedbayes.models.engine import vector_arithmetic as va
from fedbayes.models.engine.compilation import compiled
from fedbayes.models.engine.line_search import STATE_SIZE, begin, next_step
from fedbayes.models.engine.problem import evaluate

MEMORY = 10
_TOLERANCE = 2.22e-9  # relative decrease of the objective
_GRADIENT_TOLERANCE = 1e-5  # largest component
_MAX_TRIALS = 20  # evaluations in one line search
_EPSILON = 2.220446049250313e-16
_EIGHT = va.lane_tuple(8)


def padded_length(weights: int) -> int:
    """Return the length of the vectors that hold so many weights: whole vectors of eight, zeros at the end."""
    return (weights + 7) // 8 * 8


@compiled
def dot(a, b, n):
    """Scalar product of two vectors of n (a multiple of 8) numbers behind pointers, in a fixed order."""
    even, odd = va.stack(_EIGHT, 1, 0), va.stack(_EIGHT, 1, 0)
    va.fill(_EIGHT, even, 0.0)
    va.fill(_EIGHT, odd, 0.0)
    i = 0
    while i + 16 <= n:
        va.multiply_add(_EIGHT, even, va.advance(a, i), va.advance(b, i))
        va.multiply_add(_EIGHT, odd, va.advance(a, i + 8), va.advance(b, i + 8))
        i += 16
    if i < n:
        va.multiply_add(_EIGHT, even, va.advance(a, i), va.advance(b, i))
    va.add(_EIGHT, even, odd)
    return va.total(_EIGHT, even)


@compiled
def _add_multiple(target, factor, source, n):
    multiple = va.stack(_EIGHT, 1, 0)
    va.fill(_EIGHT, multiple, factor)
    for i in range(0, n, 8):
        va.multiply_add(_EIGHT, va.advance(target, i), multiple, va.advance(source, i))


@compiled
def _largest_component(a, n):
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(a[i]))
    return largest


@compiled
def _direction(direction, gradient, steps, changes, curvature, alpha, newest, stored, n):
    """Two-loop recursion: direction = -H gradient, from the stored steps and gradient changes."""
    d, s, y = va.pointer(direction), va.pointer(steps), va.pointer(changes)
    for i in range(n):
        d[i] = -gradient[i]
    for back in range(stored):
        slot = (newest - back) % MEMORY
        alpha[slot] = dot(va.advance(s, slot * n), d, n) / curvature[slot, 0]
        _add_multiple(d, -alpha[slot], va.advance(y, slot * n), n)
    if stored > 0:
        scale = curvature[newest, 0] / curvature[newest, 1]
        for i in range(n):
            d[i] *= scale
    for back in range(stored - 1, -1, -1):
        slot = (newest - back) % MEMORY
        beta = dot(va.advance(y, slot * n), d, n) / curvature[slot, 0]
        _add_multiple(d, alpha[slot] - beta, va.advance(s, slot * n), n)


@compiled
def make_workspace(n):
    """Vectors for problems of up to n weights, n a padded length."""
    return np.zeros((2 * MEMORY + 4, n))


@compiled
def minimise(problem, weights, max_iterations, workspace):
    """Minimise one client's objective from the given weights, in place.

    Parameters
    ----------
    problem : ndarray (SIZE,) int64
        The client's problem; see :mod:`fedbayes.models.engine.problem`.
    weights : ndarray (n,), n a padded length
        Start and result.
    max_iterations : int
        Iterations after which to stop.
    workspace : ndarray
        From :func:`make_workspace`, for at least n weights.

    Returns
    -------
    value : float
        Objective at the result.
    iterations, evaluations : int
    """
    n = weights.shape[0]
    memory = workspace.reshape(-1)
    steps = memory[: MEMORY * n]
    changes = memory[MEMORY * n : 2 * MEMORY * n]
    rest = memory[2 * MEMORY * n :]
    gradient, old_gradient, direction, old_weights = (
        rest[:n],
        rest[n : 2 * n],
        rest[2 * n : 3 * n],
        rest[3 * n :],
    )
    curvature = np.empty((MEMORY, 2))  # step . change, change . change
    alpha = np.empty(MEMORY)
    search = np.empty(STATE_SIZE)
    g, d = va.pointer(gradient), va.pointer(direction)
    gradient[:] = 0.0

    value = evaluate(problem, weights, gradient)
    iterations, evaluations = 0, 1
    stored, newest = 0, -1
    if _largest_component(gradient, n) <= _GRADIENT_TOLERANCE:
        return value, iterations, evaluations
    while iterations < max_iterations:
        _direction(direction, gradient, steps, changes, curvature, alpha, newest, stored, n)
        slope = dot(g, d, n)
        start_slope, old_value = slope, value
        step = 1.0
        if iterations == 0:
            step = min(1.0 / np.sqrt(dot(d, d, n)), 1e10)
        found = slope < 0.0
        if found:
            for i in range(n):
                old_weights[i] = weights[i]
                old_gradient[i] = gradient[i]
            begin(search, value, slope, step)
            found = False
            for _ in range(_MAX_TRIALS):
                for i in range(n):
                    weights[i] = old_weights[i] + step * direction[i]
                value = evaluate(problem, weights, gradient)
                evaluations += 1
                slope = dot(g, d, n)
                trial, found = next_step(search, step, value, slope)
                if found:
                    break
                step = trial
            if not found:
                value = old_value
                for i in range(n):
                    weights[i] = old_weights[i]
                    gradient[i] = old_gradient[i]
        if not found:
            if stored == 0:
                break
            stored = 0  # start again along the gradient
            continue
        iterations += 1
        if _largest_component(gradient, n) <= _GRADIENT_TOLERANCE:
            break
        if old_value - value <= _TOLERANCE * max(max(abs(old_value), abs(value)), 1.0):
            break
        bend = (slope - start_slope) * step
        if bend > _EPSILON * -start_slope * step:
            newest = (newest + 1) % MEMORY
            stored = min(stored + 1, MEMORY)
            for i in range(n):
                steps[newest * n + i] = step * direction[i]
                changes[newest * n + i] = gradient[i] - old_gradient[i]
            y = va.advance(va.pointer(changes), newest * n)
            curvature[newest, 0] = bend
            curvature[newest, 1] = dot(y, y, n)
    return value, iterations, evaluations
