"""The kernel without tables: for few rows per cell, or many classes.

Scores are sums of weight * log theta, fused multiply-adds along the classes; the blocks of the softmax run
across the borders of cells, so that cells of three rows fill the vectors too.
"""

import numpy as np

from fedbayes.models.engine import vector_arithmetic as va
from fedbayes.models.engine.problem import (
    ATTRIBUTES,
    CELLS,
    CODES,
    LABELS,
    PARENT,
    PRIOR,
    ROWS,
    STARTS,
    THETA,
    VALUES,
)
from fedbayes.models.engine.softmax import BLOCK, softmax_residuals


def evaluate_span(problem, weight, slope, lanes):
    """Negative conditional log-likelihood of one client; writes its gradient to ``slope``.

    Parameters
    ----------
    problem : pointer to int64
        See :mod:`fedbayes.models.engine.problem`.
    weight, slope : pointer to float64
        Flat weights and gradient, 2 V + K q V numbers.
    lanes : tuple
        ``lane_tuple(V)``.
    """
    width, q, values, rows = len(lanes), problem[ATTRIBUTES], problem[VALUES], problem[ROWS]
    starts, code, label = va.int64s(problem[STARTS]), va.int32s(problem[CODES]), va.int32s(problem[LABELS])
    log_prior, log_parent = va.float64s(problem[PRIOR]), va.float64s(problem[PARENT])
    log_theta = va.float64s(problem[THETA])
    for i in range(width * (2 + problem[CELLS] * q)):
        slope[i] = 0.0
    objective = 0.0
    scores = va.stack(lanes, 64, 8)
    accumulator = va.stack(lanes, 1, 0)
    base, four = va.stack(lanes, 1, 0), va.stack(lanes, 4, 0)
    for i in range(BLOCK * width + 8):
        scores[i] = 0.0
    first_cell = 0
    for first in range(0, rows, BLOCK):
        n = min(BLOCK, rows - first)
        cell, i = first_cell, 0
        while i < n:
            end = min(n, starts[cell + 1] - first)
            table = va.advance(log_theta, cell * values * width)
            w = va.advance(weight, (2 + cell * q) * width)
            va.assign_product(lanes, base, weight, log_prior)
            va.multiply_add(lanes, base, va.advance(weight, width), va.advance(log_parent, cell * width))
            while width <= 8 and i + 4 <= end:  # side by side: one sum alone would wait for itself
                row, out = va.advance(code, (first + i) * q), va.advance(scores, i * width)
                for r in range(4):
                    va.assign(lanes, va.advance(four, r * width), base)
                for j in range(q):
                    own = va.advance(w, j * width)
                    for r in range(4):
                        entry = va.advance(table, np.int64(row[r * q + j]) * width)
                        va.multiply_add(lanes, va.advance(four, r * width), own, entry)
                for r in range(4):
                    va.assign(lanes, va.advance(out, r * width), va.advance(four, r * width))
                i += 4
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
            while width <= 8 and i + 4 <= end:
                row = va.advance(code, (first + i) * q)
                for r in range(4):
                    va.assign(lanes, va.advance(four, r * width), va.advance(scores, (i + r) * width))
                    va.add(lanes, base, va.advance(four, r * width))
                for j in range(q):
                    va.assign(lanes, accumulator, va.advance(g, j * width))
                    for r in range(4):
                        entry = va.advance(table, np.int64(row[r * q + j]) * width)
                        va.multiply_add(lanes, accumulator, va.advance(four, r * width), entry)
                    va.assign(lanes, va.advance(g, j * width), accumulator)
                i += 4
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
