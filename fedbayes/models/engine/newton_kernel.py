"""Products between the features of a client's rows: all that its optimum needs where its cells have few rows.

At the optimum ``w = 1 - X' b``, with ``b`` the residuals divided by rho. So a cell of n rows needs no weights but
``b`` (classes, n), and of the features only each class's products ``K = X X'`` (n, n). With two classes b of one
is minus that of the other, and the sum of both classes' products is enough.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from fedbayes.models.engine.array_types import COUNT, COUNTS, CUBE, MATRIX, NUMBERS
from fedbayes.models.engine.compilation import apart, inner
from fedbayes.models.engine.newton_client import CLIENT
from fedbayes.models.engine.newton_tiles import padded, subtract_square


class Kernels(NamedTuple):
    """Products of cell k from ``at[k]`` on: (blocks, wide, wide) with wide = padded rows, one block if two classes."""

    at: np.ndarray
    products: np.ndarray


KERNELS = types.NamedTuple((COUNTS, NUMBERS), Kernels)


@inner
def kernels_pay(starts, q, classes):
    """Whether working with rows costs less than working with weights; in multiply-adds."""
    m = classes * q
    by_rows, by_weights = 0.0, 0.0
    for k in range(starts.shape[0] - 1):
        n = float(starts[k + 1] - starts[k])
        pairs = n * (classes - 1.0)
        by_rows += n**3 / 6.0 + 8.0 * n**2
        if classes > 2:
            by_rows += classes * (n**3 / 2.0 + 8.0 * n**2)
        by_weights += (
            min(pairs**3 / 6.0 + 40.0 * pairs**2, m**3 / 6.0 + n * (m * m / 2.0 + 2.0 * m)) + 20.0 * m
        )
    return by_rows <= by_weights


@apart(CLIENT, COUNT)
def make_kernels(client, classes):
    """Multiply the features of each cell's rows."""
    cells, q = client.parent.shape[0], client.codes.shape[1]
    blocks = 1 if classes == 2 else classes
    at = np.zeros(cells + 1, np.int64)
    widest = 0
    for k in range(cells):
        wide = padded(client.starts[k + 1] - client.starts[k])
        widest = max(widest, wide)
        at[k + 1] = at[k] + blocks * wide * wide
    products = np.zeros(at[cells])
    room = np.empty(q * widest)
    for k in range(cells):
        lo, hi = client.starts[k], client.starts[k + 1]
        theta, wide = client.theta[k], padded(hi - lo)
        feature = room[: q * wide].reshape(q, wide)
        feature[:] = 0.0
        own = products[at[k] : at[k + 1]].reshape(blocks, wide, wide)
        for c in range(classes):
            for i in range(lo, hi):
                for j in range(q):
                    feature[j, i - lo] = theta[client.codes[i, j], c]
            subtract_square(own[min(c, blocks - 1)], feature, q, 0, wide)
        for b in range(blocks):
            for i in range(wide):
                own[b, i, i] = -own[b, i, i]
                for t in range(i + 1, wide):
                    own[b, i, t] = -own[b, i, t]
                    own[b, t, i] = own[b, i, t]
    return Kernels(at, products)


@inner
def add_product(matrix, size, x, out):
    """Add matrix[:size, :size] x to ``out``, for a symmetric matrix."""
    for i in range(size):
        factor = x[i]
        for t in range(size):
            out[t] += matrix[i, t] * factor


@apart(CLIENT, KERNELS, MATRIX, MATRIX)
def apply_kernels(client, kernels, x, out):
    """Fill ``out`` with X X' x, x (classes, rows), the shared weights' features included.

    With two classes only the difference of what it holds for them is that.
    """
    classes = x.shape[0]
    blocks = 1 if classes == 2 else classes
    sums = np.zeros((client.parent.shape[0], classes))
    shared = np.zeros((2, classes))
    for k in range(sums.shape[0]):
        for c in range(classes):
            total = 0.0
            for i in range(client.starts[k], client.starts[k + 1]):
                total += x[c, i]
            sums[k, c] = total
            shared[0, c] += client.prior[c] * total
            shared[1, c] += client.parent[k, c] * total
    for k in range(sums.shape[0]):
        lo, hi = client.starts[k], client.starts[k + 1]
        wide = padded(hi - lo)
        own = kernels.products[kernels.at[k] : kernels.at[k + 1]].reshape(blocks, wide, wide)
        for c in range(classes):
            out[c, lo:hi] = shared[0, c] * client.prior[c] + shared[1, c] * client.parent[k, c]
        if classes == 2:
            add_product(own[0], hi - lo, x[1, lo:hi], out[1, lo:hi])
        else:
            for c in range(classes):
                add_product(own[c], hi - lo, x[c, lo:hi], out[c, lo:hi])


@apart(CLIENT, COUNT, MATRIX, MATRIX, CUBE)
def weights_of(client, classes, b, shared, weights):
    """Fill the weights, shared (2, V) and own (K, q, V), that b stands for: w = 1 - X' b."""
    q = client.codes.shape[1]
    shared[:, :classes] = 1.0
    for k in range(weights.shape[0]):
        weights[k, :, :classes] = 1.0
        for i in range(client.starts[k], client.starts[k + 1]):
            for c in range(classes):
                shared[0, c] -= client.prior[c] * b[c, i]
                shared[1, c] -= client.parent[k, c] * b[c, i]
            for j in range(q):
                code = client.codes[i, j]
                for c in range(classes):
                    weights[k, j, c] -= client.theta[k, code, c] * b[c, i]


@apart(CLIENT, MATRIX, CUBE, MATRIX)
def margins_of(client, shared, weights, margins):
    """Margins of all rows for any weights in the engine's layout."""
    classes, q = margins.shape[0], client.codes.shape[1]
    score = np.empty(classes)
    for k in range(weights.shape[0]):
        for i in range(client.starts[k], client.starts[k + 1]):
            for c in range(classes):
                score[c] = shared[0, c] * client.prior[c] + shared[1, c] * client.parent[k, c]
            for j in range(q):
                code = client.codes[i, j]
                for c in range(classes):
                    score[c] += weights[k, j, c] * client.theta[k, code, c]
            for c in range(classes):
                margins[c, i] = score[c] - score[client.y[i]]
