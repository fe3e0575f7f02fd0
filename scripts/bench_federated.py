"""Federated training (10 rounds of 5 iterations) against a loop of NumPy and scipy.optimize.minimize.

One fold, one thread, compiled code warm; both sides sort, count and train the same structures of the same
clients, and must end with the same global weights. The reference is a good one: log theta of every row is
gathered once per client and structure, scores are one einsum, the gradient is one reduceat, and there is one
call of ``minimize`` per client, structure and round. Times are wall-clock, the best of three for the engine.

The last line compares training on the weights with training in the span of the rows, on clients of few rows
per cell.

Run: python scripts/bench_federated.py
"""

import itertools
import time

import numpy as np
from scipy.optimize import minimize
from sklearn.model_selection import StratifiedKFold

from fedbayes import partition
from fedbayes.data import load_dataset
from fedbayes.models.engine.clients import TrainingRows, prepare_clients
from fedbayes.models.engine.layout import log_tables, make_structure, sort_rows
from fedbayes.models.engine.row_space import make_row_space
from fedbayes.models.engine.training import federate

ROUNDS, STEPS = 10, 5
OPTIONS = {"maxiter": STEPS, "maxcor": 10, "ftol": 2.22e-9, "gtol": 1e-5, "maxls": 20}


class Reference:
    """One client's objective and gradient over dense weights, in NumPy."""

    def __init__(self, X, y, structure):
        rows = sort_rows(X, y, structure)
        tables = log_tables(rows, structure, 1.0)
        o, cell = structure.classes, np.repeat(np.arange(len(rows.cells)), np.diff(rows.starts))
        self.rows, self.cells, self.starts, self.y = np.arange(len(y)), rows.cells, rows.starts[:-1], rows.y
        self.features = tables.theta[cell[:, None], rows.codes, :o]
        self.prior, self.parent, self.cell = tables.prior[:o], tables.parent[cell, :o], cell
        self.dense = (structure.cells, len(structure.others), o)

    def __call__(self, w):
        """Value and gradient."""
        o = self.dense[2]
        own = w[2 * o :].reshape(self.dense)[self.cells]
        scores = w[:o] * self.prior + w[o : 2 * o] * self.parent
        scores += np.einsum("ijc,ijc->ic", self.features, own[self.cell])
        scores -= scores.max(axis=1, keepdims=True)
        value = -scores[self.rows, self.y].sum()
        np.exp(scores, out=scores)
        total = scores.sum(axis=1, keepdims=True)
        scores /= total
        scores[self.rows, self.y] -= 1.0
        gradient = np.zeros(len(w))
        gradient[:o] = scores.sum(axis=0) * self.prior
        gradient[o : 2 * o] = (scores * self.parent).sum(axis=0)
        by_cell = np.add.reduceat(scores[:, None, :] * self.features, self.starts, axis=0)
        gradient[2 * o :].reshape(self.dense)[self.cells] = by_cell
        return value + np.log(total).sum(), gradient


def reference(clients, structure):
    objectives = [Reference(X, y, structure) for X, y in clients]
    w = np.ones(structure.classes * (2 + structure.cells * len(structure.others)))
    for _ in range(ROUNDS):
        results = [minimize(f, w, jac=True, method="L-BFGS-B", options=OPTIONS).x for f in objectives]
        w = np.mean(results, axis=0)
    return w


def engine(clients, structure):
    return federate(prepare_clients(TrainingRows(clients, 1.0), structure), ROUNDS, STEPS)[0]


