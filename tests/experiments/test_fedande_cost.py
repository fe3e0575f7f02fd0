"""Rough costs of cells grow with what there is to compute."""

from math import comb
from types import SimpleNamespace

from fedbayes.experiments import fedande
from fedbayes.experiments.fedande_cost import cost

PLAIN = SimpleNamespace(missing=None)


def parse(**changes):
    mapping = {
        "clients": [5], "n": [1], "learner": ["generative", "discriminative"], "regime": ["local", "federated"],
        "seeds": [42], "folds": 5, "fold": None, "partition": ["stratified"], "alpha": [1.0],
        "protocol": "paper", "smoothing": 1.0, "missing": None, "epsilon": [1.0], "rounds": [10],
        "local_steps": [5], "local_solver": None, "local_max_iterations": None, "max_structures": None,
        "structure_choice": ["all"], "record_rounds": False,
    }  # fmt: skip
    return fedande.parse(mapping | changes, 4.0)


def costs(shape, **changes):
    parameters = parse(**changes)
    cells = fedande.cells(parameters, {"car": PLAIN})
    return {(cell.learner, cell.regime): cost(cell, shape, parameters) for cell in cells}


def test_more_of_anything_costs_more():
    shape = (10_000, 20, 3)
    plain = costs(shape)
    for dearer in (
        costs((20_000, 20, 3)), costs((10_000, 30, 3)), costs((10_000, 20, 6)), costs(shape, clients=[50]), costs(shape, n=[2])
    ):  # fmt: skip
        assert {kind for kind in plain if dearer[kind] <= plain[kind]} == set()
    fewer = costs(shape, max_structures=[2], structure_choice=["random"])
    assert all(fewer[kind] < plain[kind] for kind in plain)
    twice = costs(shape, rounds=[20])["discriminative", "federated"] / plain["discriminative", "federated"]
    assert 1.5 < twice <= 2
    lbfgs = [costs(shape, local_max_iterations=cap)["discriminative", "local"] for cap in (100, 1000)]
    assert 5 < lbfgs[1] / lbfgs[0] <= 10


def test_structures_are_counted():
    assert comb(42, 2) == 861
    few = costs((67_557, 42, 3), n=[2], max_structures=[861], structure_choice=["random"])
    assert few == costs((67_557, 42, 3), n=[2])
