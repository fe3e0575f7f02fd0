"""One client's objective on one structure, and the choice between the kernels."""

from typing import NamedTuple

import numpy as np

from fedbayes.models.engine.compilation import compiled
from fedbayes.models.engine.joint import evaluate_joint, group_codes
from fedbayes.models.engine.span import evaluate_span

_LARGEST_GROUP = 1024
_LARGEST_TABLE = 16384  # numbers in the tables of all groups: with as many sums they fit a second-level cache


class Objective(NamedTuple):
    """What an evaluation needs besides the weights: rows, log tables, and the groups of attributes.

    ``grouped`` has no columns where the kernel without tables is the faster one.
    """

    starts: np.ndarray
    codes: np.ndarray
    grouped: np.ndarray
    y: np.ndarray
    prior: np.ndarray
    parent: np.ndarray
    theta: np.ndarray
    offsets: np.ndarray
    cardinalities: np.ndarray
    members: np.ndarray
    entries: np.ndarray
    scratch: np.ndarray


@compiled
def evaluate(lanes, objective, weights, gradient):
    """Negative conditional log-likelihood at the weights; writes its gradient."""
    o = objective
    if o.grouped.shape[1] == 0:
        return evaluate_span(
            lanes, weights, gradient, o.starts, o.codes, o.y, o.prior, o.parent, o.theta
        )  # fmt: skip
    return evaluate_joint(
        lanes, weights, gradient, o.starts, o.grouped, o.y, o.prior, o.parent, o.theta,
        o.offsets, o.cardinalities, o.members, o.entries, o.scratch,
    )  # fmt: skip


@compiled
def _group(cardinalities, limit):
    """Put consecutive attributes together while their joint values stay within the limit."""
    q = cardinalities.shape[0]
    members = np.zeros(q + 1, np.int64)
    entries = np.zeros(q + 1, np.int64)
    groups, product = 0, 1
    for j in range(q):
        if j > members[groups] and product * cardinalities[j] > limit:
            groups += 1
            members[groups] = j
            entries[groups] = entries[groups - 1] + product
            product = 1
        product *= cardinalities[j]
    groups += 1
    members[groups] = q
    entries[groups] = entries[groups - 1] + product
    return members[: groups + 1], entries[: groups + 1]


@compiled
def choose_groups(cardinalities, rows, cells, width):
    """Groups of attributes with the least work for so many rows in so many cells.

    Weighs operations per row (7 per group with tables, 6 per attribute without) against those per cell and
    table entry (10), as measured; it looks at nothing else, so the choice is the same on every machine.

    Returns
    -------
    members, entries : ndarray (groups + 1,) int64
        First attribute and first table entry of each group; no groups where tables do not pay.
    """
    members, entries = np.zeros(1, np.int64), np.zeros(1, np.int64)
    least = 6 * rows * cardinalities.shape[0]
    limit = 2
    while limit <= _LARGEST_GROUP:
        m, e = _group(cardinalities, limit)
        size = e[-1]
        work = 7 * rows * (m.shape[0] - 1) + 10 * cells * size
        if work < least and size * width <= _LARGEST_TABLE:
            least, members, entries = work, m, e
        limit *= 2
    return members, entries


@compiled
def make_objective(lanes, starts, codes, y, prior, parent, theta, offsets, cardinalities):
    """Choose the kernel for one client's rows and prepare what it needs."""
    members, entries = choose_groups(cardinalities, y.shape[0], parent.shape[0], len(lanes))
    groups = members.shape[0] - 1
    grouped = np.empty((y.shape[0] if groups > 0 else 0, groups), np.uint16)
    largest = 0
    if groups > 0:
        group_codes(codes, offsets, cardinalities, members, entries, grouped)
        largest = cardinalities.max()
    scratch = np.empty((2 * entries[groups] + largest, len(lanes)))
    return Objective(
        starts, codes, grouped, y, prior, parent, theta, offsets, cardinalities, members, entries, scratch
    )
