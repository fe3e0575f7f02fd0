"""Kernels in the span of the rows: products of the rows' features instead of weights.

A client's gradients, and all steps of L-BFGS from them, are combinations of its (row, class) features: P(y),
P(cell | y) and log theta of the row's values. Such a vector is kept as its *coefficients* (rows, V), and as
its *scores* (rows, V), the scalar products with all features. Coefficients become scores through blocks of
products of features, rows x rows for each cell and class; P(y) and P(cell | y) join all rows and are added on
top. The scalar product of two vectors is that of the coefficients of one and the scores of the other.

All kernels take a problem (see :mod:`fedbayes.models.engine.problem`), longer by the fields below, and two
vectors of float64.
"""

import numpy as np

from fedbayes.models.engine import problem as fields
from fedbayes.models.engine import vector_arithmetic as va
from fedbayes.models.engine.compilation import compiled
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

# addresses of the ids of the client's cells, of its blocks (0: it has none), of where each cell's block begins
# (in units of V numbers), of room for one cell's features, and of a bound on |log theta|
CELL_IDS, BLOCKS, PLACES, FEATURES, BOUND = range(fields.SIZE, fields.SIZE + 5)
# rows times lanes, whether the blocks are filled, and addresses of the kernels
NUMBERS, FILLED, FILL, SCORES, RESIDUALS, PRODUCT, STATIONARY, COLLECT = range(
    fields.SIZE + 5, fields.SIZE + 13
)
SIZE = fields.SIZE + 13


@compiled(inline="always")
def _multiply(lanes, matrix, stride, rows, length, vector, base, out):
    """Set each of the rows of ``out`` to base + sum_j matrix[row, j] * vector[j], V numbers each.

    Several rows run side by side: a single chain of multiply-adds would wait for itself.
    """
    width = len(lanes)
    together = 4 if width <= 8 else 2
    first, second = va.stack(lanes, 1, 0), va.stack(lanes, 1, 0)
    third, fourth = va.stack(lanes, 1, 0), va.stack(lanes, 1, 0)
    step, i = stride * width, 0
    while i + together <= rows:
        line = va.advance(matrix, i * step)
        target = va.advance(out, i * width)
        va.assign(lanes, first, base)
        va.assign(lanes, second, base)
        if together == 4:
            va.assign(lanes, third, base)
            va.assign(lanes, fourth, base)
        for j in range(length):
            factor, entry = va.advance(vector, j * width), va.advance(line, j * width)
            va.multiply_add(lanes, first, entry, factor)
            va.multiply_add(lanes, second, va.advance(entry, step), factor)
            if together == 4:
                va.multiply_add(lanes, third, va.advance(entry, 2 * step), factor)
                va.multiply_add(lanes, fourth, va.advance(entry, 3 * step), factor)
        va.assign(lanes, target, first)
        va.assign(lanes, va.advance(target, width), second)
        if together == 4:
            va.assign(lanes, va.advance(target, 2 * width), third)
            va.assign(lanes, va.advance(target, 3 * width), fourth)
        i += together
    while i < rows:
        line = va.advance(matrix, i * step)
        va.assign(lanes, first, base)
        for j in range(length):
            va.multiply_add(lanes, first, va.advance(line, j * width), va.advance(vector, j * width))
        va.assign(lanes, va.advance(out, i * width), first)
        i += 1


@compiled(inline="always")
def _gather(lanes, table, code, count, out):
    """Copy the table's entries of so many codes."""
    width = len(lanes)
    for j in range(count):
        va.assign(lanes, va.advance(out, j * width), va.advance(table, np.int64(code[j]) * width))


def fill_blocks(problem, unused, unused_too, lanes):
    """Write the products of log theta of each cell's rows, (n, n, V) per cell."""
    width, q, values = len(lanes), problem[ATTRIBUTES], problem[VALUES]
    starts, code, place = va.int64s(problem[STARTS]), va.int32s(problem[CODES]), va.int64s(problem[PLACES])
    log_theta, blocks, features = (
        va.float64s(problem[THETA]),
        va.float64s(problem[BLOCKS]),
        va.float64s(problem[FEATURES]),
    )
    zero = va.stack(lanes, 1, 0)
    va.fill(lanes, zero, 0.0)
    for cell in range(problem[CELLS]):
        table = va.advance(log_theta, cell * values * width)
        first, n = starts[cell], starts[cell + 1] - starts[cell]
        block = va.advance(blocks, place[cell] * width)
        _gather(lanes, table, va.advance(code, first * q), n * q, features)
        for i in range(n):
            row, out = va.advance(features, i * q * width), va.advance(block, i * n * width)
            _multiply(lanes, features, q, i + 1, q, row, zero, out)
            for other in range(i):
                va.assign(lanes, va.advance(block, (other * n + i) * width), va.advance(out, other * width))
    return 0.0


