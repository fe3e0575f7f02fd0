"""Groups of attributes: in each cell, the joint values that its rows really take.

A row stands for one entry per group. Scores take one look-up per group instead of one per attribute, residuals
are summed per entry, and the Hessian is made from pairs of entries (:mod:`newton_joint`).
"""

from typing import NamedTuple

import numpy as np
from numba import types

from fedbayes.models.engine.array_types import (
    CODES,
    COUNT,
    COUNT_MATRIX,
    COUNTS,
    CUBE,
    FLAGS,
    MATRIX,
    NUMBERS,
)
from fedbayes.models.engine.compilation import apart, inner
from fedbayes.models.engine.newton_tiles import padded

MAXIMUM_CLASSES = 3
"""With more classes the tables of class pairs outgrow what they save."""

LARGEST_GROUP = 64
"""Most joint values of a group of several attributes."""


class Groups(NamedTuple):
    """How the attributes of each cell are grouped.

    ``joint`` tells which cells are better off with it. Up to ``most_pairs`` uncertain pairs of a row and a class,
    the space of rows (:mod:`newton_rowspace`) is better still.
    A cell's group g has the attributes ``start[k, g]..`` and the entries ``entry[k, g]..``; ``example[k, e]`` is
    a row that has entry e, ``rows[i, g]`` the entry of row i.
    """

    joint: np.ndarray
    most_pairs: np.ndarray
    count: np.ndarray
    start: np.ndarray
    entry: np.ndarray
    example: np.ndarray
    rows: np.ndarray


GROUPS = types.NamedTuple((FLAGS, COUNTS, COUNTS, COUNT_MATRIX, COUNT_MATRIX, CODES, CODES), Groups)


class Room(NamedTuple):
    """Arrays that the joint products of any of a client's cells fit in."""

    product: np.ndarray
    active: np.ndarray
    tables: np.ndarray
    plane: np.ndarray
    left: np.ndarray
    turned: np.ndarray
    spread: np.ndarray


ROOM = types.NamedTuple((MATRIX, COUNTS, NUMBERS, MATRIX, MATRIX, MATRIX, CUBE), Room)


@apart(COUNTS, CODES, COUNTS, COUNT, COUNT)
def make_groups(starts, codes, offsets, values, classes):
    """Group the attributes of every cell, and decide by cost which cells are better off with it.

    The more rows a cell has, the larger are the tables that pay. Costs are in multiply-adds of a product of
    matrices; an addition to a table costs a few of them.

    Returns
    -------
    Groups, Room
    """
    cells, q = starts.shape[0] - 1, codes.shape[1]
    worthwhile = 2 <= classes <= MAXIMUM_CLASSES  # one class has no pairs
    m, pairs = classes * q, classes * (classes - 1) // 2
    most = values + q * LARGEST_GROUP if worthwhile else 1
    groups = Groups(
        np.zeros(cells, np.bool_),
        np.empty(cells, np.int64),
        np.zeros(cells, np.int64),
        np.zeros((cells, q + 1), np.int64),
        np.zeros((cells, q + 1), np.int64),
        np.zeros((cells, most), np.int32),
        np.empty((codes.shape[0] if worthwhile else 0, q), np.int32),
    )
    rows, table, height, members, entries = 0, 0, 0, 0, 0
    for k in range(cells):
        lo, hi = starts[k], starts[k + 1]
        n = hi - lo
        by_rows = n * (m * m / 2.0 + 2.0 * m) + m**3 / 6.0
        groups.most_pairs[k] = _most_pairs(by_rows, m)
        if not worthwhile or n < 16:
            continue
        limit = max(4, min(LARGEST_GROUP, int(0.7 * np.sqrt(n))))
        start, entry = groups.start[k], groups.entry[k]
        count = _group_attributes(
            codes, lo, hi, offsets, values, limit, start, entry, groups.example[k], groups.rows[lo:hi]
        )
        groups.count[k] = count
        cost = n * count * (count + 1) / 2.0 * (2.5 if pairs == 1 else 5.0) + m**3 / 6.0
        for g in range(count):
            own, high, wide = start[g + 1] - start[g], entry[g + 1] - entry[g], entry[count] - entry[g]
            cost += 2.0 * pairs * high * wide * (own + 2.0)
            cost += own * (2.0 * pairs + classes) * high * (start[g + 1] + 8.0)
        if cost < by_rows:
            groups.joint[k] = True
            groups.most_pairs[k] = _most_pairs(cost, m)
            rows, entries = max(rows, n), max(entries, entry[count])
            for g in range(count):
                high = entry[g + 1] - entry[g]
                table = max(table, high * (entry[count] - entry[g]))
                height = max(height, high)
                members = max(members, start[g + 1] - start[g])
    if rows == 0:
        pairs, classes = 0, 0
    room = Room(
        np.empty((rows, 4)),
        np.empty(rows, np.int64),
        np.empty(4 * table if pairs > 1 else 0),
        np.zeros((height, padded(entries))),
        np.zeros((height, padded(2 * members))),
        np.zeros((padded(2 * members), max(padded(entries), padded(q)))),
        np.zeros((2 * pairs + classes, entries, padded(q))),
    )
    return groups, room


