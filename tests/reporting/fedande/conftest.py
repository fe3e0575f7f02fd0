"""Synthetic results of the FedAnDE grid: rows as the runner writes them, from a simple formula and no data."""

import json
import zlib

import numpy as np
import pandas as pd
import pytest

from fedbayes.reporting.fedande_published import TABLE_1

COLUMNS = [
    "cell",
    "dataset",
    "rows",
    "attributes",
    "classes",
    "clients",
    "partition",
    "n",
    "learner",
    "regime",
    "protocol",
    "epsilon",
    "seed",
    "fold",
    "settings",
    "status",
    "accuracy",
    "macro_f1",
    "log_loss",
    "accuracy_client_std",
    "parameters",
    "bytes_up",
    "bytes_down",
    "rounds",
    "iterations",
    "fit_seconds",
    "predict_seconds",
    "message",
]


def make_runs(
    datasets=("car", "tic-tac-toe"),
    clients=(5, 20),
    orders=(0, 1),
    seeds=(42,),
    folds=5,
    epsilons=(1.0,),
    local_settings=("local_max_iterations=200",),
):
    """One row for each cell and fold; accuracies from a formula with a small, reproducible disturbance."""
    sizes = {dataset.name: dataset for dataset in TABLE_1}
    rows = []
    for position, name in enumerate(datasets):
        size = sizes.get(name)
        facts = (size.rows, size.attributes, size.classes) if size else (500 + position, 7, 2)
        for c in clients:
            for n in orders:
                for learner in ("generative", "discriminative"):
                    for regime in ("local", "federated"):
                        noisy = learner == "generative" and regime == "federated"
                        trained = learner == "discriminative" and regime == "local"
                        for epsilon in epsilons if noisy else ("",):
                            for settings in local_settings if trained else ("",):
                                cell = f"{name}/{c}/{n}/{learner}/{regime}/{epsilon}/{settings}"
                                for seed in seeds:
                                    for fold in range(folds):
                                        rows.append(
                                            _row(
                                                cell,
                                                name,
                                                facts,
                                                c,
                                                n,
                                                learner,
                                                regime,
                                                epsilon,
                                                seed,
                                                fold,
                                                settings,
                                            )
                                        )
    return pd.DataFrame(rows, columns=COLUMNS)


def _row(cell, name, facts, c, n, learner, regime, epsilon, seed, fold, settings):
    rng = np.random.default_rng(zlib.crc32(f"{cell}/{seed}/{fold}".encode()))
    weighted, federated = learner == "discriminative", regime == "federated"
    value = 0.70 + 0.02 * (len(name) % 5) + 0.04 * n + 0.05 * weighted
    value -= (0.01 if federated else 0.03) * np.log2(c / 5 + 1) * (1 + 0.3 * n)
    if epsilon == 1.0:
        value -= 0.08 * n * n + 0.01
    value = float(np.clip(value + 0.01 * rng.standard_normal(), 0.02, 0.999))
    numbers = 8 * c * facts[1] ** (n + 1)
    return {
        "cell": f"{zlib.crc32(f'{cell}/{seed}'.encode()):08x}",
        "dataset": name, "rows": facts[0], "attributes": facts[1], "classes": facts[2],
        "clients": c, "partition": "stratified", "n": n, "learner": learner, "regime": regime,
        "protocol": "paper", "epsilon": epsilon, "seed": seed, "fold": fold, "settings": settings,
        "status": "done", "accuracy": value, "macro_f1": value - 0.05, "log_loss": 1 - value,
        "accuracy_client_std": 0.01, "parameters": numbers // c,
        "bytes_up": numbers * 10 if federated else 0, "bytes_down": numbers * 10 if federated else 0,
        "rounds": (10 if weighted else 1) if federated else 0,
        "iterations": 37.5 if weighted else "", "fit_seconds": 0.01 * 7**n * (1 + weighted),
        "predict_seconds": 0.002 * 3**n, "message": "",
    }  # fmt: skip


def make_manifest(runs, partial=()):
    datasets = {}
    for name, rows in runs.groupby("dataset"):
        datasets[name] = {
            "title": name.title(), "fingerprint": "0" * 64, "complete": name not in partial, "source": "rules",
            "rows": int(rows["rows"].max() or 0), "attributes": int(rows["attributes"].max()),
            "classes": int(rows["classes"].max()), "notes": [],
        }  # fmt: skip
    return {
        "format": 1,
        "invocations": [{"experiment": "fedande", "name": "quickstart", "datasets": datasets}],
    }


def write_results(folder, runs, manifest=None):
    folder.mkdir(parents=True, exist_ok=True)
    runs.to_csv(folder / "runs.csv", index=False)
    text = json.dumps(make_manifest(runs) if manifest is None else manifest)
    (folder / "manifest.json").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def synthetic():
    """The makers above as one object."""

    class Makers:
        runs = staticmethod(make_runs)
        manifest = staticmethod(make_manifest)
        results = staticmethod(write_results)

    return Makers
