"""Log tables of all clients from their sorted rows."""

import numpy as np

from fedbayes.models.engine import vector_arithmetic as va
from fedbayes.models.engine.compilation import compiled
from fedbayes.models.engine.vector_arithmetic import log

PAD_PRIOR = -1e30
"""log P(class) of a pad lane: switches the lane off in every softmax."""

_TWO = va.lane_tuple(2)  # there is an even number of lanes


@compiled
def log_of_counts(largest, smoothing):
    """log(i + smoothing) for i = 0 .. largest."""
    table = np.empty(largest + 1)
    for i in range(largest + 1):
        table[i] = log(i + smoothing)
    return table


@compiled
def _first_alike(cardinalities):
    """First attribute with the same cardinality, for each attribute."""
    alike = np.arange(cardinalities.shape[0])
    for j in range(cardinalities.shape[0]):
        i = 0
        while cardinalities[i] != cardinalities[j]:
            i += 1
        alike[j] = i
    return alike


@compiled
def _fill_dense(codes, y, cardinalities, alike, n_classes, log_counts, normaliser, theta):
    """Count a cell's rows in its table, then look all entries up."""
    theta[:] = 0.0
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            theta[codes[i, j], y[i]] += 1.0
    value = 0
    for j in range(cardinalities.shape[0]):
        for _ in range(cardinalities[j]):
            for v in range(n_classes):
                theta[value, v] = log_counts[np.int64(theta[value, v])] - normaliser[alike[j], v]
            value += 1


@compiled
def _fill_sparse(codes, y, cardinalities, alike, n_classes, log_counts, normaliser, counts, theta):
    """Write what is true of a count of zero, then the entries that the rows touch; ``counts`` stay 0."""
    width = theta.shape[1]
    empty = np.zeros(width)
    out = va.pointer(theta)
    for j in range(cardinalities.shape[0]):
        for v in range(n_classes):
            empty[v] = log_counts[0] - normaliser[alike[j], v]
        for _ in range(cardinalities[j]):
            for v in range(0, width, 2):
                va.assign(_TWO, va.advance(out, v), va.advance(va.pointer(empty), v))
            out = va.advance(out, width)
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            counts[codes[i, j], y[i]] += 1
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            count = counts[codes[i, j], y[i]]
            theta[codes[i, j], y[i]] = log_counts[count] - normaliser[alike[j], y[i]]
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            counts[codes[i, j], y[i]] = 0


@compiled
def fill_log_tables(
    first_row, first_cell, starts, codes, y, cardinalities, n_cells, n_classes, smoothing, log_counts,
    prior, unseen_parent, parent, theta,
):  # fmt: skip
    """Count the sorted rows of C clients and turn the counts into logarithms, in place of the tables.

    Client c owns the rows and occupied cells from ``first_row[c]`` and ``first_cell[c]`` on; ``starts`` holds
    the first row of each of its cells, counted within the client, and then its number of rows.
    ``log_counts[i]`` holds log(i + smoothing): most entries are looked up, few are computed. Besides the
    tables of :class:`fedbayes.models.engine.layout.LogTables` for all clients, ``unseen_parent`` (C, V) gets
    log P(cell | y) of a cell without rows.
    """
    width, values, q = prior.shape[1], theta.shape[1], cardinalities.shape[0]
    parent[:] = 0.0
    unseen_parent[:] = 0.0
    prior[:] = PAD_PRIOR
    alike, normaliser = _first_alike(cardinalities), np.zeros((q, width))
    counts = np.zeros((values, width), np.int64)
    for c in range(prior.shape[0]):
        low, rows = first_row[c], first_row[c + 1] - first_row[c]
        class_count = np.zeros(width)
        for k in range(first_cell[c], first_cell[c + 1]):
            first, last = low + starts[k + c], low + starts[k + c + 1]
            for i in range(first, last):
                parent[k, y[i]] += 1.0
            for j in range(q):
                if alike[j] == j:
                    for v in range(n_classes):
                        normaliser[j, v] = log(parent[k, v] + smoothing * cardinalities[j])
            own, labels = codes[first:last], y[first:last]
            if 2 * (last - first) * q <= values * n_classes:
                _fill_sparse(
                    own, labels, cardinalities, alike, n_classes, log_counts, normaliser, counts, theta[k]
                )  # fmt: skip
            else:
                _fill_dense(own, labels, cardinalities, alike, n_classes, log_counts, normaliser, theta[k])
            for v in range(n_classes):
                class_count[v] += parent[k, v]
        total = log(rows + smoothing * n_classes)
        for v in range(n_classes):
            prior[c, v] = log_counts[np.int64(class_count[v])] - total
            unseen = log(class_count[v] + smoothing * n_cells)
            unseen_parent[c, v] = log_counts[0] - unseen
            for k in range(first_cell[c], first_cell[c + 1]):
                parent[k, v] = log_counts[np.int64(parent[k, v])] - unseen
