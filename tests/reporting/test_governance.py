"""The governance report against values worked out by hand."""

import itertools
import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from fedbayes import report
from fedbayes.errors import FedbayesError
from fedbayes.evaluation import mcnemar
from fedbayes.reporting import governance, governance_checks, governance_figures, governance_published
from fedbayes.reporting.claims import NOT, NOT_TESTABLE, PARTLY, REPRODUCED
from fedbayes.reporting.figures import save_figure
from fedbayes.reporting.governance_alignment import draw_weights
from fedbayes.reporting.governance_claims import claims
from fedbayes.reporting.governance_controls import centralised_table, family_corrected, mcnemar_levels_table
from fedbayes.reporting.governance_evidence import Finding, judge
from fedbayes.reporting.governance_format import NO_DATA, NOT_PRINTED, Shown, number, p_value, signed
from fedbayes.reporting.governance_inconsistencies import (
    configuration_splits,
    inconsistencies_table,
    mean_published_weights,
)
from fedbayes.reporting.governance_results import levels_significant, results_table
from fedbayes.reporting.governance_series import combined_means, pool_mcnemar
from fedbayes.reporting.governance_study import Study
from fedbayes.reporting.governance_summary import alignment_table, published_combinations, summary_table
from fedbayes.reporting.governance_tables import datasets_table, icc_table, parameters_table

TEST_ROWS = 1000
WEIGHTS = {
    "A": "0.6;0.3;0.1",
    "B": "0.4;0.3;0.3",
    "E": "0.2;0.5;0.3",
    "A0": "0.3;0.4;0.3",
    "AR": "0.1;0.3;0.6",
}
# right answers of A and B together, of A alone and of B alone; the rest follows
COUNTS = {
    "A": (800, 60, 30),
    "A0": (800, 50, 30),
    "AR": (800, 30, 30),
    "E": (700, 20, 130),
    "C": (820, 90, 10),
}
CLASSES = {"nsl-kdd": 2, "cic-ids2017": 2, "unsw-nb15": 10}
ROWS = {"nsl-kdd": 147_888, "cic-ids2017": 100_000, "unsw-nb15": 257_673, "synthetic-flows": 6000}


def make_runs(
    datasets=("nsl-kdd",),
    levels=governance_published.LEVELS,
    seeds=(42, 43),
    settings="",
    counts=None,
    shift=0.0,
):
    """Rows in which A is right 30 times more often than B, macro-F1 equal to accuracy."""
    rows = []
    counts = {**COUNTS, **(counts or {})}
    grid = itertools.product(datasets, ("paper", "density"), levels, seeds)
    for dataset, reading, alpha, seed in grid:
        common = {
            "cell": f"{dataset}-{reading}-{alpha}-{seed}-{settings}", "dataset": dataset, "rows": ROWS[dataset],
            "classes": CLASSES.get(dataset, 2), "clients": 3, "alpha": alpha, "seed": seed, "reading": reading,
            "settings": settings, "status": "done", "jsd": 0.7 - 0.4 * alpha, "absent_classes": 0, "message": "",
            "fit_seconds": 0.1, "anll_mean": 0.5, "anll_median": 0.2, "objective": 0.6,
        }  # fmt: skip
        for proposal, (both, first, second) in {**counts, "B": (830, 0, 0)}.items():
            right = (both + first if proposal != "B" else 830) / TEST_ROWS
            row = {"proposal": proposal, "accuracy": right, "macro_f1": right + shift * (proposal == "A")}
            row["weights"] = WEIGHTS.get(proposal, "")
            if proposal != "B":
                wrong = TEST_ROWS - both - first - second
                row |= {"versus": "B", "both_right": both, "only_first": first, "only_second": second}
                statistic, p = mcnemar(both, first, second, wrong)
                row |= {"both_wrong": wrong, "mcnemar_statistic": statistic, "mcnemar_p": p}
            rows.append(common | row)
    return pd.DataFrame(rows)


