"""Tables, figures and claims from a folder of results: python -m fedbayes.report FOLDER.

Only the CSV files and `manifest.json` of the folder are read; no data are needed.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from fedbayes.console import say
from fedbayes.errors import FedbayesError
from fedbayes.manifest_file import read_manifest
from fedbayes.result_frames import checked_runs


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
        When the folder or its `runs.csv` is missing, empty or not a results file of this package, and when
        a row holds what no run can have written.
    """
    folder = Path(folder)
    runs, experiment = checked_runs(folder)
    writer = importlib.import_module(f"fedbayes.reporting.{experiment}")
    return writer.write(folder, runs, read_manifest(folder))


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
        say(f"error: {error}", sys.stderr)
        return 2
    say(summary(folder, written))
    return 0


if __name__ == "__main__":
    sys.exit(main())
