"""Chosen structures, logistic regression and recorded rounds in the FedAnDE grid."""

import math
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from fedbayes.data.dataset import CategoricalDataset
from fedbayes.errors import ConfigurationError
from fedbayes.experiments import fedande
from fedbayes.experiments.fedande_fold import run_fold
from fedbayes.experiments.fedande_structures import Chooser, Chosen
from fedbayes.federated import privacy
from fedbayes.federated.counts import generative_parameters, generative_posteriors
from fedbayes.models.ande import AnDEClassifier
from fedbayes.models.engine.ensemble import Variant, discriminative_parameters, evaluate_structures

BASE = {
    "clients": 3, "n": [0, 2], "learner": ["generative", "discriminative"], "regime": ["local", "federated"],
    "seeds": 42, "folds": 2, "partition": "stratified", "alpha": 1.0, "protocol": "paper", "smoothing": 1.0,
    "missing": None, "epsilon": [1.0, "inf"], "rounds": 3, "local_steps": 2, "local_solver": "lbfgs",
    "local_max_iterations": 20,
}  # fmt: skip
CARDINALITIES = (2, 3, 2, 3)


@pytest.fixture(scope="module")
def dataset():
    rng = np.random.default_rng(0)
    X = np.stack([rng.integers(0, c, 60) for c in CARDINALITIES], axis=1).astype(np.int32)
    y = ((X[:, 1] + X[:, 3] + (rng.random(60) < 0.2)) % 3).astype(np.int32)
    return CategoricalDataset(
        "toy", "Toy", X, y, tuple("abcd"), CARDINALITIES, tuple(tuple(map(str, range(c))) for c in CARDINALITIES),
        ("x", "y", "z"), "file",
    )  # fmt: skip


def grid(**changes):
    parameters = fedande.parse(BASE | changes, 4.0)
    return list(fedande.cells(parameters, {"toy": SimpleNamespace(missing=None)})), parameters


def compute(dataset, **changes):
    """Rows of fold 0 by table."""
    cells, parameters = grid(**changes)
    wanted = list({cell.key: (cell, ("0",)) for cell in cells}.values())
    tables = {"runs": [], "rounds": []}
    for task in fedande.tasks(wanted, parameters, {}):
        for name, rows in run_fold(task.cells, 0, dataset, parameters).items():
            tables[name] += rows
    return tables


def select(rows, **columns):
    return [row for row in rows if all(row[name] == value for name, value in columns.items())]


def test_limits_and_choices_make_their_cells():
    cells, _ = grid(max_structures=[None, 2, 3], structure_choice=["random", "information"])
    texts = {cell.settings_text for cell in cells if cell.n == 2 and cell.learner == "generative"}
    ways = [f"max_structures={k};structure_choice={way}" for k in (2, 3) for way in ("random", "information")]
    assert texts == {"folds=2"} | {f"folds=2;{way}" for way in ways}
    assert all(fedande.setting(cell, "max_structures") is None for cell in cells if cell.n == 0)
    assert len({cell.key for cell in cells}) == len(cells)
    only, _ = grid(max_structures=2, structure_choice="random", n=1)
    assert {fedande.setting(cell, "max_structures") for cell in only} == {2}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"max_structures": 0}, "max_structures=0 is not allowed: a whole number >= 1"),
        ({"max_structures": 5}, "structure_choice='all' is not allowed: random or information"),
        ({"structure_choice": "random"}, "max_structures=None is not allowed"),
        ({"max_structures": 5, "structure_choice": "best"}, "structure_choice='best' is not allowed"),
        ({"record_rounds": "yes"}, "record_rounds='yes' is not allowed"),
    ],
)
def test_wrong_options_are_named(changes, words):
    with pytest.raises(ConfigurationError, match=words):
        fedande.parse(BASE | changes, 4.0)


