"""The loops that count subsets of attributes: by bit sets where these are short, else row by row.

For each n-subset of attributes in lexicographic order (the prefix), the later attributes are counted against its
cells, which visits every subset of n + 1 attributes once, in lexicographic order. Rows are ordered by class and
each value of each attribute is a set of bits over the rows; the count of a joint value within a class is the
number of bits in an intersection, 64 rows at a time. The last value of an attribute needs no counting: it has
what the others leave.
"""

import numpy as np
from numba import types
from numba.extending import intrinsic

from fedbayes.models.engine.compilation import compiled


@intrinsic
def _bits_set(context, word):
    """Number of bits set in a 64-bit word."""

    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@compiled
def subset_offsets(cardinalities, size, subsets):
    """Cumulated numbers of joint values of all subsets of `size` attributes in lexicographic order."""
    d = cardinalities.shape[0]
    offsets = np.zeros(subsets + 1, np.int64)
    subset = np.arange(size)
    for t in range(subsets):
        product = 1
        for a in range(size):
            product *= cardinalities[subset[a]]
        offsets[t + 1] = offsets[t] + product
        _next_subset(subset, d)
    return offsets


@compiled
def _next_subset(subset, d):
    """Turn `subset` into the lexicographically next one of 0 .. d - 1; False when there is none."""
    size = subset.shape[0]
    a = size - 1
    while a >= 0 and subset[a] == d - size + a:
        a -= 1
    if a < 0:
        return False
    subset[a] += 1
    for b in range(a + 1, size):
        subset[b] = subset[b - 1] + 1
    return True


@compiled
def locate_subsets(parents, others, cardinalities, offsets, binomials, offset, inner):
    """First count of each subset parents + {j}, and the number of joint values of the parents after j."""
    d, n = cardinalities.shape[0], parents.shape[0]
    subset = np.empty(n + 1, np.int64)
    for index in range(others.shape[0]):
        j = others[index]
        before = 0
        while before < n and parents[before] < j:
            before += 1
        subset[before] = j
        for a in range(n):  # assigning slices takes seconds to compile
            subset[a if a < before else a + 1] = parents[a]
        rank, previous = 0, -1  # how many subsets come before this one
        for a in range(n + 1):
            left = n + 1 - a
            rank += binomials[d - previous - 1, left] - binomials[d - subset[a], left]
            previous = subset[a]
        offset[index] = offsets[rank]
        inner[index] = 1
        for a in range(before, n):
            inner[index] *= cardinalities[parents[a]]


@compiled
def count_structure(X, y, parents, parent_cardinalities, others, first_value, values, counts):
    """Add the counts of one structure, laid out (cell, value, class)."""
    for i in range(X.shape[0]):
        cell = np.int64(0)
        for a in range(parents.shape[0]):
            cell = cell * parent_cardinalities[a] + X[i, parents[a]]
        for j in range(others.shape[0]):
            counts[cell * values + first_value[j] + X[i, others[j]], y[i]] += 1


@compiled
def _value_sets(columns, order, class_starts, word_starts, cardinalities, first_value, sets):
    """Bit sets of all values; each class begins a new word."""
    for c in range(class_starts.shape[0] - 1):
        for i in range(class_starts[c], class_starts[c + 1]):
            at = i - class_starts[c]
            word, bit = word_starts[c] + at // 64, np.uint64(1) << np.uint64(at % 64)
            for j in range(cardinalities.shape[0]):
                sets[first_value[j] + columns[j, order[i]], word] |= bit


