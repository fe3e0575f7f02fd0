"""The Newton system of one client and structure: every cell eliminated, then the border, then back.

The Hessian is an arrow. Weights of different cells meet only through the class prior's and the parent's
weights, and these act inside a cell through one bias per class. So every cell is eliminated on its own and
leaves a Schur complement of one row per class; one system of twice the number of classes ties them together.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from fedbayes.models.engine.array_types import COUNT, COUNTS, CUBE, MATRIX, NUMBER, NUMBERS
from fedbayes.models.engine.compilation import apart, inner
from fedbayes.models.engine.newton_cells import (
    CHUNK,
    add_row_products,
    add_scores,
    arrange,
    by_class,
    cell_gradient,
)
from fedbayes.models.engine.newton_client import CLIENT
from fedbayes.models.engine.newton_elimination import back_substitute, eliminate, pack, packed_length
from fedbayes.models.engine.newton_groups import GROUPS, ROOM, add_joint_scores, joint_gradient
from fedbayes.models.engine.newton_joint import joint_products
from fedbayes.models.engine.newton_rowspace import SPACE, find_pairs, pair_direction, pair_system
from fedbayes.models.engine.newton_tiles import padded

PIVOT_FLOOR = 1e-15
"""Pivots below this share of their diagonal entry are rounding."""

CERTAIN = 1e-6
"""Pairs whose curvature is below this share of the ridge are left out of row space."""


class Work(NamedTuple):
    """Scratch that all cells share, and what elimination leaves behind for the way back.

    ``pairs[k]`` is the number of pairs of a cell solved in row space, else -1; ``at[k]`` where its factor starts.
    """

    table: np.ndarray
    scratch: np.ndarray
    bias: np.ndarray
    bias_gradient: np.ndarray
    coefficients: np.ndarray
    matrix: np.ndarray
    block: np.ndarray
    own: np.ndarray
    weighted: np.ndarray
    feature: np.ndarray
    scaled: np.ndarray
    border: np.ndarray
    border_store: np.ndarray
    pairs: np.ndarray
    at: np.ndarray


WORK = types.NamedTuple(
    (
        MATRIX,
        NUMBERS,
        NUMBERS,
        NUMBERS,
        NUMBERS,
        MATRIX,
        MATRIX,
        CUBE,
        MATRIX,
        MATRIX,
        MATRIX,
        MATRIX,
        NUMBERS,
        COUNTS,
        COUNTS,
    ),
    Work,
)


@apart(COUNT, COUNT, COUNT, COUNT, COUNT)
def make_work(cells, q, values, entries, classes):
    """Allocate the scratch of a client."""
    m, span = classes * q, padded(classes * (q + 1))
    width, one, border = padded(m + classes + 1), padded(q + 1), padded(2 * classes + 1)
    return Work(
        np.empty((classes, values)),
        np.empty(max(values, entries)),
        np.empty(classes),
        np.empty(classes),
        np.empty(classes + 1),
        np.zeros((width, width)),
        np.zeros((span, span)),
        np.zeros((classes, one, one)),
        np.zeros((CHUNK, span)),
        np.zeros((CHUNK, one)),
        np.zeros((CHUNK, one)),
        np.zeros((border, border)),
        np.empty(packed_length(2 * classes, 2 * classes + 1)),
        np.empty(cells, np.int64),
        np.empty(cells, np.int64),
    )


@apart(CLIENT, COUNT, GROUPS, NUMBERS, MATRIX, WORK, MATRIX)
def fill_scores(client, k, groups, weights, shared, work, scores):
    """Scores of cell k's rows for its weights (m,) and the shared ones (2, classes)."""
    lo, hi = client.starts[k], client.starts[k + 1]
    by_class(client.theta[k], work.table)
    for c in range(work.table.shape[0]):
        work.bias[c] = shared[0, c] * client.prior[c] + shared[1, c] * client.parent[k, c]
    if groups.joint[k]:
        add_joint_scores(
            client.codes, lo, hi, work.table, weights, work.bias, groups, k, work.scratch, scores
        )
    else:
        add_scores(client.codes, lo, hi, work.table, weights, client.offsets, work.bias, work.scratch, scores)


@apart(CLIENT, COUNT, GROUPS, MATRIX, WORK, NUMBERS)
def add_gradient(client, k, groups, residual, work, gradient):
    """Add the loss's gradient in cell k's weights, and set that in its biases; leaves the cell's table in work."""
    lo, hi = client.starts[k], client.starts[k + 1]
    table, scratch, bias = work.table, work.scratch, work.bias_gradient
    by_class(client.theta[k], table)
    if groups.joint[k]:
        joint_gradient(client.codes, lo, hi, residual, table, groups, k, scratch, gradient, bias)
    else:
        cell_gradient(client.codes, lo, hi, residual, table, client.offsets, scratch, gradient, bias)


