import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import log_softmax, logsumexp

from fedbayes.federated.mixture import (
    LOG_SMALLEST,
    absent_everywhere,
    absent_pairs,
    log_posterior,
    mixture_log_likelihood,
    negative_log_likelihood,
)


def test_equals_scipy():
    rng = np.random.default_rng(0)
    scores = rng.normal(scale=50, size=(4, 30, 3))
    scores[1, :, 2] = -np.inf
    weights = rng.dirichlet(np.ones(4))
    expected = logsumexp(scores, axis=0, b=weights[:, None, None])
    mixture = mixture_log_likelihood(scores, weights)
    assert_allclose(mixture, expected, rtol=1e-13)
    assert_allclose(log_posterior(mixture), log_softmax(expected, axis=1), rtol=1e-12, atol=1e-13)


def test_weight_zero_takes_no_part():
    scores = np.array([[[0.0, -1.0]], [[5.0, 7.0]]])
    assert mixture_log_likelihood(scores, [1.0, 0.0]).tolist() == [[0.0, -1.0]]
    # not even where the node of weight 0 is the only one with a class
    scores[0, 0, 1] = -np.inf
    assert mixture_log_likelihood(scores, [1.0, 0.0]).tolist() == [[0.0, -np.inf]]


def test_tiny_weight_of_a_far_better_node_counts():
    scores = np.array([[[-1e6, -3.0]], [[0.0, -2.0]]])
    assert_allclose(mixture_log_likelihood(scores, [1.0, 1e-300]), [[-300 * np.log(10), -3.0]], rtol=1e-12)


def test_unknown_class_stays_minus_infinity_and_costs_a_finite_loss():
    scores = np.full((2, 3, 3), -np.inf)
    scores[:, :, :2] = np.log([0.25, 0.75])
    posterior = log_posterior(mixture_log_likelihood(scores, [0.5, 0.5]))
    assert np.isneginf(posterior[:, 2]).all()
    assert_allclose(np.exp(posterior[:, :2]), np.tile([0.25, 0.75], (3, 1)))
    losses = negative_log_likelihood(posterior, np.array([0, 1, 2]))
    assert_allclose(losses, [-np.log(0.25), -np.log(0.75), -LOG_SMALLEST])


def test_row_that_no_node_knows_is_uniform():
    assert_allclose(log_posterior(np.full((2, 4), -np.inf)), -np.log(4))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_nan_whatever_comes(seed):
    rng = np.random.default_rng(seed)
    nodes, classes = rng.integers(1, 6), rng.integers(1, 5)
    scores = rng.normal(size=(nodes, 8, classes)) * 10.0 ** rng.integers(0, 290, size=(nodes, 8, classes))
    scores[rng.random(scores.shape) < 0.3] = -np.inf
    weights = rng.dirichlet(np.full(nodes, 0.1)) * (rng.random(nodes) < 0.7)
    mixture = mixture_log_likelihood(scores, weights)
    posterior = log_posterior(mixture)
    assert not np.isnan(mixture).any()
    assert not np.isnan(posterior).any()
    assert (posterior <= 0).all()
    assert_allclose(np.exp(posterior).sum(axis=1), 1.0)
    losses = negative_log_likelihood(posterior, rng.integers(classes, size=8))
    assert np.isfinite(losses).all()
    assert not np.signbit(losses).any()


def test_one_node_is_itself():
    scores = np.random.default_rng(1).normal(size=(1, 5, 3)) * 1e15
    assert (mixture_log_likelihood(scores, [1.0]) == scores[0]).all()


def test_bad_weights_are_refused():
    scores = np.zeros((2, 3, 2))
    for weights in ([1.0], [0.5, -0.5], [np.nan, 1.0]):
        with pytest.raises(ValueError, match="weights"):
            mixture_log_likelihood(scores, weights)


def test_absent_classes_are_counted():
    counts = np.array([[3, 0, 0], [1, 2, 0]])
    assert absent_pairs(counts) == 3
    assert absent_everywhere(counts).tolist() == [2]
