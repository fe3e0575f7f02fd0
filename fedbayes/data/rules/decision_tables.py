"""Full Cartesian products whose class comes from a hierarchy of small decision tables."""

from collections.abc import Sequence

import numpy as np

from ..table import Column, Table


def full_product(domains: dict[str, Sequence[str]]) -> dict[str, np.ndarray]:
    """All combinations of values, as one array of codes per attribute; the first attribute varies slowest."""
    grids = np.meshgrid(*(np.arange(len(values)) for values in domains.values()), indexing="ij")
    return {name: grid.ravel() for name, grid in zip(domains, grids, strict=True)}


def decide(table: Sequence, *arguments: np.ndarray) -> np.ndarray:
    """Look up a decision table (nested sequences, or digits in strings) for arrays of codes."""
    digits = [[int(cell) for cell in row] if isinstance(row, str) else row for row in table]
    return np.asarray(digits)[arguments]


def make_table(
    label: str,
    domains: dict[str, Sequence[str]],
    codes: dict[str, np.ndarray],
    target: str,
    classes: Sequence[str],
    labels: np.ndarray,
) -> Table:
    """Put attributes and class, the last column, into a table with declared domains."""
    columns = [
        Column(name, tuple(values), np.asarray(codes[name], dtype=np.int32), declared=True)
        for name, values in domains.items()
    ]
    columns.append(Column(target, tuple(classes), np.asarray(labels, dtype=np.int32), declared=True))
    return Table(label=label, columns=tuple(columns), rows=len(labels))
