"""One cell's part of the Newton system: scores, gradient and Hessian from its rows.

Inside a cell the weights are ordered class by class, ``y * q + j``. The class prior and parent weights act
through one bias per class, so each cell adds ``classes`` coupling columns.
"""

import numpy as np

from fedbayes.models.engine.compilation import compiled
from fedbayes.models.engine.newton_elimination import subtract_four

NEGLIGIBLE = 1e-18
"""Posteriors below this add nothing to a Hessian that is kept definite by 1e-8."""


@compiled
def by_class(theta, table):
    """Copy one cell's (values, lanes) table to (classes, values)."""
    for c in range(table.shape[0]):
        for v in range(table.shape[1]):
            table[c, v] = theta[v, c]


@compiled
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


@compiled
def to_margins(scores, y):
    """Subtract each row's own score from all of its scores."""
    classes, rows = scores.shape
    for i in range(rows):
        own = scores[y[i], i]
        for c in range(classes):
            scores[c, i] -= own


@compiled
def cell_gradient(codes, lo, hi, residual, table, offsets, scratch, gradient, bias_gradient):
    """Gradient of the loss in the cell's weights and biases."""
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
            gradient[c * q + j] = g


@compiled
def add_row_products(codes, lo, hi, y, probability, residual, table, features, weighted, block):
    """Hessian of the loss in a cell, in the order ``c * (q + 1) + j`` with the bias as last feature of a class.

    Each row adds (diag(p) - pp') between classes times the products of its features. Four rows are taken at a
    time; classes that none of them can belong to are left out. Within a class p(1 - p) is used as it is, so
    that nearly certain rows lose no digits. Upper triangle only.
    """
    classes = table.shape[0]
    q = codes.shape[1]
    span = q + 1
    for first in range(lo, hi, 4):
        low, high = classes, 0
        for b in range(4):
            i = first + b
            if i >= hi:
                for t in range(classes * span):
                    features[b, t] = 0.0
                    weighted[b, t] = 0.0
                continue
            for c in range(classes):
                p = probability[c, i]
                if p < NEGLIGIBLE:
                    p = 0.0
                else:
                    low = min(low, c)
                    high = max(high, c + 1)
                at = c * span
                for j in range(q):
                    f = table[c, codes[i, j]]
                    features[b, at + j] = f
                    weighted[b, at + j] = p * f
                features[b, at + q] = 1.0
                weighted[b, at + q] = p
        for c in range(low, high):
            at = c * span
            if (
                weighted[0, at + q] == 0.0
                and weighted[1, at + q] == 0.0
                and weighted[2, at + q] == 0.0
                and weighted[3, at + q] == 0.0
            ):
                continue
            rest0 = _rest(c, first, hi, y, probability, residual)
            rest1 = _rest(c, first + 1, hi, y, probability, residual)
            rest2 = _rest(c, first + 2, hi, y, probability, residual)
            rest3 = _rest(c, first + 3, hi, y, probability, residual)
            begin, end = at + span, high * span
            for j in range(at, at + span):
                a, b0, b1, b2 = weighted[0, j], weighted[1, j], weighted[2, j], weighted[3, j]
                subtract_four(
                    block[j, begin:end],
                    a,
                    b0,
                    b1,
                    b2,
                    weighted[0, begin:end],
                    weighted[1, begin:end],
                    weighted[2, begin:end],
                    weighted[3, begin:end],
                )
                a, b0, b1, b2 = a * rest0, b0 * rest1, b1 * rest2, b2 * rest3
                for t in range(j, begin):
                    block[j, t] += (a * features[0, t] + b0 * features[1, t]) + (
                        b1 * features[2, t] + b2 * features[3, t]
                    )


@compiled(inline="always")
def _rest(c, i, hi, y, probability, residual):
    """1 - p, from the other classes where p is nearly 1."""
    if i >= hi:
        return 0.0
    return -residual[c, i] if y[i] == c else 1.0 - probability[c, i]


@compiled
def arrange(block, classes, q, gradient, bias_gradient, ridge, matrix):
    """Move the block to elimination order: weights, then biases, then the gradient as right-hand side."""
    span = q + 1
    m = classes * q
    for c in range(classes):
        for j in range(q):
            source, target = c * span + j, c * q + j
            for t in range(j, q):
                matrix[target, c * q + t] = block[source, c * span + t]
            matrix[target, m + c] = block[source, c * span + q]
            for d in range(c + 1, classes):
                for t in range(q):
                    matrix[target, d * q + t] = block[source, d * span + t]
                matrix[target, m + d] = block[source, d * span + q]
            for d in range(c):
                matrix[target, m + d] = block[d * span + q, source]
            matrix[target, target] += ridge
            matrix[target, m + classes] = gradient[target]
        for d in range(c, classes):
            matrix[m + c, m + d] = block[c * span + q, d * span + q]
        matrix[m + c, m + classes] = bias_gradient[c]
