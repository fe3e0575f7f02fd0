"""Discriminative weights of one structure: federated rounds over all clients, or each client on its own."""

import numpy as np

from fedbayes.models.engine.clients import Clients, client_objective
from fedbayes.models.engine.compilation import compiled
from fedbayes.models.engine.layout import Structure
from fedbayes.models.engine.lbfgs import make_workspace, minimise
from fedbayes.models.engine.vector_arithmetic import lane_tuple


@compiled
def _longest(clients, width):
    """Padded length of the largest client's weights."""
    most = 0
    for c in range(clients.groups.shape[0]):
        most = max(most, clients.first_cell[c + 1] - clients.first_cell[c])
    return (width * (2 + most * clients.cardinalities.shape[0]) + 7) // 8 * 8


@compiled
def _federate(lanes, clients, weights, rounds, local_steps, iterations, evaluations):
    """Rounds of local L-BFGS and averaging, in place of the global weights.

    The mean is kept as the global weights plus the mean change, so that weights which no client has rows for
    stay as they are to the last bit.
    """
    width, q, n_clients = len(lanes), clients.cardinalities.shape[0], clients.groups.shape[0]
    longest = _longest(clients, width)
    workspace = make_workspace(longest)
    buffer = np.empty(longest)
    change = np.zeros(weights.shape[0])
    cell_size = q * width
    for _ in range(rounds):
        for c in range(n_clients):
            first, last = clients.first_cell[c], clients.first_cell[c + 1]
            if first == last:
                continue
            size = 2 * width + (last - first) * cell_size
            local = buffer[: (size + 7) // 8 * 8]
            local[: 2 * width] = weights[: 2 * width]
            for k in range(first, last):
                here, there = 2 * width + (k - first) * cell_size, 2 * width + clients.cells[k] * cell_size
                local[here : here + cell_size] = weights[there : there + cell_size]
            local[size:] = 0.0
            _, i, e = minimise(lanes, client_objective(clients, c), local, local_steps, workspace)
            iterations[c] += i
            evaluations[c] += e
            if i > 0:
                for a in range(2 * width):
                    change[a] += local[a] - weights[a]
                for k in range(first, last):
                    here, there = (
                        2 * width + (k - first) * cell_size,
                        2 * width + clients.cells[k] * cell_size,
                    )
                    for a in range(cell_size):
                        change[there + a] += local[here + a] - weights[there + a]
        for a in range(weights.shape[0]):
            weights[a] += change[a] / n_clients
            change[a] = 0.0


def federate(
    clients: Clients, structure: Structure, rounds: int, local_steps: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Train the global weights of one structure from weights of 1.

    In each round every client runs ``local_steps`` iterations of L-BFGS from the global weights and the
    server takes the unweighted mean over all clients, also those without rows.

    Returns
    -------
    weights : ndarray (2 V + cells q V,)
        Global weights of all cells, occupied or not.
    iterations, evaluations : ndarray (clients,) int64
        Summed over rounds.
    """
    weights = np.ones(structure.weight_count())
    iterations, evaluations = np.zeros((2, len(clients.groups)), np.int64)
    _federate(
        lane_tuple(structure.lanes), clients, weights, int(rounds), int(local_steps), iterations, evaluations
    )
    return weights, iterations, evaluations


@compiled
def _train_locally(lanes, clients, weights, max_iterations, iterations, evaluations):
    width, q, n_clients = len(lanes), clients.cardinalities.shape[0], clients.groups.shape[0]
    longest = _longest(clients, width)
    workspace = make_workspace(longest)
    buffer = np.empty(longest)
    for c in range(n_clients):
        first, last = clients.first_cell[c], clients.first_cell[c + 1]
        start = width * (2 * c + first * q)
        size = width * (2 + (last - first) * q)
        local = buffer[: (size + 7) // 8 * 8]
        local[:size] = weights[start : start + size]
        local[size:] = 0.0
        if first < last:
            _, iterations[c], evaluations[c] = minimise(
                lanes, client_objective(clients, c), local, max_iterations, workspace
            )
        weights[start : start + size] = local[:size]


def train_locally(
    clients: Clients, structure: Structure, max_iterations: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Train each client's own weights from 1 by L-BFGS.

    Returns
    -------
    weights : ndarray (2 V C + K q V,)
        The clients' weights of their occupied cells, one client after the other.
    iterations, evaluations : ndarray (clients,) int64
    """
    weights = np.ones(local_weight_count(clients, structure))
    iterations, evaluations = np.zeros((2, len(clients.groups)), np.int64)
    _train_locally(
        lane_tuple(structure.lanes), clients, weights, int(max_iterations), iterations, evaluations
    )
    return weights, iterations, evaluations


def local_weight_count(clients: Clients, structure: Structure) -> int:
    """Length of all clients' weights of their occupied cells together."""
    return structure.lanes * (2 * len(clients.groups) + len(clients.cells) * len(structure.others))


def local_slice(clients: Clients, structure: Structure, c: int) -> slice:
    """Place of client c in the weights of :func:`train_locally`."""
    q = len(structure.others)
    bounds = [structure.lanes * (2 * i + int(clients.first_cell[i]) * q) for i in (c, c + 1)]
    return slice(*bounds)