def scores_of_weights(problem, weight, scores, lanes):
    """Scores of the rows under global weights of all cells."""
    width, q, values = len(lanes), problem[ATTRIBUTES], problem[VALUES]
    starts, code, cells = va.int64s(problem[STARTS]), va.int32s(problem[CODES]), va.int64s(problem[CELL_IDS])
    log_prior, log_parent = va.float64s(problem[PRIOR]), va.float64s(problem[PARENT])
    log_theta, base = va.float64s(problem[THETA]), va.stack(lanes, 1, 0)
    one, two, three, four = (
        va.stack(lanes, 1, 0),
        va.stack(lanes, 1, 0),
        va.stack(lanes, 1, 0),
        va.stack(lanes, 1, 0),
    )
    for cell in range(problem[CELLS]):
        table = va.advance(log_theta, cell * values * width)
        w = va.advance(weight, (2 + cells[cell] * q) * width)
        va.assign_product(lanes, base, weight, log_prior)
        va.multiply_add(lanes, base, va.advance(weight, width), va.advance(log_parent, cell * width))
        i, last = starts[cell], starts[cell + 1]
        while width <= 8 and i + 4 <= last:
            row, out = va.advance(code, i * q), va.advance(scores, i * width)
            for part in (one, two, three, four):
                va.assign(lanes, part, base)
            for j in range(q):
                own = va.advance(w, j * width)
                va.multiply_add(lanes, one, own, va.advance(table, np.int64(row[j]) * width))
                va.multiply_add(lanes, two, own, va.advance(table, np.int64(row[q + j]) * width))
                va.multiply_add(lanes, three, own, va.advance(table, np.int64(row[2 * q + j]) * width))
                va.multiply_add(lanes, four, own, va.advance(table, np.int64(row[3 * q + j]) * width))
            va.assign(lanes, out, one)
            va.assign(lanes, va.advance(out, width), two)
            va.assign(lanes, va.advance(out, 2 * width), three)
            va.assign(lanes, va.advance(out, 3 * width), four)
            i += 4
        while i < last:
            row = va.advance(code, i * q)
            va.assign(lanes, one, base)
            va.fill(lanes, two, 0.0)
            for j in range(0, q - 1, 2):
                entry = va.advance(table, np.int64(row[j]) * width)
                va.multiply_add(lanes, one, va.advance(w, j * width), entry)
                entry = va.advance(table, np.int64(row[j + 1]) * width)
                va.multiply_add(lanes, two, va.advance(w, (j + 1) * width), entry)
            if q % 2 == 1:
                entry = va.advance(table, np.int64(row[q - 1]) * width)
                va.multiply_add(lanes, one, va.advance(w, (q - 1) * width), entry)
            va.assign_sum(lanes, va.advance(scores, i * width), one, two)
            i += 1
    return 0.0


