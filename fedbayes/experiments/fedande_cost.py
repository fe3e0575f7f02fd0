"""What a FedAnDE cell costs, and whether it is possible at all."""

import math
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np

from fedbayes.experiments.fedande_parameters import Parameters, setting
from fedbayes.grid import Cell


def cost(cell: Cell, shape: tuple[int, int, int], parameters: Parameters) -> float:
    """Rough seconds of one fold of a cell on one core."""
    rows, attributes, classes = shape
    n = cell.n or 0
    limit = setting(cell, "max_structures")
    structures = comb(attributes, n) if limit is None else min(limit, comb(attributes, n))
    steps = setting(cell, "rounds") * setting(cell, "local_steps")
    passes = {
        ("generative", "federated"): 2.0,
        ("generative", "centralised"): 2.0,
        ("generative", "local"): 1.0 + cell.clients / 5,
        ("discriminative", "federated"): steps * 1.2 + cell.clients / 5,
        ("discriminative", "local"): 400.0 + cell.clients / 5,
        ("discriminative", "centralised"): 400.0,
        ("logistic", "federated"): steps * 4.0,
        ("logistic", "local"): 200.0,
        ("logistic", "centralised"): 200.0,
    }[cell.learner, cell.regime]
    row = 1e-9 * max(1, attributes - n) * max(2, classes)  # seconds per row and structure
    return 0.03 + structures * (passes * rows * row + 2e-5 * (1 + cell.clients))


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
