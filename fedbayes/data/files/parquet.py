"""Parquet files; dictionary (categorical) columns declare their domain, others hold what they hold."""

import io
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import DataError
from ..table import MISSING, Column, Table, encode_texts
from .content import read_bytes


def read_parquet(path: Path) -> Table:
    """Read a Parquet file; see `fedbayes.data.files.read_table`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = read_bytes(path)
    try:
        arrow = pq.read_table(io.BytesIO(content))
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{path}: cannot be read as Parquet ({reason})") from error
    names = arrow.column_names
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DataError(f"{path}: the column name '{repeated[0]}' occurs twice")
    if arrow.num_rows == 0:
        raise DataError(f"{path}: holds no rows")
    if "__index_level_0__" in names:
        arrow = arrow.drop_columns(["__index_level_0__"])
    columns = [_encode(path, name, arrow.column(name)) for name in arrow.column_names]
    return Table(label=str(path), columns=tuple(columns), rows=arrow.num_rows)


def _encode(path: Path, name: str, column: Any) -> Column:
    import pyarrow as pa

    types = pa.types
    declared = types.is_dictionary(column.type)
    kind = column.type.value_type if declared else column.type
    supported = (
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_null(kind)
    )
    if not supported:
        raise DataError(
            f"{path}: column '{name}' has type {kind}; supported are text, whole numbers, booleans and categories"
        )
    if not declared:
        return encode_texts(name, [_text(value) for value in column.to_pylist()])
    unified = column.unify_dictionaries().combine_chunks()
    if isinstance(unified, pa.ChunkedArray):  # older pyarrow keeps the chunks
        unified = pa.concat_arrays(unified.chunks)
    values = [_text(value) for value in unified.dictionary.to_pylist()]
    indices = unified.indices.fill_null(MISSING).to_numpy(zero_copy_only=False).astype(np.int64)
    recoded = np.array([*(MISSING if value is None else code for code, value in enumerate(values)), MISSING])
    kept = [value for value in values if value is not None]
    if len(set(kept)) != len(kept):
        raise DataError(f"{path}: column '{name}' declares a category twice")
    position = np.cumsum([value is not None for value in values]) - 1
    recoded[:-1] = np.where(recoded[:-1] == MISSING, MISSING, position)
    return Column(name, tuple(kept), recoded[indices].astype(np.int32), declared=True)


def _text(value: object) -> str | None:
    """Write a cell as text: null and nan are missing, whole floats lose their point."""
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
