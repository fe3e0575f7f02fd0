"""AnDEClassifier: against scikit-learn, brute force, the estimator checks and (where installed) scikit-bayes."""

import itertools
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import CategoricalNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from fedbayes.models import AnDEClassifier

CARDINALITIES = (3, 2, 4, 1, 3)


@parametrize_with_checks([AnDEClassifier(n=0), AnDEClassifier(n=1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def sample(rng, rows, classes, cardinalities=CARDINALITIES):
    X = np.stack([rng.integers(c, size=rows) for c in cardinalities], axis=1)
    return X, rng.integers(classes, size=rows)


def brute_force(X, y, cardinalities, n_classes, n, x, smoothing=1.0):
    """The posterior of one row, straight from the definition, in plain Python."""
    X, y = X.tolist(), y.tolist()
    d, structures = len(cardinalities), list(itertools.combinations(range(len(cardinalities)), n))
    total = [0.0] * n_classes
    for parents in structures:
        cells = math.prod(cardinalities[p] for p in parents)
        scores = []
        for c in range(n_classes):
            of_class = [row for row, label in zip(X, y, strict=True) if label == c]
            in_cell = [row for row in of_class if all(row[p] == x[p] for p in parents)]
            score = (len(of_class) + smoothing) / (len(y) + smoothing * n_classes)
            score *= (len(in_cell) + smoothing) / (len(of_class) + smoothing * cells)
            for j in range(d):
                if j not in parents:
                    hits = sum(row[j] == x[j] for row in in_cell)
                    score *= (hits + smoothing) / (len(in_cell) + smoothing * cardinalities[j])
            scores.append(score)
        for c in range(n_classes):
            total[c] += scores[c] / sum(scores) / len(structures)
    return total


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_equals_the_definition(n, classes):
    rng = np.random.default_rng(10 * n + classes)
    X, y = sample(rng, 25, classes)
    X[X[:, 2] == 3, 2] = 0  # a declared value without rows
    y[y == classes - 1] = 0  # and a class of a single row
    y[0] = classes - 1
    model = AnDEClassifier(n=n, smoothing=0.7, cardinalities=CARDINALITIES).fit(X, y)
    labels = np.searchsorted(model.classes_, y)
    X_test = np.stack([rng.integers(-1, c + 2, size=12) for c in CARDINALITIES], axis=1)  # also outside
    X_test[:4], _ = sample(rng, 4, classes)
    expected = [
        brute_force(X, labels, CARDINALITIES, len(model.classes_), n, x, 0.7) for x in X_test.tolist()
    ]
    np.testing.assert_allclose(model.predict_proba(X_test), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_naive_bayes_is_scikit_learns(classes):
    rng = np.random.default_rng(classes)
    X, y = sample(rng, 200, classes)
    X_test, _ = sample(rng, 100, classes)
    prior = (np.bincount(y, minlength=classes) + 1) / (len(y) + classes)
    peer = CategoricalNB(alpha=1.0, class_prior=prior, min_categories=list(CARDINALITIES)).fit(X, y)
    ours = AnDEClassifier(n=0, cardinalities=CARDINALITIES).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X_test), peer.predict_proba(X_test), rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.predict_log_proba(X_test), peer.predict_log_proba(X_test), atol=1e-11)


def test_a_large_sample_takes_every_route():
    """Bit sets and rows, tabulated groups and single attributes must agree with scikit-learn's one way."""
    rng = np.random.default_rng(0)
    cardinalities = (2, 2, 9, 2, 30, 3, 2)
    X, y = sample(rng, 3000, 3, cardinalities)
    X[rng.random(3000) < 0.8, 2] = 1  # crowded and sparse cells
    model = AnDEClassifier(n=1, cardinalities=cardinalities).fit(X, y)
    expected = np.zeros((200, 3))
    for parent in range(7):
        for value in range(cardinalities[parent]):
            inside = X[:, parent] == value
            counts = np.bincount(y[inside], minlength=3)
            share = (counts + 1) / (np.bincount(y, minlength=3) + cardinalities[parent])
            prior = share * (np.bincount(y, minlength=3) + 1) / 3003
            others = [j for j in range(7) if j != parent]
            rows = np.flatnonzero(X[:200, parent] == value)
            log_scores = np.tile(np.log(prior), (len(rows), 1))
            for j in others:
                table = np.ones((cardinalities[j], 3))
                np.add.at(table, (X[inside, j], y[inside]), 1)
                log_scores += np.log(table / table.sum(axis=0))[X[rows, j]]
            scores = np.exp(log_scores)
            expected[rows] += scores / scores.sum(axis=1, keepdims=True) / 7
    np.testing.assert_allclose(model.predict_proba(X[:200]), expected, rtol=0, atol=1e-12)


def test_posterior_does_not_depend_on_the_other_rows():
    rng = np.random.default_rng(5)
    X, y = sample(rng, 300, 3, (3,) * 8)
    model = AnDEClassifier(n=2).fit(X, y)
    together = model.predict_proba(np.repeat(X, 20, axis=0))[::20]
    alone = np.vstack([model.predict_proba(X[i : i + 1]) for i in range(30)])
    np.testing.assert_array_equal(together[:30], alone)


def test_ties_go_to_the_first_class():
    X = np.array([[0, 0], [1, 1]] * 4)
    model = AnDEClassifier(n=1).fit(X, np.array(list("zyzyyzyz")))
    np.testing.assert_allclose(model.predict_proba(X[:2]), 0.5, atol=1e-12)
    assert model.predict(X[:2]).tolist() == ["y", "y"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n": 2}, "n_features=2"),
        ({"n": -1}, "n must be an integer >= 0"),
        ({"n": 1.0}, "n must be an integer >= 0"),
        ({"smoothing": 0.0}, "smoothing"),
        ({"smoothing": math.nan}, "smoothing"),
        ({"cardinalities": (2,)}, "n_features=2"),
        ({"cardinalities": (2, 2)}, r"attribute 1 has the value 4 in row 2, outside its domain 0\.\.1"),
        ({"cardinalities": (2, 0)}, "cardinalities must be >= 1"),
    ],
)
def test_bad_parameters(parameters, message):
    X = np.array([[0, 1], [1, 0], [1, 4]])
    with pytest.raises(ValueError, match=message):
        AnDEClassifier(**parameters).fit(X, [0, 1, 1])


def test_bad_codes():
    with pytest.raises(ValueError, match=r"attribute 1 of row 0 has the value 0\.5"):
        AnDEClassifier().fit([[0, 0.5], [1, 0]], [0, 1])
    with pytest.raises(ValueError, match="Negative"):
        AnDEClassifier().fit([[0, -1], [1, 0]], [0, 1])


def test_data_frames_and_pickles():
    frame = pd.DataFrame({"a": [0, 1, 1, 0], "b": [0, 1, 2, 2]})
    model = AnDEClassifier().fit(frame, ["no", "yes", "yes", "no"])
    assert list(model.feature_names_in_) == ["a", "b"]
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(frame), model.predict_proba(frame))


@pytest.mark.parametrize("n", [1, 2])
def test_agrees_with_scikit_bayes_in_most_rows(n):
    """It averages joint probabilities, not posteriors, so labels agree only where the models do."""
    peer_module = pytest.importorskip("skbn")
    rng = np.random.default_rng(n)
    X, _ = sample(rng, 400, 2, (3, 3, 3, 3))
    y = ((X[:, 0] + X[:, 1] * X[:, 2]) % 3 == 0).astype(int)
    ours = AnDEClassifier(n=n).fit(X, y).predict(X)
    peer = peer_module.AnDE(n_dependence=n, categorical_features=[0, 1, 2, 3]).fit(X, y).predict(X)
    assert np.mean(ours == peer) > 0.9
