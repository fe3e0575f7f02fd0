"""Synthetic flows: made by a random generator, no real traffic, for trying things out where there are no data."""

from dataclasses import dataclass

import numpy as np

from fedbayes.data.dataset import MixedDataset

PROTOCOLS = ("icmp", "tcp", "udp")
SERVICES = ("dns", "file", "login", "mail", "none", "other", "remote", "web")
STATES = ("closed", "open", "refused", "reset")
CATEGORICAL = ("protocol", "service", "state")
NUMERIC = (
    *("duration", "bytes_sent", "bytes_received", "packets_sent", "packets_received", "rate"),
    *("failed_logins", "distinct_ports", "repeated_connections", "error_share", "reserved"),
)


@dataclass(frozen=True)
class _Kind:
    """One class: its share and the distributions of its flows."""

    name: str
    share: float
    protocols: tuple[float, ...]
    services: tuple[float, ...]
    states: tuple[float, ...]
    duration: float  # seconds; scales of log-normal numbers
    sent: float
    received: float
    failures: float  # means of Poisson numbers
    ports: float
    repeats: float
    errors: tuple[float, float]  # parameters of a beta distribution


_KINDS = (
    _Kind("exfiltration", 0.012, (0, 0.8, 0.2), (0.2, 0.3, 0, 0.1, 0, 0.2, 0.1, 0.1), (0.5, 0.5, 0, 0),
          120, 60_000, 900, 0.02, 1.2, 2, (1, 20)),
    _Kind("flood", 0.16, (0.3, 0.5, 0.2), (0.05, 0, 0, 0, 0.4, 0.15, 0, 0.4), (0.1, 0.4, 0.2, 0.3),
          0.02, 300, 20, 0.01, 1.5, 200, (6, 2)),
    _Kind("guessing", 0.03, (0, 1, 0), (0, 0.1, 0.6, 0.1, 0, 0, 0.2, 0), (0.6, 0.1, 0.2, 0.1),
          3, 900, 1_100, 2.5, 1.1, 25, (2, 5)),
    _Kind("normal", 0.69, (0.02, 0.68, 0.3), (0.25, 0.06, 0.03, 0.1, 0.05, 0.11, 0.05, 0.35), (0.8, 0.14, 0.02, 0.04),
          2, 700, 4_000, 0.03, 1.4, 6, (1, 25)),
    _Kind("probing", 0.1, (0.2, 0.6, 0.2), (0.05, 0.05, 0.1, 0.05, 0.4, 0.25, 0.05, 0.05), (0.1, 0.1, 0.5, 0.3),
          0.05, 40, 10, 0.02, 45, 40, (4, 2)),
    _Kind("worm", 0.008, (0, 0.9, 0.1), (0, 0.4, 0, 0.2, 0, 0.2, 0.2, 0), (0.5, 0.2, 0.1, 0.2),
          8, 9_000, 600, 0.1, 6, 30, (2, 6)),
)  # fmt: skip
CLASSES = tuple(kind.name for kind in _KINDS)


def load(*, name: str, title: str, rows: int = 6_000, seed: int = 2_017) -> MixedDataset:
    """Generate flows of six classes, two of them rare (about 1 % each); one number is constant.

    Parameters
    ----------
    rows
        Number of flows; every class gets its share, rounded, and at least five.
    seed
        Seed of the generator; equal seeds give equal flows.
    """
    generator = np.random.default_rng(seed)
    counts = np.maximum(np.round([rows * kind.share for kind in _KINDS]).astype(int), 5)
    counts[CLASSES.index("normal")] += rows - counts.sum()
    blocks = [_flows(kind, int(count), generator) for kind, count in zip(_KINDS, counts, strict=True)]
    order = generator.permutation(rows)
    return MixedDataset(
        name=name,
        title=title,
        X_categorical=np.concatenate([codes for codes, _ in blocks])[order],
        X_numeric=np.concatenate([numbers for _, numbers in blocks])[order],
        y=np.repeat(np.arange(len(_KINDS)), counts)[order],
        categorical_names=CATEGORICAL,
        numeric_names=NUMERIC,
        categories=(PROTOCOLS, SERVICES, STATES),
        n_categories=(len(PROTOCOLS), len(SERVICES), len(STATES)),
        class_names=CLASSES,
        source="rules",
        complete=True,
        notes=(f"synthetic: made by a random generator with seed {seed}, no real traffic",),
    )


def _flows(kind: _Kind, rows: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Codes (rows, 3) and numbers (rows, 11) of flows of one class."""
    shares = (kind.protocols, kind.services, kind.states)
    codes = np.column_stack([generator.choice(len(share), rows, p=share) for share in shares])
    duration = kind.duration * generator.lognormal(0, 1.2, rows)
    sent = np.floor(kind.sent * generator.lognormal(0, 1.0, rows))
    received = np.floor(kind.received * generator.lognormal(0, 1.1, rows))
    packets_sent = 1 + np.floor(sent / generator.uniform(80, 1_200, rows))
    packets_received = np.floor(received / generator.uniform(80, 1_200, rows))
    numbers = np.column_stack(
        [
            duration,
            sent,
            received,
            packets_sent,
            packets_received,
            (sent + received) / (duration + 0.001),
            generator.poisson(kind.failures, rows),
            1 + generator.poisson(kind.ports - 1, rows),
            generator.poisson(kind.repeats * generator.lognormal(0, 0.5, rows)),
            generator.beta(*kind.errors, rows),
            np.zeros(rows),
        ]
    )
    return codes, np.round(numbers, 3)
