"""Newton steps on weights and posteriors at once, for the long way from the start to where Newton's method is fast.

Newton's method on the weights takes the posteriors for exponentials of the margins, and on separable rows, whose
posteriors have to fall from 1/2 to the size of the penalty, it divides them by e per step. Here the posteriors
are unknowns of their own: the stationary point ``rho (w - 1) + sum of (a - 1 of the own class) features = 0`` is
linear in weights and posteriors, and only ``log a[y] - log a[own] = margin[y]`` is not. Linearised in ``a`` it
allows a posterior any change at once; as in interior-point methods a falling one keeps a share of itself.

``a`` is kept as margins ``dual``. The matrix of a step is that of Newton's method with the posteriors ``a``, its
residual is ``a + (diag(a) - a a') (margins - dual)``; where dual equals the margins the step is Newton's own.
"""

import numpy as np

from fedbayes.models.engine.array_types import COUNT, CUBE, FLAG, LABELS, MATRIX, NUMBER, NUMBERS
from fedbayes.models.engine.compilation import apart, inner
from fedbayes.models.engine.newton_cells import to_margins
from fedbayes.models.engine.newton_client import CLIENT
from fedbayes.models.engine.newton_groups import GROUPS, ROOM
from fedbayes.models.engine.newton_kernel import apply_kernels, make_kernels, margins_of, weights_of
from fedbayes.models.engine.newton_kernel_system import kernel_step
from fedbayes.models.engine.newton_line import posteriors
from fedbayes.models.engine.newton_rowspace import SPACE
from fedbayes.models.engine.newton_state import STATE, advance_weights, fill_margins
from fedbayes.models.engine.newton_system import WORK, add_gradient, cell_direction, shared_direction
from fedbayes.models.engine.vector_arithmetic import log

KEPT = 0.1
"""The share of a posterior that one step leaves at least."""

SMALL = 0.1
"""Posteriors below this multiple of rho follow their margins."""

LONGEST = 20
"""Steps after which descent takes over: where many rows contradict each other this way may be longer."""

SETTLED, GAIN = 0.1, 0.5
"""Once posteriors change by less than this share, a step that leaves more of the bound is held up by rounding."""

EXACT = 1e-6
"""The share of the tolerance that a bound of the squared Newton decrement has to keep to end the search here."""


@apart(CLIENT, GROUPS, ROOM, SPACE, FLAG, NUMBER, NUMBER, COUNT, MATRIX, MATRIX, STATE, WORK, NUMBERS)
def approach(
    client, groups, room, space, fresh, rho, tolerance, max_iterations, shared, w, state, work, store
):
    """Come near the optimum, mostly close enough to stop there.

    Margins have to be those of the weights. On return the weights are the best seen.

    Returns
    -------
    int, bool, float, ndarray
        Steps taken; whether the weights have converged; the loss; the store of factors.
    """
    margins, dual, probability, rest = state.margins, state.move, state.probability, state.rest
    residual, gradient, direction = state.residual, state.gradient, state.direction
    if fresh:
        start_dual(margins, client.y, rho, dual)
    else:
        copy(margins, dual)
    loss = posteriors(margins, client.y, probability, rest)
    best, best_shared, best_w = loss + _penalty(shared, w, rho), shared.copy(), w.copy()
    before = np.inf
    for iteration in range(1, min(LONGEST, max_iterations) + 1):
        posteriors(dual, client.y, probability, rest)
        dual_residual(margins, dual, client.y, probability, rest, residual)
        shared_move, store = shared_direction(
            client,
            groups,
            room,
            space,
            probability,
            rest,
            residual,
            rho,
            rho,
            shared,
            w,
            gradient,
            work,
            store,
        )
        for k in range(w.shape[0]):
            cell_direction(
                client, k, space, probability, rho, gradient[k], shared_move, work, store, direction[k]
            )
        advance_weights(shared, shared_move, w, direction, 1.0)
        fill_margins(client, groups, w, shared, work, state)
        largest = move_dual(margins, dual, client.y, rho, probability)
        loss = posteriors(margins, client.y, probability, residual)
        value = loss + _penalty(shared, w, rho)
        if value < best:
            best = value
            copy(shared, best_shared)
            copy(w, best_w)
        bound = _gradient_square(client, groups, residual, rho, shared, w, gradient, work) / rho
        if bound <= EXACT * tolerance * max(loss, 1.0):
            return iteration, True, loss, store
        if largest < SETTLED and bound > GAIN * before:
            break
        before = bound
    copy(best_shared, shared)
    copy(best_w, w)
    fill_margins(client, groups, w, shared, work, state)
    return iteration, False, loss, store


