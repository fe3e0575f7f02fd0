"""One fold of the FedAnDE cells that share data, clients and n: split, deal, train, predict, measure."""

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from fedbayes import evaluation
from fedbayes.data.dataset import CategoricalDataset
from fedbayes.experiments.fedande_logistic import logistic_outcome
from fedbayes.experiments.fedande_parameters import BYTES_PER_NUMBER, Parameters, setting
from fedbayes.experiments.fedande_rows import describe
from fedbayes.experiments.fedande_split import deal_rows, split_rows
from fedbayes.experiments.fedande_structures import Chooser, Chosen
from fedbayes.federated.counts import generative_parameters, generative_posteriors
from fedbayes.grid import Cell
from fedbayes.models.engine.ensemble import (
    Outcome,
    Variant,
    discriminative_parameters,
    evaluate_structures,
)
from fedbayes.models.engine.structure_choice import informative_structures
from fedbayes.randomness import generator


def run_fold(
    cells: Sequence[Cell],
    fold: int,
    dataset: CategoricalDataset,
    parameters: Parameters,
    threads: int = 1,
) -> dict[str, list[dict[str, Any]]]:
    """Compute one fold of cells that differ in learner, regime, epsilon, rounds and local steps alone.

    Parameters
    ----------
    cells
        Cells of one (data set, seed, partition, clients, n, choice of structures).
    fold
        Which fold is tested, from 0.
    dataset
        The data set, cleaned.
    parameters
        Settings shared by the cells.
    threads
        Threads that share the structures of a model.

    Returns
    -------
    dict
        ``runs``: one row per cell with every column of that table; ``rounds``: rows of the federated cells,
        where they are to be recorded.
    """
    first = cells[0]
    train, test = split_rows(dataset.y, parameters.folds, fold, first.seed)
    X_train, y_train = dataset.X[train], dataset.y[train]
    X_test, y_test = dataset.X[test], dataset.y[test]
    if first.partition == "none":
        owned = [np.arange(len(train))]
    else:
        rng = generator(first.seed, "clients", fold, first.clients)
        owned = deal_rows(y_train, first.partition, first.clients, rng)
    clients = [(X_train[rows], y_train[rows]) for rows in owned]
    if first.learner == "logistic":
        models = {cell: (*logistic_outcome(cell, clients, dataset, X_test), ()) for cell in cells}
    else:
        models = _bayesian_models(cells, fold, clients, dataset, X_test, parameters, threads)

    rows, rounds = [], []
    for cell, (posteriors, columns, stages) in models.items():
        identity = describe(cell, str(fold), dataset)
        measured = _mean_over_clients(y_test, posteriors, len(dataset.class_names))
        rows.append(identity | {"status": "done"} | measured | {"message": ""} | columns)
        if parameters.record_rounds:
            rounds += [
                identity | stage | _mean_over_clients(y_test, after, len(dataset.class_names))
                for after, stage in stages
            ]
    return {"rounds": rounds, "runs": rows}


