"""The two types of data set that the rest of the package works with."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True, eq=False)
class CategoricalDataset:
    """A data set whose attributes all are categories.

    Attributes
    ----------
    name, title : str
        Short name as on the command line, and the name to print.
    X : ndarray of int32, shape (rows, attributes)
        Codes from 0, C order.
    y : ndarray of int32, shape (rows,)
        Index into ``class_names``.
    attribute_names : tuple of str
    cardinalities : tuple of int
        Number of values of each attribute: its declared domain, plus one where values are missing.
    categories : tuple of tuple of str
        The values in the order of their codes.
    class_names : tuple of str
    source : str
        ``"file"``, ``"rules"``, ``"openml-cache"`` or ``"openml"``.
    complete : bool
        False where the rows are only a part of the official data.
    notes : tuple of str
        What cleaning did, counted.
    """

    name: str
    title: str
    X: np.ndarray
    y: np.ndarray
    attribute_names: tuple[str, ...]
    cardinalities: tuple[int, ...]
    categories: tuple[tuple[str, ...], ...]
    class_names: tuple[str, ...]
    source: str
    complete: bool = True
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _set(self, "X", np.ascontiguousarray(self.X, dtype=np.int32))
        _set(self, "y", np.ascontiguousarray(self.y, dtype=np.int32))
        _check_codes("X", self.X, self.y, self.attribute_names, self.categories, self.cardinalities)
        _check_labels(self.y, self.class_names)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of codes, labels, domains and names; the same on every machine and for every source."""
        return _digest(
            "categorical", [self.X, self.y], self.attribute_names, self.categories, self.class_names
        )


@dataclass(frozen=True, eq=False)
class MixedDataset:
    """A data set with categorical and numeric attributes.

    Attributes
    ----------
    name, title : str
        Short name as on the command line, and the name to print.
    X_categorical : ndarray of int32, shape (rows, a)
        Codes into the global vocabulary of each categorical attribute.
    X_numeric : ndarray of float64, shape (rows, b)
        Finite numbers in raw units.
    y : ndarray of int32, shape (rows,)
        Index into ``class_names``.
    categorical_names, numeric_names : tuple of str
    categories : tuple of tuple of str
        The values of each categorical attribute in the order of their codes.
    n_categories : tuple of int
        Their numbers.
    class_names : tuple of str
    source, complete, notes
        As in `CategoricalDataset`.
    """

    name: str
    title: str
    X_categorical: np.ndarray
    X_numeric: np.ndarray
    y: np.ndarray
    categorical_names: tuple[str, ...]
    numeric_names: tuple[str, ...]
    categories: tuple[tuple[str, ...], ...]
    n_categories: tuple[int, ...]
    class_names: tuple[str, ...]
    source: str
    complete: bool = True
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _set(self, "X_categorical", np.ascontiguousarray(self.X_categorical, dtype=np.int32))
        _set(self, "X_numeric", np.ascontiguousarray(self.X_numeric, dtype=np.float64))
        _set(self, "y", np.ascontiguousarray(self.y, dtype=np.int32))
        _check_codes(
            "X_categorical",
            self.X_categorical,
            self.y,
            self.categorical_names,
            self.categories,
            self.n_categories,
        )
        if self.X_numeric.shape != (len(self.y), len(self.numeric_names)):
            raise ValueError(
                f"X_numeric has shape {self.X_numeric.shape}, expected {(len(self.y), len(self.numeric_names))}"
            )
        if not np.isfinite(self.X_numeric).all():
            raise ValueError("X_numeric holds numbers that are not finite")
        _check_labels(self.y, self.class_names)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of codes, numbers, labels, domains and names."""
        numbers = self.X_numeric + 0.0  # one zero: -0.0 and 0.0 are the same number
        names = (*self.categorical_names, *self.numeric_names)
        return _digest(
            "mixed", [self.X_categorical, numbers, self.y], names, self.categories, self.class_names
        )


def _set(instance: object, field: str, value: object) -> None:
    """Replace a field of a frozen instance while it is being made."""
    object.__setattr__(instance, field, value)


def _check_codes(
    what: str,
    codes: np.ndarray,
    y: np.ndarray,
    names: Sequence[str],
    categories: Sequence[Sequence[str]],
    cardinalities: Sequence[int],
) -> None:
    if codes.shape != (len(y), len(names)):
        raise ValueError(f"{what} has shape {codes.shape}, expected {(len(y), len(names))}")
    if [len(values) for values in categories] != list(cardinalities) or len(names) != len(categories):
        raise ValueError(f"the categories of {what} do not fit its names and cardinalities")
    if codes.size and ((codes < 0).any() or (codes.max(axis=0) >= np.asarray(cardinalities)).any()):
        raise ValueError(f"{what} holds codes outside their domains")


def _check_labels(y: np.ndarray, class_names: Sequence[str]) -> None:
    if y.ndim != 1:
        raise ValueError(f"y has {y.ndim} dimensions, expected 1")
    if y.size and (y.min() < 0 or y.max() >= len(class_names)):
        raise ValueError(f"y holds labels outside 0..{len(class_names) - 1}")


def _digest(
    kind: str,
    arrays: Sequence[np.ndarray],
    names: Sequence[str],
    categories: Sequence[Sequence[str]],
    class_names: Sequence[str],
) -> str:
    digest = hashlib.sha256()
    description = [kind, [list(array.shape) for array in arrays], list(names)]
    description += [[list(values) for values in categories], list(class_names)]
    digest.update(json.dumps(description, ensure_ascii=True, separators=(",", ":")).encode("ascii"))
    for array in arrays:
        little_endian = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(np.ascontiguousarray(little_endian).data)
    return digest.hexdigest()
