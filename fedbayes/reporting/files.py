"""Removing files of a report that another run has left."""

from __future__ import annotations

from pathlib import Path


def remove_stale(folder: Path, stems: list[str], keep: list[Path], suffixes: tuple[str, ...]) -> None:
    """Remove `stem + suffix` in `folder` for the given stems (`*` stands for anything), except the paths just written."""
    kept = {Path(path).resolve() for path in keep}
    for stem in stems:
        for suffix in suffixes:
            for path in Path(folder).glob(f"{stem}{suffix}"):
                if path.resolve() not in kept:
                    path.unlink(missing_ok=True)