def test_a_cap_that_does_not_act_is_said():
    (note,) = fedande.notes(fedande.parse(BASE | {"local_solver": "newton"}, 4.0), {})
    assert note.startswith("local_max_iterations=20 caps local_solver=lbfgs alone")
    newton = {"local_solver": "newton"}
    for changes in ({}, newton | {"local_max_iterations": None}, newton | {"learner": "generative"}):
        assert fedande.notes(fedande.parse(BASE | changes, 4.0), {}) == []


def test_lists_of_rounds_and_local_steps_are_swept():
    cells, _ = grid(rounds=[3, 10], local_steps=[1, 5], n=1)
    swept = {c.settings_text for c in cells if (c.learner, c.regime) == ("discriminative", "federated")}
    assert swept == {"folds=2", "folds=2;rounds=3", "folds=2;local_steps=1", "folds=2;local_steps=1;rounds=3"}
    assert len([c for c in cells if c.learner == "generative"]) == 3  # they do not act on these


def test_as_many_structures_as_there_are_is_the_whole_model(dataset):
    rows = compute(
        dataset, n=2, epsilon="inf", max_structures=[None, 99], structure_choice=["random", "information"]
    )
    numbers = ("accuracy", "macro_f1", "log_loss", "parameters", "iterations")
    for learner in ("generative", "discriminative"):
        for regime in ("local", "federated"):
            three = select(rows["runs"], learner=learner, regime=regime)
            assert len(three) == 3
            assert len({tuple(row.get(name) for name in numbers) for row in three}) == 1


def test_chosen_structures_are_averaged_and_paid_for(dataset):
    limit = {"max_structures": 2, "structure_choice": ["random", "information"]}
    rows = compute(dataset, n=2, **limit)["runs"]
    assert {row["status"] for row in rows} == {"done"} and len(rows) == 2 * 5
    by_information = "folds=2;max_structures=2;rounds=3;structure_choice=information"
    (weights,) = select(rows, learner="discriminative", regime="federated", settings="folds=2;local_steps=2;"
                        + by_information.removeprefix("folds=2;"))  # fmt: skip
    pairs = [CARDINALITIES[a] * CARDINALITIES[b] for a, b in combinations(range(4), 2)]
    counts = 3 * sum(pairs)  # classes times cells of all pairs: what a client sends for the choice
    assert weights["rounds"] == 3 + 1
    assert weights["bytes_up"] == 8 * 3 * (3 * weights["parameters"] + counts)
    assert weights["bytes_down"] == 8 * 3 * (3 * weights["parameters"] + 2 * 2)
    random = select(rows, learner="generative", regime="federated", epsilon=math.inf)[0]
    assert random["rounds"] == 1 and random["bytes_up"] == random["bytes_down"] == 24 * random["parameters"]


def test_some_structures_by_hand(dataset):
    X, y = dataset.X, dataset.y
    chosen = [(0, 1), (1, 3)]
    together, _ = generative_posteriors([(X, y)], CARDINALITIES, 3, X, n=2, structures=chosen)
    alone = [generative_posteriors([(X, y)], CARDINALITIES, 3, X, n=2, structures=[s])[0] for s in chosen]
    np.testing.assert_allclose(together, np.mean(alone, axis=0), rtol=0, atol=1e-15)
    streamed = evaluate_structures(
        [(X, y)], CARDINALITIES, 3, X, n=2, variants=[Variant("generative")], structures=chosen
    )
    np.testing.assert_allclose(streamed[0].posteriors[0], together, rtol=0, atol=1e-12)
    expected = np.zeros((60, 3))  # the definition, for one of the structures
    for i, x in enumerate(X):
        for c in range(3):
            mine = X[y == c]
            cell = mine[(mine[:, 1] == x[1]) & (mine[:, 3] == x[3])]
            score = (len(mine) + 1) / (60 + 3) * (len(cell) + 1) / (len(mine) + 9)
            for j in (0, 2):
                score *= (np.sum(cell[:, j] == x[j]) + 1) / (len(cell) + 2)
            expected[i, c] = score
    np.testing.assert_allclose(alone[1], expected / expected.sum(axis=1, keepdims=True), rtol=0, atol=1e-12)
    tables = 3 * (1 + 6 * (1 + 2 + 3) + 9 * (1 + 2 + 2))
    assert generative_parameters(2, CARDINALITIES, 3, chosen) == tables
    assert discriminative_parameters(2, CARDINALITIES, 3, chosen) == 3 * (2 + 6 * 2 + 2 + 9 * 2)
    every = list(combinations(range(4), 2))
    for count in (generative_parameters, discriminative_parameters):
        assert count(2, CARDINALITIES, 3, every) == count(2, CARDINALITIES, 3)


