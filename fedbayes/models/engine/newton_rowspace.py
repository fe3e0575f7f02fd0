"""One cell's part of the Newton system in the space of its rows, for cells with few uncertain rows.

With the loss's Hessian written as G'G, G having one row for each uncertain (row, class) pair, the system
(ridge I + G'G) x = b is solved through M = ridge I + GG' (Woodbury). The products between rows' features never
change, so each iteration only scales them. The coupling to the biases is G'E, so that by
inv(ridge I + G'G) G' = G' inv(M) neither it nor the Schur complement ridge E' inv(M) E suffers cancellation.

G comes from the closed-form Cholesky factor of diag(p) - pp': its column c is zero above c,
``scale * tail`` at c and ``-scale * p[y]`` at y > c, where tail = sum of p[y] over y > c and
scale^2 = p[c] / (tail (tail + p[c])).
"""

from math import sqrt
from typing import NamedTuple

import numpy as np
from numba import types

from fedbayes.models.engine.array_types import CODES, COUNT, COUNTS, CUBE, FLAGS, MATRIX, NUMBER, NUMBERS
from fedbayes.models.engine.compilation import apart, inner
from fedbayes.models.engine.newton_cells import by_class
from fedbayes.models.engine.newton_elimination import back_substitute, solve_packed


class PairSpace(NamedTuple):
    """Products between rows' features of the cells small enough, and scratch for one cell's pairs.

    ``products[offset[k]:]`` holds (rows, rows, classes) of cell k; ``row``, ``kind`` are the pairs' rows and
    classes, ``scale``, ``tail`` (rows, classes) make up G; ``image``, ``other`` live in pairs, ``rest`` in weights.
    """

    small: np.ndarray
    offset: np.ndarray
    products: np.ndarray
    row: np.ndarray
    kind: np.ndarray
    scale: np.ndarray
    tail: np.ndarray
    image: np.ndarray
    other: np.ndarray
    rest: np.ndarray


SPACE = types.NamedTuple(
    (FLAGS, COUNTS, NUMBERS, COUNTS, COUNTS, MATRIX, MATRIX, NUMBERS, NUMBERS, NUMBERS), PairSpace
)


@apart(COUNTS, CODES, CUBE, COUNT)
def make_pair_space(starts, codes, theta, classes):
    """Prepare all cells with at most as many rows as weights."""
    cells, values, q = theta.shape[0], theta.shape[1], codes.shape[1]
    m = classes * q
    small, offset = np.zeros(cells, np.bool_), np.zeros(cells, np.int64)
    length, largest = 0, 1
    for k in range(cells):
        n = starts[k + 1] - starts[k]
        if n <= m:
            small[k] = True
            offset[k] = length
            length += classes * n * n
            largest = max(largest, n)
    products = np.empty(length)
    table, feature = np.empty((classes, values)), np.empty((largest, q))
    for k in range(cells):
        if small[k]:
            by_class(theta[k], table)
            n = starts[k + 1] - starts[k]
            part = products[offset[k] : offset[k] + n * n * classes].reshape(n, n, classes)
            _feature_products(codes, starts[k], table, feature, part)
    return PairSpace(
        small,
        offset,
        products,
        np.empty(m, np.int64),
        np.empty(m, np.int64),
        np.empty((largest, classes)),
        np.empty((largest, classes)),
        np.empty(m),
        np.empty(m),
        np.empty(m),
    )


@inner
def _feature_products(codes, lo, table, feature, products):
    """products[i, k, c] = sum over attributes of table[c, code of i] * table[c, code of k]."""
    rows, q = products.shape[0], codes.shape[1]
    for c in range(table.shape[0]):
        for i in range(rows):
            for j in range(q):
                feature[i, j] = table[c, codes[lo + i, j]]
            for k in range(i + 1):
                s0, s1 = 0.0, 0.0
                for j in range(0, q - 1, 2):
                    s0 += feature[i, j] * feature[k, j]
                    s1 += feature[i, j + 1] * feature[k, j + 1]
                if q % 2 == 1:
                    s0 += feature[i, q - 1] * feature[k, q - 1]
                products[i, k, c] = s0 + s1
                products[k, i, c] = s0 + s1


@inner
def find_pairs(space, lo, hi, probability, threshold, most):
    """List the pairs whose curvature exceeds the threshold; return their number, -1 if more than ``most``."""
    classes = probability.shape[0]
    count = 0
    for i in range(hi - lo):
        rest = 0.0
        for c in range(classes - 1, -1, -1):
            space.tail[i, c] = rest
            rest += probability[c, lo + i]
        for c in range(classes):
            p, t = probability[c, lo + i], space.tail[i, c]
            space.scale[i, c] = 0.0
            if p * t > threshold * (p + t):
                if count == most:
                    return -1
                space.scale[i, c] = sqrt(p / (t * (p + t)))
                space.row[count] = i
                space.kind[count] = c
                count += 1
    return count


