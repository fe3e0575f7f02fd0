"""Result tables of the FedAnDE experiment, and the columns that identify a row in them."""

from typing import Any

from fedbayes.grid import Cell
from fedbayes.store import Table

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
