"""The governance experiment: one data set, partition and seed; six proposals; both readings of the score.

The order is that of the paper: split 60/20/20, deal the training rows to the nodes, fit a model on each node
and one on all rows, set the nodes' weights by each proposal, and compare the mixtures on the test rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from fedbayes.data.dataset import MixedDataset
from fedbayes.errors import ConfigurationError
from fedbayes.evaluation import accuracy, macro_f1, mcnemar, predict_labels
from fedbayes.experiments.governance_nodes import Nodes, fit_nodes
from fedbayes.experiments.governance_rows import RUNS
from fedbayes.experiments.governance_settings import PROPOSALS, READINGS, GovernanceSettings
from fedbayes.experiments.governance_split import split_rows
from fedbayes.federated.governance import entropy_weights, icc_values, size_weights, target_weights
from fedbayes.federated.mixture import (
    absent_pairs,
    log_posterior,
    mixture_log_likelihood,
    negative_log_likelihood,
)
from fedbayes.federated.weight_learning import Objective, learn_weights, starting_points
from fedbayes.randomness import generator


class CellResult(NamedTuple):
    """Rows of one cell; the caller adds ``cell`` and ``status``."""

    rows: list[dict[str, Any]]
    gaussians: list[dict[str, Any]]


def run_group(
    dataset: MixedDataset,
    *,
    clients: int,
    alpha: float,
    seed: int,
    readings: Sequence[str] = READINGS,
    settings: GovernanceSettings | None = None,
) -> dict[str, CellResult]:
    """Compute the cells that differ in their reading only: one split, one partition, one set of fits.

    Parameters
    ----------
    dataset : MixedDataset
    clients : int
        Must be the number of ``settings.nodes``.
    alpha : float
        Concentration of the Dirichlet partition.
    seed : int
        Of the split; partition and optimiser starts draw from generators of their own.
    readings : sequence of {"paper", "density"}
    settings : GovernanceSettings, optional

    Returns
    -------
    dict
        Reading to `CellResult`: one row per proposal in the order of `PROPOSALS`, with all columns of
        `governance_rows.RUNS` but ``cell`` and ``status``, and the nodes' Gaussians with those of
        `governance_rows.GAUSSIANS` but ``cell`` (raw units; ``weight`` is the node's under proposal A).

    Raises
    ------
    PartitionError
        When ``redraw_min_rows`` is out of reach; a ValueError whose text belongs into ``message``.
    ValueError
        When a class is too rare to be split.
    ConfigurationError
        When ``clients`` is not the number of nodes.
    """
    settings = settings or GovernanceSettings()
    if clients != len(settings.nodes):
        raise ConfigurationError(f"clients={clients}: {len(settings.nodes)} node profiles are configured")
    split = split_rows(dataset.y, seed, settings.validation_rows)
    nodes = fit_nodes(dataset, split.training, alpha, seed, settings)
    started = perf_counter()
    columns = dataset.X_categorical, dataset.X_numeric
    validation = [model.joint_parts(*columns, rows=split.validation) for model in nodes.models]
    scoring_seconds = perf_counter() - started
    test = [model.joint_parts(*columns, rows=split.test) for model in nodes.models]
    central = nodes.central.joint_parts(*columns, rows=split.test)
    constants = {
        "dataset": dataset.name, "rows": int(dataset.y.size), "classes": len(dataset.class_names),
        "clients": clients, "alpha": float(alpha), "seed": int(seed), "settings": settings.text(),
        "jsd": nodes.jsd, "absent_classes": absent_pairs(nodes.label_counts), "message": nodes.message,
    }  # fmt: skip
    results = {}
    for reading in readings:
        learned = _learn(
            nodes, _combined(nodes, validation, reading), dataset.y[split.validation], seed, settings
        )
        scores = _combined(nodes, test, reading)
        posteriors = {
            name: log_posterior(mixture_log_likelihood(scores, weights[nodes.active]))
            for name, (weights, _, _) in learned.items()
        }
        posteriors["C"] = log_posterior(nodes.central.combine(*central, reading))
        truth = dataset.y[split.test]
        labels = {name: predict_labels(np.exp(posterior)) for name, posterior in posteriors.items()}
        rows = []
        for name in PROPOSALS:
            weights, objective, seconds = learned.get(name, (None, "", 0.0))
            base = nodes.central_seconds if name == "C" else nodes.fit_seconds
            row = constants | {"reading": reading, "proposal": name}
            row |= _measures(truth, labels[name], posteriors[name])
            row |= {"weights": _joined(weights), "objective": objective}
            row |= _against_baseline(truth, labels, name, settings.mcnemar)
            row |= {"fit_seconds": base + seconds + (scoring_seconds if objective != "" else 0.0)}
            rows.append(_finite(row))
        results[reading] = CellResult(rows, _gaussians(dataset, nodes, settings, learned["A"][0]))
    return results


def cost(rows: int, attributes: int, classes: int, clients: int = 3, readings: int = 2) -> float:
    """Rough seconds on one core for one group of cells."""
    scores = 4e-9 * rows * attributes * (1 + classes / 4) * (1 + clients / 3)
    return 0.1 + 6e-7 * rows + scores + readings * (0.1 * clients + 2e-8 * rows * classes * clients)


def _combined(nodes: Nodes, parts: list[tuple[np.ndarray, np.ndarray]], reading: str) -> np.ndarray:
    """Scores (active nodes, rows, classes) of one reading."""
    return np.stack([model.combine(*part, reading) for model, part in zip(nodes.models, parts, strict=True)])


def _learn(
    nodes: Nodes, scores: np.ndarray, truth: np.ndarray, seed: int, settings: GovernanceSettings
) -> dict[str, tuple[np.ndarray, Any, float]]:
    """Weights of all nodes, objective (or "") and seconds, for every proposal that mixes nodes."""
    icc, active = icc_values(settings.nodes), nodes.active
    target = target_weights(icc, settings.target, active)
    reversed_target = target_weights(icc[::-1], settings.target, active)
    learned = {
        "B": (size_weights(nodes.label_counts), "", 0.0),
        "E": (entropy_weights(nodes.label_counts), "", 0.0),
    }
    variants = {"A": (target, nodes.penalty), "A0": (target, 0.0), "AR": (reversed_target, nodes.penalty)}
    for name, (pull, penalty) in variants.items():
        started = perf_counter()
        starts = starting_points(pull[active], generator(seed, "governance starts"), settings.random_starts)
        best = learn_weights(
            Objective(scores, truth, pull[active], penalty),
            starts,
            floor=settings.floor,
            projection=settings.projection,
            max_iterations=settings.max_iterations,
        )
        weights = np.zeros(active.size)
        weights[active] = best.weights
        learned[name] = weights, best.objective, perf_counter() - started
    return learned


def _measures(truth: np.ndarray, labels: np.ndarray, posterior: np.ndarray) -> dict[str, float]:
    losses = negative_log_likelihood(posterior, truth)
    return {
        "accuracy": accuracy(truth, labels),
        "macro_f1": macro_f1(truth, labels, posterior.shape[1]),
        "anll_mean": float(losses.mean()),
        "anll_median": float(np.median(losses)),
    }


def _against_baseline(truth: np.ndarray, labels: dict, name: str, method: str) -> dict[str, Any]:
    """Discordant counts and test of a proposal (first) against B (second); all empty for B."""
    columns = RUNS.columns
    keys = columns[columns.index("versus") : columns.index("absent_classes")]
    if name == "B":
        return dict.fromkeys(keys, "")
    first, second = labels[name] == truth, labels["B"] == truth
    counts = [int((a & b).sum()) for a, b in ((first, second), (first, ~second), (~first, second))]
    counts.append(int((~first & ~second).sum()))
    return dict(zip(keys, ("B", *counts, *mcnemar(*counts, method=method)), strict=True))


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """The row, unless a number in it is NaN or infinite."""
    for name, value in row.items():
        if isinstance(value, float) and not np.isfinite(value):
            raise ValueError(f"{name} of proposal {row['proposal']} is {value}, a finite number was expected")
    return row


def _joined(weights: np.ndarray | None) -> str:
    return "" if weights is None else ";".join(repr(float(weight)) for weight in weights)


def _gaussians(
    dataset: MixedDataset, nodes: Nodes, settings: GovernanceSettings, weights: np.ndarray
) -> list[dict[str, Any]]:
    """Gaussians of every node, class with rows and numeric attribute, in raw units."""
    rows = []
    for index, model in zip(np.flatnonzero(nodes.active), nodes.models, strict=True):
        deviations = np.sqrt(model.variances_)
        for label in np.flatnonzero(model.present_):
            rows.extend(
                {
                    "node": settings.nodes[index].name,
                    "class": dataset.class_names[label],
                    "feature": feature,
                    "mean": float(model.means_[label, j]),
                    "standard_deviation": float(deviations[label, j]),
                    "weight": float(weights[index]),
                }
                for j, feature in enumerate(dataset.numeric_names)
            )
    return rows
