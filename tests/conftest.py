"""Fixtures shared by all tests."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


def _data_dir() -> Path | None:
    named = os.environ.get("FEDBAYES_DATA")
    if named:
        return Path(named)
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return beside if beside.is_dir() else None


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder with the real data sets; tests that need it skip where there is none."""
    folder = _data_dir()
    if folder is None or not folder.is_dir():
        pytest.skip("no real data here: set FEDBAYES_DATA to a folder that holds the data sets")
    return folder


def _launch(*command):
    return subprocess.Popen(
        [sys.executable, "-m", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


@pytest.fixture(scope="module")
def dask_cluster(tmp_path_factory):
    """A Dask scheduler and two workers on loopback, each a process of its own: (address, scheduler)."""
    distributed = pytest.importorskip("distributed")
    note = tmp_path_factory.mktemp("dask") / "scheduler.json"
    scheduler = _launch("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                        "--scheduler-file", str(note))  # fmt: skip
    worker = ("distributed.cli.dask_worker", "--scheduler-file", str(note), "--no-nanny", "--nthreads", "1",
              "--no-dashboard", "--local-directory", str(note.parent))  # fmt: skip
    workers = [_launch(*worker) for _ in range(2)]  # they wait for the file
    try:
        deadline = time.monotonic() + 120
        while not note.exists() or not note.read_text().endswith("}"):
            assert scheduler.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        address = json.loads(note.read_text())["address"]
        with distributed.Client(address, set_as_default=False, timeout=60) as client:
            client.wait_for_workers(2, timeout=120)
        yield address, scheduler
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def kill_once():
    """Function that makes the first computation of a fold kill its own process, or another one."""
    from fedbayes import runner

    def patch(monkeypatch, note: Path, *, fold: int, pid: int | None = None) -> None:
        def compute(task, dataset):
            if task.parts == (str(fold),) and not note.exists():
                note.touch()
                os.kill(pid or os.getpid(), signal.SIGKILL)
                time.sleep(3)
            return real(task, dataset)

        real = runner.compute
        monkeypatch.setattr(runner, "compute", compute)

    return patch
