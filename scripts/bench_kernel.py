"""One evaluation (objective and gradient) against plain compiled loops over rows, attributes and classes.

Both run in the same process, one thread, warm, taking turns; times are the best of several. Kr-vs-K and Nursery
are the real data (client 0 of a stratified deal, one structure), the others random rows of the same shape.
The last column sets the kernel against the arithmetic limit: the multiply-adds of the plain formula, 2 o (q + 2)
per row, at the peak rate of multiply-adds measured here; a kernel with tables can be below it, since it
tabulates the sums of groups of attributes instead of computing them row by row.

Run: python scripts/bench_kernel.py
"""

import time

import numpy as np
from numba import njit

from fedbayes import partition
from fedbayes.data import load_dataset
from fedbayes.models.engine import problem as fields
from fedbayes.models.engine import vector_arithmetic as va
from fedbayes.models.engine.clients import TrainingRows, prepare_clients
from fedbayes.models.engine.layout import make_structure
from fedbayes.models.engine.problem import evaluate


@njit(nogil=True)
def plain_loops(w, gradient, starts, codes, y, prior, parent, theta, o, scores):
    """The formula as it is written, with NumPy's exp and log."""
    width, q = prior.shape[0], codes.shape[1]
    gradient[:] = 0.0
    value = 0.0
    for k in range(starts.shape[0] - 1):
        first = (2 + k * q) * width
        for i in range(starts[k], starts[k + 1]):
            for c in range(o):
                scores[c] = w[c] * prior[c] + w[width + c] * parent[k, c]
            for j in range(q):
                for c in range(o):
                    scores[c] += w[first + j * width + c] * theta[k, codes[i, j], c]
            top = scores[0]
            for c in range(1, o):
                top = max(top, scores[c])
            value += top - scores[y[i]]
            total = 0.0
            for c in range(o):
                scores[c] = np.exp(scores[c] - top)
                total += scores[c]
            value += np.log(total)
            for c in range(o):
                scores[c] /= total
            scores[y[i]] -= 1.0
            for c in range(o):
                gradient[c] += scores[c] * prior[c]
                gradient[width + c] += scores[c] * parent[k, c]
            for j in range(q):
                for c in range(o):
                    gradient[first + j * width + c] += scores[c] * theta[k, codes[i, j], c]
    return value


@njit
def _multiply_adds(lanes, repeats):
    a, b, c, d = va.stack(lanes, 1, 0), va.stack(lanes, 1, 0), va.stack(lanes, 1, 0), va.stack(lanes, 1, 0)
    e, factor = va.stack(lanes, 1, 0), va.stack(lanes, 1, 0)
    va.fill(lanes, factor, 0.999)
    for x in (a, b, c, d, e):
        va.fill(lanes, x, 1.0)
    for _ in range(repeats):
        va.multiply_add(lanes, a, a, factor)
        va.multiply_add(lanes, b, b, factor)
        va.multiply_add(lanes, c, c, factor)
        va.multiply_add(lanes, d, d, factor)
        va.multiply_add(lanes, e, e, factor)
    return (
        (va.total(lanes, a) + va.total(lanes, b))
        + (va.total(lanes, c) + va.total(lanes, d))
        + va.total(lanes, e)
    )


def peak_rate():
    """Multiply-adds per nanosecond in independent chains of vectors."""
    lanes, repeats = va.lane_tuple(8), 200_000
    _multiply_adds(lanes, 1)
    return 5 * 8 * repeats / best((lambda: _multiply_adds(lanes, repeats),), 10)[0] / 1e9


def best(functions, rounds):
    """Shortest time of each function, taking turns."""
    shortest = [np.inf] * len(functions)
    for _ in range(rounds):
        for index, function in enumerate(functions):
            begin = time.perf_counter()
            function()
            shortest[index] = min(shortest[index], time.perf_counter() - begin)
    return shortest


def extended(w, rows, tables, o):
    """The same formula in extended precision."""
    width, q = len(tables.prior), rows.codes.shape[1]
    w = w.astype(np.longdouble)
    own = w[2 * width :].reshape(-1, q, width)[:, :, :o]
    gradient = np.zeros(len(w), np.longdouble)
    by_cell = gradient[2 * width :].reshape(-1, q, width)
    value = np.longdouble(0)
    for k in range(len(rows.cells)):
        here = slice(rows.starts[k], rows.starts[k + 1])
        theta = tables.theta[k][rows.codes[here]][:, :, :o].astype(np.longdouble)
        score = w[:o] * tables.prior[:o] + w[width : width + o] * tables.parent[k, :o]
        score = score + (own[k] * theta).sum(1)
        score -= score.max(1, keepdims=True)
        p = np.exp(score)
        total = p.sum(1, keepdims=True)
        labels = (np.arange(len(p)), rows.y[here])
        value += np.log(total).sum() - score[labels].sum()
        p /= total
        p[labels] -= 1
        gradient[:o] += p.sum(0) * tables.prior[:o]
        gradient[width : width + o] += p.sum(0) * tables.parent[k, :o]
        by_cell[k, :, :o] += (p[:, None] * theta).sum(0)
    return value, gradient


