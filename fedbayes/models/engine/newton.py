"""The converged local model: Newton's method on one client's conditional log-likelihood.

On separable rows the likelihood alone has no optimum, and where it has one its valley can be so flat that
first-order methods stop anywhere in it. A penalty ``rho / 2 |w - 1|^2`` with a tiny rho makes the optimum
unique: of all weights that explain the client's rows best, those nearest to the generative model.
"""

import numpy as np

from fedbayes.models.engine.array_types import COUNT, MATRIX, NUMBER, NUMBERS
from fedbayes.models.engine.compilation import apart, compiled, inner
from fedbayes.models.engine.newton_cells import to_margins
from fedbayes.models.engine.newton_client import CLIENT, Client
from fedbayes.models.engine.newton_dual import approach, approach_by_rows
from fedbayes.models.engine.newton_groups import GROUPS, ROOM, make_groups
from fedbayes.models.engine.newton_kernel import kernels_pay
from fedbayes.models.engine.newton_line import line_minimum, posteriors
from fedbayes.models.engine.newton_rowspace import SPACE, make_pair_space
from fedbayes.models.engine.newton_state import STATE, advance_weights, fill_margins, make_state
from fedbayes.models.engine.newton_system import (
    WORK,
    cell_direction,
    fill_scores,
    make_work,
    shared_direction,
)

FRESH = 1e-3
"""Near the optimum (decrement against objective) margins are made anew instead of moved along."""

ACCURACY = 0.3
"""A line search ends where the slope is this share of the slope at its start."""


def solve(
    sorted_rows,
    tables,
    structure,
    *,
    rho: float = 1e-8,
    tolerance: float = 1e-13,
    max_iterations: int = 70,
    start: np.ndarray | None = None,
) -> tuple[np.ndarray, int, float]:
    """Minimise the negative conditional log-likelihood plus ``rho / 2 |w - 1|^2``.

    Parameters
    ----------
    sorted_rows : SortedRows
        The client's rows.
    tables : LogTables
        The client's log tables.
    structure : Structure
        The structure both were made for.
    rho : float
        Strength of the penalty; positive.
    tolerance : float
        The search ends with the step whose squared Newton decrement is at most ``tolerance * max(f, 1)``, and
        one more where that decrement is not far below.
    max_iterations : int
        Largest number of Newton steps.
    start : ndarray, optional
        Flat weights to start from; all ones by default.

    Returns
    -------
    weights : ndarray (2 V + K q V,)
        Flat weights in the engine's layout; those of pad lanes are as at the start.
    iterations : int
        Newton steps taken.
    objective : float
        The negative conditional log-likelihood in nats, without the penalty.

    Raises
    ------
    ValueError
        If rho is not positive.
    """
    if not rho > 0:
        raise ValueError(f"rho must be positive, not {rho}")
    cells, q, lanes = len(sorted_rows.cells), len(structure.others), structure.lanes
    weights = np.ones(structure.weight_count(cells))
    if start is not None:
        weights[:] = start
    client = Client(
        sorted_rows.starts,
        sorted_rows.codes.astype(np.int32, copy=False),  # one type: compiled once
        sorted_rows.y,
        tables.prior,
        tables.parent,
        tables.theta,
        structure.offsets,
    )
    iterations, objective = newton_weights(
        client,
        structure.classes,
        float(rho),
        float(tolerance),
        int(max_iterations),
        start is None,
        weights[: 2 * lanes].reshape(2, lanes),
        weights[2 * lanes :].reshape(cells, q, lanes),
    )
    return weights, iterations, objective


@compiled
def newton_weights(client, classes, rho, tolerance, max_iterations, fresh, shared, weights):
    """Improve the weights (shared: (2, V); weights: (K, q, V)) in place; return iterations and objective.

    ``fresh`` tells that the weights are the usual start, not one of the caller's.
    """
    rows, cells, q, values = (
        client.y.shape[0],
        client.parent.shape[0],
        client.codes.shape[1],
        client.theta.shape[1],
    )
    if rows == 0:
        return 0, 0.0
    iterations, finished = 0, False
    by_rows = kernels_pay(client.starts, q, classes)
    if by_rows:
        iterations, finished, loss = approach_by_rows(
            client, fresh, rho, tolerance, max_iterations, shared, weights, classes
        )
        if finished:
            return iterations, loss
    w = np.empty((cells, classes * q))
    for k in range(cells):
        for c in range(classes):
            for j in range(q):
                w[k, c * q + j] = weights[k, j, c]
    groups, room = make_groups(client.starts, client.codes, client.offsets, values, classes)
    space = make_pair_space(client.starts, client.codes, client.theta, classes)
    work = make_work(cells, q, values, groups.example.shape[1], classes)
    state = make_state(classes, rows, cells, classes * q)
    fill_margins(client, groups, w, shared, work, state)
    store = np.empty(1024)
    if not by_rows:
        iterations, finished, loss, store = approach(
            client, groups, room, space, fresh, rho, tolerance, max_iterations, shared, w, state, work, store
        )
    if not finished:
        iterations, loss = _descend(
            client,
            groups,
            room,
            space,
            rho,
            tolerance,
            iterations,
            max_iterations,
            shared,
            w,
            state,
            work,
            store,
        )
    for k in range(cells):
        for c in range(classes):
            for j in range(q):
                weights[k, j, c] = w[k, c * q + j]
    return iterations, loss


