"""Settings of the governance experiment: the paper's values as defaults, their checks, and what differs."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

from fedbayes.config import LARGEST_SMOOTHING, boolean, choice, integer, real, values, wrong
from fedbayes.errors import ConfigurationError
from fedbayes.federated.governance import PAPER_NODES, TARGETS, NodeProfile, node_profiles
from fedbayes.federated.weight_learning import PROJECTIONS
from fedbayes.models.hybrid_nb import READINGS
from fedbayes.partition import JENSEN_SHANNON_METHODS

ALPHAS = (0.05, 0.10, 0.20, 0.30, 0.50, 0.70, 1.00)
PROPOSALS = ("A", "B", "C", "E", "A0", "AR")
MCNEMAR_METHODS = ("yates", "exact", "mid-p")

__all__ = ["ALPHAS", "MCNEMAR_METHODS", "PROPOSALS", "READINGS", "GovernanceSettings"]


@dataclasses.dataclass(frozen=True)
class GovernanceSettings:
    """What a cell of the experiment can change besides data set, alpha, seed and reading.

    Attributes
    ----------
    penalty : float
        Strength of the pull to the target, lambda in the paper's section III-E.
    adaptive_penalty : bool
        Multiply the penalty by the cell's Jensen-Shannon heterogeneity over its mean at ``levels``.
    levels : tuple of float
        The concentrations over which that mean is taken; no effect without ``adaptive_penalty``.
    floor : float
        Least weight of a node, below 1 / nodes.
    projection : {"floor", "strict"}
        How weights meet the floor, see `fedbayes.federated.weight_learning.constrain`.
    target : {"normalised", "projected"}
        How the ICC become weights, see `fedbayes.federated.governance.target_weights`.
    validation_rows : int
        Rows of the validation part that the weights are learned on (all where it has fewer).
    redraw_min_rows : int
        Rows of every class that every node must get; 0 takes the first draw.
    jsd : str
        Definition of heterogeneity, see `fedbayes.partition.jensen_shannon`.
    mcnemar : {"yates", "exact", "mid-p"}
    nodes : tuple of NodeProfile
        Two or more; their number is the number of clients.
    smoothing, var_smoothing : float
        Of `fedbayes.models.HybridNB`.
    random_starts : int
        Dirichlet draws among the starting points of the optimiser.
    max_iterations : int
        Of the optimiser, per starting point.
    """

    penalty: float = 0.1
    adaptive_penalty: bool = False
    levels: tuple[float, ...] = ALPHAS
    floor: float = 0.05
    projection: str = "floor"
    target: str = "normalised"
    validation_rows: int = 2000
    redraw_min_rows: int = 0
    jsd: str = "mean_pairwise"
    mcnemar: str = "yates"
    nodes: tuple[NodeProfile, ...] = PAPER_NODES
    smoothing: float = 1.0
    var_smoothing: float = 1e-9
    random_starts: int = 2
    max_iterations: int = 500

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", node_profiles(self.nodes))
        for name, check in _checks(len(self.nodes)).items():
            object.__setattr__(self, name, check(name, getattr(self, name)))

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> GovernanceSettings:
        """Build from plain values, as a configuration holds them.

        Raises
        ------
        ConfigurationError
            For an unknown key or a value out of range.
        """
        known = [field.name for field in dataclasses.fields(cls)]
        for key in mapping:
            if key not in known:
                raise ConfigurationError(f"{key}: unknown setting; the settings are {', '.join(known)}")
        return cls(**mapping)

    def differences(self) -> tuple[tuple[str, str | int | float], ...]:
        """Pairs (name, value) of what differs from the paper's settings, in alphabetical order."""
        pairs = []
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value == field.default or (field.name == "levels" and not self.adaptive_penalty):
                continue
            pairs.append((field.name, _plain(value)))
        return tuple(sorted(pairs))

    def text(self) -> str:
        """The column ``settings``: ``name=value;...``, empty for the paper's settings."""
        return ";".join(
            f"{name}={value!r}" if isinstance(value, float) else f"{name}={value}"
            for name, value in self.differences()
        )


def _plain(value: Any) -> str | int | float:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple) and isinstance(value[0], NodeProfile):
        parts = ((n.name, *map(_short, (n.cmm, n.kci, n.kri, n.cvss))) for n in value)
        return "|".join("/".join(part) for part in parts)
    if isinstance(value, tuple):
        return "|".join(map(repr, value))
    return value


def _short(number: float) -> str:
    return repr(number).removesuffix(".0")


def _checks(nodes: int) -> dict[str, Callable[[str, Any], Any]]:
    """Checkers of all settings but the nodes themselves."""

    def floor(key: str, value: Any) -> float:
        number = real(0)(key, value)
        if number >= 1 / nodes:
            raise wrong(key, value, f"a number from 0 to below 1/{nodes} (1/nodes)")
        return number

    return {
        "penalty": real(0),
        "adaptive_penalty": boolean,
        "levels": functools.partial(values, real(0, open_low=True)),
        "floor": floor,
        "projection": choice(*PROJECTIONS),
        "target": choice(*TARGETS),
        "validation_rows": integer(1),
        "redraw_min_rows": integer(0),
        "jsd": choice(*JENSEN_SHANNON_METHODS),
        "mcnemar": choice(*MCNEMAR_METHODS),
        "smoothing": real(0, LARGEST_SMOOTHING, open_low=True),
        "var_smoothing": real(0, LARGEST_SMOOTHING, open_low=True),
        "random_starts": integer(0),
        "max_iterations": integer(1),
    }