def compare(name, X, y, cardinalities, o, rate, parents=(0, 1)):
    structure = make_structure(parents, cardinalities, o)
    clients = prepare_clients(TrainingRows([(X, y)], 1.0), structure)
    rows, tables = clients.view(0)
    rng = np.random.default_rng(0)
    w = 1 + 0.1 * rng.standard_normal(structure.weight_count(len(rows.cells)))
    w.reshape(-1, structure.lanes)[:, o:] = 1
    gradient, plain, scores = np.empty_like(w), np.empty_like(w), np.empty(o)
    arguments = (rows.starts, rows.codes, rows.y, tables.prior, tables.parent, tables.theta, o, scores)

    def kernel():
        return evaluate(clients.problems[0], w, gradient)

    def loops():
        return plain_loops(w, plain, *arguments)

    value, exact = kernel(), extended(w, rows, tables, o)
    loops()
    seconds = best((kernel, loops), max(5, int(2e5 / len(y))))
    own, theirs = (s / len(y) * 1e9 for s in seconds)
    error = max(
        abs(float(value / exact[0] - 1)), float(np.abs(gradient - exact[1]).max() / np.abs(exact[1]).max())
    )
    groups = clients.problems[0, fields.GROUPS]
    limit = 2 * o * (len(structure.others) + 2) / rate
    print(
        f"{name:26} {len(y) / len(rows.cells):7.0f} {len(structure.others):5} {o:3}  "
        f"{f'joint, {groups} groups' if groups else 'span':17} {own:7.1f} {theirs:7.1f} {theirs / own:6.1f}  "
        f"{error:.0e} {own / limit:8.1f}"
    )


def random_rows(rows, cardinalities, o):
    """Rows of attributes that hang together through a hidden group, and a class that depends on it."""
    rng = np.random.default_rng(1)
    hidden = rng.integers(0, 2 * o, rows)
    X = np.empty((rows, len(cardinalities)), np.int32)
    for j, r in enumerate(cardinalities):
        likely = rng.dirichlet(np.full(r, 0.7), 2 * o).cumsum(-1)[:, :-1]
        X[:, j] = (rng.random((rows, 1)) > likely[hidden]).sum(-1)
    return X, ((hidden + (rng.random(rows) < 0.2)) % o).astype(np.int32)


def real_rows(name, clients):
    dataset = load_dataset(name)
    own = partition.stratified(dataset.y, clients, np.random.default_rng(42))[0]
    own = own[: int(0.8 * len(own))]  # as many as a client has in one of five folds
    return dataset.X[own], dataset.y[own], dataset.cardinalities, len(dataset.class_names)


if __name__ == "__main__":
    rate = peak_rate()
    print(f"peak: {rate:.1f} multiply-adds per ns; times in ns per row; error against extended precision\n")
    print(
        f"{'':26} {'rows/':>7} {'other':>5} {'':3}  {'':17} {'':>7} {'plain':>7} {'':6}  {'':5} {'x arith.':>8}"
    )
    print(
        f"{'n = 2':26} {'cell':>7} {'attr.':>5} {'o':>3}  {'kernel':17} {'kernel':>7} {'loops':>7} {'ratio':>6}  "
        f"{'error':5} {'limit':>8}"
    )
    for clients, rows in ((5, 10_809), (100, 540)):
        shape = [3] * 42
        compare(f"Connect-4-shaped C={clients}", *random_rows(rows, shape, 3), shape, 3, rate)
    for clients in (5, 100):
        compare(f"Kr-vs-K C={clients}", *real_rows("kr-vs-k", clients), rate, parents=(2, 3))
    shape = [2] * 22 + [3] * 8
    compare("Phishing-shaped C=5", *random_rows(1769, shape, 2), shape, 2, rate)
    compare("Nursery C=5", *real_rows("nursery", 5), rate)
    shape = [4] * 60
    compare("Splice-shaped C=5", *random_rows(510, shape, 3), shape, 3, rate)
