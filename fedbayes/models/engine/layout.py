"""What the engine computes on: structures, rows sorted by cell, and log tables.

A *structure* is a set of n superparents. Its *cells* are the joint values of the superparents; within a cell
each remaining attribute depends on the class alone. Every quantity of a structure is therefore a table over
(cell, attribute or attribute value, class), with the classes padded to ``lanes`` so that one row's classes
fill whole vectors. The tables name only the cells that a client's rows occupy: weights of other cells have
no gradient and stay as they are.
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from fedbayes.models.engine.compilation import compiled
from fedbayes.models.engine.tables import fill_log_tables, log_of_counts

MOST_CLASSES = 998
"""The number of lanes is the length of a tuple, and numba's are shorter than 1000."""


def lanes(n_classes: int) -> int:
    """Return the number of vector lanes for so many classes: 2, 4, 8, then rounded up to even.

    Raises
    ------
    ValueError
        For more classes than code can be compiled for.
    """
    if n_classes > MOST_CLASSES:
        raise ValueError(f"{n_classes} classes are too many: code is compiled for at most {MOST_CLASSES}")
    for width in (2, 4, 8):
        if n_classes <= width:
            return width
    return n_classes + n_classes % 2


@dataclass(frozen=True)
class Structure:
    """One set of superparents and the shapes that follow from it.

    Attributes
    ----------
    parents : tuple of int
        The superparents, ascending.
    others : ndarray (q,) int64
        The other attributes, ascending.
    cardinalities : ndarray (q,) int64
        Their numbers of values.
    offsets : ndarray (q,) int64
        Index of each other attribute's first value in the concatenation of all their values.
    parent_cardinalities : ndarray (n,) int64
        Numbers of values of the superparents.
    values, cells, classes, lanes : int
        Values of all others together, joint values of the superparents, classes, classes with padding.
    """

    parents: tuple[int, ...]
    others: np.ndarray
    cardinalities: np.ndarray
    offsets: np.ndarray
    parent_cardinalities: np.ndarray
    values: int
    cells: int
    classes: int
    lanes: int

    def weight_count(self, cells: int | None = None) -> int:
        """Length of a flat weight vector over ``cells`` cells (default: all of them)."""
        return self.lanes * (2 + (self.cells if cells is None else cells) * len(self.others))


def make_structure(parents, cardinalities, n_classes: int) -> Structure:
    """Describe the structure with the given superparents.

    Parameters
    ----------
    parents : sequence of int
        Indices of the superparents, ascending; empty for naive Bayes.
    cardinalities : sequence of int
        Number of values of every attribute.
    n_classes : int
        Number of classes.
    """
    parents = tuple(int(p) for p in parents)
    cardinalities = np.asarray(cardinalities, np.int64)
    outside = np.ones(len(cardinalities), bool)
    outside[list(parents)] = False
    others = np.flatnonzero(outside)
    widths = cardinalities[others]
    ends = np.cumsum(widths)
    return Structure(
        parents=parents,
        others=others,
        cardinalities=widths,
        offsets=ends - widths,
        parent_cardinalities=cardinalities[list(parents)],
        values=int(widths.sum()),
        cells=prod(int(cardinalities[p]) for p in parents),
        classes=int(n_classes),
        lanes=lanes(n_classes),
    )


@compiled
def _cell_index(X, parents, parent_cardinalities):
    cell = np.zeros(X.shape[0], np.int64)
    for a in range(parents.shape[0]):
        for i in range(X.shape[0]):
            cell[i] = cell[i] * parent_cardinalities[a] + X[i, parents[a]]
    return cell


def cell_index(X: np.ndarray, parents, cardinalities) -> np.ndarray:
    """Cell of each row: mixed radix over the superparents' values, the first superparent most significant.

    Parameters
    ----------
    X : ndarray (rows, attributes) of int
        Codes, all inside their domains.
    parents : sequence of int
        Indices of the superparents.
    cardinalities : sequence of int
        Number of values of every attribute.

    Returns
    -------
    ndarray (rows,) int64
    """
    parents = np.asarray(parents, np.int64).reshape(-1)
    return _cell_index(np.asarray(X), parents, np.asarray(cardinalities, np.int64)[parents])


