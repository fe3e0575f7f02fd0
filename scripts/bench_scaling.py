"""How time and memory grow: with rows, with structures, with processes; and what one small task costs.

    python scripts/bench_scaling.py [--data DATA_DIR] [--skip-processes]

Rows and structures: federated training and testing of random rows shaped like Connect-4 (42 attributes of three
values, three classes, n=2, five clients), one thread, warm; the ratio is the time per row (per structure) against
that of the largest size, so 1.00 is linear. Processes: the same grid by the command line with jobs=1 and jobs=2.
Small task: a new process that computes one cell of Car, compiled code cached; beside it what importing the
libraries alone takes. Memory: the largest resident size of a process that computes Connect-4 with n=2 and 100
clients, imports included; the federated generative model has all its structures, the others a few, since theirs
are streamed (second line: twice as many structures).
"""

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from fedbayes.models.engine.ensemble import Variant, evaluate_structures

ATTRIBUTES, VALUES, CLASSES, N, CLIENTS = 42, 3, 3, 2, 5


def draw(rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(0, CLASSES, rows).astype(np.int32)
    shift = rng.random((rows, ATTRIBUTES)) < 0.2
    X = (rng.integers(0, VALUES, (rows, ATTRIBUTES)) + shift * y[:, None]) % VALUES
    return X.astype(np.int32), y


def seconds(rows: int, structures: int, repeats: int = 3) -> float:
    """Processor seconds of training and testing, best of several."""
    rng = np.random.default_rng(rows)
    clients = [draw(rows // CLIENTS, rng) for _ in range(CLIENTS)]
    test = draw(rows // 4, rng)[0]
    pairs = list(itertools.combinations(range(ATTRIBUTES), N))[:structures]
    times = []
    for _ in range(repeats):
        started = time.process_time()
        evaluate_structures(
            clients,
            (VALUES,) * ATTRIBUTES,
            CLASSES,
            test,
            n=N,
            variants=[Variant("federated")],
            structures=pairs,
        )
        times.append(time.process_time() - started)
    return min(times)


def scaling(name: str, sizes: list[int], measure) -> None:
    measure(sizes[0])  # compiles
    times = {size: measure(size) for size in sizes}
    unit = times[sizes[-1]] / sizes[-1]
    print(
        f"{name}: "
        + ", ".join(f"{size} {took:.2f} s (x{took / size / unit:.2f})" for size, took in times.items())
    )


def run(*arguments: str) -> tuple[float, float]:
    """Wall seconds and the largest resident size (MiB) of one run of the command line in a new process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "fedbayes.run", *arguments]
        command += [f"output_dir={folder}/results", "report=false"]
        started = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        errors = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        took = time.perf_counter() - started
        if status:
            sys.exit(f"{' '.join(command)}\n{errors.decode()}")
    return took, usage.ru_maxrss / 1024


def processes() -> None:
    grid = ("+experiment=fedande", "dataset=[nursery]", "n=1", "clients=[20,50,100]", "seeds=[42,43]")
    grid += ("local_solver=lbfgs", "local_max_iterations=200")
    run(*grid, "fold=0", "jobs=2")  # compiles
    one, two = (run(*grid, f"jobs={jobs}")[0] for jobs in (1, 2))
    print(f"30 folds of Nursery, n=1: jobs=1 {one:.1f} s, jobs=2 {two:.1f} s: {one / two:.2f} times as fast")


def small_task() -> None:
    cell = ("+experiment=fedande", "dataset=[car]", "n=1", "clients=5", "learner=discriminative")
    cell += ("regime=federated", "seeds=42", "fold=0", "jobs=1")
    run(*cell)  # compiles
    whole = min(run(*cell)[0] for _ in range(3))
    libraries = [sys.executable, "-c", "import hydra, numba, pandas, sklearn.model_selection"]
    times = []
    for _ in range(3):
        started = time.perf_counter()
        subprocess.run(libraries, check=True)
        times.append(time.perf_counter() - started)
    print(
        f"Car, one cell, new process, compiled code cached: {whole:.2f} s; "
        f"a process that only imports Hydra, numba, pandas and scikit-learn: {min(times):.2f} s"
    )


def memory(data: Path) -> None:
    cell = (
        "+experiment=fedande",
        "dataset=[connect-4]",
        "n=2",
        "clients=100",
        "seeds=42",
        "fold=0",
        "jobs=1",
    )
    cell += (f"data_dir={data}",)
    _, whole = run(*cell, "learner=generative", "regime=federated")
    print(f"Connect-4, n=2, 100 clients, all 861 structures, federated generative: {whole:.0f} MiB")
    for structures in (2, 4):
        _, peak = run(*cell, "epsilon=inf", f"max_structures={structures}", "structure_choice=random")
        print(f"the same, {structures} structures, every learner and regime (newton local): {peak:.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("FEDBAYES_DATA"))
    parser.add_argument("--skip-processes", action="store_true", help="rows and structures alone")
    given = parser.parse_args()
    scaling("rows, 4 structures", [5_000, 10_000, 20_000, 40_000], lambda rows: seconds(rows, 4))
    scaling("structures, 5000 rows", [8, 16, 32, 64], lambda structures: seconds(5_000, structures))
    if given.skip_processes:
        return
    small_task()
    processes()
    if given.data:
        memory(given.data)
    else:
        print("Connect-4: not measured, since its file is needed: give --data or set FEDBAYES_DATA")


if __name__ == "__main__":
    main()
