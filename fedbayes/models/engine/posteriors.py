"""Posteriors of clients' weighted models: log tables times weights into the common forward pass."""

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.core.typing import signature
from numba.extending import intrinsic

from fedbayes.models.engine import vector_arithmetic as va
from fedbayes.models.engine.clients import Clients
from fedbayes.models.engine.compilation import compiled, compiled_address
from fedbayes.models.engine.layout import Structure
from fedbayes.models.engine.scoring import ScoringRows, add_cell_posteriors
from fedbayes.models.engine.tables import PAD_PRIOR
from fedbayes.models.engine.vector_arithmetic import log

_TWO = va.lane_tuple(2)  # there is an even number of lanes
UNWEIGHTED, GLOBAL, LOCAL = 0, 1, 2
"""Kinds of weights: none (all 1), dense over all cells, or each client's own over its occupied cells."""

_NUMBERS = types.CPointer(types.float64)


def _add_posteriors(shapes, addresses, base, theta, out, lanes):
    """The forward pass over pointers: sizes, then addresses of the test rows in the order unpacked here."""
    cells, rows, attributes, groups, values, classes = (
        shapes[0], shapes[1], shapes[2], shapes[3], shapes[4], shapes[5],
    )  # fmt: skip
    add_cell_posteriors(
        lanes,
        carray(va.int64s(addresses[0]), (cells + 1,)),
        carray(va.int64s(addresses[1]), (rows,)),
        carray(va.int32s(addresses[2]), (rows, attributes)),
        carray(va.int32s(addresses[3]), (rows, groups)),
        carray(va.int64s(addresses[4]), (groups + 1,)),
        carray(va.int64s(addresses[5]), (groups + 1,)),
        carray(va.int64s(addresses[6]), (attributes,)),
        carray(va.int64s(addresses[7]), (attributes,)),
        carray(base, (cells, len(lanes))),
        carray(theta, (cells, values, len(lanes))),
        carray(out, (rows, classes)),
    )
    return 0


def _forward_address(width: int) -> int:
    indices = types.CPointer(types.int64)
    lanes = types.UniTuple(types.Tuple(()), width)
    arguments = (indices, indices, _NUMBERS, _NUMBERS, _NUMBERS, lanes)
    return compiled_address(_add_posteriors, signature(types.int64, *arguments))


@intrinsic
def _call(context, address, shapes, addresses, base, theta, out):
    # the tuple of empty tuples that ends the arguments takes no space and is not passed
    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.IntType(64), [argument.type for argument in arguments[1:]])
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    return types.int64(types.int64, shapes, addresses, base, theta, out), generate


@compiled
def _find(occupied, cells, found):
    """Position of each cell (ascending but for -1) among the occupied cells, -1 where it is not there."""
    k = 0
    for e in range(cells.shape[0]):
        if k == occupied.shape[0] or (k > 0 and occupied[k - 1] >= cells[e]):
            k = 0
        while k < occupied.shape[0] and occupied[k] < cells[e]:
            k += 1
        found[e] = k if k < occupied.shape[0] and occupied[k] == cells[e] else -1


@compiled
def _weigh(
    cells, found, kind, shared, weights, prior, unseen_parent, parent, theta, cardinalities, in_cell, smoothing,
    n_classes, unseen, base, out,
):  # fmt: skip
    """Tables of one client for some cells (-1: outside the domain), times the weights; pads stay off.

    ``shared`` is the place of its weights of P(y), ``weights[shared:]`` continues with those of P(cell | y)
    and of the cells. A cell without rows has probabilities from smoothing alone; its weights are 1 unless
    they are global. With ``unseen`` = 1 each attribute has one more value, with count zero, after those of
    its domain; ``in_cell`` then holds the counts of (cell, class).
    """
    q, width = cardinalities.shape[0], base.shape[1]
    own, uniform = np.zeros(width), np.empty(q)
    for j in range(q):
        uniform[j] = -log(np.float64(cardinalities[j]))
    for e in range(cells.shape[0]):
        k = found[e]
        place = -1
        if kind == GLOBAL and cells[e] >= 0:
            place = shared + width * (2 + cells[e] * q)
        elif kind == LOCAL and k >= 0:
            place = shared + width * (2 + k * q)
        for y in range(width):
            w0, wp = 1.0, 1.0
            if kind != UNWEIGHTED:
                w0, wp = weights[shared + y], weights[shared + width + y]
            base[e, y] = w0 * prior[y] + wp * (parent[k, y] if k >= 0 else unseen_parent[y])
            if y >= n_classes:
                base[e, y] = PAD_PRIOR
        value, wide = 0, 0
        goal = va.advance(va.pointer(out), e * out.shape[1] * width)
        entry = va.advance(va.pointer(theta), max(k, 0) * theta.shape[1] * width)
        for j in range(q):
            r = cardinalities[j]
            for y in range(n_classes):
                own[y] = weights[place + j * width + y] if place >= 0 else 1.0
            if k < 0:
                for y in range(n_classes):
                    own[y] = own[y] * uniform[j]
            for v in range(r):
                for y in range(0, width, 2):
                    target = va.advance(goal, (wide + v) * width + y)
                    if k >= 0:
                        log_theta = va.advance(entry, (value + v) * width + y)
                        va.assign_product(_TWO, target, va.advance(va.pointer(own), y), log_theta)
                    else:
                        va.assign(_TWO, target, va.advance(va.pointer(own), y))
            if unseen == 1:
                for y in range(width):
                    count = in_cell[k, y] if k >= 0 else 0.0
                    w = weights[place + j * width + y] if place >= 0 else 1.0
                    w = w if y < n_classes else 0.0
                    out[e, wide + r, y] = w * (log(smoothing) - log(count + smoothing * r))
            value += r
            wide += r + unseen


