"""All clients of one structure: rows sorted by cell, log tables, and the problems that kernels work on."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedbayes.models.engine import problem
from fedbayes.models.engine.grouping import choose, groupings, least_work, runs
from fedbayes.models.engine.joint import evaluate_joint, group_codes
from fedbayes.models.engine.layout import (
    LogTables,
    SortedRows,
    Structure,
    cells_of,
    gather_codes,
    sort_by_cell,
)
from fedbayes.models.engine.problem import kernel_address
from fedbayes.models.engine.row_space import RowSpace, choose_row_space, make_row_space
from fedbayes.models.engine.span import evaluate_span
from fedbayes.models.engine.tables import fill_log_tables, log_of_counts


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
        sizes = np.array([len(y) for _, y in clients])
        self.first_row = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.owner = np.repeat(np.arange(len(sizes)), sizes)
        self.smoothing = float(smoothing)
        self.log_counts = log_of_counts(int(sizes.max()), self.smoothing)

    def only(self, client: int) -> "TrainingRows":
        """Return the rows of one client."""
        place = slice(*self.first_row[client : client + 2])
        return TrainingRows([(self.X[place], self.y[place])], self.smoothing)


@dataclass(frozen=True)
class Clients:
    """Rows and tables of C clients on one structure; K cells are occupied, counting each client's own.

    Attributes
    ----------
    structure : Structure
        The structure.
    smoothing : float
        Added to every count.
    first_row, first_cell : ndarray (C + 1,) int64
        Bounds of each client's rows and occupied cells.
    cells : ndarray (K,) int64
        Ids of the occupied cells, ascending for each client.
    starts : ndarray (K + C,) int64
        First rows of a client's cells, counted within the client, and then its number of rows.
    codes : ndarray (rows, q) int32
    y : ndarray (rows,) int32
        The sorted rows.
    prior, unseen_parent : ndarray (C, V)
        log P(y), and log P(cell | y) of a cell without rows.
    parent : ndarray (K, V)
    theta : ndarray (K, S, V)
        Log tables of the occupied cells.
    problems : ndarray (C, SIZE) int64
        What the kernels take; see :mod:`fedbayes.models.engine.problem`.
    kept : tuple
        Arrays that the problems point to besides those above.
    """

    structure: Structure
    smoothing: float
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
    problems: np.ndarray
    kept: tuple

    def __len__(self) -> int:
        return len(self.first_row) - 1

    @property
    def cell_rows(self) -> np.ndarray:
        """Number of rows (K,) of each client's occupied cells."""
        first = np.arange(len(self.cells)) + np.repeat(np.arange(len(self)), np.diff(self.first_cell))
        return self.starts[first + 1] - self.starts[first]

    @cached_property
    def row_space(self) -> RowSpace:
        """Which clients are trained in the span of their rows, and their problems."""
        work = least_work(
            self.structure.cardinalities,
            self.structure.lanes,
            np.diff(self.first_row),
            np.diff(self.first_cell),
        )
        return make_row_space(self, choose_row_space(self, work))

    def view(self, client: int) -> tuple[SortedRows, LogTables]:
        """Sorted rows (numbered in sorted order) and log tables of one client, without copying."""
        low, high = self.first_row[client : client + 2]
        first, last = self.first_cell[client : client + 2]
        starts = self.starts[first + client : last + client + 1]
        rows = SortedRows(
            self.cells[first:last], starts, np.arange(high - low), self.codes[low:high], self.y[low:high]
        )
        return rows, LogTables(self.prior[client], self.parent[first:last], self.theta[first:last])


def prepare_clients(rows: TrainingRows, structure: Structure) -> Clients:
    """Sort and count all clients' rows for a structure and choose their kernels."""
    first_cell, cells, starts, order = _sort(rows, structure)
    codes, y = np.empty((len(order), len(structure.others)), np.int32), rows.y[order]
    gather_codes(rows.X, order, structure.others, structure.offsets, codes)
    n_clients, width = len(rows.first_row) - 1, structure.lanes
    prior, unseen_parent = np.empty((n_clients, width)), np.empty((n_clients, width))
    parent, theta = np.empty((len(cells), width)), np.empty((len(cells), structure.values, width))
    fill_log_tables(
        rows.first_row, first_cell, starts, codes, y, structure.cardinalities, structure.cells,
        structure.classes, rows.smoothing, rows.log_counts, prior, unseen_parent, parent, theta,
    )  # fmt: skip
    problems, kept = _make_problems(
        rows.first_row, first_cell, starts, codes, y, prior, parent, theta, structure
    )  # fmt: skip
    return Clients(
        structure, rows.smoothing, rows.first_row, first_cell, cells, starts, codes, y, prior, unseen_parent,
        parent, theta, problems, kept,
    )  # fmt: skip