def make_facts(partial=(), datasets=("nsl-kdd", "cic-ids2017", "unsw-nb15")):
    return {
        name: {
            "title": name, "complete": name not in partial, "rows": ROWS[name] // (2 if name in partial else 1),
            "source": "file", "attributes": 41, "classes": 2, "fingerprint": "0", "notes": [],
        }
        for name in datasets
    }  # fmt: skip


def make_study(runs=None, partial=(), gaussians=None):
    empty = pd.DataFrame(columns=["cell", "feature"])
    runs = make_runs() if runs is None else runs
    return Study(runs=runs, facts=make_facts(partial), gaussians=empty if gaussians is None else gaussians)


def make_manifest(partial=(), datasets=("nsl-kdd", "cic-ids2017", "unsw-nb15")):
    entry = {"experiment": "governance", "datasets": make_facts(partial, datasets)}
    return {"format": 1, "invocations": [entry]}


def make_gaussians(runs):
    rows = []
    for cell in runs["cell"].unique():
        for node, label in itertools.product(("Financial", "Health", "Government"), ("normal", "attack")):
            rows.append((cell, node, label, "duration", 100.0, 50.0, 1 / 3))
    columns = ["cell", "node", "class", "feature", "mean", "standard_deviation", "weight"]
    return pd.DataFrame(rows, columns=columns)


# ---- statistics


def test_pooled_mcnemar_by_hand():
    rows = pd.DataFrame(
        {
            "both_right": [50, 40, 60],
            "only_first": [10, 3, 9],
            "only_second": [2, 5, 9],
            "both_wrong": [8, 2, 1],
            "mcnemar_p": [0.04, 0.7, 1.0],
        }
    )
    pooled = pool_mcnemar(rows)
    # 22 against 16: (|22 - 16| - 1)^2 / 38
    assert (pooled.only_first, pooled.only_second, pooled.configurations) == (22, 16, 3)
    assert pooled.statistic == pytest.approx(25 / 38)
    assert pooled.p == pytest.approx(0.4173, abs=2e-4)
    assert pooled.mean_p == pytest.approx(0.58)
    assert pooled.median_p == 0.7
    assert (pooled.better, pooled.worse, pooled.direction) == (1, 0, "first")
    exact = pool_mcnemar(rows, "exact")
    assert exact.statistic == 16
    assert exact.p == pytest.approx(binomtest(16, 38).pvalue, abs=1e-12)
    assert exact.mean_p == pooled.mean_p


def test_pooled_mcnemar_of_nothing_discordant():
    rows = pd.DataFrame(
        {"both_right": [5], "only_first": [3], "only_second": [3], "both_wrong": [0], "mcnemar_p": [1.0]}
    )
    pooled = pool_mcnemar(rows)
    assert (pooled.statistic, pooled.p, pooled.direction) == (0.0, 1.0, "neither")
    assert pool_mcnemar(rows.iloc[:0]) is None


def test_both_rules_of_combination():
    sets, configurations = combined_means(
        {"a": np.array([1.0, 1.0, 1.0]), "b": np.array([0.0]), "c": np.array([])}
    )
    assert (sets, configurations) == (0.5, 0.75)
    assert combined_means({}) == (None, None)


# ---- the paper's own arithmetic


def test_published_combined_means():
    (sets, by_sets), (configurations, by_count) = published_combinations().items()
    assert sets == "mean of data sets"
    assert by_sets == pytest.approx(((0.9135 + 0.7556 + 0.2110) / 3, (0.9076 + 0.6771 + 0.2060) / 3))
    assert [round(value, 4) for value in by_sets] == [0.6267, 0.5969]
    assert "31 + 28 + 35 = 94" in configurations
    assert [round(value, 4) for value in by_count] == [0.6049, 0.5777]


def test_only_one_split_gives_the_printed_means():
    assert configuration_splits() == [(31, 28, 35)]


