"""One step for the rows' residuals b = a / rho: per class a system of the cell's rows, tied together row by row.

A class's rows move by ``inv(rho / a + K) (g - t)``, where ``g`` is what their margins ask for, and ``t`` (rows)
is all that they know of other classes: one number per row that makes its residuals sum to zero over classes. So instead of one system of (classes - 1) n unknowns there are one of n for each class and one of n
for t, whose matrix is the sum of the inverses. The shared weights act through one bias per cell and class.
"""

import numpy as np

from fedbayes.models.engine.array_types import MATRIX, NUMBER, NUMBERS
from fedbayes.models.engine.compilation import apart, inner
from fedbayes.models.engine.newton_client import CLIENT
from fedbayes.models.engine.newton_elimination import back_substitute, eliminate, pack, packed_length
from fedbayes.models.engine.newton_inverse import invert
from fedbayes.models.engine.newton_kernel import KERNELS, add_product
from fedbayes.models.engine.newton_tiles import padded

PIVOT_FLOOR = 1e-15
"""Pivots below this share of their diagonal entry are rounding."""

LARGEST = 1e30
"""What stands for rho / a where a is nearly zero."""


@apart(CLIENT, KERNELS, NUMBER, MATRIX, MATRIX, MATRIX, MATRIX, NUMBERS, MATRIX)
def kernel_step(client, kernels, rho, margins, dual, probability, rest, inverses, b):
    """Move b (classes, rows), the residuals divided by rho, by a step of weights and posteriors.

    The step is solved for the change of b: what rounding leaves of it then vanishes with the change.

    Parameters
    ----------
    client, kernels : Client, Kernels
        The rows and their products.
    rho : float
        Strength of the penalty.
    margins, dual : ndarray (classes, rows)
        Margins for the weights that b stands for, and those of the posteriors.
    probability, rest : ndarray (classes, rows)
        The posteriors, and the same less 1 for the own class.
    inverses : ndarray
        Scratch, as large as the products.
    """
    classes, cells = dual.shape[0], client.parent.shape[0]
    blocks = 1 if classes == 2 else classes
    rider = 2 * classes
    border = np.zeros((padded(rider + 1), padded(rider + 1)))
    for s in range(rider):
        border[s, s] = 1.0
    most = 0
    at = np.zeros(cells + 1, np.int64)
    for k in range(cells):
        n = client.starts[k + 1] - client.starts[k]
        most = max(most, n)
        at[k + 1] = at[k] + packed_length(n, n + (2 if classes == 2 else classes + 1))
    store = np.empty(at[cells])
    wide = padded(most)
    left, product = np.empty(2 * wide * wide), np.empty(wide * wide)
    room = np.zeros(padded(most + classes + 1) ** 2)
    goal, part = np.empty((blocks, most)), np.empty((blocks, most))
    for k in range(cells):
        lo, n = client.starts[k], client.starts[k + 1] - client.starts[k]
        wide, width = padded(n), n + (2 if classes == 2 else classes + 1)
        own = kernels.products[kernels.at[k] : kernels.at[k + 1]].reshape(blocks, wide, wide)
        matrix = room[: padded(width) ** 2].reshape(padded(width), padded(width))
        matrix[:] = 0.0
        if classes == 2:
            _two_classes(own[0], n, rho, lo, margins, dual, probability, rest, b, matrix)
        else:
            inverse = inverses[kernels.at[k] : kernels.at[k + 1]].reshape(blocks, wide, wide)
            for c in range(classes):
                _goal(c, lo, n, client.y, rho, margins, dual, probability, rest, b, goal[c])
                if n == 1:
                    p = max(probability[c, lo], 1.0 / LARGEST)
                    inverse[c, 0, 0] = 1.0 / (own[c, 0, 0] + rho / p)
                else:
                    scratch = left[: 2 * wide * wide].reshape(wide, 2 * wide)
                    _with_ridge(own[c], n, rho, lo, probability[c], scratch)
                    invert(scratch, n, PIVOT_FLOOR, product[: wide * wide].reshape(wide, wide), inverse[c])
                part[c, :n] = 0.0
                add_product(inverse[c], n, goal[c], part[c])
                for i in range(n):
                    total = 0.0
                    for t in range(n):
                        total += inverse[c, t, i]
                    for t in range(i, n):
                        matrix[i, t] += inverse[c, i, t]
                    matrix[i, n + c] = total
                    matrix[i, n + classes] += part[c, i]
                    matrix[n + c, n + c] += total
                    matrix[n + c, n + classes] += part[c, i]
        eliminate(matrix, n, width, PIVOT_FLOOR)
        pack(matrix, n, width, store, at[k])
        _add_to_border(client, k, classes, n, matrix, border)
    eliminate(border, rider, rider + 1, PIVOT_FLOOR)
    border_store = np.empty(packed_length(rider, rider + 1))
    pack(border, rider, rider + 1, border_store, 0)
    shared = np.empty(rider)
    back_substitute(border_store, 0, rider, rider + 1, np.array([-1.0]), shared)
    coefficients, tie, x = np.empty(classes + 1), np.empty(most), np.empty(most)
    for k in range(cells):
        lo, n = client.starts[k], client.starts[k + 1] - client.starts[k]
        for c in range(classes):
            coefficients[c] = shared[c] * client.prior[c] + shared[classes + c] * client.parent[k, c]
        coefficients[classes] = 1.0
        if classes == 2:
            coefficients[0], coefficients[1] = coefficients[1] - coefficients[0], 1.0
            back_substitute(store, at[k], n, n + 2, coefficients[:2], tie)
            for i in range(n):
                b[1, lo + i] += tie[i]
                b[0, lo + i] -= tie[i]
            continue
        wide = padded(n)
        inverse = inverses[kernels.at[k] : kernels.at[k + 1]].reshape(blocks, wide, wide)
        back_substitute(store, at[k], n, n + classes + 1, coefficients, tie)
        for c in range(classes):
            _goal(c, lo, n, client.y, rho, margins, dual, probability, rest, b, x)
            for i in range(n):
                x[i] += coefficients[c] - tie[i]
            part[c, :n] = 0.0
            add_product(inverse[c], n, x, part[c])
        for i in range(n):
            others = 0.0
            for c in range(classes):
                if c != client.y[lo + i]:
                    b[c, lo + i] += part[c, i]
                    others += b[c, lo + i]
            b[client.y[lo + i], lo + i] = -others


