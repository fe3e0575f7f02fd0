"""The grid of the governance experiment: data set x concentration x seed x reading, six proposals a cell."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fedbayes import config
from fedbayes.data import intrusion
from fedbayes.errors import ConfigurationError
from fedbayes.experiments import governance_group, governance_rows
from fedbayes.experiments.governance_settings import PROPOSALS, READINGS, GovernanceSettings
from fedbayes.grid import Cell, Task

NAME = "governance"
TABLES = governance_rows.TABLES

SETTINGS = tuple(field.name for field in dataclasses.fields(GovernanceSettings))
KEYS = ("alpha", "seeds", "reading", "drop_duplicates", "gaussian_features", *SETTINGS)
RECORDING = ("gaussian_features",)


@dataclass(frozen=True)
class Parameters:
    """Checked values of the experiment: the axes of its grid and its settings."""

    alpha: tuple[float, ...]
    seeds: tuple[int, ...]
    reading: tuple[str, ...]
    drop_duplicates: str | bool
    settings: GovernanceSettings
    gaussian_features: tuple[str, ...] | None = None


def parse(mapping: Mapping[str, Any], memory_limit: float) -> Parameters:
    """Check the experiment's keys of a composed configuration.

    Raises
    ------
    ConfigurationError
        For the first key whose value is not allowed.
    """
    given = {name: mapping[name] for name in SETTINGS if name in mapping}
    if "nodes" in given and not isinstance(given["nodes"], list | tuple):
        raise config.wrong("nodes", given["nodes"], "a list of node profiles {name, cmm, kci, kri, cvss}")
    features = mapping.get("gaussian_features")
    if features is not None:
        features = config.values(_feature_name, "gaussian_features", features)
    return Parameters(
        alpha=config.values(config.real(0, open_low=True), "alpha", mapping["alpha"]),
        seeds=config.values(config.integer(0, 2**32 - 1), "seeds", mapping["seeds"]),
        reading=config.values(config.choice(*READINGS), "reading", mapping["reading"]),
        drop_duplicates=config.choice("auto", True, False)("drop_duplicates", mapping["drop_duplicates"]),
        settings=GovernanceSettings.from_mapping(given),
        gaussian_features=features,
    )


def _feature_name(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise config.wrong(key, value, "names of numeric features, or null for all")
    return value


def check_specifications(parameters: Parameters, specifications: Mapping[str, Any]) -> None:
    """Refuse data sets that are not intrusion data.

    Raises
    ------
    ConfigurationError
        Naming the data set.
    """
    for name, specification in specifications.items():
        if specification.kind != "mixed":
            raise ConfigurationError(
                f"dataset={name!r} is not allowed: the governance experiment takes mixed (categorical and numeric) "
                "data sets such as nsl-kdd or synthetic-flows"
            )


def data_options(parameters: Parameters, specification: Any) -> dict[str, Any]:
    """The options that change a data set's content; one that says what the data set does anyway is its default."""
    asked = parameters.drop_duplicates
    same = intrusion.drops_duplicates(specification, asked) == intrusion.drops_duplicates(specification)
    return {"drop_duplicates": "auto" if same else asked}


def cells(parameters: Parameters, specifications: Mapping[str, Any]) -> Iterator[Cell]:
    """Enumerate the grid."""
    for dataset, specification in specifications.items():
        settings = dict(parameters.settings.differences())
        drop_duplicates = data_options(parameters, specification)["drop_duplicates"]
        if drop_duplicates != "auto":
            settings["drop_duplicates"] = str(drop_duplicates).lower()
        for alpha in parameters.alpha:
            for seed in parameters.seeds:
                for reading in parameters.reading:
                    yield Cell(
                        experiment=NAME,
                        dataset=dataset,
                        clients=len(parameters.settings.nodes),
                        seed=seed,
                        alpha=alpha,
                        reading=reading,
                        settings=tuple(sorted(settings.items())),
                    )


def parts(cell: Cell, parameters: Parameters) -> tuple[str, ...]:
    """Sub-keys of a cell's rows: the proposals."""
    return PROPOSALS


def tasks(
    wanted: Sequence[tuple[Cell, tuple[str, ...]]], parameters: Parameters, shapes: Mapping[str, tuple]
) -> list[Task]:
    """Group the wanted cells into tasks: the readings of one data set, concentration and seed.

    The proposals of a cell are computed together, whichever of them are wanted.
    """
    groups: dict[tuple, list[Cell]] = {}
    for cell, _ in wanted:
        groups.setdefault((cell.dataset, cell.alpha, cell.seed), []).append(cell)
    return [
        Task(
            experiment=NAME,
            dataset=dataset,
            cells=tuple(members),
            parts=PROPOSALS,
            parameters=parameters,
            cost=governance_group.cost(
                *shapes.get(dataset, (100_000, 40, 2)), members[0].clients, readings=len(members)
            ),
            label=f"{dataset} alpha={alpha:g} seed={seed}",
        )
        for (dataset, alpha, seed), members in groups.items()
    ]


def notes(parameters: Parameters, datasets: Mapping[str, Any]) -> list[str]:
    """What the user should know before the run: data sets that have none of the features to record."""
    wanted = parameters.gaussian_features
    return [
        f"{name} has none of gaussian_features={list(wanted)}, so node_gaussians.csv will hold no row of it; "
        f"its numeric features: {', '.join(dataset.numeric_names)}"
        for name, dataset in datasets.items()
        if wanted is not None and not set(wanted) & set(dataset.numeric_names)
    ]


def skip_reason(cell: Cell, dataset: Any, parameters: Parameters) -> str:
    """No cell of this experiment is impossible before it is tried."""
    return ""


def run(task: Task, dataset: Any) -> dict[str, list[dict[str, Any]]]:
    """Compute one task: rows of the proposals and the nodes' Gaussians, by table name."""
    first = task.cells[0]
    results = governance_group.run_group(
        dataset,
        clients=first.clients,
        alpha=first.alpha,
        seed=first.seed,
        readings=tuple(cell.reading for cell in task.cells),
        settings=task.parameters.settings,
    )
    wanted = task.parameters.gaussian_features
    runs, gaussians = [], []
    for cell in task.cells:
        result = results[cell.reading]
        for row in result.rows:
            runs.append(row | describe(cell, row["proposal"], dataset) | {"status": "done"})
        gaussians.extend(
            row | {"cell": cell.key} for row in result.gaussians if wanted is None or row["feature"] in wanted
        )
    return {"runs": runs, "node_gaussians": gaussians}


def describe(cell: Cell, part: str, dataset: Any | None) -> dict[str, Any]:
    """The columns that identify a row, whatever became of it."""
    row = {
        "cell": cell.key,
        "dataset": cell.dataset,
        "clients": cell.clients,
        "alpha": cell.alpha,
        "seed": cell.seed,
        "reading": cell.reading,
        "settings": cell.settings_text,
        "proposal": part,
    }
    if dataset is not None:
        row |= {"rows": len(dataset.y), "classes": len(dataset.class_names)}
    return row
