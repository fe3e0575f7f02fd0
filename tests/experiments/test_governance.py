"""The governance grid: cells, tasks, settings and checks."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from omegaconf import OmegaConf

from fedbayes.config import conf_directory
from fedbayes.data import load_dataset, load_specification
from fedbayes.errors import ConfigurationError
from fedbayes.experiments import governance
from fedbayes.experiments.governance_settings import PROPOSALS, GovernanceSettings

BASE = OmegaConf.to_container(OmegaConf.load(conf_directory() / "experiment" / "governance.yaml"))


def parse(**changes):
    return governance.parse(BASE | changes, 4.0)


def described(*names):
    return {name: load_specification(name) for name in names}


def test_the_configuration_file_holds_the_papers_settings():
    parameters = parse()
    assert parameters.settings == GovernanceSettings()
    assert parameters.settings.differences() == ()
    assert len(list(governance.cells(parameters, described("nsl-kdd", "unsw-nb15")))) == 2 * 7 * 5 * 2


@pytest.mark.parametrize("name", governance.SETTINGS)
def test_null_is_no_setting(name):
    with pytest.raises(ConfigurationError, match=f"{name}=None"):
        parse(**{name: None})


def test_readings_of_one_partition_are_one_task():
    parameters = parse(seeds=42, alpha=[0.1, 1.0])
    cells = list(governance.cells(parameters, described("synthetic-flows")))
    tasks = governance.tasks([(cell, PROPOSALS) for cell in cells], parameters, {})
    assert len(tasks) == 2 and all(len(task.cells) == 2 for task in tasks)


def test_settings_are_part_of_the_key():
    def key(**changes):
        return next(governance.cells(parse(**changes), described("nsl-kdd"))).key

    plain = key()
    for changes in (
        {"redraw_min_rows": 10},
        {"penalty": 0.2},
        {"drop_duplicates": False},
        {"target": "projected"},
    ):
        assert key(**changes) != plain
    assert key(gaussian_features=None) == plain
    cell = next(governance.cells(parse(redraw_min_rows=10, drop_duplicates=False), described("nsl-kdd")))
    assert cell.settings_text == "drop_duplicates=false;redraw_min_rows=10"


def test_an_option_that_says_what_is_done_anyway_names_the_same_cell():
    def key(name, **changes):
        return next(governance.cells(parse(**changes), described(name))).key

    assert key("nsl-kdd", drop_duplicates=True) == key("nsl-kdd")
    assert key("cic-ids2017", drop_duplicates=True) == key("cic-ids2017")
    assert (
        key("unsw-nb15", drop_duplicates=False) == key("unsw-nb15") != key("unsw-nb15", drop_duplicates=True)
    )
    generated = {key("synthetic-flows", drop_duplicates=asked) for asked in ("auto", True, False)}
    assert len(generated) == 1  # nothing is ever dropped from them
    own = replace(load_specification("unsw-nb15"), drop_duplicates=True)
    keys = [
        next(governance.cells(parse(drop_duplicates=asked), {"unsw-nb15": own})).key
        for asked in ("auto", True, False)
    ]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"nodes": [{"name": "A", "cmm": 0, "kci": 0.5, "kri": 0.5, "cvss": 5}] * 2}, "cmm"),
        ({"nodes": [{"name": "A", "cmm": 3, "kci": 0.5, "kri": 1.2, "cvss": 5}] * 2}, "kri"),
        ({"nodes": BASE["nodes"][:1]}, "nodes"),
        ({"nodes": 3}, "nodes"),
        ({"floor": 0.5}, "floor"),
        ({"penalty": -1}, "penalty"),
        ({"alpha": 0}, "alpha"),
        ({"reading": "text"}, "reading"),
        ({"mcnemar": "bonferroni"}, "mcnemar"),
        ({"validation_rows": 0}, "validation_rows"),
        ({"drop_duplicates": "yes"}, "drop_duplicates"),
        ({"gaussian_features": [3]}, "gaussian_features"),
    ],
)
def test_values_out_of_range_name_their_key(changes, words):
    with pytest.raises(ConfigurationError, match=words):
        parse(**changes)


def test_categorical_data_are_refused():
    with pytest.raises(ConfigurationError, match="car"):
        governance.check_specifications(parse(), {"car": SimpleNamespace(kind="categorical")})


def test_features_to_record_that_a_data_set_has_not_are_said():
    datasets = {"synthetic-flows": load_dataset("synthetic-flows")}
    assert governance.notes(parse(gaussian_features=["durations", "duration"]), datasets) == []
    assert governance.notes(parse(gaussian_features=None), datasets) == []
    (note,) = governance.notes(parse(gaussian_features=["durations"]), datasets)
    assert "synthetic-flows" in note and "durations" in note and "duration," in note


def test_a_task_gives_one_row_per_cell_and_proposal():
    parameters = parse(seeds=42, alpha=1.0, gaussian_features="duration")
    dataset = load_dataset("synthetic-flows")
    cells = list(governance.cells(parameters, described("synthetic-flows")))
    (task,) = governance.tasks([(cell, PROPOSALS) for cell in cells], parameters, {})
    tables = governance.run(task, dataset)
    keys = {(row["cell"], row["proposal"]) for row in tables["runs"]}
    assert keys == {(cell.key, proposal) for cell in cells for proposal in PROPOSALS}
    assert all(set(row) == set(governance.TABLES[0].columns) for row in tables["runs"])
    assert {row["feature"] for row in tables["node_gaussians"]} == {"duration"}
    assert {row["cell"] for row in tables["node_gaussians"]} == {cell.key for cell in cells}
