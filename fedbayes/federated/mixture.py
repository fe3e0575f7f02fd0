"""The server's mixture of node distributions (governance paper, section III-D).

Nodes are never merged into one set of parameters: the score of a row and a class is

    log sum_k w_k exp(l_k(x, c)),

normalised over the classes before it is used. Scores of -inf (a class without rows on a node) and weights of 0
(a node without rows) are ordinary values here; no NaN comes out.
"""

from __future__ import annotations

import numpy as np

from fedbayes.models.engine.compilation import compiled

LOG_SMALLEST = float(np.log(np.finfo(np.float64).smallest_subnormal))
"""Logarithm of the smallest positive double, -744.44: what a class that no weighted node knows costs."""


def mixture_log_likelihood(log_likelihoods: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Log-sum-exp of the nodes' scores with their weights.

    Parameters
    ----------
    log_likelihoods : ndarray, shape (nodes, rows, classes)
        Finite or -inf.
    weights : ndarray, shape (nodes,)
        Finite and not negative; a node of weight 0 takes no part.

    Returns
    -------
    ndarray, shape (rows, classes)
        Finite, or -inf for a class whose score is -inf on every node with a positive weight.
    """
    scores, weights = _checked(log_likelihoods, weights)
    mixture = np.empty(scores.shape[1:])
    _mix(scores[weights > 0], weights[weights > 0], mixture)
    return mixture


def log_posterior(mixture: np.ndarray) -> np.ndarray:
    """Log-softmax over the classes; a row that is -inf in every class becomes uniform.

    Parameters
    ----------
    mixture : ndarray, shape (rows, classes)
        Finite or -inf.

    Returns
    -------
    ndarray, shape (rows, classes)
        At most 0, -inf where the mixture is.
    """
    mixture = np.asarray(mixture, dtype=np.float64)
    highest = mixture.max(axis=1, keepdims=True)
    shifted = np.where(np.isneginf(highest), 0.0, mixture - np.where(np.isneginf(highest), 0.0, highest))
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def negative_log_likelihood(log_probabilities: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Loss of every row in nats, finite.

    A true class of log-probability -inf, known to no weighted node, costs 744.44 (`LOG_SMALLEST`); finite
    log-probabilities, however low, are taken as they are.

    Parameters
    ----------
    log_probabilities : ndarray, shape (rows, classes)
    y : ndarray of int, shape (rows,)
    """
    loss = 0.0 - log_probabilities[np.arange(len(y)), y]  # no negative zero
    return np.where(np.isposinf(loss), -LOG_SMALLEST, loss)


def absent_pairs(class_counts: np.ndarray) -> int:
    """Number of (node, class) pairs without a row, in counts of shape (nodes, classes)."""
    return int((np.asarray(class_counts) == 0).sum())


def absent_everywhere(class_counts: np.ndarray) -> np.ndarray:
    """Classes without a row on any node: their score is -inf whatever the weights."""
    return np.flatnonzero(np.asarray(class_counts).sum(axis=0) == 0)


def _checked(log_likelihoods: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scores = np.ascontiguousarray(log_likelihoods, dtype=np.float64)
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    if scores.ndim != 3 or weights.shape != scores.shape[:1]:
        raise ValueError(
            f"scores of shape (nodes, rows, classes) and weights (nodes,) are needed; got {scores.shape} and "
            f"{weights.shape}"
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"weights={weights.tolist()}: finite numbers from 0 are needed")
    return scores, weights


@compiled
def _mix(scores, weights, mixture):
    nodes, rows, n_classes = scores.shape
    for i in range(rows):
        for c in range(n_classes):
            highest = -np.inf
            for k in range(nodes):
                highest = max(highest, scores[k, i, c])
            if highest == -np.inf:
                mixture[i, c] = -np.inf
                continue
            total = 0.0
            for k in range(nodes):
                total += weights[k] * np.exp(scores[k, i, c] - highest)
            # a weight this side of 0 may vanish beside a far higher score: then the weighted scores decide
            if total > 1e-290:
                mixture[i, c] = highest + np.log(total)
                continue
            best = -np.inf
            for k in range(nodes):
                best = max(best, scores[k, i, c] + np.log(weights[k]))
            total = 0.0
            for k in range(nodes):
                total += np.exp(scores[k, i, c] + np.log(weights[k]) - best)
            mixture[i, c] = best + np.log(total)
