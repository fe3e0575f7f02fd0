"""Sensitivity against hand counts and the paper's; noise against its distribution."""

import numpy as np
import pytest
from scipy import stats

from fedbayes.federated.privacy import check_epsilon, geometric_sum, laplace_sum, noise_sum, sensitivity


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (6, (8, 37, 76)),  # car
        (8, (10, 65, 197)),  # nursery
        (16, (18, 257, 1801)),  # vote
        (60, (62, 3601, 104431)),  # splice
        (42, (44, 1765, 35302)),  # connect-4
    ],
)
def test_sensitivity(attributes, expected):
    assert tuple(sensitivity(n, attributes) for n in range(3)) == expected


@pytest.mark.parametrize("n", [-1, 4, 5])
def test_sensitivity_needs_an_attribute_to_predict_from(n):
    with pytest.raises(ValueError, match="n_features=4"):
        sensitivity(n, 4)


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), -np.inf, "much", None])
def test_bad_epsilon(epsilon):
    with pytest.raises(ValueError, match="epsilon"):
        check_epsilon(epsilon)


def test_epsilon_may_be_a_word():
    assert check_epsilon("inf") == np.inf


def test_one_client_adds_laplace_noise():
    noise = laplace_sum(np.random.default_rng(1), 1, 3.0, 20000)
    assert stats.kstest(noise, stats.laplace(scale=3.0).cdf).pvalue > 0.01


@pytest.mark.parametrize("clients", [2, 5, 100])
def test_sum_of_clients(clients):
    rng = np.random.default_rng(clients)
    noise = laplace_sum(rng, clients, 2.0, (100, 100)).ravel()
    one_by_one = rng.laplace(scale=2.0, size=(10000, clients)).sum(axis=1)
    assert stats.ks_2samp(noise, one_by_one).pvalue > 0.01
    assert np.var(noise) == pytest.approx(2 * clients * 2.0**2, rel=0.08)
    assert np.mean(noise) == pytest.approx(0, abs=5 * np.sqrt(8 * clients / 10000))


def test_geometric_noise_of_one_client():
    scale = 1.5
    noise = geometric_sum(np.random.default_rng(2), 1, scale, 20000)
    assert np.array_equal(noise, np.round(noise))
    values = np.arange(-4, 5)
    a = np.exp(-1 / scale)
    expected = (1 - a) / (1 + a) * a ** np.abs(values)
    shares = [np.mean(noise == value) for value in values]
    np.testing.assert_allclose(shares, expected, atol=0.012)


def test_geometric_noise_of_many_clients():
    noise = geometric_sum(np.random.default_rng(3), 20, 10.0, 20000)
    a = np.exp(-0.1)
    assert np.var(noise) == pytest.approx(2 * 20 * a / (1 - a) ** 2, rel=0.05)


def test_unknown_mechanism():
    with pytest.raises(ValueError, match="mechanism must be one of laplace, geometric"):
        noise_sum("gaussian", np.random.default_rng(0), 1, 1.0, 3)