def test_delta_counts_the_structures_used_and_what_they_were_chosen_by(dataset, monkeypatch):
    scales = []
    monkeypatch.setattr(
        privacy, "laplace_sum", lambda rng, clients, scale, shape: scales.append(scale) or np.zeros(shape)
    )
    monkeypatch.setattr(
        "fedbayes.experiments.fedande_structures.laplace_sum",
        lambda rng, clients, scale, shape: scales.append(scale) or np.zeros(shape),
    )
    used = {"n": 2, "learner": "generative", "regime": "federated", "epsilon": 0.5, "max_structures": 2}
    compute(dataset, **used, structure_choice="random")  # compiles on made-up rows of their own
    scales.clear()
    compute(dataset, **used, structure_choice="random")
    assert set(scales) == {(1 + 2 * (1 + 4 - 2)) / 0.5}
    compute(dataset, **used, structure_choice="information")
    scales.clear()
    compute(dataset, **used, structure_choice="information")
    assert set(scales) == {(1 + 2 * (1 + 4 - 2) + 6) / 0.5}  # six pairs are counted to choose two
    assert privacy.sensitivity(2, 6) == 76 and privacy.sensitivity(2, 6, 3) == 16


def test_a_client_alone_chooses_by_its_own_rows(dataset):
    cells, _ = grid(n=1, max_structures=1, structure_choice="information", epsilon="inf")
    X = np.tile([[0, 0, 0, 0]], (8, 1))
    first, second = X.copy(), X.copy()
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    first[:, 0], second[:, 2] = labels, labels
    clients = [(first, labels), (second, labels), (second, labels)]
    chooser = Chooser(cells[0], 0, clients, CARDINALITIES, 3)
    assert [chooser.own(client).structures for client in clients] == [[(0,)], [(2,)], [(2,)]]
    assert chooser.common().structures == [(2,)]
    assert [chooser.alone(cell) for cell in cells] == [cell.regime == "local" for cell in cells]


def test_random_structures_are_the_same_for_all_clients_and_regimes():
    def drawn(**changes):
        cells, _ = grid(n=1, max_structures=2, structure_choice="random", **changes)
        return {tuple(Chooser(c, 0, [], (2,) * 200, 2).common().structures) for c in cells}

    assert len(drawn(clients=[3, 5])) == 1
    assert drawn() != drawn(seeds=43)


def test_every_round_is_what_a_run_of_so_many_rounds_gives(dataset):
    clients = [(dataset.X[i::3], dataset.y[i::3]) for i in range(3)]
    options = {"n": 1, "variants": [Variant("federated", rounds=3, local_steps=2, every_round=True)]}
    recorded = evaluate_structures(clients, CARDINALITIES, 3, dataset.X, **options)[0]
    assert len(recorded.rounds) == 3
    for number, after in enumerate(recorded.rounds, start=1):
        options["variants"] = [Variant("federated", rounds=number, local_steps=2)]
        short = evaluate_structures(clients, CARDINALITIES, 3, dataset.X, **options)[0]
        np.testing.assert_array_equal(after.posteriors, short.posteriors)
    assert (recorded.iterations, recorded.evaluations) == (short.iterations, short.evaluations)