def _bayesian_models(
    cells: Sequence[Cell],
    fold: int,
    clients: Sequence[tuple[np.ndarray, np.ndarray]],
    dataset: CategoricalDataset,
    X_test: np.ndarray,
    parameters: Parameters,
    threads: int,
) -> dict[Cell, tuple[np.ndarray, dict[str, Any], list]]:
    """Posteriors (models, rows, classes), columns and rounds of each cell; see :func:`_rounds`."""
    cardinalities, n_classes = dataset.cardinalities, len(dataset.class_names)
    variants = {cell: _variant(cell, parameters) for cell in cells}
    chooser = Chooser(cells[0], fold, clients, cardinalities, n_classes)
    # Clients of few rows per cell are trained by code of their own (row_space.choose_row_space, whose rule this only
    # approximates): a wrong guess puts compilation into the first fold's seconds, or makes it for nothing.
    sparse = min(len(y) for _, y in clients) < 1.2 * len(cardinalities) * max(cardinalities) ** cells[0].n
    streams = tuple(dict.fromkeys(variant for variant in variants.values() if variant is not None))
    pooled = [math.inf if cell.epsilon is None else cell.epsilon for cell in cells if variants[cell] is None]
    noisy = tuple(dict.fromkeys(map(math.isfinite, pooled)))
    _compile(n_classes, streams, noisy, chooser.way == "information", sparse)

    def evaluate(members: Sequence[Cell], clients: Sequence, chosen: Chosen) -> list[Outcome]:
        return evaluate_structures(
            clients,
            cardinalities,
            n_classes,
            X_test,
            n=cells[0].n,
            smoothing=parameters.smoothing,
            variants=[variants[cell] for cell in members],
            structures=chosen.structures,
            threads=threads,
        )

    outcomes: dict[Cell, tuple[Outcome, Chosen]] = {}
    streamed = [cell for cell in cells if variants[cell] is not None]
    together = [cell for cell in streamed if not chooser.alone(cell)]
    if together:
        chosen = chooser.common()
        outcomes |= {
            cell: (outcome, chosen)
            for cell, outcome in zip(together, evaluate(together, clients, chosen), strict=True)
        }
    apart = [cell for cell in streamed if chooser.alone(cell)]
    if apart:
        own = [chooser.own(client) for client in clients]
        alone = [evaluate(apart, [client], chosen) for client, chosen in zip(clients, own, strict=True)]
        largest = max(own, key=lambda chosen: _numbers(apart[0], dataset, chosen))
        spent = sum(chosen.seconds for chosen in own)
        for cell, results in zip(apart, zip(*alone, strict=True), strict=True):
            outcomes[cell] = _joined(results), replace(largest, seconds=spent)

    models = {}
    for cell in cells:
        if cell in outcomes:
            outcome, chosen = outcomes[cell]
            posteriors = outcome.posteriors
            columns = {
                "iterations": outcome.iterations if cell.learner == "discriminative" else None,
                "fit_seconds": outcome.fit_seconds + chosen.seconds,
                "predict_seconds": outcome.predict_seconds,
            }
            if not math.isnan(outcome.separable):
                columns["message"] = f"separable={outcome.separable:.4f}"
            stages = [(stage.posteriors, stage.fit_seconds) for stage in outcome.rounds]
        else:
            epsilon = math.inf if cell.epsilon is None else cell.epsilon
            chosen = chooser.common(epsilon)
            started = time.perf_counter()
            posterior, predict_seconds = generative_posteriors(
                clients,
                cardinalities,
                n_classes,
                X_test,
                n=cell.n,
                epsilon=epsilon,
                smoothing=parameters.smoothing,
                rng=generator(cell.seed, "privacy noise", fold, cell.clients, cell.n),
                structures=chosen.structures,
                also_released=chosen.sets,
            )
            fit_seconds = time.perf_counter() - started - predict_seconds
            posteriors = posterior[None]
            columns = {"fit_seconds": fit_seconds + chosen.seconds, "predict_seconds": predict_seconds}
            stages = [(posteriors, fit_seconds)]
        columns |= _communication(cell, dataset, chosen)
        models[cell] = posteriors, columns, _rounds(cell, dataset, chosen, stages)
    return models


def _joined(results: Sequence[Outcome]) -> Outcome:
    """Outcome of clients that were evaluated one by one."""
    return Outcome(
        np.concatenate([result.posteriors for result in results]),
        float(np.mean([result.iterations for result in results])),
        float(np.mean([result.evaluations for result in results])),
        sum(result.fit_seconds for result in results),
        sum(result.predict_seconds for result in results),
        separable=float(np.mean([result.separable for result in results])),
    )


def _rounds(
    cell: Cell, dataset: CategoricalDataset, chosen: Chosen, stages: Sequence[tuple[np.ndarray, float]]
) -> list[tuple[np.ndarray, dict[str, Any]]]:
    """Posteriors after each round of a federated cell, and what travelled and was spent in that round.

    What it took to agree on the structures counts as a part of the first round.
    """
    if cell.regime != "federated":
        return []
    numbers, up, down = _numbers(cell, dataset, chosen), *_agreement(cell, chosen)
    result = []
    for number, (posteriors, seconds) in enumerate(stages, start=1):
        initial = number == 1
        each_way = BYTES_PER_NUMBER * cell.clients * numbers
        result.append(
            (
                posteriors,
                {
                    "round": number,
                    "bytes_up": each_way + initial * up,
                    "bytes_down": each_way + initial * down,
                    "seconds": seconds + initial * chosen.seconds,
                },
            )
        )
    return result


