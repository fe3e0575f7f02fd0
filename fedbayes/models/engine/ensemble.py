"""Clients' models over all structures, one structure at a time.

The rows of a structure are sorted and counted once for all variants that are asked for; its weights are
trained, its posteriors added up, and everything about it is forgotten before the next one. So memory does not
grow with the number of structures.
"""

import itertools
import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np

from fedbayes.models.engine import posteriors
from fedbayes.models.engine.clients import Clients, TrainingRows, prepare_clients
from fedbayes.models.engine.layout import make_structure
from fedbayes.models.engine.scoring import prepare_rows, sort_rows
from fedbayes.models.engine.training import federate, local_bounds, train_locally

_CHUNK = 32  # structures whose posteriors are added up together: the same sums for any number of threads


@dataclass(frozen=True)
class Variant:
    """One way to make models of the clients' data.

    Attributes
    ----------
    kind : {"generative", "federated", "local"}
        Each client's own counts with weights of 1; weights trained in federated rounds; weights trained by
        each client alone.
    rounds, local_steps : int
        Of federated training.
    solver : {"lbfgs", "newton"}
        Of local training.
    max_iterations : int
        Limit of the local solver ``lbfgs``.
    every_round : bool
        Also test the weights that federated training has after each round.
    """

    kind: str
    rounds: int = 10
    local_steps: int = 5
    solver: str = "lbfgs"
    max_iterations: int = 15000
    every_round: bool = False

    def __post_init__(self):
        if self.kind not in ("generative", "federated", "local"):
            raise ValueError(f"kind={self.kind!r}: one of generative, federated, local is needed")
        if self.solver not in ("lbfgs", "newton"):
            raise ValueError(f"solver={self.solver!r}: one of lbfgs, newton is needed")

    @property
    def stages(self) -> int:
        """How many sets of posteriors it has: one for each round, or the last one alone."""
        return self.rounds if self.every_round and self.kind == "federated" else 1


@dataclass(frozen=True)
class Outcome:
    """What a variant came to.

    Attributes
    ----------
    posteriors : ndarray (clients, test rows, classes)
        Each client's posterior, averaged over structures.
    iterations, evaluations : float
        Of the optimiser, summed over rounds, mean over clients and structures; evaluations are 0 for Newton.
    fit_seconds, predict_seconds : float
        Training (with sorting and counting, also where that was shared with other variants) and scoring.
    rounds : tuple of Outcome
        After each round, where every round was asked for; iterations and seconds are those of the round.
    separable : float
        Of local training by Newton's method: the share of fits (a client and a structure) whose optimum tells
        the classes of all the client's rows apart, so that the likelihood alone has none. Else nan.
    """

    posteriors: np.ndarray
    iterations: float
    evaluations: float
    fit_seconds: float
    predict_seconds: float
    rounds: "tuple[Outcome, ...]" = ()
    separable: float = math.nan


def discriminative_parameters(
    n: int,
    cardinalities: Sequence[int],
    n_classes: int,
    structures: Sequence[tuple[int, ...]] | None = None,
) -> int:
    """Weights of one client's model over all structures: w0 and wP per class, w_j per class and cell."""
    d = len(cardinalities)
    if structures is not None:
        sizes = [math.prod(int(cardinalities[p]) for p in parents) for parents in structures]
        return n_classes * sum(2 + size * (d - n) for size in sizes)
    cells = [1] + [0] * n  # elementary symmetric sums: cells of all structures of each size
    for cardinality in cardinalities:
        for k in range(n, 0, -1):
            cells[k] += int(cardinality) * cells[k - 1]
    return n_classes * (2 * math.comb(d, n) + cells[n] * (d - n))


