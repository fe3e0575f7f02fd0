"""One fold of the FedAnDE cells that share data, clients and n: split, deal, train, predict, measure."""

import math
import time
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from fedbayes import evaluation, partition
from fedbayes.data.dataset import CategoricalDataset
from fedbayes.experiments import fedande
from fedbayes.federated.counts import generative_parameters, generative_posteriors
from fedbayes.grid import Cell
from fedbayes.models.engine.ensemble import Variant, discriminative_parameters, evaluate_structures
from fedbayes.randomness import generator

BYTES_PER_NUMBER = 8


def split(y: np.ndarray, folds: int, fold: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the training and the test part of one fold, both ascending."""
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        parts = list(splitter.split(np.zeros(len(y)), y))
    return parts[fold]


def deal(y: np.ndarray, name: str, clients: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Deal training rows to clients by the partition named (``stratified``, ``iid``, ``dirichlet-ALPHA``)."""
    if name.startswith("dirichlet-"):
        return partition.dirichlet_by_class(y, clients, float(name.removeprefix("dirichlet-")), rng)[0]
    return {"stratified": partition.stratified, "iid": partition.iid}[name](y, clients, rng)


def run_fold(
    cells: Sequence[Cell], fold: int, dataset: CategoricalDataset, parameters: fedande.Parameters
) -> list[dict[str, Any]]:
    """Compute one fold of cells that differ in learner, regime and epsilon alone.

    Parameters
    ----------
    cells
        Cells of one (data set, seed, partition, clients, n).
    fold
        Which fold is tested, from 0.
    dataset
        The data set, cleaned.
    parameters
        Settings shared by the cells.

    Returns
    -------
    list of dict
        One row per cell with every column of the runs table.
    """
    first = cells[0]
    n_classes = len(dataset.class_names)
    _compile(n_classes, tuple(dict.fromkeys(_variant(cell, parameters) for cell in cells)))
    train, test = split(dataset.y, parameters.folds, fold, first.seed)
    X_train, y_train = dataset.X[train], dataset.y[train]
    X_test, y_test = dataset.X[test], dataset.y[test]
    if first.partition == "none":
        owned = [np.arange(len(train))]
    else:
        rng = generator(first.seed, "clients", fold, first.clients)
        owned = deal(y_train, first.partition, first.clients, rng)
    clients = [(X_train[rows], y_train[rows]) for rows in owned]

    variants = {cell: _variant(cell, parameters) for cell in cells}
    streamed = {cell: variant for cell, variant in variants.items() if variant is not None}
    outcomes = {}
    if streamed:
        results = evaluate_structures(
            clients,
            dataset.cardinalities,
            n_classes,
            X_test,
            n=first.n,
            smoothing=parameters.smoothing,
            variants=list(streamed.values()),
        )
        outcomes = dict(zip(streamed, results, strict=True))

    rows = []
    for cell in cells:
        row = fedande.describe(cell, str(fold), dataset) | {"status": "done", "message": ""}
        if cell in outcomes:
            outcome = outcomes[cell]
            measured = _mean_over_clients(y_test, outcome.posteriors, n_classes)
            row |= {
                "iterations": outcome.iterations if cell.learner == "discriminative" else None,
                "fit_seconds": outcome.fit_seconds,
                "predict_seconds": outcome.predict_seconds,
            }
        else:
            started = time.perf_counter()
            posterior, predict_seconds = generative_posteriors(
                clients,
                dataset.cardinalities,
                n_classes,
                X_test,
                n=cell.n,
                epsilon=math.inf if cell.epsilon is None else cell.epsilon,
                smoothing=parameters.smoothing,
                rng=generator(cell.seed, "privacy noise", fold, cell.clients, cell.n),
            )
            elapsed = time.perf_counter() - started
            measured = _mean_over_clients(y_test, posterior[None], n_classes)
            row |= {"fit_seconds": elapsed - predict_seconds, "predict_seconds": predict_seconds}
        rows.append(row | measured | _communication(cell, dataset, parameters))
    return rows


@lru_cache(maxsize=64)
def _compile(n_classes: int, variants: tuple[Variant | None, ...]) -> None:
    """Compile what a fold needs on a few made-up rows, so that its seconds are those of the computation."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (40, 3)), np.arange(40) % n_classes
    shape = {"cardinalities": (2, 2, 2), "n_classes": n_classes, "n": 1}
    streamed = [variant for variant in variants if variant is not None]
    if streamed:
        evaluate_structures([(X, y), (X[:3], y[:3])], X_test=X, smoothing=1.0, variants=streamed, **shape)
    if None in variants:
        generative_posteriors([(X, y)], X=X, epsilon=1.0, rng=rng, **shape)


def _variant(cell: Cell, parameters: fedande.Parameters) -> Variant | None:
    """What the structure-by-structure engine is to do for a cell; None: one generative model for all."""
    if cell.learner == "generative":
        return Variant("generative") if cell.regime == "local" else None
    if cell.regime == "federated":
        return Variant("federated", rounds=parameters.rounds, local_steps=parameters.local_steps)
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


def _communication(cell: Cell, dataset: CategoricalDataset, parameters: fedande.Parameters) -> dict[str, Any]:
    """Numbers in one client's model and the bytes that travel.

    A generative model is its tables of counts, sent once and returned once as the fused tables; a
    discriminative one is its weights, sent and returned in every round.
    """
    shape = (cell.n, dataset.cardinalities, len(dataset.class_names))
    discriminative = cell.learner == "discriminative"
    numbers = discriminative_parameters(*shape) if discriminative else generative_parameters(*shape)
    rounds = None
    travelling = 0
    if cell.regime == "federated":
        rounds = parameters.rounds if discriminative else 1
        travelling = BYTES_PER_NUMBER * numbers * cell.clients * rounds
    return {"parameters": numbers, "bytes_up": travelling, "bytes_down": travelling, "rounds": rounds}
