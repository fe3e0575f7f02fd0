"""Measures of predictions and the tests that compare classifiers.

Labels and probabilities are plain arrays; a class is an index from 0. The statistical libraries are imported
inside the tests that need them, because workers import this module only for the measures.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

TIE_TOLERANCE = 1e-9
SMALLEST_PROBABILITY = 1e-15


def predict_labels(proba: np.ndarray) -> np.ndarray:
    """Most probable class of each row; the lowest index wins among classes within 1e-9 of the maximum.

    Exact ties are common in small cells, and rounding must not decide them.

    Parameters
    ----------
    proba : ndarray of shape (..., classes)
        Posteriors.

    Returns
    -------
    ndarray of shape (...), int
    """
    proba = np.asarray(proba)
    return np.argmax(proba >= proba.max(axis=-1, keepdims=True) - TIE_TOLERANCE, axis=-1)


def accuracy(y: np.ndarray, labels: np.ndarray) -> float:
    """Share of rows whose predicted label is the true one."""
    y, labels = _paired(y, labels)
    return float(np.mean(y == labels))


def macro_f1(y: np.ndarray, labels: np.ndarray, n_classes: int) -> float:
    """Unweighted mean of the F1 of all `n_classes` classes.

    The label set is fixed: a class that neither occurs nor is predicted counts with F1 = 0, so the value does
    not depend on which labels happen to be in a test fold.

    Raises
    ------
    ValueError
        When a label is outside 0 .. n_classes - 1, or the arrays are empty or of different length.
    """
    y, labels = _paired(y, labels)
    if min(y.min(), labels.min()) < 0 or max(y.max(), labels.max()) >= n_classes:
        raise ValueError(f"labels must lie in 0..{n_classes - 1}")
    true_positives = np.bincount(y[y == labels], minlength=n_classes)
    # 2 TP + FP + FN is what is true plus what is predicted
    total = np.bincount(y, minlength=n_classes) + np.bincount(labels, minlength=n_classes)
    return float(np.mean(2.0 * true_positives / np.maximum(total, 1)))


def log_loss(y: np.ndarray, proba: np.ndarray) -> float:
    """Mean negative log probability of the true class in nats, probabilities clipped at 1e-15.

    Parameters
    ----------
    y : ndarray of shape (rows,), int
    proba : ndarray of shape (rows, classes)
    """
    y, proba = np.asarray(y), np.asarray(proba, dtype=np.float64)
    if proba.ndim != 2 or len(proba) != len(y) or not len(y):
        raise ValueError(
            "proba must hold one row of class probabilities for each label, and at least one row"
        )
    true_class = proba[np.arange(len(y)), y]
    return float(-np.mean(np.log(np.clip(true_class, SMALLEST_PROBABILITY, 1.0))))


def _paired(y: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    y, labels = np.asarray(y), np.asarray(labels)
    if y.shape != labels.shape or y.ndim != 1 or not len(y):
        raise ValueError(f"labels must be two vectors of one length > 0, got {y.shape} and {labels.shape}")
    return y, labels


def mcnemar(
    both_right: int, only_first: int, only_second: int, both_wrong: int, method: str = "yates"
) -> tuple[float, float]:
    """McNemar's test of two classifiers on the same rows.

    Parameters
    ----------
    both_right, only_first, only_second, both_wrong : int
        Rows that both, only the first, only the second, or neither classifies correctly.
    method : {"yates", "exact", "mid-p"}
        Chi-square with continuity correction, exact binomial, or the binomial test with half the probability
        of the observed count.

    Returns
    -------
    statistic, p : float
        The statistic is the corrected chi-square (yates) or the smaller discordant count (exact, mid-p).
        Equal discordant counts, or none, carry no evidence: statistic 0 and p 1 with each method.

    Raises
    ------
    ValueError
        For negative or fractional counts, or an unknown method.
    """
    if method not in ("yates", "exact", "mid-p"):
        raise ValueError(f"method must be yates, exact or mid-p, got {method!r}")
    counts = (both_right, only_first, only_second, both_wrong)
    if any(count < 0 or count != int(count) for count in counts):
        raise ValueError(f"counts must be whole numbers >= 0, got {counts}")
    if only_first == only_second:
        return 0.0, 1.0
    if method == "mid-p":
        from scipy.stats import binom

        smaller, total = min(only_first, only_second), only_first + only_second
        p = 2.0 * binom.cdf(smaller, total, 0.5) - binom.pmf(smaller, total, 0.5)
        return float(smaller), float(min(p, 1.0))
    from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

    table = [[both_right, only_first], [only_second, both_wrong]]
    result = statsmodels_mcnemar(table, exact=method == "exact", correction=True)
    return float(result.statistic), float(min(result.pvalue, 1.0))


@dataclass(frozen=True)
class FriedmanNemenyi:
    """Outcome of the Friedman test with Nemenyi's critical difference (Demšar 2006)."""

    methods: tuple[str, ...]
    average_ranks: tuple[float, ...]  # 1 = best
    statistic: float  # chi-square, corrected for ties
    p: float
    iman_davenport: float  # F statistic
    iman_davenport_p: float
    critical_difference: float
    alpha: float
    n_datasets: int


