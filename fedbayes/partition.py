"""How rows are dealt to clients, and how different the clients' label distributions are."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.spatial.distance import jensenshannon

MAX_DRAWS = 10_000
"""Draws per class after which a partition with a minimum of rows is given up."""

LARGEST_CONCENTRATION = 1e300
"""Above it Gamma draws and their sum overflow; the shares are equal to the last digit long before."""

JENSEN_SHANNON_METHODS = (
    "mean_pairwise",
    "mean_pairwise_divergence",
    "generalised",
    "generalised_weighted",
    "mean_to_pooled",
)


class PartitionError(ValueError):
    """The rows cannot be dealt as asked for (a minimum of rows per class and client is out of reach)."""


def stratified(y: np.ndarray, clients: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Deal shuffled rows, ordered by class, round robin in one pass.

    Every client gets every class in nearly the same proportion, and client sizes differ by at most one.

    Parameters
    ----------
    y : ndarray of int, shape (rows,)
        Class codes.
    clients : int
        Number of clients, at least 1.
    rng : numpy.random.Generator
        The only source of randomness.

    Returns
    -------
    list of ndarray of int64
        Row indices per client, ascending; empty for a client without rows.
    """
    shuffled = rng.permutation(len(y))
    return _deal(shuffled[np.argsort(np.asarray(y)[shuffled], kind="stable")], clients)


