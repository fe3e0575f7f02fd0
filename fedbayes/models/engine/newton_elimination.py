"""Partial Cholesky elimination of one cell's block, in place, with everything that rides along with it.

The matrix holds ``[A, c, g]`` in its upper triangle: a block A to be eliminated, coupling columns and a
right-hand side. Eliminating A = U'U leaves U and ``inv(U') [c, g]`` in the first rows and the Schur complement
below. Rows are updated four pivots at a time along contiguous memory: that runs close to the speed of a
library's matrix product, keeps the order of all sums in this code, and needs no threads.
"""

from math import sqrt

import numpy as np

from fedbayes.models.engine.array_types import COUNT, MATRIX, NUMBER, NUMBERS
from fedbayes.models.engine.compilation import apart, inner
from fedbayes.models.engine.newton_tiles import ROWS, factor_rows, finish_rows, padded, subtract_pivots


@apart(MATRIX, COUNT, COUNT, NUMBER)
def eliminate(matrix, size, width, floor):
    """Eliminate the first ``size`` unknowns of the upper triangle of a symmetric matrix.

    Parameters
    ----------
    matrix : ndarray (padded width, padded width)
        Upper triangle; overwritten. What lies below the diagonal or beyond ``width`` is scratch.
    size : int
        Number of unknowns to eliminate.
    width : int
        Order of the whole matrix, riders included.
    floor : float
        Smallest pivot, relative to its diagonal entry, that counts as positive: rounding may leave less
        of a direction without curvature, and the floor then stands for it.
    """
    end = padded(width)
    least, own = np.empty(ROWS), np.empty((ROWS, ROWS))
    for row in range(0, width, ROWS):
        for r in range(ROWS):
            least[r] = floor * matrix[row + r, row + r]
        subtract_pivots(matrix, row, min(row, size), end)
        if row + ROWS <= size:
            factor_rows(matrix, row, least, own)
            finish_rows(matrix, row, row, end, own)
            continue
        for k in range(row, size):
            pivot = max(matrix[k, k], least[k - row])
            scale = 1.0 / sqrt(pivot)
            for t in range(k, end):
                matrix[k, t] *= scale
            for i in range(k + 1, row + ROWS):
                factor = matrix[k, i]
                for t in range(i, end):
                    matrix[i, t] -= factor * matrix[k, t]


@inner
def pack(matrix, size, width, store, at):
    """Copy the first ``size`` rows from the diagonal on, one after the other, to ``store[at:]``."""
    for k in range(size):
        for t in range(k, width):
            store[at + t - k] = matrix[k, t]
        at += width - k
    return at


@inner
def packed_length(size, width):
    """Numbers that :func:`pack` writes."""
    return size * width - size * (size - 1) // 2


@inner
def _dot(store, at, vector, length):
    """Sum of store[at + t] * vector[t], in four chains."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    t = 0
    while t + 4 <= length:
        s0 += store[at + t] * vector[t]
        s1 += store[at + t + 1] * vector[t + 1]
        s2 += store[at + t + 2] * vector[t + 2]
        s3 += store[at + t + 3] * vector[t + 3]
        t += 4
    while t < length:
        s0 += store[at + t] * vector[t]
        t += 1
    return (s0 + s1) + (s2 + s3)


@apart(NUMBERS, COUNT, COUNT, COUNT, NUMBERS, NUMBERS)
def back_substitute(store, at, size, width, coefficients, solution):
    """Solve U x = inv(U') [c, g] coefficients for a packed factor; x goes to ``solution[:size]``.

    ``coefficients`` has one entry per rider (width - size of them).
    """
    at += packed_length(size, width)
    for k in range(size - 1, -1, -1):
        at -= width - k
        rest = _dot(store, at + size - k, coefficients, width - size)
        rest -= _dot(store, at + 1, solution[k + 1 :], size - k - 1)
        solution[k] = rest / store[at]


@inner
def solve_packed(store, at, size, width, vector):
    """Solve U'U x = vector for a packed factor, in place of ``vector[:size]``."""
    start = at
    for k in range(size):
        x = vector[k] / store[at]
        vector[k] = x
        for t in range(k + 1, size):
            vector[t] -= x * store[at + t - k]
        at += width - k
    at = start + packed_length(size, width)
    for k in range(size - 1, -1, -1):
        at -= width - k
        vector[k] = (vector[k] - _dot(store, at + 1, vector[k + 1 :], size - k - 1)) / store[at]
