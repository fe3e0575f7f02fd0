"""Federated discriminative models: clients train weights on their own rows, the server averages them.

Log tables never leave a client; a round is a few iterations of L-BFGS at every client from the global weights
and the unweighted mean of what they send back (FedAnDE, section 3).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from numbers import Integral

import numpy as np

from fedbayes.models.categorical_input import (
    Client,
    check_clients,
    check_codes,
    check_order,
    check_smoothing,
    check_structures,
)
from fedbayes.models.engine.clients import TrainingRows, prepare_clients
from fedbayes.models.engine.layout import make_structure
from fedbayes.models.engine.posteriors import GLOBAL
from fedbayes.models.engine.training import federate
from fedbayes.models.weighted_posteriors import average_posteriors


class FederatedDiscriminative:
    """Global weights of all structures, and the clients' own data to predict with.

    Attributes
    ----------
    n, n_classes, cardinalities, smoothing, rounds, local_steps
        As given to :func:`fit_discriminative`.
    structures : list of tuple of int
        Sets of superparents, in lexicographic order.
    iterations, evaluations : ndarray (structures, clients)
        Iterations of L-BFGS and evaluations of the objective, summed over rounds.
    """

    def __init__(
        self, rows: TrainingRows, cardinalities, n_classes: int, n: int, rounds: int, local_steps: int,
        structures: list[tuple[int, ...]] | None = None,
    ):  # fmt: skip
        self._rows = rows
        self.cardinalities, self.n_classes, self.n = cardinalities, n_classes, n
        self.smoothing, self.rounds, self.local_steps = rows.smoothing, rounds, local_steps
        self.structures = structures or list(itertools.combinations(range(len(cardinalities)), n))
        self._weights, iterations, evaluations = [], [], []
        for parents in self.structures:
            structure = make_structure(parents, cardinalities, n_classes)
            result = federate(prepare_clients(rows, structure), rounds, local_steps)
            for store, part in zip((self._weights, iterations, evaluations), result, strict=True):
                store.append(part)
        self.iterations, self.evaluations = np.array(iterations), np.array(evaluations)

    def weights(self, parents: Sequence[int]) -> tuple[np.ndarray, np.ndarray, dict[int, np.ndarray]]:
        """Global weights of one structure.

        Parameters
        ----------
        parents : sequence of int
            The superparents, ascending.

        Returns
        -------
        class_weights : ndarray (o,)
            Exponents of P(y).
        parent_weights : ndarray (o,)
            Exponents of P(x on the superparents | y); without effect for n = 0.
        attribute_weights : dict of ndarray (o, cells)
            Exponents of P(x_j | y, cell) for each attribute j that is no superparent; cells are numbered in
            mixed radix, the first superparent most significant.
        """
        wanted = tuple(int(p) for p in parents)
        if wanted not in self.structures:
            raise ValueError(f"parents must be {self.n} ascending attributes of a structure, got {wanted}")
        structure = make_structure(wanted, self.cardinalities, self.n_classes)
        by_lane = self._weights[self.structures.index(wanted)].reshape(-1, structure.lanes)
        by_class = by_lane[:, : self.n_classes].copy()
        by_attribute = by_class[2:].reshape(structure.cells, len(structure.others), self.n_classes)
        others = enumerate(structure.others.tolist())
        return by_class[0], by_class[1], {j: by_attribute[:, index].T for index, j in others}

    def predict_proba(self, client: int, X: np.ndarray) -> np.ndarray:
        """Posterior under one client's own tables and the global weights, averaged over structures.

        Parameters
        ----------
        client : int
            Index of the client.
        X : ndarray (rows, attributes) of int
            Codes; one outside its domain counts as a value (or a superparent's cell) with count zero.

        Returns
        -------
        ndarray (rows, n_classes)
        """
        n_clients = len(self._rows.first_row) - 1
        if not isinstance(client, Integral) or not 0 <= client < n_clients:
            raise ValueError(f"client must be an index from 0 to {n_clients - 1}, got {client!r}")
        X = check_codes(X, len(self.cardinalities))
        own = self._rows.only(int(client))
        return average_posteriors(
            own, self.cardinalities, self.n_classes, self.structures, X, GLOBAL, self._weights
        )[0]


def fit_discriminative(
    clients: Sequence[Client],
    cardinalities: Sequence[int],
    n_classes: int,
    *,
    n: int,
    rounds: int = 10,
    local_steps: int = 5,
    smoothing: float = 1.0,
    structures: Sequence[tuple[int, ...]] | None = None,
) -> FederatedDiscriminative:
    """Train weights over all clients by federated rounds of L-BFGS.

    Parameters
    ----------
    clients : sequence of (X, y)
        Integer codes (rows, attributes) and class indices (rows,) of each client; a client may have no rows
        (it then sends the weights back unchanged).
    cardinalities : sequence of int
        Domain sizes, known to all clients.
    n_classes : int
        Number of classes.
    n : int
        Number of superparents, 0 <= n < attributes.
    rounds : int
        Rounds T.
    local_steps : int
        Iterations L of L-BFGS that each client makes in a round, with a fresh history.
    smoothing : float
        Added to every count of the clients' tables.
    structures : sequence of tuple of int, optional
        Sets of superparents to train and average over, each of n ascending indices; by default all of them.

    Returns
    -------
    FederatedDiscriminative

    Raises
    ------
    ValueError
        For data outside the domains, n >= attributes (``n_features=<d>``), numbers out of range, or structures that
        are none.
    """
    clients, cardinalities = check_clients(clients, cardinalities, n_classes)
    n = check_order(n, len(cardinalities))
    for name, value in (("rounds", rounds), ("local_steps", local_steps)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
            raise ValueError(f"{name} must be an integer >= 0, got {value!r}")
    structures = check_structures(structures, n, len(cardinalities))
    rows = TrainingRows(clients, check_smoothing(smoothing))
    return FederatedDiscriminative(
        rows, cardinalities, int(n_classes), n, int(rounds), int(local_steps), structures
    )
