"""Converted copies in the user's cache folder, named by the content they were made of."""

import contextlib
import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fedbayes.atomic_file import write_atomically
from fedbayes.data.cache import cache_folder
from fedbayes.data.dataset import MixedDataset
from fedbayes.data.intrusion.cleaning import Rows

# Raise when cleaning changes, so that copies made by an older version are not used.
_VERSION = 1
_HASHED_BYTES = 64 << 20
_KEY = b"fedbayes"


def copy_path(name: str, files: Iterable[Path], settings: Mapping[str, object]) -> Path:
    """Where the converted copy of some files lies; another content or another setting is another copy.

    Files up to 64 MiB are known by their SHA-256, larger ones by size and time of change.
    """
    digest = hashlib.sha256(json.dumps([_VERSION, name, settings], sort_keys=True, default=str).encode())
    for path in files:
        facts = path.stat()
        digest.update(f"{path.name} {facts.st_size}".encode())
        if facts.st_size <= _HASHED_BYTES:
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        else:
            digest.update(str(facts.st_mtime_ns).encode())
    return cache_folder() / "intrusion" / f"{name}-{digest.hexdigest()[:20]}.parquet"


def read_dataset(path: Path) -> MixedDataset | None:
    """Read a converted data set; None where there is none or it is damaged."""
    loaded = _read(path)
    if loaded is None:
        return None
    facts, columns = loaded
    categorical, numeric = len(facts["categorical_names"]), len(facts["numeric_names"])
    return MixedDataset(
        name=facts["name"],
        title=facts["title"],
        X_categorical=_stack(columns[:categorical], len(columns[-1]), np.int32),
        X_numeric=_stack(columns[categorical : categorical + numeric], len(columns[-1]), np.float64),
        y=columns[-1].to_numpy(),
        categorical_names=tuple(facts["categorical_names"]),
        numeric_names=tuple(facts["numeric_names"]),
        categories=tuple(map(tuple, facts["categories"])),
        n_categories=tuple(map(len, facts["categories"])),
        class_names=tuple(facts["class_names"]),
        source="file",
        complete=facts["complete"],
        notes=tuple(facts["notes"]),
    )


def write_dataset(path: Path, data: MixedDataset) -> None:
    """Write a converted data set; a cache that cannot be written to is no error."""
    fields = ("name", "title", "categorical_names", "numeric_names", "categories", "class_names", "complete")
    facts = {field: getattr(data, field) for field in (*fields, "notes")}
    _write(path, facts, [*data.X_categorical.T, *data.X_numeric.T, data.y])


def read_rows(path: Path) -> Rows | None:
    """Read the converted rows of one file; None where there are none or they are damaged."""
    loaded = _read(path)
    if loaded is None:
        return None
    facts, columns = loaded
    texts = facts["categorical"]
    return Rows(
        [_one(column) for column in columns[:texts]],
        _stack(columns[texts:-1], len(columns[-1]), np.float64),
        columns[-1].to_numpy(),
        facts["in_file"],
        facts["notes"],
    )


def write_rows(path: Path, rows: Rows) -> None:
    """Write the converted rows of one file; a cache that cannot be written to is no error."""
    facts = {"categorical": len(rows.categorical), "in_file": rows.in_file, "notes": rows.notes}
    _write(path, facts, [*rows.categorical, *rows.numeric.T, rows.y])


def _read(path: Path) -> tuple[dict, list[pa.ChunkedArray]] | None:
    try:
        table = pq.read_table(path, memory_map=True, partitioning=None)
        return json.loads(table.schema.metadata[_KEY]), table.columns
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
        return None


def _write(path: Path, facts: Mapping[str, object], columns: Sequence) -> None:
    names = [f"c{index}" for index in range(len(columns))]
    table = pa.table([pa.array(column) for column in columns], names=names)
    table = table.replace_schema_metadata({_KEY: json.dumps(facts)})
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="lz4")
    with contextlib.suppress(OSError):
        write_atomically(path, buffer.getvalue())


def _one(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else combined.chunk(0)


def _stack(columns: Sequence[pa.ChunkedArray], rows: int, kind: type) -> np.ndarray:
    stacked = np.empty((rows, len(columns)), kind)
    for position, column in enumerate(columns):
        stacked[:, position] = column.to_numpy()
    return stacked
