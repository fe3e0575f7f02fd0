"""A table as one verified file of our own cache."""

import hashlib
import io
import json
import zipfile
import zlib
from pathlib import Path

import numpy as np

from ..atomic_file import write_atomically
from .table import Column, Table


def save_table(path: Path, table: Table, target: str | None) -> bool:
    """Store a table and the name of its class column; return False where the folder cannot be written."""
    codes = np.column_stack([column.codes for column in table.columns]).astype("<i4")
    description = {
        "label": table.label,
        "target": target,
        "columns": [[column.name, list(column.values), column.declared] for column in table.columns],
    }
    text = json.dumps(description, ensure_ascii=True)
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer, codes=codes, description=np.array(text), digest=np.array(_digest(codes, text))
    )
    try:
        write_atomically(path, buffer.getvalue())
    except OSError:
        return False
    return True


def read_stored_table(path: Path) -> tuple[Table, str | None] | None:
    """Read a stored table; None where there is none, or where the file is not what was stored."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            codes, text, digest = stored["codes"], str(stored["description"]), str(stored["digest"])
        if digest != _digest(codes, text):
            return None
        description = json.loads(text)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
    columns = [
        Column(name, tuple(values), np.ascontiguousarray(column, dtype=np.int32), declared)
        for (name, values, declared), column in zip(description["columns"], codes.T, strict=True)
    ]
    return Table(description["label"], tuple(columns), len(codes)), description["target"]


def _digest(codes: np.ndarray, text: str) -> str:
    return hashlib.sha256(
        np.ascontiguousarray(codes, dtype="<i4").tobytes() + text.encode("ascii")
    ).hexdigest()
