"""FedAnDE: the grid of "Federated Learning of AnDE Classifiers", section 4, and the computation of its cells."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import comb
from typing import Any

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
TABLES = (RUNS,)

LEARNERS = ("generative", "discriminative")
REGIMES = ("local", "federated", "centralised")
SOLVERS = ("newton", "lbfgs")
SCIPY_MAX_ITERATIONS = 15000


@dataclass(frozen=True)
class Parameters:
    """Checked values of the experiment: the axes of its grid and its settings.

    The defaults of the settings are the paper's (section 4), so that a difference from them is what the
    column ``settings`` names. "Without iteration limits" is L-BFGS with scipy's own limit.
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
    rounds: int = 10
    local_steps: int = 5
    local_solver: str = "lbfgs"
    local_max_iterations: int = SCIPY_MAX_ITERATIONS
    memory_limit: float = field(default=4.0, compare=False)


KEYS = (
    "clients", "n", "learner", "regime", "seeds", "folds", "partition", "alpha", "protocol", "smoothing", "missing",
    "epsilon", "rounds", "local_steps", "local_solver", "local_max_iterations",
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
    return Parameters(
        clients=many("clients", config.integer(1)),
        n=many("n", config.integer(0)),
        learner=many("learner", config.choice(*LEARNERS)),
        regime=many("regime", config.choice(*REGIMES)),
        seeds=many("seeds", config.integer(0, 2**32 - 1)),
        partition=many("partition", config.choice("stratified", "iid", "dirichlet")),
        epsilon=many("epsilon", config.real(0, open_low=True, infinite=True)),
        alpha=many("alpha", config.real(0, open_low=True)),
        protocol=one("protocol", config.choice("paper")),
        folds=one("folds", config.integer(2)),
        smoothing=one("smoothing", config.real(0, open_low=True)),
        missing=one("missing", config.optional(config.choice("category", "mode"))),
        rounds=one("rounds", config.integer(1)),
        local_steps=one("local_steps", config.integer(1)),
        local_solver=solver or ("lbfgs" if cap else "newton"),
        local_max_iterations=cap or SCIPY_MAX_ITERATIONS,
        memory_limit=memory_limit,
    )


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


def _settings(parameters: Parameters, learner: str, regime: str) -> tuple[tuple[str, Any], ...]:
    """The settings that act on such a cell and differ from the paper's default, in alphabetical order."""
    names = ["folds", "missing", "smoothing"]
    if learner == "discriminative":
        if regime == "federated":
            names += ["rounds", "local_steps"]
        else:
            names += ["local_solver"]
            if parameters.local_solver == "lbfgs":
                names += ["local_max_iterations"]
    return tuple(
        (name, getattr(parameters, name))
        for name in sorted(names)
        if getattr(parameters, name) != Parameters.__dataclass_fields__[name].default
    )


def cells(parameters: Parameters, datasets: Sequence[str]) -> Iterator[Cell]:
    """Enumerate the grid, cheap data sets and small n first where the caller orders them so."""
    partitions = [
        name if name != "dirichlet" else f"dirichlet-{alpha!r}"
        for name in parameters.partition
        for alpha in (parameters.alpha if name == "dirichlet" else (None,))
    ]
    kinds = [(learner, regime) for learner in parameters.learner for regime in parameters.regime]
    settings = {kind: _settings(parameters, *kind) for kind in kinds}
    for seed, dataset, n in itertools.product(parameters.seeds, datasets, parameters.n):
        for partition, clients in itertools.product(partitions, parameters.clients):
            for learner, regime in kinds:
                noisy = learner == "generative" and regime == "federated"
                central = regime == "centralised"
                for epsilon in parameters.epsilon if noisy else (None,):
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
                        settings=settings[learner, regime],
                    )


def parts(cell: Cell, parameters: Parameters) -> tuple[str, ...]:
    """Sub-keys of a cell's rows: the fold numbers."""
    return tuple(str(fold) for fold in range(parameters.folds))


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
        for fold in folds:
            groups.setdefault(
                (cell.seed, cell.dataset, cell.n, cell.partition, cell.clients, fold), []
            ).append(cell)
    result = []
    for (seed, dataset, n, partition, clients, fold), members in groups.items():
        result.append(
            Task(
                experiment=NAME,
                dataset=dataset,
                cells=tuple(members),
                parts=(fold,),
                parameters=parameters,
                cost=sum(cost(cell, shapes.get(dataset, (1000, 10, 2)), parameters) for cell in members),
                label=f"{dataset} n={n} clients={clients} seed={seed} fold={fold}"
                + (f" {partition}" if partition != "stratified" else ""),
            )
        )
    return result


def cost(cell: Cell, shape: tuple[int, int, int], parameters: Parameters) -> float:
    """Rough seconds of one fold of a cell on one core."""
    rows, attributes, classes = shape
    n = cell.n or 0
    structures = comb(attributes, n)
    passes = {
        ("generative", "federated"): 2.0,
        ("generative", "centralised"): 2.0,
        ("generative", "local"): 1.0 + cell.clients / 5,
        ("discriminative", "federated"): parameters.rounds * parameters.local_steps * 2.5 + cell.clients / 5,
        ("discriminative", "local"): 400.0 + cell.clients / 5,
        ("discriminative", "centralised"): 400.0,
    }[cell.learner, cell.regime]
    row = 1e-9 * max(1, attributes - n) * max(2, classes)  # seconds per row and structure
    return 0.03 + structures * (passes * rows * row + 2e-5 * (1 + cell.clients))


def skip_reason(cell: Cell, dataset: Any, parameters: Parameters) -> str:
    """Why a cell is impossible for a data set, or an empty string."""
    rows, attributes = dataset.X.shape
    if cell.n >= attributes:
        return f"n={cell.n} needs more than {cell.n} attributes and {cell.dataset} has {attributes}"
    if rows < parameters.folds:
        return f"{rows} rows are fewer than {parameters.folds} folds"
    training = rows - math.ceil(rows / parameters.folds)
    if training < cell.clients:
        return f"{training} training rows are fewer than {cell.clients} clients"
    shape = (dataset.cardinalities, len(dataset.class_names), rows, parameters.folds)
    need = _gibibytes(cell.n, cell.clients, *shape)
    if need > parameters.memory_limit:
        return (
            f"n={cell.n} with {cell.clients} clients needs {need:.1f} GiB of tables and posteriors, more than "
            f"memory_limit={parameters.memory_limit:g}; raise memory_limit or lower n"
        )
    return ""


@lru_cache(maxsize=4096)
def _gibibytes(
    n: int, clients: int, cardinalities: tuple[int, ...], classes: int, rows: int, folds: int
) -> float:
    from fedbayes.models.engine.counting import peak_bytes

    tables = peak_bytes(n, cardinalities, classes, rows=rows, clients=clients)
    posteriors = 6 * 8 * clients * math.ceil(rows / folds) * classes  # three variants, twice each
    return (tables + posteriors) / 2**30


def run(task: Task, dataset: Any) -> dict[str, list[dict[str, Any]]]:
    """Compute one task.

    Returns
    -------
    dict
        Rows by table name; every cell of the task has one row.
    """
    from fedbayes.experiments.fedande_fold import run_fold

    return {"runs": run_fold(task.cells, int(task.parts[0]), dataset, task.parameters)}


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
