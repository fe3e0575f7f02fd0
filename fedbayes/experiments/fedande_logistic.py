"""One fold of the logistic-regression cells: local, federated and centralised."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from fedbayes.data.dataset import CategoricalDataset
from fedbayes.experiments.fedande_parameters import BYTES_PER_NUMBER, setting
from fedbayes.federated.logistic import average_coefficients
from fedbayes.grid import Cell
from fedbayes.models import logistic


def logistic_outcome(
    cell: Cell,
    clients: Sequence[tuple[np.ndarray, np.ndarray]],
    dataset: CategoricalDataset,
    X_test: np.ndarray,
) -> tuple[np.ndarray, dict[str, Any]]:
    """Train and test one cell.

    Parameters
    ----------
    cell : Cell
        With learner ``logistic``.
    clients : sequence of (X, y)
        Training rows of each client.
    dataset : CategoricalDataset
        For its domains and classes.
    X_test : ndarray (rows, d)
        Rows to predict.

    Returns
    -------
    posteriors : ndarray (models, rows, classes)
        One model per client, or one for all in the regimes that share it.
    columns : dict
        What else stands in the cell's row.
    """
    n_classes, cardinalities = len(dataset.class_names), dataset.cardinalities
    started = time.perf_counter()
    designs = [(logistic.one_hot(X, cardinalities), y) for X, y in clients]
    rounds, travelling = None, 0
    numbers = logistic.coefficient_count(cardinalities, n_classes)
    if cell.regime == "federated":
        rounds = setting(cell, "rounds")
        model, iterations = average_coefficients(
            designs, n_classes, rounds=rounds, local_steps=setting(cell, "local_steps")
        )
        models, travelling = [model], BYTES_PER_NUMBER * numbers * len(clients) * rounds
    else:
        start = logistic.zero_coefficients(sum(cardinalities), n_classes)
        fitted = [logistic.fit(design, y, start) for design, y in designs]
        models, iterations = [model for model, _ in fitted], float(np.mean([steps for _, steps in fitted]))
    trained = time.perf_counter()
    test = logistic.one_hot(X_test, cardinalities)
    posteriors = np.array([model.posterior(test) for model in models])
    return posteriors, {
        "iterations": iterations,
        "fit_seconds": trained - started,
        "predict_seconds": time.perf_counter() - trained,
        "parameters": numbers,
        "bytes_up": travelling,
        "bytes_down": travelling,
        "rounds": rounds,
    }