def compare(name, clients, cardinalities, n_classes, n, most=6):
    """Time both on the first ``most`` structures and print the ratio."""
    structures = [
        make_structure(parents, cardinalities, n_classes)
        for parents in itertools.islice(itertools.combinations(range(len(cardinalities)), n), most)
    ]
    engine(clients, structures[0])  # compile
    ours = np.inf
    for _ in range(3):
        begin = time.perf_counter()
        weights = [engine(clients, s) for s in structures]
        ours = min(ours, time.perf_counter() - begin)
    begin = time.perf_counter()
    expected = [reference(clients, s) for s in structures]
    theirs = time.perf_counter() - begin
    worst = 0.0
    for own, other, s in zip(weights, expected, structures, strict=True):
        own = own.reshape(-1, s.lanes)[:, :n_classes].ravel()
        worst = max(worst, np.abs(own - other).max())
    print(
        f"{name:28} {len(structures)} structures: engine {ours:7.3f} s, reference {theirs:7.3f} s, "
        f"ratio {theirs / ours:6.1f}, weights differ by {worst:.0e}"
    )


def from_data(name, n, clients):
    dataset = load_dataset(name)
    train, _ = next(StratifiedKFold(5, shuffle=True, random_state=42).split(dataset.X, dataset.y))
    X, y = dataset.X[train], dataset.y[train]
    owned = partition.stratified(y, clients, np.random.default_rng(42))
    parts = [(X[rows], y[rows]) for rows in owned]
    compare(f"{dataset.title} n={n} C={clients}", parts, dataset.cardinalities, len(dataset.class_names), n)


def connect_4_shaped(clients=5, rows=54_000):
    """Rows like those of Connect-4: 42 attributes of 3 values that hang together, 3 classes."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 8, rows)
    likely = rng.dirichlet((2, 1, 1), (8, 42)).cumsum(-1)
    X = (rng.random((rows, 42, 1)) > likely[hidden]).sum(-1).astype(np.int32)
    y = ((hidden + X[:, 0] * X[:, 7] + (rng.random(rows) < 0.2)) % 3).astype(np.int32)
    parts = [(X[c::clients], y[c::clients]) for c in range(clients)]
    compare(f"Connect-4-shaped n=2 C={clients}", parts, [3] * 42, 3, 2, most=1)


def soybean_shaped(clients=20, rows=550):
    """Rows like those of Soybean: 35 attributes of 2 to 4 values, 19 classes, 3 to 4 rows per cell."""
    rng = np.random.default_rng(1)
    cardinalities = [2, 3, 4, 2, 3] * 7
    y = rng.integers(0, 19, rows).astype(np.int32)
    likely = rng.integers(0, cardinalities, (19, 35))
    noise = rng.integers(0, cardinalities, (rows, 35))
    X = np.where(rng.random((rows, 35)) < 0.3, noise, likely[y]).astype(np.int32)
    training = TrainingRows([(X[c::clients], y[c::clients]) for c in range(clients)], 1.0)
    parts = [prepare_clients(training, make_structure(p, cardinalities, 19)) for p in ((0, 7), (3, 11))]
    nobody = np.zeros(clients, bool)

    def on_weights(part):
        return federate(part, ROUNDS, STEPS, row_space=make_row_space(part, nobody))[0]

    def by_rows(part):  # with blocks of products made anew
        return federate(part, ROUNDS, STEPS, row_space=make_row_space(part, part.row_space.chosen))[0]

    best, results = [], []
    for train in (on_weights, by_rows):
        train(parts[0])  # compile
        seconds = []
        for _ in range(3):
            begin = time.perf_counter()
            weights = [train(part) for part in parts]
            seconds.append(time.perf_counter() - begin)
        best.append(min(seconds))
        results.append(np.concatenate(weights))
    print(
        f"{f'Soybean-shaped n=2 C={clients}':28} {len(parts)} structures: on weights {best[0]:6.3f} s, "
        f"by rows {best[1]:6.3f} s, ratio {best[0] / best[1]:6.1f}, "
        f"weights differ by {np.abs(results[0] - results[1]).max():.0e}"
    )


if __name__ == "__main__":
    from_data("car", 2, 20)
    from_data("tic-tac-toe", 2, 5)
    from_data("tic-tac-toe", 2, 20)
    from_data("kr-vs-k", 1, 5)
    from_data("nursery", 2, 5)
    connect_4_shaped()
    soybean_shaped()
