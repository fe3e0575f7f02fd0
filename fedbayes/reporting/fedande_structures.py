"""What a few superparent sets cost in accuracy and save in traffic and time, against all of them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fedbayes.reporting.fedande_series import REPEAT, Study, model_name, parse_settings
from fedbayes.reporting.fedande_tables import sort_cells
from fedbayes.reporting.partial import partial_note
from fedbayes.reporting.tables import write_table

NAME = "structures"
OWN = ("max_structures", "structure_choice")


def structure_table(study: Study, folder: Path) -> list[Path]:
    """Write the table; nothing where every row is of all structures."""
    rows = study.runs[(study.runs["status"] == "done") & (study.runs["n"] > 0)].copy()
    settings = [parse_settings(text) for text in rows["settings"]]
    rows["limit"] = [float(entry.get("max_structures", "inf")) for entry in settings]
    rows["choice"] = [entry.get("structure_choice", "all") for entry in settings]
    rows["rest"] = [
        ";".join(f"{name}={value}" for name, value in entry.items() if name not in OWN) for entry in settings
    ]
    if not (rows["choice"] != "all").any():
        return []
    rows["epsilon"] = rows["epsilon"].fillna(-1.0)  # not applicable: a group of its own
    rows["megabytes"] = (rows["bytes_up"] + rows["bytes_down"]) / 1e6
    values = ["accuracy", "log_loss", "megabytes", "parameters", "fit_seconds", "predict_seconds"]
    key = ["dataset", "clients", "regime", "learner", "n", "partition", "protocol", "epsilon", "rest"]
    records = []
    for name, group in rows.groupby(key, sort=True):
        whole = group[group["choice"] == "all"].set_index(REPEAT)["accuracy"]
        for (choice, limit), part in group.groupby(["choice", "limit"], sort=True):
            paired = part.set_index(REPEAT)["accuracy"] - whole
            records.append(
                dict(zip(key, name, strict=True))
                | {"choice": choice, "max_structures": limit}
                | part[values].mean().to_dict()
                | {"difference": paired.mean(), "paired": int(paired.notna().sum()), "repeats": len(part)}
            )
    table = sort_cells(pd.DataFrame(records), study.datasets)
    table["model"] = [model_name(learner, n) for learner, n in zip(table["learner"], table["n"], strict=True)]
    table["epsilon"] = table["epsilon"].where(table["epsilon"] > 0)
    table = table[
        ["dataset", "clients", "regime", "model", "epsilon", "rest", "choice", "max_structures", "accuracy",
         "difference", "log_loss", "parameters", "megabytes", "fit_seconds", "predict_seconds", "paired", "repeats"]
    ].rename(columns={"rest": "settings"})  # fmt: skip
    return write_table(
        table,
        folder,
        NAME,
        caption="A few superparent sets against all of them.",
        notes=[
            "random: drawn from the cell's seed, the same for all clients; information: those with the highest mutual "
            "information with the class in the training rows. A federation counts for the latter in a round of its "
            "own, which is in the megabytes and, where there is noise, in Delta; clients on their own choose by "
            "their own rows. Difference: accuracy minus that of all sets, on the same folds and seeds. "
            "Megabytes: up and down, all clients and rounds.",
            partial_note(study.datasets, study.facts),
        ],
        formats={"parameters": lambda value: f"{value:.0f}", "max_structures": _whole},
    )


def _whole(value: object) -> str:
    return "all" if value == float("inf") else f"{value:.0f}"
