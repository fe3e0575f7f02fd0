"""Hybrid naive Bayes: categorical attributes by frequencies, numeric ones by Gaussians (governance paper, III-C).

The paper's score of a row x and a class c on a node is

    log P_cat(c | x_cat) + log P_gauss(c | x_num) - log P(c),

two posteriors over a prior (reading ``paper``). It differs from the joint log density of x and c,

    log P(c) + log P(x_cat | c) + log p(x_num | c),

(reading ``density``) by a term that depends on the row alone: a single model decides alike under both, a
mixture of nodes does not, since that term differs from node to node.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedbayes.models.engine.compilation import compiled
from fedbayes.models.mixed_statistics import MixedStatistics, check_columns, check_rows, gather_statistics

READINGS = ("paper", "density")
LOWEST = -1e300
"""Floor of a Gaussian log density, so that differences of two of them stay finite."""


class HybridNB:
    """CategoricalNB and GaussianNB side by side, on a vocabulary and classes known beforehand.

    Parameters
    ----------
    smoothing : float, default 1.0
        Added to every categorical count; every attribute has one slot more than its vocabulary, which takes
        the codes outside it.
    var_smoothing : float, default 1e-9
        Added to every class variance, in units of the largest column variance after scaling the columns to
        variance 1 on the node's rows. Where no column varies (a node with one row) the unit is 1.

    Attributes
    ----------
    statistics_ : MixedStatistics
        Counts and moments, in the units of the data.
    class_log_prior_ : ndarray, shape (classes,)
        Logarithm of the class frequencies, -inf for a class without rows.
    category_log_probability_ : ndarray, shape (classes, slots)
        Logarithm of the smoothed frequencies, in the slots of ``statistics_.offsets``.
    means_, variances_ : ndarray, shape (classes, numeric attributes)
        Gaussians in the units of the data, smoothing included.
    """

    def __init__(self, smoothing: float = 1.0, var_smoothing: float = 1e-9):
        for name, value in (("smoothing", smoothing), ("var_smoothing", var_smoothing)):
            if not (np.isfinite(value) and value > 0):
                raise ValueError(f"{name}={value}: a positive finite number is needed")
        self.smoothing = smoothing
        self.var_smoothing = var_smoothing

    def fit(
        self,
        X_categorical: np.ndarray,
        X_numeric: np.ndarray,
        y: np.ndarray,
        *,
        n_categories: Sequence[int],
        n_classes: int,
        rows: np.ndarray | None = None,
    ) -> HybridNB:
        """Count the rows and make the probabilities.

        Parameters
        ----------
        X_categorical : ndarray of int, shape (rows, a)
            Codes into the global vocabulary; any other code counts as "outside the vocabulary".
        X_numeric : ndarray of float, shape (rows, b)
        y : ndarray of int, shape (rows,)
            Class codes; a class without rows keeps its place.
        n_categories : sequence of int, length a
        n_classes : int
        rows : ndarray of int, optional
            Fit on these rows only, without copying them.

        Raises
        ------
        ValueError
            Without rows, or for arrays that do not fit together.
        """
        statistics = gather_statistics(
            X_categorical, X_numeric, y, n_categories=tuple(n_categories), n_classes=n_classes, rows=rows
        )
        return self.from_statistics(statistics)

    def from_statistics(self, statistics: MixedStatistics) -> HybridNB:
        """Make the probabilities of given counts and moments."""
        if statistics.rows == 0:
            raise ValueError("hybrid naive Bayes needs at least one row")
        self.statistics_ = statistics
        counts = statistics.class_counts.astype(float)
        self.present_ = counts > 0
        with np.errstate(divide="ignore"):
            self.class_log_prior_ = np.log(counts) - np.log(statistics.rows)
        slots = np.diff(statistics.offsets)
        totals = counts[:, None] + self.smoothing * slots
        self.category_log_probability_ = np.log(statistics.categorical_counts + self.smoothing) - np.repeat(
            np.log(totals), slots, axis=1
        )
        scales = statistics.column_scales()
        _, column_variances = statistics.column_moments()
        widest = (column_variances / scales**2).max(initial=0.0)
        added = self.var_smoothing * (widest if widest > 0 else 1.0)
        self.means_ = statistics.means
        self.variances_ = (
            statistics.squares / np.maximum(counts, 1.0)[:, None] / scales**2 + added
        ) * scales**2
        return self

    def joint_parts(
        self, X_categorical: np.ndarray, X_numeric: np.ndarray, rows: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Class-conditional log-likelihoods of both parts, log P(x_cat | c) and log p(x_num | c).

        Parameters
        ----------
        X_categorical, X_numeric : ndarray, shapes (rows, a) and (rows, b)
        rows : ndarray of int, optional
            Score these rows only.

        Returns
        -------
        categorical, gaussian : ndarray, shape (rows, classes)
            The second per unit of the raw data; -inf in both for a class without rows.
        """
        statistics = self.statistics_
        attributes = len(statistics.offsets) - 1
        X_categorical, X_numeric = check_columns(X_categorical, X_numeric, attributes)
        if X_numeric.shape[1] != self.means_.shape[1]:
            raise ValueError(
                f"X_numeric has {X_numeric.shape[1]} columns, the model was fitted on {self.means_.shape[1]}"
            )
        rows = check_rows(rows, len(X_numeric))
        half_precisions = 0.5 / self.variances_
        constants = -0.5 * np.log(2.0 * np.pi * self.variances_).sum(axis=1)
        classes = np.flatnonzero(self.present_)
        categorical = np.full((rows.size, self.present_.size), -np.inf)
        gaussian = categorical.copy()
        _score_categories(
            X_categorical, rows, statistics.offsets, self.category_log_probability_, classes, categorical
        )
        _score_numbers(X_numeric, rows, self.means_, half_precisions, constants, classes, LOWEST, gaussian)
        return categorical, gaussian

    def combine(self, categorical: np.ndarray, gaussian: np.ndarray, reading: str = "paper") -> np.ndarray:
        """The node's score of every row and class from the two parts of `joint_parts`, in either reading."""
        if reading not in READINGS:
            raise ValueError(f"reading={reading!r}: one of {', '.join(READINGS)} is needed")
        score = np.full(categorical.shape, -np.inf)
        here = self.present_
        prior = self.class_log_prior_[here]
        if reading == "density":
            score[:, here] = categorical[:, here] + gaussian[:, here] + prior
        else:
            first, second = categorical[:, here] + prior, gaussian[:, here] + prior
            score[:, here] = normalised(first) + normalised(second) - prior
        return score

    def log_likelihood(
        self, X_categorical: np.ndarray, X_numeric: np.ndarray, reading: str = "paper"
    ) -> np.ndarray:
        """Score of every row and class.

        Parameters
        ----------
        X_categorical : ndarray of int, shape (rows, a)
        X_numeric : ndarray of float, shape (rows, b)
        reading : {"paper", "density"}
            ``paper``: the log posteriors of both parts added, minus the log prior; ``density``: the joint
            log density of the row and the class, per unit of the raw data.

        Returns
        -------
        ndarray, shape (rows, classes)
            Finite, or -inf for a class without rows on this node.
        """
        return self.combine(*self.joint_parts(X_categorical, X_numeric), reading)


def normalised(scores: np.ndarray) -> np.ndarray:
    """Scores (rows, classes) minus their log-sum-exp over the classes, for finite scores."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


@compiled
def _score_categories(X_categorical, rows, offsets, log_probability, classes, scores):
    for i in range(rows.shape[0]):
        for c in classes:
            total = 0.0
            for j in range(X_categorical.shape[1]):
                code = np.int64(X_categorical[rows[i], j])
                known = offsets[j + 1] - offsets[j] - 1
                if code < 0 or code > known:
                    code = known
                total += log_probability[c, offsets[j] + code]
            scores[i, c] = total


@compiled
def _score_numbers(X_numeric, rows, means, half_precisions, constants, classes, lowest, scores):
    for i in range(rows.shape[0]):
        for c in classes:
            distance = 0.0
            for j in range(X_numeric.shape[1]):
                deviation = X_numeric[rows[i], j] - means[c, j]
                distance += deviation * deviation * half_precisions[c, j]
            # differences of classes and nodes follow: no infinity may come out of far-away rows
            scores[i, c] = max(constants[c] - distance, lowest)
