"""Tell which files a data set needs and where they are published, check those that are there, convert them once."""

import hashlib
import os
from pathlib import Path

from fedbayes.data import intrusion
from fedbayes.data.files.content import read_bytes
from fedbayes.data.intrusion.known_files import CHECKSUMS, PUBLICATIONS
from fedbayes.data.intrusion.tables import column_names, row_count
from fedbayes.data.specification import DatasetSpecification
from fedbayes.errors import DataUnavailable


def obtain(specification: DatasetSpecification, folder: str | os.PathLike) -> str:
    """Check the files of an intrusion data set in a folder and convert them once.

    Parameters
    ----------
    specification
        Description of the data set.
    folder
        Folder that holds the files, as for ``data_dir``; only read.

    Returns
    -------
    str
        One line per file (rows, columns, whether its content is a known one), the rows that loading yields and,
        for partial data, what is missing and where to get it.

    Raises
    ------
    DataUnavailable
        No file is there; the message names the files and where to get them.
    DataError
        A file is malformed.
    """
    if specification.loader == "synthetic-flows":
        return "generated, no file needed"
    paths = intrusion.find_files(specification.loader, folder)
    if not paths:
        raise DataUnavailable(f"no file found below {folder}; {instructions(specification, folder)}")
    lines = [describe(path) for path in paths]
    data = intrusion.load(specification, data_dir=folder)
    lines.append(
        f"{'complete' if data.complete else 'partial'}: {len(data.y):,} rows to learn from, converted"
    )
    if not data.complete:
        lines.append(data.notes[0])
        if specification.rows is not None:  # else it is a sample by its nature, and nothing is missing
            lines.append(instructions(specification, folder))
    return "\n  ".join(["", *lines])


def instructions(specification: DatasetSpecification, folder: str | os.PathLike) -> str:
    """Which files to get, from where, and where to put them."""
    publication = PUBLICATIONS[specification.loader]
    return (
        f"needed in {Path(folder) / specification.name}/: {publication.files}."
        f" Published at {' and '.join(publication.places)}. Terms: {publication.terms}."
    )


def describe(path: Path) -> str:
    """Rows, columns and checksum of a file in one line."""
    columns = len(column_names(path))
    rows = row_count(path)
    content = read_bytes(path)
    if rows is None:
        rows = content.count(b"\n") + (not content.endswith(b"\n"))
    name = path.name.removesuffix(".gz")
    known = CHECKSUMS.get(name)
    digest = hashlib.sha256(content).hexdigest()
    if known is None:
        words = f"SHA-256 {digest[:16]}..., no known one to compare with"
    elif digest == known:
        words = "content as published (SHA-256)"
    else:
        words = f"content differs from the known copy (SHA-256 {digest[:16]}...; expected {known[:16]}...)"
    return (
        f"{path}: {rows:,} {'rows' if row_count(path) is not None else 'lines'}, {columns} columns, {words}"
    )