@compiled
def count_subsets(columns, y, order, class_starts, cardinalities, n, counts):
    """Add the counts of all subsets of n + 1 attributes.

    Parameters
    ----------
    columns : ndarray (d, rows) int32
        Codes, attribute by attribute.
    y : ndarray (rows,) int32
        Classes.
    order : ndarray (rows,) int64
        Rows by class.
    class_starts : ndarray (o + 1,) int64
        Bounds of the classes in `order`.
    cardinalities : ndarray (d,) int64
        Domain sizes.
    n : int
        Size of the prefix.
    counts : ndarray (joint values of all subsets, o) int32
        Changed in place.
    """
    d, rows = columns.shape
    o = counts.shape[1]
    word_starts = np.zeros(o + 1, np.int64)
    for c in range(o):
        word_starts[c + 1] = word_starts[c] + (class_starts[c + 1] - class_starts[c] + 63) // 64
    words = word_starts[o]
    first_value = np.zeros(d + 1, np.int64)
    for j in range(d):
        first_value[j + 1] = first_value[j] + cardinalities[j]
    sets = np.zeros((first_value[d], words), np.uint64)
    _value_sets(columns, order, class_starts, word_starts, cardinalities, first_value, sets)

    prefix = np.arange(n)
    cell_of_row = np.empty(rows, np.int64)
    members = np.empty(words, np.uint64)
    in_cell = np.empty(o, np.int64)
    one, offset, more = (
        np.int64(1),
        np.int64(0),
        True,
    )  # of one type from the start: callees are compiled once
    while more:
        first = prefix[n - 1] + 1 if n > 0 else 0
        cells = one
        for a in range(n):
            cells *= cardinalities[prefix[a]]
        if first < d:
            # attributes with few values go by bit sets, the others row by row
            by_sets, by_rows = False, False
            for j in range(first, d):
                if _by_sets(cells, cardinalities[j], words, o, rows):
                    by_sets = True
                else:
                    by_rows = True
            if by_sets:
                for cell in range(cells):
                    _cell_members(sets, prefix, cardinalities, first_value, cell, members)
                    _count_by_sets(
                        sets, members, word_starts, cardinalities, first_value, first, cells, cell, rows,
                        offset, in_cell, counts,
                    )  # fmt: skip
            if by_rows:
                _cells_of_rows(columns, prefix, cardinalities, cell_of_row)
            at = offset
            for j in range(first, d):
                if not _by_sets(cells, cardinalities[j], words, o, rows):
                    for i in range(rows):
                        counts[at + cell_of_row[i] * cardinalities[j] + columns[j, i], y[i]] += 1
                at += cells * cardinalities[j]
            offset = at
        more = _next_subset(prefix, d)


@compiled(inline="always")
def _by_sets(cells, cardinality, words, classes, rows):
    """Whether bit sets are faster: a row costs about as much as eight words, a class as much as six."""
    return cells * (cardinality - 1) * (words + 6 * classes) <= 8 * rows


@compiled
def _cells_of_rows(columns, prefix, cardinalities, cell_of_row):
    cell_of_row[:] = 0
    for a in range(prefix.shape[0]):
        for i in range(cell_of_row.shape[0]):
            cell_of_row[i] = cell_of_row[i] * cardinalities[prefix[a]] + columns[prefix[a], i]


@compiled
def _cell_members(sets, prefix, cardinalities, first_value, cell, members):
    """Rows whose values on the prefix are the given cell."""
    n = prefix.shape[0]
    for w in range(members.shape[0]):
        members[w] = ~np.uint64(0)
    left = cell
    for a in range(n - 1, -1, -1):
        j = prefix[a]
        value = sets[first_value[j] + left % cardinalities[j]]
        left //= cardinalities[j]
        for w in range(members.shape[0]):
            members[w] &= value[w]


@compiled
def _count_by_sets(
    sets, members, word_starts, cardinalities, first_value, first, cells, cell, rows, offset, in_cell, counts
):
    """Counts of the attributes from `first` on within one cell."""
    o, words = counts.shape[1], members.shape[0]
    known = False
    at = offset
    for j in range(first, cardinalities.shape[0]):
        cardinality = cardinalities[j]
        if _by_sets(cells, cardinality, words, o, rows):
            if not known:
                # the members of the cell: any attribute's values together
                known = True
                for c in range(o):
                    in_cell[c] = 0
                for v in range(cardinality):
                    for c in range(o):
                        in_cell[c] += _common(
                            sets[first_value[j] + v], members, word_starts[c], word_starts[c + 1]
                        )
            row = at + cell * cardinality
            for c in range(o):
                if in_cell[c] == 0:
                    continue
                left = in_cell[c]
                for v in range(cardinality - 1):
                    number = _common(sets[first_value[j] + v], members, word_starts[c], word_starts[c + 1])
                    counts[row + v, c] += number
                    left -= number
                counts[row + cardinality - 1, c] += left
        at += cells * cardinality


@compiled(inline="always")
def _common(left, right, start, stop):
    """Number of rows in both sets, words start .. stop - 1."""
    number = 0
    for w in range(start, stop):
        number += _bits_set(left[w] & right[w])
    return number