@apart(SPACE, COUNT, CODES, COUNT, COUNT, MATRIX, MATRIX, COUNT, NUMBER, NUMBERS, MATRIX)
def pair_system(space, k, codes, lo, hi, probability, table, pairs, ridge, gradient, matrix):
    """Fill M, with E and G gradient as riders and zeros in the corner, ready for elimination."""
    classes = probability.shape[0]
    n = hi - lo
    products = space.products[space.offset[k] : space.offset[k] + n * n * classes].reshape(n, n, classes)
    overlap = np.empty(classes)
    a = 0
    while a < pairs:
        i = space.row[a]
        a_end = _end_of_row(space, a, pairs)
        b = a
        while b < pairs:
            other = space.row[b]
            b_end = _end_of_row(space, b, pairs)
            total = 0.0
            for y in range(classes - 1, -1, -1):
                overlap[y] = total
                total += probability[y, lo + i] * probability[y, lo + other] * products[i, other, y]
            for s in range(a, a_end):
                c = space.kind[s]
                for t in range(max(b, s), b_end):
                    d = space.kind[t]
                    top = max(c, d)
                    one = space.tail[i, c] if c == top else -probability[top, lo + i]
                    two = space.tail[other, d] if d == top else -probability[top, lo + other]
                    value = one * two * products[i, other, top] + overlap[top]
                    matrix[s, t] = space.scale[i, c] * space.scale[other, d] * value
            b = b_end
        a = a_end
    _apply_factor(space, codes, lo, probability, table, pairs, gradient, space.image)
    for a in range(pairs):
        i, c = space.row[a], space.kind[a]
        matrix[a, a] += ridge
        for y in range(c):
            matrix[a, pairs + y] = 0.0
        matrix[a, pairs + c] = space.scale[i, c] * space.tail[i, c]
        for y in range(c + 1, classes):
            matrix[a, pairs + y] = -space.scale[i, c] * probability[y, lo + i]
        matrix[a, pairs + classes] = space.image[a]
    for c in range(classes + 1):
        for d in range(classes + 1):
            matrix[pairs + c, pairs + d] = 0.0


@inner
def _end_of_row(space, a, pairs):
    b = a + 1
    while b < pairs and space.row[b] == space.row[a]:
        b += 1
    return b


@apart(SPACE, CODES, COUNT, MATRIX, MATRIX, COUNT, NUMBER, NUMBERS, NUMBERS, NUMBERS, NUMBERS, COUNT, NUMBERS)
def pair_direction(
    space, codes, lo, probability, table, pairs, ridge, gradient, bias, coefficients, store, at, direction
):
    """Solve for the cell's weights when its biases move by ``bias``."""
    classes = probability.shape[0]
    m = direction.shape[0]
    width = pairs + classes + 1
    image, other, rest = space.image, space.other, space.rest
    for c in range(classes):
        coefficients[c] = -bias[c]
    coefficients[classes] = 1.0 / ridge
    back_substitute(store, at, pairs, width, coefficients, image)
    for t in range(m):
        direction[t] = -gradient[t] / ridge
    _add_transpose(space, codes, lo, probability, table, pairs, image, 1.0, direction)
    # one step of refinement: dividing by the small ridge has cost half of the digits
    _apply_factor(space, codes, lo, probability, table, pairs, direction, image)
    for a in range(pairs):
        i, c = space.row[a], space.kind[a]
        value = space.tail[i, c] * bias[c]
        for y in range(c + 1, classes):
            value -= probability[y, lo + i] * bias[y]
        image[a] += space.scale[i, c] * value
    for t in range(m):
        rest[t] = -gradient[t] - ridge * direction[t]
    _add_transpose(space, codes, lo, probability, table, pairs, image, -1.0, rest)
    _apply_factor(space, codes, lo, probability, table, pairs, rest, other)
    solve_packed(store, at, pairs, width, other)
    _add_transpose(space, codes, lo, probability, table, pairs, other, -1.0, rest)
    for t in range(m):
        direction[t] += rest[t] / ridge


@apart(SPACE, CODES, COUNT, MATRIX, MATRIX, COUNT, NUMBERS, NUMBERS)
def _apply_factor(space, codes, lo, probability, table, pairs, x, image):
    """image = G x."""  # noqa: D403
    classes, q = table.shape[0], codes.shape[1]
    row = np.empty(classes)
    previous = -1
    for a in range(pairs):
        i, c = space.row[a], space.kind[a]
        if i != previous:
            previous = i
            for y in range(classes):
                total = 0.0
                for j in range(q):
                    total += table[y, codes[lo + i, j]] * x[y * q + j]
                row[y] = total
        value = space.tail[i, c] * row[c]
        for y in range(c + 1, classes):
            value -= probability[y, lo + i] * row[y]
        image[a] = space.scale[i, c] * value


@apart(SPACE, CODES, COUNT, MATRIX, MATRIX, COUNT, NUMBERS, NUMBER, NUMBERS)
def _add_transpose(space, codes, lo, probability, table, pairs, image, factor, x):
    """Add factor * G' image to x."""
    classes, q = table.shape[0], codes.shape[1]
    row = np.zeros(classes)
    for a in range(pairs):
        i, c = space.row[a], space.kind[a]
        z = image[a] * space.scale[i, c] * factor
        row[c] += z * space.tail[i, c]
        for y in range(c + 1, classes):
            row[y] -= z * probability[y, lo + i]
        if a + 1 == pairs or space.row[a + 1] != i:
            for y in range(classes):
                if row[y] != 0.0:
                    for j in range(q):
                        x[y * q + j] += table[y, codes[lo + i, j]] * row[y]
                    row[y] = 0.0
