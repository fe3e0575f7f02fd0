"""The streamed ensemble against the estimators and the public federated functions."""

import numpy as np
import pytest
from scipy.optimize import linprog

from fedbayes.federated import fit_discriminative
from fedbayes.models import AnDEClassifier, WeightedAnDEClassifier
from fedbayes.models.engine.ensemble import Variant, discriminative_parameters, evaluate_structures

CARDINALITIES, CLASSES = (3, 2, 4, 3, 2), 3
VARIANTS = [
    Variant("generative"),
    Variant("federated", rounds=4, local_steps=3),
    Variant("local", max_iterations=40),
    Variant("local", solver="newton"),
]


def draw(rows, seed):
    rng = np.random.default_rng(seed)
    X = np.stack([rng.integers(0, r, rows) for r in CARDINALITIES], 1).astype(np.int32)
    y = ((X[:, 0] + X[:, 1] * X[:, 2] + (rng.random(rows) < 0.3)) % CLASSES).astype(np.int32)
    return X, y


@pytest.fixture(scope="module")
def clients():
    # the last client has no rows, the one before only two
    return [draw(60, 1), draw(45, 2), draw(2, 3), (np.zeros((0, 5), np.int32), np.zeros(0, np.int32))]


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_variants_are_the_models_of_the_public_api(clients, n):
    X_test = draw(80, 4)[0]
    generative, federated, local, newton = evaluate_structures(
        clients, CARDINALITIES, CLASSES, X_test, n=n, variants=VARIANTS
    )
    model = fit_discriminative(clients, CARDINALITIES, CLASSES, n=n, rounds=4, local_steps=3)
    for c in range(len(clients)):
        np.testing.assert_allclose(federated.posteriors[c], model.predict_proba(c, X_test), atol=1e-14)
    assert federated.iterations == pytest.approx(model.iterations.mean())
    assert federated.evaluations == pytest.approx(model.evaluations.mean())
    for c, (X, y) in enumerate(clients[:2]):
        options = {"n": n, "cardinalities": CARDINALITIES}
        plain = AnDEClassifier(**options).fit(X, y)
        np.testing.assert_allclose(generative.posteriors[c], plain.predict_proba(X_test), atol=1e-13)
        weighted = WeightedAnDEClassifier(**options, max_iterations=40).fit(X, y)
        np.testing.assert_allclose(local.posteriors[c], weighted.predict_proba(X_test), atol=1e-13)
    assert 0 < local.iterations <= 40
    assert newton.iterations > 0
    for outcome in (generative, federated, local, newton):
        np.testing.assert_allclose(outcome.posteriors.sum(axis=2), 1, rtol=1e-12)
        # without rows the probabilities come from smoothing alone (and from others' weights when federated)
        if outcome is not federated:
            np.testing.assert_allclose(outcome.posteriors[3], 1 / CLASSES, rtol=1e-12)


def test_domain_sizes_may_lie_apart_in_memory(clients):
    apart = np.array([[size, 10**6] for size in CARDINALITIES], np.int64)[:, 0]
    X_test = draw(80, 4)[0]
    found, expected = (
        evaluate_structures(clients, sizes, CLASSES, X_test, n=1, variants=VARIANTS[:1])[0].posteriors
        for sizes in (apart, CARDINALITIES)
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("rows", "attributes", "n"), [(1000, 20, 0), (1000, 20, 1), (3, 8, 0)])
def test_one_class_alone_is_certain(rows, attributes, n):
    X = np.random.default_rng(0).integers(0, 2, (rows, attributes))
    for outcome in evaluate_structures(
        [(X, np.zeros(rows, int))], [2] * attributes, 1, X[:50], n=n, variants=VARIANTS
    ):
        assert (outcome.posteriors == 1.0).all()


def test_more_cells_of_clients_than_numbers_are_refused():
    X = np.random.default_rng(0).integers(0, [2**20] * 3 + [2], (20, 4))
    few = [(X, np.arange(20) % 2)]
    with pytest.raises(ValueError, match="9 clients with 1152921504606846976 cells each"):
        evaluate_structures(
            few * 9, [2**20] * 3 + [2], 2, X[:5], n=3, variants=VARIANTS[:1], structures=[(0, 1, 2)]
        )


def test_results_do_not_depend_on_threads_or_company(clients):
    X_test = draw(150, 5)[0]
    options = {"n": 2, "variants": VARIANTS}
    together = evaluate_structures(clients, CARDINALITIES, CLASSES, X_test, **options)
    threaded = evaluate_structures(clients, CARDINALITIES, CLASSES, X_test, **options, threads=2)
    for index, variant in enumerate(VARIANTS):
        alone = evaluate_structures(clients, CARDINALITIES, CLASSES, X_test, n=2, variants=[variant])[0]
        for other in (alone, threaded[index]):
            np.testing.assert_array_equal(together[index].posteriors, other.posteriors)
            assert together[index].iterations == other.iterations


def test_many_structures_are_added_up_in_chunks():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (30, 9)).astype(np.int32), rng.integers(0, 2, 30).astype(np.int32)
    outcome = evaluate_structures([(X, y)], (2,) * 9, 2, X, n=3, variants=[Variant("generative")])[0]
    expected = AnDEClassifier(n=3, cardinalities=(2,) * 9).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(outcome.posteriors[0], expected, atol=1e-13)


def test_parameters_count_weights_by_hand():
    # naive Bayes: w0, wP and one weight per attribute, for each of 3 classes
    assert discriminative_parameters(0, CARDINALITIES, 3) == 3 * (2 + 5)
    assert discriminative_parameters(1, (3, 2, 4), 2) == 2 * ((2 + 3 * 2) + (2 + 2 * 2) + (2 + 4 * 2))
    assert discriminative_parameters(2, (3, 2, 4), 2) == 2 * ((2 + 6) + (2 + 12) + (2 + 8))


@pytest.mark.parametrize("wrong", [{"kind": "central"}, {"kind": "local", "solver": "adam"}])
def test_unknown_variants_are_refused(wrong):
    with pytest.raises(ValueError, match="is needed"):
        Variant(**wrong)


def completely_separable(X, y):
    """Whether weights of a naive Bayes structure exist that put every row on its class's side by a margin of 1.

    Decided by a linear programme over one weight of class 0 against class 1 for each attribute and value.
    """
    indicator = np.concatenate([np.eye(r)[X[:, j]] for j, r in enumerate(CARDINALITIES)], axis=1)
    sign = np.where(y == 1, 1.0, -1.0)[:, None]
    constraints = -sign * np.column_stack([indicator, np.ones(len(y))])
    found = linprog(np.zeros(constraints.shape[1]), constraints, -np.ones(len(y)), bounds=(None, None))
    return found.status == 0


def test_the_share_of_separable_fits_is_that_of_a_linear_programme():
    rng = np.random.default_rng(11)
    clients = []
    for rows in (4, 6, 8, 9, 10, 11, 12, 14, 20, 40):
        X = np.stack([rng.integers(0, r, rows) for r in CARDINALITIES], 1).astype(np.int32)
        clients.append((X, rng.integers(0, 2, rows).astype(np.int32)))
    expected = np.mean([completely_separable(X, y) for X, y in clients])
    assert 0.2 < expected < 0.9  # the cases tell something
    nobody = (np.zeros((0, 5), np.int32), np.zeros(0, np.int32))
    newton, lbfgs = evaluate_structures(
        [*clients, nobody], CARDINALITIES, 2, clients[0][0], n=0, variants=[VARIANTS[3], VARIANTS[2]]
    )
    assert newton.separable == pytest.approx(expected)
    assert np.isnan(lbfgs.separable)
