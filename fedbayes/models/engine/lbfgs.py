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
from fedbayes.models.engine.vector_arithmetic import fma

MEMORY = 10
TOLERANCE = 2.22e-9  # relative decrease of the objective
GRADIENT_TOLERANCE = 1e-5  # largest component
MAX_TRIALS = 20  # evaluations in one line search
EPSILON = 2.220446049250313e-16
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
def _combine(target, scale, factor, source, other, n):
    """Set target to scale * target + factor * source, all of n numbers; return target . other."""
    scales, factors = va.stack(_EIGHT, 1, 0), va.stack(_EIGHT, 1, 0)
    part, products = va.stack(_EIGHT, 1, 0), va.stack(_EIGHT, 1, 0)
    va.fill(_EIGHT, scales, scale)
    va.fill(_EIGHT, factors, factor)
    va.fill(_EIGHT, products, 0.0)
    for i in range(0, n, 8):
        va.assign_product(_EIGHT, part, scales, va.advance(target, i))
        va.multiply_add(_EIGHT, part, factors, va.advance(source, i))
        va.assign(_EIGHT, va.advance(target, i), part)
        va.multiply_add(_EIGHT, products, part, va.advance(other, i))
    return va.total(_EIGHT, products)


@compiled
def _largest_component(a, n):
    largest = va.stack(_EIGHT, 1, 0)
    va.fill(_EIGHT, largest, 0.0)
    for i in range(0, n, 8):
        va.raise_to_magnitude(_EIGHT, largest, va.advance(a, i))
    return va.largest(_EIGHT, largest)


@compiled
def _direction(d, g, steps, changes, curvature, alpha, newest, stored, n):
    """Two-loop recursion: d = -H g from the stored steps and gradient changes; returns d . g.

    Each pass over d also takes the scalar product that the next one needs.
    """
    for i in range(n):
        d[i] = -g[i]
    if stored == 0:
        return dot(d, g, n)
    oldest = (newest - stored + 1) % MEMORY
    product = dot(d, va.advance(steps, newest * n), n)
    for back in range(stored):
        slot = (newest - back) % MEMORY
        alpha[slot] = product / curvature[slot, 0]
        change = va.advance(changes, slot * n)
        if slot != oldest:
            after = va.advance(steps, (newest - back - 1) % MEMORY * n)
            product = _combine(d, 1.0, -alpha[slot], change, after, n)
        else:
            scale = curvature[newest, 0] / curvature[newest, 1]
            product = _combine(d, scale, -alpha[slot] * scale, change, change, n)
    for back in range(stored - 1, -1, -1):
        slot = (newest - back) % MEMORY
        factor = alpha[slot] - product / curvature[slot, 0]
        after = g if back == 0 else va.advance(changes, (newest - back + 1) % MEMORY * n)
        product = _combine(d, 1.0, factor, va.advance(steps, slot * n), after, n)
    return product


@compiled
def _record(step, d, g, before, step_out, change_out, n):
    """Store step * d and g - before; return the square of the latter."""
    factor, change = va.stack(_EIGHT, 1, 0), va.stack(_EIGHT, 1, 0)
    products = va.stack(_EIGHT, 1, 0)
    va.fill(_EIGHT, factor, step)
    va.fill(_EIGHT, products, 0.0)
    for i in range(0, n, 8):
        va.assign_product(_EIGHT, va.advance(step_out, i), factor, va.advance(d, i))
        va.assign_difference(_EIGHT, change, va.advance(g, i), va.advance(before, i))
        va.assign(_EIGHT, va.advance(change_out, i), change)
        va.multiply_add(_EIGHT, products, change, change)
    return va.total(_EIGHT, products)


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
    rest = memory[2 * MEMORY * n :]
    gradient, old_gradient, direction, spare = (
        rest[:n],
        rest[n : 2 * n],
        rest[2 * n : 3 * n],
        rest[3 * n : 4 * n],
    )
    steps, changes, d = va.pointer(memory), va.advance(va.pointer(memory), MEMORY * n), va.pointer(direction)
    curvature = np.empty((MEMORY, 2))  # step . change, change . change
    alpha = np.empty(MEMORY)
    search = np.empty(STATE_SIZE)
    gradient[:] = 0.0
    old_gradient[:] = 0.0

    value = evaluate(problem, weights, gradient)
    iterations, evaluations = 0, 1
    none, before_first = np.int64(0), np.int64(-1)  # of one type: callees are compiled once
    stored, newest = none, before_first
    current, other, swapped = weights, spare, False  # the two change places in each line search
    converged = _largest_component(va.pointer(gradient), n) <= GRADIENT_TOLERANCE
    while iterations < max_iterations and not converged:
        slope = _direction(d, va.pointer(gradient), steps, changes, curvature, alpha, newest, stored, n)
        start_slope, old_value = slope, value
        step = 1.0
        if iterations == 0:
            step = min(1.0 / np.sqrt(dot(d, d, n)), 1e10)
        found = False
        if slope < 0.0:
            current, other, swapped = other, current, not swapped
            gradient, old_gradient = old_gradient, gradient
            begin(search, value, slope, step)
            for _ in range(MAX_TRIALS):
                for i in range(n):
                    current[i] = fma(step, direction[i], other[i])
                value = evaluate(problem, current, gradient)
                evaluations += 1
                slope = dot(va.pointer(gradient), d, n)
                trial, found = next_step(search, step, value, slope)
                if found:
                    break
                step = trial
            if not found:
                value = old_value
                current, other, swapped = other, current, not swapped
                gradient, old_gradient = old_gradient, gradient
        if not found:
            if stored == 0:
                break
            stored, newest = none, before_first  # start again along the gradient
            continue
        iterations += 1
        converged = _largest_component(va.pointer(gradient), n) <= GRADIENT_TOLERANCE
        converged |= old_value - value <= TOLERANCE * max(max(abs(old_value), abs(value)), 1.0)
        bend = (slope - start_slope) * step
        if bend > EPSILON * -start_slope * step:
            newest = (newest + 1) % MEMORY
            stored = min(stored + 1, MEMORY)
            curvature[newest, 0] = bend
            curvature[newest, 1] = _record(
                step, d, va.pointer(gradient), va.pointer(old_gradient),
                va.advance(steps, newest * n), va.advance(changes, newest * n), n,
            )  # fmt: skip
    if swapped:
        for i in range(n):  # loops here: assigning vectors whole takes seconds to compile
            weights[i] = spare[i]
    return value, iterations, evaluations
