"""Progress of a run: one bar on a terminal, one line a minute elsewhere."""

import sys
import time
from collections.abc import Sequence

from tqdm import tqdm

from fedbayes.grid import Task


class Progress:
    """Progress over tasks, weighted by their rough cost.

    Parameters
    ----------
    tasks
        The tasks that are about to be computed.
    workers
        How many are computed at once. So many of the first ones wait for the compiler, and the time left is
        estimated from those that follow them.
    every
        Seconds between two lines.
    """

    def __init__(self, tasks: Sequence[Task], workers: int = 1, every: float = 60.0):
        self.workers = workers
        self.total = sum(task.cost for task in tasks)
        self.count = len(tasks)
        self.every = every
        self.done = 0
        self.cost = 0.0

    def __enter__(self) -> "Progress":
        self.started = self.spoken = time.monotonic()
        self.bar = tqdm(
            total=max(self.total, 1e-9),
            disable=None,  # silent when stderr is no terminal
            bar_format="{percentage:3.0f}%|{bar}| {elapsed}<{remaining} {postfix}",
            leave=False,
        )
        self.bar.set_postfix_str(f"0/{self.count}")
        return self

    def __exit__(self, *exception: object) -> None:
        self.bar.close()

    def advance(self, task: Task) -> None:
        """Count a finished task."""
        self.done += 1
        self.cost += task.cost
        self.bar.update(task.cost)
        self.bar.set_postfix_str(f"{self.done}/{self.count} {task.label}")
        now = time.monotonic()
        if self.done <= self.workers:
            self.warm, self.warm_cost = now, self.cost
        if self.bar.disable and now - self.spoken >= self.every:
            self.spoken = now
            elapsed = now - self.started
            measured = self.cost - self.warm_cost
            left = (now - self.warm) * (self.total - self.cost) / max(measured, 1e-9)
            guess = f", about {left / 60:.0f} min left" if measured > 0.01 * self.total else ""
            print(
                f"fedbayes: {self.done}/{self.count} tasks, {elapsed / 60:.0f} min elapsed{guess}; "
                f"last: {task.label}",
                file=sys.stderr,
                flush=True,
            )
