"""The report as a user runs it: from a folder to files, on whole, partial and broken results."""

import json
import math
import os
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from fedbayes import report
from fedbayes.evaluation import friedman_nemenyi
from fedbayes.reporting import fedande_figures


@pytest.fixture(scope="module")
def folders(tmp_path_factory, request):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture
def no_figures(monkeypatch):
    for name in ("figure_1", "figure_2", "per_dataset_figures"):
        monkeypatch.setattr(fedande_figures, name, lambda *_: [])


def table(folder, name):
    return pd.read_csv(folder / "tables" / f"{name}.csv", keep_default_na=True)


def markdown(folder, name):
    return (folder / "tables" / f"{name}.md").read_text(encoding="utf-8")


def test_quickstart_twice_gives_equal_bytes(synthetic, tmp_path, capsys):
    runs = synthetic.runs(folds=3)
    first = synthetic.results(tmp_path / "first", runs)
    assert report.main([str(first)]) == 0
    printed = capsys.readouterr().out
    assert str(first / "tables" / "accuracy.md") in printed
    assert str(first / "figures" / "figure_1.png") in printed
    second = synthetic.results(tmp_path / "second", runs.sample(frac=1, random_state=0))
    report.write_report(second)
    names = sorted(
        path.relative_to(first) for path in first.rglob("*") if path.is_file() and path.name != "runs.csv"
    )
    assert names == sorted(
        path.relative_to(second) for path in second.rglob("*") if path.is_file() and path.name != "runs.csv"
    )
    assert [name for name in names if (first / name).read_bytes() != (second / name).read_bytes()] == []
    # panels of the paper that these results cannot fill are explained, not drawn
    assert not (first / "figures" / "figure_2.png").exists()
    assert "kr-vs-k" in (first / "figures" / "figure_2.md").read_text()
    assert "95 % t intervals" in (first / "figures" / "figure_3.md").read_text()
    assert "local_max_iterations=200" in (first / "figures" / "figure_1.md").read_text()
    assert (first / "figures" / "figure_4.md").read_text().startswith("Not drawn")


def test_tables_hold_the_means(synthetic, tmp_path, no_figures):
    runs = synthetic.runs(
        folds=3, epsilons=(1.0, np.inf), local_settings=("local_max_iterations=200", "local_solver=newton")
    )
    folder = synthetic.results(tmp_path, runs)
    report.write_report(folder)
    accuracy = table(folder, "accuracy")
    row = accuracy.query("dataset == 'car' and clients == 5 and regime == 'local' and model == 'NB'").iloc[0]
    mine = runs.query(
        "dataset == 'car' and clients == 5 and regime == 'local' and learner == 'generative' and n == 0"
    )
    assert row["mean"] == pytest.approx(mine["accuracy"].mean(), abs=1e-15)
    assert row["sd"] == pytest.approx(mine["accuracy"].std(ddof=1), abs=1e-15)
    assert (row["folds"], row["seeds"]) == (3, 1)

    main = runs[(runs["epsilon"] != np.inf) & (runs["settings"] != "local_max_iterations=200")]
    scores = (
        main.groupby(["dataset", "regime", "learner", "n"])["accuracy"]
        .mean()
        .unstack(["regime", "learner", "n"])
    )
    ranks = table(folder, "ranks").set_index("series")["mean over C"]
    expected = friedman_nemenyi(scores.to_numpy())
    assert sorted(ranks) == pytest.approx(sorted(expected.average_ranks))
    friedman = table(folder, "friedman").set_index("clients")
    assert friedman.loc["mean over C", "chi_square"] == pytest.approx(expected.statistic)
    assert len(table(folder, "pairwise")) == 8 * 7 / 2

    solver = table(folder, "local_solver")
    assert set(solver["solver"]) == {"local_solver=newton", "local_max_iterations=200"}
    assert (solver.loc[solver["solver"] == "local_solver=newton", "difference"] == 0).all()
    privacy = table(folder, "privacy")
    assert set(privacy["epsilon"]) == {1.0, np.inf}
    assert set(privacy.query("dataset == 'car' and n == 1")["sensitivity"]) == {37}
    budget = table(folder, "privacy_budget").set_index("dataset")
    assert budget.loc["car", "releases"] == 2 * 2 * 3  # clients, orders, folds (3 of 5: a row may be in all)
    assert "does add over folds" in markdown(folder, "privacy_budget")
    assert set(table(folder, "other_settings")["variant"]) == {
        "local_max_iterations=200",
        "no noise (epsilon=inf)",
    }
    table_1 = table(folder, "table_1").set_index("dataset")
    assert table_1.loc["car", "agreement"] == "same"
    assert table_1.loc["connect-4", "agreement"] == "not in these results"
    assert table(folder, "communication")["regime"].unique().tolist() == ["federated"]


