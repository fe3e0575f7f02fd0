"""Checks of categorical input, shared by the estimators and the federated functions.

Attributes are coded by integers from 0; the domain of attribute j is ``0 .. cardinalities[j] - 1``. Training data
must lie in the domains. At prediction a code outside is allowed and counts as a value that was never seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral, Real

import numpy as np

Client = tuple[np.ndarray, np.ndarray]


def check_order(n: int, n_attributes: int) -> int:
    """The number of superparents n, an integer with 0 <= n < n_attributes.

    Raises
    ------
    ValueError
        When n is no such integer; the message contains ``n_features=<n_attributes>``.
    """
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 0:
        raise ValueError(f"n must be an integer >= 0, got {n!r}")
    if n >= n_attributes:
        raise ValueError(
            f"n={n} superparents leave no attribute to predict from: n must be below n_features={n_attributes}"
        )
    return int(n)


def check_structures(
    structures: Sequence[Sequence[int]] | None, n: int, n_attributes: int
) -> list[tuple[int, ...]] | None:
    """Chosen structures in lexicographic order; None stands for all of them.

    Raises
    ------
    ValueError
        When there is none, one stands twice, or one is not `n` ascending indices of attributes; names it.
    """
    if structures is None:
        return None
    checked = []
    for structure in structures:
        try:
            parents = tuple(structure)
        except TypeError:
            parents = (structure,)
        whole = all(isinstance(p, Integral) and not isinstance(p, bool | np.bool_) for p in parents)
        ascending = whole and all(a < b for a, b in pairwise((-1, *parents, n_attributes)))
        if len(parents) != n or not ascending:
            raise ValueError(
                f"structures: {structure!r} is not a tuple of n={n} ascending indices below n_features={n_attributes}"
            )
        checked.append(tuple(map(int, parents)))
    if not checked:
        raise ValueError("structures must hold at least one tuple of superparents; None takes all of them")
    checked.sort()
    for first, second in pairwise(checked):
        if first == second:
            raise ValueError(f"structures: {first!r} stands twice")
    return checked


def check_smoothing(smoothing: float) -> float:
    """The pseudo-count added to every entry of a table: finite and above 0."""
    if not isinstance(smoothing, Real) or not np.isfinite(smoothing) or smoothing <= 0:
        raise ValueError(f"smoothing must be a finite number > 0, got {smoothing!r}")
    return float(smoothing)


def check_cardinalities(cardinalities: Sequence[int], n_attributes: int | None = None) -> np.ndarray:
    """Number of values of each attribute as an int64 vector.

    Raises
    ------
    ValueError
        When an entry is no integer >= 1, or their number is not `n_attributes`.
    """
    given = np.asarray(cardinalities)
    if given.ndim != 1 or not given.size or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(
            f"cardinalities must be a sequence of integers, one per attribute, got {cardinalities!r}"
        )
    if given.min() < 1:
        j = int(np.argmax(given < 1))
        raise ValueError(f"cardinalities must be >= 1; attribute {j} has {given[j]}")
    if n_attributes is not None and len(given) != n_attributes:
        raise ValueError(f"cardinalities has {len(given)} entries for data with n_features={n_attributes}")
    return given.astype(np.int64)


def infer_cardinalities(X: np.ndarray) -> np.ndarray:
    """Largest code plus one of each attribute."""
    if not len(X):
        raise ValueError("cardinalities cannot be inferred from no rows; give them")
    return np.maximum(X.max(axis=0).astype(np.int64), 0) + 1


def check_codes(X: np.ndarray, n_attributes: int | None = None) -> np.ndarray:
    """Matrix of integer codes as int32 in C order; no check of the domains.

    Floats are accepted when they are whole numbers.

    Raises
    ------
    ValueError
        When X is no matrix, has another number of columns than `n_attributes`, or holds fractions, NaN or
        numbers beyond 32 bits.
    """
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must be a matrix (rows, attributes), got shape {X.shape}")
    if n_attributes is not None and X.shape[1] != n_attributes:
        raise ValueError(f"X has {X.shape[1]} attributes, expected n_features={n_attributes}")
    if X.dtype == bool or np.issubdtype(X.dtype, np.integer):
        whole = np.ones(X.shape, dtype=bool)
    elif np.issubdtype(X.dtype, np.floating):
        whole = np.isfinite(X) & (np.floor(X) == X)
    else:
        raise ValueError(f"X must hold integer codes, got dtype {X.dtype}; encode the categories first")
    if X.dtype != np.int32 and X.size:
        limits = np.iinfo(np.int32)
        whole &= (limits.min <= X) & (limits.max >= X)
        if not whole.all():
            i, j = np.argwhere(~whole)[0]
            raise ValueError(f"X must hold integer codes; attribute {j} of row {i} has the value {X[i, j]}")
    return np.ascontiguousarray(X, dtype=np.int32)


def check_domain(X: np.ndarray, cardinalities: np.ndarray) -> None:
    """Refuse codes outside 0 .. cardinality - 1.

    Raises
    ------
    ValueError
        Names the attribute, the value and the domain.
    """
    outside = (X < 0) | (cardinalities <= X)
    if outside.any():
        i, j = np.argwhere(outside)[0]
        raise ValueError(
            f"attribute {j} has the value {X[i, j]} in row {i}, outside its domain 0..{cardinalities[j] - 1}"
            f" (cardinality {cardinalities[j]})"
        )


def in_domain(X: np.ndarray, cardinalities: np.ndarray) -> np.ndarray:
    """Mask of the rows whose codes all lie in their domains."""
    return ((X >= 0) & (cardinalities > X)).all(axis=1)


def check_labels(y: np.ndarray, n_classes: int, n_rows: int) -> np.ndarray:
    """Class indices 0 .. n_classes - 1 as int32, one for each row.

    Raises
    ------
    ValueError
        For another length, fractions, or a class outside.
    """
    y = np.asarray(y)
    if y.shape != (n_rows,):
        raise ValueError(f"y must be a vector of {n_rows} class indices, got shape {y.shape}")
    if not y.size:
        return np.zeros(0, dtype=np.int32)
    whole = np.issubdtype(y.dtype, np.integer) or (
        np.issubdtype(y.dtype, np.floating) and np.isfinite(y).all() and (np.floor(y) == y).all()
    )
    if not whole:
        raise ValueError("y must hold integer class indices")
    if y.min() < 0 or y.max() >= n_classes:
        wrong = y[(y < 0) | (y >= n_classes)][0]
        raise ValueError(f"y has the class {wrong}, outside 0..{n_classes - 1}")
    return y.astype(np.int32)


def check_n_classes(n_classes: int) -> int:
    """The number of classes, an integer >= 1."""
    if not isinstance(n_classes, Integral) or isinstance(n_classes, bool) or n_classes < 1:
        raise ValueError(f"n_classes must be an integer >= 1, got {n_classes!r}")
    return int(n_classes)


def check_clients(
    clients: Sequence[Client], cardinalities: Sequence[int], n_classes: int
) -> tuple[list[Client], np.ndarray]:
    """Checked data of all clients and the cardinalities.

    Parameters
    ----------
    clients : sequence of (X, y)
        One pair per client; a client may have no rows.
    cardinalities : sequence of int
        Declared domain sizes, shared by all clients.
    n_classes : int
        Number of classes.

    Returns
    -------
    clients : list of (X (rows, attributes) int32, y (rows,) int32)
    cardinalities : ndarray of shape (attributes,), int64

    Raises
    ------
    ValueError
        Names the client and what is wrong with its data; or when there is no client.
    """
    cardinalities = check_cardinalities(cardinalities)
    n_classes = check_n_classes(n_classes)
    if not len(clients):
        raise ValueError("clients must hold at least one (X, y)")
    checked = []
    for index, client in enumerate(clients):
        try:
            X, y = client
            X = np.asarray(X)
            if X.size == 0:
                X = np.zeros((0, len(cardinalities)), dtype=np.int32)
            X = check_codes(X, len(cardinalities))
            check_domain(X, cardinalities)
            checked.append((X, check_labels(y, n_classes, len(X))))
        except (TypeError, ValueError) as error:
            raise ValueError(f"client {index}: {error}") from None
    return checked, cardinalities
