"""The kernel without tables: for few rows per cell, or many classes.

Scores are sums of weight * log theta, fused multiply-adds along the classes; the blocks of the softmax run
across the borders of cells, so that cells of three rows fill the vectors too.
"""

import numpy as np

from fedbayes.models.engine import vector_arithmetic as va
from fedbayes.models.engine.compilation import compiled
from fedbayes.models.engine.softmax import BLOCK, softmax_residuals


@compiled
def evaluate_span(lanes, weights, gradient, starts, codes, y, prior, parent, theta):
    """Negative conditional log-likelihood of one client and its gradient.

    Parameters
    ----------
    lanes : tuple
        ``lane_tuple(V)``.
    weights, gradient : ndarray (2 V + K q V,)
        Flat weights; the gradient is written.
    starts, codes, y
        The client's sorted rows.
    prior, parent, theta
        The client's log tables.

    Returns
    -------
    float
    """
    width, q, values = len(lanes), codes.shape[1], theta.shape[1]
    gradient[:] = 0.0
    objective = 0.0
    scores = va.stack(lanes, 64, 8)
    accumulator = va.stack(lanes, 1, 0)
    base = va.stack(lanes, 1, 0)
    for i in range(BLOCK * width + 8):
        scores[i] = 0.0
    code, label, weight, slope = va.pointer(codes), va.pointer(y), va.pointer(weights), va.pointer(gradient)
    log_prior, log_parent, log_theta = va.pointer(prior), va.pointer(parent), va.pointer(theta)
    first_cell = 0
    rows = y.shape[0]
    for first in range(0, rows, BLOCK):
        n = min(BLOCK, rows - first)
        cell, i = first_cell, 0
        while i < n:
            end = min(n, starts[cell + 1] - first)
            table = va.advance(log_theta, cell * values * width)
            w = va.advance(weight, (2 + cell * q) * width)
            va.assign_product(lanes, base, weight, log_prior)
            va.multiply_add(lanes, base, va.advance(weight, width), va.advance(log_parent, cell * width))
            while i < end:
                row = va.advance(code, (first + i) * q)
                va.assign(lanes, accumulator, base)
                for j in range(q):
                    entry = va.advance(table, np.int64(row[j]) * width)
                    va.multiply_add(lanes, accumulator, va.advance(w, j * width), entry)
                va.assign(lanes, va.advance(scores, i * width), accumulator)
                i += 1
            cell += 1
        objective += softmax_residuals(lanes, scores, va.advance(label, first), n)
        cell, i = first_cell, 0
        while i < n:
            end = min(n, starts[cell + 1] - first)
            table = va.advance(log_theta, cell * values * width)
            g = va.advance(slope, (2 + cell * q) * width)
            va.fill(lanes, base, 0.0)
            while i < end:
                row = va.advance(code, (first + i) * q)
                va.assign(lanes, accumulator, va.advance(scores, i * width))
                va.add(lanes, base, accumulator)
                for j in range(q):
                    entry = va.advance(table, np.int64(row[j]) * width)
                    va.multiply_add(lanes, va.advance(g, j * width), accumulator, entry)
                i += 1
            va.multiply_add(lanes, slope, base, log_prior)
            va.multiply_add(lanes, va.advance(slope, width), base, va.advance(log_parent, cell * width))
            if starts[cell + 1] - first <= n:
                first_cell = cell + 1
            cell += 1
    return objective