@apart(
    CLIENT, COUNT, GROUPS, ROOM, SPACE, MATRIX, MATRIX, MATRIX, NUMBER, NUMBERS, WORK, NUMBERS, COUNT
)  # fmt: skip
def eliminate_cell(
    client, k, groups, room, space, probability, rest, residual, ridge, gradient, work, store, at
):
    """Make cell k's block, eliminate it, keep its factor in the store and add its complement to the border.

    ``rest`` is ``probability`` less 1 for the own class and makes the Hessian with it, ``residual`` the gradient;
    ``gradient`` holds the penalty's on entry and the whole on return.

    Returns
    -------
    ndarray, int
        The store (a larger one if it was full) and where the next factor begins.
    """
    lo, hi = client.starts[k], client.starts[k + 1]
    classes, m = work.table.shape[0], gradient.shape[0]
    table, matrix = work.table, work.matrix
    add_gradient(client, k, groups, residual, work, gradient)
    pairs = -1
    if space.small[k]:
        pairs = find_pairs(space, lo, hi, probability, CERTAIN * ridge, groups.most_pairs[k])
    work.pairs[k] = pairs
    size = m if pairs < 0 else pairs
    if pairs >= 0:
        pair_system(space, k, client.codes, lo, hi, probability, table, pairs, ridge, gradient, matrix)
    else:
        if groups.joint[k]:
            joint_products(client.codes, lo, hi, probability, table, groups, k, room, matrix)
        else:
            rows = (work.weighted, work.feature, work.scaled)
            add_row_products(
                client.codes, lo, hi, client.y, probability, rest, table, rows, work.block, work.own
            )
            arrange(work.block, work.own, classes, client.codes.shape[1], matrix)
        for t in range(m):
            matrix[t, t] += ridge
            matrix[t, m + classes] = gradient[t]
        for c in range(classes):
            matrix[m + c, m + classes] = work.bias_gradient[c]
    width = size + classes + 1
    eliminate(matrix, size, width, PIVOT_FLOOR)
    work.at[k] = at
    end = at + packed_length(size, width)
    if end > store.shape[0]:
        larger = np.empty(2 * end)
        for t in range(at):
            larger[t] = store[t]
        store = larger
    pack(matrix, size, width, store, at)
    _add_to_border(client, k, matrix, size, pairs, ridge, work)
    return store, end


@inner
def _add_to_border(client, k, matrix, size, pairs, ridge, work):
    """Map the cell's complement in its biases to the shared weights."""
    border, prior, parent = work.border, client.prior, client.parent[k]
    classes = work.table.shape[0]
    factor = -ridge if pairs >= 0 else 1.0
    for c in range(classes):
        g = matrix[size + c, size + classes]
        if pairs >= 0:
            g += work.bias_gradient[c]
        border[c, 2 * classes] += prior[c] * g
        border[classes + c, 2 * classes] += parent[c] * g
        for d in range(classes):
            s = factor * (matrix[size + c, size + d] if c <= d else matrix[size + d, size + c])
            border[c, classes + d] += prior[c] * parent[d] * s
            if c <= d:
                border[c, d] += prior[c] * prior[d] * s
                border[classes + c, classes + d] += parent[c] * parent[d] * s


@apart(
    CLIENT, GROUPS, ROOM, SPACE, MATRIX, MATRIX, MATRIX, NUMBER, NUMBER, MATRIX, MATRIX, MATRIX, WORK, NUMBERS
)
def shared_direction(
    client, groups, room, space, probability, rest, residual, rho, ridge, shared, w, gradient, work, store
):
    """Eliminate all cells and solve the border.

    Returns
    -------
    ndarray (2, classes), ndarray
        Direction of the shared weights, and the store with the cells' factors.
    """
    classes, cells, m = work.table.shape[0], w.shape[0], w.shape[1]
    border, rider = work.border, 2 * classes
    border[:] = 0.0
    for s in range(2):
        for c in range(classes):
            border[s * classes + c, s * classes + c] = ridge
            border[s * classes + c, rider] = rho * (shared[s, c] - 1.0)
    at = 0
    for k in range(cells):
        for t in range(m):
            gradient[k, t] = rho * (w[k, t] - 1.0)
        store, at = eliminate_cell(
            client, k, groups, room, space, probability, rest, residual, ridge, gradient[k], work, store, at
        )
    eliminate(border, rider, rider + 1, PIVOT_FLOOR)
    pack(border, rider, rider + 1, work.border_store, 0)
    direction = np.empty(rider)
    back_substitute(work.border_store, 0, rider, rider + 1, np.array([-1.0]), direction)
    return direction.reshape(2, classes), store


@apart(CLIENT, COUNT, SPACE, MATRIX, NUMBER, NUMBERS, MATRIX, WORK, NUMBERS, NUMBERS)
def cell_direction(client, k, space, probability, ridge, gradient, shared, work, store, direction):
    """Direction of cell k's weights, given that of the shared ones."""
    classes, m = work.table.shape[0], direction.shape[0]
    bias, coefficients = work.bias, work.coefficients
    for c in range(classes):
        bias[c] = shared[0, c] * client.prior[c] + shared[1, c] * client.parent[k, c]
    if work.pairs[k] >= 0:
        lo, hi = client.starts[k], client.starts[k + 1]
        by_class(client.theta[k], work.table)
        pairs = find_pairs(space, lo, hi, probability, CERTAIN * ridge, work.pairs[k])
        pair_direction(
            space,
            client.codes,
            lo,
            probability,
            work.table,
            pairs,
            ridge,
            gradient,
            bias,
            coefficients,
            store,
            work.at[k],
            direction,
        )
        return
    for c in range(classes):
        coefficients[c] = -bias[c]
    coefficients[classes] = -1.0
    back_substitute(store, work.at[k], m, m + classes + 1, coefficients, direction)
