"""Posteriors of clients' weighted models: log tables times weights into the common forward pass."""

import numpy as np

from fedbayes.models.engine.clients import Clients
from fedbayes.models.engine.compilation import compiled
from fedbayes.models.engine.layout import Structure
from fedbayes.models.engine.scoring import ScoringRows, add_cell_posteriors
from fedbayes.models.engine.vector_arithmetic import lane_tuple, log

UNWEIGHTED, GLOBAL, LOCAL = 0, 1, 2
"""Kinds of weights: none (all 1), dense over all cells, or each client's own over its occupied cells."""


@compiled
def _weighted_tables(
    clients, c, cells, kind, weights, smoothing, n_classes, unseen, width, base, theta
):  # fmt: skip
    """Tables of client c for some cells (-1: outside the domain), times the weights; pads stay off.

    A cell without rows has probabilities from smoothing alone; its weights are 1 unless they are global. With
    ``unseen`` = 1 each attribute has one more value, with count zero, after those of its domain.
    """
    q = clients.cardinalities.shape[0]
    first, last = clients.first_cell[c], clients.first_cell[c + 1]
    low = clients.first_row[c]
    start = 0
    if kind == LOCAL:
        start = width * (2 * c + first * q)
    prior = clients.prior[c]
    log_smoothing = log(smoothing)
    in_cell = np.zeros(width)
    found = first
    for e in range(cells.shape[0]):
        cell = cells[e]
        k = -1
        if cell >= 0:
            if found < last and clients.cells[found] > cell:
                found = first
            while found < last and clients.cells[found] < cell:
                found += 1
            if found < last and clients.cells[found] == cell:
                k = found
        place = -1
        if kind == GLOBAL and cell >= 0:
            place = width * (2 + cell * q)
        elif kind == LOCAL and k >= 0:
            place = start + width * (2 + (k - first) * q)
        for y in range(width):
            w0, wp = 1.0, 1.0
            if kind != UNWEIGHTED:
                w0, wp = weights[start + y], weights[start + width + y]
            parent = clients.parent[k, y] if k >= 0 else clients.unseen_parent[c, y]
            base[e, y] = w0 * prior[y] + wp * parent
        if unseen == 1:
            in_cell[:] = 0.0
            if k >= 0:
                for i in range(clients.starts[k + c], clients.starts[k + c + 1]):
                    in_cell[clients.y[low + i]] += 1.0
        value, wide = 0, 0
        for j in range(q):
            r = clients.cardinalities[j]
            flat = -log(np.float64(r))
            for y in range(width):
                w = 1.0 if place < 0 else weights[place + j * width + y]
                for v in range(r):
                    if k >= 0:
                        theta[e, wide + v, y] = w * clients.theta[k, value + v, y]
                    else:
                        theta[e, wide + v, y] = w * flat if y < n_classes else 0.0
                if unseen == 1:
                    empty = log_smoothing - log(in_cell[y] + smoothing * r)
                    theta[e, wide + r, y] = w * empty if y < n_classes else 0.0
            value += r
            wide += r + unseen


@compiled
def _score_clients(
    lanes, clients, cells, kind, weights, smoothing, n_classes, unseen, starts, order, X, codes, members,
    entries, cardinalities, first_value, out,
):  # fmt: skip
    width = len(lanes)
    values = clients.theta.shape[1] + unseen * clients.cardinalities.shape[0]
    base, theta = np.empty((cells.shape[0], width)), np.empty((cells.shape[0], values, width))
    for c in range(out.shape[0]):
        _weighted_tables(
            clients, c, cells, kind, weights, smoothing, n_classes, unseen, width, base, theta
        )  # fmt: skip
        add_cell_posteriors(
            lanes, starts, order, X, codes, members, entries, cardinalities, first_value, base, theta,
            out[c],
        )  # fmt: skip


def add_client_posteriors(
    clients: Clients,
    structure: Structure,
    scored: Structure,
    kind: int,
    weights: np.ndarray,
    smoothing: float,
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
    structure, scored : Structure
        The structure, and the same over the domains of the test rows (wider by one value each where test rows
        hold values outside the domains).
    kind : int
        ``UNWEIGHTED``, ``GLOBAL`` or ``LOCAL``: what the weights are.
    weights : ndarray
        Flat weights (empty where there are none).
    smoothing : float
        Added to every count.
    rows, starts, order
        The test rows sorted by cell; see :mod:`fedbayes.models.engine.scoring`.
    cells : ndarray (K,) int64
        Their cells in ``structure``, -1 for a superparent's value outside its domain.
    out : ndarray (clients, rows, o)
        Changed in place.
    """
    first_value = np.full(len(rows.cardinalities), -1, np.int64)
    first_value[scored.others] = scored.offsets
    unseen = int(scored is not structure)
    _score_clients(
        lane_tuple(structure.lanes), clients, cells, kind, weights, float(smoothing),
        structure.classes, unseen, starts, order, rows.X, rows.codes, rows.members, rows.entries,
        rows.cardinalities, first_value, out,
    )  # fmt: skip
