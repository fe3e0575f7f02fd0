"""What the converged local solver is given of a client."""

from typing import NamedTuple

import numpy as np
from numba import types

from fedbayes.models.engine.array_types import CODES, COUNTS, CUBE, LABELS, MATRIX, NUMBERS


class Client(NamedTuple):
    """One client's rows and tables, as in :mod:`fedbayes.models.engine.layout`."""

    starts: np.ndarray
    codes: np.ndarray
    y: np.ndarray
    prior: np.ndarray
    parent: np.ndarray
    theta: np.ndarray
    offsets: np.ndarray


CLIENT = types.NamedTuple((COUNTS, CODES, LABELS, NUMBERS, MATRIX, CUBE, COUNTS), Client)
