"""Logistic regression on one-hot data, against scikit-learn used plainly."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

from fedbayes.federated.logistic import average_coefficients
from fedbayes.models.logistic import coefficient_count, fit, one_hot, zero_coefficients

CARDINALITIES = (3, 2, 4)


def sample(classes, rows=120, seed=1):
    rng = np.random.default_rng(seed)
    X = np.stack([rng.integers(0, c - (c == 4), rows) for c in CARDINALITIES], axis=1)  # 3 never occurs
    return X, (X[:, 0] + X[:, 2] + rng.integers(0, 2, rows)) % classes


def encoder():
    return OneHotEncoder(categories=[np.arange(c) for c in CARDINALITIES])


def test_one_hot_has_a_column_for_every_declared_value():
    X, _ = sample(2)
    np.testing.assert_array_equal(one_hot(X, CARDINALITIES).toarray(), encoder().fit_transform(X).toarray())


@pytest.mark.parametrize("classes", [2, 3])
def test_a_fit_is_that_of_scikit_learn(classes):
    X, y = sample(classes)
    design = one_hot(X, CARDINALITIES)
    model, iterations = fit(design, y, zero_coefficients(9, classes))
    plain = LogisticRegression(max_iter=1000).fit(encoder().fit_transform(X), y)
    np.testing.assert_allclose(model.posterior(design), plain.predict_proba(design), rtol=0, atol=1e-8)
    assert iterations == plain.n_iter_[0]
    assert coefficient_count(CARDINALITIES, classes) == plain.coef_.size + plain.intercept_.size


def test_absent_classes_are_ruled_out_or_kept():
    X, y = sample(2)
    design, y = one_hot(X, CARDINALITIES), y * 2  # class 1 of three is absent
    start = zero_coefficients(9, 3)
    start.weights[:] = np.arange(27.0).reshape(3, 9) / 100
    alone, _ = fit(design, y, start)
    assert (alone.posterior(design)[:, 1] == 0).all()
    kept, _ = fit(design, y, start, absent="keep")
    np.testing.assert_array_equal(kept.weights[1], start.weights[1])
    assert np.isfinite(kept.posterior(design)).all() and (kept.posterior(design)[:, 1] > 0).all()
    only, iterations = fit(design, np.full(len(y), 2), zero_coefficients(9, 3))
    assert (only.posterior(design)[:, 2] == 1).all() and iterations == 0
    assert fit(design[:0], y[:0], start) == (start, 0)


def test_averaging_of_one_client_is_training_alone():
    X, y = sample(3)
    design = one_hot(X, CARDINALITIES)
    once, iterations = average_coefficients([(design, y)], 3, rounds=1, local_steps=1000)
    alone, steps = fit(design, y, zero_coefficients(9, 3))
    np.testing.assert_array_equal(once.weights, alone.weights)
    assert iterations == steps
    many, _ = average_coefficients([(design, y)], 3, rounds=20, local_steps=20)
    np.testing.assert_allclose(many.posterior(design), once.posterior(design), rtol=0, atol=2e-3)


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
def test_rounds_are_means_of_warm_started_fits():
    X, y = sample(3)
    design = one_hot(X, CARDINALITIES)
    first, second = np.arange(120) < 50, (np.arange(120) >= 50) & (y != 1)  # the second has no class 1
    clients = [(design[first], y[first]), (design[second], y[second]), (design[:0], y[:0])]
    found, iterations = average_coefficients(clients, 3, rounds=2, local_steps=3)
    weights, intercepts = np.zeros((3, 9)), np.zeros(3)
    for _ in range(2):
        plain = LogisticRegression(max_iter=3, warm_start=True)
        plain.coef_, plain.intercept_ = weights.copy(), intercepts.copy()
        plain.fit(*clients[0])
        pair = LogisticRegression(max_iter=3, warm_start=True)
        pair.coef_, pair.intercept_ = weights[[2]] - weights[[0]], intercepts[[2]] - intercepts[[0]]
        pair.fit(*clients[1])
        mine_w, mine_b = weights.copy(), intercepts.copy()
        for c, sign in ((0, -0.5), (2, 0.5)):
            mine_w[c] = (weights[0] + weights[2]) / 2 + sign * pair.coef_[0]
            mine_b[c] = (intercepts[0] + intercepts[2]) / 2 + sign * pair.intercept_[0]
        weights = (plain.coef_ + mine_w + weights) / 3
        intercepts = (plain.intercept_ + mine_b + intercepts) / 3
    np.testing.assert_allclose(found.weights, weights, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.intercepts, intercepts, rtol=0, atol=1e-12)
    assert iterations == 2 * (3 + 3) / 3