@apart(CLIENT, FLAG, NUMBER, NUMBER, COUNT, MATRIX, CUBE, COUNT)
def approach_by_rows(client, fresh, rho, tolerance, max_iterations, shared, weights, classes):
    """:func:`approach` with the residuals of the rows for unknowns; weights in the engine's layout.

    Returns
    -------
    int, bool, float
        Steps taken; whether the weights have converged; the loss.
    """
    rows = client.y.shape[0]
    kernels = make_kernels(client, classes)
    inverses = np.empty(kernels.products.shape[0] if classes != 2 else 0)
    start, dual = np.empty((classes, rows)), np.empty((classes, rows))
    margins, image = np.empty((classes, rows)), np.empty((classes, rows))
    probability, residual = np.empty((classes, rows)), np.empty((classes, rows))
    b, best_b, own = np.zeros((classes, rows)), np.zeros((classes, rows)), np.empty(rows)
    margins_of(client, np.ones(shared.shape), np.ones(weights.shape), start)
    if fresh:
        start_dual(start, client.y, rho, dual)
    else:
        margins_of(client, shared, weights, dual)
    loss = posteriors(start, client.y, probability, residual)
    best = loss
    copy(start, margins)
    before = np.inf
    for iteration in range(1, min(LONGEST, max_iterations) + 1):
        posteriors(dual, client.y, probability, residual)
        kernel_step(client, kernels, rho, margins, dual, probability, residual, inverses, b)
        apply_kernels(client, kernels, b, image)
        penalty = 0.0
        for c in range(classes):
            for i in range(rows):
                penalty += b[c, i] * image[c, i]
                margins[c, i] = start[c, i] - image[c, i]
        to_margins(margins, client.y, own)
        largest = move_dual(margins, dual, client.y, rho, probability)
        loss = posteriors(margins, client.y, probability, residual)
        value = loss + 0.5 * rho * penalty
        if value < best:
            best = value
            copy(b, best_b)
        bound = 0.0
        for c in range(classes):
            for i in range(rows):
                residual[c, i] = residual[c, i] / rho - b[c, i]
        apply_kernels(client, kernels, residual, image)
        for c in range(classes):
            for i in range(rows):
                bound += rho * residual[c, i] * image[c, i]
        if bound <= EXACT * tolerance * max(loss, 1.0):
            weights_of(client, classes, b, shared, weights)
            return iteration, True, loss
        if largest < SETTLED and bound > GAIN * before:
            break
        before = bound
    weights_of(client, classes, best_b, shared, weights)
    return iteration, False, loss


@apart(MATRIX, MATRIX)
def copy(source, target):
    """Copy a matrix; an assignment of slices would bring the text of an error message with it."""
    for r in range(source.shape[0]):
        for t in range(source.shape[1]):
            target[r, t] = source[r, t]


@inner
def _penalty(shared, w, rho):
    total = 0.0
    for s in range(shared.shape[0]):
        for c in range(shared.shape[1]):
            total += (shared[s, c] - 1.0) ** 2
    for k in range(w.shape[0]):
        for t in range(w.shape[1]):
            total += (w[k, t] - 1.0) ** 2
    return 0.5 * rho * total


@apart(CLIENT, GROUPS, MATRIX, NUMBER, MATRIX, MATRIX, MATRIX, WORK)
def _gradient_square(client, groups, residual, rho, shared, w, gradient, work):
    """Squared length of the gradient of the penalised objective."""
    classes, total = residual.shape[0], 0.0
    border = np.empty((2, classes))
    for s in range(2):
        for c in range(classes):
            border[s, c] = rho * (shared[s, c] - 1.0)
    for k in range(w.shape[0]):
        for t in range(w.shape[1]):
            gradient[k, t] = rho * (w[k, t] - 1.0)
        add_gradient(client, k, groups, residual, work, gradient[k])
        for t in range(w.shape[1]):
            total += gradient[k, t] ** 2
        for c in range(classes):
            border[0, c] += client.prior[c] * work.bias_gradient[c]
            border[1, c] += client.parent[k, c] * work.bias_gradient[c]
    for s in range(2):
        for c in range(classes):
            total += border[s, c] ** 2
    return total


@inner
def start_dual(margins, y, rho, dual):
    """Start from the posteriors of the margins, but not above rho.

    About that is what a row's posterior comes to where rows are separable, and posteriors grow in fewer steps than
    they fall.
    """
    most = np.log(rho)
    for c in range(margins.shape[0]):
        for i in range(margins.shape[1]):
            dual[c, i] = 0.0 if y[i] == c else min(margins[c, i], most)


@apart(MATRIX, MATRIX, LABELS, MATRIX, MATRIX, MATRIX)
def dual_residual(margins, dual, y, probability, residual, total):
    """Fill ``total`` with the residual of a step; ``probability`` and ``residual`` are those of ``dual``."""
    classes, rows = margins.shape
    for i in range(rows):
        mean, others = 0.0, 0.0
        for c in range(classes):
            mean += probability[c, i] * (margins[c, i] - dual[c, i])
        for c in range(classes):
            if c != y[i]:
                r = residual[c, i] + probability[c, i] * (margins[c, i] - dual[c, i] - mean)
                total[c, i] = r
                others += r
        total[y[i], i] = -others


@apart(MATRIX, MATRIX, LABELS, NUMBER, MATRIX)
def move_dual(margins, dual, y, rho, probability):
    """Move the posteriors along with the margins that a step has led to.

    Posteriors far below rho, which hardly bear on the weights, follow their margins at once.

    Returns
    -------
    float
        The largest relative change of any other posterior that the step asked for.
    """
    classes, rows = margins.shape
    small, largest = np.log(SMALL * rho), 0.0
    for i in range(rows):
        mean = 0.0
        for c in range(classes):
            mean += probability[c, i] * (margins[c, i] - dual[c, i])
        own = log(max(1.0 - mean, KEPT))
        for c in range(classes):
            if c != y[i]:
                before = dual[c, i]
                change = margins[c, i] - before - mean
                after = before + log(max(1.0 + change, KEPT)) - own
                if before >= small:
                    largest = max(largest, abs(change))
                elif change < 0.0:
                    after = margins[c, i]
                else:
                    after = max(after, min(margins[c, i], small))
                dual[c, i] = after
    return largest