def test_published_weights_and_stars():
    assert [round(value, 3) for value in mean_published_weights()] == [0.442, 0.344, 0.215]
    starred = [paper.levels_starred for paper in governance_published.DATASETS.values()]
    assert starred == [6, 5, 1]
    assert len(governance_published.CHECKS_NAMED) == 12


def test_inconsistencies_show_their_numbers():
    frame = inconsistencies_table(make_study()).frame
    assert len(frame) == 12
    revealed = " ".join(frame["Numbers that reveal it"])
    for words in (
        "0.6267 / 0.5969", "31 + 28 + 35", "11 of 105", "13/21", "6 + 5 + 1 = 12", "0.442/0.344/0.215",
        "0.40/0.40/0.20", "0.666/0.262/0.072", "0.530/0.291/0.179", "0.611", "1.62", "5 of 7 are whole fifths",
        "CIC-IDS2017 C 0.5353 below A and B", "12 are named",
    ):  # fmt: skip
        assert words in revealed
    assert all(NO_DATA not in cell for cell in frame["Ours"])
    assert all("density" in frame["Ours"][row] and "paper" in frame["Ours"][row] for row in (0, 1, 3, 4, 5))


# ---- tables


def test_results_table_levels_average_and_difference():
    frame = results_table(make_study(), "nsl-kdd").frame
    paper = frame[frame["reading"] == "paper"].set_index("alpha")
    assert list(paper.index[:7]) == ["0.05", "0.10", "0.20", "0.30", "0.50", "0.70", "1.00"]
    # A: 800 + 60 of 1000, B: 830
    assert paper.loc["0.05", "A"] == "0.8600"
    assert paper.loc["Avg.", "A - B"] == "+0.0300"
    assert paper.loc["difference", "A"] == "-0.0535"
    assert paper.loc["difference", "A - B"] == "+0.0241"
    assert paper.loc["Avg. published", "E"] == NOT_PRINTED
    assert paper.loc["0.05", "JSD difference"] == "+0.045"
    # 120 against 60 a level
    assert paper.loc["0.05", "p (pooled)"] == "<0.001 *"
    assert paper.loc["0.05", "better/worse"] == "2/0"
    assert paper.loc["Avg.", "p (pooled)"] == "7/7"
    assert "settings" not in frame


def test_missing_levels_are_said():
    study = make_study(make_runs(levels=(0.05, 1.0)))
    table = results_table(study, "nsl-kdd")
    assert "2 of 7 levels, 4 of 35 configurations" in table.caption
    rows = table.frame[table.frame["reading"] == "paper"].set_index("alpha")
    assert rows.loc["0.30", "A"] == NO_DATA
    assert rows.loc["0.30", "p published"] == "<0.001 *"
    assert rows.loc["Avg.", "p (pooled)"] == "2/2"
    assert any(
        "paper and density: no results at alpha 0.1, 0.2, 0.3, 0.5, 0.7" in words for words in study.missing
    )
    assert any(words.startswith("UNSW-NB15: no results") for words in study.missing)
    assert all(
        NO_DATA in cell or cell == NOT_PRINTED for cell in results_table(study, "unsw-nb15").frame["A"][:7]
    )


def test_unfinished_rows_are_counted_with_their_reason():
    runs = make_runs(levels=(0.05, 1.0))
    lost = runs["alpha"] == 1.0
    runs.loc[lost, ["status", "message"]] = ["failed", "redraw_min_rows=10 is out of reach"]
    runs.loc[lost, "macro_f1"] = np.nan
    study = make_study(runs)
    assert any("24 rows failed: redraw_min_rows=10 is out of reach" in words for words in study.missing)
    assert study.chosen("nsl-kdd")["paper"].mean("A") == pytest.approx(0.86)


