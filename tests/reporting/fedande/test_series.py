"""What is averaged with what: variants, complete blocks, matched repeats, intervals."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fedbayes.reporting import fedande_series as series
from fedbayes.reporting.fedande_tables import cell_table, half_width, pool


def study_of(runs, facts=None):
    runs = runs.copy()
    runs["epsilon"] = pd.to_numeric(runs["epsilon"])
    runs["iterations"] = pd.to_numeric(runs["iterations"])
    return series.build_study(runs, facts or {})


def test_model_names():
    assert [series.model_name("generative", n) for n in range(4)] == ["NB", "A1DE", "A2DE", "A3DE"]
    assert series.model_name("discriminative", 1) == "A1DEʷ"


@pytest.mark.parametrize(
    ("settings", "folds_of_second", "chosen"),
    [
        (("local_max_iterations=200", "local_solver=newton"), 5, "local_solver=newton"),
        (("", "local_solver=newton"), 5, ""),
        (("local_max_iterations=200", "local_solver=newton"), 4, "local_max_iterations=200"),
    ],
)
def test_most_finished_rows_then_paper_then_newton(synthetic, settings, folds_of_second, chosen):
    runs = synthetic.runs(local_settings=settings)
    runs = runs[(runs["settings"] != settings[1]) | (runs["fold"] < folds_of_second)]
    study = study_of(runs)
    assert study.variants["discriminative", "local"] == chosen
    local = study.main[(study.main["learner"] == "discriminative") & (study.main["regime"] == "local")]
    assert set(local["own"]) == {chosen}
    assert not local.duplicated([*series.CELL, *series.REPEAT]).any()
    if chosen:
        assert chosen in study.caption()


def test_epsilon_rounds_partition_and_common_settings_are_variants(synthetic):
    runs = synthetic.runs(epsilons=(1.0, np.inf), folds=2)
    more = runs[(runs["learner"] == "discriminative") & (runs["regime"] == "federated")].assign(rounds=20)
    iid = runs[runs["regime"] == "local"].assign(partition="iid")
    mode = runs[runs["dataset"] == "car"].assign(settings="missing=mode")
    study = study_of(pd.concat([runs, more, iid, mode], ignore_index=True))
    assert study.variants["generative", "federated"] == ""
    assert len(study.main) == len(runs) - (runs["epsilon"] == np.inf).sum()
    assert set(study.others["own"]) >= {"no noise (epsilon=inf)", "rounds=20"}
    assert set(study.others["shared"]) == {"", "partition=iid", "missing=mode"}
    assert not study.main.duplicated([*series.CELL, *series.REPEAT]).any()


def test_block_keeps_what_is_complete_and_says_what_is_not(synthetic):
    runs = synthetic.runs(datasets=("vote", "car", "connect-4"), orders=(0, 1, 2), folds=3)
    lost = (runs["dataset"] == "connect-4") & (runs["n"] == 2)
    block = series.complete_block(study_of(runs[~lost]).main)
    assert block.datasets == ("vote", "car")
    assert len(block.series) == 12
    assert block.left_out == ("connect-4",)
    only_car = (runs["dataset"] != "car") & (runs["n"] == 2)
    block = series.complete_block(study_of(runs[~only_car]).main)
    assert block.datasets == ("vote", "car", "connect-4")
    assert block.left_out == ("n=2",)
    assert "n=2" in block.note()


def test_block_matches_repeats(synthetic):
    runs = synthetic.runs(datasets=("vote", "car"), folds=5)
    weighted = (runs["learner"] == "discriminative") & (runs["dataset"] == "car") & (runs["n"] == 1)
    block = series.complete_block(study_of(runs[~(weighted & (runs["fold"] > 1))]).main)
    assert set(block.rows.loc[block.rows["dataset"] == "car", "fold"]) == {0, 1}
    assert set(block.rows.loc[block.rows["dataset"] == "vote", "fold"]) == set(range(5))
    disjoint = runs[
        ~(weighted & (runs["fold"] > 1)) & ~((runs["dataset"] == "car") & ~weighted & (runs["fold"] < 2))
    ]
    block = series.complete_block(study_of(disjoint).main)
    assert block.datasets == ("vote",)
    assert "no fold x seed common" in block.note()


def test_empty_block():
    block = series.complete_block(pd.DataFrame(columns=[*series.CELL, *series.REPEAT, "rows", "cell"]))
    assert block.datasets == ()
    assert "No data set" in block.note()


def test_pooled_numbers_by_hand(synthetic):
    runs = synthetic.runs(folds=3)
    study = study_of(runs)
    table = pool(series.complete_block(study.main), "accuracy").set_index(
        ["clients", "regime", "learner", "n"]
    )
    mine = runs[
        (runs["clients"] == 20)
        & (runs["regime"] == "local")
        & (runs["learner"] == "generative")
        & (runs["n"] == 1)
    ]
    car, tic = (mine.loc[mine["dataset"] == name, "accuracy"].to_numpy() for name in ("car", "tic-tac-toe"))
    row = table.loc[(20, "local", "generative", 1)]
    assert row["mean"] == pytest.approx((car.mean() + tic.mean()) / 2)
    assert row["sd"] == pytest.approx(np.sqrt((car.var(ddof=1) + tic.var(ddof=1)) / 2))
    # half the sum of two means has the interval of their difference, halved
    interval = stats.ttest_ind(car, -tic, equal_var=False).confidence_interval()
    assert row["half_width"] == pytest.approx((interval.high - interval.low) / 4)
    assert row["datasets"] == 2


def test_interval_of_one_mean_is_the_t_interval():
    values = np.array([0.7, 0.72, 0.69, 0.75, 0.71])
    low, high = stats.t.interval(0.95, 4, values.mean(), stats.sem(values))
    assert half_width([values.std(ddof=1)], [5]) == pytest.approx((high - low) / 2)
    assert np.isnan(half_width([np.nan], [1]))
    assert half_width([0.0, 0.0], [3, 3]) == 0.0
    assert half_width([0.1, np.nan], [5, 1]) > half_width([0.1, 0.1], [5, 5])


def test_cells_that_are_not_done_say_so(synthetic):
    runs = synthetic.runs(folds=3)
    car = (runs["dataset"] == "car") & (runs["clients"] == 20)
    runs.loc[car & (runs["n"] == 1), ["status", "accuracy", "message"]] = ["skipped", np.nan, "n >= d"]
    one = car & (runs["n"] == 0) & (runs["learner"] == "generative") & (runs["fold"] == 0)
    runs.loc[one, ["status", "accuracy"]] = ["failed", np.nan]
    table = cell_table(study_of(runs), "accuracy")
    here = table[(table["dataset"] == "car") & (table["clients"] == 20)]
    assert set(here.loc[here["n"] == 1, "status"]) == {"skipped"}
    partial = here[(here["n"] == 0) & (here["learner"] == "generative")]
    assert set(partial["status"]) == {"partial"}
    assert set(partial["done"]) == {2}
    assert set(partial["failed"]) == {1}
    assert table["mean"].notna().sum() == 32 - 4


def test_the_same_repeat_twice_counts_once(synthetic):
    runs = synthetic.runs(folds=2)
    newer = runs.assign(cell="new", accuracy=0.5)
    failed = runs.assign(cell="newest", status="failed", accuracy=np.nan)
    study = study_of(pd.concat([runs, newer, failed], ignore_index=True))
    assert len(study.main) == len(runs)
    assert (study.main["accuracy"] == 0.5).all()
