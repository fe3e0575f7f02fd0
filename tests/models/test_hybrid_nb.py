import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.preprocessing import StandardScaler

from fedbayes.models import HybridNB
from fedbayes.models.mixed_statistics import gather_statistics


def mixed_rows(rng, rows, n_categories=(3, 5), numeric=4, n_classes=3):
    y = rng.integers(n_classes, size=rows)
    codes = np.column_stack([(rng.integers(c, size=rows) + y) % c for c in n_categories])
    units = 10.0 ** rng.integers(-3, 7, size=numeric)
    numbers = (rng.normal(size=(rows, numeric)) + y[:, None]) * units + units
    return codes.astype(np.int32), numbers, y


def scikit_learn(train, test, n_categories, reading):
    """Both scikit-learn parts as the paper adds them, and as a density per raw unit."""
    codes, numbers, y = train
    categorical = CategoricalNB(alpha=1.0, min_categories=[c + 1 for c in n_categories]).fit(codes, y)
    scaler = StandardScaler().fit(numbers)
    gaussian = GaussianNB().fit(scaler.transform(numbers), y)
    scaled = scaler.transform(test[1])
    prior = np.log(gaussian.class_prior_)
    if reading == "paper":
        return categorical.predict_log_proba(test[0]) + gaussian.predict_log_proba(scaled) - prior
    first = categorical.predict_joint_log_proba(test[0])
    return first + gaussian.predict_joint_log_proba(scaled) - prior - np.log(scaler.scale_).sum()


@pytest.mark.parametrize("reading", ["paper", "density"])
@pytest.mark.parametrize("seed", range(3))
def test_equals_scikit_learn(reading, seed):
    rng = np.random.default_rng(seed)
    train, test = mixed_rows(rng, 300), mixed_rows(rng, 100)
    train[1][:, 1] = test[1][:, 1] = 7.25  # a constant column
    model = HybridNB().fit(*train, n_categories=(3, 5), n_classes=3)
    expected = scikit_learn(train, test, (3, 5), reading)
    assert_allclose(model.log_likelihood(test[0], test[1], reading), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("reading", ["paper", "density"])
def test_equals_scikit_learn_where_variances_vanish(reading):
    rng = np.random.default_rng(4)
    train, test = mixed_rows(rng, 300), mixed_rows(rng, 100)
    train[1][train[2] == 0, 2] = -0.1  # constant within one class
    train[1][:, 1], test[1][:, 1] = 7.25, 7.3  # a constant column with another value later
    model = HybridNB().fit(*train, n_categories=(3, 5), n_classes=3)
    expected = scikit_learn(train, test, (3, 5), reading)
    assert np.abs(expected).max() > 1e6
    # a log posterior near 0 is the difference of such numbers in either program
    assert_allclose(model.log_likelihood(test[0], test[1], reading), expected, rtol=1e-9, atol=1e-6)


def test_single_value_by_hand():
    codes, numbers = np.array([[0], [1], [1], [1]]), np.array([[0.0], [2.0], [4.0], [8.0]])
    model = HybridNB(var_smoothing=1e-12).fit(
        codes, numbers, np.array([0, 0, 1, 1]), n_categories=(2,), n_classes=2
    )
    density = model.log_likelihood(np.array([[1]]), np.array([[3.0]]), "density")[0]
    # class 0: prior 1/2, (1 + 1) / (2 + 3), N(3; 1, 1); class 1: prior 1/2, (2 + 1) / (2 + 3), N(3; 6, 4)
    normal = np.array([np.exp(-2.0) / np.sqrt(2 * np.pi), np.exp(-9 / 8) / np.sqrt(8 * np.pi)])
    assert_allclose(np.exp(density), 0.5 * np.array([0.4, 0.6]) * normal, rtol=1e-9)


def test_density_is_a_density_in_raw_units():
    rng = np.random.default_rng(5)
    codes, numbers, y = mixed_rows(rng, 60, n_categories=(2,), numeric=1, n_classes=2)
    numbers = numbers / np.abs(numbers).max()
    model = HybridNB().fit(codes, numbers, y, n_categories=(2,), n_classes=2)
    grid = np.linspace(-12, 12, 60_001)
    total = 0.0
    for code in (0, 1, 2):  # 2: the slot outside the vocabulary
        scores = model.log_likelihood(np.full((grid.size, 1), code), grid[:, None], "density")
        total += np.exp(scores).sum() * (grid[1] - grid[0])
    assert_allclose(total, 1.0, rtol=1e-6)


def test_readings_decide_alike_for_a_single_model():
    rng = np.random.default_rng(1)
    train, test = mixed_rows(rng, 200), mixed_rows(rng, 80)
    model = HybridNB().fit(*train, n_categories=(3, 5), n_classes=3)
    paper, density = (model.log_likelihood(*test[:2], reading) for reading in ("paper", "density"))
    assert_allclose(
        paper - paper.max(axis=1, keepdims=True), density - density.max(axis=1, keepdims=True), atol=1e-7
    )


def test_unknown_codes_have_a_slot_of_their_own():
    codes, y = np.array([[0], [1], [1], [1]]), np.array([0, 0, 1, 1])
    model = HybridNB().fit(codes, np.zeros((4, 0)), y, n_categories=(2,), n_classes=2)
    scores = model.log_likelihood(np.array([[2], [99], [-1], [1]]), np.zeros((4, 0)), "density")
    assert_allclose(np.exp(scores[0]), 0.5 * np.array([0.2, 0.2]))
    assert_allclose(scores[1], scores[0])
    assert_allclose(scores[2], scores[0])
    assert_allclose(np.exp(scores[3]), 0.5 * np.array([0.4, 0.6]))


@pytest.mark.parametrize("reading", ["paper", "density"])
def test_absent_class_is_minus_infinity_and_changes_nothing_else(reading):
    rng = np.random.default_rng(2)
    codes, numbers, y = mixed_rows(rng, 90, n_classes=2)
    test = mixed_rows(rng, 20, n_classes=2)
    two = HybridNB().fit(codes, numbers, y, n_categories=(3, 5), n_classes=2)
    four = HybridNB().fit(codes, numbers, np.array([1, 3])[y], n_categories=(3, 5), n_classes=4)
    scores = four.log_likelihood(*test[:2], reading)
    assert np.isneginf(scores[:, [0, 2]]).all()
    assert_allclose(scores[:, [1, 3]], two.log_likelihood(*test[:2], reading), rtol=1e-12)


@pytest.mark.parametrize("reading", ["paper", "density"])
def test_one_row_node_stays_finite(reading):
    model = HybridNB().fit(
        np.array([[1]]), np.array([[5.0, 1e9]]), np.array([1]), n_categories=(3,), n_classes=2
    )
    scores = model.log_likelihood(np.array([[1], [0]]), np.array([[5.0, 1e9], [-1e140, 1e145]]), reading)
    assert np.isneginf(scores[:, 0]).all()
    assert np.isfinite(scores[:, 1]).all()


def test_variance_of_far_away_values_is_exact():
    """A constant column far from 0 has variance 0, and a small spread on a large mean is not lost."""
    numbers = np.array([[1e9 + 0.1, 1e9 + k] for k in range(5)])
    statistics = gather_statistics(np.zeros((5, 0)), numbers, np.zeros(5, int), n_categories=(), n_classes=1)
    assert statistics.squares.tolist() == [[0.0, 10.0]]
    assert statistics.means.tolist() == [[1e9 + 0.1, 1e9 + 2]]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.sampled_from(["paper", "density"]))
