"""Compute tasks on a Dask scheduler: an existing one, or a cluster of this machine's own processes."""

import logging
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fedbayes.errors import ConfigurationError, FedbayesError
from fedbayes.executors import WorkerLost
from fedbayes.grid import Task

CONNECT_SECONDS = 10


class SchedulerLost(FedbayesError):
    """The scheduler went away in the middle of a run, or its workers cannot run this package."""


def check(address: str | None) -> None:
    """See at once, before anything is written, that Dask is there and that something answers at the address.

    Raises
    ------
    ConfigurationError
        When Dask is not installed or nothing answers at the address.
    """
    try:
        import distributed
    except ImportError:
        raise ConfigurationError("execution=dask needs Dask: pip install 'fedbayes[dask]'") from None
    scheme = (address or "").rpartition("://")[0]
    if address is not None and scheme in ("", "tcp", "tls", "ws", "wss"):
        try:
            host_and_port = distributed.comm.get_address_host_port(address)
            socket.create_connection(host_and_port, timeout=CONNECT_SECONDS).close()
        except (OSError, ValueError) as error:  # Dask's client would try again and again
            raise ConfigurationError(_no_answer(address, error)) from None


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
        When the local cluster does not start or nothing answers at the address.
    SchedulerLost
        When the scheduler goes away in mid-run, or a worker cannot load this package.
    """
    from distributed import Client, LocalCluster, Nanny

    class Watcher(Nanny):
        """Ends its worker at once: it holds nothing that has not been fetched."""

        async def close(self, timeout: float = 0.5, reason: str = "nanny-close") -> str:
            return await super().close(timeout=0.5, reason=reason)

    cluster = None
    with _quiet():
        try:
            if address is None:
                cluster = LocalCluster(
                    n_workers=jobs, threads_per_worker=1, dashboard_address=None, worker_class=Watcher,
                    silence_logs=logging.CRITICAL + 1,
                )  # fmt: skip
            client = Client(cluster or str(address), timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise ConfigurationError(_no_answer(address, error)) from None
        try:
            if not client.nthreads():
                print(f"fedbayes: waiting for workers to join the scheduler {address}", file=sys.stderr)
            yield from _stream(client, deque(tasks), work, datasets)
        finally:
            client.close(timeout=2)
            if cluster is not None:
                cluster.close(timeout=5)


def _no_answer(address: str | None, error: Exception) -> str:
    reason = type(error).__name__
    if address is None:
        return f"execution=dask could not start a cluster on this machine ({reason}: {error}); try execution=local"
    return (
        f"execution.address={address!r} is not a Dask scheduler that answers ({reason}); start one with "
        "`dask scheduler` and give its tcp://host:port, or leave the address out for a local cluster"
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask's own logs off the terminal: what matters of them is said in one line by this module."""
    names = ("distributed", "tornado", "asyncio")
    loggers = [
        logging.getLogger(name)
        for name in (*names, *logging.root.manager.loggerDict)
        if name.partition(".")[0] in names
    ]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


def _stream(
    client: Any, queue: deque, work: Callable, datasets: Mapping[str, Any]
) -> Iterator[tuple[Task, Any]]:
    from distributed import CancelledError, as_completed
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
    except (CancelledError, OSError, TimeoutError):
        raise lost from None
    except Exception as error:  # not a task's own: these become rows where they happen
        if client.status != "running":
            raise lost from None
        raise SchedulerLost(
            f"a Dask worker cannot run fedbayes ({type(error).__name__}: {error}); finished cells are saved; install "
            "the same version where the workers run"
        ) from None
    if running or queue:
        raise lost


def _identity(value: Any) -> Any:
    return value


def _single_threaded(work: Callable[[Task, Any], Any], task: Task, dataset: Any) -> Any:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return work(task, dataset)
