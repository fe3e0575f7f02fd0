"""Tables of the FedAnDE report: data sets, accuracy, macro-F1, cost, privacy, other settings, status."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from fedbayes.reporting import fedande_published as published
from fedbayes.reporting.fedande_series import (
    CELL,
    LEARNERS,
    REGIMES,
    Block,
    Study,
    model_name,
    summarise,
)
from fedbayes.reporting.partial import partial_note, title_of
from fedbayes.reporting.tables import MISSING, format_mean_sd, write_table

TITLES = {"accuracy": "Accuracy", "macro_f1": "Macro-F1"}


def title(study: Study, dataset: str) -> str:
    """Title of a data set with the words for partial data."""
    return title_of(dataset, study.facts, published.TITLES)


def table_1(study: Study, folder: Path) -> list[Path]:
    """Table 1: the paper's rows, attributes and classes beside ours."""
    paper = {dataset.name: dataset for dataset in published.TABLE_1}
    sizes = study.runs.groupby("dataset")[["rows", "attributes", "classes"]].max()
    records = []
    for name in [*paper, *(name for name in study.datasets if name not in paper)]:
        ours = sizes.loc[name] if name in sizes.index else pd.Series(dtype=float)
        theirs = paper.get(name)
        record = {
            "dataset": name,
            "title": title(study, name),
            "openml_id": theirs.openml_id if theirs else pd.NA,
        }
        for short, column in (("m", "rows"), ("d", "attributes"), ("o", "classes")):
            value = ours.get(column, math.nan)
            record[f"paper_{short}"] = getattr(theirs, column) if theirs else pd.NA
            record[f"ours_{short}"] = pd.NA if math.isnan(value) else int(value)
        pairs = [(record[f"paper_{short}"], record[f"ours_{short}"]) for short in "mdo"]
        if any(value is pd.NA for pair in pairs for value in pair):
            record["agreement"] = "not in the paper" if theirs is None else "not in these results"
        else:
            record["agreement"] = "same" if all(a == b for a, b in pairs) else "differs"
        facts = study.facts.get(name, {})
        record["source"] = facts.get("source", "")
        record["notes"] = "; ".join(facts.get("notes", []))
        records.append(record)
    caption = "Table 1. Data sets: rows (m), attributes (d) and classes (o) in the paper and here."
    return write_table(
        pd.DataFrame(records),
        folder,
        "table_1",
        caption=caption,
        notes=[partial_note(study.datasets, study.facts)],
        formats=dict.fromkeys(
            ("openml_id", "paper_m", "paper_d", "paper_o", "ours_m", "ours_d", "ours_o"), _whole
        ),
    )


def _whole(value: object) -> str:
    return MISSING if value is pd.NA or value is None else str(int(value))


def cell_table(study: Study, metric: str) -> pd.DataFrame:
    """Mean and spread of a metric for every planned cell of the shown variants, with what is missing and why.

    Returns
    -------
    DataFrame
        dataset, clients, regime, learner, n, model, variant, status, mean, sd, done, folds, seeds, failed,
        unavailable, skipped. `status` is done when no repeat is missing, partial when some are, else the reason.
    """
    counts = study.planned.groupby([*CELL, "status"]).size().unstack("status", fill_value=0)
    for status in ("done", "failed", "unavailable", "skipped"):
        if status not in counts:
            counts[status] = 0
    counts = counts[["done", "failed", "unavailable", "skipped"]].reset_index()
    means = summarise(study.main, metric).drop(columns="rows")
    table = counts.merge(means, on=CELL, how="left")
    table[["folds", "seeds"]] = table[["folds", "seeds"]].fillna(0).astype(int)
    table["model"] = [model_name(learner, n) for learner, n in zip(table["learner"], table["n"], strict=True)]
    table["variant"] = [
        study.variants.get(pair, "") for pair in zip(table["learner"], table["regime"], strict=True)
    ]
    lost = table[["failed", "unavailable", "skipped"]]
    table["status"] = np.where(
        lost.sum(axis=1) == 0,
        "done",
        np.where(table["done"] > 0, "partial", lost.to_numpy().argmax(axis=1).astype(str)),
    )
    table["status"] = table["status"].replace({"0": "failed", "1": "unavailable", "2": "skipped"})
    table = sort_cells(table, study.datasets)
    first = ["dataset", "clients", "regime", "learner", "n", "model", "variant", "status", "mean", "sd"]
    return table[[*first, "done", "folds", "seeds", "failed", "unavailable", "skipped"]].reset_index(
        drop=True
    )


