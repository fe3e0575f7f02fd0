"""The user's cache folder, and files in it that are whole or not there."""

import os
import sys
import tempfile
from pathlib import Path


def cache_folder() -> Path:
    """Folder for copies that can be made again: ``FEDBAYES_CACHE``, else the platform's place for caches.

    The folder need not exist.
    """
    named = os.environ.get("FEDBAYES_CACHE")
    if named:
        return Path(named).expanduser()
    try:
        home = Path.home()
    except RuntimeError:  # no home folder at all, as in some containers
        return Path(tempfile.gettempdir()) / "fedbayes"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "fedbayes" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "fedbayes"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "fedbayes"


def write_atomic(path: Path, content: bytes) -> None:
    """Write a file so that no reader ever sees a part of it.

    Raises
    ------
    OSError
        The folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
