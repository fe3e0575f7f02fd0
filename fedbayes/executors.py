"""Where tasks are computed: in this process, in worker processes, or on a Dask scheduler.

An executor is a generator: it takes tasks and yields ``(task, outcome)`` as they finish, in any order.
An outcome that is a :class:`WorkerLost` says that the process computing the task died.
"""

import functools
import os
import pickle
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedbayes.grid import Task
from fedbayes.interruption import Interruption

Work = Callable[[Task, Any], Any]

SINGLE_THREAD = {
    name: "1"
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
                 "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS")
}  # fmt: skip


HEEDING_SECONDS = 0.2
"""How long a signal to the run may wait until it is heeded."""


@dataclass(frozen=True)
class WorkerLost:
    """The worker of a task died; ``message`` says what is known."""

    message: str


def serial(tasks: Iterable[Task], work: Work, datasets: Mapping[str, Any]) -> Iterator[tuple[Task, Any]]:
    """Compute tasks one after the other in this process, with one thread as in a worker."""
    from threadpoolctl import threadpool_limits

    for task in tasks:
        with threadpool_limits(1):
            outcome = work(task, datasets[task.dataset])
        yield task, outcome


def processes(
    tasks: Iterable[Task],
    work: Work,
    datasets: Mapping[str, Any],
    jobs: int,
    interruption: Interruption | None = None,
) -> Iterator[tuple[Task, Any]]:
    """Compute tasks in ``jobs`` worker processes of one thread each.

    A signal that ``interruption`` receives is heeded while this waits for the workers, which end with it.

    At most one task per worker is under way, so that a dead worker leaves few suspects; these are
    repeated one at a time, and the one that kills its worker again is reported as lost.
    """
    queue, interruption = deque(tasks), interruption or Interruption()
    with interruption.deferred(), tempfile.TemporaryDirectory(prefix="fedbayes-") as folder:
        paths = {}
        for name, dataset in datasets.items():
            paths[name] = str(Path(folder) / f"{len(paths)}.pickle")
            Path(paths[name]).write_bytes(pickle.dumps(dataset, protocol=pickle.HIGHEST_PROTOCOL))
        while queue:
            suspects: list[Task] = []
            yield from _pool(queue, work, paths, jobs, suspects, interruption)
            for task in suspects:
                lost: list[Task] = []
                yield from _pool(deque([task]), work, paths, 1, lost, interruption)
                if lost:
                    yield task, WorkerLost("the worker process died (killed, or out of memory)")


def _pool(
    queue: deque[Task],
    work: Work,
    paths: Mapping[str, str],
    jobs: int,
    suspects: list[Task],
    interrupted: Callable[[], bool],
) -> Iterator[tuple[Task, Any]]:
    from joblib.externals.loky.process_executor import BrokenProcessPool, ProcessPoolExecutor

    pool = ProcessPoolExecutor(
        max_workers=min(jobs, len(queue)), context=None, initializer=_end_with_parent,
        initargs=(os.getpid(),), env=SINGLE_THREAD,
    )  # fmt: skip
    running: dict[Any, Task] = {}
    finished = False
    try:
        while queue or running:
            while queue and len(running) < jobs:
                task = queue.popleft()
                try:
                    running[pool.submit(_in_worker, work, task, paths[task.dataset])] = task
                except BrokenProcessPool:
                    queue.appendleft(task)
                    if not running:  # the workers died idle: no task under way is going to tell
                        return
                    break
            done = set()
            while not done:
                if interrupted():
                    raise KeyboardInterrupt
                done, _ = wait(running, HEEDING_SECONDS, return_when=FIRST_COMPLETED)
            for future in done:
                task = running.pop(future)
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    suspects.append(task)
                elif error is not None:
                    raise error
                else:
                    yield task, future.result()
            if suspects:
                suspects.extend(running.values())
                return
        finished = True
    finally:
        if not finished:
            _wait_until_taken(running)
        pool.shutdown(wait=finished, kill_workers=not finished)


def _wait_until_taken(futures: Iterable[Future], seconds: float = 1.0) -> None:
    """Wait until the pool's own thread has taken what was submitted; told to end before that, it fails with a traceback."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not all(future.running() or future.done() for future in futures):
        time.sleep(0.001)


def _in_worker(work: Work, task: Task, path: str) -> Any:
    return work(task, _unpickled(path))


@functools.lru_cache(maxsize=2)
def _unpickled(path: str) -> Any:
    return pickle.loads(Path(path).read_bytes())


def _end_with_parent(parent: int) -> None:
    """Let a worker end soon after the process that started it has died."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
