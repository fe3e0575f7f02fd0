"""Federated counts: no noise equals the pooled model, noise is what and where it should be."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fedbayes.federated import fit_discriminative, fit_generative
from fedbayes.federated.counts import generative_parameters, generative_posteriors
from fedbayes.models import AnDEClassifier
from fedbayes.models.engine import counting

CARDINALITIES = (3, 2, 4, 2)


def sample(seed, rows, classes):
    rng = np.random.default_rng(seed)
    X = np.stack([rng.integers(c, size=rows) for c in CARDINALITIES], axis=1)
    return X, rng.integers(classes, size=rows)


def deal(X, y, owners, clients):
    return [(X[owners == c], y[owners == c]) for c in range(clients)]


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1000),
    rows=st.integers(1, 30),
    classes=st.sampled_from([2, 3, 5]),
    n=st.integers(0, 3),
    clients=st.integers(1, 6),
)
def test_without_noise_the_partition_does_not_matter(seed, rows, classes, n, clients):
    X, y = sample(seed, rows, classes)
    y[: min(rows, classes)] = np.arange(classes)[:rows]
    owners = np.random.default_rng(seed + 1).integers(clients, size=rows)  # clients may stay empty
    federated = fit_generative(deal(X, y, owners, clients), CARDINALITIES, classes, n=n)
    pooled = fit_generative([(X, y)], CARDINALITIES, classes, n=n)
    np.testing.assert_allclose(federated.predict_proba(X), pooled.predict_proba(X), rtol=0, atol=1e-12)
    if len(np.unique(y)) == classes:
        central = AnDEClassifier(n=n, cardinalities=CARDINALITIES).fit(X, y)
        np.testing.assert_allclose(federated.predict_proba(X), central.predict_proba(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_counts_are_those_of_the_rows(n):
    X, y = sample(0, 40, 3)
    model = fit_generative([(X[:7], y[:7]), (X[7:], y[7:])], CARDINALITIES, 3, n=n)
    np.testing.assert_array_equal(model.class_counts, np.bincount(y, minlength=3))
    for parents in itertools.combinations(range(4), n):
        cell = np.zeros(40, int)
        for p in parents:
            cell = cell * CARDINALITIES[p] + X[:, p]
        in_cell, conditional = model.counts(parents)
        expected = np.zeros_like(in_cell)
        np.add.at(expected, (y, cell), 1)
        np.testing.assert_array_equal(in_cell, expected)
        assert list(conditional) == [j for j in range(4) if j not in parents]
        for j, table in conditional.items():
            expected = np.zeros_like(table)
            np.add.at(expected, (y, cell, X[:, j]), 1)
            np.testing.assert_array_equal(table, expected)


def test_noise_is_on_every_entry_and_has_its_distribution():
    X, y = sample(1, 30, 3)
    X[:, 0] = 0  # two of three values are never seen
    clients, epsilon = 4, 2.0
    model = fit_generative(
        [(X, y)] + [(X[:0], y[:0])] * 3,
        CARDINALITIES,
        3,
        n=1,
        epsilon=epsilon,
        rng=np.random.default_rng(7),
    )
    exact = fit_generative([(X, y)], CARDINALITIES, 3, n=1)
    noise = [model.class_counts - exact.class_counts]
    for parents in itertools.combinations(range(4), 1):
        noisy_cells, noisy = model.counts(parents)
        cells, conditional = exact.counts(parents)
        noise += [noisy_cells - cells, *(noisy[j] - conditional[j] for j in noisy)]
        if parents == (0,):
            assert np.all(conditional[1][:, 1:] == 0) and np.all(noisy[1][:, 1:] != 0)
    noise = np.concatenate([table.ravel() for table in noise])
    assert len(noise) == generative_parameters(1, CARDINALITIES, 3)
    assert len(np.unique(noise)) == len(noise)
    scale = (1 + 4 * 4) / epsilon
    one_by_one = np.random.default_rng(8).laplace(scale=scale, size=(20000, clients)).sum(axis=1)
    assert stats.ks_2samp(noise, one_by_one).pvalue > 0.01


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("mechanism", ["laplace", "geometric"])
def test_server_clamps_smooths_and_normalises_each_table(n, mechanism):
    X, y = sample(2, 50, 3)
    model = fit_generative(
        [(X, y)],
        CARDINALITIES,
        3,
        n=n,
        epsilon=2.0,
        smoothing=0.5,
        rng=np.random.default_rng(3),
        mechanism=mechanism,
    )

    def share(table, axis):
        table = np.maximum(table, 0) + 0.5
        return table / table.sum(axis=axis, keepdims=True)

    X_test = np.vstack([X[:10], [[3, 0, 0, 0], [0, 2, 9, 0], [-1, -1, -1, -1]]])  # and unseen values
    expected = np.zeros((len(X_test), 3))
    structures = list(itertools.combinations(range(4), n))
    clamped = 0
    for parents in structures:
        cells, conditional = model.counts(parents)
        clamped += np.sum(cells < 0) + sum(np.sum(table < 0) for table in conditional.values())
        for i, x in enumerate(X_test):
            known = all(0 <= x[p] < CARDINALITIES[p] for p in parents)
            v = 0
            for p in parents:
                v = v * CARDINALITIES[p] + x[p]
            total = (np.maximum(cells, 0) + 0.5).sum(axis=1)
            score = share(model.class_counts, 0) * (share(cells, 1)[:, v] if known else 0.5 / total)
            for j, table in conditional.items():
                if known:
                    seen = 0 <= x[j] < CARDINALITIES[j]
                    total = (np.maximum(table[:, v], 0) + 0.5).sum(axis=1)
                    score = score * (share(table[:, v], 1)[:, x[j]] if seen else 0.5 / total)
            expected[i] += score / score.sum() / len(structures)
    assert clamped
    np.testing.assert_allclose(model.predict_proba(X_test), expected, rtol=0, atol=1e-12)


def test_streaming_gives_the_same_bits():
    X, y = sample(4, 60, 5)
    clients = deal(X, y, np.arange(60) % 3, 3)
    for epsilon in (np.inf, 1.0):
        shape = dict(n=2, epsilon=epsilon)
        kept = fit_generative(clients, CARDINALITIES, 5, rng=np.random.default_rng(1), **shape)
        streamed, seconds = generative_posteriors(
            clients, CARDINALITIES, 5, X, rng=np.random.default_rng(1), **shape
        )
        np.testing.assert_array_equal(streamed, kept.predict_proba(X))
        assert seconds > 0
        part, _ = generative_posteriors(
            clients, CARDINALITIES, 5, X[::7], rng=np.random.default_rng(1), **shape
        )
        np.testing.assert_array_equal(part, streamed[::7])


def test_counting_each_structure_apart_gives_the_same_bits(monkeypatch):
    X, y = sample(5, 60, 3)
    noise = dict(n=2, epsilon=5.0)
    once, _ = generative_posteriors([(X, y)], CARDINALITIES, 3, X, rng=np.random.default_rng(1), **noise)
    exact, _ = generative_posteriors([(X, y)], CARDINALITIES, 3, X, n=2)
    monkeypatch.setattr(counting, "SUBSET_LIMIT", 0)
    apart, _ = generative_posteriors([(X, y)], CARDINALITIES, 3, X, rng=np.random.default_rng(1), **noise)
    np.testing.assert_array_equal(apart, once)
    apart, _ = generative_posteriors([(X, y)], CARDINALITIES, 3, X, n=2)
    np.testing.assert_array_equal(apart, exact)


def test_noise_depends_on_the_generator_alone():
    X, y = sample(6, 30, 2)
    rng = np.random.default_rng(0)

    def posterior(rng):
        return fit_generative([(X, y)], CARDINALITIES, 2, n=1, epsilon=1.0, rng=rng).predict_proba(X)

    first, second = posterior(rng), posterior(rng)
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, posterior(np.random.default_rng(0)))


def test_parameters_by_hand():
    # n=0: classes + one table per attribute; n=1: 2 * (1 + 11 + ordered pairs of values of two attributes)
    assert generative_parameters(0, CARDINALITIES, 2) == 2 * (1 + 1 + 11)
    pairs = sum(a * b for a, b in itertools.permutations(CARDINALITIES, 2))
    assert generative_parameters(1, CARDINALITIES, 2) == 2 * (1 + 11 + pairs)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": 1.0}, "needs rng"),
        ({"epsilon": 0.0}, "epsilon must be > 0"),
        ({"epsilon": float("nan")}, "epsilon must be > 0"),
        ({"n": 4}, "n_features=4"),
        ({"n": -1}, "n must be an integer"),
        ({"smoothing": -1}, "smoothing"),
        ({"cardinalities": (3, 2, 3, 2)}, "client 1: attribute 2 has the value 3"),
        ({"cardinalities": (3, 2, 4)}, "client 0: X has 4 attributes, expected n_features=3"),
        ({"n_classes": 2}, r"client 1: y has the class 2, outside 0\.\.1"),
        ({"n_classes": 0}, "n_classes"),
        ({"clients": []}, "at least one"),
        ({"clients": [([[0, 0, 0, 0]], [0, 1])]}, "client 0: y must be a vector of 1"),
        ({"mechanism": "none", "epsilon": 1.0, "rng": np.random.default_rng(0)}, "mechanism"),
    ],
)
def test_bad_input(changes, message):
    X = np.array([[0, 0, 0, 0], [2, 1, 3, 1]])
    arguments = {
        "clients": [(X[:1], [0]), (X[1:], [2])],
        "cardinalities": CARDINALITIES,
        "n_classes": 3,
        "n": 1,
    } | changes
    positional = [arguments.pop(key) for key in ("clients", "cardinalities", "n_classes")]
    with pytest.raises(ValueError, match=message):
        fit_generative(*positional, **arguments)


def test_no_rows_at_all():
    nothing = (np.zeros((0, 4), int), np.zeros(0, int))
    model = fit_generative([nothing, ([], [])], CARDINALITIES, 3, n=1)
    np.testing.assert_allclose(model.predict_proba(np.zeros((2, 4), int)), 1 / 3)
    assert model.predict_proba(np.zeros((0, 4), int)).shape == (0, 3)


def plain_posterior(X_train, y_train, X, parents, classes):
    """Posterior of one structure by counting, everything smoothed by 1."""

    def cells(X):
        return np.ravel_multi_index([X[:, p] for p in parents], [CARDINALITIES[p] for p in parents])

    in_cell, result = cells(X_train), np.zeros((len(X), classes))
    n_cells = np.prod([CARDINALITIES[p] for p in parents])
    for i, (row, cell) in enumerate(zip(X, cells(X), strict=True)):
        for c in range(classes):
            own = y_train == c
            here = own & (in_cell == cell)
            result[i, c] = (own.sum() + 1) * (here.sum() + 1) / (own.sum() + n_cells)
            for j in set(range(4)) - set(parents):
                result[i, c] *= (np.sum(here & (X_train[:, j] == row[j])) + 1) / (
                    here.sum() + CARDINALITIES[j]
                )
    return result / result.sum(1, keepdims=True)


def test_chosen_structures_are_those_averaged():
    X, y = sample(4, 60, 3)
    chosen = [(1, 2), (0, 1), (0, 3)]
    clients = deal(X, y, np.arange(60) % 4, 4)
    model = fit_generative(clients, CARDINALITIES, 3, n=2, structures=chosen)
    expected = np.mean([plain_posterior(X, y, X[:15], parents, 3) for parents in chosen], axis=0)
    np.testing.assert_allclose(model.predict_proba(X[:15]), expected, rtol=0, atol=1e-12)
    assert model.structures == [(0, 1), (0, 3), (1, 2)]
    noisy = {
        "n": 2, "epsilon": 1.0, "rng": np.random.default_rng(2), "structures": chosen,
    }  # fmt: skip
    kept = fit_generative(clients, CARDINALITIES, 3, **noisy)
    noisy |= {"rng": np.random.default_rng(2), "structures": model.structures}
    streamed, _ = generative_posteriors(clients, CARDINALITIES, 3, X, **noisy)
    np.testing.assert_array_equal(kept.predict_proba(X), streamed)  # the same Delta, the same noise
    assert kept.counts((0, 3))[0].shape == (3, 6)
    with pytest.raises(ValueError, match=r"of a structure, got \(2, 3\)"):
        kept.counts((2, 3))


@pytest.mark.parametrize("fit", [fit_generative, fit_discriminative])
@pytest.mark.parametrize(
    ("structures", "words"),
    [
        ([], "at least one"),
        ([(0, 1), (1, 0)], r"\(1, 0\) is not a tuple of n=2 ascending"),
        ([(1, 1)], r"\(1, 1\)"),
        ([(0,)], r"\(0,\)"),
        ([0, 1], "0 is not a tuple"),
        ([(0, 4)], "n_features=4"),
        ([(-1, 2)], r"\(-1, 2\)"),
        ([(0, 1.0)], r"\(0, 1.0\)"),
        ([(False, True)], "False"),
        ([(2, 3), (0, 1), (2, 3)], r"\(2, 3\) stands twice"),
    ],
)
def test_structures_that_are_none(fit, structures, words):
    with pytest.raises(ValueError, match=f"structures.*{words}"):
        fit([sample(0, 9, 2)], CARDINALITIES, 2, n=2, structures=structures)
