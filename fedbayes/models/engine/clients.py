"""All clients of one structure: rows sorted by cell, log tables and kernels chosen, in one set of arrays."""

from typing import NamedTuple

import numpy as np

from fedbayes.models.engine.compilation import compiled
from fedbayes.models.engine.joint import group_codes
from fedbayes.models.engine.layout import (
    LogTables,
    SortedRows,
    Structure,
    code_type,
    fill_log_tables,
    gather_codes,
    log_of_counts,
    sort_by_cell,
)
from fedbayes.models.engine.objective import Objective, choose_groups
from fedbayes.models.engine.vector_arithmetic import log


class TrainingRows:
    """Rows of all clients one after the other, with what does not depend on the structure.

    Parameters
    ----------
    clients : sequence of (X, y)
        Codes inside their domains and class indices of each client; a client may have no rows.
    smoothing : float
        Added to every count.
    """

    def __init__(self, clients, smoothing: float):
        self.X = np.concatenate([np.asarray(X, np.int32) for X, _ in clients])
        self.y = np.concatenate([np.asarray(y, np.int32) for _, y in clients])
        sizes = [len(y) for _, y in clients]
        self.first_row = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.smoothing = float(smoothing)
        self.log_counts = log_of_counts(max(sizes), self.smoothing)

    def only(self, client: int) -> "TrainingRows":
        """Return the rows of one client."""
        place = slice(*self.first_row[client : client + 2])
        return TrainingRows([(self.X[place], self.y[place])], self.smoothing)


class Clients(NamedTuple):
    """Rows and tables of C clients on one structure; K cells are occupied, counting each client's own.

    ``first_row`` and ``first_cell`` (C + 1,) bound each client's rows and occupied cells. ``cells`` (K,) are
    the cells' ids and ``starts`` (K + C,) their first rows, counted within the client, whose last entry is its
    number of rows. ``prior`` and ``unseen_parent`` (C, V) hold log P(y) and log P(cell | y) of a cell without
    rows; ``parent`` (K, V) and ``theta`` (K, S, V) the tables of occupied cells. ``grouped`` concatenates the
    clients' joint codes (rows, groups); ``members`` and ``entries`` (C, q + 1) describe their groups.
    """

    first_row: np.ndarray
    first_cell: np.ndarray
    cells: np.ndarray
    starts: np.ndarray
    codes: np.ndarray
    y: np.ndarray
    prior: np.ndarray
    unseen_parent: np.ndarray
    parent: np.ndarray
    theta: np.ndarray
    offsets: np.ndarray
    cardinalities: np.ndarray
    first_grouped: np.ndarray
    groups: np.ndarray
    members: np.ndarray
    entries: np.ndarray
    grouped: np.ndarray
    scratch: np.ndarray


@compiled
def _sort(X, y, first_row, parents, parent_cardinalities, n_cells, others, offsets, codes, sorted_y):
    """Sort each client's rows by cell; returns first_cell, cells, starts."""
    n_clients = first_row.shape[0] - 1
    first_cell = np.zeros(n_clients + 1, np.int64)
    rows = X.shape[0]
    most = min(rows, n_clients * n_cells)
    cells, starts = np.empty(most, np.int64), np.empty(most + n_clients, np.int64)
    cell = np.zeros(rows, np.int64)
    for i in range(rows):
        for a in range(parents.shape[0]):
            cell[i] = cell[i] * parent_cardinalities[a] + X[i, parents[a]]
    for c in range(n_clients):
        low, high = first_row[c], first_row[c + 1]
        occupied, bounds, order = sort_by_cell(cell[low:high], n_cells)
        first = first_cell[c]
        cells[first : first + occupied.shape[0]] = occupied
        starts[first + c : first + c + bounds.shape[0]] = bounds
        first_cell[c + 1] = first + occupied.shape[0]
        gather_codes(X[low:high], order, others, offsets, codes[low:high])
        for i in range(high - low):
            sorted_y[low + i] = y[low + order[i]]
    total = first_cell[n_clients]
    return first_cell, cells[:total].copy(), starts[: total + n_clients].copy()


@compiled
def _tabulate(
    first_row, first_cell, starts, codes, y, cardinalities, n_cells, n_classes, smoothing, log_counts, prior,
    unseen_parent, parent, theta,
):  # fmt: skip
    """Log tables of each client."""
    unseen_parent[:] = 0.0
    for c in range(prior.shape[0]):
        low, high = first_row[c], first_row[c + 1]
        first, last = first_cell[c], first_cell[c + 1]
        fill_log_tables(
            starts[first + c : last + c + 1], codes[low:high], y[low:high], cardinalities, n_cells, n_classes,
            smoothing, log_counts, prior[c], parent[first:last], theta[first:last],
        )  # fmt: skip
        for k in range(n_classes):
            count = 0
            for i in range(low, high):
                count += y[i] == k
            unseen_parent[c, k] = log_counts[0] - log(count + smoothing * n_cells)


