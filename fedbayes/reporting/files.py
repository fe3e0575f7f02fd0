"""Writing and removing files of a report: nobody sees half a file or a leftover of another run."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, content: str | bytes) -> Path:
    """Write to a temporary name beside `path` and rename, creating the folder when needed.

    Text is written as UTF-8 with line feeds on every system, so that equal tables are equal bytes.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode("utf-8") if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def remove_stale(folder: Path, stems: list[str], keep: list[Path], suffixes: tuple[str, ...]) -> None:
    """Remove `stem + suffix` in `folder` for the given stems, except the paths just written."""
    kept = {Path(path).resolve() for path in keep}
    for stem in stems:
        for suffix in suffixes:
            path = Path(folder) / f"{stem}{suffix}"
            if path.resolve() not in kept:
                path.unlink(missing_ok=True)
