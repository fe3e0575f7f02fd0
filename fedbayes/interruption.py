"""Ctrl-C and SIGTERM end a run in order: what is finished is saved."""

import os
import signal
import time
from typing import Any

PATIENCE = 1.0
"""Seconds within which a repeated signal is the same one: ``timeout`` and others send it twice."""


class Interruption:
    """Treat SIGINT and SIGTERM alike while the block runs.

    The first one raises KeyboardInterrupt. It may come inside a callback of the compiler, where exceptions are
    swallowed, so it is also remembered: calling the object tells, and the run asks between tasks. A second one
    ends the process at once.
    """

    def __init__(self) -> None:
        self._since: float | None = None
        self._before: dict[int, Any] = {}

    def __call__(self) -> bool:
        """Whether a signal has come."""
        return self._since is not None

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
            raise KeyboardInterrupt
        if time.monotonic() - self._since > PATIENCE:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
