"""Accuracy after every round: against rounds, against bytes, and how many local steps a round should have."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from fedbayes.experiments.fedande_rows import ROUNDS
from fedbayes.reporting.fedande_series import Study, model_name, parse_settings
from fedbayes.reporting.fedande_tables import sort_cells, title
from fedbayes.reporting.figures import MARKERS, PALETTE, new_figure, save_figure, style
from fedbayes.reporting.partial import partial_note
from fedbayes.reporting.tables import MISSING, write_table
from fedbayes.result_frames import checked_table

NAME = "convergence"
SHOWN_ROUNDS = (1, 2, 3, 5, 10, 20, 50, 100, 200)
LOCAL_STEPS = 5
CELL = ["dataset", "clients", "learner", "n", "epsilon", "local_steps"]


def read_rounds(study: Study, folder: Path) -> pd.DataFrame:
    """Means over folds and seeds after every round, bytes and seconds summed up to it; empty without ``rounds.csv``.

    Returns
    -------
    DataFrame
        dataset, clients, learner, n, epsilon (-1 where it does not apply), local_steps, round, accuracy,
        log_loss, megabytes, seconds, repeats.
    """
    path = Path(folder) / "rounds.csv"
    if not path.exists():
        return pd.DataFrame()
    numbered = ("clients", "n", "round")
    rounds = checked_table(path, ROUNDS, always=numbered).astype(dict.fromkeys(numbered, int))
    runs = study.runs[study.runs["status"] == "done"]
    chosen = runs[runs["shared"] == study.shared][["cell", "fold", "settings", "rounds"]]
    rounds = rounds.merge(chosen, on=["cell", "fold"], validate="many_to_one")
    if not len(rounds):
        return rounds
    rounds["local_steps"] = [
        int(parse_settings(settings).get("local_steps", LOCAL_STEPS)) if learner == "discriminative" else 0
        for settings, learner in zip(rounds["settings"], rounds["learner"], strict=True)
    ]
    rounds["epsilon"] = rounds["epsilon"].fillna(-1.0)
    # a run of fewer rounds is the beginning of a longer one: the longest is enough
    longest = rounds.groupby(CELL)["rounds"].transform("max")
    rounds = rounds[rounds["rounds"] == longest].sort_values(["cell", "fold", "round"], kind="stable")
    for name, columns in (("megabytes", ["bytes_up", "bytes_down"]), ("seconds", ["seconds"])):
        rounds[name] = rounds[columns].sum(axis=1)
        rounds[name] = rounds.groupby(["cell", "fold"])[name].cumsum()
    rounds["megabytes"] /= 1e6
    table = rounds.groupby([*CELL, "round"], sort=True).agg(
        accuracy=("accuracy", "mean"), log_loss=("log_loss", "mean"), megabytes=("megabytes", "mean"),
        seconds=("seconds", "mean"), repeats=("accuracy", "size"),
    )  # fmt: skip
    return sort_cells(table.reset_index(), study.datasets)


def convergence_report(study: Study, folder: Path) -> list[Path]:
    """Write the table and the figure; nothing where no rounds were recorded."""
    table = read_rounds(study, folder)
    if not len(table):
        return []
    table["model"] = [model_name(learner, n) for learner, n in zip(table["learner"], table["n"], strict=True)]
    notes = [
        "Seconds and megabytes (up and down, all clients) add up from the first round. L: iterations of L-BFGS that "
        "a client runs in a round. A generative model has one round.",
        f"Settings: {study.shared}." if study.shared else "",
        partial_note(study.datasets, study.facts),
    ]
    numbers = table.assign(epsilon=table["epsilon"].where(table["epsilon"] > 0))
    written = write_table(
        numbers,
        folder,
        NAME,
        caption="Accuracy (megabytes so far) after T rounds of L local steps.",
        notes=notes,
        display=_wide(study, table),
    )
    return written + _figure(study, table, folder, notes)


def _wide(study: Study, table: pd.DataFrame) -> pd.DataFrame:
    """One line per cell, one column per number of rounds."""
    shown = [number for number in SHOWN_ROUNDS if number <= table["round"].max()]
    lines = []
    for key, group in table.groupby([*CELL, "model"], sort=False):
        dataset, clients, _, _, epsilon, steps, model = key
        line = {
            "Data set": title(study, dataset),
            "C": clients,
            "Model": model
            + ("" if epsilon < 0 else " ε = " + ("∞" if math.isinf(epsilon) else f"{epsilon:g}")),
            "L": steps or MISSING,
        }
        after = {
            row.round: f"{row.accuracy:.3f} ({row.megabytes:.3g})" for row in group.itertuples(index=False)
        }
        lines.append(line | {f"T = {number}": after.get(number, MISSING) for number in shown})
    return pd.DataFrame(lines)


def _figure(study: Study, table: pd.DataFrame, folder: Path, notes: list[str]) -> list[Path]:
    """A line of panels per data set: accuracy against rounds and against megabytes, at one C and the largest n."""
    from matplotlib.ticker import LogLocator, NullFormatter

    trained = table[table["learner"] == "discriminative"]
    if not len(trained):
        return []
    clients, n = trained["clients"].min(), trained["n"].max()
    table = table[(table["clients"] == clients) & (table["n"] == n)]
    datasets = list(dict.fromkeys(table["dataset"]))
    steps = sorted(set(trained["local_steps"]))
    with style():
        figure = new_figure(0.6 + 1.9 * len(datasets))
        panels = figure.subplots(len(datasets), 2, squeeze=False, sharey="row")
        for line, dataset in zip(panels, datasets, strict=True):
            here = table[table["dataset"] == dataset]
            for axes, x in zip(line, ("round", "megabytes"), strict=True):
                for number, (_, curve) in enumerate(_curves(here)):
                    first = curve.iloc[0]
                    if first["learner"] == "generative":
                        look = {"color": "#000000", "marker": "*" if math.isinf(first["epsilon"]) else "x"}
                        words = f"generative, ε = {'∞' if math.isinf(first['epsilon']) else format(first['epsilon'], 'g')}"
                    else:
                        position = steps.index(first["local_steps"])
                        look = {
                            "color": PALETTE[position % len(PALETTE)],
                            "marker": MARKERS[position % len(MARKERS)],
                            "markevery": [-1],
                        }
                        words = f"discriminative, L = {first['local_steps']}"
                    label = words if (dataset, x) == (datasets[0], "round") else None
                    axes.plot(curve[x], curve["accuracy"], label=label, zorder=3 + number, **look)
                axes.set_xscale("log")
                axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
                axes.xaxis.set_major_formatter("{x:g}")
                axes.xaxis.set_minor_formatter(NullFormatter())
                axes.set_xlabel("rounds T" if x == "round" else "megabytes sent up and down")
            line[0].set_ylabel("test accuracy")
            line[0].set_title(title(study, dataset), loc="left")
        figure.legend(loc="outside lower center", ncols=4)
        caption = (
            f"Test accuracy of federated {model_name('discriminative', n)} with C = {clients} clients after every "
            f"round, against rounds (left) and bytes (right), beside {model_name('generative', n)} (one round)."
        )
        return save_figure(figure, folder, NAME, " ".join(words for words in (caption, *notes) if words))


def _curves(table: pd.DataFrame) -> list[tuple[tuple, pd.DataFrame]]:
    return list(table.groupby(["learner", "epsilon", "local_steps"], sort=True))
