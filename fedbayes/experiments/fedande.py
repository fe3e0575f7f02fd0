"""FedAnDE: the grid of "Federated Learning of AnDE Classifiers", section 4, and the computation of its cells."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np

from fedbayes import config
from fedbayes.errors import ConfigurationError
from fedbayes.grid import Cell, Task
from fedbayes.store import Table

NAME = "fedande"

RUNS = Table(
    name="runs",
    columns=(
        "cell", "dataset", "rows", "attributes", "classes", "clients", "partition", "n", "learner", "regime",
        "protocol", "epsilon", "seed", "fold", "settings", "status", "accuracy", "macro_f1", "log_loss",
        "accuracy_client_std", "parameters", "bytes_up", "bytes_down", "rounds", "iterations", "fit_seconds",
        "predict_seconds", "message",
    ),
    key=("cell", "fold"),
    order=("dataset", "partition", "n", "clients", "learner", "regime", "epsilon", "settings", "seed", "fold"),
)  # fmt: skip
ROUNDS = Table(
    name="rounds",
    columns=(
        "cell", "dataset", "clients", "n", "learner", "regime", "epsilon", "seed", "fold", "round", "accuracy",
        "log_loss", "bytes_up", "bytes_down", "seconds",
    ),
    key=("cell", "fold", "round"),
    order=("dataset", "n", "clients", "learner", "epsilon", "seed", "cell", "fold", "round"),
)  # fmt: skip
TABLES = (RUNS, ROUNDS)

LEARNERS = ("generative", "discriminative", "logistic")
REGIMES = ("local", "federated", "centralised")
SOLVERS = ("newton", "lbfgs")
SCIPY_MAX_ITERATIONS = 15000
BYTES_PER_NUMBER = 8
PAPER = {
    "folds": 5, "missing": None, "smoothing": 1.0, "rounds": 10, "local_steps": 5, "local_solver": "lbfgs",
    "local_max_iterations": SCIPY_MAX_ITERATIONS, "max_structures": None, "structure_choice": "all",
}  # fmt: skip
"""The paper's settings (section 4): a difference from them is what the column ``settings`` names. "Without iteration
limits" is L-BFGS with scipy's own limit."""
CHOICES = ("all", "random", "information")
MOST_FOLDS = 10_000
"""Bound of the folds, each of which is a row of every cell."""


@dataclass(frozen=True)
class Parameters:
    """Checked values of the experiment: the axes of its grid and its settings.

    ``structures`` holds pairs of ``max_structures`` and ``structure_choice``.
    """

    clients: tuple[int, ...]
    n: tuple[int, ...]
    learner: tuple[str, ...]
    regime: tuple[str, ...]
    seeds: tuple[int, ...]
    partition: tuple[str, ...]
    epsilon: tuple[float, ...]
    alpha: tuple[float, ...] = (1.0,)
    protocol: str = "paper"
    folds: int = 5
    smoothing: float = 1.0
    missing: str | None = None
    rounds: tuple[int, ...] = (10,)
    local_steps: tuple[int, ...] = (5,)
    local_solver: str = "lbfgs"
    local_max_iterations: int = SCIPY_MAX_ITERATIONS
    structures: tuple[tuple[int | None, str], ...] = ((None, "all"),)
    record_rounds: bool = field(default=False, compare=False)
    fold: tuple[int, ...] | None = None
    memory_limit: float = field(default=4.0, compare=False)


KEYS = (
    "clients", "n", "learner", "regime", "seeds", "folds", "fold", "partition", "alpha", "protocol", "smoothing", "missing",
    "epsilon", "rounds", "local_steps", "local_solver", "local_max_iterations", "max_structures",
    "structure_choice", "record_rounds",
)  # fmt: skip


def parse(mapping: Mapping[str, Any], memory_limit: float) -> Parameters:
    """Check the experiment's keys of a composed configuration.

    Raises
    ------
    ConfigurationError
        For the first key whose value is not allowed.
    """

    def one(key: str, check: Any) -> Any:
        return check(key, mapping[key])

    def many(key: str, check: Any) -> tuple:
        return config.values(check, key, mapping[key])

    cap = one("local_max_iterations", config.optional(config.integer(1)))
    solver = one("local_solver", config.optional(config.choice(*SOLVERS)))
    folds = one("folds", config.integer(2))
    fold = None if mapping["fold"] is None else many("fold", config.integer(0, folds - 1))
    return Parameters(
        fold=fold,
        clients=many("clients", config.integer(1)),
        n=many("n", config.integer(0)),
        learner=many("learner", config.choice(*LEARNERS)),
        regime=many("regime", config.choice(*REGIMES)),
        seeds=many("seeds", config.integer(0, 2**32 - 1)),
        partition=many("partition", config.choice("stratified", "iid", "dirichlet")),
        epsilon=many("epsilon", config.real(0, open_low=True, infinite=True)),
        alpha=many("alpha", config.real(0, open_low=True)),
        protocol=one("protocol", config.choice("paper")),
        folds=one("folds", config.integer(2, MOST_FOLDS)),
        smoothing=one("smoothing", config.real(0, open_low=True)),
        missing=one("missing", config.optional(config.choice("category", "mode"))),
        rounds=many("rounds", config.integer(1)),
        local_steps=many("local_steps", config.integer(1)),
        local_solver=solver or ("lbfgs" if cap else "newton"),
        local_max_iterations=cap or SCIPY_MAX_ITERATIONS,
        structures=_structures(
            config.values(
                config.optional(config.integer(1)), "max_structures", mapping.get("max_structures")
            ),
            config.values(
                config.choice(*CHOICES), "structure_choice", mapping.get("structure_choice", "all")
            ),
        ),
        record_rounds=config.boolean("record_rounds", mapping.get("record_rounds", False)),
        memory_limit=memory_limit,
    )


