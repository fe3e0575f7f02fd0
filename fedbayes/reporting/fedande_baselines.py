"""Logistic regression beside the paper's models: a table and a figure of their own, apart from Figures 1 to 4."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fedbayes.reporting.fedande_figures import dress
from fedbayes.reporting.fedande_series import REGIMES, Study, model_name, summarise
from fedbayes.reporting.fedande_tables import title
from fedbayes.reporting.figures import MARKERS, PALETTE, new_figure, save_figure, style
from fedbayes.reporting.partial import partial_note
from fedbayes.reporting.tables import MISSING, format_mean_sd, write_table

NAME = "baselines"
MOST_PANELS = 9


def series(study: Study) -> pd.DataFrame:
    """Accuracy of every finished cell of logistic regression and of the models shown in the main tables.

    Returns
    -------
    DataFrame
        dataset, clients, regime, model, mean, sd, rows, folds, seeds; settings of logistic regression that are
        not the paper's stand in the model's name.
    """
    baseline = study.baselines[study.baselines["status"] == "done"]
    names = ["LR" + (f" ({settings})" if settings else "") for settings in _own(study, baseline)]
    shown = study.main
    rows = pd.concat(
        [
            baseline.assign(model=names, rank=0.0),
            shown.assign(
                model=[
                    model_name(learner, n) for learner, n in zip(shown["learner"], shown["n"], strict=True)
                ],
                rank=1.0 + shown["n"] + 100.0 * (shown["learner"] == "discriminative"),
            ),
        ]
    )
    rows["clients"] = rows["clients"].astype(int)
    return summarise(rows, "accuracy", ["dataset", "clients", "regime", "rank", "model"])


def _own(study: Study, rows: pd.DataFrame) -> list[str]:
    """Settings of each row without those that the shown series have too."""
    shared = set(study.shared.split(", "))
    shared.update(study.variants.get(("discriminative", "federated"), "").split(", "))
    return [
        "; ".join(part for part in settings.split(";") if part and part not in shared)
        for settings in rows["settings"]
    ]


def baseline_report(study: Study, folder: Path) -> list[Path]:
    """Write the table and the figure; nothing without finished rows of logistic regression."""
    if not (study.baselines["status"] == "done").any():
        return []
    table = series(study)
    order = {name: i for i, name in enumerate([*study.datasets, *sorted(set(study.baselines["dataset"]))])}
    table["regime"] = pd.Categorical(table["regime"], REGIMES, ordered=True)
    table = table.sort_values(
        ["dataset", "clients", "regime", "rank", "model"],
        key=lambda column: column.map(order) if column.name == "dataset" else column,
        kind="stable",
    )
    models = table.sort_values("rank", kind="stable")["model"].drop_duplicates().tolist()
    lines: dict[tuple, dict] = {}
    for row in table.itertuples(index=False):
        line = {"Data set": title(study, row.dataset), "C": row.clients, "Regime": row.regime}
        lines.setdefault((row.dataset, row.clients, row.regime), line | dict.fromkeys(models, MISSING))[
            row.model
        ] = format_mean_sd(row.mean, row.sd)
    note = partial_note(table["dataset"], study.facts)
    written = write_table(
        table.drop(columns="rank"),
        folder,
        NAME,
        caption="Accuracy of logistic regression (LR) beside the Bayesian models.",
        notes=[
            "LR: multinomial, on one-hot data, L2 penalty of inverse strength 1, L-BFGS. Federated: in each of T rounds "
            "every client runs L iterations from the global coefficients, the server averages them. A centralised model "
            "has C = 1 (one client). Mean ± standard deviation over folds x seeds.",
            study.caption(),
            note,
        ],
        display=pd.DataFrame(list(lines.values())),
    )
    return written + _figure(study, table, folder, note)


def _figure(study: Study, table: pd.DataFrame, folder: Path, note: str) -> list[Path]:
    spread = table[table["regime"].isin(("local", "federated"))]
    datasets = list(dict.fromkeys(spread["dataset"]))[:MOST_PANELS]
    if not datasets:
        return []
    clients = sorted(spread["clients"].unique().tolist())
    # beside logistic regression the discriminative models, which are of its kind
    models = [m for m in dict.fromkeys(spread["model"]) if m.startswith("LR") or m.endswith("ʷ")]
    columns = min(3, len(datasets))
    lines = -(-len(datasets) // columns)
    with style():
        figure = new_figure(0.7 + 2.0 * lines)
        panels = figure.subplots(lines, columns, squeeze=False)
        for axes in panels.flat[len(datasets) :]:
            axes.set_axis_off()
        for axes, dataset in zip(panels.flat, datasets, strict=False):
            axes.set_title(title(study, dataset))
            for position, model in enumerate(models):
                for regime, dashes in (("local", ":"), ("federated", "-")):
                    here = spread[
                        (spread["dataset"] == dataset)
                        & (spread["model"] == model)
                        & (spread["regime"] == regime)
                    ]
                    if not len(here):
                        continue
                    axes.plot(
                        [clients.index(value) for value in here["clients"]], here["mean"], linestyle=dashes,
                        color=PALETTE[position % len(PALETTE)], marker=MARKERS[position % len(MARKERS)],
                        markerfacecolor="white" if regime == "local" else None,
                        label=f"{model} {regime}",
                    )  # fmt: skip
            dress(axes, clients)
        panels[0, 0].set_ylabel("test accuracy")
        handles = {
            label: handle
            for axes in panels.flat
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
        caption = (
            "Test accuracy of logistic regression (LR) and of the discriminative Bayesian models against the number "
            "of clients C: dotted with hollow markers client-local, solid federated; means over folds x seeds."
        )
        return save_figure(
            figure, folder, NAME, " ".join(words for words in (caption, study.caption(), note) if words)
        )
