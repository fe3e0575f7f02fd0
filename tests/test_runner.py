"""What the runner makes of failures, lost workers and interruptions, on a toy experiment."""

import contextlib
import os
import signal
import sys
import time
import types

import numpy as np
import pytest

from fedbayes import executors, runner
from fedbayes.config import RunOptions
from fedbayes.errors import DataError, DataUnavailable
from fedbayes.grid import Cell, Task
from fedbayes.interruption import Interruption
from fedbayes.store import ResultStore, Table

RUNS = Table(
    "runs", ("cell", "dataset", "seed", "fold", "status", "message"), ("cell", "fold"), ("seed", "fold")
)


def describe(cell, part, dataset):
    return {"cell": cell.key, "dataset": cell.dataset, "seed": cell.seed, "fold": part}


def toy_run(task, dataset):
    rows = []
    for cell in task.cells:
        if cell.seed == 13:
            raise RuntimeError("unlucky\nseed")
        if cell.seed == 66:
            raise KeyboardInterrupt
        if cell.seed == 77:  # in a callback of the compiler
            with contextlib.suppress(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGTERM)
        rows.append(describe(cell, task.parts[0], dataset) | {"status": "done", "message": ""})
    return {"runs": rows}


def toy():
    module = types.ModuleType("fedbayes.experiments.toy")
    module.NAME, module.TABLES = "toy", (RUNS,)
    module.cells = lambda seeds, datasets: (Cell("toy", d, 1, s) for d in datasets for s in seeds)
    module.data_options = lambda parameters, specification: {}
    module.parts = lambda cell, parameters: ("0", "1")
    module.skip_reason = lambda cell, dataset, parameters: "too small" if cell.seed == 7 else ""
    module.describe, module.run = describe, toy_run
    module.tasks = lambda wanted, parameters, shapes: [
        Task("toy", cell.dataset, (cell,), (part,), parameters, 1.0, f"{cell.seed}/{part}")
        for cell, parts in wanted
        for part in parts
    ]
    return module


@pytest.fixture
def run(tmp_path, monkeypatch):
    module = toy()
    monkeypatch.setitem(sys.modules, "fedbayes.experiments.toy", module)
    monkeypatch.setattr("fedbayes.experiments.EXPERIMENTS", {"toy": "toy"})

    def start(seeds, rerun="none", errors=None, **changes):
        options = RunOptions("toy", None, tmp_path, **({"jobs": 1, "rerun": rerun} | changes))
        spec = types.SimpleNamespace(rows=10, attributes=2, classes=2)
        grid = runner.Grid(module, seeds, {"data": spec})
        grid.enumerate(options.shard)
        store = ResultStore(tmp_path, module.TABLES)
        store.merge()
        remaining = grid.remaining(store.statuses(), rerun)
        datasets = {} if errors else {"data": types.SimpleNamespace(class_names="ab")}
        with Interruption() as interruption:
            summary = runner.run_grid(grid, options, store, remaining, datasets, errors or {}, interruption)
        store.merge(close=True)
        return summary, store.statuses()

    return start


def test_an_exception_becomes_rows_and_the_rest_runs(run):
    summary, statuses = run([1, 13, 2])
    assert summary.counts == {"done": 4, "failed": 2}
    assert summary.exit_code == 1
    assert ("failed", "data", "RuntimeError: unlucky seed") in summary.problems
    assert len(statuses) == 6


def test_done_rows_are_not_computed_again_and_failed_ones_are(run):
    run([1, 13])
    summary, _ = run([1, 13, 2])
    assert summary.counts == {"failed": 2, "done": 2}
    summary, _ = run([1, 13, 3], rerun="failed")
    assert summary.counts == {"failed": 2}
    summary, _ = run([1, 2], rerun="all")
    assert summary.counts == {"done": 4}


def test_stop_on_the_first_error(run):
    summary, statuses = run([13, 1], on_error="stop")
    assert summary.counts == {"failed": 1} and len(statuses) == 1


def test_impossible_cells_are_skipped_with_a_reason(run):
    summary, _ = run([7, 1])
    assert summary.counts == {"skipped": 2, "done": 2} and summary.exit_code == 0
    assert ("skipped", "data", "too small") in summary.problems


@pytest.mark.parametrize(
    ("error", "status"), [(DataUnavailable("offline"), "unavailable"), (DataError("line 3"), "failed")]
)
def test_data_that_cannot_be_had(run, error, status):
    summary, _ = run([1], errors={"data": error})
    assert summary.counts == {status: 2} and summary.exit_code == 1