def test_separable_cells_stand_apart(synthetic, tmp_path, no_figures):
    runs = synthetic.runs(folds=2, local_settings=("local_max_iterations=200", "local_solver=newton"))
    newton = runs["settings"] == "local_solver=newton"
    runs.loc[newton, "message"] = [
        "separable=0.9" if c == 20 else "separable=0.1" for c in runs.loc[newton, "clients"]
    ]
    local = runs["settings"] != ""
    runs.loc[local, "accuracy"] = [
        0.8 if s.endswith("newton") else 0.7 + 0.1 * (c == 5)
        for s, c in zip(runs.loc[local, "settings"], runs.loc[local, "clients"], strict=True)
    ]
    folder = synthetic.results(tmp_path, runs)
    report.write_report(folder)
    summary = table(folder, "local_solver_summary").set_index(["cells", "n"])
    assert summary["solver"].unique().tolist() == ["local_max_iterations=200"]
    assert summary.loc[("separable", 1), "mean_difference"] == pytest.approx(-0.1)
    assert summary.loc[("not separable", 1), "mean_difference"] == pytest.approx(0.0)
    assert summary.loc[("all", 0), "within_half_a_point"] == 0.5


def test_failed_unavailable_and_partial(synthetic, tmp_path):
    runs = synthetic.runs(datasets=("tic-tac-toe", "car", "kr-vs-k", "own"), folds=2)
    gone = runs["dataset"] == "kr-vs-k"
    runs.loc[gone, ["rows", "attributes", "classes", "accuracy", "macro_f1"]] = np.nan
    runs.loc[gone, ["status", "message"]] = ["unavailable", "offline: run <scripts/fetch_data.py> | later"]
    broken = (runs["dataset"] == "car") & (runs["regime"] == "local")
    runs.loc[broken, ["status", "accuracy", "message"]] = ["failed", np.nan, "memory_limit"]
    manifest = synthetic.manifest(runs[~gone], partial=("tic-tac-toe",))
    folder = synthetic.results(tmp_path, runs, manifest)
    written = report.write_report(folder)
    shown = markdown(folder, "accuracy")
    assert "unavailable" in shown
    assert "failed" in shown
    assert "Tic-Tac-Toe (partial data)" in shown
    assert "Partial data: tic-tac-toe (958 rows)" in shown
    assert "The manifest does not say whether the data of kr-vs-k are complete." in shown
    assert "Partial data: tic-tac-toe" in (folder / "figures" / "figure_3.md").read_text()
    assert "Partial data: tic-tac-toe" in (folder / "CLAIMS.md").read_text()
    pooled = markdown(folder, "accuracy_pooled")
    assert "Pooled over 2 data sets" in pooled
    assert "Not pooled: car" in pooled
    status = table(folder, "status")
    assert status.query("dataset == 'kr-vs-k'")["status"].tolist() == ["unavailable"]
    assert (
        r"\textless{}scripts/fetch\_data.py\textgreater{} | later"
        in (folder / "tables" / "status.tex").read_text()
    )
    assert folder / "figures" / "figure_other_1.png" in written


