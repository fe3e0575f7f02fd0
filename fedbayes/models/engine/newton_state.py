"""What the iterations of the converged local model work on, and moves of it."""

from typing import NamedTuple

import numpy as np
from numba import types

from fedbayes.models.engine.array_types import COUNT, MATRIX, NUMBERS
from fedbayes.models.engine.compilation import apart, inner
from fedbayes.models.engine.newton_cells import to_margins
from fedbayes.models.engine.newton_client import CLIENT
from fedbayes.models.engine.newton_groups import GROUPS
from fedbayes.models.engine.newton_system import WORK, fill_scores


class State(NamedTuple):
    """Arrays (classes, rows) on the rows, and (cells, weights of a cell); ``own`` is (rows,) scratch."""

    margins: np.ndarray
    move: np.ndarray
    probability: np.ndarray
    rest: np.ndarray
    residual: np.ndarray
    gradient: np.ndarray
    direction: np.ndarray
    own: np.ndarray


STATE = types.NamedTuple((MATRIX, MATRIX, MATRIX, MATRIX, MATRIX, MATRIX, MATRIX, NUMBERS), State)


@apart(COUNT, COUNT, COUNT, COUNT)
def make_state(classes, rows, cells, m):
    """Allocate it."""
    return State(
        np.empty((classes, rows)),
        np.empty((classes, rows)),
        np.empty((classes, rows)),
        np.empty((classes, rows)),
        np.empty((classes, rows)),
        np.empty((cells, m)),
        np.empty((cells, m)),
        np.empty(rows),
    )


@apart(CLIENT, GROUPS, MATRIX, MATRIX, WORK, STATE)
def fill_margins(client, groups, w, shared, work, state):
    """Margins of all rows, from the weights."""
    for k in range(w.shape[0]):
        fill_scores(client, k, groups, w[k], shared, work, state.margins)
    to_margins(state.margins, client.y, state.own)


@inner
def advance_weights(shared, shared_move, w, direction, step):
    """Move all weights along a direction."""
    for s in range(2):
        for c in range(shared_move.shape[1]):
            shared[s, c] += step * shared_move[s, c]
    for k in range(w.shape[0]):
        for t in range(w.shape[1]):
            w[k, t] += step * direction[k, t]
