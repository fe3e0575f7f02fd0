"""One cell's part of the Newton system from joint values of attributes, for many rows and few classes.

The attributes of a cell are put into groups, each with only so many joint values as really occur in the
cell's rows. A row then stands for one entry per group, and the Hessian needs no products of its features:
the products p[y] p[y'] of its posteriors are summed per pair of entries, one addition per pair of groups,
and these small tables are multiplied by log theta from both sides once per cell. Only pairs of different
classes are summed, since a class's own block follows from p(1 - p) = sum of p p' over the others.
"""

from typing import NamedTuple

import numpy as np

from fedbayes.models.engine import vector_arithmetic as va
from fedbayes.models.engine.compilation import compiled
from fedbayes.models.engine.newton_tiles import padded, subtract_product

MAXIMUM_CLASSES = 3
"""With more classes the tables of class pairs outgrow what they save."""

_FOUR = va.lane_tuple(4)


@compiled
def group_attributes(codes, lo, hi, offsets, values, limit, group_start, entry_start, example, groups):
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
            current[:] = joined
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


@compiled
def add_joint_scores(
    codes, lo, hi, table, weights, bias, count, group_start, entry_start, example, groups, scratch, scores
):
    """scores[c, i] = bias[c] + sum over attributes of weight * table, by one look-up per group."""
    classes = table.shape[0]
    q = codes.shape[1]
    for c in range(classes):
        for g in range(count):
            for e in range(entry_start[g], entry_start[g + 1]):
                total = 0.0
                for j in range(group_start[g], group_start[g + 1]):
                    total += weights[c * q + j] * table[c, codes[example[e], j]]
                scratch[e] = total
        for i in range(hi - lo):
            s0, s1 = bias[c], 0.0
            for g in range(0, count - 1, 2):
                s0 += scratch[groups[i, g]]
                s1 += scratch[groups[i, g + 1]]
            if count % 2 == 1:
                s0 += scratch[groups[i, count - 1]]
            scores[c, lo + i] = s0 + s1


@compiled
def joint_gradient(
    codes, lo, hi, residual, table, count, group_start, entry_start, example, groups, scratch, gradient, bias_gradient
):
    """Gradient of the loss in the cell's weights and biases."""
    classes = table.shape[0]
    q = codes.shape[1]
    for c in range(classes):
        for e in range(entry_start[count]):
            scratch[e] = 0.0
        total = 0.0
        for i in range(hi - lo):
            r = residual[c, lo + i]
            total += r
            for g in range(count):
                scratch[groups[i, g]] += r
        bias_gradient[c] = total
        for g in range(count):
            for j in range(group_start[g], group_start[g + 1]):
                value = 0.0
                for e in range(entry_start[g], entry_start[g + 1]):
                    value += table[c, codes[example[e], j]] * scratch[e]
                gradient[c * q + j] = value


@compiled
def pair_products(lo, hi, probability, threshold, product, active):
    """Products of the posteriors of two classes, for rows where they matter; returns the number of rows.

    ``product`` is (rows, 4): classes (0, 1) with two classes; (0, 1), (0, 2), (1, 2) with three.
    """
    count = 0
    three = probability.shape[0] == 3
    for i in range(lo, hi):
        p, r = probability[0, i], probability[1, i]
        product[count, 0] = p * r
        largest = p * r
        if three:
            s = probability[2, i]
            product[count, 1] = p * s
            product[count, 2] = r * s
            product[count, 3] = 0.0
            largest += p * s + r * s
        active[count] = i - lo
        count += largest > threshold
    return count


@compiled
def _tabulate_two(group, count, first, groups, active, rows, product, plane):
    """Sum the products per pair of entries of a group and of any later group (or itself): one class pair."""
    width = plane.shape[1]
    sums = plane.reshape(plane.size)
    for a in range(rows):
        i = active[a]
        at = (groups[i, group] - first) * width - first
        p = product[a, 0]
        for g in range(group, count):
            sums[at + groups[i, g]] += p


@compiled
def _tabulate_three(group, count, first, width, groups, active, rows, product, tables):
    """Sum the products per pair of entries: three class pairs side by side in four lanes."""
    target = va.pointer(tables)
    source = va.pointer(product)
    for a in range(rows):
        i = active[a]
        at = (groups[i, group] - first) * width - first
        p = va.advance(source, 4 * a)
        for g in range(group, count):
            va.add(_FOUR, va.advance(target, 4 * (at + groups[i, g])), p)


