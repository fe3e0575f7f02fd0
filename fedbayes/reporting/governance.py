"""The report of the governance experiment: tables, figures, claims and checks, from result files alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from fedbayes.errors import FedbayesError
from fedbayes.experiments.governance_rows import GAUSSIANS
from fedbayes.reporting.claims import write_claims
from fedbayes.reporting.figures import SUFFIXES
from fedbayes.reporting.files import remove_stale
from fedbayes.reporting.governance_checks import checks_table, failed, run_checks
from fedbayes.reporting.governance_claims import claims
from fedbayes.reporting.governance_controls import extra_tables, other_tables
from fedbayes.reporting.governance_figures import write_figures
from fedbayes.reporting.governance_format import Table
from fedbayes.reporting.governance_inconsistencies import inconsistencies_table
from fedbayes.reporting.governance_study import Study
from fedbayes.reporting.governance_tables import tables_of_paper
from fedbayes.result_frames import checked_table

TITLE = "Claims of the governance paper"

# all that this report can write, so that what no longer applies does not stay behind
TABLES = ["table_*", "*_levels", "*_controls"]
FIGURES = ["figure_*", "*_gradient*", "*_alignment*", "*_weights*"]


def write(folder: Path, runs: pd.DataFrame, manifest: Mapping[str, Any]) -> list[Path]:
    """Write the report of one results folder into it.

    Parameters
    ----------
    folder : Path
        Gets `tables/`, `figures/` and `CLAIMS.md`; its `node_gaussians.csv` is read where there is one.
    runs : DataFrame
        Rows of runs.csv, numbers as floats.
    manifest : mapping
        Its invocations tell which data are complete.

    Returns
    -------
    list of Path
        All files written.

    Raises
    ------
    FedbayesError
        After everything is written, when an invariant among the named checks does not hold.
    """
    folder = Path(folder)
    study = read_study(folder, runs, manifest)
    checks = run_checks(study)
    tables = [*_tables(study), checks_table(study, checks)]
    written = [path for table in tables for path in table.write(folder)]
    written += write_figures(study, folder)
    remove_stale(folder / "tables", TABLES, written, (".csv", ".md", ".tex"))
    remove_stale(folder / "figures", FIGURES, written, SUFFIXES)
    written.append(write_claims(folder, claims(study, checks), title=TITLE, preface=_preface(study)))
    wrong = failed(checks)
    if wrong:
        details = "; ".join(f"{check.name}: {check.detail}" for check in wrong)
        raise FedbayesError(f"{folder}: {len(wrong)} checks failed ({details}); see tables/table_checks.md")
    return written


def read_study(folder: Path, runs: pd.DataFrame, manifest: Mapping[str, Any]) -> Study:
    """Sort rows, manifest and Gaussians of a folder into a `Study`."""
    from fedbayes.manifest_file import dataset_facts

    path = Path(folder) / "node_gaussians.csv"
    gaussians = (
        checked_table(path, GAUSSIANS) if path.is_file() else pd.DataFrame(columns=["cell", "feature"])
    )
    return Study(runs=runs, facts=dataset_facts(manifest), gaussians=gaussians)


def _tables(study: Study) -> list[Table]:
    if study.others and not study.of_paper:
        # a quick start: the paper's tables would be empty
        return other_tables(study)
    return [
        *tables_of_paper(study),
        *extra_tables(study),
        inconsistencies_table(study),
        *other_tables(study),
    ]


def _preface(study: Study) -> list[str]:
    partial = study.partial(series.dataset for series in study.of_paper)
    lines = [
        f"Decided by the rows of these settings: {study.chosen_label}. Each reading of the node score (`paper`: two posteriors "
        "over a prior, as printed; `density`: a joint density) has an outcome of its own: where both agree, that is "
        "the verdict; where they differ it is 'partly' and the note says which is which. Only complete data sets "
        "decide; what is said of all three is at best 'partly' while one is partial or missing.",
        f"{partial[0].upper()}{partial[1:]}." if partial else "",
    ]
    if study.missing:
        lines.append("Missing: " + " ".join(study.missing))
    if study.others:
        titles = ", ".join(dict.fromkeys(series.title for series in study.others))
        lines.append(f"Not one of the paper's data sets, so no claim rests on them: {titles}.")
    return lines
