"""The kernel with tables of joint values: for many rows per cell.

The attributes are put into groups. In each cell, and at each evaluation, the sums of weight * log theta over
a group are tabulated for all joint values of the group, so a row's score takes one addition per group; the
residuals are summed per joint value and taken apart into the attributes once per cell.
"""

import numpy as np

from fedbayes.models.engine import vector_arithmetic as va
from fedbayes.models.engine.compilation import compiled
from fedbayes.models.engine.problem import (
    ATTRIBUTES,
    CARDINALITIES,
    CELLS,
    ENTRIES,
    GROUP_ENTRIES,
    GROUP_MEMBERS,
    GROUPED,
    GROUPS,
    LABELS,
    OFFSETS,
    PARENT,
    PRIOR,
    SCRATCH,
    STARTS,
    THETA,
    VALUES,
)
from fedbayes.models.engine.softmax import BLOCK, softmax_residuals


@compiled
def group_codes(codes, offsets, cardinalities, members, entries, out):
    """Joint value of every group in every row, as an index into the tables of all groups."""
    for i in range(codes.shape[0]):
        for group in range(out.shape[1]):
            value = 0
            for j in range(members[group], members[group + 1]):
                value = value * cardinalities[j] + np.int64(codes[i, j]) - offsets[j]
            out[i, group] = entries[group] + value


@compiled
def _tabulate(lanes, weight, table, offsets, cardinalities, first, last, products, out):
    """Sum of weight * log theta over the attributes first..last-1, for each of their joint values."""
    width = len(lanes)
    accumulator = va.stack(lanes, 1, 0)
    n = cardinalities[first]
    for v in range(n):
        entry = va.advance(table, (offsets[first] + v) * width)
        va.assign_product(lanes, va.advance(out, v * width), entry, va.advance(weight, first * width))
    for j in range(first + 1, last):
        r = cardinalities[j]
        for v in range(r):
            entry = va.advance(table, (offsets[j] + v) * width)
            va.assign_product(lanes, va.advance(products, v * width), entry, va.advance(weight, j * width))
        for e in range(n - 1, -1, -1):  # in place, from the back
            va.assign(lanes, accumulator, va.advance(out, e * width))
            for v in range(r):
                target = va.advance(out, (e * r + v) * width)
                va.assign_sum(lanes, target, accumulator, va.advance(products, v * width))
        n *= r


@compiled
def _take_apart(lanes, slope, table, offsets, cardinalities, first, last, sums, histogram):
    """Gradient of the attributes first..last-1 from the residuals summed per joint value (destroyed)."""
    width = len(lanes)
    accumulator = va.stack(lanes, 1, 0)
    n = 1
    for j in range(first, last):
        n *= cardinalities[j]
    for j in range(last - 1, first - 1, -1):
        r = cardinalities[j]
        n //= r
        marginal = histogram
        if n > 1:
            marginal = sums
            for v in range(r):
                va.fill(lanes, va.advance(sums, v * width), 0.0)
            for e in range(n):
                va.fill(lanes, accumulator, 0.0)
                for v in range(r):
                    entry = va.advance(histogram, (e * r + v) * width)
                    va.add(lanes, accumulator, entry)
                    va.add(lanes, va.advance(sums, v * width), entry)
                va.assign(lanes, va.advance(histogram, e * width), accumulator)
        va.fill(lanes, accumulator, 0.0)
        for v in range(r):
            entry = va.advance(table, (offsets[j] + v) * width)
            va.multiply_add(lanes, accumulator, va.advance(marginal, v * width), entry)
        va.assign(lanes, va.advance(slope, j * width), accumulator)


def evaluate_joint(problem, weight, slope, lanes):
    """Negative conditional log-likelihood of one client; writes its gradient to ``slope``.

    The parameters are those of :func:`fedbayes.models.engine.span.evaluate_span`; the working space holds
    twice the entries of all groups' tables and the values of one attribute, each V numbers.
    """
    width, q, values, occupied = len(lanes), problem[ATTRIBUTES], problem[VALUES], problem[CELLS]
    groups, size = problem[GROUPS], problem[ENTRIES]
    starts, code, label = va.int64s(problem[STARTS]), va.uint16s(problem[GROUPED]), va.int32s(problem[LABELS])
    log_prior, log_parent = va.float64s(problem[PRIOR]), va.float64s(problem[PARENT])
    log_theta, sums = va.float64s(problem[THETA]), va.float64s(problem[SCRATCH])
    offsets, cardinalities = va.int64s(problem[OFFSETS]), va.int64s(problem[CARDINALITIES])
    members, entries = va.int64s(problem[GROUP_MEMBERS]), va.int64s(problem[GROUP_ENTRIES])
    objective = 0.0
    scores = va.stack(lanes, 64, 8)
    accumulator = va.stack(lanes, 1, 0)
    second = va.stack(lanes, 1, 0)
    base = va.stack(lanes, 1, 0)
    for i in range(BLOCK * width + 8):
        scores[i] = 0.0
    histogram = va.advance(sums, size * width)
    spare = va.advance(histogram, size * width)
    va.fill(lanes, slope, 0.0)
    va.fill(lanes, va.advance(slope, width), 0.0)
    for cell in range(occupied):
        table = va.advance(log_theta, cell * values * width)
        w = va.advance(weight, (2 + cell * q) * width)
        g = va.advance(slope, (2 + cell * q) * width)
        for group in range(groups):
            out = va.advance(sums, entries[group] * width)
            _tabulate(lanes, w, table, offsets, cardinalities, members[group], members[group + 1], spare, out)
        for i in range(size * width):
            histogram[i] = 0.0
        va.assign_product(lanes, base, weight, log_prior)
        va.multiply_add(lanes, base, va.advance(weight, width), va.advance(log_parent, cell * width))
        residuals = va.stack(lanes, 1, 0)
        va.fill(lanes, residuals, 0.0)
        for first in range(starts[cell], starts[cell + 1], BLOCK):
            n = min(BLOCK, starts[cell + 1] - first)
            for i in range(n):
                row = va.advance(code, (first + i) * groups)
                va.assign(lanes, accumulator, base)
                va.fill(lanes, second, 0.0)
                for pair in range(groups // 2):
                    va.add(lanes, accumulator, va.advance(sums, np.int64(row[2 * pair]) * width))
                    va.add(lanes, second, va.advance(sums, np.int64(row[2 * pair + 1]) * width))
                if groups % 2 == 1:
                    va.add(lanes, accumulator, va.advance(sums, np.int64(row[groups - 1]) * width))
                va.assign_sum(lanes, va.advance(scores, i * width), accumulator, second)
            objective += softmax_residuals(lanes, scores, va.advance(label, first), n)
            for i in range(n):
                row = va.advance(code, (first + i) * groups)
                va.assign(lanes, accumulator, va.advance(scores, i * width))
                va.add(lanes, residuals, accumulator)
                for group in range(groups):
                    va.add(lanes, va.advance(histogram, np.int64(row[group]) * width), accumulator)
        for group in range(groups):
            part = va.advance(histogram, entries[group] * width)
            first, last = members[group], members[group + 1]
            _take_apart(lanes, g, table, offsets, cardinalities, first, last, spare, part)
        va.multiply_add(lanes, slope, residuals, log_prior)
        va.multiply_add(lanes, va.advance(slope, width), residuals, va.advance(log_parent, cell * width))
    return objective
