"""The same rows, byte for byte, however the work is spread over processes and whatever dies on the way."""

import csv
import subprocess
import sys

import pytest
from hydra import compose, initialize_config_dir

from fedbayes import run, runner
from fedbayes.config import conf_directory

GRID = [
    "+experiment=fedande", "dataset=[tic-tac-toe]", "learner=[generative,discriminative]",
    "regime=[local,federated]", "clients=[3,7]", "n=[0,1]", "epsilon=[0.5,inf]", "local_solver=newton", "rounds=3",
    "seeds=42", "folds=2", "report=false",
]  # fmt: skip
ROWS = 2 * 2 * 2 * (2 + 2 + 1)  # folds, clients, orders; local, federated with two epsilons, and one without


def start(*arguments):
    with initialize_config_dir(str(conf_directory()), version_base="1.3"):
        composed = compose("config", [*GRID, *arguments])
    assert run.run(composed, arguments) == 0


def content(folder, count=ROWS):
    """Lines of runs.csv, sorted, without the two columns that are times."""
    with (folder / "runs.csv").open(newline="") as stream:
        header, *rows = csv.reader(stream)
    kept = [i for i, name in enumerate(header) if name not in ("fit_seconds", "predict_seconds")]
    assert len(kept) == len(header) - 2 and len(rows) == count
    assert {row[header.index("status")] for row in rows} == {"done"}
    return "\n".join(sorted(",".join(row[i] for i in kept) for row in rows)).encode()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one process")
    start("jobs=1", f"output_dir={folder}")
    return content(folder)


def test_two_worker_processes(expected, tmp_path):
    start("jobs=2", f"output_dir={tmp_path}")
    assert content(tmp_path) == expected


def test_threads_share_the_structures_of_a_single_task(tmp_path, monkeypatch):
    def compute(task, dataset):
        threads.append(task.threads)
        return real(task, dataset)

    real, threads = runner.compute, []
    monkeypatch.setattr(runner, "compute", compute)
    for jobs in (1, 3):  # 36 structures: more than are added up together
        start("n=2", "clients=3", "fold=0", f"jobs={jobs}", f"output_dir={tmp_path / str(jobs)}")
    assert threads == [1, 3]
    assert content(tmp_path / "3", 5) == content(tmp_path / "1", 5)


def test_two_shards_at_once_in_one_folder(expected, tmp_path):
    shards = [
        subprocess.Popen(
            [sys.executable, "-m", "fedbayes.run", *GRID, "jobs=1", f"output_dir={tmp_path}", f"shard={i}/2"],
            stdout=subprocess.DEVNULL,
        )
        for i in (1, 2)
    ]
    assert [shard.wait() for shard in shards] == [0, 0]
    assert content(tmp_path) == expected


def test_a_dask_scheduler_that_loses_one_of_two_workers(
    expected, dask_cluster, kill_once, tmp_path, monkeypatch
):
    address, _ = dask_cluster
    kill_once(monkeypatch, tmp_path / "killed", fold=1)
    start("execution=dask", f"execution.address={address}", f"output_dir={tmp_path / 'out'}")
    assert (tmp_path / "killed").exists()
    assert content(tmp_path / "out") == expected
