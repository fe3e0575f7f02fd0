"""What a FedAnDE cell costs, and whether it is possible at all."""

import math
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np

from fedbayes.experiments.fedande_parameters import Parameters, setting
from fedbayes.grid import Cell

_SECONDS = {
    # a fold; and for each structure: a client, a training row, a client's tables, a client's tested row
    ("generative", "federated"): (1e-2, 0.7e-5, 0.4e-9, 0.4e-8, 0.0),
    ("generative", "centralised"): (1e-2, 0.7e-5, 0.4e-9, 0.4e-8, 0.0),
    ("generative", "local"): (0.5e-2, 6e-5, 5e-9, 1.1e-7, 2.3e-9),
    ("discriminative", "federated"): (1e-2, 12e-5, 45e-9, 0.0, 8e-9),
    ("discriminative", "newton"): (1e-2, 0.0, 120e-9, 8e-7, 24e-9),
    ("discriminative", "lbfgs"): (1e-2, 3e-5, 150e-9, 0.0, 8e-9),
}
"""Fitted to times of n = 0, 1, 2 on the paper's data sets, mostly right within a factor of two.

A row and a client's tables count for each attribute and class, a tested row for each class.
"""


def cost(cell: Cell, shape: tuple[int, int, int], parameters: Parameters) -> float:
    """Rough seconds of one fold of a cell on one core."""
    rows, attributes, classes = shape
    if cell.learner == "logistic":
        passes = (
            setting(cell, "rounds") * setting(cell, "local_steps") * 4 if cell.regime == "federated" else 200
        )
        return 0.03 + 1e-9 * passes * rows * attributes * classes
    limit = setting(cell, "max_structures")
    structures = comb(attributes, cell.n) if limit is None else min(limit, comb(attributes, cell.n))
    kind, effort = cell.regime, 1.0
    if cell.learner == "discriminative" and cell.regime == "federated":
        effort = setting(cell, "rounds") * setting(cell, "local_steps") / 50
    elif cell.learner == "discriminative":
        kind = setting(cell, "local_solver")
        if kind == "lbfgs":
            effort = min(setting(cell, "local_max_iterations"), 3000) / 1000  # few go on much longer
    fold, client, row, table, test = _SECONDS[cell.learner, kind]
    numbers = max(1, attributes - cell.n) * max(2, classes)
    trained = client * cell.clients + row * rows * numbers + table * cell.clients * numbers
    return fold + structures * (effort * trained + test * rows * cell.clients * max(2, classes))


def skip_reason(cell: Cell, dataset: Any, parameters: Parameters) -> str:
    """Why a cell is impossible for a data set, or an empty string."""
    rows, attributes = dataset.X.shape
    if cell.n is not None and cell.n >= attributes:
        return f"n={cell.n} needs more than {cell.n} attributes and {cell.dataset} has {attributes}"
    if rows < parameters.folds:
        return f"{rows} rows are fewer than {parameters.folds} folds"
    largest = int(np.bincount(dataset.y).max())
    if largest < parameters.folds:
        return f"no class has a row for each of {parameters.folds} folds (the largest has {largest})"
    training = rows - math.ceil(rows / parameters.folds)
    if training < cell.clients:
        return f"{training} training rows are fewer than {cell.clients} clients"
    shape = (dataset.cardinalities, len(dataset.class_names), rows, parameters.folds)
    stages = max(parameters.rounds) if parameters.record_rounds else 1
    variants = max(3, 2 + len(parameters.rounds) * len(parameters.local_steps) * stages)
    need = _gibibytes(cell.n, cell.clients, *shape, setting(cell, "max_structures"), variants)
    if need > parameters.memory_limit:
        return (
            f"{'logistic' if cell.n is None else f'n={cell.n}'} with {cell.clients} clients needs {need:.3g} GiB of tables and posteriors, more than "
            f"memory_limit={parameters.memory_limit:g}; raise memory_limit or lower n"
        )
    return ""


@lru_cache(maxsize=4096)
def _gibibytes(
    n: int | None,
    clients: int,
    cardinalities: tuple[int, ...],
    classes: int,
    rows: int,
    folds: int,
    structures: int | None,
    variants: int,
) -> float:
    from fedbayes.models.engine.counting import peak_bytes

    posteriors = 2 * 8 * variants * clients * math.ceil(rows / folds) * classes  # each twice
    if n is None:
        tables = 16 * rows * len(cardinalities)  # one-hot rows
    else:
        tables = peak_bytes(n, cardinalities, classes, rows=rows, clients=clients, structures=structures)
    return (tables + posteriors) / 2**30
