"""The forward pass: log tables of a structure and test rows in, normalised posteriors added up.

Every prediction of the package comes through here. For one test set and each structure::

    rows = prepare_rows(X, cardinalities)                        # once per test set; codes inside their domains
    cells, starts, order = sort_rows(rows, structure)            # the K cells that test rows fall into, ascending
    add_posteriors(rows, structure, starts, order, base, theta, out)

with, for each of these K cells (not those of the training rows) and V = ``structure.lanes``,

    base   (K, V)     w0 log P(y) + wP log P(cell | y);  -1e30 in pad lanes
    theta  (K, S, V)  w_j log P(value of j | y, cell), values in the order ``structure.offsets[j] + value``
    out    (rows, o)  softmax over classes of base[k] + sum_j theta[k, offsets[j] + x_j], added to what is there

so that a sum over structures needs no memory of its own. Weights of 1 give the generative model.

Attributes are grouped (consecutive ones, at most 96 joint values) once per test set. Where a cell holds enough
rows, the sums of each group are tabulated over its joint values and a row costs one look-up per group; elsewhere
it costs one per attribute, added up in the same order, so that a row's posterior has the same bits whatever
other rows are scored with it. The sums run over class lanes, blocks of 64 rows share one pass of exp.
"""

from dataclasses import dataclass

import numpy as np

from fedbayes.models.engine.compilation import compiled
from fedbayes.models.engine.layout import Structure, cell_index, sort_by_cell
from fedbayes.models.engine.vector_arithmetic import (
    add,
    advance,
    assign,
    assign_sum,
    exp,
    fill,
    lane_tuple,
    largest,
    pointer,
    stack,
    subtract_number,
    total,
)

JOINT_VALUES = 96
"""Most joint values of a group of attributes: its table then stays in the first-level cache."""


@dataclass(frozen=True)
class ScoringRows:
    """Test rows with what does not depend on the structure.

    Attributes
    ----------
    X : ndarray (rows, d) int32
        Codes inside their domains.
    columns : ndarray (d, rows) int32
        The same, attribute by attribute.
    cardinalities : ndarray (d,) int64
        Domain sizes.
    members : ndarray (G + 1,) int64
        Group g holds the attributes ``members[g] .. members[g + 1] - 1``.
    entries : ndarray (G + 1,) int64
        First entry of each group in the joint table of all groups.
    codes : ndarray (rows, G) int32
        ``entries[g]`` + joint value of group g, the last attribute fastest.
    """

    X: np.ndarray
    columns: np.ndarray
    cardinalities: np.ndarray
    members: np.ndarray
    entries: np.ndarray
    codes: np.ndarray


def group_attributes(cardinalities: np.ndarray, limit: int = JOINT_VALUES) -> tuple[np.ndarray, np.ndarray]:
    """Consecutive attributes in groups of at most `limit` joint values (or one attribute).

    Returns
    -------
    members, entries : ndarray (G + 1,) int64
        Bounds of the groups in attributes, and in joint values.
    """
    members, entries, product = [0], [0], 1
    for j, cardinality in enumerate(np.asarray(cardinalities).tolist()):
        if j > members[-1] and product * cardinality > limit:
            members.append(j)
            entries.append(entries[-1] + product)
            product = 1
        product *= cardinality
    members.append(len(cardinalities))
    entries.append(entries[-1] + product)
    return np.array(members, np.int64), np.array(entries, np.int64)


@compiled
def _joint_codes(X, cardinalities, members, entries, codes):
    for i in range(X.shape[0]):
        for g in range(codes.shape[1]):
            joint = 0
            for j in range(members[g], members[g + 1]):
                joint = joint * cardinalities[j] + X[i, j]
            codes[i, g] = entries[g] + joint


def prepare_rows(X: np.ndarray, cardinalities: np.ndarray) -> ScoringRows:
    """Group the attributes and code the rows' joint values.

    Parameters
    ----------
    X : ndarray (rows, d) of int
        Codes inside their domains.
    cardinalities : sequence of int
        Domain sizes.
    """
    X = np.ascontiguousarray(X, np.int32)
    cardinalities = np.ascontiguousarray(cardinalities, np.int64)
    members, entries = group_attributes(cardinalities)
    codes = np.empty((len(X), len(members) - 1), np.int32)
    _joint_codes(X, cardinalities, members, entries, codes)
    return ScoringRows(X, np.ascontiguousarray(X.T), cardinalities, members, entries, codes)


