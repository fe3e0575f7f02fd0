"""Tables, figures and claims from a folder of results: python -m fedbayes.report FOLDER.

Only the CSV files and `manifest.json` of the folder are read; no data are needed.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

import pandas as pd

from fedbayes.errors import ConfigurationError, FedbayesError

# the columns that tell the two experiments apart, and those without which no report is possible
EXPERIMENTS = {
    "fedande": (
        "cell", "dataset", "rows", "attributes", "classes", "clients", "partition", "n", "learner",
        "regime", "protocol", "epsilon", "seed", "fold", "settings", "status", "accuracy", "macro_f1",
        "log_loss", "accuracy_client_std", "parameters", "bytes_up", "bytes_down", "rounds", "iterations",
        "fit_seconds", "predict_seconds", "message",
    ),
    "governance": (
        "cell", "dataset", "rows", "classes", "clients", "alpha", "seed", "reading", "settings", "proposal",
        "status", "accuracy", "macro_f1", "anll_mean", "anll_median", "weights", "jsd", "objective",
        "versus", "both_right", "only_first", "only_second", "both_wrong", "mcnemar_statistic", "mcnemar_p",
        "absent_classes", "fit_seconds", "message",
    ),
}  # fmt: skip
TEXT = (
        "cell", "dataset", "partition", "learner", "regime", "protocol", "settings", "status", "message",
        "reading", "proposal", "versus", "weights",
)  # fmt: skip
STATUSES = {"done", "failed", "unavailable", "skipped"}


def write_report(folder: str | Path) -> list[Path]:
    """Write tables, figures and claims of a results folder into it.

    Parameters
    ----------
    folder : path
        Holds `runs.csv` and, unless lost, `manifest.json`.

    Returns
    -------
    list of Path
        All files written.

    Raises
    ------
    ConfigurationError
        When the folder or its `runs.csv` is missing, empty or not a results file of this package.
    """
    from fedbayes.manifest_file import read_manifest

    folder = Path(folder)
    runs, experiment = _read_checked(folder)
    writer = importlib.import_module(f"fedbayes.reporting.{experiment}")
    return writer.write(folder, runs, read_manifest(folder))


def _read_checked(folder: Path) -> tuple[pd.DataFrame, str]:
    """Read `runs.csv` and name the experiment by its columns; every fault ends in one clear line."""
    from fedbayes.store import read_runs

    path = folder / "runs.csv"
    remedy = "give the folder that python -m fedbayes.run wrote to (its output_dir)"
    if not folder.exists():
        raise ConfigurationError(f"folder {folder} does not exist; {remedy}")
    if not folder.is_dir():
        raise ConfigurationError(f"{folder} is not a folder; {remedy}")
    if not path.is_file():
        what = "holds no runs.csv" if any(folder.iterdir()) else "is empty"
        raise ConfigurationError(f"folder {folder} {what}; {remedy}")
    try:
        runs = read_runs(folder)
    except FedbayesError:
        raise
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # parser, encoding and conversion errors of pandas
        reason = " ".join(str(error).split())
        raise ConfigurationError(
            f"{path} is not a readable CSV file ({reason}); run again or restore it"
        ) from None
    experiment = "governance" if "proposal" in runs.columns else "fedande"
    missing = [column for column in EXPERIMENTS[experiment] if column not in runs.columns]
    if missing:
        raise ConfigurationError(
            f"{path} is not a results file of this package: no column {', '.join(missing)}"
        )
    if runs.empty:
        raise ConfigurationError(f"{path} holds no rows; run the experiment first")
    for column in EXPERIMENTS[experiment]:
        if column in TEXT:
            runs[column] = runs[column].fillna("").astype(str)
            continue
        numbers = pd.to_numeric(runs[column], errors="coerce")
        wrong = numbers.isna() & runs[column].notna() & (runs[column].astype(str) != "nan")
        if wrong.any():
            row = int(wrong.to_numpy().argmax())
            raise ConfigurationError(
                f"{path}, data row {row + 1}: {column} holds {runs[column].iloc[row]!r}, expected a number"
            )
        runs[column] = numbers.astype(float)
    for column in ("n", "clients") if experiment == "fedande" else ():
        empty = runs[column].isna()
        if column == "n":
            empty &= runs["learner"] != "logistic"  # which has no superparents
        if empty.any():
            row = int(empty.to_numpy().argmax())
            raise ConfigurationError(f"{path}, data row {row + 1}: column {column} is empty")
    unknown = ~runs["status"].isin(STATUSES)
    if unknown.any():
        row = int(unknown.to_numpy().argmax())
        raise ConfigurationError(
            f"{path}, data row {row + 1}: status {runs['status'].iloc[row]!r}, expected one of "
            f"{', '.join(sorted(STATUSES))}"
        )
    return runs, experiment


def summary(folder: Path, written: list[Path]) -> str:
    """Lines that say where the tables, figures and claims are."""
    tables = sorted(path for path in written if path.parent.name == "tables" and path.suffix == ".md")
    pictures = sorted(path for path in written if path.suffix == ".png")
    claims = [path for path in written if path.name == "CLAIMS.md"]
    lines = [f"Report of {folder}:"]
    for title, paths in (("Tables", tables), ("Figures", pictures), ("Claims", claims)):
        lines += [f"{title}:", *(f"  {path}" for path in paths)] if paths else [f"{title}: none"]
    if tables:
        lines.append(
            "Each table is also there as .csv and .tex, each figure as .pdf with its caption in .md."
        )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns 0, or 2 when the folder holds no usable results."""
    parser = argparse.ArgumentParser(
        prog="python -m fedbayes.report",
        description="Make tables, figures and CLAIMS.md from runs.csv and manifest.json of a results folder.",
        epilog="Example: python -m fedbayes.report results/fedande",
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="results folder, written by fedbayes.run")
    folder = parser.parse_args(arguments).folder
    try:
        written = write_report(folder)
    except (FedbayesError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(summary(folder, written))
    return 0


if __name__ == "__main__":
    sys.exit(main())