def _structures(
    limits: tuple[int | None, ...], choices: tuple[str, ...]
) -> tuple[tuple[int | None, str], ...]:
    """Every limit with every way of choosing; all structures where no limit, or the choice ``all``, is listed."""
    numbers = [limit for limit in limits if limit is not None]
    ways = [choice for choice in choices if choice != "all"]
    if numbers and not ways:
        raise config.wrong(
            "structure_choice", choices[0], f"random or information where max_structures={numbers[0]}"
        )
    if ways and not numbers:
        raise config.wrong("max_structures", None, f"a whole number >= 1 where structure_choice={ways[0]}")
    whole = [(None, "all")] if None in limits or "all" in choices else []
    return (*whole, *itertools.product(numbers, ways))


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


def setting(cell: Cell, name: str) -> Any:
    """Value of a setting that acts on a cell."""
    return dict(cell.settings).get(name, PAPER[name])


def _settings(
    parameters: Parameters, learner: str, regime: str, n: int | None
) -> list[tuple[tuple[str, Any], ...]]:
    """The settings that act on such cells and differ from the paper's, in alphabetical order.

    One entry for every combination of those that are listed.
    """
    missing = None if parameters.missing == "category" else parameters.missing  # the default said aloud
    axes: dict[str, tuple] = {"folds": (parameters.folds,), "missing": (missing,)}
    if learner != "logistic":
        axes["smoothing"] = (parameters.smoothing,)
    if learner != "generative" and regime == "federated":
        axes |= {"rounds": parameters.rounds, "local_steps": parameters.local_steps}
    if learner == "discriminative" and regime != "federated":
        axes["local_solver"] = (parameters.local_solver,)
        if parameters.local_solver == "lbfgs":
            axes["local_max_iterations"] = (parameters.local_max_iterations,)
    structures = parameters.structures if n else ((None, "all"),)  # n = 0 has one structure, logistic none
    result = []
    for values in itertools.product(*axes.values()):
        for limit, choice in structures:
            chosen = dict(zip(axes, values, strict=True))
            chosen |= {"max_structures": limit, "structure_choice": choice}
            result.append(
                tuple((name, chosen[name]) for name in sorted(chosen) if chosen[name] != PAPER[name])
            )
    return result


def cells(parameters: Parameters, datasets: Sequence[str]) -> Iterator[Cell]:
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
    kinds = {
        n: [
            (learner, regime, _settings(parameters, learner, regime, n))
            for learner in learners
            for regime in parameters.regime
        ]
        for n, learners in orders.items()
    }
    for seed, dataset, n in itertools.product(parameters.seeds, datasets, orders):
        for partition, clients in itertools.product(partitions, parameters.clients):
            for learner, regime, combinations in kinds[n]:
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
    """Sub-keys of a cell's rows: the fold numbers."""
    return _fold_names(parameters.folds)


@lru_cache
def _fold_names(folds: int) -> tuple[str, ...]:
    return tuple(str(fold) for fold in range(folds))


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


def _choice(cell: Cell) -> tuple[int | None, str]:
    """Limit of the cell's structures and how they are chosen."""
    return setting(cell, "max_structures"), setting(cell, "structure_choice")


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


def run(task: Task, dataset: Any) -> dict[str, list[dict[str, Any]]]:
    """Compute one task.

    Returns
    -------
    dict
        Rows by table name; every cell of the task has one row in ``runs``. The rows of ``rounds`` come first,
        so that they are there wherever the cell's row is.
    """
    from fedbayes.experiments.fedande_fold import run_fold

    return run_fold(task.cells, int(task.parts[0]), dataset, task.parameters)


def describe(cell: Cell, part: str, dataset: Any | None) -> dict[str, Any]:
    """The columns that identify a row, whatever became of it."""
    row = {
        "cell": cell.key,
        "dataset": cell.dataset,
        "clients": cell.clients,
        "partition": cell.partition,
        "n": cell.n,
        "learner": cell.learner,
        "regime": cell.regime,
        "protocol": cell.protocol,
        "epsilon": cell.epsilon,
        "seed": cell.seed,
        "fold": int(part),
        "settings": cell.settings_text,
    }
    if dataset is not None:
        row |= {
            "rows": dataset.X.shape[0],
            "attributes": dataset.X.shape[1],
            "classes": len(dataset.class_names),
        }
    return row
