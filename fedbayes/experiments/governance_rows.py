"""Result tables of the governance experiment."""

from fedbayes.store import Table

RUNS = Table(
    name="runs",
    columns=(
        "cell", "dataset", "rows", "classes", "clients", "alpha", "seed", "reading", "settings", "proposal",
        "status", "accuracy", "macro_f1", "anll_mean", "anll_median", "weights", "jsd", "objective", "versus",
        "both_right", "only_first", "only_second", "both_wrong", "mcnemar_statistic", "mcnemar_p",
        "absent_classes", "fit_seconds", "message",
    ),
    key=("cell", "proposal"),
    order=("dataset", "settings", "reading", "alpha", "seed", "proposal"),
)  # fmt: skip
GAUSSIANS = Table(
    name="node_gaussians",
    columns=("cell", "node", "class", "feature", "mean", "standard_deviation", "weight"),
    key=("cell", "node", "class", "feature"),
    order=("cell", "node", "class", "feature"),
)
TABLES = (RUNS, GAUSSIANS)
