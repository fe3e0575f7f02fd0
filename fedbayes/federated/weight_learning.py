"""Node weights learned on validation rows under a governance penalty (governance paper, section III-E).

    J(w) = ANLL(w) + penalty |w - target|^2,

ANLL the mean negative log posterior of the mixture. The nodes' scores of the validation rows do not change
while the weights do, so they enter once, as exponentials: with M the highest score of a row, T the highest
score of its true class, and per node s_k = sum_c exp(l_k(c) - M), t_k = exp(l_k(true) - T),

    -log posterior = log(s . w) - log(t . w) + (M - T),

and an evaluation needs one logarithm per block of rows, no exponential.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from fedbayes.federated.governance import normalise, project_to_simplex
from fedbayes.federated.mixture import LOG_SMALLEST, log_posterior, mixture_log_likelihood
from fedbayes.federated.mixture import negative_log_likelihood as row_losses
from fedbayes.models.engine.compilation import compiled

PROJECTIONS = ("floor", "strict")
RESTARTS = 5


def constrain(raw: np.ndarray, floor: float = 0.05, projection: str = "floor") -> np.ndarray:
    """Weights that a point of the optimiser stands for.

    Parameters
    ----------
    raw : ndarray, shape (nodes,)
        Any real numbers; negative ones count as 0.
    floor : float, default 0.05
    projection : {"floor", "strict"}
        ``floor``, as the paper says: normalise, lift to the floor, normalise again, which can end a little
        below the floor; ``strict``: Euclidean projection onto the weights that respect it.
    """
    if projection == "strict":
        return project_to_simplex(raw, floor)
    if projection != "floor":
        raise ValueError(f"projection={projection!r}: one of {', '.join(PROJECTIONS)} is needed")
    raw = np.ascontiguousarray(raw, dtype=np.float64)
    weights = np.empty(raw.size)
    _lift(raw, floor, weights)
    return weights


class Objective:
    """J of given weights on cached scores of validation rows.

    Parameters
    ----------
    log_likelihoods : ndarray, shape (nodes, rows, classes)
        Scores of the nodes that have rows, finite or -inf.
    y : ndarray of int, shape (rows,)
        True classes.
    target : ndarray, shape (nodes,)
    penalty : float
        Strength of the pull to the target, lambda in the paper.
    """

    def __init__(self, log_likelihoods: np.ndarray, y: np.ndarray, target: np.ndarray, penalty: float = 0.1):
        self._scores = np.ascontiguousarray(log_likelihoods, dtype=np.float64)
        self._y = np.asarray(y)
        self.penalty = float(penalty)
        self.target = np.asarray(target, dtype=np.float64)
        nodes, rows, _ = self._scores.shape
        if rows == 0 or self._y.shape != (rows,) or self.target.shape != (nodes,):
            raise ValueError(
                "scores (nodes, rows, classes), y (rows,) and target (nodes,) do not fit together"
            )
        true = self._scores[:, np.arange(rows), self._y]
        highest, highest_true = self._scores.max(axis=(0, 2)), true.max(axis=0)
        usable = np.isfinite(highest_true)  # the others cost the same whatever the weights
        with np.errstate(under="ignore"):
            total = np.exp(self._scores[:, usable] - highest[usable, None]).sum(axis=2)
            share = np.exp(true[:, usable] - highest_true[usable])
        self._totals = np.ascontiguousarray(total.T)
        self._shares = np.ascontiguousarray(share.T)
        self._rows = rows
        constant = (highest - highest_true)[usable].sum() - LOG_SMALLEST * (rows - usable.sum())
        self.constant = float(constant / rows)

    def __call__(self, weights: np.ndarray) -> float:
        """J of weights that are not negative and sum to 1."""
        weights = np.ascontiguousarray(weights, dtype=np.float64)
        return self.constant + self.varying(weights)

    def varying(self, weights: np.ndarray) -> float:
        """J without its part that no weight changes; that part may be so large that it hides the rest."""
        self._check(weights)
        value = _varying(weights, self._totals, self._shares, self._rows, self.target, self.penalty)
        return value if np.isfinite(value) else self._exactly(weights)

    def constrained(self, raw: np.ndarray, floor: float) -> float:
        """`varying` of a point normalised and lifted to the floor, in one compiled call."""
        self._check(raw)
        value = _varying_lifted(raw, floor, self._totals, self._shares, self._rows, self.target, self.penalty)
        return value if np.isfinite(value) else self._exactly(constrain(raw, floor))

    def _check(self, weights: np.ndarray) -> None:
        if weights.shape != self.target.shape:
            raise ValueError(
                f"weights have shape {weights.shape}, expected {self.target.shape}: one for each node"
            )

    def _exactly(self, weights: np.ndarray) -> float:
        """The plain formula, for weights (near) 0 where a product of exponentials leaves the doubles."""
        losses = row_losses(log_posterior(mixture_log_likelihood(self._scores, weights)), self._y)
        distance = weights - self.target
        return float(losses.mean() - self.constant + self.penalty * distance @ distance)


@dataclass(frozen=True)
class LearnedWeights:
    """Result of `learn_weights`: weights (nodes,), their objective, and the evaluations it took."""

    weights: np.ndarray
    objective: float
    evaluations: int


def starting_points(target: np.ndarray, rng: np.random.Generator, draws: int = 2) -> np.ndarray:
    """Starts of the optimiser: target, equal shares, Dirichlet(1) draws and the draws' midpoint.

    Parameters
    ----------
    target : ndarray, shape (nodes,)
    rng : numpy.random.Generator
    draws : int, default 2
        Number of Dirichlet draws, 0 for none (and no midpoint).

    Returns
    -------
    ndarray, shape (starts, nodes)
    """
    random = rng.dirichlet(np.ones(target.size), size=draws)
    midpoint = random.mean(axis=0, keepdims=True) if draws else random
    return np.concatenate([target[None], np.full((1, target.size), 1.0 / target.size), random, midpoint])


def learn_weights(
    objective: Objective,
    starts: np.ndarray,
    *,
    floor: float = 0.05,
    projection: str = "floor",
    max_iterations: int = 500,
) -> LearnedWeights:
    """Minimise J over the weights with Nelder and Mead's simplex method from several starts.

    Parameters
    ----------
    objective : Objective
    starts : ndarray, shape (starts, nodes)
    floor, projection
        As in `constrain`.
    max_iterations : int, default 500
        Per start; coordinates to 1e-6 and values to 1e-8 (scipy's ``xatol`` and ``fatol``).

    Returns
    -------
    LearnedWeights
        The best of the starts; the first of equal ones.

    Notes
    -----
    Every point below the floor stands for the same weights, and a simplex that has shrunk into such a plateau
    is stuck. So the method is started once more at the best point, with a simplex that reaches a tenth of the
    way to every corner, and again as long as that helps (at most `RESTARTS` times).
    """
    nodes = objective.target.size
    if nodes == 1:
        return LearnedWeights(np.ones(1), objective(np.ones(1)), 1)

    def value(raw: np.ndarray) -> float:
        if projection == "floor":
            return objective.constrained(raw, floor)
        return objective.varying(constrain(raw, floor, projection))

    options = {"maxiter": max_iterations, "xatol": 1e-6, "fatol": 1e-8}

    def descend(start: np.ndarray, **more) -> tuple[float, np.ndarray]:
        nonlocal evaluations
        result = minimize(value, start, method="Nelder-Mead", options=options | more)
        evaluations += result.nfev
        # lifting to the floor is not a projection: done twice, it moves a point once more
        point = (
            normalise(np.maximum(result.x, 0.0))
            if projection == "floor"
            else constrain(result.x, floor, projection)
        )
        return float(result.fun), point

    evaluations = 0
    lowest, best = min((descend(start) for start in starts), key=lambda outcome: outcome[0])
    for _ in range(RESTARTS):
        simplex = np.concatenate([best[None], 0.9 * best + 0.1 * np.eye(nodes)])
        again, point = descend(best, initial_simplex=simplex)
        helped = again < lowest - 1e-8
        if again < lowest:
            lowest, best = again, point
        if not helped:
            break
    weights = constrain(best, floor, projection)
    return LearnedWeights(weights, objective(weights), evaluations)


@compiled
def _lift(raw, floor, weights):
    total = 0.0
    for k in range(raw.shape[0]):
        total += max(raw[k], 0.0)
    lifted = 0.0
    for k in range(raw.shape[0]):
        weights[k] = max(max(raw[k], 0.0) / total if total > 0.0 else 1.0 / raw.shape[0], floor)
        lifted += weights[k]
    for k in range(raw.shape[0]):
        weights[k] /= lifted


@compiled
def _varying(weights, totals, shares, rows, target, penalty):
    """Mean log ratio plus penalty; infinite or NaN where products leave the range of doubles."""
    nodes = weights.shape[0]
    value = 0.0
    for start in range(0, totals.shape[0], 32):
        above, below = 1.0, 1.0
        for i in range(start, min(start + 32, totals.shape[0])):
            total, share = 0.0, 0.0
            for k in range(nodes):
                total += weights[k] * totals[i, k]
                share += weights[k] * shares[i, k]
            above *= total
            below *= share
        if not (1e-150 < above < 1e150 and 1e-150 < below < 1e150):
            return np.inf
        value += np.log(above / below)
    distance = 0.0
    for k in range(nodes):
        distance += (weights[k] - target[k]) ** 2
    return value / rows + penalty * distance


@compiled
def _varying_lifted(raw, floor, totals, shares, rows, target, penalty):
    weights = np.empty(raw.shape[0])
    _lift(raw, floor, weights)
    return _varying(weights, totals, shares, rows, target, penalty)