def evaluate_structures(
    clients: Sequence[tuple[np.ndarray, np.ndarray]],
    cardinalities: Sequence[int],
    n_classes: int,
    X_test: np.ndarray,
    *,
    n: int,
    smoothing: float = 1.0,
    variants: Sequence[Variant],
    structures: Sequence[tuple[int, ...]] | None = None,
    threads: int = 1,
) -> list[Outcome]:
    """Train and test several variants of the clients' models.

    Parameters
    ----------
    clients : sequence of (X, y)
        Integer codes (rows, attributes) and class indices (rows,), all inside their domains; a client may
        have no rows.
    cardinalities : sequence of int
        Domain sizes.
    n_classes : int
        Number of classes.
    X_test : ndarray (rows, attributes) of int
        Rows to predict, inside the domains, for every client's model.
    n : int
        Number of superparents.
    smoothing : float
        Added to every count of every table.
    variants : sequence of Variant
        What to train; sorting and counting are shared.
    structures : sequence of tuple of int, optional
        Sets of superparents to average over; by default all of them.
    threads : int
        Threads that share the structures; the results do not depend on it.

    Returns
    -------
    list of Outcome
        In the order of ``variants``.
    """
    rows = TrainingRows(clients, smoothing)
    test = prepare_rows(X_test, np.asarray(cardinalities, np.int64))
    count = math.comb(len(cardinalities), n) if structures is None else len(structures)
    queue = iter(itertools.combinations(range(len(cardinalities)), n) if structures is None else structures)
    chunks = iter(lambda: list(itertools.islice(queue, _CHUNK)), [])
    first_stage = np.cumsum([0] + [variant.stages for variant in variants]).tolist()
    shape = (first_stage[-1], len(clients), len(X_test), n_classes)

    def work(chunk):
        sums = np.zeros(shape)
        measured = np.zeros((len(sums), 5))  # iterations, evaluations, separable fits, both seconds
        for parents in chunk:
            structure = make_structure(parents, cardinalities, n_classes)
            _evaluate_structure(rows, test, structure, variants, sums, measured)
        return sums, measured

    with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
        results = _in_order(pool, work, chunks, threads + 1) if pool else map(work, chunks)
        total, measured = next(results)
        for sums, part in results:
            total += sums
            measured += part
    total /= count
    filled = max(1, sum(len(y) > 0 for _, y in clients))
    share = np.array([count * len(clients)] * 2 + [count * filled, 1, 1])
    outcomes = []
    for variant, low, high in zip(variants, first_stage, first_stage[1:], strict=False):
        stages = [_outcome(variant, total[s], measured[s] / share) for s in range(low, high)]
        iterations, evaluations, _, fit_seconds, _ = (measured[low:high].sum(axis=0) / share).tolist()
        last = replace(stages[-1], iterations=iterations, evaluations=evaluations, fit_seconds=fit_seconds)
        outcomes.append(replace(last, rounds=tuple(stages)) if variant.every_round else last)
    return outcomes


def _outcome(variant, posteriors, measured):
    iterations, evaluations, separable, fit_seconds, predict_seconds = measured.tolist()
    if variant.kind != "local" or variant.solver != "newton":
        separable = math.nan
    return Outcome(posteriors, iterations, evaluations, fit_seconds, predict_seconds, separable=separable)


def _in_order(pool, work, items, ahead):
    """Results in the order of the items, at most ``ahead`` of them in memory."""
    waiting = [pool.submit(work, item) for item in itertools.islice(items, ahead)]
    while waiting:
        yield waiting.pop(0).result()
        waiting.extend(pool.submit(work, item) for item in itertools.islice(items, 1))


def _evaluate_structure(rows, test, structure, variants, sums, measured):
    clock = time.perf_counter
    begin = clock()
    clients = prepare_clients(rows, structure)
    prepared = clock() - begin
    begin = clock()
    cells, starts, order = sort_rows(test, structure)
    sorted_test = clock() - begin
    stage = 0
    for variant in variants:
        begin = clock() - prepared  # sorting and counting belong to the first stage
        for kind, weights, *counts in _train(clients, variant):
            trained = clock()
            posteriors.add_client_posteriors(
                clients, structure, kind, weights, test, cells, starts, order,
                sums[stage],
            )  # fmt: skip
            scored = clock()
            measured[stage] += (
                *counts,
                trained - begin,
                sorted_test + scored - trained,
            )
            begin, stage = scored, stage + 1


def _train(clients, variant):
    """For each stage: kind of weights, weights; iterations, evaluations, separable fits of all clients together."""
    if variant.kind == "generative":
        yield posteriors.UNWEIGHTED, np.ones(0), 0, 0, 0
    elif variant.kind == "federated":
        weights = None
        for _ in range(variant.stages):
            weights, iterations, evaluations = federate(
                clients, variant.rounds // variant.stages, variant.local_steps, weights
            )
            yield posteriors.GLOBAL, weights, iterations.sum(), evaluations.sum(), 0
    elif variant.solver == "newton":
        weights, iterations, separable = train_by_newton(clients)
        yield posteriors.LOCAL, weights, iterations, 0, separable
    else:
        weights, iterations, evaluations = train_locally(clients, variant.max_iterations)
        yield posteriors.LOCAL, weights, iterations.sum(), evaluations.sum(), 0


def train_by_newton(clients: Clients) -> tuple[np.ndarray, int, int]:
    """Each client's own optimum by Newton's method: weights, iterations and separable fits, clients together.

    A fit is separable where the optimum gives every row of the client more than half of the probability, which
    a negative log-likelihood below log 2 proves: then larger weights in the same direction explain the rows
    better still, without end.
    """
    from fedbayes.models.engine import newton

    bounds = local_bounds(clients)
    weights, total, separable = np.ones(bounds[-1]), 0, 0
    for c in range(len(clients)):
        rows, tables = clients.view(c)
        if len(rows.y):
            own, iterations, objective = newton.solve(rows, tables, clients.structure)
            weights[bounds[c] : bounds[c + 1]] = own
            total += int(iterations)
            separable += objective < math.log(2)
    return weights, total, separable