@compiled
def joint_products(
    codes, table, count, group_start, entry_start, example, groups, active, rows, product, room, ridge, matrix
):  # fmt: skip
    """Hessian of the loss in elimination order, with the biases' columns; upper triangle."""
    classes = table.shape[0]
    q = codes.shape[1]
    m = classes * q
    pairs = classes * (classes - 1) // 2
    entries = entry_start[count]
    plane, left, turned, spread = room.plane, room.left, room.turned, room.spread
    _bias_products(classes, m, rows, product, matrix)
    # from the left: log theta of a group's attributes times the sums over its entries
    for group in range(count):
        first, last = entry_start[group], entry_start[group + 1]
        begin, members = group_start[group], group_start[group + 1] - group_start[group]
        width, height = entries - first, last - first
        if pairs == 1:
            plane[:height] = 0.0
            _tabulate_two(group, count, first, groups, active, rows, product, plane)
        else:
            room.tables[: 4 * width * height] = 0.0
            _tabulate_three(group, count, first, width, groups, active, rows, product, room.tables)
        p = 0
        for c in range(classes):
            for d in range(c + 1, classes):
                if pairs > 1:
                    for e in range(height):
                        for t in range(width):
                            plane[e, t] = room.tables[4 * (e * width + t) + p]
                for e in range(height):
                    for j in range(members):
                        code = codes[example[first + e], begin + j]
                        left[e, j] = table[c, code]
                        left[e, members + j] = table[d, code]
                turned[: 2 * members] = 0.0
                subtract_product(turned, left, plane, height, 2 * members, 0, width)
                for j in range(members):
                    one, two = 0.0, 0.0
                    for e in range(height):
                        one += turned[j, e]
                        two += turned[members + j, e]
                    matrix[c * q + begin + j, m + d] = one
                    matrix[d * q + begin + j, m + c] = two
                for t in range(width):
                    for j in range(members):
                        spread[2 * p, first + t, begin + j] = turned[j, t]
                        spread[2 * p + 1, first + t, begin + j] = turned[members + j, t]
                p += 1
    _own_sums(classes, q, count, group_start, entry_start, spread, matrix)
    # from the right: all sums of one group's entries times log theta of its attributes
    for group in range(count):
        first, height = entry_start[group], entry_start[group + 1] - entry_start[group]
        begin, length = group_start[group], group_start[group + 1]
        members = length - begin
        for c in range(classes):
            for e in range(height):
                for j in range(members):
                    left[e, j] = table[c, codes[example[first + e], begin + j]]
            turned[:members] = 0.0
            subtract_product(turned, left, spread[2 * pairs + c, first:], height, members, 0, length)
            for j in range(members):
                for t in range(begin + j + 1):
                    matrix[c * q + t, c * q + begin + j] = turned[j, t]
                matrix[c * q + begin + j, c * q + begin + j] += ridge
            p = 0
            for b in range(classes):
                for d in range(b + 1, classes):
                    if d == c or b == c:
                        turned[:members] = 0.0
                        own = 2 * p if d == c else 2 * p + 1
                        subtract_product(turned, left, spread[own, first:], height, members, 0, length)
                        for j in range(members):
                            if d == c:
                                for t in range(length):
                                    matrix[b * q + t, d * q + begin + j] = -turned[j, t]
                            else:
                                for t in range(length):
                                    matrix[b * q + begin + j, d * q + t] = -turned[j, t]
                    p += 1


@compiled
def _bias_products(classes, m, rows, product, matrix):
    """Hessian in the biases alone."""
    for i in range(classes):
        for t in range(i, classes):
            matrix[m + i, m + t] = 0.0
    p = 0
    for c in range(classes):
        for d in range(c + 1, classes):
            total = 0.0
            for a in range(rows):
                total += product[a, p]
            matrix[m + c, m + d] = -total
            matrix[m + c, m + c] += total
            matrix[m + d, m + d] += total
            p += 1


@compiled
def _own_sums(classes, q, count, group_start, entry_start, spread, matrix):
    """For each class: its sums with all other classes together, and its weights' coupling to its own bias."""
    m, pairs = classes * q, classes * (classes - 1) // 2
    for c in range(classes):
        p = 0
        started = False
        for b in range(classes):
            for d in range(b + 1, classes):
                if b == c or d == c:
                    source = 2 * p if b == c else 2 * p + 1
                    for g in range(count):
                        for e in range(entry_start[g], entry_start[g + 1]):
                            for j in range(group_start[g + 1]):
                                value = spread[source, e, j]
                                if started:
                                    value += spread[2 * pairs + c, e, j]
                                spread[2 * pairs + c, e, j] = value
                    started = True
                p += 1
        for j in range(q):
            coupling = 0.0
            for d in range(classes):
                if d != c:
                    coupling -= matrix[c * q + j, m + d]
            matrix[c * q + j, m + c] = coupling


class Room(NamedTuple):
    """Arrays that the joint products of any of a client's cells fit in."""

    tables: np.ndarray
    plane: np.ndarray
    left: np.ndarray
    turned: np.ndarray
    spread: np.ndarray


@compiled
def make_room(classes, q, largest, height, members, entries):
    """Allocate: largest table, most entries and attributes of a group, most entries of a cell."""
    pairs = classes * (classes - 1) // 2
    return Room(
        np.empty(4 * largest if pairs > 1 else 0),
        np.zeros((height, padded(entries))),
        np.zeros((height, padded(2 * members))),
        np.zeros((padded(2 * members), max(padded(entries), padded(q)))),
        np.zeros((2 * pairs + classes, entries, padded(q))),
    )