@inner
def _goal(c, lo, n, y, rho, margins, dual, probability, rest, b, goal):
    """By how much b misses the step's equations: rho b = a of the own class less 1 + a (margin - dual - t).

    That of the own class gives t.
    """
    for i in range(lo, lo + n):
        own = y[i]
        if c == own:
            goal[i - lo] = 0.0
        else:
            tie = (rest[own, i] - rho * b[own, i]) / max(probability[own, i], 1.0 / LARGEST)
            missed = (rest[c, i] - rho * b[c, i]) / max(probability[c, i], 1.0 / LARGEST)
            goal[i - lo] = missed + margins[c, i] - dual[c, i] - tie


@inner
def _with_ridge(products, n, rho, lo, probability, matrix):
    """Upper triangle of K + rho / a, with a unit diagonal in the padding."""
    wide = products.shape[0]
    for i in range(n):
        for t in range(i, wide):
            matrix[i, t] = products[i, t]
        matrix[i, i] += min(rho / max(probability[lo + i], 1.0 / LARGEST), LARGEST)
    for i in range(n, wide):
        for t in range(i, wide):
            matrix[i, t] = 0.0
        matrix[i, i] = 1.0


@inner
def _two_classes(products, n, rho, lo, margins, dual, probability, rest, b, matrix):
    """The system for b of class 1, that of class 0 being its negative, with its bias and by how much b misses."""
    for i in range(n):
        for t in range(i, n):
            matrix[i, t] = products[i, t]
        one, two = probability[0, lo + i], probability[1, lo + i]
        curvature = max(one * two, 1.0 / LARGEST)
        matrix[i, i] += min(rho / curvature, LARGEST)
        matrix[i, n] = 1.0
        difference = margins[1, lo + i] - dual[1, lo + i] - (margins[0, lo + i] - dual[0, lo + i])
        matrix[i, n + 1] = (rest[1, lo + i] - rho * b[1, lo + i]) / curvature + difference


@inner
def _add_to_border(client, k, classes, n, matrix, border):
    """Map how the sums of b over the cell's rows answer to its biases to the shared weights."""
    prior, parent = client.prior, client.parent[k]
    for c in range(classes):
        if classes == 2:
            g = -matrix[n, n + 1] if c == 1 else matrix[n, n + 1]
        else:
            g = matrix[n + c, n + classes]
        border[c, 2 * classes] += prior[c] * g
        border[classes + c, 2 * classes] += parent[c] * g
        for d in range(classes):
            if classes == 2:
                s = -matrix[n, n] if c == d else matrix[n, n]
            else:
                s = matrix[n + c, n + d] if c <= d else matrix[n + d, n + c]
            border[c, classes + d] += prior[c] * parent[d] * s
            if c <= d:
                border[c, d] += prior[c] * prior[d] * s
                border[classes + c, classes + d] += parent[c] * parent[d] * s
