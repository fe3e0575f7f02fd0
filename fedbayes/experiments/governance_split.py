"""How the governance experiment splits rows and deals the training part to the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fedbayes.partition import dirichlet_by_class
from fedbayes.randomness import generator


class Split(NamedTuple):
    """Row indices of the three parts; ``validation`` already is the sample that weights are learned on."""

    training: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def split_rows(y: np.ndarray, seed: int, validation_rows: int = 2000) -> Split:
    """Split into 60 % training, 20 % validation and 20 % test rows, stratified by class.

    Parameters
    ----------
    y : ndarray of int, shape (rows,)
    seed : int
    validation_rows : int
        Size of the stratified sample of the validation part; all of it where it has no more rows, or so few
        more that not every class could be left out once.

    Raises
    ------
    ValueError
        When a class has too few rows for a stratified split.
    """
    from sklearn.model_selection import train_test_split  # takes half a second to import

    def parts(rows: np.ndarray, **size) -> list[np.ndarray]:
        try:
            return train_test_split(rows, random_state=seed, stratify=y[rows], **size)
        except ValueError as error:
            raise ValueError(f"the rows cannot be split by class: {error}") from error

    rest, test = parts(np.arange(y.size), test_size=0.2)
    training, validation = parts(rest, test_size=0.25)
    if validation.size - validation_rows >= np.unique(y[validation]).size:
        validation, _ = parts(validation, train_size=validation_rows)
    return Split(training, validation, test)


def partition_rows(
    y: np.ndarray,
    clients: int,
    alpha: float,
    seed: int,
    redraw_min_rows: int = 0,
    class_names: Sequence[str] | None = None,
) -> tuple[list[np.ndarray], int]:
    """Deal training rows to nodes; the draw depends on the seed and alpha alone, not on the reading.

    Parameters and results are those of `fedbayes.partition.dirichlet_by_class`.
    """
    bits = int(np.float64(alpha).view(np.uint64))
    rng = generator(seed, "governance nodes", bits)
    return dirichlet_by_class(y, clients, alpha, rng, redraw_min_rows, class_names)