def test_settings_are_never_pooled():
    runs = pd.concat([make_runs(), make_runs(settings="redraw_min_rows=10", shift=0.1)])
    study = make_study(runs)
    frame = results_table(study, "nsl-kdd").frame
    averages = frame[frame["alpha"] == "Avg."].set_index(["reading", "settings"])["A"]
    assert averages.to_dict() == {
        ("paper", "settings of the paper"): "0.8600",
        ("density", "settings of the paper"): "0.8600",
        ("paper", "redraw_min_rows=10"): "0.9600",
        ("density", "redraw_min_rows=10"): "0.9600",
    }
    assert study.chosen_label == "settings of the paper"
    assert make_study(make_runs(settings="redraw_min_rows=10")).chosen_label == "redraw_min_rows=10"


def test_alignment_and_summary_combine_by_both_rules():
    runs = pd.concat([make_runs(), make_runs(("unsw-nb15",), seeds=(42,), shift=0.2)])
    study = make_study(runs)
    summary = summary_table(study).frame
    combined = summary[summary["Dataset"].str.startswith("Combined") & (summary["reading"] == "paper")]
    # 14 configurations at .86 and 7 at 1.06
    assert list(combined["A (ICC)"]) == [f"{(0.86 + 1.06) / 2:.4f}", f"{(14 * 0.86 + 7 * 1.06) / 21:.4f}"]
    assert set(combined["A difference"]) == {"2 of 3 data sets"}
    first = summary.iloc[0]
    assert first["Levels (better/worse)"] == "7/7 (7/0)"
    assert first["Configurations (better/worse)"] == "14/14 (14/0)"
    alignment = alignment_table(study).frame
    assert list(alignment["Fin > Gov"][:3]) == ["14/14", NO_DATA, "7/7"]
    assert alignment["w(Fin.) difference"][0] == "+0.226"


def test_small_tables():
    study = make_study()
    icc = icc_table(study).frame
    assert [cell.value for cell in icc["ICC"]] == pytest.approx([0.3925504, 0.154350, 0.042240], abs=1e-6)
    assert [cell.value for cell in icc["difference"]] == pytest.approx([-0.00045, 0.00035, 0.00024], abs=1e-5)
    assert list(icc["target (normalised)"]) == ["0.666", "0.262", "0.072"]
    assert list(datasets_table(study).frame["difference"]) == ["+0", "+0", "+0"]
    assert list(parameters_table(study).frame["Value"])[:3] == ["42, 43", "2", "7 (0.05 to 1.00)"]
    central = centralised_table(study).frame
    assert central["difference"][0] == "+0.0317"
    assert central["C"][2] == NO_DATA


def test_mcnemar_tables_and_family():
    study = make_study()
    frame = mcnemar_levels_table(study, study.of_paper, "x", ["nsl-kdd"]).frame
    row = frame[(frame["reading"] == "paper") & (frame["alpha"] == "0.05")].iloc[0]
    assert (row["only this right"], row["only B right"], row["favours"]) == (120, 60, "A")
    assert row["statistic"] == f"{59**2 / 180:.2f}"
    entropy = frame[frame["proposal"].str.startswith("E")]
    assert set(entropy["favours"]) == {"B"}
    single = mcnemar(800, 60, 30, 110)[1]
    corrected = family_corrected(study.of("nsl-kdd")[:1])
    assert corrected["p_holm"].iloc[0] == pytest.approx(14 * single)
    assert levels_significant(study.of("nsl-kdd")[0]) == (7, 0, 7)


def test_numbers_keep_their_value():
    assert (number(1 / 3, 2), number(None, 2), number(np.nan, 2), number(np.inf, 2)) == (
        "0.33",
        *[NO_DATA] * 3,
    )
    assert number(1 / 3, 2).value == 1 / 3
    assert signed(-0.00001, 3) == "+0.000"
    assert isinstance(p_value(0.01), Shown)
    assert p_value(0.0004, star=True) == "<0.001 *"


# ---- claims


def verdicts(study):
    found = claims(study, governance_checks.run_checks(study))
    return {(claim.section, claim.quote): claim for claim in found}


