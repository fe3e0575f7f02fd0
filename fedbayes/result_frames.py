"""Result files as data frames, read and checked; the store itself, which runs append to, knows lines alone."""

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from fedbayes.errors import ConfigurationError
from fedbayes.experiments import fedande_rows, governance_rows
from fedbayes.experiments.fedande_parameters import LEARNERS, REGIMES
from fedbayes.store import STATUSES, Table

RUNS = {"fedande": fedande_rows.RUNS, "governance": governance_rows.RUNS}
IDENTITY = (
    "dataset", "partition", "clients", "n", "learner", "regime", "epsilon", "settings", "seed", "fold",
)  # fmt: skip
"""Columns of which no two rows of FedAnDE that are done agree in all (the governance report has its own check)."""
TEXT_COLUMNS = (
    "cell", "dataset", "partition", "learner", "regime", "protocol", "settings", "status", "message", "reading",
    "proposal", "versus", "weights", "class", "feature", "node",
)  # fmt: skip
# what numbers the columns can hold: whole ones, others; shares are from 0 to 1
FROM_ONE = ("rows", "attributes", "classes", "clients")
COUNTS = (
    "n", "seed", "fold", "parameters", "bytes_up", "bytes_down", "rounds", "round", "both_right", "only_first",
    "only_second", "both_wrong", "absent_classes",
)  # fmt: skip
FROM_ZERO = (
    "log_loss", "iterations", "fit_seconds", "predict_seconds", "seconds", "mcnemar_statistic", "standard_deviation",
)  # fmt: skip
ABOVE_ZERO = ("epsilon", "alpha")
SHARES = ("accuracy", "macro_f1", "accuracy_client_std", "mcnemar_p")
MAY_BE_INFINITE = ("epsilon", "anll_mean", "anll_median", "objective")
"""No noise is written as inf; a probability that underflows has an infinite loss."""
ALWAYS = {"fedande": ("clients", "n", "seed", "fold"), "governance": ("clients", "alpha", "seed")}
"""Columns that no row leaves empty (``n`` is, for the learner without superparents)."""
WHEN_DONE = ("accuracy", "macro_f1")
LARGEST = 2.0**63
"""Bound of whole numbers."""


def read_runs(folder: Path) -> pd.DataFrame:
    """Read ``runs.csv`` of a results folder with typed columns: text stays text, empty numbers are NaN, inf is kept."""
    return _read_csv(Path(folder) / "runs.csv")


def _read_csv(path: Path) -> pd.DataFrame:
    header = pd.read_csv(path, nrows=0).columns
    types = {column: str for column in header if column in TEXT_COLUMNS}
    return pd.read_csv(
        path, dtype=types, keep_default_na=False, na_values={c: [""] for c in header if c not in types}
    )


def checked_table(path: Path, table: Table, always: Sequence[str] = ()) -> pd.DataFrame:
    """Read a results file and check its columns and numbers; those of ``always`` are never empty.

    Raises
    ------
    ConfigurationError
        In one line, when the file is unreadable or of other columns, and naming the first row and column that hold
        what no run can have written.
    """
    try:
        frame = _read_csv(path)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # parser, encoding and conversion errors of pandas
        reason = " ".join(str(error).split())
        raise ConfigurationError(
            f"{path} is not a readable CSV file ({reason}); run again or restore it"
        ) from None
    missing = [column for column in table.columns if column not in frame.columns]
    if missing:
        raise ConfigurationError(
            f"{path} is not a results file of this package: no column {', '.join(missing)}"
        )
    for column in table.columns:
        if column in TEXT_COLUMNS:
            frame[column] = frame[column].fillna("").astype(str)
        else:
            frame[column] = _numbers(path, frame, column)
    for column in always:
        _refuse(path, frame, column, frame[column].isna(), "a number")
    return frame


