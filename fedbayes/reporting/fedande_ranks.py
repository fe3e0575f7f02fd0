"""Average ranks of the FedAnDE series over data sets, with the tests that go with them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fedbayes.evaluation import FriedmanNemenyi, friedman_nemenyi, wilcoxon_holm
from fedbayes.reporting.fedande_series import Block, Study, model_name
from fedbayes.reporting.partial import partial_note
from fedbayes.reporting.tables import format_p, write_table


def score_matrix(block: Block, clients: int | None = None, metric: str = "accuracy") -> pd.DataFrame:
    """Mean of a metric, data sets in rows and series in columns, at one number of clients or over all of them."""
    rows = block.rows if clients is None else block.rows[block.rows["clients"] == clients]
    means = (
        rows.groupby(["dataset", "regime", "learner", "n"])[metric].mean().unstack(["regime", "learner", "n"])
    )
    means = means.loc[list(block.datasets), list(block.series)]
    means.columns = [f"{model_name(learner, n)} {regime}" for regime, learner, n in block.series]
    return means


def rank_tables(study: Study, block: Block, folder: Path) -> list[Path]:
    """Tables ranks, friedman and pairwise; nothing when fewer than two data sets or series can be compared."""
    if len(block.datasets) < 2 or len(block.series) < 2:
        return []
    results: dict[str, tuple[FriedmanNemenyi, pd.DataFrame]] = {}
    for clients in (*block.clients, None):
        matrix = score_matrix(block, clients)
        results["mean over C" if clients is None else str(clients)] = friedman_nemenyi(matrix), matrix
    notes = [block.note(), study.caption(), partial_note(block.datasets, study.facts)]
    few = "" if len(block.datasets) >= 5 else "With so few data sets the tests have next to no power."

    overall, _ = results["mean over C"]
    ranks = pd.DataFrame({"series": overall.methods})
    for clients, (result, _) in results.items():
        ranks[clients] = result.average_ranks
    best = min(overall.average_ranks)
    ranks["not_worse_than_best"] = [
        "yes" if rank - best < overall.critical_difference else "no" for rank in overall.average_ranks
    ]
    ranks = ranks.sort_values("mean over C", kind="stable")
    written = write_table(
        ranks,
        folder,
        "ranks",
        caption="Average ranks by accuracy (1 = best) at each number of clients C, and for the mean over C.",
        notes=[
            f"Nemenyi's critical difference at alpha .05 is {overall.critical_difference:.2f}; the last column says "
            "whether a series is closer than that to the best one, for the mean over C.",
            few,
            *notes,
        ],
        digits=2,
    )
    friedman = pd.DataFrame(
        [
            {
                "clients": clients,
                "datasets": result.n_datasets,
                "series": len(result.methods),
                "chi_square": result.statistic,
                "p": result.p,
                "iman_davenport_F": result.iman_davenport,
                "iman_davenport_p": result.iman_davenport_p,
                "critical_difference": result.critical_difference,
            }
            for clients, (result, _) in results.items()
        ]
    )
    written += write_table(
        friedman,
        folder,
        "friedman",
        caption="Friedman's test that all series have equal ranks, and Nemenyi's critical difference (alpha .05).",
        notes=[few, *notes],
        formats={"p": format_p, "iman_davenport_p": format_p},
        digits=2,
    )
    pairs = wilcoxon_holm(results["mean over C"][1])
    return written + write_table(
        pairs,
        folder,
        "pairwise",
        caption="Wilcoxon's signed-rank test of every pair of series over data sets, accuracy averaged over C.",
        notes=[
            f"p_holm is corrected by Holm over all {len(pairs)} pairs; wins, ties and losses are of the first.",
            few,
            *notes,
        ],
        formats={"p": format_p, "p_holm": format_p, "statistic": lambda value: f"{value:g}"},
    )
