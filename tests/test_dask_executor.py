"""The same rows on a Dask scheduler, whatever dies on the way, and one clear line where it cannot work."""

import csv
import sys
import time

import pytest
from hydra import compose, initialize_config_dir

from fedbayes import run
from fedbayes.config import conf_directory

GRID = [
    "+experiment=quickstart", "dataset=[tic-tac-toe]", "learner=generative", "regime=federated", "clients=5",
    "n=0", "folds=5", "report=false", "jobs=1",
]  # fmt: skip


def start(*arguments):
    with initialize_config_dir(str(conf_directory()), version_base="1.3"):
        composed = compose("config", [*GRID, *arguments])
    return run.run(composed, arguments)


def numbers(folder):
    with (folder / "runs.csv").open(newline="") as stream:
        return [
            {k: v for k, v in row.items() if not k.endswith("_seconds")} for row in csv.DictReader(stream)
        ]


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serial")
    assert start(f"output_dir={folder}") == 0
    return numbers(folder)


def test_a_worker_killed_in_the_middle_changes_no_row(
    dask_cluster, kill_once, serial, tmp_path, monkeypatch, capfd
):
    address, _ = dask_cluster
    kill_once(monkeypatch, tmp_path / "killed", fold=2)
    code = start("execution=dask", f"execution.address={address}", f"output_dir={tmp_path / 'out'}")
    assert (tmp_path / "killed").exists()
    assert code == 0 and numbers(tmp_path / "out") == serial
    written = capfd.readouterr()
    first, last = written.out.splitlines()  # nothing but the run's own lines
    assert first.startswith("5 rows to do") and last.endswith("now 5 done")
    assert all(line.startswith("fedbayes: ") for line in written.err.splitlines())


def test_a_lost_scheduler_is_one_line_and_costs_no_finished_row(
    dask_cluster, kill_once, serial, tmp_path, monkeypatch, capfd
):
    address, scheduler = dask_cluster
    with monkeypatch.context() as patched:
        kill_once(patched, tmp_path / "killed", fold=2, pid=scheduler.pid)
        began = time.monotonic()
        code = start("execution=dask", f"execution.address={address}", f"output_dir={tmp_path / 'out'}")
    lines = capfd.readouterr().err.splitlines()
    assert code == 1 and "scheduler was lost; finished cells are saved" in lines[-1]
    assert all("tasks," in line for line in lines[:-1])  # progress
    assert time.monotonic() - began < 60
    kept = numbers(tmp_path / "out")
    assert kept and all(row in serial for row in kept)
    assert start(f"output_dir={tmp_path / 'out'}") == 0  # the same command goes on
    assert numbers(tmp_path / "out") == serial


def test_nothing_answers_at_the_address(tmp_path, monkeypatch, capfd):
    pytest.importorskip("distributed")
    monkeypatch.setattr("fedbayes.dask_executor.CONNECT_SECONDS", 1)
    code = start("execution=dask", "execution.address=tcp://127.0.0.1:9", f"output_dir={tmp_path}")
    lines = capfd.readouterr().err.splitlines()
    assert code == 2 and len(lines) == 1 and not (tmp_path / "manifest.json").exists()
    assert "execution.address='tcp://127.0.0.1:9'" in lines[0] and "dask scheduler" in lines[0]


def test_without_the_extra(tmp_path, monkeypatch, capfd):
    monkeypatch.setitem(sys.modules, "distributed", None)  # an import of it fails
    assert start("execution=dask", f"output_dir={tmp_path}") == 2
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1 and "pip install 'fedbayes[dask]'" in lines[0]