@apart(CLIENT, GROUPS, ROOM, SPACE, NUMBER, NUMBER, COUNT, COUNT, MATRIX, MATRIX, STATE, WORK, NUMBERS)
def _descend(
    client, groups, room, space, rho, tolerance, iterations, max_iterations, shared, w, state, work, store
):
    """Newton's method with a line search, from wherever the weights are."""
    classes, rows = state.margins.shape
    margins, move, probability, residual = state.margins, state.move, state.probability, state.residual
    gradient, direction = state.gradient, state.direction
    loss = posteriors(margins, client.y, probability, residual)
    damping, factor = 0.0, 0.0
    closing, finished = False, False
    while iterations < max_iterations and not finished:
        iterations += 1
        ridge = rho + damping
        shared_move, store = shared_direction(
            client, groups, room, space, probability, residual, residual, rho, ridge, shared, w, gradient, work,
            store,
        )  # fmt: skip
        for k in range(w.shape[0]):
            cell_direction(
                client, k, space, probability, ridge, gradient[k], shared_move, work, store, direction[k]
            )
            fill_scores(client, k, groups, direction[k], shared_move, work, move)
        to_margins(move, client.y, state.own)
        linear, quadratic = _penalty_along(shared, shared_move, w, direction, rho)
        slope = linear
        for c in range(classes):
            for i in range(rows):
                slope += probability[c, i] * move[c, i]
        # one step more than the tolerance asks for, where weights along flat directions may still gain from it
        limit = tolerance * max(loss, 1.0)
        finished = (closing or (damping == 0.0 and -slope <= 1e-3 * tolerance)) and abs(slope) <= limit
        closing = damping == 0.0 and abs(slope) <= limit
        step = 1.0
        if not closing and not finished:
            step = 0.0  # rounding can leave a direction that does not descend: then damp
            if slope < 0.0:
                step = line_minimum(margins, move, loss, slope, linear, quadratic, ACCURACY)
        for c in range(classes):
            for i in range(rows):
                margins[c, i] += step * move[c, i]
        advance_weights(shared, shared_move, w, direction, step)
        if -slope <= FRESH * max(loss, 1.0):
            fill_margins(client, groups, w, shared, work, state)
        loss = posteriors(margins, client.y, probability, residual)
        damping, factor = _next_damping(factor, step, gradient)
    return iterations, loss


@inner
def _penalty_along(shared, shared_move, w, direction, rho):
    """Slope and curvature of the penalty along the direction."""
    linear, quadratic = 0.0, 0.0
    for s in range(2):
        for c in range(shared_move.shape[1]):
            linear += rho * (shared[s, c] - 1.0) * shared_move[s, c]
            quadratic += rho * shared_move[s, c] ** 2
    for k in range(w.shape[0]):
        for t in range(w.shape[1]):
            linear += rho * (w[k, t] - 1.0) * direction[k, t]
            quadratic += rho * direction[k, t] ** 2
    return linear, quadratic


@inner
def _next_damping(factor, step, gradient):
    """Damp after a short step only, in proportion to the gradient, so that it vanishes with it.

    Far from the optimum a direction of hardly any curvature leads too far; the factor that helped is kept for
    a while, since such directions come back.
    """
    square = 0.0
    for k in range(gradient.shape[0]):
        for t in range(gradient.shape[1]):
            square += gradient[k, t] ** 2
    size = np.sqrt(square)
    if step < 0.1:
        factor = max(10.0 * factor, 1e-4 / size)
    elif step > 0.5:
        factor *= 0.3
    damping = factor * size
    return (damping, factor) if damping >= 1e-9 else (0.0, 0.0)
