"""Federated discriminative training against plain loops over numpy and scipy's L-BFGS-B."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from fedbayes.federated import fit_discriminative


def plain_tables(X, y, parents, cardinalities, o, smoothing=1.0):
    """log P(y), log P(cell | y) (cells, o) and {j: log P(x_j | y, cell) (cells, values, o)} by counting."""
    cells = int(np.prod([cardinalities[p] for p in parents]))
    cell = np.zeros(len(y), int)
    for p in parents:
        cell = cell * cardinalities[p] + X[:, p]
    prior = np.full(o, smoothing)
    np.add.at(prior, y, 1)
    parent = np.full((cells, o), smoothing)
    np.add.at(parent, (cell, y), 1)
    tables = {}
    for j in range(len(cardinalities)):
        if j not in parents:
            table = np.full((cells, cardinalities[j], o), smoothing)
            np.add.at(table, (cell, X[:, j], y), 1)
            tables[j] = np.log(table / table.sum(1, keepdims=True))
    return cell, np.log(prior / prior.sum()), np.log(parent / parent.sum(0)), tables


class PlainClient:
    """One client's objective over dense weights (w0, wP, w[cell, j])."""

    def __init__(self, X, y, parents, cardinalities, o):
        self.y, self.o = y, o
        self.cell, self.prior, self.parent, self.tables = plain_tables(X, y, parents, cardinalities, o)
        self.shape = (len(self.parent), len(self.tables), o)
        self.features = np.stack([t[self.cell, X[:, j]] for j, t in self.tables.items()], 1)

    def scores(self, w):
        w0, wp, wj = w[: self.o], w[self.o : 2 * self.o], w[2 * self.o :].reshape(self.shape)
        weighted = np.einsum("ijc,ijc->ic", self.features, wj[self.cell])
        return w0 * self.prior + wp * self.parent[self.cell] + weighted

    def __call__(self, w):
        logp = log_softmax(self.scores(w), axis=1)
        residual = np.exp(logp)
        residual[np.arange(len(self.y)), self.y] -= 1
        gradient = np.zeros(self.shape)
        np.add.at(gradient, self.cell, residual[:, None, :] * self.features)
        first = [residual.sum(0) * self.prior, (residual * self.parent[self.cell]).sum(0)]
        return -logp[np.arange(len(self.y)), self.y].sum(), np.concatenate([*first, gradient.ravel()])


def plain_rounds(clients, parents, cardinalities, o, rounds, steps):
    objectives = [PlainClient(X, y, parents, cardinalities, o) for X, y in clients]
    w = np.ones(o * (2 + objectives[0].shape[0] * objectives[0].shape[1]))
    options = {"maxiter": steps, "maxcor": 10, "ftol": 2.22e-9, "gtol": 1e-5, "maxls": 20}
    for _ in range(rounds):
        sent = [
            minimize(f, w, jac=True, method="L-BFGS-B", options=options).x if len(f.y) else w
            for f in objectives
        ]
        w = np.mean(sent, axis=0)
    return w


def make_clients(seed, cardinalities, o, sizes, absent=None):
    """Rows whose class depends on two attributes and on noise; client 0 never sees class ``absent``."""
    rng = np.random.default_rng(seed)
    clients = []
    for index, size in enumerate(sizes):
        X = np.stack([rng.integers(0, r, size) for r in cardinalities], 1).astype(np.int32)
        y = (X[:, 0] + X[:, 1] * X[:, 2] + (rng.random(size) < 0.3)) % o
        if index == 0:
            X[:, -1] = 0  # a constant attribute
            X[:, 0] = np.minimum(X[:, 0], 1)  # cells that it has no rows for
            y = np.where(y == absent, (absent or 0) - 1, y)
        clients.append((X, y.astype(np.int32)))
    return clients


CASES = [
    (2, 0, (3, 2, 4, 3), (40, 25, 0)),
    (3, 1, (3, 2, 4, 3, 2), (60, 30, 5)),
    (4, 2, (3, 4, 3, 2), (90, 40, 1)),
    (3, 3, (2, 3, 2, 3, 2), (80, 30, 0)),
    (18, 1, (4, 5, 5, 4), (150, 60, 7)),
]


@pytest.mark.parametrize(("o", "n", "cardinalities", "sizes"), CASES)
def test_global_weights_equal_those_of_a_plain_scipy_loop(o, n, cardinalities, sizes):
    clients = make_clients(o + n, cardinalities, o, sizes, absent=o - 1)
    model = fit_discriminative(clients, cardinalities, o, n=n)
    for parents in itertools.combinations(range(len(cardinalities)), n):
        expected = plain_rounds(clients, parents, cardinalities, o, rounds=10, steps=5)
        w0, wp, wj = model.weights(parents)
        np.testing.assert_allclose(w0, expected[:o], atol=1e-6)
        np.testing.assert_allclose(wp, expected[o : 2 * o], atol=1e-6)
        others = [j for j in range(len(cardinalities)) if j not in parents]
        assert list(wj) == others
        dense = expected[2 * o :].reshape(-1, len(others), o)
        for index, j in enumerate(others):
            np.testing.assert_allclose(wj[j], dense[:, index].T, atol=1e-6)


