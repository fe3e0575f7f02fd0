"""Posteriors of models with given weights, averaged over structures."""

from collections.abc import Sequence

import numpy as np

from fedbayes.models.categorical_input import in_domain
from fedbayes.models.engine import posteriors
from fedbayes.models.engine.clients import TrainingRows, prepare_clients
from fedbayes.models.engine.generative import known_cells
from fedbayes.models.engine.layout import make_structure
from fedbayes.models.engine.scoring import prepare_rows, sort_rows


def average_posteriors(
    rows: TrainingRows,
    cardinalities: np.ndarray,
    n_classes: int,
    structures: Sequence[tuple[int, ...]],
    X: np.ndarray,
    kind: int,
    weights: Sequence[np.ndarray],
) -> np.ndarray:
    """Posteriors under every client's model with given weights, averaged over structures.

    Parameters
    ----------
    rows : TrainingRows
        The clients.
    cardinalities : ndarray (d,) int64
        Domain sizes.
    n_classes : int
        Number of classes.
    structures : sequence of tuple of int
        Sets of superparents.
    X : ndarray (rows, d) int32
        Rows to predict; a code outside its domain counts as a value (or a superparent's cell) with count zero.
    kind : int
        ``GLOBAL`` or ``LOCAL`` of :mod:`fedbayes.models.engine.posteriors`.
    weights : sequence of ndarray
        Flat weights of each structure.

    Returns
    -------
    ndarray (clients, rows, classes)
    """
    out = np.zeros((len(rows.first_row) - 1, len(X), n_classes))
    if not len(X):
        return out
    unseen = int(not in_domain(X, cardinalities).all())
    widened = cardinalities + unseen
    if unseen:
        X = np.where((X < 0) | (cardinalities <= X), cardinalities, X)
    test = prepare_rows(X, widened)
    for parents, flat in zip(structures, weights, strict=True):
        structure = make_structure(parents, cardinalities, n_classes)
        scored = make_structure(parents, widened, n_classes) if unseen else structure
        clients = prepare_clients(rows, structure)
        cells, starts, order = sort_rows(test, scored)
        known = known_cells(cells, structure) if unseen else cells
        posteriors.add_client_posteriors(clients, scored, kind, flat, test, known, starts, order, out)
    return out / len(structures)