@lru_cache(maxsize=64)
def _compile(
    n_classes: int, streamed: tuple[Variant, ...], noisy: tuple[bool, ...], information: bool, sparse: bool
) -> None:
    """Compile what a fold needs on a few made-up rows, so that its seconds are those of the computation."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (40, 3)), np.arange(40) % n_classes
    shape = {"cardinalities": (2, 2, 2), "n_classes": n_classes, "n": 1}
    few = 3 if sparse else 8
    small = [(X, y), (X[:few], y[:few])]
    steps = []
    if streamed:
        order = streamed if n_classes > 2 else streamed[::-1]
        steps.append(lambda: evaluate_structures(small, X_test=X, smoothing=1.0, variants=order, **shape))
    for noise in noisy:
        epsilon = 1.0 if noise else math.inf
        steps.append(partial(generative_posteriors, [(X, y)], X=X, epsilon=epsilon, rng=rng, **shape))
    if information:
        steps.append(lambda: informative_structures(X, y, count=1, **shape))
    # Workers that start together have different numbers of classes: they begin at different ends, so that each
    # finds in the cache what the other has compiled.
    for step in steps if n_classes > 2 else steps[::-1]:
        step()


def _variant(cell: Cell, parameters: Parameters) -> Variant | None:
    """What the structure-by-structure engine is to do for a cell; None: one generative model for all."""
    if cell.learner == "generative":
        return Variant("generative") if cell.regime == "local" else None
    if cell.regime == "federated":
        return Variant(
            "federated",
            rounds=setting(cell, "rounds"),
            local_steps=setting(cell, "local_steps"),
            every_round=parameters.record_rounds,
        )
    return Variant("local", solver=parameters.local_solver, max_iterations=parameters.local_max_iterations)


def _mean_over_clients(y: np.ndarray, posteriors: np.ndarray, n_classes: int) -> dict[str, Any]:
    """Unweighted means over clients' models; the spread is left empty where there is one model."""
    measured = []
    for posterior in posteriors:
        labels = evaluation.predict_labels(posterior)
        measured.append(
            (
                evaluation.accuracy(y, labels),
                evaluation.macro_f1(y, labels, n_classes),
                evaluation.log_loss(y, posterior),
            )
        )
    accuracy, macro_f1, log_loss = np.array(measured).mean(axis=0).tolist()
    spread = float(np.std([entry[0] for entry in measured])) if len(measured) > 1 else None
    return {"accuracy": accuracy, "macro_f1": macro_f1, "log_loss": log_loss, "accuracy_client_std": spread}


def _numbers(cell: Cell, dataset: CategoricalDataset, chosen: Chosen) -> int:
    """Numbers in one client's model: the tables of counts of a generative one, else the weights."""
    count = discriminative_parameters if cell.learner == "discriminative" else generative_parameters
    return count(cell.n, dataset.cardinalities, len(dataset.class_names), chosen.structures)


def _agreement(cell: Cell, chosen: Chosen) -> tuple[int, int]:
    """Bytes up and down, over all clients, of agreeing on the structures: counts to the server, sets back."""
    if not chosen.numbers:
        return 0, 0
    each = BYTES_PER_NUMBER * cell.clients
    return each * chosen.numbers, each * cell.n * len(chosen.structures)


def _communication(cell: Cell, dataset: CategoricalDataset, chosen: Chosen) -> dict[str, Any]:
    """Numbers in one client's model, the bytes that travel, and the rounds that this takes.

    A generative model is sent once and returned once as the fused tables; a discriminative one is sent and
    returned in every round. Agreeing on informative structures is one more round.
    """
    numbers = _numbers(cell, dataset, chosen)
    if cell.regime != "federated":
        return {"parameters": numbers, "bytes_up": 0, "bytes_down": 0, "rounds": None}
    rounds = setting(cell, "rounds") if cell.learner == "discriminative" else 1
    travelling = BYTES_PER_NUMBER * numbers * cell.clients * rounds
    up, down = _agreement(cell, chosen)
    return {
        "parameters": numbers,
        "bytes_up": travelling + up,
        "bytes_down": travelling + down,
        "rounds": rounds + bool(chosen.numbers),
    }
