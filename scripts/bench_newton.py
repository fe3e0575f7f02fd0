"""The converged local model: Newton's method against L-BFGS with 15,000 iterations, on the same structures.

One client of five (a training fold of the data set, dealt by class), one thread, compiled code warm; seconds are
processor time. Per data set: time and iterations of both, their ratio, by how much Newton's objective (without its
penalty) is above that of L-BFGS at worst (negative: below), and the largest difference in any posterior of the
test fold between Newton from w = 1 and from a random start.

    python scripts/bench_newton.py [--data-dir DIR] [--dataset NAME ...] [--iterations 15000]
"""

import argparse
import time

import numpy as np
from sklearn.model_selection import StratifiedKFold

from fedbayes import partition
from fedbayes.data import load_dataset
from fedbayes.errors import DataUnavailable
from fedbayes.models.engine.clients import TrainingRows, prepare_clients
from fedbayes.models.engine.layout import cell_index, make_structure
from fedbayes.models.engine.newton import solve
from fedbayes.models.engine.training import train_locally

CASES = {
    # structures, and how many times faster Newton has to be
    "nursery": ([(0, 1), (2, 7), (4, 5)], 20),
    "kr-vs-k": ([(0, 1), (2, 5), (1, 4)], 20),
    "phishing": ([(3, 10), (7, 13)], None),
    "connect-4": ([(0, 6), (7, 20)], None),
}
CLIENTS = 5


def objective(weights, rows, tables, structure):
    """Negative conditional log-likelihood of the sorted rows, by NumPy."""
    scores = scores_of(
        weights, rows.codes, np.repeat(np.arange(len(rows.cells)), np.diff(rows.starts)), tables, structure
    )
    margins = scores - scores[np.arange(len(rows.y)), rows.y][:, None]
    top = margins.max(axis=1)
    return float((top + np.log(np.exp(margins - top[:, None]).sum(axis=1))).sum())


def scores_of(weights, codes, cell, tables, structure):
    """Scores (rows, classes) of rows in occupied cells."""
    o, lanes = structure.classes, structure.lanes
    shared = weights[: 2 * lanes].reshape(2, lanes)
    own = weights[2 * lanes :].reshape(-1, len(structure.others), lanes)
    scores = (shared[0] * tables.prior + shared[1] * tables.parent[cell])[:, :o]
    for j in range(len(structure.others)):
        scores = scores + (own[cell, j] * tables.theta[cell, codes[:, j]])[:, :o]
    return scores


def test_posteriors(weights, X, clients, rows, tables):
    """Posteriors of the test rows whose cell the client has rows in."""
    structure = clients.structure
    cell = cell_index(X, structure.parents, clients_cardinalities(X, structure))
    known = np.isin(cell, rows.cells)
    codes = X[known][:, structure.others] + structure.offsets
    scores = scores_of(weights, codes, np.searchsorted(rows.cells, cell[known]), tables, structure)
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


def clients_cardinalities(X, structure):
    """Cardinalities of all attributes, put together again from the structure's."""
    cardinalities = np.empty(X.shape[1], np.int64)
    cardinalities[list(structure.parents)] = structure.parent_cardinalities
    cardinalities[structure.others] = structure.cardinalities
    return cardinalities


def timed(function, *arguments, repeat=1):
    """Result and the least processor time of a few calls."""
    best = np.inf
    for _ in range(repeat):
        started = time.process_time()
        result = function(*arguments)
        best = min(best, time.process_time() - started)
    return result, best


def compare(dataset, structures, iterations):
    """Measure one data set; return the line's numbers."""
    rng = np.random.default_rng(42)
    folds = StratifiedKFold(5, shuffle=True, random_state=42)
    train, test = next(folds.split(dataset.X, dataset.y))
    train = train[partition.stratified(dataset.y[train], CLIENTS, rng)[0]]
    training = TrainingRows([(dataset.X[train], dataset.y[train])], 1.0)
    total = np.zeros(4)
    excess, apart = -np.inf, 0.0
    for parents in structures:
        structure = make_structure(parents, dataset.cardinalities, len(dataset.class_names))
        clients = prepare_clients(training, structure)
        rows, tables = clients.view(0)
        (weights, newton_steps, _), newton_time = timed(solve, rows, tables, structure, repeat=3)
        (reference, steps, _), reference_time = timed(train_locally, clients, iterations)
        own, other = (objective(w, rows, tables, structure) for w in (weights, reference))
        excess = max(excess, (own - other) / max(other, 1.0))
        start = np.ones_like(weights)
        start[weights != 1.0] += 0.3 * rng.standard_normal((weights != 1.0).sum())
        again = solve(rows, tables, structure, start=start)[0]
        pair = [test_posteriors(w, dataset.X[test], clients, rows, tables) for w in (weights, again)]
        apart = max(apart, np.abs(pair[0] - pair[1]).max())
        total += newton_time, newton_steps, reference_time, steps.sum()
    return total / len(structures), excess, apart


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir")
    parser.add_argument("--dataset", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--iterations", type=int, default=15000)
    chosen = parser.parse_args()
    print("data set    newton ms  steps   lbfgs ms   steps  faster  goal   excess  starts apart", flush=True)
    for name in chosen.dataset:
        structures, goal = CASES[name]
        try:
            dataset = load_dataset(name, data_dir=chosen.data_dir)
        except DataUnavailable as error:
            print(f"{name:10s}  left out: {error}")
            continue
        compare(dataset, structures[:1], 2)  # warm
        (newton, newton_steps, lbfgs, steps), excess, apart = compare(dataset, structures, chosen.iterations)
        print(
            f"{name:10s} {newton * 1e3:10.1f} {newton_steps:6.1f} {lbfgs * 1e3:10.1f} {steps:7.0f} "
            f"{lbfgs / newton:7.1f}  {goal or '':>4} {excess:8.1e}  {apart:8.1e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
