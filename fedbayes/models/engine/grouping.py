"""Which kernel a client's rows get, and which attributes share a table of joint values."""

from functools import lru_cache
from itertools import pairwise

import numpy as np

_LARGEST_GROUP = 1024
_LARGEST_TABLE = 16384  # numbers in the tables of all groups: with as many sums they fit a second-level cache


@lru_cache(maxsize=4096)
def groupings(cardinalities: tuple[int, ...], width: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Ways to put consecutive attributes into groups, from small groups to large ones.

    Parameters
    ----------
    cardinalities : tuple of int
        Domain sizes of the attributes.
    width : int
        Number of lanes.

    Returns
    -------
    list of (members, entries)
        First attribute, and first entry in the tables of all groups, of each group (groups + 1,) int64.
    """
    found = {}
    limit = 2
    while limit <= _LARGEST_GROUP:
        members, entries, product = [0], [0], 1
        for j, cardinality in enumerate(cardinalities):
            if j > members[-1] and product * cardinality > limit:
                members.append(j)
                entries.append(entries[-1] + product)
                product = 1
            product *= cardinality
        members.append(len(cardinalities))
        entries.append(entries[-1] + product)
        if entries[-1] * width <= _LARGEST_TABLE:
            found.setdefault(tuple(members), np.array(entries))
        limit *= 2
    return [(np.array(members), entries) for members, entries in found.items()]


def choose(cardinalities: np.ndarray, width: int, rows: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Choose the least work for each client: an index into :func:`groupings`, or -1 for no groups at all."""
    return _work(cardinalities, width, rows, cells).argmin(axis=0) - 1


def least_work(cardinalities: np.ndarray, width: int, rows: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Work of each client's evaluation with the kernel that :func:`choose` chooses."""
    return _work(cardinalities, width, rows, cells).min(axis=0)


def _work(cardinalities, width, rows, cells):
    """Work (1 + groupings, clients) without groups and with each grouping.

    Weighs operations per row (7 per group with tables, 6 per attribute without) against those per occupied
    cell and table entry (10), as measured; it looks at nothing else, so the choice is the same everywhere.
    """
    options = groupings(tuple(cardinalities.tolist()), width)
    work = np.empty((len(options) + 1, len(rows)), np.int64)
    work[0] = 6 * rows * len(cardinalities)
    for index, (members, entries) in enumerate(options):
        work[index + 1] = 7 * rows * (len(members) - 1) + 10 * cells * entries[-1]
    return work


def runs(choice: np.ndarray) -> list[tuple[int, int, int]]:
    """(choice, first, last + 1) of each run of neighbouring clients with the same choice."""
    bounds = [0, *(np.flatnonzero(np.diff(choice)) + 1).tolist(), len(choice)]
    return [(int(choice[low]), low, high) for low, high in pairwise(bounds)]
