"""Readers of data files: ARFF, CSV and Parquet, each also compressed with gzip."""

from collections.abc import Sequence
from pathlib import Path

from ...errors import DataError
from ..table import Table

EXTENSIONS = (".arff", ".csv", ".parquet")
MISSING_VALUES = ("", "?", "NA", "NaN", "nan")


def data_extension(path: Path) -> str | None:
    """Return ``.arff``, ``.csv`` or ``.parquet`` for a name such as ``car.arff.gz``, else None."""
    name = path.name.lower().removesuffix(".gz")
    return next((extension for extension in EXTENSIONS if name.endswith(extension)), None)


def read_table(path: Path, missing_values: Sequence[str] = MISSING_VALUES) -> Table:
    """Read one data file.

    Parameters
    ----------
    path : Path
        A file that ends in ``.arff``, ``.csv`` or ``.parquet``, optionally followed by ``.gz``.
    missing_values : sequence of str
        Cells of a CSV file that count as missing. ARFF files mark missing cells by an unquoted ``?``,
        Parquet files by null.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        The file cannot be read or is malformed; the message names the file and, for text, the line.
    """
    extension = data_extension(path)
    if extension == ".arff":
        from .arff import read_arff

        return read_arff(path)
    if extension == ".csv":
        from .delimited import read_csv

        return read_csv(path, missing_values)
    if extension == ".parquet":
        from .parquet import read_parquet

        return read_parquet(path)
    raise DataError(f"{path}: unknown kind of data file; use .arff, .csv or .parquet, optionally with .gz")
