"""What the grid itself costs: enumerating, hashing and comparing many cells, and handing out trivial ones.

    python scripts/bench_grid.py [--cells 100000] [--folds 5] [--tasks 2000]

The first measurement enumerates a grid whose rows are all in runs.csv and finds that nothing is left; processor
seconds and peak memory are those of a process of its own, imports apart. The second computes tasks that do
nothing in a local pool of two workers.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

from fedbayes import executors
from fedbayes.experiments import fedande
from fedbayes.grid import Task, text
from fedbayes.runner import Grid
from fedbayes.store import ResultStore

CAR = SimpleNamespace(rows=1728, attributes=6, classes=4, missing=None)


def parameters(cells: int, folds: int) -> fedande.Parameters:
    """Settings with about so many cells on one data set."""
    per_seed = 5 * 3 * 4
    return fedande.Parameters(
        clients=(5, 10, 20, 50, 100),
        n=(0, 1, 2),
        learner=("generative", "discriminative"),
        regime=("local", "federated"),
        seeds=tuple(range(-(-cells // per_seed))),
        partition=("stratified",),
        epsilon=(1.0,),
        folds=folds,
    )


def write_results(folder: Path, settings: fedande.Parameters) -> None:
    """A finished runs.csv of the whole grid."""
    dataset = SimpleNamespace(X=SimpleNamespace(shape=(1728, 6)), class_names="abcd")
    columns = fedande.RUNS.columns
    numbers = dict.fromkeys(("accuracy", "macro_f1", "log_loss", "accuracy_client_std"), 0.8123456789012345)
    with (folder / "runs.csv").open("w") as stream:
        stream.write(",".join(columns) + "\n")
        for cell in fedande.cells(settings, {"car": CAR}):
            for fold in fedande.parts(cell, settings):
                row = fedande.describe(cell, fold, dataset) | {"status": "done"} | numbers
                stream.write(",".join(text(row.get(column)) for column in columns) + "\n")


def compare(folder: Path, settings: fedande.Parameters) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF)
    started = time.process_time()
    grid = Grid(fedande, settings, {"car": CAR})
    grid.enumerate(None)
    enumerated = time.process_time()
    store = ResultStore(folder, fedande.TABLES)
    store.merge()
    statuses = store.statuses()
    read = time.process_time()
    remaining = grid.remaining(statuses, "none")
    ended = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert not remaining
    print(
        f"{len(grid.cells)} cells, {grid.size} rows: enumerate and hash {enumerated - started:.2f} s, read "
        f"{read - enumerated:.2f} s, compare {ended - read:.2f} s, together {ended - started:.2f} s CPU; peak "
        f"{peak:.0f} MiB, {peak - before.ru_maxrss / 1024:.0f} MiB above the imports"
    )


def nothing(task: Task, dataset: object) -> None:
    return None


def pool(tasks: int) -> None:
    def make(count):
        return [Task("fedande", "car", (), ("0",), None, 1.0, str(i)) for i in range(count)]

    def spent() -> float:
        uses = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(use.ru_utime + use.ru_stime for use in uses)

    measured = []
    for count in (20, 20 + tasks):  # the difference leaves out the start of the workers
        started, before = time.perf_counter(), spent()
        for _ in executors.processes(make(count), nothing, {"car": None}, 2):
            pass
        measured.append((time.perf_counter() - started, spent() - before))
    wall, cpu = (1000 * (after - before) / tasks for before, after in zip(*measured, strict=True))
    print(f"local pool of two, per trivial task: {wall:.2f} ms, {cpu:.2f} ms CPU of all processes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=100_000)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--compare", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    settings = parameters(given.cells, given.folds)
    if given.compare:
        compare(given.compare, settings)
        return
    with tempfile.TemporaryDirectory() as folder:
        write_results(Path(folder), settings)
        subprocess.run([sys.executable, *sys.argv, "--compare", folder], check=True)
    pool(given.tasks)


if __name__ == "__main__":
    main()
