"""One cell's part of the Newton system from joint values of attributes, for many rows and few classes.

The Hessian needs no products of features here: the products p[y] p[y'] of a row's posteriors are summed per
pair of entries of two groups, one addition per pair of groups, and these small tables are multiplied by log
theta from both sides once per cell. Only pairs of different classes are summed, since a class's own block
follows from p(1 - p) = sum of p p' over the others.
"""

from fedbayes.models.engine import vector_arithmetic as va
from fedbayes.models.engine.array_types import CODES, COUNT, MATRIX
from fedbayes.models.engine.compilation import apart, inner
from fedbayes.models.engine.newton_groups import GROUPS, ROOM
from fedbayes.models.engine.newton_tiles import subtract_product

_FOUR = va.lane_tuple(4)

NEGLIGIBLE = 1e-18
"""Rows whose products of posteriors are all below this add nothing to a Hessian kept definite by 1e-8."""


@inner
def _pair_products(lo, hi, probability, product, active):
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
        count += largest > NEGLIGIBLE
    return count


@inner
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


@inner
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


@apart(CODES, COUNT, COUNT, MATRIX, MATRIX, GROUPS, COUNT, ROOM, MATRIX)
def joint_products(codes, lo, hi, probability, table, groups, k, room, matrix):
    """Hessian of the loss in elimination order, with the biases' columns; upper triangle."""
    classes, q = table.shape[0], codes.shape[1]
    m, pairs = classes * q, classes * (classes - 1) // 2
    count, group_start, entry_start, example = (
        groups.count[k],
        groups.start[k],
        groups.entry[k],
        groups.example[k],
    )
    entries, own_rows = entry_start[count], groups.rows[lo:hi]
    product, active = room.product, room.active
    plane, left, turned, spread = room.plane, room.left, room.turned, room.spread
    rows = _pair_products(lo, hi, probability, product, active)
    _bias_products(classes, m, rows, product, matrix)
    # from the left: log theta of a group's attributes times the sums over its entries
    for group in range(count):
        first, last = entry_start[group], entry_start[group + 1]
        begin, members = group_start[group], group_start[group + 1] - group_start[group]
        width, height = entries - first, last - first
        if pairs == 1:
            plane[:height] = 0.0
            _tabulate_two(group, count, first, own_rows, active, rows, product, plane)
        else:
            room.tables[: 4 * width * height] = 0.0
            _tabulate_three(group, count, first, width, own_rows, active, rows, product, room.tables)
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


@inner
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


@inner
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