def cells_of(X: np.ndarray, structure: Structure) -> np.ndarray:
    """Cell of each row on a structure; see :func:`cell_index`."""
    return _cell_index(np.asarray(X), np.asarray(structure.parents, np.int64), structure.parent_cardinalities)


@dataclass(frozen=True)
class SortedRows:
    """One client's rows ordered by cell, original order kept within a cell.

    Attributes
    ----------
    cells : ndarray (K,) int64
        The occupied cells, ascending.
    starts : ndarray (K + 1,) int64
        First row of each occupied cell; the last entry is the number of rows.
    order : ndarray (rows,) int64
        Original index of each sorted row.
    codes : ndarray (rows, q) int32
        ``offsets[j]`` + value of attribute j.
    y : ndarray (rows,) int32
        Classes.
    """

    cells: np.ndarray
    starts: np.ndarray
    order: np.ndarray
    codes: np.ndarray
    y: np.ndarray


@compiled
def sort_by_cell(cell, n_cells):
    """Stable counting sort: occupied cells, their first rows, and the order of the rows."""
    rows = cell.shape[0]
    position = np.zeros(n_cells + 1, np.int64)
    for i in range(rows):
        position[cell[i] + 1] += 1
    occupied = 0
    for k in range(n_cells):
        occupied += position[k + 1] > 0
    cells = np.empty(occupied, np.int64)
    starts = np.zeros(occupied + 1, np.int64)
    n = 0
    for k in range(n_cells):
        count = position[k + 1]
        if count > 0:
            cells[n] = k
            starts[n + 1] = starts[n] + count
            n += 1
        position[k + 1] += position[k]
    order = np.empty(rows, np.int64)
    for i in range(rows):
        order[position[cell[i]]] = i
        position[cell[i]] += 1
    return cells, starts, order


@compiled
def gather_codes(X, order, others, offsets, codes):
    """Write ``offsets[j] + X[order[i], others[j]]`` into ``codes``."""
    for i in range(order.shape[0]):
        for j in range(others.shape[0]):
            codes[i, j] = offsets[j] + X[order[i], others[j]]


def sort_rows(X: np.ndarray, y: np.ndarray, structure: Structure) -> SortedRows:
    """Sort one client's rows by their cell.

    Parameters
    ----------
    X : ndarray (rows, attributes) of int
        Codes, all inside their domains.
    y : ndarray (rows,) of int
        Classes.
    structure : Structure
        The structure.
    """
    X, y = np.asarray(X), np.asarray(y, np.int32)
    cells, starts, order = sort_by_cell(cells_of(X, structure), structure.cells)
    codes = np.empty((len(order), len(structure.others)), np.int32)
    gather_codes(X, order, structure.others, structure.offsets, codes)
    return SortedRows(cells, starts, order, codes, y[order])


@dataclass(frozen=True)
class LogTables:
    """Logarithms of one client's smoothed tables, classes padded to the lanes.

    Attributes
    ----------
    prior : ndarray (V,)
        log P(y); -1e30 in pad lanes.
    parent : ndarray (K, V)
        log P(cell | y) of the occupied cells; 0 in pad lanes.
    theta : ndarray (K, S, V)
        log P(value | y, cell) of the occupied cells; 0 in pad lanes.
    """

    prior: np.ndarray
    parent: np.ndarray
    theta: np.ndarray


def log_tables(sorted_rows: SortedRows, structure: Structure, smoothing: float) -> LogTables:
    """Make the log tables of one client: add ``smoothing`` to each count, divide by each table's sum.

    Parameters
    ----------
    sorted_rows : SortedRows
        The client's rows.
    structure : Structure
        The structure they were sorted for.
    smoothing : float
        Added to every count; positive.
    """
    occupied, width, rows = len(sorted_rows.cells), structure.lanes, len(sorted_rows.y)
    prior, unseen, parent = np.empty((1, width)), np.empty((1, width)), np.empty((occupied, width))
    theta = np.empty((occupied, structure.values, width))
    smoothing = float(smoothing)
    fill_log_tables(
        np.array([0, rows]), np.array([0, occupied]), sorted_rows.starts, sorted_rows.codes, sorted_rows.y,
        structure.cardinalities, structure.cells, structure.classes, smoothing,
        log_of_counts(rows, smoothing), prior, unseen, parent, theta,
    )  # fmt: skip
    return LogTables(prior[0], parent, theta)
