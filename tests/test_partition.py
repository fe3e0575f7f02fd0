import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from fedbayes import partition
from fedbayes.partition import (
    JENSEN_SHANNON_METHODS,
    PartitionError,
    dirichlet_by_class,
    jensen_shannon,
    largest_jensen_shannon,
)

LABELS = np.repeat([0, 1, 2], [60, 30, 10])[np.random.default_rng(0).permutation(100)]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 12),
    st.floats(-9, 2).map(lambda exponent: 10.0**exponent),
    st.lists(st.integers(0, 3), max_size=40),
)
def test_every_row_goes_to_exactly_one_client(seed, clients, alpha, labels):
    labels = np.array(labels, dtype=int)
    parts, redraws = dirichlet_by_class(labels, clients, alpha, np.random.default_rng(seed))
    assert len(parts) == clients
    assert redraws == 0
    assert np.sort(np.concatenate(parts)).tolist() == list(range(labels.size))


def test_the_seed_decides():
    first, again, other = (
        dirichlet_by_class(LABELS, 3, 0.5, np.random.default_rng(seed))[0] for seed in (1, 1, 2)
    )
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert any(a.size != b.size for a, b in zip(first, other, strict=True))


def test_small_alpha_concentrates_and_large_alpha_evens():
    labels = np.repeat([0, 1], 3000)
    for alpha, low, high in [(1e-3, 0.95, 1.0), (1e5, 1 / 3, 0.36), (1e-308, 1.0, 1.0)]:
        parts, _ = dirichlet_by_class(labels, 3, alpha, np.random.default_rng(4))
        largest = max((labels[part] == 0).sum() for part in parts) / 3000
        assert low <= largest <= high


@pytest.mark.parametrize("alpha", [1e16, 1e300, 6e307, 1e308, 1.79e308])
def test_the_largest_alphas_give_equal_shares(alpha):
    parts, _ = dirichlet_by_class(np.zeros(3000, int), 3, alpha, np.random.default_rng(4))
    assert_allclose([part.size for part in parts], 1000, atol=1)


def test_shares_have_the_moments_of_the_dirichlet():
    labels, alpha = np.zeros(1000, int), 0.7
    rng = np.random.default_rng(5)
    shares = np.array(
        [[p.size / 1000 for p in dirichlet_by_class(labels, 3, alpha, rng)[0]] for _ in range(800)]
    )
    assert_allclose(shares.mean(axis=0), 1 / 3, atol=0.04)
    assert_allclose(shares.var(axis=0), (1 / 3) * (2 / 3) / (3 * alpha + 1), atol=0.015)


def test_redraw_until_every_client_has_enough():
    parts, redraws = dirichlet_by_class(LABELS, 3, 0.3, np.random.default_rng(0), redraw_min_rows=2)
    counts = np.array([np.bincount(LABELS[part], minlength=3) for part in parts])
    assert counts.min() >= 2
    assert redraws > 0


def test_impossible_minimum_is_refused_at_once():
    with pytest.raises(PartitionError, match="needs 12 training rows of class 2, which has 10"):
        dirichlet_by_class(LABELS, 3, 1.0, np.random.default_rng(0), redraw_min_rows=4)


def test_an_impossible_minimum_names_the_class_by_its_label():
    names = ("benign", "dos", "worm")
    with pytest.raises(PartitionError, match="12 training rows of class 'worm', which has 10"):
        dirichlet_by_class(LABELS, 3, 1.0, np.random.default_rng(0), redraw_min_rows=4, class_names=names)


def test_vain_draws_end(monkeypatch):
    monkeypatch.setattr(partition, "MAX_DRAWS", 50)
    with pytest.raises(PartitionError, match=r"alpha=1e-06\) in 50 draws"):
        dirichlet_by_class(LABELS, 3, 1e-6, np.random.default_rng(0), redraw_min_rows=3)


@pytest.mark.parametrize(
    "wrong", [{"clients": 0}, {"alpha": 0.0}, {"alpha": np.nan}, {"redraw_min_rows": -1}]
)
def test_bad_values_are_named(wrong):
    arguments = {"clients": 3, "alpha": 0.5, "rng": np.random.default_rng(0), "redraw_min_rows": 0} | wrong
    with pytest.raises(ValueError, match=next(iter(wrong))):
        dirichlet_by_class(LABELS, **arguments)


def divergence(p, q):
    m = (p + q) / 2
    terms = [np.sum(a[a > 0] * np.log(a[a > 0] / m[a > 0])) / 2 for a in (p, q)]
    return sum(terms)


def test_heterogeneity_by_hand():
    counts = np.array([[10, 0], [0, 5], [2, 2]])
    p, q, r = np.array([[1, 0], [0, 1], [0.5, 0.5]])
    pairs = np.array([divergence(p, q), divergence(p, r), divergence(q, r)])
    assert_allclose(pairs[0], np.log(2))
    assert_allclose(jensen_shannon(counts), np.sqrt(pairs).mean())
    assert_allclose(jensen_shannon(counts, "mean_pairwise_divergence"), pairs.mean())
    assert_allclose(jensen_shannon(counts, "generalised"), np.log(2) - np.log(2) / 3)
    pooled = np.array([12, 7]) / 19
    entropy = -(pooled * np.log(pooled)).sum()
    assert_allclose(jensen_shannon(counts, "generalised_weighted"), entropy - 4 / 19 * np.log(2))
    to_pooled = [np.sqrt(divergence(share, pooled)) for share in (p, q, r)]
    assert_allclose(jensen_shannon(counts, "mean_to_pooled"), np.mean(to_pooled))


@pytest.mark.parametrize("method", partition.JENSEN_SHANNON_METHODS)
def test_heterogeneity_of_equal_empty_and_single_clients(method):
    assert_allclose(jensen_shannon([[3, 6, 1], [6, 12, 2], [0, 0, 0]], method), 0, atol=1e-8)
    assert jensen_shannon([[3, 6], [0, 0]], method) == 0.0
    assert 0 < jensen_shannon([[3, 6], [6, 3]], method) < 1


def test_unknown_definition_is_refused():
    with pytest.raises(ValueError, match="mean_pairwise"):
        jensen_shannon([[1, 2], [2, 1]], "other")


@pytest.mark.parametrize("clients", [1, 3, 7, 150])
def test_round_robin_deals(clients):
    for deal in (partition.stratified, partition.iid):
        parts = deal(LABELS, clients, np.random.default_rng(1))
        sizes = [part.size for part in parts]
        assert len(parts) == clients
        assert max(sizes) - min(sizes) <= 1
        assert np.sort(np.concatenate(parts)).tolist() == list(range(100))
    counts = [
        np.bincount(LABELS[part], minlength=3)
        for part in partition.stratified(LABELS, clients, np.random.default_rng(1))
    ]
    assert (np.ptp(counts, axis=0) <= 1).all()


@pytest.mark.parametrize("method", JENSEN_SHANNON_METHODS)
@pytest.mark.parametrize("clients", [2, 3, 5])
def test_the_bound_of_heterogeneity_is_reached_by_clients_without_a_common_label(method, clients):
    apart = jensen_shannon(np.eye(clients), method)
    bound = largest_jensen_shannon(method, clients)
    if method == "mean_to_pooled":  # the pooled rows share labels with every client
        assert apart < bound
    else:
        assert apart == pytest.approx(bound)
