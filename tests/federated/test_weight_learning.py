import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import log_softmax, logsumexp

from fedbayes.federated.mixture import LOG_SMALLEST
from fedbayes.federated.weight_learning import Objective, constrain, learn_weights, starting_points


def seeded_case(seed, nodes=3, rows=200, scale=3.0):
    """Nodes of which each is good at some rows: minima inside the simplex, on its sides and in corners."""
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 5))
    y = rng.integers(classes, size=rows)
    skill = rng.normal(1.0, 1.0, size=(nodes, rows, 1)) * rng.uniform(0.2, 2.0, size=(nodes, 1, 1))
    scores = rng.normal(size=(nodes, rows, classes)) * scale + skill * (y[:, None] == np.arange(classes)) * 2
    scores += rng.normal(size=(nodes, rows, 1)) * scale
    if seed % 4 == 0:
        scores[0, :, classes - 1] = -np.inf
    return scores, y, rng.dirichlet(np.ones(nodes)), float(rng.choice([0.0, 0.1, 1.0]))


def plain(scores, y, weights, target, penalty):
    with np.errstate(divide="ignore"):
        mixture = logsumexp(scores + np.log(weights)[:, None, None], axis=0)
    losses = -log_softmax(mixture, axis=1)[np.arange(len(y)), y]
    return losses.mean() + penalty * ((weights - target) ** 2).sum()


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e5])
@pytest.mark.parametrize("seed", range(5))
def test_objective_equals_the_plain_formula(seed, scale):
    scores, y, target, penalty = seeded_case(seed, scale=scale)
    objective = Objective(scores, y, target, penalty)
    for weights in np.random.default_rng(seed).dirichlet(np.ones(3), size=5):
        assert_allclose(objective(weights), plain(scores, y, weights, target, penalty), rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_objective_with_weights_of_zero_and_nearly(seed):
    scores, y, target, penalty = seeded_case(seed + 1, scale=1e3)
    objective = Objective(scores, y, target, penalty)
    for weights in ([0.0, 0.3, 0.7], [1e-200, 0.3, 0.7], [1.0, 0.0, 0.0]):
        weights = np.array(weights)
        assert_allclose(objective(weights), plain(scores, y, weights, target, penalty), rtol=1e-9)


def test_class_unknown_to_all_nodes_costs_a_constant():
    scores, y, target, penalty = seeded_case(1)
    unknown = y == 0
    scores[:, :, 0] = -np.inf
    assert 0 < unknown.sum() < y.size
    objective = Objective(scores, y, target, penalty)
    weights = np.array([0.2, 0.3, 0.5])
    known = plain(scores[:, ~unknown], y[~unknown], weights, target, 0.0) * (~unknown).mean()
    expected = known - LOG_SMALLEST * unknown.mean() + penalty * ((weights - target) ** 2).sum()
    assert_allclose(objective(weights), expected, rtol=1e-12)
    learned = learn_weights(objective, starting_points(target, np.random.default_rng(0)))
    assert np.isfinite(learned.objective)


@pytest.mark.parametrize("projection", ["floor", "strict"])
@pytest.mark.parametrize("seed", range(20))
def test_optimum_is_no_worse_than_brute_force(seed, projection):
    scores, y, target, penalty = seeded_case(seed)
    objective = Objective(scores, y, target, penalty)
    learned = learn_weights(
        objective, starting_points(target, np.random.default_rng(seed)), projection=projection
    )
    steps = 60
    grid = np.array(
        [(a, b, steps - a - b) for a, b in itertools.product(range(steps + 1), repeat=2) if a + b <= steps]
    )
    lowest = min(objective(constrain(point / steps, 0.05, projection)) for point in grid)
    assert learned.objective <= lowest + 1e-5
    assert_allclose(learned.objective, plain(scores, y, learned.weights, target, penalty), rtol=1e-9)
    assert_allclose(learned.weights.sum(), 1)


def test_huge_losses_do_not_hide_the_weights():
    """Rows that every node gets utterly wrong add 1e14 to J; the other rows still decide."""
    scores, y, target, _ = seeded_case(3)
    far, far_y = np.zeros((3, 4, scores.shape[2])), np.zeros(4, int)
    far[:, :, 0] = -1e16
    both = np.concatenate([scores, far], axis=1), np.concatenate([y, far_y])
    starts = starting_points(target, np.random.default_rng(0))
    alone = learn_weights(Objective(scores, y, target, 0.0), starts)
    learned = learn_weights(Objective(*both, target, 0.0), starts)
    assert learned.objective > 1e13
    assert_allclose(learned.weights, alone.weights, atol=1e-4)


def test_penalty_pulls_to_the_target():
    scores, y, _, _ = seeded_case(2)
    target = np.array([0.1, 0.2, 0.7])
    starts = starting_points(target, np.random.default_rng(0))
    assert_allclose(learn_weights(Objective(scores, y, target, 1e6), starts).weights, target, atol=1e-4)


def test_single_node_has_weight_one():
    scores, y, _, _ = seeded_case(2, nodes=1)
    learned = learn_weights(Objective(scores, y, np.ones(1)), np.ones((1, 1)))
    assert learned.weights.tolist() == [1.0]


def test_ten_nodes():
    scores, y, target, _ = seeded_case(6, nodes=10, rows=100)
    learned = learn_weights(
        Objective(scores, y, target), starting_points(target, np.random.default_rng(0)), floor=0.02
    )
    assert_allclose(learned.weights.sum(), 1)
    assert learned.weights.min() >= 0.015
    assert learned.objective <= Objective(scores, y, target)(constrain(target, 0.02)) + 1e-12


def test_floor_by_hand():
    # .9 .1 0 -> .9 .1 .05 -> divided by 1.05: a little below the floor, as the paper's words give it
    assert_allclose(constrain(np.array([1.8, 0.2, -3.0])), np.array([0.9, 0.1, 0.05]) / 1.05)
    assert constrain(np.array([-1.0, 0.0])).tolist() == [0.5, 0.5]
    assert_allclose(constrain(np.array([0.9, 0.1, 0.0]), 0.05, "strict"), [0.875, 0.075, 0.05])
    with pytest.raises(ValueError, match="projection"):
        constrain(np.ones(2), 0.05, "none")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=2, max_size=6), st.sampled_from(["floor", "strict"]))
def test_constrained_points_are_weights(raw, projection):
    weights = constrain(np.array(raw), 0.05, projection)
    assert_allclose(weights.sum(), 1)
    assert weights.min() >= (0.05 if projection == "strict" else 0.05 / (1 + 0.05 * len(raw))) - 1e-12


def test_starting_points():
    target = np.array([0.7, 0.2, 0.1])
    starts = starting_points(target, np.random.default_rng(0))
    assert starts.shape == (5, 3)
    assert starts[0].tolist() == target.tolist()
    assert_allclose(starts[1], 1 / 3)
    assert_allclose(starts[4], (starts[2] + starts[3]) / 2)
    assert_allclose(starts.sum(axis=1), 1)
    assert starting_points(target, np.random.default_rng(0), draws=0).shape == (2, 3)


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="do not fit"):
        Objective(np.zeros((2, 5, 2)), np.zeros(4, int), np.ones(2))
    objective = Objective(np.zeros((2, 4, 2)), np.zeros(4, int), np.array([0.5, 0.5]))
    for weights in (np.ones(1), np.full(3, 1 / 3), np.ones((2, 1))):
        for call in (objective, objective.varying, lambda raw: objective.constrained(raw, 0.05)):
            with pytest.raises(
                ValueError, match=r"weights have shape .*, expected \(2,\): one for each node"
            ):
                call(weights)