def test_claims_on_complete_data():
    study = make_study(make_runs(("nsl-kdd", "cic-ids2017", "unsw-nb15")))
    found = verdicts(study)
    assert 15 <= len(found) <= 30
    assert found[
        "abstract", "outperforms size-proportional federated averaging in all three datasets"
    ].verdict == (REPRODUCED)
    assert found["VI-A", "does not produce statistically significant degradation"].verdict == REPRODUCED
    assert found["abstract, V-D", "without any explicit ordering constraint"].verdict == NOT
    assert (
        found["V-A", "The centralized oracle (C = 0.8814) falls below both federated proposals"].verdict
        == NOT
    )
    assert found["VII", "combined F1-macro improvement is +0.0272"].verdict == REPRODUCED
    assert found["V-C", "often disappear from some nodes entirely"].verdict == NOT
    assert all(
        "paper:" in claim.numbers and "density:" in claim.numbers for claim in list(found.values())[:26]
    )


def test_partial_data_decide_nothing():
    study = make_study(make_runs(("nsl-kdd", "unsw-nb15")), partial=("unsw-nb15",))
    found = verdicts(study)
    words = "partial data: UNSW-NB15 is 128,836 rows where the paper has 257,673"
    lone = found["V-C", "The centralized model (C = 0.2345) outperforms both federated proposals"]
    assert lone.verdict == NOT_TESTABLE
    assert words in lone.note
    assert "UNSW-NB15 (partial data)" in lone.numbers
    everywhere = found["abstract", "outperforms size-proportional federated averaging in all three datasets"]
    assert everywhere.verdict == PARTLY
    assert words in everywhere.note
    assert found["VII", "combined F1-macro improvement is +0.0272"].verdict == NOT_TESTABLE
    assert words in results_table(study, "unsw-nb15").caption
    assert words in summary_table(study).caption
    assert words not in results_table(study, "nsl-kdd").caption


def test_a_lost_manifest_makes_no_data_complete():
    study = Study(runs=make_runs(), facts={}, gaussians=pd.DataFrame(columns=["cell", "feature"]))
    assert study.partial(["nsl-kdd"]) == "partial data: the manifest does not say whether NSL-KDD is complete"
    assert {claim.verdict for claim in list(verdicts(study).values())[:26]} == {NOT_TESTABLE}


def test_readings_that_differ_are_named():
    study = make_study()
    outcome = {"paper": REPRODUCED, "density": NOT}
    claim = judge(study, "V", "q", "r", ["nsl-kdd"], lambda series: Finding("n", outcome[series.reading]))
    assert claim.verdict == PARTLY
    assert claim.note == (
        "reading paper: reproduced, reading density: not. Less than the paper's grid: NSL-KDD 7 of 7 levels, "
        "14 of 35 configurations"
    )
    refuted = judge(study, "V", "q", "r", ["nsl-kdd", "unsw-nb15"], lambda series: Finding("n", NOT))
    assert refuted.verdict == NOT


# ---- checks


def outcomes(runs):
    return {check.name: check.outcome for check in governance_checks.run_checks(make_study(runs))}


def test_checks_hold_on_good_rows():
    found = outcomes(make_runs())
    assert tuple(found) == governance_published.CHECKS_NAMED
    assert list(found.values()).count("passed") == 10
    assert found["Jensen-Shannon gradient monotonicity"] == "finding"


@pytest.mark.parametrize(
    ("column", "proposal", "value", "check"),
    [
        ("weights", "A", "0.6;0.3;0.2", "weights summing to 1"),
        ("macro_f1", "A", 1.2, "F1 in valid range"),
        ("jsd", "B", 0.84, "F1 in valid range"),  # a distance is at most sqrt(log 2) = .8326
        ("anll_mean", "E", -0.1, "ANLL in valid range"),
        ("anll_mean", "E", np.inf, "MoG finite output"),
        ("accuracy", "A", 0.5, "McNemar validity"),
        ("mcnemar_p", "AR", 0.0, "McNemar validity"),
        ("macro_f1", "C", 0.5, "seed reproducibility"),
        ("jsd", "B", np.nan, "absence of undefined or infinite values"),
    ],
)
def test_checks_find_a_wrong_row(column, proposal, value, check):
    runs = make_runs(seeds=(42,), levels=(0.05, 0.1))
    row = runs.index[(runs["proposal"] == proposal) & (runs["reading"] == "paper")][0]
    runs.loc[row, column] = value
    assert outcomes(runs)[check] == "FAILED"


