"""Generative A2DE, fit and predict of one fold: time and memory as ratios to scikit-bayes in the same run.

    python scripts/bench_generative.py [--data-dir DIR] [--dataset NAME ...]

Each measurement runs in a process of its own, on one thread, after a warm-up on a few rows; seconds are processor
time, memory is the highest resident size above that after the warm-up. Data sets that cannot be had are named and
left out, and so is the reference where scikit-bayes is not installed (extra `bench`).
"""

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

CASES = {"connect-4": 12, "mushroom": 8, "kr-vs-k": 22}  # goal: times faster than scikit-bayes
ORDER = 2


def measure(library: str, name: str, data_dir: str | None) -> dict:
    from fedbayes.data import load_dataset

    dataset = load_dataset(name, data_dir=data_dir)
    rows = np.random.default_rng(0).permutation(len(dataset.y))
    test, train = rows[: len(rows) // 5], rows[len(rows) // 5 :]
    if library == "fedbayes":
        from fedbayes.models import AnDEClassifier

        model = AnDEClassifier(n=ORDER, cardinalities=dataset.cardinalities)
    else:
        import warnings

        from skbn import AnDE

        warnings.filterwarnings("ignore")
        model = AnDE(n_dependence=ORDER, categorical_features=list(range(dataset.X.shape[1])))
    # every class, since the number of classes decides what is compiled
    few = np.union1d(train[:400], train[np.unique(dataset.y[train], return_index=True)[1]])
    model.fit(dataset.X[few], dataset.y[few]).predict_proba(dataset.X[test[:20]])
    X_train, y_train, X_test = dataset.X[train], dataset.y[train], dataset.X[test]
    before = reset_peak()
    started = time.process_time()
    model.fit(X_train, y_train)
    fitted = time.process_time()
    posterior = model.predict_proba(X_test)
    finished = time.process_time()
    return {
        "fit": fitted - started,
        "predict": finished - fitted,
        "memory": (peak() - before) / 2**20,
        "accuracy": float(np.mean(model.classes_[posterior.argmax(axis=1)] == dataset.y[test])),
    }


def reset_peak() -> int:
    """Forget the highest resident size so far where the system can (Linux), and return the present one."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return peak()
    return peak()


def peak() -> int:
    """Highest resident size in bytes."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def in_process(library: str, name: str, data_dir: str | None) -> dict | None:
    command = [sys.executable, __file__, "--one", library, "--dataset", name]
    if data_dir:
        command += ["--data-dir", data_dir]
    threads = {f"{part}_NUM_THREADS": "1" for part in ("OMP", "MKL", "OPENBLAS", "NUMBA")}
    run = subprocess.run(command, capture_output=True, text=True, env=os.environ | threads, check=False)
    if run.returncode:
        print(f"{name:<10} {library}: {run.stderr.strip().splitlines()[-1]}")
        return None
    return json.loads(run.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", default=default_data_dir())
    parser.add_argument("--dataset", nargs="*", default=list(CASES), metavar="NAME")
    parser.add_argument("--one", choices=["fedbayes", "scikit-bayes"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one, arguments.dataset[0], arguments.data_dir)))
        return
    reference = importlib.util.find_spec("skbn") is not None
    if not reference:
        print("scikit-bayes is not installed (pip install -e '.[bench]'): no ratios")
    print(f"{'data set':<10} {'library':<13} {'fit s':>8} {'predict s':>9} {'MiB':>7} {'accuracy':>8}")
    for name in arguments.dataset:
        ours = in_process("fedbayes", name, arguments.data_dir)
        if ours is None:
            continue
        show(name, "fedbayes", ours)
        theirs = in_process("scikit-bayes", name, arguments.data_dir) if reference else None
        if theirs is None:
            continue
        show(name, "scikit-bayes", theirs)
        speed = (theirs["fit"] + theirs["predict"]) / (ours["fit"] + ours["predict"])
        memory = theirs["memory"] / max(ours["memory"], 0.1)
        goal = f"goal {CASES[name]}" if name in CASES else "no goal"
        print(f"{name:<10} {speed:.1f} times faster ({goal}), {memory:.1f} times less memory (goal 10)")


def show(name: str, library: str, result: dict) -> None:
    columns = (
        f"{result['fit']:8.3f} {result['predict']:9.3f} {result['memory']:7.1f} {result['accuracy']:8.4f}"
    )
    print(f"{name:<10} {library:<13} {columns}", flush=True)


def default_data_dir() -> str | None:
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return os.environ.get("FEDBAYES_DATA") or (str(beside) if beside.is_dir() else None)


if __name__ == "__main__":
    main()
