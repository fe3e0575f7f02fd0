"""Cells, their keys and shards."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from fedbayes.errors import ConfigurationError
from fedbayes.experiments import fedande
from fedbayes.grid import Cell, balanced_shard, text

BASE = {
    "clients": [5, 20], "n": [0, 1], "learner": ["generative", "discriminative"], "regime": ["local", "federated"],
    "seeds": [42, 43], "folds": 5, "fold": None, "partition": "stratified", "alpha": 1.0, "protocol": "paper", "smoothing": 1.0,
    "missing": None, "epsilon": 1.0, "rounds": 10, "local_steps": 5, "local_solver": None,
    "local_max_iterations": None,
}  # fmt: skip

PLAIN = SimpleNamespace(missing=None)  # what a data set's own description says


def cells(**changes):
    parameters = fedande.parse(BASE | changes, 4.0)
    return list(fedande.cells(parameters, {"car": PLAIN, "nursery": PLAIN}))


def kinds(entries):
    return {(cell.learner, cell.regime): cell for cell in entries if cell.dataset == "car" and cell.n == 1}


def test_the_grid_is_the_full_product():
    entries = cells()
    assert len(entries) == 2 * 2 * 2 * 2 * 2 * 2
    assert len({cell.key for cell in entries}) == len(entries)


def test_a_data_option_said_aloud_names_the_cell_of_what_the_data_set_does_anyway():
    def key(own, asked):
        parameters = fedande.parse(BASE | {"missing": asked}, 4.0)
        return next(iter(fedande.cells(parameters, {"car": SimpleNamespace(missing=own)}))).key

    for own, other in ((None, "mode"), ("category", "mode"), ("mode", "category")):
        assert key(own, own or "category") == key(own, None)
        assert key(own, other) != key(own, None)


def test_only_what_acts_on_a_cell_changes_its_key():
    before = {kind: cell.key for kind, cell in kinds(cells()).items()}

    def changed(**changes):
        after = kinds(cells(**changes))
        return {kind for kind, cell in after.items() if cell.key != before[kind]}

    everything = set(before)
    federated_generative = {("generative", "federated")}
    federated_discriminative = {("discriminative", "federated")}
    local_discriminative = {("discriminative", "local")}
    assert changed(epsilon=0.5) == federated_generative
    assert changed(rounds=7) == federated_discriminative
    assert changed(local_steps=7) == federated_discriminative
    assert changed(local_max_iterations=200) == local_discriminative
    assert changed(local_solver="lbfgs") == local_discriminative
    assert changed(folds=3) == everything
    assert changed(smoothing=0.5) == everything
    assert changed(partition="iid") == everything
    assert changed(fold=0) == set()  # which folds are computed, not what they are
    assert changed(missing="category") == set()  # that is the default
    assert changed(missing="mode") == everything
    assert changed(alpha=0.5) == set()  # the concentration acts with partition=dirichlet alone


def test_settings_name_only_departures_from_the_paper():
    by_kind = kinds(cells(local_steps=7, local_max_iterations=1000, folds=3))
    assert by_kind["discriminative", "federated"].settings_text == "folds=3;local_steps=7"
    assert by_kind["discriminative", "local"].settings_text == "folds=3;local_max_iterations=1000"
    assert by_kind["generative", "local"].settings_text == "folds=3"
    assert kinds(cells())["discriminative", "local"].settings_text == "local_solver=newton"
    literal = kinds(cells(local_solver="lbfgs"))["discriminative", "local"]
    assert literal.settings_text == ""


def test_epsilon_stands_only_in_federated_generative_cells():
    entries = cells(epsilon=[1.0, "inf"])
    with_epsilon = [cell for cell in entries if cell.epsilon is not None]
    assert {(cell.learner, cell.regime) for cell in with_epsilon} == {("generative", "federated")}
    assert {cell.epsilon for cell in with_epsilon} == {1.0, math.inf}


def test_centralised_cells_know_no_clients():
    entries = cells(regime="centralised", seeds=42, n=0, learner="generative")
    assert len({cell.key for cell in entries}) == 2  # one a data set


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("clients", 0), ("n", -1), ("folds", 1), ("fold", 5), ("epsilon", 0), ("epsilon", math.nan), ("seeds", []), ("alpha", -1),
        ("rounds", 0), ("local_steps", 0), ("learner", "neural"), ("regime", "global"), ("smoothing", 0),
        ("local_max_iterations", 0), ("seeds", -1), ("protocol", "code"), ("smoothing", 1e308), ("epsilon", 1e-320),
    ],
)  # fmt: skip
def test_out_of_range_values(key, value):
    with pytest.raises(ConfigurationError, match=f"^{key}="):
        fedande.parse(BASE | {key: value}, 4.0)


def specification(name, attributes, kind="categorical"):
    return SimpleNamespace(name=name, attributes=attributes, kind=kind)


def test_n_at_or_above_the_attributes_of_every_data_set():
    parameters = fedande.parse(BASE | {"n": [1, 8]}, 4.0)
    car, vote, nursery = specification("car", 6), specification("vote", 16), specification("nursery", 8)
    fedande.check_specifications(parameters, {"car": car, "vote": vote})
    fedande.check_specifications(parameters, {"car": car, "own": specification("own", None)})
    with pytest.raises(ConfigurationError, match="n=8 is not allowed"):
        fedande.check_specifications(parameters, {"car": car, "nursery": nursery})


def test_data_of_the_other_kind_are_refused():
    parameters = fedande.parse(BASE, 4.0)
    with pytest.raises(ConfigurationError, match="nsl-kdd"):
        fedande.check_specifications(parameters, {"nsl-kdd": specification("nsl-kdd", 41, "mixed")})


def test_shards_are_disjoint_complete_and_balanced():
    parameters = fedande.parse(BASE, 4.0)
    entries = [
        (cell, fedande.parts(cell, parameters))
        for cell in fedande.cells(parameters, {"car": PLAIN, "nursery": PLAIN})
    ]
    tasks = fedande.tasks(entries, parameters, {"car": (1728, 6, 4), "nursery": (12960, 8, 5)})
    shards = [balanced_shard(tasks, index, 4) for index in (1, 2, 3, 4)]
    assert sum(map(len, shards)) == len(tasks)
    assert {id(t) for shard in shards for t in shard} == {id(t) for t in tasks}
    loads = [sum(task.cost for task in shard) for shard in shards]
    assert max(loads) < 1.2 * min(loads)


def test_chosen_folds_alone_are_computed():
    for fold, expected in ((None, "01234"), (3, "3"), ([4, 0, 4], "04")):
        parameters = fedande.parse(BASE | {"fold": fold}, 4.0)
        entries = [(c, fedande.parts(c, parameters)) for c in fedande.cells(parameters, {"car": PLAIN})]
        assert {parts for _, parts in entries} == {tuple(expected)}
        assert {task.parts[0] for task in fedande.tasks(entries, parameters, {})} == set(expected)


def test_tasks_hold_one_fold_of_cells_that_share_their_clients():
    parameters = fedande.parse(BASE, 4.0)
    entries = [(cell, fedande.parts(cell, parameters)) for cell in fedande.cells(parameters, {"car": PLAIN})]
    tasks = fedande.tasks(entries, parameters, {})
    assert len(tasks) == 2 * 2 * 2 * 5
    assert all(len(task.cells) == 4 and len(task.parts) == 1 for task in tasks)


def test_keys_do_not_change_between_versions_by_accident():
    cell = Cell(
        experiment="fedande", dataset="car", clients=5, seed=42, partition="stratified", n=1,
        learner="generative", regime="federated", protocol="paper", epsilon=1.0,
    )  # fmt: skip
    assert cell.key == "5c3bac9f72cb3453"
    assert replace(cell, seed=43).key != cell.key


def test_text_of_values():
    assert [text(v) for v in (None, math.nan, 0.1, math.inf, 3, "a")] == ["", "", "0.1", "inf", "3", "a"]


def test_more_shards_than_tasks():
    tasks = [SimpleNamespace(cost=cost, label=str(cost)) for cost in (1.0, 2.0, 3.0)]
    dealt = [balanced_shard(tasks, index, 10**12) for index in (1, 2, 3, 4, 10**12)]
    assert [[task.cost for task in shard] for shard in dealt] == [[3.0], [2.0], [1.0], [], []]


def test_a_data_set_whose_classes_are_all_smaller_than_the_folds_is_skipped():
    dataset = SimpleNamespace(
        X=np.zeros((6, 2), int),
        y=np.array([0, 0, 1, 1, 2, 2]),
        cardinalities=(2, 2),
        class_names=("a", "b", "c"),
    )
    parameters = fedande.parse(BASE | {"clients": 1, "n": 0, "folds": 3}, 4.0)
    cell = next(iter(fedande.cells(parameters, {"small": PLAIN})))
    assert "no class has a row for each of 3 folds" in fedande.skip_reason(cell, dataset, parameters)
    assert fedande.skip_reason(cell, dataset, replace(parameters, folds=2)) == ""
