"""Differential privacy of counts: what one row can change, and the noise that hides it.

The noise of all clients is simulated in one place, as the sum that the server would receive. **This measures what
privacy costs; it does not protect anyone.** Laplace noise drawn in floating point leaves traces in the low bits
from which exact counts can be recovered (Mironov, "On significance of the least significant bits for differential
privacy", CCS 2012), and the generator is no cryptographic one. The geometric mechanism adds whole numbers and has
no such low bits; a deployment would also need exact sampling and a secure source of randomness.

Clients hold disjoint rows, so epsilon does not add up over clients. It does add up over everything that is
released about the same rows: several values of n, folds, seeds.
"""

from __future__ import annotations

from math import comb

import numpy as np

MECHANISMS = ("laplace", "geometric")


def sensitivity(n: int, n_attributes: int, structures: int | None = None) -> int:
    """L1 sensitivity of all counts of an averaged n-dependence model (FedAnDE, section 4).

    One row adds 1 to one class count and, for each of the C(d, n) structures, to one count of P(x_P | y) and to
    d - n conditional counts: Delta = 1 + C(d, n) (1 + d - n).

    Parameters
    ----------
    n : int
        Number of superparents.
    n_attributes : int
        Number of attributes d.
    structures : int, optional
        Number of structures of the model where these are chosen; it takes the place of C(d, n).

    Raises
    ------
    ValueError
        Unless 0 <= n < d; the message contains ``n_features=<d>``.
    """
    if not 0 <= n < n_attributes:
        raise ValueError(f"n must satisfy 0 <= n < n_features={n_attributes}, got {n}")
    if structures is None:
        structures = comb(n_attributes, n)
    return 1 + structures * (1 + n_attributes - n)


def check_epsilon(epsilon: float) -> float:
    """The privacy budget: a number above 0; infinity means no noise.

    Raises
    ------
    ValueError
        For zero, negative numbers, NaN and anything that is no number.
    """
    try:
        value = float(epsilon)
    except (TypeError, ValueError):
        value = np.nan
    if not value > 0:
        raise ValueError(f"epsilon must be > 0 (inf for no noise), got {epsilon!r}")
    return value


def laplace_sum(
    rng: np.random.Generator, clients: int, scale: float, shape: int | tuple[int, ...]
) -> np.ndarray:
    """Sum of the Laplace(scale) noise of several clients, for each entry of a table.

    A Laplace variate is the difference of two exponential ones, so the sum over C clients is the difference of
    two Gamma(C) variates: two draws an entry instead of C. Its variance is 2 C scale^2.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    clients : int
        Number of clients, each adding noise of its own.
    scale : float
        Sensitivity over epsilon.
    shape : int or tuple of int
        Shape of the table.
    """
    noise = rng.standard_gamma(clients, shape)
    noise -= rng.standard_gamma(clients, shape)
    noise *= scale
    return noise


def geometric_sum(
    rng: np.random.Generator, clients: int, scale: float, shape: int | tuple[int, ...]
) -> np.ndarray:
    """Sum of the two-sided geometric noise of several clients, for each entry of a table.

    The discrete counterpart of the Laplace mechanism (Ghosh, Roughgarden and Sundararajan 2009): P(k) is
    proportional to exp(-|k| / scale) on the integers. The sum over C clients is the difference of two negative
    binomial variates; its variance is 2 C a / (1 - a)^2 with a = exp(-1 / scale).

    Parameters
    ----------
    rng, clients, scale, shape
        As in :func:`laplace_sum`.
    """
    success = -np.expm1(-1.0 / scale)
    up = rng.negative_binomial(clients, success, shape)
    return (up - rng.negative_binomial(clients, success, shape)).astype(np.float64)


def noise_sum(
    mechanism: str, rng: np.random.Generator, clients: int, scale: float, shape: int | tuple[int, ...]
) -> np.ndarray:
    """Sum of the clients' noise by the named mechanism, ``laplace`` or ``geometric``."""
    if mechanism not in MECHANISMS:
        raise ValueError(f"mechanism must be one of {', '.join(MECHANISMS)}, got {mechanism!r}")
    return (laplace_sum if mechanism == "laplace" else geometric_sum)(rng, clients, scale, shape)