@pytest.mark.parametrize("chosen", [None, [(3,), (0,)]])
def test_predictions_combine_private_tables_and_global_weights(chosen):
    cardinalities, o, n = (3, 2, 4, 3, 2), 3, 1
    clients = make_clients(5, cardinalities, o, (60, 30, 0), absent=2)
    model = fit_discriminative(clients, cardinalities, o, n=n, rounds=3, structures=chosen)
    structures = sorted(chosen or itertools.combinations(range(5), n))
    assert model.structures == structures and model.iterations.shape == (len(structures), 3)
    X = make_clients(6, cardinalities, o, (1, 50))[1][0]
    for c, (X_train, y_train) in enumerate(clients):
        expected = np.zeros((len(X), o))
        for parents in structures:
            _, prior, parent, tables = plain_tables(X_train, y_train, parents, cardinalities, o)
            w0, wp, wj = model.weights(parents)
            cell = X[:, parents[0]]
            score = w0 * prior + wp * parent[cell]
            for j, table in tables.items():
                score += wj[j].T[cell] * table[cell, X[:, j]]
            expected += np.exp(log_softmax(score, axis=1)) / len(structures)
        np.testing.assert_allclose(model.predict_proba(c, X), expected, atol=1e-12)
    with pytest.raises(ValueError, match=r"of a structure, got \(9,\)"):
        model.weights((9,))


def test_weights_of_cells_without_rows_stay_one():
    cardinalities, o = (4, 3, 2, 3), 2
    clients = [
        (np.minimum(X, [1, 9, 9, 9]).astype(np.int32), y)
        for X, y in make_clients(1, cardinalities, o, (30, 40, 7))
    ]
    _, _, wj = fit_discriminative(clients, cardinalities, o, n=1).weights((0,))
    for own in wj.values():
        assert np.all(own[:, 2:] == 1.0)
        assert np.any(own[:, :2] != 1.0)


def test_a_client_without_rows_pulls_the_mean_towards_the_old_weights():
    cardinalities, o = (3, 2, 4), 3
    client = make_clients(2, cardinalities, o, (1, 50))[1]
    empty = (np.zeros((0, 3), np.int32), np.zeros(0, np.int32))
    alone = fit_discriminative([client], cardinalities, o, n=1, rounds=1)
    both = fit_discriminative([client, empty], cardinalities, o, n=1, rounds=1)
    for single, halved in zip(alone.weights((1,))[:2], both.weights((1,))[:2], strict=True):
        np.testing.assert_allclose(halved, (single + 1) / 2, rtol=1e-14)
    assert both.iterations[:, 1].tolist() == [0, 0, 0]
    assert np.all(both.iterations[:, 0] == alone.iterations[:, 0])


def test_unknown_values_count_as_never_seen():
    cardinalities, o = (3, 2, 4), 2
    # client 0 has no value 1 of attribute 1: an unknown value there must predict alike
    clients = make_clients(3, cardinalities, o, (40, 50))
    clients[0][0][:, 1] = 0
    model = fit_discriminative(clients, cardinalities, o, n=0)
    known, unknown = np.array([[1, 1, 2]]), np.array([[1, 77, 2]])
    np.testing.assert_allclose(model.predict_proba(0, known), model.predict_proba(0, unknown), rtol=1e-13)
    np.testing.assert_allclose(
        model.predict_proba(0, [[1, -3, 2]]), model.predict_proba(0, unknown), rtol=1e-13
    )
    # as superparent: the cell has no rows and weights of 1, so only class and cell terms are left
    single = fit_discriminative(clients, cardinalities, o, n=2)
    expected = np.zeros(o)
    X, y = clients[1]
    for parents in itertools.combinations(range(3), 2):
        _, prior, parent, _ = plain_tables(X, y, parents, cardinalities, o)
        w0, wp, wj = single.weights(parents)
        class_counts = np.bincount(y, minlength=o)
        if 0 in parents:
            score = w0 * prior - wp * np.log(class_counts + len(parent))
        else:  # value 9 of attribute 0 in cell (1, 2)
            cell = 1 * 4 + 2
            in_cell = np.array([np.sum((X[:, 1] == 1) & (X[:, 2] == 2) & (y == k)) for k in range(o)])
            score = w0 * prior + wp * parent[cell] - wj[0][:, cell] * np.log(in_cell + 3)
        expected += np.exp(log_softmax(score)) / 3
    np.testing.assert_allclose(single.predict_proba(1, [[9, 1, 2]])[0], expected, atol=1e-12)


def test_bad_input_is_refused():
    client = (np.array([[0, 1], [1, 0]]), np.array([0, 1]))
    with pytest.raises(ValueError, match="n_features=2"):
        fit_discriminative([client], (2, 2), 2, n=2)
    with pytest.raises(ValueError, match="client 0"):
        fit_discriminative([client], (2, 1), 2, n=1)
    with pytest.raises(ValueError, match="rounds"):
        fit_discriminative([client], (2, 2), 2, n=1, rounds=-1)
    model = fit_discriminative([client], (2, 2), 2, n=1)
    with pytest.raises(ValueError, match="client"):
        model.predict_proba(1, client[0])
    with pytest.raises(ValueError, match="ascending"):
        model.weights((0, 1))
