"""The numbers printed in the governance paper, as data, each with the table or section it stands in.

Source: E. O. Herrera Logroño, "Federated Naive Bayes with Real Mixture of Gaussians and Institutional
Governance Regularization for Network Intrusion Detection", preprint v1.0, 2026-05-10. The centralised scores
per seed come from the output of the author's public notebook (v1.0), not from the paper.
"""

from dataclasses import dataclass

LEVELS = (0.05, 0.10, 0.20, 0.30, 0.50, 0.70, 1.00)
"""Dirichlet concentrations, section III-B."""

SEEDS = (42, 43, 44, 45, 46)
"""Table III prints seed 42 and five repetitions; the notebook counts up from 42."""

SIGNIFICANCE = 0.05
"""Threshold of section III-F."""

JSD = {0.05: 0.635, 0.10: 0.608, 0.20: 0.508, 0.30: 0.457, 0.50: 0.400, 0.70: 0.376, 1.00: 0.297}
"""Jensen-Shannon column, the same in Tables IV, V and VI."""

NODES = ("Financial", "Health", "Government")
"""Node names in the order of Table I."""

ICC = {"Financial": 0.393, "Health": 0.154, "Government": 0.042}
"""Institutional Coherence Index as printed in Table I."""

PARAMETERS = (
    ("Random seed", "42"),
    ("Repetitions per config.", "5"),
    ("Heterogeneity levels", "7 (0.05 to 1.00)"),
    ("Train / Val / Test", "60% / 20% / 20%"),
    ("Regularization lambda", "0.10"),
    ("Weight floor delta", "0.05"),
    ("Nelder-Mead iterations", "500 per start"),
)
"""Table III."""


@dataclass(frozen=True)
class PublishedDataset:
    """What the paper prints about one data set.

    Attributes
    ----------
    title, year, task, records, features
        Table II and section IV-A.
    results_table, figures
        Number of the results table, and of its gradient, alignment and weights figures.
    ours, baseline, centralised, entropy
        Macro-F1 of proposals A, B, C and E averaged over levels (section V); None where none is printed.
    delta
        A - B as printed in the results table.
    p_values
        Per level the printed p-value; a bound is kept as text (`"<0.001"`).
    levels_significant, levels_starred
        "n/7" of the last row, and the number of stars actually printed above it.
    weights
        Table VII, in node order; `weights_approximate` where the paper prints a tilde.
    alignment
        Last column of Table VII.
    configurations
        How many of the 35 configurations the combined averages of Table VIII imply (see
        `governance_inconsistencies`).
    """

    name: str
    title: str
    year: int
    task: str
    records: int
    features: int
    results_table: str
    figures: tuple[int, int, int]
    ours: float
    baseline: float
    centralised: float
    entropy: float | None
    delta: float
    p_values: dict[float, str]
    levels_significant: int
    weights: tuple[float, float, float]
    weights_approximate: bool
    alignment: str
    configurations: int

    @property
    def levels_starred(self) -> int:
        """Number of levels whose printed p-value is below the threshold."""
        return sum(is_significant(p) for p in self.p_values.values())

    @property
    def scores(self) -> dict[str, float]:
        """Printed macro-F1 by proposal, only those that the paper prints."""
        printed = {"A": self.ours, "B": self.baseline, "C": self.centralised, "E": self.entropy}
        return {proposal: value for proposal, value in printed.items() if value is not None}


def is_significant(printed: str) -> bool:
    """Whether a p-value as printed (`"0.031"` or `"<0.001"`) lies below .05."""
    return float(printed.lstrip("<")) < SIGNIFICANCE or printed.startswith("<")


def _by_level(*printed: str) -> dict[float, str]:
    return dict(zip(LEVELS, printed, strict=True))


DATASETS = {
    "nsl-kdd": PublishedDataset(
        name="nsl-kdd",
        title="NSL-KDD",
        year=2009,
        task="Binary",
        records=147_888,
        features=41,
        results_table="IV",
        figures=(1, 2, 3),
        ours=0.9135,
        baseline=0.9076,
        centralised=0.8814,
        entropy=None,
        delta=0.006,
        p_values=_by_level("<0.001", "0.009", "0.031", "<0.001", "0.038", "0.108", "0.002"),
        levels_significant=6,
        weights=(0.374, 0.330, 0.296),
        weights_approximate=False,
        alignment="Fin > Gov",
        configurations=31,
    ),
    "cic-ids2017": PublishedDataset(
        name="cic-ids2017",
        title="CIC-IDS2017",
        year=2017,
        task="Binary",
        records=100_000,
        features=77,
        results_table="V",
        figures=(4, 5, 6),
        ours=0.7556,
        baseline=0.6771,
        centralised=0.5353,
        entropy=0.6916,
        delta=0.079,
        p_values=_by_level("0.400", "<0.001", "0.333", "<0.001", "<0.001", "<0.001", "<0.001"),
        levels_significant=6,
        weights=(0.40, 0.40, 0.20),
        weights_approximate=True,
        alignment="Fin > Gov",
        configurations=28,
    ),
    "unsw-nb15": PublishedDataset(
        name="unsw-nb15",
        title="UNSW-NB15",
        year=2015,
        task="10-class",
        records=257_673,
        features=42,
        results_table="VI",
        figures=(7, 8, 9),
        ours=0.2110,
        baseline=0.2060,
        centralised=0.2345,
        entropy=None,
        delta=0.005,
        p_values=_by_level("1.000", "0.600", "0.800", "0.400", "0.266", "0.200", "<0.001"),
        levels_significant=1,
        weights=(0.552, 0.301, 0.148),
        weights_approximate=False,
        alignment="Full hierarchy",
        configurations=35,
    ),
}
"""The three data sets of the paper in its own order."""

COMBINED_SCORES = {"A": 0.6049, "B": 0.5777}
"""Last row of Table VIII."""

COMBINED_DELTA = 0.0272
"""Section VII; Table VIII rounds it to +0.027."""

COMBINED_WEIGHTS = (0.374, 0.330, 0.296)
"""Last row of Table VII."""

SIGNIFICANT_CONFIGURATIONS = 70
"""Numerator of 70/94, abstract, section VI-A and Table VIII."""

CONFIGURATIONS = 94
"""Denominator of 70/94."""

CENTRALISED_BY_SEED = {
    "nsl-kdd": {42: 0.8783, 43: 0.8840, 44: 0.8888, 45: 0.8808, 46: 0.8758},
    "cic-ids2017": {42: 0.4301, 43: 0.6874, 44: 0.4413, 45: 0.6175, 46: 0.4852},
}
"""Macro-F1 of proposal C per seed, from the author's public notebook output."""

CHECKS_CLAIMED = 15
"""Section IV-C: "15/15 passed"."""

CHECKS_NAMED = (
    "ICC formula",
    "seed reproducibility",
    "correct alpha ordering",
    "OOD slot at n_cats",
    "MoG finite output",
    "ANLL in valid range",
    "F1 in valid range",
    "weights summing to 1",
    "McNemar validity",
    "Jensen-Shannon gradient monotonicity",
    "Financial weight exceeding Government weight",
    "absence of undefined or infinite values",
)
"""The checks that section IV-C names, in its order ("ANLL and F1 in valid ranges" counted as two).

The last one stands for "absence of NaN or Inf values": those two words are to be found in no table.
"""