def test_nothing_finished_still_gives_a_report(synthetic, tmp_path):
    runs = synthetic.runs(folds=1).assign(status="failed", accuracy=np.nan, message="out of memory")
    folder = synthetic.results(tmp_path, runs)
    (folder / "figures").mkdir()
    (folder / "figures" / "figure_1.png").write_bytes(b"old")
    (folder / "tables").mkdir()
    (folder / "tables" / "ranks.csv").write_text("old")
    report.write_report(folder)
    assert not (folder / "figures" / "figure_1.png").exists()
    assert not (folder / "tables" / "ranks.csv").exists()
    assert "failed" in markdown(folder, "accuracy")
    assert "reproduced, 0 partly, 0 not" in (folder / "CLAIMS.md").read_text()


def test_one_cell_is_enough(synthetic, tmp_path):
    runs = synthetic.runs(datasets=("car",), clients=(5,), orders=(0,), folds=1)
    folder = synthetic.results(
        tmp_path, runs[(runs["regime"] == "local") & (runs["learner"] == "generative")]
    )
    (folder / "manifest.json").unlink()
    written = report.write_report(folder)
    assert folder / "figures" / "figure_3.png" in written
    assert not (folder / "tables" / "ranks.md").exists()
    assert "does not say whether the data of car are complete" in markdown(folder, "accuracy")


def _empty(folder):
    pass


def _other_file(folder):
    (folder / "notes.txt").write_text("x")


def _binary(folder):
    (folder / "runs.csv").write_bytes(b"\xff\xfe\x00\x80,\x81")


def _nothing(folder):
    (folder / "runs.csv").write_text("")


def _columns(folder):
    (folder / "runs.csv").write_text("a,b\n1,2\n")


def _ragged(folder):
    (folder / "runs.csv").write_text("a,b\n1,2\n1,2,3,4\n")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_empty, "is empty"),
        (_other_file, "holds no runs.csv"),
        (_binary, "not a readable CSV"),
        (_nothing, "not a readable CSV"),
        (_columns, "no column cell"),
        (_ragged, "not a readable CSV"),
        (shutil.rmtree, "does not exist"),
    ],
)
def test_a_useless_folder_gives_one_line(tmp_path, capsys, make, words):
    folder = tmp_path / "results"
    folder.mkdir()
    make(folder)
    assert report.main([str(folder)]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("accuracy", "high", "data row 2: accuracy holds 'high', expected a number"),
        ("accuracy", 1.5, "data row 2: accuracy holds '1.5', expected a number from 0 to 1"),
        ("accuracy", math.inf, "data row 2: accuracy holds 'inf', expected a number from 0 to 1"),
        ("macro_f1", -0.1, "data row 2: macro_f1 holds '-0.1', expected a number from 0 to 1"),
        ("accuracy", "", "data row 2: accuracy is empty, expected a number in a row that is done"),
        ("rows", 0, "data row 2: rows holds '0', expected a whole number from 1"),
        ("epsilon", 0, "data row 2: epsilon holds '0.0', expected a number above 0"),
        ("fit_seconds", -1, "data row 2: fit_seconds holds '-1.0', expected a number from 0"),
        ("seed", 1e300, "data row 2: seed holds '1e+300', expected a whole number from 0"),
        ("log_loss", math.inf, "data row 2: log_loss holds 'inf', expected a finite number"),
        ("fit_seconds", -math.inf, "data row 2: fit_seconds holds '-inf', expected a finite number"),
        ("status", "finished", "data row 2: status holds 'finished', expected one of done"),
        ("status", "", "data row 2: status is empty, expected one of done"),
        ("learner", "text", "data row 2: learner holds 'text', expected one of generative, discriminative"),
        ("regime", "", "data row 2: regime is empty, expected one of local, federated"),
        ("n", "", "data row 2: n is empty, expected a number"),
        ("seed", "", "data row 2: seed is empty, expected a number"),
        ("n", math.inf, "data row 2: n holds 'inf', expected a whole number from 0"),
        ("fold", 0.5, "data row 2: fold holds '0.5', expected a whole number from 0"),
        ("clients", -5, "data row 2: clients holds '-5', expected a whole number from 1"),
    ],
)
def test_broken_rows_are_named(synthetic, tmp_path, capsys, column, value, words):
    runs = synthetic.runs(folds=1).astype(object)
    runs.loc[1, column] = value
    folder = synthetic.results(tmp_path, runs, manifest={"format": 1, "invocations": []})
    assert report.main([str(folder)]) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


