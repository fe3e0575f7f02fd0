"""What a node counts: class counts, categorical counts and moments of the numeric columns.

Probabilities are made of these numbers elsewhere (`hybrid_nb`); this seam is where federation and privacy act.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbayes.models.engine.compilation import compiled

EPSILON = np.finfo(np.float64).eps


@dataclass(frozen=True)
class MixedStatistics:
    """Sufficient statistics of hybrid naive Bayes on one node.

    Attributes
    ----------
    class_counts : ndarray of int64, shape (classes,)
    categorical_counts : ndarray of int64, shape (classes, slots)
        Rows per class and value, the columns of all categorical attributes side by side; each attribute has
        one slot per known category and a last one for codes outside the vocabulary.
    offsets : ndarray of int64, shape (categorical attributes + 1,)
        Where each attribute's slots start.
    means, squares : ndarray, shape (classes, numeric attributes)
        Mean, and sum of squared deviations from it, in the units of the data; 0 for a class without rows.
    """

    class_counts: np.ndarray
    categorical_counts: np.ndarray
    offsets: np.ndarray
    means: np.ndarray
    squares: np.ndarray

    @property
    def rows(self) -> int:
        """Number of rows counted."""
        return int(self.class_counts.sum())

    def column_moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance (divisor: rows) of every numeric column over all classes."""
        shares = self.class_counts / max(self.rows, 1)
        mean = shares @ self.means
        within = self.squares.sum(axis=0) / max(self.rows, 1)
        return mean, within + shares @ (self.means - mean) ** 2

    def column_scales(self) -> np.ndarray:
        """Standard deviation of every numeric column, 1 where the column is constant up to rounding.

        The bound for "constant" is the one of scikit-learn's StandardScaler.
        """
        mean, variance = self.column_moments()
        rounding = self.rows * EPSILON * variance + (self.rows * mean * EPSILON) ** 2
        return np.where(variance <= rounding, 1.0, np.sqrt(variance))


def gather_statistics(
    X_categorical: np.ndarray,
    X_numeric: np.ndarray,
    y: np.ndarray,
    *,
    n_categories: tuple[int, ...],
    n_classes: int,
    rows: np.ndarray | None = None,
) -> MixedStatistics:
    """Count one node's rows.

    Parameters
    ----------
    X_categorical : ndarray of int, shape (rows, a)
        Codes; those outside ``0 .. n_categories[j] - 1`` are counted in the attribute's last slot.
    X_numeric : ndarray of float, shape (rows, b)
        Finite numbers.
    y : ndarray of int, shape (rows,)
        Class codes below ``n_classes``.
    n_categories : sequence of int, length a
        Size of the vocabulary of every categorical attribute.
    n_classes : int
        Number of classes, also those without a row here.
    rows : ndarray of int, optional
        The node's rows among those given; all by default. Nothing is copied.

    Raises
    ------
    ValueError
        For shapes that do not fit together, codes or rows that are no whole numbers, class codes or rows out of
        range, or numbers that are not finite or whose squares are not.
    """
    X_categorical, X_numeric = check_columns(X_categorical, X_numeric, len(n_categories))
    y = whole_numbers("y", y)
    if y.shape != (X_categorical.shape[0],):
        raise ValueError(f"y has shape {y.shape}, the columns have {X_categorical.shape[0]} rows")
    rows = check_rows(rows, y.shape[0])
    own = y[rows]
    if own.size and not (own.min() >= 0 and own.max() < n_classes):
        raise ValueError(f"y holds class codes outside 0 .. {n_classes - 1}")
    offsets = vocabulary_offsets(n_categories)
    class_counts = np.bincount(own, minlength=n_classes).astype(np.int64)
    counts = np.zeros((n_classes, offsets[-1]), dtype=np.int64)
    _count(X_categorical, y, rows, offsets, counts)
    with np.errstate(over="ignore", invalid="ignore"):  # found out below
        means, squares = _moments(X_numeric, y, rows, class_counts)
    if not (np.isfinite(means).all() and np.isfinite(squares).all()):
        raise ValueError("X_numeric holds numbers that are not finite, or too large to be squared")
    return MixedStatistics(class_counts, counts, offsets, means, squares)