@compiled
def _score_clients(
    forward, shapes, addresses, first_cell, occupied, cells, kind, shared, weights, prior, unseen_parent, parent,
    theta, cardinalities, in_cell, smoothing, n_classes, unseen, posteriors,
):  # fmt: skip
    width = prior.shape[1]
    base, weighted = np.empty((cells.shape[0], width)), np.empty((cells.shape[0], shapes[4], width))
    found = np.empty(cells.shape[0], np.int64)
    for c in range(posteriors.shape[0]):
        first, last = first_cell[c], first_cell[c + 1]
        _find(occupied[first:last], cells, found)
        _weigh(
            cells, found, kind, shared[c], weights, prior[c], unseen_parent[c], parent[first:last],
            theta[first:last], cardinalities, in_cell[first:last], smoothing, n_classes, unseen, base, weighted,
        )  # fmt: skip
        _call(
            forward, va.pointer(shapes), va.pointer(addresses), va.pointer(base), va.pointer(weighted),
            va.pointer(posteriors[c]),
        )  # fmt: skip


def add_client_posteriors(
    clients: Clients,
    scored: Structure,
    kind: int,
    weights: np.ndarray,
    rows: ScoringRows,
    cells: np.ndarray,
    starts: np.ndarray,
    order: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add the posteriors of one structure under every client's model.

    Parameters
    ----------
    clients : Clients
        Rows and tables of all clients.
    scored : Structure
        The clients' structure over the domains of the test rows: wider by one value each where test rows
        hold values outside the domains.
    kind : int
        ``UNWEIGHTED``, ``GLOBAL`` or ``LOCAL``: what the weights are.
    weights : ndarray
        Flat weights (empty where there are none).
    rows, starts, order
        The test rows sorted by cell; see :mod:`fedbayes.models.engine.scoring`.
    cells : ndarray (K,) int64
        Their cells in the clients' structure, -1 for a superparent's value outside its domain.
    out : ndarray (clients, rows, o)
        Changed in place.
    """
    structure = clients.structure
    unseen = int(scored.values != structure.values)
    first_value = np.full(len(rows.cardinalities), -1, np.int64)
    first_value[scored.others] = scored.offsets
    arrays = (
        starts, order, rows.X, rows.codes, rows.members, rows.entries, rows.cardinalities, first_value,
    )  # fmt: skip
    shapes = np.array([len(cells), *rows.X.shape, rows.codes.shape[1], scored.values, structure.classes])
    shared = np.zeros(len(clients), np.int64)
    if kind == LOCAL:
        shared = structure.lanes * (
            2 * np.arange(len(clients)) + clients.first_cell[:-1] * len(structure.others)
        )  # fmt: skip
    _score_clients(
        _forward_address(structure.lanes), shapes, np.array([a.ctypes.data for a in arrays]),
        clients.first_cell, clients.cells, cells, kind, shared, weights, clients.prior, clients.unseen_parent,
        clients.parent, clients.theta, structure.cardinalities, _class_counts(clients, unseen),
        clients.smoothing, structure.classes, unseen, out,
    )  # fmt: skip


def _class_counts(clients: Clients, wanted: int) -> np.ndarray:
    """Count the rows by (occupied cell, class); zeros where they are not wanted."""
    counts = np.zeros(clients.parent.shape)
    if wanted:
        sizes = [np.diff(clients.view(c)[0].starts) for c in range(len(clients))]
        np.add.at(counts, (np.repeat(np.arange(len(counts)), np.concatenate(sizes)), clients.y), 1.0)
    return counts