def test_the_heterogeneity_is_bounded_by_its_own_method():
    runs = make_runs(seeds=(42,), levels=(0.05,)).assign(settings="jsd=generalised")
    for value, outcome in ((1.09, "passed"), (1.11, "FAILED")):  # three clients: log 3 = 1.0986
        assert outcomes(runs.assign(jsd=value))["F1 in valid range"] == outcome


# ---- the whole report


def save_quickly(figure, folder, name, caption):
    """Instead of `save_figure`, most of whose time goes into drawing."""
    stem = folder / "figures" / name
    stem.parent.mkdir(exist_ok=True)
    for suffix in (".png", ".pdf", ".md"):
        stem.with_name(name + suffix).write_text(caption)
    return [stem.with_name(name + suffix) for suffix in (".png", ".pdf", ".md")]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("governance")
    runs = pd.concat(
        [
            make_runs(("nsl-kdd", "unsw-nb15"), levels=(0.05, 0.3, 1.0)),
            make_runs(("cic-ids2017",), levels=(0.05,)).assign(
                status="unavailable", message="nothing below /home/me/data; put it there"
            ),
        ]
    )
    make_gaussians(runs[runs["dataset"] == "nsl-kdd"]).to_csv(folder / "node_gaussians.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(governance_figures, "save_figure", save_quickly)
        paths = governance.write(folder, runs, make_manifest(partial=("unsw-nb15",)))
    return folder, paths


def test_report_is_whole_and_free_of_nan(written):
    folder, paths = written
    assert all(path.is_file() for path in paths)
    names = {path.relative_to(folder).as_posix() for path in paths}
    for place in range(1, 9):
        assert {f"tables/table_{place}.{ending}" for ending in ("csv", "md", "tex")} <= names
    for place in (1, 2, 3, 7, 8, 9, 10, 11):
        assert {f"figures/figure_{place}.{ending}" for ending in ("png", "pdf", "md")} <= names
    assert "no finished rows of CIC-IDS2017" in (folder / "figures/figure_4.md").read_text()
    assert not (folder / "figures/figure_4.png").exists()
    words = (folder / "figures/figure_10.md").read_text()
    assert "without a panel: CIC-IDS2017." in words  # the others have theirs
    for path in paths:
        if path.suffix in (".csv", ".md", ".tex"):
            assert not re.search(r"(?<![a-z])(nan|inf)(?![a-z])", path.read_text().lower())
        if path.suffix == ".csv":
            assert not pd.read_csv(path).isna().any().any()


def test_partial_words_on_everything_concerned(written):
    folder, _ = written
    for name in (
        "tables/table_6.md",
        "tables/table_7.tex",
        "figures/figure_7.md",
        "figures/figure_10.md",
        "CLAIMS.md",
    ):
        assert "artial data: UNSW-NB15 is 128,836 rows" in (folder / name).read_text()
    assert "partial data" not in (folder / "figures/figure_1.md").read_text()
    assert "CIC-IDS2017: no results: nothing below PATH; put it there." in (folder / "CLAIMS.md").read_text()


def test_without_any_finished_row_the_report_says_so(tmp_path):
    runs = make_runs(levels=(0.05,), seeds=(42,)).assign(status="unavailable", message="no files")
    runs[["macro_f1", "accuracy", "jsd", "anll_mean", "anll_median"]] = np.nan
    paths = governance.write(tmp_path, runs, make_manifest())
    assert not [path for path in paths if path.suffix == ".png"]
    assert "not testable here" in (tmp_path / "CLAIMS.md").read_text()
    assert "0 reproduced, 0 partly, 0 not, 29" in (tmp_path / "CLAIMS.md").read_text()
    assert "no finished rows" in (tmp_path / "figures/figure_10.md").read_text()


def test_synthetic_flows_stay_out_of_the_papers_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(governance_figures, "save_figure", save_quickly)
    runs = make_runs(("synthetic-flows",), levels=(0.1, 1.0))
    paths = governance.write(tmp_path, runs, make_manifest(datasets=("synthetic-flows",)))
    names = {path.name for path in paths}
    assert {
        "synthetic_flows_levels.md",
        "synthetic_flows_gradient.png",
        "synthetic_flows_controls.csv",
    } <= names
    assert not any(name.startswith(("table_4", "table_8", "figure_")) for name in names)
    assert (
        "Synthetic flows made by a generator" in (tmp_path / "tables/synthetic_flows_levels.md").read_text()
    )
    assert (
        "Synthetic flows made by a generator" in (tmp_path / "figures/synthetic_flows_weights.md").read_text()
    )
    assert "claims: 0 reproduced, 1 partly, 0 not, 28 not testable" in (tmp_path / "CLAIMS.md").read_text()


@pytest.mark.parametrize(
    ("file", "column", "value", "words"),
    [
        ("runs.csv", "weights", "text", "data row 1: weights holds 'text', expected a number for every client"),
        ("runs.csv", "weights", "0.5;0.5", "data row 1: weights holds '0.5;0.5', expected a number for every client"),
        ("runs.csv", "clients", "0", "data row 1: clients holds '0', expected a whole number from 1"),
        ("runs.csv", "proposal", "Z", "data row 1: proposal holds 'Z', expected one of A, B"),
        ("runs.csv", "alpha", "0", "data row 1: alpha holds '0.0', expected a number above 0"),
        ("node_gaussians.csv", "mean", "x", "data row 1: mean holds 'x', expected a number"),
        ("node_gaussians.csv", "standard_deviation", "-1", "standard_deviation holds '-1.0', expected a number from 0"),
        ("node_gaussians.csv", None, "", "node_gaussians.csv is not a readable CSV file"),
        ("node_gaussians.csv", None, "a,b\n1,2\n", "node_gaussians.csv is not a results file of this package: no column"),
    ],
)  # fmt: skip
def test_files_that_no_run_has_written_are_named(tmp_path, capsys, file, column, value, words):
    runs = make_runs(datasets=("nsl-kdd",), levels=(1.0,), seeds=(42,))
    tables = {"runs.csv": runs, "node_gaussians.csv": make_gaussians(runs)}
    for name, table in tables.items():
        if name == file and column:
            table = table.astype(object)
            table.loc[0, column] = value
        table.to_csv(tmp_path / name, index=False)
    if column is None:
        (tmp_path / file).write_text(value)
    (tmp_path / "manifest.json").write_text(json.dumps(make_manifest(datasets=("nsl-kdd",))))
    assert report.main([str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


def test_a_broken_invariant_ends_the_report_after_writing_it(tmp_path, monkeypatch):
    monkeypatch.setattr(governance, "write_figures", lambda study, folder: [])
    runs = make_runs(levels=(0.05, 0.1))
    runs.loc[runs["proposal"] == "A", "weights"] = "0.6;0.3;0.2"
    with pytest.raises(FedbayesError, match="weights summing to 1"):
        governance.write(tmp_path, runs, make_manifest())
    assert "FAILED" in (tmp_path / "tables/table_checks.md").read_text()
    assert (tmp_path / "CLAIMS.md").is_file()


def test_figures_are_the_same_bytes_twice(tmp_path):
    study = make_study(make_runs(levels=(0.1,)))
    for name in ("a", "b"):
        save_figure(draw_weights(study.series), tmp_path / name, "x", "words")
    for suffix in ("png", "pdf"):
        first, second = ((tmp_path / name / f"figures/x.{suffix}").read_bytes() for name in ("a", "b"))
        assert first == second