def test_recorded_rounds_change_nothing_and_end_at_the_row(dataset):
    plain, recorded = (compute(dataset, epsilon=1.0, record_rounds=on) for on in (False, True))
    assert plain["rounds"] == []

    def numbers(rows):
        return [{k: v for k, v in row.items() if not k.endswith("_seconds")} for row in rows]

    assert numbers(recorded["runs"]) == numbers(plain["runs"])
    federated = select(recorded["runs"], regime="federated")
    assert {row["cell"] for row in recorded["rounds"]} == {row["cell"] for row in federated}
    for row in federated:
        rounds = select(recorded["rounds"], cell=row["cell"])
        assert [entry["round"] for entry in rounds] == list(range(1, row["rounds"] + 1))
        assert rounds[-1]["accuracy"] == row["accuracy"] and rounds[-1]["log_loss"] == row["log_loss"]
        assert sum(entry["bytes_up"] for entry in rounds) == row["bytes_up"]
        assert sum(entry["seconds"] for entry in rounds) == pytest.approx(row["fit_seconds"])
        assert set(fedande.ROUNDS.columns) <= set(rounds[0])


def test_logistic_cells_exist_once_and_are_complete(dataset):
    regimes = ["local", "federated", "centralised"]
    cells, _ = grid(learner=["logistic", "generative"], regime=regimes, n=[0, 1, 2])
    logistic = [cell for cell in cells if cell.learner == "logistic"]
    assert [(cell.n, cell.regime) for cell in logistic] == [(None, regime) for regime in regimes]
    assert [cell.settings_text for cell in logistic] == [
        "folds=2",
        "folds=2;local_steps=2;rounds=3",
        "folds=2",
    ]
    rows = compute(dataset, learner="logistic", regime=regimes)["runs"]
    assert [row["n"] for row in rows] == [None] * 3
    local, federated, centralised = (select(rows, regime=regime)[0] for regime in regimes)
    assert all(0 < row["accuracy"] < 1 and row["parameters"] == 3 * 11 for row in rows)
    assert federated["bytes_up"] == federated["bytes_down"] == 8 * 33 * 3 * 3 and federated["rounds"] == 3
    assert local["accuracy_client_std"] is not None and local["bytes_up"] == 0
    assert centralised["clients"] == 1 and centralised["accuracy_client_std"] is None
    assert federated["iterations"] == 3 * 2


@pytest.mark.parametrize("n", [0, 1])
def test_a_centralised_generative_model_is_the_classifier_on_the_training_rows(dataset, n):
    (row,) = compute(dataset, learner="generative", regime="centralised", n=n)["runs"]
    folds = StratifiedKFold(2, shuffle=True, random_state=42).split(dataset.X, dataset.y)
    train, test = next(iter(folds))
    model = AnDEClassifier(n=n, cardinalities=CARDINALITIES).fit(dataset.X[train], dataset.y[train])
    assert row["accuracy"] == model.score(dataset.X[test], dataset.y[test])
    assert row["log_loss"] == pytest.approx(log_loss(dataset.y[test], model.predict_proba(dataset.X[test])))
    assert row["bytes_up"] == row["bytes_down"] == 0


def test_memory_of_few_structures_does_not_grow_with_the_number_of_all():
    from fedbayes.models.engine.counting import peak_bytes

    assert peak_bytes(3, [4] * 300, 2, rows=20000, clients=5) > 2 * 2**30
    assert peak_bytes(3, [4] * 300, 2, rows=20000, clients=5, structures=200) < 2**30


@pytest.mark.parametrize("limit", [10, 11, 10**9])  # 5 attributes have 10 pairs
@pytest.mark.parametrize("way", ["random", "information"])
def test_where_every_set_is_within_the_limit_nothing_is_chosen_or_sent(limit, way):
    cells, _ = grid(n=2, max_structures=limit, structure_choice=way)
    chooser = Chooser(cells[0], 0, [], (2,) * 5, 2)
    assert chooser.common(epsilon=1.0) == Chosen()
    assert not any(chooser.alone(cell) for cell in cells)