def iid(y: np.ndarray, clients: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Deal shuffled rows round robin, whatever their class; see :func:`stratified`."""
    return _deal(rng.permutation(len(y)), clients)


def _deal(rows: np.ndarray, clients: int) -> list[np.ndarray]:
    if clients < 1:
        raise ValueError(f"clients={clients}: at least 1 is needed")
    return [np.sort(rows[client::clients]) for client in range(clients)]


def dirichlet_by_class(
    y: np.ndarray,
    clients: int,
    alpha: float,
    rng: np.random.Generator,
    redraw_min_rows: int = 0,
    class_names: Sequence[str] | None = None,
) -> tuple[list[np.ndarray], int]:
    """Deal the rows of every class to the clients in Dirichlet(alpha) proportions.

    Each class is shuffled and cut at the cumulated proportions, so every row goes to exactly one client.
    Small ``alpha`` leaves clients without rows of a class, or without any rows; nothing is repaired unless
    ``redraw_min_rows`` asks for it.

    Parameters
    ----------
    y : ndarray of int, shape (rows,)
        Class codes from 0.
    clients : int
        Number of clients, at least 1.
    alpha : float
        Concentration, positive and finite; the smaller, the more the clients differ.
    rng : numpy.random.Generator
        The only source of randomness.
    redraw_min_rows : int, default 0
        Proportions of a class are drawn again until every client gets this many of its rows.
    class_names : sequence of str, optional
        What errors call the classes; by default their codes.

    Returns
    -------
    parts : list of ndarray of int64
        Row indices per client, ascending; an empty array for a client without rows.
    redraws : int
        Draws beyond the first, summed over classes.

    Raises
    ------
    ValueError
        If ``clients``, ``alpha`` or ``redraw_min_rows`` is out of range.
    PartitionError
        If a class has fewer than ``redraw_min_rows * clients`` rows, or if 10,000 draws did not reach the
        minimum.
    """
    y = np.asarray(y)
    if clients < 1:
        raise ValueError(f"clients={clients}: at least 1 is needed")
    if not (np.isfinite(alpha) and alpha > 0):
        raise ValueError(f"alpha={alpha}: a positive finite number is needed")
    if redraw_min_rows < 0:
        raise ValueError(f"redraw_min_rows={redraw_min_rows}: 0 or more is needed")
    owner = np.empty(y.shape[0], dtype=np.int64)
    redraws = 0
    for label in np.unique(y):
        name = label if class_names is None else repr(class_names[label])
        rows = rng.permutation(np.flatnonzero(y == label))
        if redraw_min_rows * clients > rows.size:
            raise PartitionError(
                f"redraw_min_rows={redraw_min_rows} on {clients} nodes needs {redraw_min_rows * clients} "
                f"training rows of class {name}, which has {rows.size}"
            )
        for draw in range(MAX_DRAWS):
            sizes = _part_sizes(rows.size, clients, alpha, rng)
            if sizes.min() >= redraw_min_rows:
                redraws += draw
                break
        else:
            raise PartitionError(
                f"redraw_min_rows={redraw_min_rows} was not reached for class {name} ({rows.size} rows, "
                f"{clients} nodes, alpha={alpha!r}) in {MAX_DRAWS} draws"
            )
        owner[rows] = np.repeat(np.arange(clients), sizes)
    return [np.flatnonzero(owner == client) for client in range(clients)], redraws


def _part_sizes(rows: int, clients: int, alpha: float, rng: np.random.Generator) -> np.ndarray:
    """Sizes (clients,) of one class's parts for one draw of Dirichlet proportions."""
    if alpha > LARGEST_CONCENTRATION:
        proportions = np.full(clients, 1 / clients)
    else:
        proportions = rng.dirichlet(np.full(clients, alpha))
    if not np.isfinite(proportions).all():  # alpha below the smallest usable double: the limit is one client
        proportions = np.eye(clients)[rng.integers(clients)]
    inner = (np.cumsum(proportions)[:-1] * rows).astype(np.int64)
    return np.diff(np.concatenate(([0], np.minimum(inner, rows), [rows])))


def jensen_shannon(label_counts: Sequence | np.ndarray, method: str = "mean_pairwise") -> float:
    """Heterogeneity of the clients' label distributions, natural logarithm.

    Clients without rows have no label distribution and are left out; fewer than two clients with rows
    give 0.

    Parameters
    ----------
    label_counts : array_like, shape (clients, classes)
        Rows per client and class.
    method : str, default "mean_pairwise"
        ``mean_pairwise``: mean Jensen-Shannon distance over the pairs of clients;
        ``mean_pairwise_divergence``: mean of its square, the divergence;
        ``generalised``: divergence of all clients at once (entropy of the mean minus mean entropy);
        ``generalised_weighted``: the same with clients weighted by their rows;
        ``mean_to_pooled``: mean distance between a client and all rows pooled.

    Returns
    -------
    float
        Distances lie in [0, sqrt(log 2)], pairwise divergences in [0, log 2], generalised ones in
        [0, log clients].
    """
    if method not in JENSEN_SHANNON_METHODS:
        raise ValueError(f"method={method!r}: one of {', '.join(JENSEN_SHANNON_METHODS)} is needed")
    counts = np.asarray(label_counts, dtype=float)
    counts = counts[counts.sum(axis=1) > 0]
    if counts.shape[0] < 2:
        return 0.0
    shares = counts / counts.sum(axis=1, keepdims=True)
    if method.startswith("generalised"):
        mass = counts.sum(axis=1) if method == "generalised_weighted" else np.ones(counts.shape[0])
        mass = mass / mass.sum()
        return max(0.0, float(_entropy(mass @ shares) - mass @ _entropy(shares)))
    if method == "mean_to_pooled":
        pooled = counts.sum(axis=0) / counts.sum()
        return float(np.mean([_distance(share, pooled) for share in shares]))
    distances = [_distance(shares[a], shares[b]) for a in range(len(shares)) for b in range(a)]
    if method == "mean_pairwise_divergence":
        distances = [distance**2 for distance in distances]
    return float(np.mean(distances))


def largest_jensen_shannon(method: str, clients: int) -> float:
    """Largest value that :func:`jensen_shannon` can have, which clients without a common label reach.

    Parameters
    ----------
    method : str
        As in :func:`jensen_shannon`.
    clients : int
    """
    if method.startswith("generalised"):
        return math.log(clients)
    return math.log(2) if method == "mean_pairwise_divergence" else math.sqrt(math.log(2))


def _distance(first: np.ndarray, second: np.ndarray) -> float:
    """Jensen-Shannon distance of two distributions; scipy's square root of a rounding error is 0."""
    return float(np.nan_to_num(jensenshannon(first, second), nan=0.0))


def _entropy(shares: np.ndarray) -> np.ndarray:
    """Shannon entropy in nats over the last axis, 0 log 0 = 0."""
    return -np.sum(np.where(shares > 0, shares * np.log(np.where(shares > 0, shares, 1.0)), 0.0), axis=-1)
