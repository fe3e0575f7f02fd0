"""The user's cache folder."""

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
        return Path(os.path.expanduser(named))  # leaves ~nobody as it is, where Path would raise
    try:
        home = Path.home()
    except RuntimeError:  # no home folder at all, as in some containers
        return Path(tempfile.gettempdir()) / "fedbayes"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "fedbayes" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "fedbayes"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "fedbayes"
