"""Averaged n-dependence estimators with generative parameters, as a scikit-learn classifier."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fedbayes.evaluation import predict_labels
from fedbayes.models.categorical_input import (
    check_cardinalities,
    check_codes,
    check_domain,
    check_order,
    check_smoothing,
    infer_cardinalities,
)
from fedbayes.models.engine.counting import count
from fedbayes.models.engine.generative import CountTables, average_posteriors


class CategoricalClassifier(ClassifierMixin, BaseEstimator):
    """What classifiers of integer-coded attributes share: checks, labels and the predictions made of posteriors.

    A subclass has the parameters `n`, `smoothing` and `cardinalities` and the methods ``_fit_codes(X, y)`` and
    ``_posterior(X)``.
    """

    def fit(self, X, y):
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (rows, attributes)
            Integer codes from 0.
        y : array-like of shape (rows,)
            Class labels.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For codes that are no whole numbers >= 0 or lie outside `cardinalities`, and for n not below the
            number of attributes (the message contains ``n_features=<number>``).
        """
        X, y = validate_data(self, X, y, dtype=None)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        X = check_codes(_numeric(X))
        if X.min() < 0:
            raise ValueError(f"Negative values in data passed to {type(self).__name__} (input X)")
        if self.cardinalities is None:
            cardinalities = infer_cardinalities(X)
        else:
            cardinalities = check_cardinalities(self.cardinalities, X.shape[1])
            check_domain(X, cardinalities)
        check_order(self.n, X.shape[1])
        check_smoothing(self.smoothing)
        self.cardinalities_ = cardinalities
        self._fit_codes(X, labels.astype(np.int32))
        return self

    def predict_proba(self, X):
        """Posterior of each class (columns in the order of `classes_`), averaged over structures.

        A code outside its domain counts as a value (or a superparent's cell) that was never seen.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=None, reset=False)
        return self._posterior(check_codes(_numeric(X)))

    def predict_log_proba(self, X):
        """Logarithm of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X):
        """Most probable class; among posteriors within 1e-9 of the maximum the first of `classes_`."""
        labels = predict_labels(self.predict_proba(X))
        return self.classes_[labels]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = False
        return tags


def _numeric(X: np.ndarray) -> np.ndarray:
    """Numbers kept as objects (as in a mixed data frame) as floats."""
    return X.astype(np.float64) if X.dtype == object else X


class AnDEClassifier(CategoricalClassifier):
    """Averaged n-dependence estimator (Webb et al. 2012): n=0 naive Bayes, n=1 AODE, n=2 A2DE.

    For every set P of n attributes, all others are independent given the class and the values on P; the
    normalised posteriors of these models are averaged.

    Parameters
    ----------
    n : int, default=1
        Number of superparents, below the number of attributes.
    smoothing : float, default=1.0
        Added to every count of every table.
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
    """

    def __init__(self, n=1, smoothing=1.0, cardinalities=None):
        self.n = n
        self.smoothing = smoothing
        self.cardinalities = cardinalities

    def _fit_codes(self, X, y):
        self._counts = count([(X, y)], self.cardinalities_, len(self.classes_), self.n)
        self._order, self._smoothing = self.n, self.smoothing

    def _posterior(self, X):
        source = CountTables(self._counts, self._smoothing)
        return average_posteriors(X, self.cardinalities_, len(self.classes_), self._order, source)