def vocabulary_offsets(n_categories: tuple[int, ...]) -> np.ndarray:
    """Start of every attribute's slots, one slot beyond its vocabulary included, and the end of the last."""
    sizes = np.asarray(n_categories, dtype=np.int64).reshape(-1)
    if (sizes < 1).any():
        raise ValueError(f"n_categories={tuple(n_categories)}: every attribute needs at least one category")
    return np.concatenate(([0], np.cumsum(sizes + 1))).astype(np.int64)


def whole_numbers(name: str, values: np.ndarray) -> np.ndarray:
    """The values as contiguous int64, or ValueError where that would change one (a mask is no list of numbers)."""
    values = np.asarray(values)
    if values.dtype.kind not in "iu":
        whole = values.dtype.kind == "f" and bool(
            (np.trunc(values) == values).all() and np.isfinite(values).all()
        )
        if not whole:
            raise ValueError(f"{name} holds {values.dtype} values; whole numbers are needed")
    return np.ascontiguousarray(values, dtype=np.int64)


def check_rows(rows: np.ndarray | None, count: int) -> np.ndarray:
    """Indices of rows below ``count``, all of them by default, or ValueError."""
    if rows is None:
        return np.arange(count)
    rows = whole_numbers("rows", rows)
    if rows.ndim != 1 or (rows.size and not (rows.min() >= 0 and rows.max() < count)):
        raise ValueError(f"rows holds other values than indices 0 .. {count - 1} in one dimension")
    return rows


def check_columns(
    X_categorical: np.ndarray, X_numeric: np.ndarray, attributes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Both column blocks as contiguous arrays that numba takes, or ValueError when they do not fit."""
    X_categorical = np.ascontiguousarray(X_categorical)
    if X_categorical.dtype.kind not in "iu":
        X_categorical = whole_numbers("X_categorical", X_categorical)
    if X_categorical.dtype != np.int32:  # one compiled version; codes beyond its range are unknown ones
        X_categorical = np.clip(X_categorical, -1, np.iinfo(np.int32).max).astype(np.int32)
    X_numeric = np.ascontiguousarray(X_numeric, dtype=np.float64)
    if X_categorical.ndim != 2 or X_numeric.ndim != 2 or len(X_categorical) != len(X_numeric):
        raise ValueError(
            "X_categorical and X_numeric are (rows, columns) arrays with equal rows; got "
            f"{X_categorical.shape} and {X_numeric.shape}"
        )
    if X_categorical.shape[1] != attributes:
        raise ValueError(
            f"X_categorical has {X_categorical.shape[1]} columns, n_categories names {attributes}"
        )
    return X_categorical, X_numeric


@compiled
def _count(X_categorical, y, rows, offsets, counts):
    for row in rows:
        for j in range(X_categorical.shape[1]):
            code = np.int64(X_categorical[row, j])
            known = offsets[j + 1] - offsets[j] - 1
            if code < 0 or code > known:
                code = known
            counts[y[row], offsets[j] + code] += 1


@compiled
def _sum_from(X_numeric, y, rows, origin, sums):
    for row in rows:
        c = y[row]
        for j in range(X_numeric.shape[1]):
            sums[c, j] += X_numeric[row, j] - origin[c, j]


@compiled
def _square_from(X_numeric, y, rows, origin, sums, squares):
    for row in rows:
        c = y[row]
        for j in range(X_numeric.shape[1]):
            deviation = X_numeric[row, j] - origin[c, j]
            sums[c, j] += deviation
            squares[c, j] += deviation * deviation


def _moments(X_numeric, y, rows, class_counts):
    """Two passes about a row of the class, so that a constant column gets exactly its value and variance 0."""
    shape = (class_counts.size, X_numeric.shape[1])
    sums, rest, squares = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    origin = np.zeros(shape)
    present, first = np.unique(y[rows], return_index=True)
    origin[present] = X_numeric[rows[first]]
    divisor = np.maximum(class_counts, 1)[:, None]
    _sum_from(X_numeric, y, rows, origin, sums)
    means = origin + sums / divisor
    _square_from(X_numeric, y, rows, means, rest, squares)
    rest /= divisor  # what the rounding of the mean left over
    return means + rest, np.maximum(squares - divisor * rest**2, 0.0)
