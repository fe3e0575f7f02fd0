"""FedAnDE: the grid of "Federated Learning of AnDE Classifiers", section 4, and the computation of its cells."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from fedbayes.errors import ConfigurationError
from fedbayes.experiments.fedande_cost import cost, skip_reason
from fedbayes.experiments.fedande_parameters import (
    KEYS,
    SCIPY_MAX_ITERATIONS,
    Parameters,
    acting_settings,
    data_options,
    parse,
    setting,
)
from fedbayes.experiments.fedande_rows import ROUNDS, RUNS, TABLES, describe
from fedbayes.grid import Cell, Task

__all__ = [
    "KEYS", "NAME", "RECORDING", "ROUNDS", "RUNS", "TABLES", "Parameters", "cells", "check_specifications", "data_options", "describe", "notes", "parse",
    "parts", "run", "setting", "skip_reason", "tasks",
]  # fmt: skip

NAME = "fedande"
RECORDING = ("record_rounds",)


def check_specifications(parameters: Parameters, specifications: Mapping[str, Any]) -> None:
    """Refuse data sets that are not categorical, and an n that no data set chosen has the attributes for.

    Raises
    ------
    ConfigurationError
        Naming the data set or the n.
    """
    for name, specification in specifications.items():
        if specification.kind != "categorical":
            raise ConfigurationError(
                f"dataset={name!r} is not allowed: the FedAnDE experiment takes categorical data sets"
            )
    known = [specification.attributes for specification in specifications.values()]
    if None in known:
        return  # a user's own file may not say; its cells are then skipped one by one
    for n in parameters.n:
        if n >= max(known):
            raise ConfigurationError(
                f"n={n} is not allowed: it must be below the number of attributes, and no data set chosen has "
                f"more than {max(known)}"
            )


def cells(parameters: Parameters, specifications: Mapping[str, Any]) -> Iterator[Cell]:
    """Enumerate the grid, cheap data sets and small n first where the caller orders them so."""
    partitions = [
        name if name != "dirichlet" else f"dirichlet-{alpha!r}"
        for name in parameters.partition
        for alpha in (parameters.alpha if name == "dirichlet" else (None,))
    ]
    orders: dict[int | None, list[str]] = {
        n: [learner for learner in parameters.learner if learner != "logistic"] for n in parameters.n
    }
    if "logistic" in parameters.learner:
        orders[None] = ["logistic"]
    missing = {name: data_options(parameters, entry)["missing"] for name, entry in specifications.items()}
    kinds = {
        (n, treatment): [
            (learner, regime, acting_settings(parameters, learner, regime, n, treatment))
            for learner in learners
            for regime in parameters.regime
        ]
        for n, learners in orders.items()
        for treatment in set(missing.values())
    }
    for seed, dataset, n in itertools.product(parameters.seeds, specifications, orders):
        for partition, clients in itertools.product(partitions, parameters.clients):
            for learner, regime, combinations in kinds[n, missing[dataset]]:
                noisy = learner == "generative" and regime == "federated"
                central = regime == "centralised"
                for epsilon in parameters.epsilon if noisy else (None,):
                    for settings in combinations:
                        yield Cell(
                            experiment=NAME,
                            dataset=dataset,
                            clients=1 if central else clients,  # a centralised model does not know clients
                            seed=seed,
                            partition="none" if central else partition,
                            n=n,
                            learner=learner,
                            regime=regime,
                            protocol=parameters.protocol,
                            epsilon=epsilon,
                            settings=settings,
                        )


def parts(cell: Cell, parameters: Parameters) -> tuple[str, ...]:
    """Sub-keys of a cell's rows: the numbers of the folds that are computed."""
    return _fold_names(parameters.folds, parameters.fold)


@lru_cache
def _fold_names(folds: int, chosen: tuple[int, ...] | None) -> tuple[str, ...]:
    return tuple(str(fold) for fold in range(folds) if chosen is None or fold in chosen)


def notes(parameters: Parameters, datasets: Mapping[str, Any]) -> list[str]:
    """What the run leaves unheeded."""
    acts = "discriminative" in parameters.learner and {"local", "centralised"} & set(parameters.regime)
    capped = parameters.local_max_iterations != SCIPY_MAX_ITERATIONS
    if acts and capped and parameters.local_solver == "newton":
        return [
            f"local_max_iterations={parameters.local_max_iterations} caps local_solver=lbfgs alone; newton, as chosen "
            "here, goes on until it has converged"
        ]
    return []


def _choice(cell: Cell) -> tuple[int | None, str]:
    """Which structures a cell is computed on; cells of a task share them."""
    return setting(cell, "max_structures"), setting(cell, "structure_choice")


def tasks(
    wanted: Sequence[tuple[Cell, tuple[str, ...]]], parameters: Parameters, shapes: Mapping[str, tuple]
) -> list[Task]:
    """Group the wanted (cell, folds) into tasks: one fold of the cells that share data and clients.

    Parameters
    ----------
    shapes
        Per data set (rows, attributes, classes), for the cost; unknown ones may be missing.
    """
    groups: dict[tuple, list[Cell]] = {}
    for cell, folds in wanted:
        common = (cell.seed, cell.dataset, cell.n, cell.partition, cell.clients, _choice(cell))
        for fold in folds:
            groups.setdefault((*common, fold), []).append(cell)
    result = []
    for (seed, dataset, n, partition, clients, choice, fold), members in groups.items():
        result.append(
            Task(
                experiment=NAME,
                dataset=dataset,
                cells=tuple(members),
                parts=(fold,),
                parameters=parameters,
                cost=sum(cost(cell, shapes.get(dataset, (1000, 10, 2)), parameters) for cell in members),
                label=f"{dataset} {'logistic' if n is None else f'n={n}'} clients={clients} seed={seed} fold={fold}"
                + (f" {partition}" if partition != "stratified" else "")
                + (f" {choice[1]} {choice[0]}" if choice[0] else ""),
            )
        )
    return result


def run(task: Task, dataset: Any) -> dict[str, list[dict[str, Any]]]:
    """Compute one task.

    Returns
    -------
    dict
        Rows by table name; every cell of the task has one row in ``runs``. The rows of ``rounds`` come first,
        so that they are there wherever the cell's row is.
    """
    from fedbayes.experiments.fedande_fold import run_fold  # the engine: only where something is computed

    return run_fold(task.cells, int(task.parts[0]), dataset, task.parameters, task.threads)
