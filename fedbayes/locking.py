"""Operating-system file locks that die with their holder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

if os.name == "nt":
    import msvcrt

    def _lock(stream: IO, wait: bool) -> None:
        stream.seek(0)
        msvcrt.locking(stream.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(stream: IO, wait: bool) -> None:
        fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def try_lock(stream: IO) -> bool:
    """Lock an open file without waiting; False when another process holds it."""
    try:
        _lock(stream, wait=False)
    except OSError:
        return False
    return True


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file ``path`` while the block runs, waiting for whoever holds it."""
    with path.open("a+b") as stream:
        _lock(stream, wait=True)
        yield
