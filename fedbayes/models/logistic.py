"""Multinomial logistic regression on one-hot data: the baseline beside the Bayesian models.

scikit-learn trains it (L-BFGS, L2 penalty with C = 1); here its coefficients are kept over all classes, whichever of
them a client has rows of, so that those of several clients can be averaged.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import softmax

INVERSE_PENALTY = 1.0
MAX_ITERATIONS = 1000
"""Cap of a fit that is meant to converge; scikit-learn's tolerance of 1e-4 stops it long before."""


@dataclass(frozen=True)
class Coefficients:
    """Scores of the classes are design @ weights.T + intercepts.

    Attributes
    ----------
    weights : ndarray (classes, values)
    intercepts : ndarray (classes,)
        -inf for a class that the model rules out.
    """

    weights: np.ndarray
    intercepts: np.ndarray

    def posterior(self, design: csr_matrix) -> np.ndarray:
        """Class probabilities (rows, classes) of one-hot rows."""
        return softmax(design @ self.weights.T + self.intercepts, axis=1)


def zero_coefficients(values: int, n_classes: int) -> Coefficients:
    """Coefficients that find all classes equally probable."""
    return Coefficients(np.zeros((n_classes, values)), np.zeros(n_classes))


def coefficient_count(cardinalities: Sequence[int], n_classes: int) -> int:
    """Numbers in one model: a weight per value and an intercept, per class; two classes need one set alone."""
    sets = 1 if n_classes == 2 else n_classes
    return sets * (int(np.sum(cardinalities)) + 1)


def one_hot(X: np.ndarray, cardinalities: Sequence[int]) -> csr_matrix:
    """One column per declared value of each attribute, in the attributes' order.

    Parameters
    ----------
    X : ndarray (rows, d) of int
        Codes inside their domains.
    cardinalities : sequence of int
        Domain sizes.

    Returns
    -------
    csr_matrix (rows, sum of cardinalities) of float64
    """
    bounds = np.concatenate([[0], np.cumsum(cardinalities)])
    rows, d = X.shape
    columns = (np.asarray(X, np.int64) + bounds[:-1]).ravel()
    starts = np.arange(rows + 1) * d
    return csr_matrix((np.ones(rows * d), columns, starts), shape=(rows, int(bounds[-1])))


def fit(
    design: csr_matrix,
    y: np.ndarray,
    start: Coefficients,
    max_iterations: int = MAX_ITERATIONS,
    *,
    absent: str = "exclude",
) -> tuple[Coefficients, int]:
    """Train from given coefficients.

    Parameters
    ----------
    design : csr_matrix (rows, values)
        One-hot rows; none at all return ``start``.
    y : ndarray (rows,) of int
        Classes.
    start : Coefficients
        Where the optimiser starts.
    max_iterations : int
        Iterations of L-BFGS.
    absent : {"exclude", "keep"}
        What becomes of classes without rows: probability 0, or the coefficients they had at the start (so that
        one client cannot undo what others know of them).

    Returns
    -------
    coefficients : Coefficients
    iterations : int
        Of the optimiser; 0 where there is nothing to learn (fewer than two classes).
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    present = np.unique(y)
    if not len(present):
        return start, 0
    weights, intercepts, iterations = start.weights.copy(), start.intercepts.copy(), 0
    if absent == "exclude":
        intercepts[np.setdiff1d(np.arange(len(intercepts)), present)] = -np.inf
    if len(present) > 1:
        model = LogisticRegression(C=INVERSE_PENALTY, max_iter=max_iterations, warm_start=True)
        # scikit-learn has one set of coefficients for two classes: the difference between them
        apart = len(present) > 2
        model.coef_ = weights[present] if apart else np.diff(weights[present], axis=0)
        model.intercept_ = intercepts[present] if apart else np.diff(intercepts[present])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a few iterations are meant to be few
            model.fit(design, y)
        iterations = int(model.n_iter_.max())
        if apart:
            weights[present], intercepts[present] = model.coef_, model.intercept_
        else:
            half = np.array([-0.5, 0.5])
            weights[present] = weights[present].mean(axis=0) + half[:, None] * model.coef_
            intercepts[present] = intercepts[present].mean() + half * model.intercept_
    return Coefficients(weights, intercepts), iterations
