"""Find the files of a data set below the data folder, which is only ever read."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from fedbayes.data.intrusion.text import EXTENSIONS, extension, name_key, stem
from fedbayes.errors import DataUnavailable

_DEPTH = 2


def data_files(
    data_dir: str | os.PathLike | None, folders: Collection[str], stems: Collection[str] = ()
) -> list[Path]:
    """Data files that may belong to a data set, sorted by name.

    Parameters
    ----------
    data_dir
        Folder to search, two levels deep; None or a missing folder yields no files.
    folders
        Keys (`name_key`) of folders whose files are taken, with those of their own subfolders, and of single
        files.
    stems
        Beginnings of the keys of file names that are taken wherever they lie.
    """
    if data_dir is None or not Path(data_dir).is_dir():
        return []
    found = set()
    for folder in _folders(Path(data_dir), _DEPTH):
        inside = name_key(folder.name) in folders
        for path in _files(folder):
            key = name_key(stem(path))
            if inside or key in folders or key.startswith(tuple(stems)):
                found.add(path)
        if inside:
            found.update(path for below in _folders(folder, _DEPTH) for path in _files(below))
    return sorted(found, key=lambda path: (path.name.lower(), str(path)))


def unavailable(name: str, title: str, what: str, data_dir: str | os.PathLike | None) -> DataUnavailable:
    """Error of a data set whose files are not there, with the remedy."""
    where = f"not found below {data_dir}" if data_dir is not None else "no data folder was named"
    return DataUnavailable(
        f"{name}: {title} {where}; put {what} into a folder '{name}/' and name the folder above it with"
        f" data_dir=PATH or FEDBAYES_DATA (python scripts/fetch_data.py tells where to get the files)"
    )


def _folders(top: Path, depth: int, level: int = 0) -> Iterator[Path]:
    yield top
    if level == depth:
        return
    for path in _entries(top):
        if path.is_dir() and not path.name.startswith((".", "__MACOSX")):
            yield from _folders(path, depth, level + 1)


def _files(folder: Path) -> list[Path]:
    return [
        path
        for path in _entries(folder)
        if extension(path) in EXTENSIONS and not path.name.startswith(".") and path.is_file()
    ]


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
