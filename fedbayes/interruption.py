"""Ctrl-C and SIGTERM end a run in order: what is finished is saved."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 1.0
"""Seconds within which a repeated signal is the same one: ``timeout`` and others send it twice."""


class Interruption:
    """Treat SIGINT and SIGTERM alike while the block runs.

    The first one raises KeyboardInterrupt. It may come inside a callback of the compiler, where exceptions are
    swallowed, so it is also remembered: calling the object tells, and the run asks between tasks. A second one
    ends the process at once.

    Where an exception at any moment would do harm (a pool of processes, whose locks it would leave locked), the
    signal is only remembered: see :meth:`deferred`.
    """

    def __init__(self) -> None:
        self._since: float | None = None
        self._raises = True
        self._before: dict[int, Any] = {}

    def __call__(self) -> bool:
        """Whether a signal has come."""
        return self._since is not None

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Only remember a signal while the block runs; its code has to ask, and soon."""
        self._raises = False
        try:
            yield
        finally:
            self._raises = True

    def __enter__(self) -> "Interruption":
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) not in (
                signal.SIG_IGN,
                None,
            ):  # a shell's background job ignores SIGINT
                self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _receive(self, number: int, frame: Any) -> None:
        if self._since is None:
            self._since = time.monotonic()
            if self._raises:
                raise KeyboardInterrupt
        elif time.monotonic() - self._since > PATIENCE:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