@compiled
def _choose(first_row, first_cell, cardinalities, width):
    """Choose each client's kernel; returns first_grouped, groups, members, entries and the scratch space."""
    n_clients, q = first_row.shape[0] - 1, cardinalities.shape[0]
    first_grouped = np.zeros(n_clients + 1, np.int64)
    groups = np.zeros(n_clients, np.int64)
    members, entries = np.zeros((n_clients, q + 1), np.int64), np.zeros((n_clients, q + 1), np.int64)
    largest = 0
    for c in range(n_clients):
        rows = first_row[c + 1] - first_row[c]
        m, e = choose_groups(cardinalities, rows, first_cell[c + 1] - first_cell[c], width)
        groups[c] = m.shape[0] - 1
        members[c, : m.shape[0]], entries[c, : m.shape[0]] = m, e
        first_grouped[c + 1] = first_grouped[c] + rows * groups[c]
        largest = max(largest, e[-1])
    scratch = np.empty((2 * largest + cardinalities.max(), width))
    return first_grouped, groups, members, entries, scratch


@compiled
def _code_groups(codes, first_row, offsets, cardinalities, first_grouped, groups, members, entries, grouped):
    for c in range(groups.shape[0]):
        if groups[c] > 0:
            low, high = first_row[c], first_row[c + 1]
            out = grouped[first_grouped[c] : first_grouped[c + 1]].reshape(high - low, groups[c])
            group_codes(codes[low:high], offsets, cardinalities, members[c], entries[c], out)


def prepare_clients(rows: TrainingRows, structure: Structure) -> Clients:
    """Sort, count and choose kernels for all clients of a structure."""
    q, width, n_rows, n_clients = (
        len(structure.others),
        structure.lanes,
        len(rows.y),
        len(rows.first_row) - 1,
    )
    codes, y = np.empty((n_rows, q), code_type(structure)), np.empty(n_rows, np.int32)
    first_cell, cells, starts = _sort(
        rows.X, rows.y, rows.first_row, np.asarray(structure.parents, np.int64),
        structure.parent_cardinalities, structure.cells, structure.others, structure.offsets, codes, y,
    )  # fmt: skip
    prior, unseen_parent = np.empty((n_clients, width)), np.empty((n_clients, width))
    parent, theta = np.empty((len(cells), width)), np.empty((len(cells), structure.values, width))
    _tabulate(
        rows.first_row, first_cell, starts, codes, y, structure.cardinalities, structure.cells,
        structure.classes, rows.smoothing, rows.log_counts, prior, unseen_parent, parent, theta,
    )  # fmt: skip
    first_grouped, groups, members, entries, scratch = _choose(
        rows.first_row, first_cell, structure.cardinalities, width
    )
    grouped = np.empty(first_grouped[-1], np.uint16)
    _code_groups(
        codes, rows.first_row, structure.offsets, structure.cardinalities, first_grouped, groups, members,
        entries, grouped,
    )  # fmt: skip
    return Clients(
        rows.first_row, first_cell, cells, starts, codes, y, prior, unseen_parent, parent, theta,
        structure.offsets, structure.cardinalities, first_grouped, groups, members, entries, grouped, scratch,
    )  # fmt: skip


@compiled
def client_objective(clients, c):
    """Objective of client c."""
    low, high = clients.first_row[c], clients.first_row[c + 1]
    first, last = clients.first_cell[c], clients.first_cell[c + 1]
    groups = clients.groups[c]
    rows = high - low if groups > 0 else 0
    grouped = clients.grouped[clients.first_grouped[c] : clients.first_grouped[c + 1]].reshape(rows, groups)
    return Objective(
        clients.starts[first + c : last + c + 1],
        clients.codes[low:high],
        grouped,
        clients.y[low:high],
        clients.prior[c],
        clients.parent[first:last],
        clients.theta[first:last],
        clients.offsets,
        clients.cardinalities,
        clients.members[c, : groups + 1],
        clients.entries[c, : groups + 1],
        clients.scratch,
    )


def client_view(clients: Clients, c: int) -> tuple[SortedRows, LogTables]:
    """Sorted rows (without their original order) and log tables of one client, as views."""
    low, high = clients.first_row[c], clients.first_row[c + 1]
    first, last = clients.first_cell[c], clients.first_cell[c + 1]
    rows = SortedRows(
        clients.cells[first:last],
        clients.starts[first + c : last + c + 1],
        np.arange(high - low),
        clients.codes[low:high],
        clients.y[low:high],
    )
    return rows, LogTables(clients.prior[c], clients.parent[first:last], clients.theta[first:last])