def friedman_nemenyi(scores: pd.DataFrame | np.ndarray, alpha: float = 0.05) -> FriedmanNemenyi:
    """Friedman's test over data sets, average ranks and Nemenyi's critical difference.

    Parameters
    ----------
    scores : DataFrame or ndarray of shape (data sets, methods)
        Higher is better; no missing values. Columns of a DataFrame name the methods.
    alpha : float
        Level of the critical difference q_alpha sqrt(k (k + 1) / (6 N)), where q_alpha is the quantile of the
        studentised range divided by sqrt 2.

    Raises
    ------
    ValueError
        With fewer than two data sets or methods, or missing values.
    """
    from scipy.stats import chi2, f, rankdata

    methods, values = _score_matrix(scores)
    n, k = values.shape
    # scores that differ by rounding alone are ties
    ranks = rankdata(-np.round(values, 12), axis=1)
    average = ranks.mean(axis=0)
    # chi-square with the correction for ties: between-methods over total variation of the ranks
    total = np.sum((ranks - (k + 1) / 2) ** 2)
    between = n * np.sum((average - (k + 1) / 2) ** 2)
    if total == 0:
        statistic, p, iman, iman_p = 0.0, 1.0, 0.0, 1.0
    else:
        statistic = n * (k - 1) * between / total
        p = float(chi2.sf(statistic, k - 1))
        room = n * (k - 1) - statistic
        iman = (n - 1) * statistic / room if room > 1e-12 * n * k else np.inf
        iman_p = float(f.sf(iman, k - 1, (k - 1) * (n - 1)))
    difference = _nemenyi_quantile(alpha, k) * np.sqrt(k * (k + 1) / (6 * n))
    return FriedmanNemenyi(
        methods=methods,
        average_ranks=tuple(map(float, average)),
        statistic=float(statistic),
        p=p,
        iman_davenport=float(iman),
        iman_davenport_p=float(iman_p),
        critical_difference=float(difference),
        alpha=alpha,
        n_datasets=n,
    )


@lru_cache
def _nemenyi_quantile(alpha: float, methods: int) -> float:
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(1 - alpha, methods, np.inf) / np.sqrt(2))


def wilcoxon_holm(scores: pd.DataFrame | np.ndarray) -> pd.DataFrame:
    """Wilcoxon's signed-rank test of every pair of methods over data sets, p-values corrected by Holm.

    Parameters
    ----------
    scores : DataFrame or ndarray of shape (data sets, methods)
        Higher is better; no missing values.

    Returns
    -------
    DataFrame
        Columns first, second, mean_difference (first minus second), wins, ties, losses (of the first),
        statistic, p, p_holm; one row per pair in column order. A pair without any difference has p = 1.

    Raises
    ------
    ValueError
        With fewer than two data sets or methods, or missing values.
    """
    import pandas as pd
    from scipy.stats import wilcoxon
    from statsmodels.stats.multitest import multipletests

    methods, values = _score_matrix(scores)
    rows = []
    for i, j in itertools.combinations(range(len(methods)), 2):
        difference = np.round(values[:, i] - values[:, j], 12)
        statistic, p = (0.0, 1.0) if not difference.any() else wilcoxon(difference)
        rows.append(
            {
                "first": methods[i],
                "second": methods[j],
                "mean_difference": float(difference.mean()),
                "wins": int((difference > 0).sum()),
                "ties": int((difference == 0).sum()),
                "losses": int((difference < 0).sum()),
                "statistic": float(statistic),
                "p": float(p),
            }
        )
    table = pd.DataFrame(rows)
    table["p_holm"] = multipletests(table["p"], method="holm")[1]
    return table


def _score_matrix(scores: pd.DataFrame | np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    columns = getattr(scores, "columns", None)
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2 or min(values.shape) < 2:
        raise ValueError(f"scores must be (data sets >= 2, methods >= 2), got shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("scores must be finite; compare only data sets that are complete for every method")
    names = columns if columns is not None else range(values.shape[1])
    return tuple(str(name) for name in names), values
