"""Discriminative weights of one structure: federated rounds over all clients, or each client on its own."""

import numpy as np

from fedbayes.models.engine import gram
from fedbayes.models.engine.clients import Clients
from fedbayes.models.engine.compilation import compiled
from fedbayes.models.engine.gram_lbfgs import MOST_ITERATIONS, descend, make_row_workspace
from fedbayes.models.engine.lbfgs import make_workspace, minimise, padded_length
from fedbayes.models.engine.row_space import RowSpace


@compiled
def _federate(
    problems, row_problems, chosen, first_cell, cells, shared, cell_size, longest, most_numbers, weights, rounds,
    local_steps, iterations, evaluations,
):  # fmt: skip
    """Rounds of local L-BFGS and averaging, in place of the global weights.

    The mean is kept as the global weights plus the mean change, so that weights which no client has rows for
    stay as they are to the last bit. ``shared`` numbers come before those of the cells, ``cell_size`` each.
    A round in which no client makes an iteration changes nothing, so that all rounds after it are its repetition:
    their evaluations are counted, not made.
    """
    n_clients = problems.shape[0]
    used = np.zeros(n_clients, np.int64)
    workspace, buffer = make_workspace(longest), np.empty(longest)
    row_workspace = make_row_workspace(most_numbers, local_steps)
    change = np.zeros(weights.shape[0])
    for round_ in range(rounds):
        still = True
        for c in range(n_clients):
            first, last = first_cell[c], first_cell[c + 1]
            if first == last:
                continue
            if chosen[c]:
                i, used[c] = descend(row_problems[c], weights, change, local_steps, row_workspace)
                iterations[c] += i
                evaluations[c] += used[c]
                still = still and i == 0
                continue
            size = shared + (last - first) * cell_size
            local = buffer[: (size + 7) // 8 * 8]
            for a in range(shared):
                local[a] = weights[a]
            for k in range(first, last):
                here, there = shared + (k - first) * cell_size, shared + cells[k] * cell_size
                for a in range(cell_size):
                    local[here + a] = weights[there + a]
            for a in range(size, local.shape[0]):
                local[a] = 0.0
            _, i, used[c] = minimise(problems[c], local, local_steps, workspace)
            iterations[c] += i
            evaluations[c] += used[c]
            if i == 0:  # the weights are as they were
                continue
            still = False
            for a in range(shared):
                change[a] += local[a] - weights[a]
            for k in range(first, last):
                here, there = shared + (k - first) * cell_size, shared + cells[k] * cell_size
                for a in range(cell_size):
                    change[there + a] += local[here + a] - weights[there + a]
        if still:
            for c in range(n_clients):
                evaluations[c] += used[c] * (rounds - round_ - 1)
            break
        for a in range(weights.shape[0]):
            weights[a] += change[a] / n_clients
            change[a] = 0.0


def _longest(clients, on_weights):
    """Padded number of weights of the largest client among some."""
    cells = (np.diff(clients.first_cell) * on_weights).max()
    return padded_length(clients.structure.weight_count(int(cells)))


def federate(
    clients: Clients,
    rounds: int,
    local_steps: int,
    start: np.ndarray | None = None,
    row_space: RowSpace | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Train the global weights of one structure from weights of 1, or go on from those of earlier rounds.

    In each round every client runs ``local_steps`` iterations of L-BFGS from the global weights and the
    server takes the unweighted mean over all clients, also those without rows. Clients of few rows per cell
    make them in the span of their rows, which gives the same weights up to rounding; ``row_space`` says which
    and is ``clients.row_space`` unless something else is to be measured.

    Returns
    -------
    weights : ndarray (2 V + cells q V,)
        Global weights of all cells, occupied or not.
    iterations, evaluations : ndarray (clients,) int64
        Summed over rounds.
    """
    structure = clients.structure
    row_space = clients.row_space if row_space is None else row_space
    chosen = row_space.chosen & (local_steps <= MOST_ITERATIONS)
    weights = np.ones(structure.weight_count()) if start is None else start.copy()
    iterations, evaluations = np.zeros((2, len(clients)), np.int64)
    _federate(
        clients.problems, row_space.problems, chosen, clients.first_cell, clients.cells, 2 * structure.lanes,
        len(structure.others) * structure.lanes, _longest(clients, ~chosen),
        int((row_space.problems[:, gram.NUMBERS] * chosen).max()), weights, int(rounds), int(local_steps),
        iterations, evaluations,
    )  # fmt: skip
    return weights, iterations, evaluations


@compiled
def _train_locally(
    problems, first_cell, shared, cell_size, longest, weights, max_iterations, iterations, evaluations
):
    workspace, buffer = make_workspace(longest), np.empty(longest)
    for c in range(problems.shape[0]):
        first, last = first_cell[c], first_cell[c + 1]
        if first == last:
            continue
        start, size = shared * c + cell_size * first, shared + cell_size * (last - first)
        local = buffer[: (size + 7) // 8 * 8]
        for a in range(size):
            local[a] = weights[start + a]
        for a in range(size, local.shape[0]):
            local[a] = 0.0
        _, iterations[c], evaluations[c] = minimise(problems[c], local, max_iterations, workspace)
        for a in range(size):
            weights[start + a] = local[a]


def train_locally(clients: Clients, max_iterations: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Train each client's own weights from 1 by L-BFGS.

    Returns
    -------
    weights : ndarray (2 V C + K q V,)
        The clients' weights of their occupied cells, one client after the other.
    iterations, evaluations : ndarray (clients,) int64
    """
    structure = clients.structure
    weights = np.ones(local_bounds(clients)[-1])
    iterations, evaluations = np.zeros((2, len(clients)), np.int64)
    _train_locally(
        clients.problems, clients.first_cell, 2 * structure.lanes, len(structure.others) * structure.lanes,
        _longest(clients, True), weights, int(max_iterations), iterations, evaluations,
    )  # fmt: skip
    return weights, iterations, evaluations


def local_bounds(clients: Clients) -> np.ndarray:
    """Bounds (clients + 1,) of each client's part in the weights of :func:`train_locally`."""
    structure = clients.structure
    by_client, by_cell = np.arange(len(clients) + 1), clients.first_cell * len(structure.others)
    return structure.lanes * (2 * by_client + by_cell)
