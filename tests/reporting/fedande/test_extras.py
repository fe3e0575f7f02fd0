"""Report of logistic regression, of few structures and of rounds: beside the main tables, not in them."""

import shutil

import numpy as np
import pandas as pd
import pytest

from fedbayes.errors import ConfigurationError
from fedbayes.report import write_report


@pytest.fixture(scope="module")
def results(synthetic, tmp_path_factory):
    """A run with all three extras: (folder, its rows)."""
    plain = synthetic.runs(datasets=("car",), clients=(5,), orders=(0, 1), folds=2)
    federated = plain[plain["regime"] == "federated"]
    few = federated[federated["n"] == 1].assign(
        settings="max_structures=2;structure_choice=information", bytes_up=1e6, bytes_down=0.5e6
    )
    few = few.assign(accuracy=few["accuracy"] - 0.125, rounds=few["rounds"] + 1)
    slow = federated[federated["learner"] == "discriminative"].assign(settings="local_steps=1")
    logistic = plain[(plain["n"] == 0) & (plain["learner"] == "generative")].assign(
        learner="logistic", n=np.nan, epsilon="", accuracy=0.625
    )
    extra = [
        part.assign(cell=part["cell"] + name) for part, name in ((few, "f"), (slow, "s"), (logistic, "l"))
    ]
    runs = pd.concat([plain, *extra], ignore_index=True)
    rounds = []
    for row in pd.concat([federated, extra[1]]).itertuples(index=False):
        for number in range(1, int(row.rounds) + 1):
            rounds.append(
                {
                    "cell": row.cell, "dataset": "car", "clients": 5, "n": row.n, "learner": row.learner,
                    "regime": "federated", "epsilon": row.epsilon, "seed": 42, "fold": row.fold, "round": number,
                    "accuracy": 0.5 + 0.01 * number + 0.1 * row.fold, "log_loss": 1 / number, "bytes_up": 1.5e6,
                    "bytes_down": 0.5e6, "seconds": 0.25,
                }
            )  # fmt: skip
    folder = synthetic.results(tmp_path_factory.mktemp("extras"), runs, synthetic.manifest(plain))
    pd.DataFrame(rounds).to_csv(folder / "rounds.csv", index=False)
    written = write_report(folder)
    return folder, {path.name for path in written}, plain


def test_the_main_tables_and_figures_are_those_without_the_extras(results, synthetic, tmp_path):
    folder, _, plain = results
    alone = synthetic.results(tmp_path / "alone", plain)
    names = {path.name for path in write_report(alone)}
    assert not names & {"baselines.md", "structures.md", "convergence.md", "convergence.png"}
    for name in ("tables/accuracy.csv", "tables/macro_f1.md", "figures/figure_1.png", "figures/figure_3.png"):
        assert (folder / name).read_bytes() == (alone / name).read_bytes()


def test_logistic_regression_has_a_table_and_a_figure(results):
    folder, names, _ = results
    assert {"baselines.md", "baselines.png", "baselines.pdf"} <= names
    table = pd.read_csv(folder / "tables" / "baselines.csv")
    own = table[table["model"] == "LR"]
    assert set(own["regime"]) == {"local", "federated"} and (own["mean"] == 0.625).all()
    assert set(table["model"]) == {"LR", "NB", "A1DE", "NBʷ", "A1DEʷ"}
    assert pd.read_csv(folder / "tables" / "status.csv")["rows"].sum() == 16 + 4 + 4 + 4


def test_few_structures_are_set_against_all_of_them(results):
    folder, _, _ = results
    table = pd.read_csv(folder / "tables" / "structures.csv")
    few = table[table["choice"] == "information"]
    assert set(few["model"]) == {"A1DE", "A1DEʷ"} and (few["max_structures"] == 2).all()
    np.testing.assert_allclose(few["difference"], -0.125)
    assert (few["megabytes"] == 1.5).all() and (few["paired"] == 2).all()
    assert set(table[table["choice"] == "all"]["difference"]) == {0.0}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rounds: "", "is not a readable CSV file"),
        (lambda rounds: rounds.replace("round,", "turn,", 1), "is not a results file of this package: no column round"),
        (lambda rounds: rounds.replace(",car,5,", ",car,,", 1), "data row 1: clients is empty, expected a number"),
        (lambda rounds: rounds.replace(",0.25\n", ",soon\n", 1), "data row 1: seconds holds 'soon', expected a number"),
    ],
)  # fmt: skip
def test_rounds_that_no_run_has_written_are_named(results, tmp_path, change, words):
    folder, _, _ = results
    for name in ("runs.csv", "manifest.json"):
        shutil.copy(folder / name, tmp_path)
    (tmp_path / "rounds.csv").write_text(change((folder / "rounds.csv").read_text()))
    with pytest.raises(ConfigurationError, match=words):
        write_report(tmp_path)


def test_convergence_sums_bytes_and_averages_folds(results):
    folder, names, _ = results
    assert {"convergence.md", "convergence.png", "convergence.pdf"} <= names
    table = pd.read_csv(folder / "tables" / "convergence.csv")
    assert set(table["local_steps"]) == {0, 1, 5}  # generative, and both numbers of local steps
    third = table[(table["round"] == 3) & (table["local_steps"] == 1)]
    assert len(third) == 2
    np.testing.assert_allclose(third["accuracy"], 0.5 + 0.03 + 0.05)
    np.testing.assert_allclose(third["megabytes"], 6.0)
    np.testing.assert_allclose(third["seconds"], 0.75)
    assert (third["repeats"] == 2).all()
    assert "T = 10" in (folder / "tables" / "convergence.md").read_text()
    assert "C = 5 clients" in (folder / "figures" / "convergence.md").read_text()


def test_a_folder_of_baselines_alone_is_reported(synthetic, tmp_path):
    plain = synthetic.runs(datasets=("car",), clients=(5,), orders=(0,), folds=2)
    runs = plain[plain["learner"] == "generative"].assign(learner="logistic", n=np.nan, epsilon="")
    names = {path.name for path in write_report(synthetic.results(tmp_path / "only", runs))}
    assert {"baselines.md", "status.md"} <= names


def test_sensitivity_counts_the_structures_chosen_and_what_they_were_chosen_by(synthetic, tmp_path):
    """Car has 6 attributes: 2 structures of A1DE are 1 + 2 (1 + 6 - 1) counts, and 6 sets were looked at."""
    few = synthetic.runs(datasets=("car",), clients=(5,), orders=(1,), folds=2)
    for choice, expected in (("random", 13), ("information", 13 + 6)):
        runs = few.assign(settings=f"max_structures=2;structure_choice={choice}")
        folder = synthetic.results(tmp_path / choice, runs[runs["regime"] == "federated"])
        write_report(folder)
        assert set(pd.read_csv(folder / "tables" / "privacy.csv")["sensitivity"]) == {expected}


def test_tables_and_figures_that_no_longer_apply_are_removed(synthetic, tmp_path):
    folder = synthetic.results(
        tmp_path / "folder", synthetic.runs(datasets=("car",), clients=(5,), orders=(0,), folds=2)
    )
    stale = [folder / "tables" / "local_solver_summary.md", folder / "figures" / "figure_other_gone.png"]
    mine = folder / "figures" / "mine.png"
    for path in [*stale, mine]:
        path.parent.mkdir(exist_ok=True)
        path.write_text("old")
    write_report(folder)
    assert not any(path.exists() for path in stale) and mine.exists()
