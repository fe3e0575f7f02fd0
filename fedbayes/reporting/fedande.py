"""Report of the FedAnDE experiment: tables, Figures 1 to 4 and claims."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from fedbayes.manifest_file import dataset_facts
from fedbayes.reporting import (
    fedande_baselines,
    fedande_claims,
    fedande_convergence,
    fedande_costs,
    fedande_figures,
    fedande_ranks,
    fedande_solver,
    fedande_structures,
    fedande_tables,
)
from fedbayes.reporting.fedande_series import build_study, complete_block
from fedbayes.reporting.figures import SUFFIXES
from fedbayes.reporting.files import remove_stale

# all that this report can write, so that what no longer applies does not stay behind
TABLES = [
    "table_1", "accuracy", "accuracy_pooled", "macro_f1", "macro_f1_pooled", "ranks", "friedman", "pairwise",
    "seconds", "communication", "iterations", "privacy", "privacy_budget", "local_solver", "local_solver_summary",
    "other_settings", "status",
    fedande_baselines.NAME, fedande_structures.NAME, fedande_convergence.NAME,
]  # fmt: skip
FIGURES = ["figure_*", fedande_baselines.NAME, fedande_convergence.NAME]


def write(folder: Path, runs: pd.DataFrame, manifest: Mapping[str, Any]) -> list[Path]:
    """Write everything that the rows allow into `folder`.

    Parameters
    ----------
    folder : Path
        Results folder; tables go to `tables`, figures to `figures`, `CLAIMS.md` beside them.
    runs : DataFrame
        The rows of `runs.csv`.
    manifest : mapping
        The content of `manifest.json`; only the facts about data sets are used.

    Returns
    -------
    list of Path
        The files written.
    """
    folder = Path(folder)
    study = build_study(runs, dataset_facts(manifest))
    block = complete_block(study.main)
    written = fedande_tables.table_1(study, folder)
    for metric in ("accuracy", "macro_f1"):
        written += fedande_tables.metric_table(study, metric, folder)
        if block.datasets:
            written += fedande_tables.pooled_table(study, block, metric, folder)
    written += fedande_ranks.rank_tables(study, block, folder)
    written += fedande_costs.cost_tables(study, folder)
    written += fedande_costs.privacy_tables(study, folder)
    written += fedande_solver.solver_tables(study, folder)
    written += fedande_costs.other_settings_table(study, folder)
    written += fedande_tables.status_table(study, folder)
    written += fedande_baselines.baseline_report(study, folder)
    written += fedande_structures.structure_table(study, folder)
    written += fedande_convergence.convergence_report(study, folder)
    remove_stale(folder / "tables", TABLES, written, (".csv", ".md", ".tex"))
    written += fedande_figures.figure_1(study, block, folder)
    written += fedande_figures.figure_2(study, folder)
    written += fedande_figures.per_dataset_figures(study, folder)
    remove_stale(folder / "figures", FIGURES, written, SUFFIXES)
    written.append(fedande_claims.write(folder, study, block))
    return written
