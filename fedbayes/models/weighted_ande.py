"""Averaged n-dependence estimators with discriminatively trained weights, as a scikit-learn classifier."""

from __future__ import annotations

import itertools
from numbers import Integral

from fedbayes.models.ande import CategoricalClassifier
from fedbayes.models.engine.clients import TrainingRows, prepare_clients
from fedbayes.models.engine.layout import make_structure
from fedbayes.models.engine.posteriors import LOCAL
from fedbayes.models.engine.training import train_locally
from fedbayes.models.weighted_posteriors import average_posteriors


class WeightedAnDEClassifier(CategoricalClassifier):
    """Averaged n-dependence estimator whose log probabilities carry weights (AnDE^w).

    For every set P of n attributes the model's score of a class is

        w0_y log P(y) + wP_y log P(x_P | y) + sum_j w_{j,y,x_P} log P(x_j | y, x_P),

    its tables are counted as those of :class:`AnDEClassifier`, and the weights maximise the conditional
    log-likelihood of the training labels by L-BFGS from a start at 1 (FedAnDE, section 2). The normalised
    posteriors of these models are averaged.

    Parameters
    ----------
    n : int, default=1
        Number of superparents, below the number of attributes.
    smoothing : float, default=1.0
        Added to every count of every table.
    max_iterations : int, default=15000
        Most iterations of L-BFGS for each set of superparents.
    cardinalities : sequence of int, default=None
        Number of values of each attribute; by default the largest code plus one.

    Attributes
    ----------
    classes_ : ndarray of shape (classes,)
        The labels.
    cardinalities_ : ndarray of shape (attributes,)
        Domain sizes used.
    n_features_in_ : int
        Number of attributes.
    n_iter_ : int
        Iterations of the set of superparents that took most.
    """

    def __init__(self, n=1, smoothing=1.0, max_iterations=15000, cardinalities=None):
        self.n = n
        self.smoothing = smoothing
        self.max_iterations = max_iterations
        self.cardinalities = cardinalities

    def _fit_codes(self, X, y):
        limit = self.max_iterations
        if not isinstance(limit, Integral) or isinstance(limit, bool) or limit < 0:
            raise ValueError(f"max_iterations must be an integer >= 0, got {limit!r}")
        self._rows = TrainingRows([(X, y)], self.smoothing)
        self._structures = list(itertools.combinations(range(X.shape[1]), self.n))
        self._weights, self.n_iter_ = [], 0
        for parents in self._structures:
            structure = make_structure(parents, self.cardinalities_, len(self.classes_))
            weights, iterations, _ = train_locally(prepare_clients(self._rows, structure), limit)
            self._weights.append(weights)
            self.n_iter_ = max(self.n_iter_, int(iterations[0]))

    def _posterior(self, X):
        return average_posteriors(
            self._rows, self.cardinalities_, len(self.classes_), self._structures, X, LOCAL, self._weights
        )[0]