def sort_rows(rows: ScoringRows, structure: Structure) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Order the test rows by their cell.

    Returns
    -------
    cells : ndarray (K,) int64
        Cells that test rows fall into, ascending.
    starts : ndarray (K + 1,) int64
        Bounds of each cell's rows in `order`.
    order : ndarray (rows,) int64
        Row indices by cell, original order within a cell.
    """
    parents = np.array(structure.parents, np.int64)
    if structure.cells <= 1024 + 8 * len(rows.X):
        return _sort(rows.columns, parents, structure.parent_cardinalities, structure.cells)
    # far more cells than rows: number the occupied ones first
    cell = cell_index(rows.X, structure.parents, rows.cardinalities)
    cells, occupied = np.unique(cell, return_inverse=True)
    _, starts, order = sort_by_cell(occupied.reshape(-1), len(cells))
    return cells, starts, order


@compiled
def _sort(columns, parents, parent_cardinalities, n_cells):
    rows = columns.shape[1]
    cell = np.zeros(rows, np.int32)
    for a in range(parents.shape[0]):
        column, cardinality = columns[parents[a]], np.int32(parent_cardinalities[a])
        for i in range(rows):
            cell[i] = cell[i] * cardinality + column[i]
    return sort_by_cell(cell, n_cells)


def add_posteriors(
    rows: ScoringRows,
    structure: Structure,
    starts: np.ndarray,
    order: np.ndarray,
    base: np.ndarray,
    theta: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add the normalised posterior of one structure to `out`.

    Parameters
    ----------
    rows : ScoringRows
        The test rows.
    structure : Structure
        The structure; its cardinalities are those of `rows`.
    starts : ndarray (K + 1,) int64
        Bounds of each cell's rows in `order`.
    order : ndarray (rows,) int64
        Row indices by cell; see :func:`sort_rows`.
    base : ndarray (K, V) float64
        Score of each class before any attribute, -1e30 in pad lanes.
    theta : ndarray (K, S, V) float64
        Summand of each value of the attributes outside the superparents.
    out : ndarray (rows, o) float64
        Changed in place.
    """
    first_value = np.full(len(rows.cardinalities), -1, np.int64)
    first_value[structure.others] = structure.offsets
    add_cell_posteriors(
        lane_tuple(structure.lanes),
        starts,
        order,
        rows.X,
        rows.codes,
        rows.members,
        rows.entries,
        rows.cardinalities,
        first_value,
        base,
        theta,
        out,
    )


@compiled(inline="always")
def _tabulate(lanes, table, members, entries, cardinalities, first_value, theta):
    """Sums of each group's summands over its joint values; a superparent adds nothing, whatever its value."""
    width = len(lanes)
    running = stack(lanes, 1, 0)
    for g in range(members.shape[0] - 1):
        start = advance(table, entries[g] * width)
        fill(lanes, start, 0.0)
        n = 1
        for j in range(members[g], members[g + 1]):
            cardinality, first = cardinalities[j], first_value[j]
            for e in range(n - 1, -1, -1):  # from the back: the outer sums grow in place
                assign(lanes, running, advance(start, e * width))
                for v in range(cardinality):
                    target = advance(start, (e * cardinality + v) * width)
                    if first < 0:
                        assign(lanes, target, running)
                    else:
                        assign_sum(lanes, target, running, advance(theta, (first + v) * width))
            n *= cardinality


@compiled(inline="always")
def _flush(lanes, block, rows, order, start, out):
    """Softmax of the block's rows, added to their lines of `out`."""
    width = len(lanes)
    for i in range(rows):
        row = advance(block, i * width)
        subtract_number(lanes, row, largest(lanes, row))
    for i in range(rows * width):
        block[i] = exp(block[i])
    for i in range(rows):
        scale = 1.0 / total(lanes, advance(block, i * width))
        target = order[start + i]
        for c in range(out.shape[1]):
            out[target, c] += scale * block[i * width + c]


@compiled
def add_cell_posteriors(
    lanes, starts, order, X, codes, members, entries, cardinalities, first_value, base, theta, out
):
    """:func:`add_posteriors` for compiled callers, which hand over the fields of :class:`ScoringRows`.

    `lanes` is a lane tuple of V; ``first_value[j]`` is the first value of attribute j in `theta`, -1 for a
    superparent.
    """
    width = len(lanes)
    groups, attributes, values = codes.shape[1], X.shape[1], theta.shape[1]
    n = order.shape[0]
    block = stack(lanes, 64, 0)
    even, odd, part = stack(lanes, 1, 0), stack(lanes, 1, 0), stack(lanes, 1, 0)
    table = np.empty((entries[groups], width))
    for k in range(starts.shape[0] - 1):
        log_theta = advance(pointer(theta), k * values * width)
        rows_here = starts[k + 1] - starts[k]
        tabulated = rows_here * (attributes - groups) > entries[groups]
        if tabulated:
            _tabulate(lanes, pointer(table), members, entries, cardinalities, first_value, log_theta)
        for i in range(starts[k], starts[k + 1]):
            slot, row = i % 64, order[i]
            # two chains of additions: groups 0, 2, 4 ... and 1, 3, 5 ...
            assign(lanes, even, advance(pointer(base), k * width))
            fill(lanes, odd, 0.0)
            if tabulated:
                code = advance(pointer(codes), row * groups)
                for pair in range(groups // 2):
                    add(lanes, even, advance(pointer(table), np.int64(code[2 * pair]) * width))
                    add(lanes, odd, advance(pointer(table), np.int64(code[2 * pair + 1]) * width))
                if groups % 2 == 1:
                    add(lanes, even, advance(pointer(table), np.int64(code[groups - 1]) * width))
            else:
                value = advance(pointer(X), row * attributes)
                for g in range(groups):
                    fill(lanes, part, 0.0)
                    for j in range(members[g], members[g + 1]):
                        if first_value[j] >= 0:
                            add(lanes, part, advance(log_theta, (first_value[j] + value[j]) * width))
                    if g % 2 == 0:
                        add(lanes, even, part)
                    else:
                        add(lanes, odd, part)
            assign_sum(lanes, advance(block, slot * width), even, odd)
            if slot == 63 or i == n - 1:
                _flush(lanes, block, slot + 1, order, i - slot, out)