def checked_runs(folder: Path) -> tuple[pd.DataFrame, str]:
    """Read ``runs.csv`` and name the experiment by its columns.

    Raises
    ------
    ConfigurationError
        As :func:`checked_table`, and when the folder is missing or the file is not there or has no rows.
    """
    path = folder / "runs.csv"
    _find(folder, path)
    experiment = "governance" if "proposal" in _header(path) else "fedande"
    runs = checked_table(path, RUNS[experiment])
    if runs.empty:
        raise ConfigurationError(f"{path} holds no rows; run the experiment first")
    _refuse(path, runs, "status", ~runs["status"].isin(STATUSES), f"one of {', '.join(sorted(STATUSES))}")
    for column, names in _names(experiment).items():
        _refuse(path, runs, column, ~runs[column].isin(names), f"one of {', '.join(names)}")
    done = runs["status"] == "done"
    for column in ALWAYS[experiment]:
        needed = runs["learner"] != "logistic" if column == "n" else np.full(len(runs), True)
        _refuse(path, runs, column, runs[column].isna() & needed, "a number")
    for column in WHEN_DONE:
        _refuse(path, runs, column, runs[column].isna() & done, "a number in a row that is done")
    if experiment == "governance":
        wrong = [not _are_weights(*pair) for pair in zip(runs["weights"], runs["clients"], strict=True)]
        _refuse(
            path, runs, "weights", wrong, "a number for every client, separated by semicolons, or nothing"
        )
        return runs, experiment
    repeated = runs[done].duplicated(list(IDENTITY))
    if repeated.any():
        row = int(repeated.index[repeated.to_numpy().argmax()])
        raise ConfigurationError(
            f"{path}, data row {row + 1}: a second row of the same {', '.join(IDENTITY)}"
        )
    return runs, experiment


def _names(experiment: str) -> dict[str, tuple[str, ...]]:
    """Columns that hold one of a few names."""
    if experiment == "fedande":
        return {"learner": LEARNERS, "regime": REGIMES}
    from fedbayes.experiments.governance_settings import PROPOSALS, READINGS  # with the compiler behind them

    return {"reading": tuple(READINGS), "proposal": PROPOSALS}


def _find(folder: Path, path: Path) -> None:
    remedy = "give the folder that python -m fedbayes.run wrote to (its output_dir)"
    if not folder.exists():
        raise ConfigurationError(f"folder {folder} does not exist; {remedy}")
    if not folder.is_dir():
        raise ConfigurationError(f"{folder} is not a folder; {remedy}")
    if not path.is_file():
        what = "holds no runs.csv" if any(folder.iterdir()) else "is empty"
        raise ConfigurationError(f"folder {folder} {what}; {remedy}")


def _header(path: Path) -> list[str]:
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as stream:
            return next(csv.reader(stream), [])
    except (OSError, csv.Error):
        return []  # which reading the whole file explains


def _are_weights(weights: str, clients: float) -> bool:
    if not weights:
        return True
    try:
        numbers = [float(weight) for weight in weights.split(";")]
    except ValueError:
        return False
    return len(numbers) == clients and all(map(math.isfinite, numbers))


def _numbers(path: Path, runs: pd.DataFrame, column: str) -> pd.Series:
    """A column as floats, empty ones as NaN, each within what the column can hold."""
    found = runs[column]
    numbers = pd.to_numeric(found, errors="coerce").astype(float)
    _refuse(path, runs, column, numbers.isna() & found.notna() & (found.astype(str) != "nan"), "a number")
    not_whole = (numbers % 1 != 0) & numbers.notna() | (numbers > LARGEST)
    if column in FROM_ONE:
        _refuse(path, runs, column, (numbers < 1) | not_whole, "a whole number from 1")
    elif column in COUNTS:
        _refuse(path, runs, column, (numbers < 0) | not_whole, "a whole number from 0")
    elif column in SHARES:
        _refuse(path, runs, column, (numbers < 0) | (numbers > 1), "a number from 0 to 1")
    elif column not in MAY_BE_INFINITE:
        _refuse(path, runs, column, np.isinf(numbers), "a finite number")
    if column in FROM_ZERO:
        _refuse(path, runs, column, numbers < 0, "a number from 0")
    elif column in ABOVE_ZERO:
        _refuse(path, runs, column, numbers <= 0, "a number above 0")
    return numbers


def _refuse(path: Path, runs: pd.DataFrame, column: str, wrong: Sequence[bool], expected: str) -> None:
    """Name the first wrong row."""
    if not np.any(wrong):
        return
    row = int(np.argmax(wrong))
    value = runs[column].iloc[row]
    held = "is empty" if pd.isna(value) or value == "" else f"holds {str(value)!r}"
    raise ConfigurationError(f"{path}, data row {row + 1}: {column} {held}, expected {expected}")