def test_a_row_that_stands_twice_is_named(synthetic, tmp_path, capsys):
    runs = synthetic.runs(folds=1)
    again = runs.iloc[[2]].assign(cell="another", accuracy=0.5)
    folder = synthetic.results(tmp_path, pd.concat([runs, again]), manifest={"format": 1, "invocations": []})
    assert report.main([str(folder)]) == 2
    assert f"data row {len(runs) + 1}: a second row of the same dataset, partition" in capsys.readouterr().err


def test_a_folder_that_cannot_take_the_report_gives_one_line(synthetic, tmp_path, capsys):
    folder = synthetic.results(tmp_path, synthetic.runs(folds=1))
    (folder / "tables").touch()  # a file where the folder should be
    assert report.main([str(folder)]) == 2
    error = capsys.readouterr().err
    assert "tables" in error and error.count("\n") == 1


def test_a_summary_that_nobody_reads_is_no_fault(synthetic, tmp_path):
    folder = synthetic.results(tmp_path, synthetic.runs(folds=1))
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [sys.executable, "-m", "fedbayes.report", str(folder)],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_header_alone_and_broken_manifest(synthetic, tmp_path, capsys):
    folder = synthetic.results(tmp_path, synthetic.runs(folds=1).iloc[:0], manifest={})
    assert report.main([str(folder)]) == 2
    assert "holds no rows" in capsys.readouterr().err
    synthetic.results(tmp_path, synthetic.runs(folds=1))
    (folder / "manifest.json").write_text(json.dumps({"format": 1})[:-3])
    assert report.main([str(folder)]) == 2
    assert "manifest.json" in capsys.readouterr().err


def test_help_and_missing_argument(capsys):
    for arguments, code in ((["--help"], 0), ([], 2)):
        with pytest.raises(SystemExit) as stop:
            report.main(arguments)
        assert stop.value.code == code
    assert "FOLDER" in capsys.readouterr().out


def test_a_regime_that_nobody_asked_for_has_no_panel(synthetic, tmp_path, monkeypatch):
    titles = []
    real = fedande_figures.save_figure

    def save(figure, folder, name, caption):
        titles.append((name, [axes.get_title() for axes in figure.axes], caption))
        return real(figure, folder, name, caption)

    monkeypatch.setattr(fedande_figures, "save_figure", save)
    runs = synthetic.runs(folds=2)
    report.write_report(synthetic.results(tmp_path, runs[runs["regime"] == "federated"]))
    found = {name: (panels, caption) for name, panels, caption in titles}
    assert found["figure_1"][0] == ["Federated"] and "in federated settings." in found["figure_1"][1]
    assert found["figure_3"][0] == ["federated"] * 2  # two data sets


def test_with_one_number_of_clients_the_learners_still_differ():
    table = pd.DataFrame(
        {
            "learner": ["generative", "discriminative"],
            "n": 2,
            "clients": 20,
            "mean": [0.4, 0.9],
            "half_width": 0.1,
        }
    )
    axes = Figure().subplots()
    fedande_figures.draw_curves(axes, table, [20])
    lines = {float(line.get_ydata()[0]): line for line in axes.lines}
    for mean, style in ((0.4, "-"), (0.9, "--")):
        x, y = lines[mean].get_xdata(), lines[mean].get_ydata()
        assert x[0] < 0.0 < x[-1] and list(y) == [mean] * 3  # a piece of line around the point
        assert lines[mean].get_linestyle() == style and lines[mean].get_markevery() == [1]  # with one marker
    bands = sorted(band.get_paths()[0].get_extents().ymin for band in axes.collections)
    assert np.allclose(bands, [0.3, 0.8])