def residuals_of_scores(problem, scores, unused, lanes):
    """Turn scores into residuals, in place; negative log-likelihood. Up to 7 numbers after them become 0."""
    width, rows, label = len(lanes), problem[ROWS], va.int32s(problem[LABELS])
    objective = 0.0
    for first in range(0, rows, BLOCK):
        block, n = va.advance(scores, first * width), min(BLOCK, rows - first)
        objective += softmax_residuals(lanes, block, va.advance(label, first), n)
    for i in range(rows * width, (rows * width + 7) // 8 * 8):
        scores[i] = 0.0
    return objective


@compiled(inline="always")
def _sum_up(lanes, problem, coefficients, prior, parent):
    """Components of w0 and wP of a combination of features."""
    width, starts, log_parent = len(lanes), va.int64s(problem[STARTS]), va.float64s(problem[PARENT])
    here = va.stack(lanes, 1, 0)
    va.fill(lanes, prior, 0.0)
    va.fill(lanes, parent, 0.0)
    for cell in range(problem[CELLS]):
        va.fill(lanes, here, 0.0)
        for i in range(starts[cell], starts[cell + 1]):
            va.add(lanes, here, va.advance(coefficients, i * width))
        va.add(lanes, prior, here)
        va.multiply_add(lanes, parent, here, va.advance(log_parent, cell * width))
    va.multiply(lanes, prior, va.float64s(problem[PRIOR]))


def scores_of_coefficients(problem, coefficients, scores, lanes):
    """Scores of a combination of features."""
    width, starts, place = len(lanes), va.int64s(problem[STARTS]), va.int64s(problem[PLACES])
    log_parent, blocks = va.float64s(problem[PARENT]), va.float64s(problem[BLOCKS])
    prior, parent, base = va.stack(lanes, 1, 0), va.stack(lanes, 1, 0), va.stack(lanes, 1, 0)
    _sum_up(lanes, problem, coefficients, prior, parent)
    va.multiply(lanes, prior, va.float64s(problem[PRIOR]))
    for cell in range(problem[CELLS]):
        first, n = starts[cell], starts[cell + 1] - starts[cell]
        own = va.advance(coefficients, first * width)
        block = va.advance(blocks, place[cell] * width)
        va.assign(lanes, base, prior)
        va.multiply_add(lanes, base, parent, va.advance(log_parent, cell * width))
        _multiply(lanes, block, n, n, n, own, base, va.advance(scores, first * width))
    return 0.0


def is_stationary(problem, coefficients, tolerance, lanes):
    """Return 1 where no component of the combination of features exceeds ``tolerance[0]``, else 0.

    The components of w0 and wP take sums of coefficients alone and mostly decide. Those of a cell and class
    are at most the sum of |coefficients| times the largest |log theta|; where that is more than the tolerance,
    they are made one attribute after the other.
    """
    width, q, values = len(lanes), problem[ATTRIBUTES], problem[VALUES]
    starts, code = va.int64s(problem[STARTS]), va.int32s(problem[CODES])
    log_theta, bound = va.float64s(problem[THETA]), va.float64s(problem[BOUND])
    prior, parent, base = va.stack(lanes, 1, 0), va.stack(lanes, 1, 0), va.stack(lanes, 1, 0)
    _sum_up(lanes, problem, coefficients, prior, parent)
    va.fill(lanes, base, 0.0)
    va.raise_to_magnitude(lanes, base, prior)
    va.raise_to_magnitude(lanes, base, parent)
    if va.largest(lanes, base) > tolerance[0]:
        return 0.0
    for cell in range(problem[CELLS]):
        va.fill(lanes, parent, 0.0)
        for i in range(starts[cell], starts[cell + 1]):
            va.fill(lanes, base, 0.0)
            va.raise_to_magnitude(lanes, base, va.advance(coefficients, i * width))
            va.add(lanes, parent, base)
        if va.largest(lanes, parent) * bound[0] <= tolerance[0]:
            continue
        table = va.advance(log_theta, cell * values * width)
        for j in range(q):
            va.fill(lanes, parent, 0.0)
            for i in range(starts[cell], starts[cell + 1]):
                entry = va.advance(table, np.int64(code[i * q + j]) * width)
                va.multiply_add(lanes, parent, va.advance(coefficients, i * width), entry)
            va.fill(lanes, base, 0.0)
            va.raise_to_magnitude(lanes, base, parent)
            if va.largest(lanes, base) > tolerance[0]:
                return 0.0
    return 1.0


def add_combination(problem, coefficients, target, lanes):
    """Add the combination of features to a vector over the weights of all cells."""
    width, q, values = len(lanes), problem[ATTRIBUTES], problem[VALUES]
    starts, code, cells = va.int64s(problem[STARTS]), va.int32s(problem[CODES]), va.int64s(problem[CELL_IDS])
    log_prior, log_parent = va.float64s(problem[PRIOR]), va.float64s(problem[PARENT])
    log_theta = va.float64s(problem[THETA])
    base, sums = va.stack(lanes, 1, 0), va.stack(lanes, 1, 0)
    one, two, three, four = (
        va.stack(lanes, 1, 0),
        va.stack(lanes, 1, 0),
        va.stack(lanes, 1, 0),
        va.stack(lanes, 1, 0),
    )
    for cell in range(problem[CELLS]):
        table = va.advance(log_theta, cell * values * width)
        out = va.advance(target, (2 + cells[cell] * q) * width)
        va.fill(lanes, base, 0.0)
        i, last = starts[cell], starts[cell + 1]
        while width <= 8 and i + 4 <= last:
            own, row = va.advance(coefficients, i * width), va.advance(code, i * q)
            va.assign(lanes, one, own)
            va.assign(lanes, two, va.advance(own, width))
            va.assign(lanes, three, va.advance(own, 2 * width))
            va.assign(lanes, four, va.advance(own, 3 * width))
            for part in (one, two, three, four):
                va.add(lanes, base, part)
            for j in range(q):
                goal = va.advance(out, j * width)
                va.assign(lanes, sums, goal)
                va.multiply_add(lanes, sums, one, va.advance(table, np.int64(row[j]) * width))
                va.multiply_add(lanes, sums, two, va.advance(table, np.int64(row[q + j]) * width))
                va.multiply_add(lanes, sums, three, va.advance(table, np.int64(row[2 * q + j]) * width))
                va.multiply_add(lanes, sums, four, va.advance(table, np.int64(row[3 * q + j]) * width))
                va.assign(lanes, goal, sums)
            i += 4
        while i < last:
            row = va.advance(code, i * q)
            va.assign(lanes, one, va.advance(coefficients, i * width))
            va.add(lanes, base, one)
            for j in range(q):
                entry = va.advance(table, np.int64(row[j]) * width)
                va.multiply_add(lanes, va.advance(out, j * width), one, entry)
            i += 1
        va.multiply_add(lanes, target, base, log_prior)
        va.multiply_add(lanes, va.advance(target, width), base, va.advance(log_parent, cell * width))
    return 0.0
