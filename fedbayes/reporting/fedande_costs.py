"""Tables of the FedAnDE report beyond the main series: time, traffic, iterations, privacy, other settings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from fedbayes.reporting import fedande_published as published
from fedbayes.reporting.fedande_series import CELL, Study, model_name, parse_settings, summarise
from fedbayes.reporting.fedande_tables import sort_cells, title, wide
from fedbayes.reporting.partial import partial_note
from fedbayes.reporting.tables import MISSING, format_mean_sd, write_table


def cost_tables(study: Study, folder: Path) -> list[Path]:
    """Seconds to fit and predict, bytes sent, and optimiser iterations of every cell."""
    rows = study.main
    if not len(rows):
        return []
    values = [
        "fit_seconds",
        "predict_seconds",
        "bytes_up",
        "bytes_down",
        "parameters",
        "iterations",
        "rounds",
    ]
    table = rows.groupby(CELL, sort=True)[values].mean().reset_index()
    table["repeats"] = rows.groupby(CELL, sort=True).size().to_numpy()
    table["model"] = [model_name(learner, n) for learner, n in zip(table["learner"], table["n"], strict=True)]
    table = sort_cells(table, study.datasets)
    notes = [study.caption(), partial_note(study.datasets, study.facts)]
    lead = ["dataset", "clients", "regime"]
    key = [*CELL, "model"]
    written = write_table(
        table[[*key, "fit_seconds", "predict_seconds", "repeats"]],
        folder,
        "seconds",
        caption="Mean seconds to fit / to predict one fold, all clients together.",
        notes=[
            "Wall time of the run itself, on whatever else the machine did: compare orders of magnitude.",
            *notes,
        ],
        display=wide(
            table, study, lambda r: f"{_short(r['fit_seconds'], 2)} / {_short(r['predict_seconds'], 2)}", lead
        ),
    )
    sent = table[table["regime"] == "federated"]
    if len(sent):
        written += write_table(
            sent[[*key, "parameters", "rounds", "bytes_up", "bytes_down", "repeats"]],
            folder,
            "communication",
            caption="Megabytes sent up / down in one training, 8 bytes a number, over all clients and rounds.",
            notes=notes,
            display=wide(
                sent,
                study,
                lambda r: f"{_short(r['bytes_up'] / 1e6)} / {_short(r['bytes_down'] / 1e6)}",
                lead,
            ),
        )
    optimised = table[(table["learner"] == "discriminative") & table["iterations"].notna()]
    if len(optimised):
        written += write_table(
            optimised[[*key, "iterations", "rounds", "repeats"]],
            folder,
            "iterations",
            caption="Mean optimiser iterations per client and structure, over all rounds.",
            notes=notes,
            display=wide(optimised, study, lambda r: _short(r["iterations"]), lead),
        )
    return written


def _short(value: float, significant: int = 3) -> str:
    """A few significant digits without an exponent, whole numbers in full, a dash for missing."""
    if math.isnan(value):
        return MISSING
    if value == int(value):
        return str(int(value))
    digits = max(0, significant - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 6)}f}"


def other_settings_table(study: Study, folder: Path) -> list[Path]:
    """Every finished series that the main tables do not show, with its settings."""
    rows = study.others
    if not len(rows):
        return []
    rows = rows.assign(variant=[_variant(row) for row in rows.itertuples(index=False)])
    by = [*CELL, "variant"]
    table = summarise(rows, "accuracy", by)
    table["macro_f1"] = summarise(rows, "macro_f1", by)["mean"]
    table["model"] = [model_name(learner, n) for learner, n in zip(table["learner"], table["n"], strict=True)]
    table = sort_cells(table, study.datasets)[
        [
            "dataset",
            "clients",
            "regime",
            "model",
            "variant",
            "mean",
            "sd",
            "macro_f1",
            "rows",
            "folds",
            "seeds",
        ]
    ]
    return write_table(
        table.rename(columns={"mean": "accuracy"}),
        folder,
        "other_settings",
        caption="Series with settings other than those of the main tables: accuracy (mean, sd) and macro-F1.",
        notes=[
            study.caption() or "The main tables show the paper's settings.",
            partial_note(study.datasets, study.facts),
        ],
    )


def _variant(row: object) -> str:
    return ", ".join(words for words in (row.shared, row.own) if words) or "the paper's settings"


def privacy_tables(study: Study, folder: Path) -> list[Path]:
    """Accuracy of the noisy federated generative models by epsilon, and what all releases cost together."""
    rows = study.runs
    rows = rows[
        (rows["status"] == "done")
        & (rows["regime"] == "federated")
        & (rows["learner"] == "generative")
        & (rows["shared"] == study.shared)
        & rows["epsilon"].notna()
    ]
    if not len(rows):
        return []
    table = sort_cells(summarise(rows, "accuracy", [*CELL, "epsilon"]), study.datasets)
    table["model"] = [model_name("generative", n) for n in table["n"]]
    attributes = table["dataset"].map(rows.groupby("dataset")["attributes"].max())
    settings = parse_settings(rows["settings"].iloc[0])  # these rows share what concerns structures
    table["sensitivity"] = [_sensitivity(n, d, settings) for n, d in zip(table["n"], attributes, strict=True)]
    epsilons = sorted(table["epsilon"].unique())
    lines = []
    for (dataset, clients, model), group in table.groupby(["dataset", "clients", "model"], sort=False):
        cells = {row.epsilon: format_mean_sd(row.mean, row.sd) for row in group.itertuples(index=False)}
        line = {
            "Data set": title(study, dataset),
            "C": clients,
            "Model": model,
            "Δ": _short(group["sensitivity"].iloc[0]),
        }
        lines.append(line | {f"ε = {_epsilon(value)}": cells.get(value, MISSING) for value in epsilons})
    order = [
        "dataset",
        "clients",
        "n",
        "model",
        "epsilon",
        "sensitivity",
        "mean",
        "sd",
        "rows",
        "folds",
        "seeds",
    ]
    written = write_table(
        table[order],
        folder,
        "privacy",
        caption="Accuracy of the federated generative models by epsilon.",
        notes=[
            "Each client adds Laplace(Δ/ε) to every count, Δ = 1 + S(1 + d - n) with S = C(d,n) structures or as "
            "many as are chosen, and 1 more for every set of attributes counted to choose them by information; ε = ∞ is "
            "without noise. Mean ± standard deviation over folds x seeds.",
            "Noise from floating-point numbers is a simulation of the mechanism, not a protection of real data.",
            partial_note(study.datasets, study.facts),
        ],
        display=pd.DataFrame(lines),
    )
    return written + ledger_table(study, folder)


def _sensitivity(n: int, attributes: float, settings: Mapping[str, str]) -> float:
    """What the noise was scaled by: the counts of the model, and those that its structures were chosen by."""
    from fedbayes.federated.privacy import sensitivity
    from fedbayes.models.engine.structure_choice import most_sets_counted

    if math.isnan(attributes):
        return math.nan
    d = int(attributes)
    limit = int(settings.get("max_structures", math.comb(d, n)))
    if limit >= math.comb(d, n):
        return float(sensitivity(n, d))
    counted = most_sets_counted(d, n, limit) if settings.get("structure_choice") == "information" else 0
    return float(sensitivity(n, d, limit) + counted)


def _epsilon(value: float) -> str:
    return "∞" if np.isinf(value) else f"{value:g}"


def ledger_table(study: Study, folder: Path) -> list[Path]:
    """Epsilon that one data set's rows have spent when all the releases of this folder are put together."""
    rows = study.runs
    rows = rows[
        (rows["status"] == "done")
        & (rows["regime"] == "federated")
        & (rows["learner"] == "generative")
        & np.isfinite(rows["epsilon"])
    ]
    records = []
    for dataset in study.datasets:
        here = rows[rows["dataset"] == dataset]
        if not len(here):
            continue
        spent = releases = 0.0
        for (settings, epsilon), group in here.groupby(["settings", "epsilon"]):
            value = parse_settings(settings).get("folds", "")
            folds = int(value) if value.isdigit() else published.FOLDS
            # a row is in the training part of all folds but one
            trainings = group.groupby(["cell"])["fold"].nunique().clip(upper=folds - 1).sum()
            releases += trainings
            spent += trainings * epsilon
        records.append(
            {
                "dataset": dataset,
                "releases": int(releases),
                "epsilon_per_release": ", ".join(f"{value:g}" for value in sorted(here["epsilon"].unique())),
                "epsilon_total": spent,
            }
        )
    if not records:
        return []
    return write_table(
        pd.DataFrame(records),
        folder,
        "privacy_budget",
        caption="Epsilon composed over all releases made from the same rows.",
        notes=[
            "Clients hold disjoint rows, so epsilon does not add over clients. It does add over folds, seeds, client "
            "numbers and orders of one data set: a row is in the training part of all folds but one of every cell, "
            "and each training is one release. The total is the guarantee that holds for one row if everything in "
            "this folder were published; a single trained model has the epsilon of one release.",
        ],
        digits=1,
    )
