"""What the proposals and readings of one partition share: its rows, the models fitted on them, its heterogeneity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from fedbayes.data.dataset import MixedDataset
from fedbayes.experiments.governance_settings import GovernanceSettings
from fedbayes.experiments.governance_split import partition_rows
from fedbayes.federated.mixture import absent_everywhere
from fedbayes.models.hybrid_nb import HybridNB
from fedbayes.partition import jensen_shannon


@dataclass(frozen=True)
class Nodes:
    """What all proposals and readings of one partition share.

    ``label_counts`` has shape (nodes, classes); ``active`` marks the nodes with rows, ``models`` are theirs, in
    order.
    """

    label_counts: np.ndarray
    active: np.ndarray
    models: list[HybridNB]
    central: HybridNB
    jsd: float
    penalty: float
    message: str
    fit_seconds: float
    central_seconds: float


def fit_nodes(
    dataset: MixedDataset, training: np.ndarray, alpha: float, seed: int, settings: GovernanceSettings
) -> Nodes:
    """Deal the training rows to the nodes and fit a model on each, and one on all of them.

    Raises
    ------
    PartitionError
        When ``redraw_min_rows`` is out of reach.
    """
    labels, clients = dataset.y[training], len(settings.nodes)
    names = dataset.class_names
    parts, redraws = partition_rows(labels, clients, alpha, seed, settings.redraw_min_rows, names)
    label_counts = _label_counts(labels, parts, len(names))
    jsd = jensen_shannon(label_counts, settings.jsd)
    penalty = settings.penalty
    if settings.adaptive_penalty:
        penalty *= jsd / _mean_heterogeneity(labels, seed, names, settings)
    active = label_counts.sum(axis=1) > 0
    started = perf_counter()
    models = [_fit(dataset, training[part], settings) for part in parts if part.size]
    fitted = perf_counter()
    central = _fit(dataset, training, settings)
    notes = [f"{redraws} redraws"] if settings.redraw_min_rows else []
    empty = [node.name for node, has_rows in zip(settings.nodes, active, strict=True) if not has_rows]
    if empty:
        notes.append(f"no rows on {', '.join(empty)}")
    unknown = absent_everywhere(label_counts)
    if unknown.size:
        notes.append(f"{unknown.size} classes without training rows")
    return Nodes(
        label_counts, active, models, central, jsd, penalty, "; ".join(notes),
        fitted - started, perf_counter() - fitted,
    )  # fmt: skip


def _fit(dataset: MixedDataset, rows: np.ndarray, settings: GovernanceSettings) -> HybridNB:
    return HybridNB(settings.smoothing, settings.var_smoothing).fit(
        dataset.X_categorical,
        dataset.X_numeric,
        dataset.y,
        n_categories=dataset.n_categories,
        n_classes=len(dataset.class_names),
        rows=rows,
    )


def _label_counts(labels: np.ndarray, parts: list[np.ndarray], classes: int) -> np.ndarray:
    return np.array([np.bincount(labels[part], minlength=classes) for part in parts])


def _mean_heterogeneity(
    labels: np.ndarray, seed: int, names: Sequence[str], settings: GovernanceSettings
) -> float:
    """Mean over the levels of what the same seed's partitions have; 1 where all nodes are alike."""
    values = []
    for level in settings.levels:
        parts, _ = partition_rows(labels, len(settings.nodes), level, seed, settings.redraw_min_rows, names)
        values.append(jensen_shannon(_label_counts(labels, parts, len(names)), settings.jsd))
    return float(np.mean(values)) or 1.0