def test_an_interruption_keeps_what_is_finished(run):
    summary, statuses = run([1, 66, 2])
    assert summary.interrupted and summary.exit_code == 130
    assert len(statuses) == 2
    summary, statuses = run([1, 2])
    assert summary.counts == {"done": 2} and len(statuses) == 4


def test_an_interruption_that_was_swallowed_ends_the_run_after_its_task(run):
    summary, statuses = run([1, 77, 2])
    assert summary.interrupted and summary.exit_code == 130
    assert len(statuses) == 3  # both rows of the first seed, and the one under way


def work(task, dataset):
    if task.label == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if task.label == "pid":
        return os.getpid(), {name: os.environ.get(name) for name in executors.SINGLE_THREAD}
    time.sleep(0.05)
    return float(dataset.sum())


def task(label):
    return Task("toy", "data", (), (), None, 1.0, label)


def test_a_dying_worker_costs_only_its_own_task():
    tasks = [task("a"), task("b"), task("kill"), task("c"), task("d"), task("e")]
    outcomes = dict(
        (t.label, outcome) for t, outcome in executors.processes(tasks, work, {"data": np.ones(4)}, 2)
    )
    lost = outcomes.pop("kill")
    assert isinstance(lost, executors.WorkerLost) and "died" in lost.message
    assert outcomes == dict.fromkeys("abcde", 4.0)


def test_workers_that_die_while_idle_are_replaced():
    def work(task, dataset):
        return os.getpid()

    outcomes = executors.processes([task("first"), task("second")], work, {"data": np.ones(4)}, 1)
    (_, worker) = next(outcomes)
    os.kill(worker, signal.SIGKILL)
    time.sleep(1)  # until the pool has noticed
    ((second, other),) = outcomes
    assert second.label == "second" and other != worker


def test_a_signal_in_front_of_a_pool_ends_it_without_an_exception_at_any_moment():
    def work(task, dataset):
        time.sleep(0.05)

    tasks = [task(str(number)) for number in range(1000)]
    before = signal.getsignal(signal.SIGTERM)
    with Interruption() as interruption:
        outcomes = executors.processes(tasks, work, {"data": np.ones(4)}, 2, interruption)
        next(outcomes)
        os.kill(os.getpid(), signal.SIGTERM)  # only remembered
        assert interruption()
        with pytest.raises(KeyboardInterrupt):
            list(outcomes)
    assert signal.getsignal(signal.SIGTERM) is before


def test_workers_use_one_thread_each():
    outcomes = [out for _, out in executors.processes([task("pid")] * 3, work, {"data": np.ones(4)}, 2)]
    assert all(set(environment.values()) == {"1"} for _, environment in outcomes)
    assert os.getpid() not in {pid for pid, _ in outcomes}


def test_a_fault_in_loading_one_data_set_costs_no_other(monkeypatch):
    from fedbayes.data import sources

    def load(specification, **settings):
        if specification == "broken":
            raise ZeroDivisionError("a fault of ours")
        return specification

    monkeypatch.setattr(sources, "load", load)
    grid = runner.Grid(toy(), None, {"one": "sound", "two": "broken"})
    loaded, errors = runner.load_datasets(grid, ["one", "two"], RunOptions("toy", None, None, jobs=1))
    assert loaded == {"one": "sound"}
    assert str(errors["two"]) == "two: ZeroDivisionError: a fault of ours"


def test_workers_that_start_together_compile_for_different_numbers_of_classes():
    datasets = {name: types.SimpleNamespace(class_names=classes) for name, classes in
                (("two", "ab"), ("also two", "cd"), ("three", "abc"), ("four", "abcd"))}  # fmt: skip
    tasks = [
        Task("toy", name, (), (part,), None, 1.0, f"{name}/{part}") for name in datasets for part in "01"
    ]

    def order(workers):
        return [task.label for task in runner.compiled_apart(tasks, datasets, workers)]

    plain = [task.label for task in tasks]
    assert order(1) == plain
    assert order(2) == ["two/0", "three/0", *(label for label in plain if label not in ("two/0", "three/0"))]
    assert order(8)[:3] == ["two/0", "three/0", "four/0"] and sorted(order(8)) == sorted(plain)
    assert runner.compiled_apart([], {}, 2) == []
