"""Result files as data frames, read and checked; the store itself, which runs append to, knows lines alone."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from fedbayes.errors import ConfigurationError, FedbayesError
from fedbayes.experiments import fedande_rows, governance_rows
from fedbayes.store import STATUSES

COLUMNS = {"fedande": fedande_rows.RUNS.columns, "governance": governance_rows.RUNS.columns}
TEXT_COLUMNS = (
    "cell", "dataset", "partition", "learner", "regime", "protocol", "settings", "status", "message", "reading",
    "proposal", "versus", "weights", "class", "feature", "node",
)  # fmt: skip
COUNTS = (
    "rows", "attributes", "classes", "clients", "n", "seed", "fold", "parameters", "bytes_up", "bytes_down", "rounds",
    "both_right", "only_first", "only_second", "both_wrong", "absent_classes",
)  # fmt: skip
SHARES = ("accuracy", "macro_f1", "accuracy_client_std", "mcnemar_p")
MAY_BE_INFINITE = ("epsilon", "anll_mean", "anll_median", "objective")
"""No noise is written as inf; a probability that underflows has an infinite loss."""
ALWAYS = {"fedande": ("clients", "n", "seed", "fold"), "governance": ("clients", "alpha", "seed")}
"""Columns that no row leaves empty (``n`` is, for the learner without superparents)."""
WHEN_DONE = ("rows", "classes", "accuracy", "macro_f1")


def read_table(path: Path) -> pd.DataFrame:
    """Read a results file with typed columns: text stays text, empty numbers are NaN, inf is kept."""
    header = pd.read_csv(path, nrows=0).columns
    types = {column: str for column in header if column in TEXT_COLUMNS}
    return pd.read_csv(
        path, dtype=types, keep_default_na=False, na_values={c: [""] for c in header if c not in types}
    )


def read_runs(folder: Path) -> pd.DataFrame:
    """Read ``runs.csv`` of a results folder."""
    return read_table(Path(folder) / "runs.csv")


def checked_runs(folder: Path) -> tuple[pd.DataFrame, str]:
    """Read ``runs.csv`` and name the experiment by its columns.

    Raises
    ------
    ConfigurationError
        In one line, when the folder or the file is missing, unreadable or of other columns, and naming the first
        row and column that hold what no run can have written.
    """
    path = folder / "runs.csv"
    runs = _read(folder, path)
    experiment = "governance" if "proposal" in runs.columns else "fedande"
    missing = [column for column in COLUMNS[experiment] if column not in runs.columns]
    if missing:
        raise ConfigurationError(
            f"{path} is not a results file of this package: no column {', '.join(missing)}"
        )
    if runs.empty:
        raise ConfigurationError(f"{path} holds no rows; run the experiment first")
    for column in COLUMNS[experiment]:
        if column in TEXT_COLUMNS:
            runs[column] = runs[column].fillna("").astype(str)
        else:
            runs[column] = _numbers(path, runs, column)
    _refuse(path, runs, "status", ~runs["status"].isin(STATUSES), f"one of {', '.join(sorted(STATUSES))}")
    done = runs["status"] == "done"
    for column in ALWAYS[experiment]:
        needed = runs["learner"] != "logistic" if column == "n" else np.full(len(runs), True)
        _refuse(path, runs, column, runs[column].isna() & needed, "a number")
    for column in WHEN_DONE:
        _refuse(path, runs, column, runs[column].isna() & done, "a number in a row that is done")
    return runs, experiment


def _read(folder: Path, path: Path) -> pd.DataFrame:
    remedy = "give the folder that python -m fedbayes.run wrote to (its output_dir)"
    if not folder.exists():
        raise ConfigurationError(f"folder {folder} does not exist; {remedy}")
    if not folder.is_dir():
        raise ConfigurationError(f"{folder} is not a folder; {remedy}")
    if not path.is_file():
        what = "holds no runs.csv" if any(folder.iterdir()) else "is empty"
        raise ConfigurationError(f"folder {folder} {what}; {remedy}")
    try:
        return read_runs(folder)
    except FedbayesError:
        raise
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # parser, encoding and conversion errors of pandas
        reason = " ".join(str(error).split())
        raise ConfigurationError(
            f"{path} is not a readable CSV file ({reason}); run again or restore it"
        ) from None


def _numbers(path: Path, runs: pd.DataFrame, column: str) -> pd.Series:
    """A column as floats, empty ones as NaN, each within what the column can hold."""
    found = runs[column]
    numbers = pd.to_numeric(found, errors="coerce").astype(float)
    _refuse(path, runs, column, numbers.isna() & found.notna() & (found.astype(str) != "nan"), "a number")
    if column in COUNTS:
        _refuse(
            path, runs, column, (numbers < 0) | (numbers % 1 != 0) & numbers.notna(), "a whole number from 0"
        )
    elif column in SHARES:
        _refuse(path, runs, column, (numbers < 0) | (numbers > 1), "a number from 0 to 1")
    elif column not in MAY_BE_INFINITE:
        _refuse(path, runs, column, np.isinf(numbers), "a finite number")
    return numbers


def _refuse(path: Path, runs: pd.DataFrame, column: str, wrong: Sequence[bool], expected: str) -> None:
    """Name the first wrong row."""
    if not np.any(wrong):
        return
    row = int(np.argmax(wrong))
    value = runs[column].iloc[row]
    held = "is empty" if pd.isna(value) or value == "" else f"holds {str(value)!r}"
    raise ConfigurationError(f"{path}, data row {row + 1}: {column} {held}, expected {expected}")