def _rank(value: str) -> int:
    return (REGIMES + LEARNERS).index(value) if value in REGIMES + LEARNERS else 99


def sort_cells(table: pd.DataFrame, datasets: list[str]) -> pd.DataFrame:
    """Rows by data set (by size), clients, regime, learner and n, whichever of these columns there are."""
    ranks = {name: i for i, name in enumerate(datasets)}

    def key(column: pd.Series) -> pd.Series:
        if column.name == "dataset":
            return column.map(ranks)
        return column.map(_rank) if column.name in ("regime", "learner") else column

    by = [column for column in ("dataset", "clients", "regime", "learner", "n") if column in table]
    return table.sort_values(by, key=key, kind="stable").reset_index(drop=True)


def wide(
    table: pd.DataFrame, study: Study, show: Callable[[Mapping[str, Any]], str], lead: list[str]
) -> pd.DataFrame:
    """One line per `lead` (data set, clients, regime), one column per model, cells made by `show`."""
    models = table[["learner", "n", "model"]].drop_duplicates()
    models = sort_cells(models, [])
    lines: dict[tuple, dict[str, Any]] = {}
    for row in table.to_dict("records"):
        key = tuple(row[column] for column in lead)
        line = lines.setdefault(key, dict.fromkeys([*lead, *models["model"]], MISSING))
        line |= {column: row[column] for column in lead} | {row["model"]: show(row)}
        if "dataset" in lead:
            line["dataset"] = title(study, row["dataset"])
    names = {"dataset": "Data set", "clients": "C", "regime": "Regime"}
    return pd.DataFrame(list(lines.values()), columns=[*lead, *models["model"]]).rename(columns=names)


def metric_table(study: Study, metric: str, folder: Path) -> list[Path]:
    """Accuracy or macro-F1 of every cell: mean ± standard deviation over folds and seeds."""
    table = cell_table(study, metric)
    usual = table["done"].max()

    def show(row: Mapping[str, Any]) -> str:
        if not row["done"]:
            return row["status"]
        count = f" ({row['done']})" if row["done"] != usual else ""
        return format_mean_sd(row["mean"], row["sd"]) + count

    notes = [
        f"Mean ± standard deviation over folds x seeds ({repeats(study)}). A number in brackets counts the finished repeats "
        f"where they are not {usual}. A dash was not run; failed, unavailable and skipped cells say so "
        "(table status gives the reasons).",
        study.caption(),
        partial_note(study.datasets, study.facts),
    ]
    return write_table(
        table,
        folder,
        metric,
        caption=f"{TITLES[metric]} by data set, number of clients C and regime.",
        notes=notes,
        display=wide(table, study, show, ["dataset", "clients", "regime"]),
    )


def repeats(study: Study) -> str:
    """Folds x seeds of the finished rows: `5 x 1`, or the data sets of each such count."""
    counts: dict[str, list[str]] = {}
    for name in study.datasets:
        rows = study.main[study.main["dataset"] == name]
        if len(rows):
            counts.setdefault(f"{rows['fold'].nunique()} x {rows['seed'].nunique()}", []).append(name)
    if len(counts) < 2:
        return next(iter(counts), "none finished")
    return "; ".join(f"{count}: {', '.join(names)}" for count, names in counts.items())