def _sort(rows, structure):
    """Sort by client and cell at once: first_cell, cells, starts and the order of the rows."""
    n_clients = len(rows.first_row) - 1
    if n_clients * structure.cells >= 2**63:
        raise ValueError(
            f"{n_clients} clients with {structure.cells} cells each: more than 64-bit numbers can tell apart"
        )
    key = rows.owner * structure.cells + cells_of(rows.X, structure)
    if n_clients * structure.cells <= 1024 + 8 * len(key):
        keys, bounds, order = sort_by_cell(key, n_clients * structure.cells)
    else:  # far more cells than rows: number the occupied ones first
        keys, number = np.unique(key, return_inverse=True)
        _, bounds, order = sort_by_cell(number.reshape(-1), len(keys))
    owner, cells = np.divmod(keys, structure.cells)
    first_cell = np.searchsorted(owner, np.arange(n_clients + 1))
    starts = np.insert(bounds[:-1] - rows.first_row[owner], first_cell[1:], np.diff(rows.first_row))
    return first_cell, cells, starts, order


def _make_problems(first_row, first_cell, starts, codes, y, prior, parent, theta, structure):
    """Each client's problem, and the arrays that live for them alone."""
    q, width, n_clients = len(structure.others), structure.lanes, len(prior)
    rows, cells = np.diff(first_row), np.diff(first_cell)
    clients = np.arange(n_clients)
    table = np.zeros((n_clients, problem.SIZE), np.int64)
    for column, value in (
        (problem.ROWS, rows),
        (problem.CELLS, cells),
        (problem.ATTRIBUTES, q),
        (problem.VALUES, structure.values),
        (problem.STARTS, _address(starts) + 8 * (first_cell[:-1] + clients)),
        (problem.CODES, _address(codes) + 4 * q * first_row[:-1]),
        (problem.LABELS, _address(y) + 4 * first_row[:-1]),
        (problem.PRIOR, _address(prior) + 8 * width * clients),
        (problem.PARENT, _address(parent) + 8 * width * first_cell[:-1]),
        (problem.THETA, _address(theta) + 8 * width * structure.values * first_cell[:-1]),
        (problem.OFFSETS, _address(structure.offsets)),
        (problem.CARDINALITIES, _address(structure.cardinalities)),
    ):
        table[:, column] = value
    kept, largest = [], 0
    for choice, low, high in runs(choose(structure.cardinalities, width, rows, cells)):
        own = table[low:high]
        if choice < 0:
            own[:, problem.KERNEL] = kernel_address(evaluate_span, width)
            continue
        members, entries = groupings(tuple(structure.cardinalities.tolist()), width)[choice]
        first, last = first_row[low], first_row[high]
        grouped = np.empty((last - first, len(members) - 1), np.uint16)
        group_codes(codes[first:last], structure.offsets, structure.cardinalities, members, entries, grouped)
        own[:, problem.KERNEL] = kernel_address(evaluate_joint, width)
        own[:, problem.GROUPS] = len(members) - 1
        own[:, problem.ENTRIES] = entries[-1]
        own[:, problem.GROUPED] = _address(grouped) + 2 * (len(members) - 1) * (first_row[low:high] - first)
        own[:, problem.GROUP_MEMBERS] = _address(members)
        own[:, problem.GROUP_ENTRIES] = _address(entries)
        largest = max(largest, int(entries[-1]))
        kept.extend((members, entries, grouped))
    scratch = np.empty((2 * largest + int(structure.cardinalities.max()), width))
    table[:, problem.SCRATCH] = _address(scratch)
    return table, (*kept, scratch)


def _address(array: np.ndarray) -> int:
    return array.ctypes.data
