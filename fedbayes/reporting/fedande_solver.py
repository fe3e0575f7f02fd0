"""How much the local discriminative models depend on their optimiser and its cap."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from fedbayes.reporting.fedande_series import REPEAT, Study
from fedbayes.reporting.fedande_tables import sort_cells
from fedbayes.reporting.partial import partial_note
from fedbayes.reporting.tables import write_table

KEYS = ["dataset", "clients", "n"]


def solver_tables(study: Study, folder: Path) -> list[Path]:
    """Tables `local_solver` (each cell) and `local_solver_summary`, when there are two settings or more."""
    rows = study.runs
    rows = rows[
        (rows["status"] == "done")
        & (rows["regime"] == "local")
        & (rows["learner"] == "discriminative")
        & (rows["shared"] == study.shared)
    ]
    solvers = sorted(rows["own"].unique(), key=lambda solver: ("newton" not in solver, solver))
    if len(solvers) < 2:
        return []
    reference = solvers[0] if "newton" in solvers[0] else study.variants["discriminative", "local"]
    table = _cells(study, rows, solvers, reference)
    if not len(table):
        return []
    name = _name(reference)
    notes = [
        f"Difference: accuracy minus that of {name}, on the folds and seeds common to all solvers of a cell. Where a "
        'client\'s data are separable the likelihood has no finite maximum, and the accuracy of "the converged model" '
        "depends on the optimiser's path.",
        partial_note(study.datasets, study.facts),
    ]
    written = write_table(
        table,
        folder,
        "local_solver",
        caption="Sensitivity of the local discriminative models to their optimiser.",
        notes=notes,
        formats={"iterations": lambda value: "–" if math.isnan(value) else f"{value:.1f}"},
    )
    return written + write_table(
        _summary(table[table["solver"] != name]),
        folder,
        "local_solver_summary",
        caption=f"Accuracy of the local discriminative models against {name}, over cells of data set x C.",
        notes=[
            "Separable: cells in which most fits of a client and structure have separable data, where the results say "
            "so.",
            *notes,
        ],
    )


def _name(solver: str) -> str:
    return solver or "lbfgs, at most 15000 iterations"


def _cells(study: Study, rows: pd.DataFrame, solvers: list[str], reference: str) -> pd.DataFrame:
    # a finished row may carry the share of its fits with separable data as separable=0.4
    share = rows["message"].str.extract(r"\bseparable=([0-9.]+)", expand=False).astype(float)
    separable = share.groupby([rows[key] for key in KEYS]).mean()
    values = ["accuracy", "iterations", "fit_seconds"]
    wide = rows.pivot_table(index=[*KEYS, *REPEAT], columns="own", values=values)
    records = []
    for key, group in wide.groupby(level=KEYS, sort=True):
        here = [solver for solver in solvers if group["accuracy", solver].notna().any()]
        if reference not in here or len(here) < 2:
            continue
        common = group[group["accuracy"][here].notna().all(axis=1)]
        means = common.mean()
        for solver in sorted(here, key=lambda s: (s != reference, s)):
            records.append(
                dict(zip(KEYS, key, strict=True))
                | {
                    "solver": _name(solver),
                    "accuracy": means["accuracy", solver],
                    "difference": means["accuracy", solver] - means["accuracy", reference],
                    "iterations": means.get(("iterations", solver), math.nan),
                    "fit_seconds": means.get(("fit_seconds", solver), math.nan),
                    "repeats": len(common),
                    "separable": separable[key],
                }
            )
    table = pd.DataFrame(records)
    if not len(table):
        return table
    return sort_cells(
        table if table["separable"].notna().any() else table.drop(columns="separable"), study.datasets
    )


def _summary(table: pd.DataFrame) -> pd.DataFrame:
    groups = {"all": table.index == table.index}
    if "separable" in table:
        groups["separable"] = table["separable"] > 0.5
        groups["not separable"] = table["separable"] <= 0.5
    records = []
    for solver in table["solver"].unique():
        for words, chosen in groups.items():
            for n, part in table[chosen & (table["solver"] == solver)].groupby("n"):
                difference = part["difference"]
                records.append(
                    {
                        "solver": solver,
                        "cells": words,
                        "n": n,
                        "count": len(part),
                        "datasets": part["dataset"].nunique(),
                        "mean_difference": difference.mean(),
                        "mean_absolute": difference.abs().mean(),
                        "largest_absolute": difference.abs().max(),
                        "within_half_a_point": (difference.abs() <= 0.005).mean(),
                    }
                )
    return pd.DataFrame(records)