def test_scores_are_never_nan(seed, rows, reading):
    rng = np.random.default_rng(seed)
    codes, numbers, y = mixed_rows(rng, rows)
    numbers[:, rng.integers(4)] = 0.0
    numbers[rng.random(numbers.shape) < 0.1] = 1e12
    model = HybridNB().fit(codes, numbers, y, n_categories=(3, 5), n_classes=3)
    scores = model.log_likelihood(codes + rng.integers(-3, 4, size=codes.shape), numbers[::-1], reading)
    assert not np.isnan(scores).any()
    assert not np.isposinf(scores).any()
    present = np.bincount(y, minlength=3) > 0
    assert np.isfinite(scores[:, present]).all()


def test_rows_choose_without_copying():
    rng = np.random.default_rng(3)
    codes, numbers, y = mixed_rows(rng, 50)
    rows = rng.permutation(50)[:20]
    chosen = HybridNB().fit(codes, numbers, y, n_categories=(3, 5), n_classes=3, rows=rows)
    copied = HybridNB().fit(codes[rows], numbers[rows], y[rows], n_categories=(3, 5), n_classes=3)
    for name in ("means", "squares", "categorical_counts", "class_counts"):
        assert (getattr(chosen.statistics_, name) == getattr(copied.statistics_, name)).all()


def test_bad_input_is_refused():
    codes, numbers, y = mixed_rows(np.random.default_rng(0), 10)
    fit = {"n_categories": (3, 5), "n_classes": 3}
    for arrays, words in [
        ((codes, numbers, y[:5]), "y has shape"),
        ((codes[:, :1], numbers, y), "n_categories names 2"),
        ((codes, numbers[:3], y), "equal rows"),
        ((codes, numbers, y + 1), "class codes outside"),
        ((codes, np.full_like(numbers, np.nan), y), "not finite"),
        ((codes[:0], numbers[:0], y[:0]), "at least one row"),
        ((codes, numbers, y + 0.5), "y holds float64 values; whole numbers"),
        ((codes + 0.5, numbers, y), "X_categorical holds float64 values"),
        ((np.where(codes > 0, codes, np.nan), numbers, y), "X_categorical holds"),
        ((codes.astype(str), numbers, y), "X_categorical holds"),
    ]:
        with pytest.raises(ValueError, match=words):
            HybridNB().fit(*arrays, **fit)
    for rows, words in [
        (y > 0, "rows holds bool values"),
        ([0, 10], "indices 0 .. 9"),
        ([-1], "indices"),
        ([[1]], "one"),
    ]:
        with pytest.raises(ValueError, match=words):
            HybridNB().fit(codes, numbers, y, rows=rows, **fit)
        with pytest.raises(ValueError, match=words):
            HybridNB().fit(codes, numbers, y, **fit).joint_parts(codes, numbers, rows=rows)
    whole = HybridNB().fit(codes.astype(float), numbers, y.astype(float), **fit)
    assert (
        whole.statistics_.class_counts == HybridNB().fit(codes, numbers, y, **fit).statistics_.class_counts
    ).all()
    with pytest.raises(ValueError, match="smoothing"):
        HybridNB(smoothing=0)
    model = HybridNB().fit(codes, numbers, y, **fit)
    with pytest.raises(ValueError, match="reading"):
        model.log_likelihood(codes, numbers, "words")
    with pytest.raises(ValueError, match="fitted on 4"):
        model.log_likelihood(codes, numbers[:, :2])
