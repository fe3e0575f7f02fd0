"""Which clients are trained in the span of their rows, and what the kernels there need."""

from dataclasses import dataclass

import numpy as np

from fedbayes.models.engine import gram
from fedbayes.models.engine import problem as fields
from fedbayes.models.engine.problem import kernel_address

_MOST_NUMBERS = 2**24  # in the blocks of all clients: 128 MB

_KERNELS = {
    gram.FILL: gram.fill_blocks,
    gram.SCORES: gram.scores_of_weights,
    gram.RESIDUALS: gram.residuals_of_scores,
    gram.PRODUCT: gram.scores_of_coefficients,
    gram.STATIONARY: gram.is_stationary,
    gram.COLLECT: gram.add_combination,
}


@dataclass(frozen=True)
class RowSpace:
    """The problems of one structure's clients, longer by what the kernels here need.

    Attributes
    ----------
    problems : ndarray (C, SIZE) int64
        ``BLOCKS`` is 0 for clients that are better trained on their weights. Blocks are filled when they are
        first needed: a client that starts at its optimum needs none.
    kept : tuple
        Arrays that the problems point to.
    """

    problems: np.ndarray
    kept: tuple

    @property
    def chosen(self) -> np.ndarray:
        """Which clients (C,) are trained in the span of their rows."""
        return self.problems[:, gram.BLOCKS] != 0


def choose_row_space(clients, work: np.ndarray) -> np.ndarray:
    """Choose the clients (C,) whose blocks of products are small beside the work of evaluating on the weights.

    Parameters
    ----------
    clients : fedbayes.models.engine.clients.Clients
        Rows and tables of all clients.
    work : ndarray (C,) int64
        From :func:`fedbayes.models.engine.grouping.least_work`.

    Notes
    -----
    Without tables of joint values the rule says: fewer rows per cell than 1.2 times the attributes. It was
    measured for five iterations in each of ten rounds, and looks at sizes alone.
    """
    before = np.concatenate([[0], np.cumsum(clients.cell_rows**2)])
    blocks = np.diff(before[clients.first_cell])
    wanted = (blocks > 0) & (5 * blocks <= work)
    return wanted & (np.cumsum(blocks * wanted) * clients.structure.lanes <= _MOST_NUMBERS)


def make_row_space(clients, chosen: np.ndarray) -> RowSpace:
    """Make room for the chosen clients' blocks, and their problems.

    Parameters
    ----------
    clients : fedbayes.models.engine.clients.Clients
        Rows and tables of all clients.
    chosen : ndarray (C,) bool
        Which clients get blocks.
    """
    structure, first = clients.structure, clients.first_cell[:-1]
    width, owner = structure.lanes, np.repeat(np.arange(len(clients)), np.diff(clients.first_cell))
    rows = clients.cell_rows * chosen[owner]
    ends = np.concatenate([[0], np.cumsum(rows**2)])
    places = ends[:-1] - ends[first][owner]
    blocks = np.empty((ends[-1], width))
    features = np.empty((rows.max(initial=0), len(structure.others), width))
    # smoothed, a value's count is at least smoothing, and the sum of all values' counts at most this:
    most = np.diff(clients.first_row).max() + clients.smoothing * structure.cardinalities.max(initial=1)
    bound = np.array([np.log(most / clients.smoothing)])
    table = np.zeros((len(clients), gram.SIZE), np.int64)
    table[:, : fields.SIZE] = clients.problems
    table[:, gram.NUMBERS] = table[:, fields.ROWS] * width
    table[:, gram.CELL_IDS] = clients.cells.ctypes.data + 8 * first
    table[:, gram.BLOCKS] = np.where(chosen, blocks.ctypes.data + 8 * width * ends[first], 0)
    table[:, gram.PLACES] = places.ctypes.data + 8 * first
    table[:, gram.FEATURES] = features.ctypes.data
    table[:, gram.BOUND] = bound.ctypes.data
    for field, kernel in _KERNELS.items() if chosen.any() else ():
        table[:, field] = kernel_address(kernel, width)
    return RowSpace(table, (clients.problems, clients.kept, blocks, features, bound, places))