def pool(block: Block, metric: str) -> pd.DataFrame:
    """Unweighted mean over the data sets of a block for each series and number of clients.

    Returns
    -------
    DataFrame
        clients, regime, learner, n, model, mean, sd, half_width, datasets. `sd` is the root mean square of the data
        sets' standard deviations over fold x seed. `half_width` is that of the 95 % t interval of the mean for
        these data sets: their squared standard errors summed, degrees of freedom by Welch and Satterthwaite.
    """
    columns = ["clients", "regime", "learner", "n", "model", "mean", "sd", "half_width", "datasets"]
    cells = (
        summarise(block.rows, metric)
        if len(block.rows)
        else pd.DataFrame(columns=[*CELL, "mean", "sd", "rows"])
    )
    records = []
    for (clients, regime, learner, n), group in cells.groupby(["clients", "regime", "learner", "n"]):
        records.append(
            {
                "clients": clients,
                "regime": regime,
                "learner": learner,
                "n": n,
                "model": model_name(learner, n),
                "mean": group["mean"].mean(),
                "sd": math.sqrt((group["sd"] ** 2).mean()),
                "half_width": half_width(group["sd"].to_numpy(), group["rows"].to_numpy()),
                "datasets": len(group),
            }
        )
    table = pd.DataFrame(records, columns=columns)
    return sort_cells(table, [])


def half_width(sds: np.ndarray, counts: np.ndarray) -> float:
    """Half width of the 95 % interval of a mean of means, each with its standard deviation and count.

    A mean of a single repeat is given the mean variance of the others; NaN when all are of single repeats.
    """
    sds, counts = np.asarray(sds, dtype=float), np.asarray(counts, dtype=float)
    several = counts > 1
    if not several.any():
        return math.nan
    variances = np.where(several, sds**2, (sds[several] ** 2).mean()) / counts
    total = variances.sum()
    if total == 0:
        return 0.0
    freedom = total**2 / (variances**2 / np.maximum(counts - 1, 1)).sum()
    return float(stdtrit(freedom, 0.975) * math.sqrt(total) / len(sds))


def pooled_table(study: Study, block: Block, metric: str, folder: Path) -> list[Path]:
    """Accuracy or macro-F1 averaged over the data sets that are complete across the compared series."""
    table = pool(block, metric)
    display = wide(table, study, lambda row: format_mean_sd(row["mean"], row["sd"]), ["clients", "regime"])
    display.insert(2, "Data sets", [len(block.datasets)] * len(display))
    notes = [
        block.note(),
        "Mean over data sets ± root mean square of their standard deviations over fold x seed.",
        study.caption(),
        partial_note(block.datasets, study.facts),
    ]
    return write_table(
        table,
        folder,
        f"{metric}_pooled",
        caption=f"{TITLES[metric]} averaged over data sets.",
        notes=notes,
        display=display,
    )


def status_table(study: Study, folder: Path) -> list[Path]:
    """How many rows are done, failed, unavailable or skipped, with the reasons of those that are not done."""
    runs = pd.concat([study.runs, study.baselines])
    counts = runs.groupby(["dataset", "status", "message"], sort=False).agg(
        rows=("cell", "size"), cells=("cell", "nunique"), n=("n", _range), clients=("clients", _range)
    )
    table = counts.reset_index()
    done = table["status"] == "done"
    merged = (
        runs[runs["status"] == "done"]
        .groupby("dataset", sort=False)
        .agg(rows=("cell", "size"), cells=("cell", "nunique"), n=("n", _range), clients=("clients", _range))
    )
    merged = merged.reset_index().assign(status="done", message="")
    table = pd.concat([merged, table[~done]], ignore_index=True)[
        ["dataset", "status", "rows", "cells", "n", "clients", "message"]
    ]
    order = {name: i for i, name in enumerate(study.datasets)}
    rank = {"done": 0, "failed": 1, "unavailable": 2, "skipped": 3}
    table = table.sort_values(
        ["dataset", "status", "message"],
        key=lambda c: c.map(order) if c.name == "dataset" else c.map(rank) if c.name == "status" else c,
        kind="stable",
    )
    total = ", ".join(f"{(runs['status'] == status).sum()} {status}" for status in rank)
    return write_table(
        table,
        folder,
        "status",
        caption=f"Rows of this folder by status: {total}.",
        notes=["Rows that are not done enter no mean and no test."],
    )


def _range(values: pd.Series) -> str:
    return ", ".join(str(int(value)) for value in sorted(values.dropna().unique()))
