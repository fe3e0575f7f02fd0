"""One cell's part of the Newton system: scores, gradient and Hessian from its rows.

Inside a cell the weights are ordered class by class, ``y * q + j``. The class prior and parent weights act
through one bias per class, so each cell adds ``classes`` coupling columns.
"""

from numba import types

from fedbayes.models.engine.array_types import CODES, COUNT, CUBE, LABELS, MATRIX
from fedbayes.models.engine.compilation import apart, inner
from fedbayes.models.engine.newton_tiles import subtract_product, subtract_square

CHUNK = 24
"""Rows whose products are summed at a time."""

NEGLIGIBLE = 1e-14
"""Posteriors below this add nothing to a Hessian that is kept definite by 1e-8."""


@inner
def by_class(theta, table):
    """Copy one cell's (values, lanes) table to (classes, values)."""
    for c in range(table.shape[0]):
        for v in range(table.shape[1]):
            table[c, v] = theta[v, c]


@inner
def add_scores(codes, lo, hi, table, weights, offsets, bias, scratch, scores):
    """scores[c, i] = bias[c] + sum over j of weights[c * q + j] * table[c, code of row i and attribute j]."""
    classes, values = table.shape
    q = codes.shape[1]
    for c in range(classes):
        for j in range(q):
            end = offsets[j + 1] if j + 1 < q else values
            for v in range(offsets[j], end):
                scratch[v] = weights[c * q + j] * table[c, v]
        for i in range(lo, hi):
            s0, s1 = bias[c], 0.0
            for j in range(0, q - 1, 2):
                s0 += scratch[codes[i, j]]
                s1 += scratch[codes[i, j + 1]]
            if q % 2 == 1:
                s0 += scratch[codes[i, q - 1]]
            scores[c, i] = s0 + s1


@inner
def to_margins(scores, y, own):
    """Subtract each row's own score from all of its scores; ``own`` (rows,) is scratch."""
    classes, rows = scores.shape
    for i in range(rows):
        own[i] = scores[y[i], i]
    for c in range(classes):
        for i in range(rows):
            scores[c, i] -= own[i]


@inner
def cell_gradient(codes, lo, hi, residual, table, offsets, scratch, gradient, bias_gradient):
    """Add the gradient of the loss in the cell's weights; set that in its biases."""
    classes, values = table.shape
    q = codes.shape[1]
    for c in range(classes):
        for v in range(values):
            scratch[v] = 0.0
        total = 0.0
        for i in range(lo, hi):
            r = residual[c, i]
            total += r
            for j in range(q):
                scratch[codes[i, j]] += r
        bias_gradient[c] = total
        for j in range(q):
            end = offsets[j + 1] if j + 1 < q else values
            g = 0.0
            for v in range(offsets[j], end):
                g += table[c, v] * scratch[v]
            gradient[c * q + j] += g


@apart(CODES, COUNT, COUNT, LABELS, MATRIX, MATRIX, MATRIX, types.UniTuple(MATRIX, 3), MATRIX, CUBE)
def add_row_products(codes, lo, hi, y, probability, residual, table, rows, block, own):
    """Hessian of the loss in a cell, in the order ``c * (q + 1) + j`` with the bias as last feature of a class.

    Each row adds (diag(p) - pp') between classes times the products of its features. A few rows are taken at a
    time; the columns between the first and the last class that any of them can belong to take part. Within a
    class p(1 - p) is used as it is, so that nearly certain rows lose no digits.

    Parameters
    ----------
    rows : tuple of three ndarrays
        Scratch: (CHUNK, padded span of all classes) and twice (CHUNK, padded q + 1); zero in the padding.
    block, own : ndarray
        Filled: the upper triangle between classes (its diagonal blocks are scratch), and (classes, padded
        q + 1, padded q + 1) within a class.
    """
    classes = table.shape[0]
    q = codes.shape[1]
    span = q + 1
    weighted, feature, scaled = rows
    block[:] = 0.0
    own[:] = 0.0
    for first in range(lo, hi, CHUNK):
        count = min(CHUNK, hi - first)
        low, high = classes, 0
        for c in range(classes):
            at = c * span
            used = False
            for b in range(count):
                p = probability[c, first + b]
                if p < NEGLIGIBLE:
                    p = 0.0
                used |= p > 0.0
                variance = p * _rest(c, first + b, y, probability, residual)
                for j in range(q):
                    f = table[c, codes[first + b, j]]
                    feature[b, j] = f
                    scaled[b, j] = -variance * f
                    weighted[b, at + j] = p * f
                feature[b, q] = 1.0
                scaled[b, q] = -variance
                weighted[b, at + q] = p
            if used:
                low, high = min(low, c), c + 1
                subtract_product(own[c], scaled, feature, count, span, 0, span)
        subtract_square(block, weighted, count, low * span, high * span)


@inner(inline="always")
def _rest(c, i, y, probability, residual):
    """1 - p, from the other classes where p is nearly 1."""
    return -residual[c, i] if y[i] == c else 1.0 - probability[c, i]


@apart(MATRIX, CUBE, COUNT, COUNT, MATRIX)
def arrange(block, own, classes, q, matrix):
    """Move the sums to elimination order: weights, then biases; the gradient follows as right-hand side."""
    span = q + 1
    m = classes * q
    for c in range(classes):
        for j in range(q):
            source, target = c * span + j, c * q + j
            for t in range(j, q):
                matrix[target, c * q + t] = own[c, j, t]
            matrix[target, m + c] = own[c, j, q]
            for d in range(c + 1, classes):
                for t in range(q):
                    matrix[target, d * q + t] = block[source, d * span + t]
                matrix[target, m + d] = block[source, d * span + q]
            for d in range(c):
                matrix[target, m + d] = block[d * span + q, source]
        matrix[m + c, m + c] = own[c, q, q]
        for d in range(c + 1, classes):
            matrix[m + c, m + d] = block[c * span + q, d * span + q]
