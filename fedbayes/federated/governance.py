"""Governance indicators of the nodes and the weights that need no learning (governance paper, III-A, IV-B)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Real

import numpy as np

from fedbayes.config import shown
from fedbayes.errors import ConfigurationError

TARGETS = ("normalised", "projected")
ENTROPY_OFFSET = 1e-6
"""Added to an entropy before it is inverted: a node of one class gets a large weight, not an infinite one."""

_RANGES = {"cmm": (1, 5), "kci": (0, 1), "kri": (0, 1), "cvss": (0, 10)}


@dataclass(frozen=True)
class NodeProfile:
    """Audit indicators of one institution (ISACA's CRISC framework).

    Attributes
    ----------
    name : str
    cmm : float
        Maturity of controls, 1 to 5.
    kci : float
        Proportion of controls implemented, 0 to 1.
    kri : float
        Frequency of risk alerts, 0 to 1; lower is better.
    cvss : float
        Mean vulnerability score, 0 to 10; lower is better.

    Raises
    ------
    ConfigurationError
        For a value out of range, naming field, value and what is allowed.
    """

    name: str
    cmm: float
    kci: float
    kri: float
    cvss: float

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip() or set(self.name) & set(";/=|\n"):
            raise ConfigurationError(f"nodes: name={self.name!r}: a text without ; / = | is needed")
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real) or not low <= value <= high:
                raise ConfigurationError(
                    f"nodes: {name}={shown(value)} of node {self.name!r}: a number from {low} to {high} is needed"
                )
            object.__setattr__(self, name, float(value) + 0.0)  # -0.0 is 0.0

    @property
    def icc(self) -> float:
        """Institutional Coherence Index, CMM/5 KCI (1 - KRI) (1 - CVSS/10), from 0 to 1."""
        return self.cmm / 5 * self.kci * (1 - self.kri) * (1 - self.cvss / 10)


PAPER_NODES = (
    NodeProfile("Financial", 4, 0.82, 0.12, 3.2),
    NodeProfile("Health", 3, 0.70, 0.25, 5.1),
    NodeProfile("Government", 2, 0.55, 0.40, 6.8),
)
"""The three nodes of the paper's Table I; their ICC are .393, .154 and .042."""


def node_profiles(entries: Iterable[NodeProfile | Mapping]) -> tuple[NodeProfile, ...]:
    """Check a list of node profiles as it stands in a configuration.

    Parameters
    ----------
    entries : iterable of NodeProfile or of mappings with the keys name, cmm, kci, kri and cvss

    Raises
    ------
    ConfigurationError
        For fewer than two nodes, a missing or unknown key, a value out of range, a name used twice, or an
        ICC of 0 on every node.
    """
    if isinstance(entries, str | Mapping) or not isinstance(entries, Iterable):
        raise ConfigurationError(f"nodes={entries!r}: a list of node profiles is needed")
    nodes = tuple(entry if isinstance(entry, NodeProfile) else _profile(entry) for entry in entries)
    if len(nodes) < 2:
        raise ConfigurationError(f"nodes: {len(nodes)} given, at least 2 are needed")
    names = [node.name for node in nodes]
    for name in names:
        if names.count(name) > 1:
            raise ConfigurationError(f"nodes: name={name!r} is used twice, names must differ")
    if sum(node.icc for node in nodes) <= 0:
        raise ConfigurationError(
            "nodes: the ICC is 0 for every node; one needs kci > 0, kri < 1 and cvss < 10 for a target"
        )
    return nodes


def _profile(entry: Mapping) -> NodeProfile:
    known = [field.name for field in fields(NodeProfile)]
    if not isinstance(entry, Mapping):
        raise ConfigurationError(f"nodes: {entry!r}: a mapping with the keys {', '.join(known)} is needed")
    for key in entry:
        if key not in known:
            raise ConfigurationError(f"nodes: unknown key {key!r}; the keys are {', '.join(known)}")
    for key in known:
        if key not in entry:
            raise ConfigurationError(f"nodes: {key} is missing in {dict(entry)!r}")
    return NodeProfile(**entry)


def icc_values(nodes: Sequence[NodeProfile]) -> np.ndarray:
    """ICC of every node, shape (nodes,)."""
    return np.array([node.icc for node in nodes])


def target_weights(
    icc: np.ndarray, method: str = "normalised", active: np.ndarray | None = None
) -> np.ndarray:
    """ICC values as weights that sum to 1, the point to which the objective pulls.

    Parameters
    ----------
    icc : ndarray, shape (nodes,)
    method : {"normalised", "projected"}
        Division by the sum (.666, .262, .072 for Table I), or the Euclidean projection onto the simplex
        (.530, .291, .179); the paper's words allow both.
    active : ndarray of bool, shape (nodes,), optional
        Nodes that have rows; the others get 0 and the target is taken over the rest. All active nodes
        with an ICC of 0 share equally.
    """
    icc = np.asarray(icc, dtype=float)
    active = np.ones(icc.shape, dtype=bool) if active is None else np.asarray(active, dtype=bool)
    weights = np.zeros(icc.shape)
    if method == "projected":
        weights[active] = project_to_simplex(icc[active])
    elif method == "normalised":
        weights[active] = normalise(icc[active])
    else:
        raise ValueError(f"target={method!r}: one of {', '.join(TARGETS)} is needed")
    return weights


def normalise(values: np.ndarray) -> np.ndarray:
    """Non-negative values divided by their sum; equal shares where all are 0."""
    total = values.sum()
    return values / total if total > 0 else np.full(values.shape, 1.0 / values.size)


def project_to_simplex(point: np.ndarray, floor: float = 0.0) -> np.ndarray:
    """Euclidean projection onto the weights that sum to 1 and are at least ``floor``.

    Parameters
    ----------
    point : ndarray, shape (nodes,)
    floor : float, default 0
        At most 1 / nodes.

    Notes
    -----
    Held, Wolfe and Crowder (1974): sort, and find the shift below which a coordinate ends at the floor.
    """
    point = np.asarray(point, dtype=float)
    mass = 1.0 - floor * point.size
    if mass < 0:
        raise ValueError(f"floor={floor}: at most 1/{point.size} is possible for {point.size} nodes")
    falling = np.sort(point)[::-1]
    # the largest coordinates stay above the floor, as many as their common shift allows; one always does
    shifts = (np.cumsum(falling - floor) - mass) / np.arange(1, point.size + 1)
    above = falling - floor > shifts
    above[0] = True
    shift = shifts[np.flatnonzero(above)[-1]]
    return np.maximum(point - floor - shift, 0.0) + floor


def size_weights(label_counts: np.ndarray) -> np.ndarray:
    """Proposal B: weights proportional to the nodes' rows.

    Parameters
    ----------
    label_counts : ndarray of int, shape (nodes, classes)
    """
    return normalise(np.asarray(label_counts, dtype=float).sum(axis=1))


def entropy_weights(label_counts: np.ndarray) -> np.ndarray:
    """Proposal E: weights proportional to 1 / (H + 1e-6), H the entropy of a node's labels in nats.

    A node without rows gets weight 0.

    Parameters
    ----------
    label_counts : ndarray of int, shape (nodes, classes)
    """
    counts = np.asarray(label_counts, dtype=float)
    rows = counts.sum(axis=1)
    shares = counts / np.maximum(rows, 1.0)[:, None]
    entropy = -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=1)
    return normalise(np.where(rows > 0, 1.0 / (np.maximum(entropy, 0.0) + ENTROPY_OFFSET), 0.0))
