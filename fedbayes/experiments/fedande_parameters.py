"""The checked values of the FedAnDE experiment: axes of its grid, settings, and what of them acts on a cell."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fedbayes import config
from fedbayes.grid import Cell

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
SMALLEST_EPSILON = 1e-100
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
    folds = one("folds", config.integer(2, MOST_FOLDS))
    fold = None if mapping.get("fold") is None else many("fold", config.integer(0, folds - 1))
    return Parameters(
        fold=fold,
        clients=many("clients", config.integer(1)),
        n=many("n", config.integer(0)),
        learner=many("learner", config.choice(*LEARNERS)),
        regime=many("regime", config.choice(*REGIMES)),
        seeds=many("seeds", config.integer(0, 2**32 - 1)),
        partition=many("partition", config.choice("stratified", "iid", "dirichlet")),
        epsilon=many("epsilon", _epsilon),
        alpha=many("alpha", config.real(0, open_low=True)),
        protocol=one("protocol", config.choice("paper")),
        folds=folds,
        smoothing=one("smoothing", config.real(0, config.LARGEST_SMOOTHING, open_low=True)),
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


def _epsilon(key: str, value: Any) -> float:
    number = config.real(0, open_low=True, infinite=True)(key, value)
    if number < SMALLEST_EPSILON:
        raise config.wrong(key, value, f"a number >= {SMALLEST_EPSILON:g} or inf, for noise that is finite")
    return number


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


def setting(cell: Cell, name: str) -> Any:
    """Value of a setting that acts on a cell."""
    return dict(cell.settings).get(name, PAPER[name])


def data_options(parameters: Parameters, specification: Any) -> dict[str, Any]:
    """The options that change a data set's content; one that says what the data set does anyway is its default."""
    same = parameters.missing == (specification.missing or "category")
    return {"missing": None if same else parameters.missing}


def acting_settings(
    parameters: Parameters, learner: str, regime: str, n: int | None, missing: str | None = None
) -> list[tuple[tuple[str, Any], ...]]:
    """The settings that act on such cells and differ from the paper's, in alphabetical order.

    One entry for every combination of those that are listed; ``missing`` is that of `data_options`.
    """
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
