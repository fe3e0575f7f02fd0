"""A few iterations of L-BFGS in the span of a client's rows.

The iterates are those of :func:`fedbayes.models.engine.lbfgs.minimise`. Every step and every change of the
gradient is a combination of the gradients g_0 .. g_k met so far, so that directions are k + 1 numbers, and all
scalar products come from the matrix of products of gradients. Each gradient is kept as coefficients per row
and class (the residuals) and as scores; a trial step moves the scores along a line.
"""

import numpy as np

from fedbayes.models.engine import gram
from fedbayes.models.engine import vector_arithmetic as va
from fedbayes.models.engine.compilation import compiled
from fedbayes.models.engine.lbfgs import (
    EPSILON,
    GRADIENT_TOLERANCE,
    MAX_TRIALS,
    MEMORY,
    TOLERANCE,
    dot,
)
from fedbayes.models.engine.line_search import STATE_SIZE, begin, next_step
from fedbayes.models.engine.problem import call
from fedbayes.models.engine.vector_arithmetic import fma

_EIGHT = va.lane_tuple(8)
MOST_ITERATIONS = MEMORY
"""So many pairs of step and change are remembered, so that none is ever dropped here."""


@compiled
def make_row_workspace(numbers, iterations):
    """Vectors for clients of up to so many (row, class lane) numbers."""
    return np.zeros((2 * iterations + 4, (numbers + 7) // 8 * 8))


@compiled
def _direction(products, taken, pull, bend, size, at, stored, k, alpha, d):
    """Two-loop recursion: d = -H g_k in coordinates over g_0 .. g_k.

    ``taken[p]`` holds the coordinates of step p and ``pull[p]`` its products with the gradients; the change of
    the gradient in it is g_{at[p]} - g_{at[p] - 1}, with ``bend[p]`` and ``size[p]`` its products with the step
    and with itself.
    """
    d[: k + 1] = 0.0
    d[k] = -1.0
    for p in range(stored - 1, -1, -1):
        product = 0.0
        for b in range(k + 1):
            product += pull[p, b] * d[b]
        alpha[p] = product / bend[p]
        d[at[p]] -= alpha[p]
        d[at[p] - 1] += alpha[p]
    if stored > 0:
        scale = bend[stored - 1] / size[stored - 1]
        for b in range(k + 1):
            d[b] *= scale
    for p in range(stored):
        product = 0.0
        for b in range(k + 1):
            product += (products[at[p], b] - products[at[p] - 1, b]) * d[b]
        factor = alpha[p] - product / bend[p]
        for a in range(at[p]):
            d[a] += factor * taken[p, a]


@compiled
def _size_of_change(residual, residual_before, image, image_before, n):
    """Square of the change of the gradient: from differences, since it may be far smaller than the gradients."""
    left, right, squares = va.stack(_EIGHT, 1, 0), va.stack(_EIGHT, 1, 0), va.stack(_EIGHT, 1, 0)
    va.fill(_EIGHT, squares, 0.0)
    for i in range(0, n, 8):
        va.assign_difference(_EIGHT, left, va.advance(residual, i), va.advance(residual_before, i))
        va.assign_difference(_EIGHT, right, va.advance(image, i), va.advance(image_before, i))
        va.multiply_add(_EIGHT, squares, left, right)
    return va.total(_EIGHT, squares)


@compiled
def _combine(target, coordinates, vectors, count, n):
    """Set target to the combination of the first vectors."""
    for i in range(n):
        target[i] = coordinates[0] * vectors[0, i]
    for b in range(1, count):
        factor = coordinates[b]
        for i in range(n):
            target[i] = fma(factor, vectors[b, i], target[i])


@compiled
def descend(problem, weights, change, max_iterations, workspace):
    """Minimise one client's objective from the global weights and add the change of weights to ``change``.

    Parameters
    ----------
    problem : ndarray (SIZE,) int64
        The client's problem, with blocks; see :mod:`fedbayes.models.engine.gram`.
    weights, change : ndarray
        Global weights of all cells, and what to add to.
    max_iterations : int
        At most ``MOST_ITERATIONS``.
    workspace : ndarray
        From :func:`make_row_workspace`.

    Returns
    -------
    iterations, evaluations : int
    """
    most, numbers = max_iterations, problem[gram.NUMBERS]
    n = (numbers + 7) // 8 * 8
    for v in range(workspace.shape[0]):
        workspace[v, numbers:n] = 0.0
    residuals, images = workspace[: most + 1], workspace[most + 1 : 2 * most + 2]
    scores, line = workspace[2 * most + 2], workspace[2 * most + 3]
    products, pull = np.empty((most + 1, most + 1)), np.zeros((most, most + 1))
    taken, at = np.zeros((most, most)), np.empty(most, np.int64)
    bend, size, alpha = np.empty(most), np.empty(most), np.empty(most)
    d, moved = np.empty(most + 1), np.zeros(most + 1)
    search, tolerance = np.empty(STATE_SIZE), np.full(1, GRADIENT_TOLERANCE)

    call(problem[gram.SCORES], problem, weights, scores)
    for i in range(n):
        residuals[0, i] = scores[i]
    value = call(problem[gram.RESIDUALS], problem, residuals[0], tolerance)
    none = np.int64(0)  # of one type: callees are compiled once
    iterations, evaluations, stored, k, known = 0, 1, none, none, -1
    converged = call(problem[gram.STATIONARY], problem, residuals[0], tolerance) == 1.0
    while iterations < most and not converged:
        if problem[gram.FILLED] == 0:
            call(problem[gram.FILL], problem, scores, line)
            problem[gram.FILLED] = 1
        if known < k:  # the newest gradient's scores and products
            call(problem[gram.PRODUCT], problem, residuals[k], images[k])
            for b in range(k + 1):
                product = dot(va.pointer(residuals[k]), va.pointer(images[b]), n)
                products[k, b] = products[b, k] = product
            if stored > 0 and at[stored - 1] == k:
                size[stored - 1] = _size_of_change(
                    va.pointer(residuals[k]), va.pointer(residuals[k - 1]),
                    va.pointer(images[k]), va.pointer(images[k - 1]), n,
                )  # fmt: skip
            for p in range(stored):
                for b in range(k if at[p] < k else 0, k + 1):
                    pull[p, b] = 0.0
                    for a in range(at[p]):
                        pull[p, b] += taken[p, a] * products[a, b]
            known = k
        _direction(products, taken, pull, bend, size, at, stored, k, alpha, d)
        slope = 0.0
        for b in range(k + 1):
            slope += d[b] * products[k, b]
        start_slope, old_value = slope, value
        step = 1.0
        if iterations == 0:
            step = min(1.0 / np.sqrt(products[0, 0]), 1e10)
        found = False
        if slope < 0.0:
            _combine(line, d, images, k + 1, n)
            trial = residuals[k + 1]
            begin(search, value, slope, step)
            for _ in range(MAX_TRIALS):
                for i in range(n):
                    trial[i] = fma(step, line[i], scores[i])
                value = call(problem[gram.RESIDUALS], problem, trial, tolerance)
                evaluations += 1
                slope = dot(va.pointer(trial), va.pointer(line), n)
                next_trial, found = next_step(search, step, value, slope)
                if found:
                    break
                step = next_trial
        if not found:
            value = old_value
            if stored == 0:
                break
            stored = none  # start again along the gradient
            continue
        iterations += 1
        for i in range(n):
            scores[i] = fma(step, line[i], scores[i])
        for b in range(k + 1):
            moved[b] += step * d[b]
        bent = (slope - start_slope) * step
        k += 1
        if bent > EPSILON * -start_slope * step:
            bend[stored], at[stored] = bent, k
            for a in range(k):
                taken[stored, a] = step * d[a]
            stored += 1
        converged = old_value - value <= TOLERANCE * max(max(abs(old_value), abs(value)), 1.0)
        if not converged and iterations < most:
            converged = call(problem[gram.STATIONARY], problem, residuals[k], tolerance) == 1.0
    if iterations > 0:
        _combine(line, moved, residuals, iterations, n)
        call(problem[gram.COLLECT], problem, line, change)
    return iterations, evaluations
