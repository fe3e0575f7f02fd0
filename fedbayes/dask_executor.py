"""Compute tasks on a Dask scheduler: an existing one, or a cluster of this machine's own processes."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from fedbayes.errors import ConfigurationError, FedbayesError
from fedbayes.executors import WorkerLost
from fedbayes.grid import Task

CONNECT_SECONDS = 10


class SchedulerLost(FedbayesError):
    """The scheduler went away in the middle of a run."""


def distributed(
    tasks: Iterable[Task],
    work: Callable[[Task, Any], Any],
    datasets: Mapping[str, Any],
    jobs: int,
    address: str | None,
) -> Iterator[tuple[Task, Any]]:
    """Compute tasks on Dask workers and yield ``(task, outcome)`` as they finish.

    A worker lost in the middle of a task is survived: Dask gives the task to another one, and a task that
    loses several workers is reported as :class:`~fedbayes.executors.WorkerLost`.

    Parameters
    ----------
    tasks, work, datasets
        As for the other executors.
    jobs
        Worker processes of the local cluster; not used with an address.
    address
        Of the scheduler, ``tcp://host:port``; None starts a local cluster.

    Raises
    ------
    ConfigurationError
        When Dask is not installed or nothing answers at the address.
    SchedulerLost
        When the scheduler goes away in mid-run.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ConfigurationError("execution=dask needs Dask: pip install 'fedbayes[dask]'") from None
    cluster = None
    if address is None:
        cluster = LocalCluster(n_workers=jobs, threads_per_worker=1, processes=True, dashboard_address=None)
    try:
        client = Client(cluster or address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ConfigurationError(
            f"execution.address={address!r} is not a Dask scheduler that answers ({type(error).__name__}); start "
            "one with `dask scheduler` and give its tcp://host:port, or leave the address out for a local cluster"
        ) from None
    try:
        yield from _stream(client, deque(tasks), work, datasets)
    finally:
        client.close(timeout=2)
        if cluster is not None:
            cluster.close(timeout=5)


def _stream(
    client: Any, queue: deque, work: Callable, datasets: Mapping[str, Any]
) -> Iterator[tuple[Task, Any]]:
    from distributed import CancelledError, as_completed
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    # as tasks, not scattered: the scheduler can give the data to another worker when one dies
    held = {
        name: client.submit(_identity, dataset, key=f"dataset-{dataset.fingerprint}", pure=True)
        for name, dataset in datasets.items()
    }
    running: dict[Any, Task] = {}
    lost = SchedulerLost("the Dask scheduler was lost; finished cells are saved, the same command goes on")

    def submit() -> Any:
        task = queue.popleft()
        future = client.submit(_single_threaded, work, task, held[task.dataset], pure=False)
        running[future] = task
        return future

    def window() -> int:
        return max(2, 2 * sum(client.nthreads().values()))

    try:
        finished = as_completed([submit() for _ in range(min(window(), len(queue)))], loop=client.loop)
        for future in finished:
            task = running.pop(future)
            try:
                outcome = future.result()
            except KilledWorker:
                outcome = WorkerLost("several workers died computing this task (killed, or out of memory)")
            yield task, outcome
            while queue and len(running) < window():
                finished.add(submit())
    except (CancelledError, CommClosedError, OSError, TimeoutError):
        raise lost from None
    if running or queue:
        raise lost


def _identity(value: Any) -> Any:
    return value


def _single_threaded(work: Callable[[Task, Any], Any], task: Task, dataset: Any) -> Any:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return work(task, dataset)
