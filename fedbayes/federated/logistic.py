"""Federated logistic regression: rounds of local training and averaging of the coefficients.

The same scheme as for the discriminative AnDE models: in each of T rounds every client runs L iterations of L-BFGS
from the global coefficients and the server takes the unweighted mean over all clients. One round with many local
iterations is one-shot averaging of local models.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix

from fedbayes.models.logistic import Coefficients, fit, zero_coefficients


def average_coefficients(
    clients: Sequence[tuple[csr_matrix, np.ndarray]],
    n_classes: int,
    *,
    rounds: int = 10,
    local_steps: int = 5,
) -> tuple[Coefficients, float]:
    """Train global coefficients.

    Parameters
    ----------
    clients : sequence of (design, y)
        One-hot rows and classes of each client, which may have no rows. A client leaves the coefficients of a
        class that it has no rows of as they are.
    n_classes : int
        Number of classes.
    rounds, local_steps : int
        T and L.

    Returns
    -------
    coefficients : Coefficients
        Over all classes.
    iterations : float
        Of L-BFGS, mean over clients, summed over rounds.
    """
    current = zero_coefficients(clients[0][0].shape[1], n_classes)
    iterations = 0
    for _ in range(rounds):
        trained = [fit(design, y, current, local_steps, absent="keep") for design, y in clients]
        iterations += sum(steps for _, steps in trained)
        current = Coefficients(
            np.mean([model.weights for model, _ in trained], axis=0),
            np.mean([model.intercepts for model, _ in trained], axis=0),
        )
    return current, iterations / len(clients)
