"""Tables I to VIII of the governance paper, each value beside the published one and the difference.

Every function takes a `Study` and returns `Table` objects: a file name, a caption and a frame of finished
text. Cells never hold NaN or infinity: what the paper does not print reads "not printed", what is missing
"no data".
"""

from __future__ import annotations

import pandas as pd

from fedbayes.federated.governance import PAPER_NODES, NodeProfile, icc_values, target_weights
from fedbayes.reporting import governance_published as published
from fedbayes.reporting.governance_format import (
    NO_DATA,
    NOT_PRINTED,
    Table,
    caption,
    gap,
    make_frame,
    number,
    without_constant,
)
from fedbayes.reporting.governance_results import results_table
from fedbayes.reporting.governance_series import settings_value
from fedbayes.reporting.governance_study import Study
from fedbayes.reporting.governance_summary import alignment_table, summary_table


def tables_of_paper(study: Study) -> list[Table]:
    """All of Tables I to VIII; a table without any data still says so."""
    results = [results_table(study, dataset) for dataset in published.DATASETS]
    return [
        icc_table(study),
        datasets_table(study),
        parameters_table(study),
        *results,
        alignment_table(study),
        summary_table(study),
    ]


def icc_table(study: Study) -> Table:
    """Table I: governance variables, ICC, and both ways to make a target of it."""
    rows = [row for label, nodes in study.node_sets.items() for row in _node_rows(label, nodes)]
    words = "CRISC governance variables and ICC per node, with the target made of it by either rule."
    return Table("table_1", f"Table I. {words}", without_constant(make_frame(rows), "settings"))


def _node_rows(label: str, nodes: tuple[NodeProfile, ...]) -> list[dict]:
    values = icc_values(nodes)
    rows = []
    for node, share, point in zip(
        nodes, target_weights(values), target_weights(values, "projected"), strict=True
    ):
        printed = published.ICC[node.name] if node in PAPER_NODES else None
        rows.append(
            {
                "settings": label,
                "Node": node.name,
                "CMM": f"{node.cmm:g}",
                "KCI": f"{node.kci:.2f}",
                "KRI": f"{node.kri:.2f}",
                "CVSS": f"{node.cvss:.1f}",
                "ICC": number(node.icc, 4),
                "ICC published": number(printed, 3, NOT_PRINTED),
                "difference": gap(node.icc, printed, 4),
                "target (normalised)": number(share, 3),
                "target (projected)": number(point, 3),
            }
        )
    return rows


def datasets_table(study: Study) -> Table:
    """Table II: records of each data set."""
    rows = []
    for dataset, paper in published.DATASETS.items():
        facts = study.facts.get(dataset, {})
        seen = study.runs.loc[study.runs["dataset"] == dataset, "rows"].dropna()
        ours = facts.get("rows") or (int(seen.iloc[0]) if len(seen) else None)
        state = {True: "complete", False: "partial data", None: NO_DATA}
        known = None if ours is None else bool(facts.get("complete", True))
        rows.append(
            {
                "Dataset": paper.title,
                "Year": paper.year,
                "Task": paper.task,
                "Records": f"{int(ours):,}" if ours else NO_DATA,
                "Records published": f"{paper.records:,}",
                "difference": f"{int(ours) - paper.records:+,}" if ours else NO_DATA,
                "Features": str(facts.get("attributes") or NO_DATA),
                "Features published": str(paper.features),
                "State": state[known],
                "Source": str(facts.get("source") or NO_DATA),
            }
        )
    words = caption(study, "Table II. Benchmark data sets.", published.DATASETS)
    return Table("table_2", words, make_frame(rows))


def parameters_table(study: Study) -> Table:
    """Table III: global parameters beside those of the rows that decide claims."""
    chosen = [series for series in study.series if series.label == study.chosen_label] or study.series
    runs = pd.concat([series.runs for series in chosen]) if chosen else study.done
    settings = chosen[0].settings if chosen else ""
    seeds = sorted({int(seed) for seed in runs["seed"]})
    levels = sorted({float(level) for level in runs["alpha"]})
    ours = [
        ", ".join(map(str, seeds)) or NO_DATA,
        str(len(seeds)),
        f"{len(levels)} ({levels[0]:.2f} to {levels[-1]:.2f})" if levels else NO_DATA,
        "60% / 20% / 20%",
        f"{float(settings_value(settings, 'penalty', '0.1')):.2f}",
        f"{float(settings_value(settings, 'floor', '0.05')):.2f}",
        f"{settings_value(settings, 'max_iterations', '500')} per start",
    ]
    frame = make_frame(
        [
            {"Parameter": name, "Value": value, "Value published": printed}
            for (name, printed), value in zip(published.PARAMETERS, ours, strict=True)
        ]
    )
    words = f"Table III. Global parameters, identical across all data sets ({study.chosen_label})."
    return Table("table_3", words, frame)