@inner
def _most_pairs(cost, m):
    """Largest number of pairs, not above that of weights, for which row space costs less."""
    pairs = 0
    while pairs < m and (pairs + 1) ** 3 / 6.0 + 8.0 * (pairs + 1) ** 2 <= cost:
        pairs += 1
    return pairs


@apart(CODES, COUNT, COUNT, COUNTS, COUNT, COUNT, COUNTS, COUNTS, types.int32[::1], CODES)
def _group_attributes(codes, lo, hi, offsets, values, limit, group_start, entry_start, example, groups):
    """Put neighbouring attributes into groups of at most ``limit`` joint values, as far as rows occupy them.

    Parameters
    ----------
    codes, lo, hi : ndarray (rows, q), int, int
        The cell's rows.
    offsets, values : ndarray (q,), int
        First code of each attribute, and the number of all codes.
    limit : int
        An attribute joins a group as long as the joint values are not more.
    group_start, entry_start : ndarray (q + 1,)
        Filled with the first attribute and the first entry of each group.
    example : ndarray (values or more,)
        Filled with a row for each entry that has this joint value.
    groups : ndarray (hi - lo, q)
        Filled with each row's entries.

    Returns
    -------
    int
        Number of groups.
    """
    q = codes.shape[1]
    rows = hi - lo
    count, entries, j = 0, 0, 0
    current, joined = np.empty(rows, np.int64), np.empty(rows, np.int64)
    group_start[0] = 0
    entry_start[0] = 0
    while j < q:
        current[:] = 0
        size, first = 1, j
        while j < q:
            width = (offsets[j + 1] if j + 1 < q else values) - offsets[j]
            number = np.full(size * width, -1)
            found = 0
            for i in range(rows):
                at = current[i] * width + np.int64(codes[lo + i, j]) - offsets[j]
                if number[at] < 0:
                    if j > first and found == limit:
                        found += 1
                        break
                    number[at] = found
                    found += 1
                joined[i] = number[at]
            if j > first and found > limit:
                break
            for i in range(rows):
                current[i] = joined[i]
            size = found
            j += 1
        for i in range(rows - 1, -1, -1):
            groups[i, count] = entries + current[i]
            example[entries + current[i]] = lo + i
        count += 1
        entries += size
        group_start[count] = j
        entry_start[count] = entries
    return count


@inner
def add_joint_scores(codes, lo, hi, table, weights, bias, groups, k, scratch, scores):
    """scores[c, i] = bias[c] + sum over attributes of weight * table, by one look-up per group."""
    classes, q = table.shape[0], codes.shape[1]
    count, start, entry, example = groups.count[k], groups.start[k], groups.entry[k], groups.example[k]
    for c in range(classes):
        for g in range(count):
            for e in range(entry[g], entry[g + 1]):
                total = 0.0
                for j in range(start[g], start[g + 1]):
                    total += weights[c * q + j] * table[c, codes[example[e], j]]
                scratch[e] = total
        for i in range(lo, hi):
            s0, s1 = bias[c], 0.0
            for g in range(0, count - 1, 2):
                s0 += scratch[groups.rows[i, g]]
                s1 += scratch[groups.rows[i, g + 1]]
            if count % 2 == 1:
                s0 += scratch[groups.rows[i, count - 1]]
            scores[c, i] = s0 + s1


@inner
def joint_gradient(codes, lo, hi, residual, table, groups, k, scratch, gradient, bias_gradient):
    """Add the gradient of the loss in the cell's weights; set that in its biases."""
    classes, q = table.shape[0], codes.shape[1]
    count, start, entry, example = groups.count[k], groups.start[k], groups.entry[k], groups.example[k]
    for c in range(classes):
        scratch[: entry[count]] = 0.0
        total = 0.0
        for i in range(lo, hi):
            r = residual[c, i]
            total += r
            for g in range(count):
                scratch[groups.rows[i, g]] += r
        bias_gradient[c] = total
        for g in range(count):
            for j in range(start[g], start[g + 1]):
                value = 0.0
                for e in range(entry[g], entry[g + 1]):
                    value += table[c, codes[example[e], j]] * scratch[e]
                gradient[c * q + j] += value
