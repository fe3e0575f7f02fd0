import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from fedbayes.errors import ConfigurationError
from fedbayes.federated.governance import (
    PAPER_NODES,
    NodeProfile,
    entropy_weights,
    icc_values,
    node_profiles,
    project_to_simplex,
    size_weights,
    target_weights,
)

PLAIN = {"name": "Bank", "cmm": 4, "kci": 0.8, "kri": 0.1, "cvss": 3.0}


def test_icc_of_table_one():
    assert_allclose(icc_values(PAPER_NODES), [0.393, 0.154, 0.042], atol=5e-4)
    assert [node.name for node in PAPER_NODES] == ["Financial", "Health", "Government"]


def test_both_targets_of_table_one():
    icc = icc_values(PAPER_NODES)
    assert_allclose(target_weights(icc), [0.667, 0.262, 0.072], atol=1e-3)
    assert_allclose(target_weights(icc, "projected"), [0.530, 0.291, 0.179], atol=6e-4)


def test_target_leaves_empty_nodes_out():
    icc = icc_values(PAPER_NODES)
    for method in ("normalised", "projected"):
        target = target_weights(icc, method, np.array([True, False, True]))
        assert target[1] == 0
        assert_allclose(target.sum(), 1)
    assert_allclose(target_weights(icc, active=np.array([True, False, True]))[0], icc[0] / (icc[0] + icc[2]))
    assert target_weights(np.array([0.4, 0.0, 0.0]), active=np.array([False, True, True])).tolist() == [
        0,
        0.5,
        0.5,
    ]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-3, 3), min_size=1, max_size=8), st.floats(0, 1))
def test_projection_is_the_nearest_point(point, share):
    point, floor = np.array(point), share / len(point)
    weights = project_to_simplex(point, floor)
    assert_allclose(weights.sum(), 1)
    assert (weights >= floor - 1e-12).all()
    # optimality: (point - weights) . (v - weights) <= 0 for the corners v of the feasible set
    corners = floor + np.eye(point.size) * (1 - floor * point.size)
    assert ((corners - weights) @ (point - weights) <= 1e-9).all()


def test_projection_against_scipy():
    point = np.array([0.9, 0.4, -0.2])
    result = minimize(
        lambda w: ((w - point) ** 2).sum(),
        np.full(3, 1 / 3),
        bounds=[(0.05, 1)] * 3,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
    )
    assert_allclose(project_to_simplex(point, 0.05), result.x, atol=1e-6)


def test_size_and_entropy_weights():
    counts = np.array([[30, 10], [0, 0], [20, 40], [5, 0]])
    assert_allclose(size_weights(counts), np.array([40, 0, 60, 5]) / 105)
    entropy = np.array(
        [-(0.75 * np.log(0.75) + 0.25 * np.log(0.25)), -(np.log(1 / 3) + 2 * np.log(2 / 3)) / 3, 0]
    )
    inverse = 1 / (entropy + 1e-6)
    assert_allclose(entropy_weights(counts)[[0, 2, 3]], inverse / inverse.sum())
    assert entropy_weights(counts)[1] == 0


@pytest.mark.parametrize(
    ("key", "value"),
    [("cmm", 0), ("cmm", 5.1), ("kri", 1.2), ("kri", -0.1), ("kci", 2), ("cvss", 11), ("cvss", float("nan")),
     ("cmm", "4"), ("kci", True), ("name", ""), ("name", "a;b"), ("name", 3)],
)  # fmt: skip
def test_profile_out_of_range_names_field_and_value(key, value):
    with pytest.raises(ConfigurationError) as caught:
        node_profiles([PLAIN | {key: value}, PLAIN | {"name": "Other"}])
    assert f"{key}={value!r}" in str(caught.value)
    assert "needed" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_lists_of_profiles_are_checked():
    other = PLAIN | {"name": "Other"}
    assert node_profiles([PLAIN, other])[0] == NodeProfile("Bank", 4, 0.8, 0.1, 3.0)
    for nodes, words in [
        ([PLAIN], "at least 2"),
        ([], "at least 2"),
        (PLAIN, "a list"),
        ([PLAIN, "Bank"], "a mapping"),
        ([PLAIN, PLAIN], "used twice"),
        ([PLAIN, other | {"kpi": 1}], "unknown key 'kpi'"),
        ([PLAIN, {"name": "Other"}], "cmm is missing"),
        ([PLAIN | {"kci": 0}, other | {"kri": 1}], "ICC is 0 for every node"),
    ]:
        with pytest.raises(ConfigurationError, match=words):
            node_profiles(nodes)
