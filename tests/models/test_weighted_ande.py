"""The weighted estimator: scikit-learn's checks, its gain over weights of 1, unseen codes, bad input."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.utils.estimator_checks import parametrize_with_checks

from fedbayes.models import AnDEClassifier, WeightedAnDEClassifier


@parametrize_with_checks([WeightedAnDEClassifier(max_iterations=50), WeightedAnDEClassifier(n=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def draw(rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (rows, 5))
    return X, np.array(["no", "yes"])[
        ((X[:, 0] == X[:, 1]) ^ (X[:, 2] > 0) ^ (rng.random(rows) < 0.1)).astype(int)
    ]


def test_naive_bayes_weights_maximise_the_conditional_likelihood():
    X, labels = draw(300, 0)
    y = (labels == "yes").astype(int)
    model = WeightedAnDEClassifier(n=0, cardinalities=[3] * 5).fit(X, labels)
    prior = np.log((np.bincount(y) + 1) / (len(y) + 2))
    theta = np.zeros((5, 3, 2))
    for j in range(5):
        counts = np.array([np.bincount(X[y == c, j], minlength=3) + 1.0 for c in range(2)]).T
        theta[j] = np.log(counts / counts.sum(0))

    def log_posterior(w):
        own = w[2:].reshape(5, 2)
        return log_softmax(w[:2] * prior + sum(own[j] * theta[j][X[:, j]] for j in range(5)), axis=1)

    best = minimize(lambda w: -log_posterior(w)[np.arange(len(y)), y].sum(), np.ones(12), method="L-BFGS-B")
    own = model.predict_proba(X)
    assert -np.log(own[np.arange(len(y)), y]).sum() == pytest.approx(best.fun, rel=1e-4)


def test_training_fits_better_than_weights_of_one():
    X, y = draw(400, 1)
    column = (y == "yes").astype(int)
    losses = []
    for estimator in (AnDEClassifier(n=1), WeightedAnDEClassifier(n=1, max_iterations=300)):
        proba = estimator.fit(X, y).predict_proba(X)
        losses.append(-np.log(proba[np.arange(len(y)), column]).mean())
    assert losses[1] < losses[0] - 0.01


def test_without_iterations_it_is_the_generative_model():
    X, y = draw(100, 2)
    unseen = np.array([[0, 1, 2, 7, 1], [9, 0, 0, 0, 0]])
    for n in (0, 2):
        options = {"n": n, "cardinalities": [3] * 5}
        plain = AnDEClassifier(**options).fit(X, y)
        weighted = WeightedAnDEClassifier(**options, max_iterations=0).fit(X, y)
        for rows in (X, unseen):
            np.testing.assert_allclose(weighted.predict_proba(rows), plain.predict_proba(rows), atol=1e-13)


def test_bad_input_is_refused():
    X, y = draw(50, 3)
    with pytest.raises(ValueError, match="n_features=5"):
        WeightedAnDEClassifier(n=5).fit(X, y)
    with pytest.raises(ValueError, match="max_iterations"):
        WeightedAnDEClassifier(max_iterations=-1).fit(X, y)
    with pytest.raises(ValueError, match="cardinality 2"):
        WeightedAnDEClassifier(cardinalities=[3, 3, 2, 3, 3]).fit(X, y)
    with pytest.raises(ValueError, match="smoothing"):
        WeightedAnDEClassifier(smoothing=0).fit(X, y)
