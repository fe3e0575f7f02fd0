"""The converged local model: Newton's method on one client's conditional log-likelihood.

On separable rows the likelihood alone has no optimum, and where it has one its valley can be so flat that
first-order methods stop anywhere in it. A penalty ``rho / 2 |w - 1|^2`` with a tiny rho makes the optimum
unique: of all weights that explain the client's rows best, those nearest to the generative model.

The Hessian is an arrow. Weights of different cells meet only through the class prior's and the parent's
weights, and these act inside a cell through one bias per class. So every cell is eliminated on its own and
leaves a Schur complement of one row per class; one system of twice the number of classes ties them together.
"""

import numpy as np

from fedbayes.models.engine.compilation import compiled
from fedbayes.models.engine.newton_cells import (
    CHUNK,
    add_row_products,
    add_scores,
    arrange,
    by_class,
    cell_gradient,
    to_margins,
)
from fedbayes.models.engine.newton_elimination import (
    back_substitute,
    eliminate,
    pack,
    packed_length,
    padded,
    solve_packed,
)
from fedbayes.models.engine.newton_joint import (
    MAXIMUM_CLASSES,
    add_joint_scores,
    group_attributes,
    joint_gradient,
    joint_products,
    make_room,
    pair_products,
)
from fedbayes.models.engine.newton_line import line_minimum, posteriors
from fedbayes.models.engine.newton_rowspace import (
    apply_factor,
    apply_transpose,
    feature_products,
    fill_pair_matrix,
    fill_pair_riders,
    uncertain_pairs,
)

PIVOT_FLOOR = 1e-15
LIMIT = 64


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
        The search ends with the step whose squared Newton decrement is at most ``tolerance * max(f, 1)``.
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
    """
    if not rho > 0:
        raise ValueError(f"rho must be positive, not {rho}")
    cells, q = len(sorted_rows.cells), len(structure.others)
    weights = np.ones(structure.weight_count(cells))
    if start is not None:
        weights[:] = start
    iterations, objective = newton_weights(
        sorted_rows.starts,
        sorted_rows.codes,
        sorted_rows.y,
        tables.prior,
        tables.parent,
        tables.theta,
        structure.offsets,
        structure.classes,
        float(rho),
        float(tolerance),
        int(max_iterations),
        weights[: 2 * structure.lanes].reshape(2, structure.lanes),
        weights[2 * structure.lanes :].reshape(cells, q, structure.lanes),
    )
    return weights, iterations, objective


@compiled
def newton_weights(
    starts,
    codes,
    y,
    prior,
    parent,
    theta,
    offsets,
    classes,
    rho,
    tolerance,
    max_iterations,
    shared,
    weights,
):
    """Improve the weights (shared: (2, V); weights: (K, q, V)) in place; return iterations and objective."""
    rows, cells, q, values = y.shape[0], parent.shape[0], codes.shape[1], theta.shape[1]
    if rows == 0:
        return 0, 0.0
    m = classes * q
    w = np.empty((cells, m))
    for k in range(cells):
        for c in range(classes):
            for j in range(q):
                w[k, c * q + j] = weights[k, j, c]
    margins, move = np.empty((classes, rows)), np.empty((classes, rows))
    probability, residual = np.empty((classes, rows)), np.empty((classes, rows))
    gradient, direction = np.empty((cells, m)), np.zeros((cells, m))
    shared_direction = np.zeros((2, classes))
    table, scratch = np.empty((classes, values)), np.empty(values + q * LIMIT)
    bias, bias_gradient = np.empty(classes), np.empty(classes)
    small, offset_products, products, widest = _feature_products(starts, codes, theta, classes, m)
    joint, group_count, group_start, entry_start, example, groups, weight_cost, sizes = _groups(
        starts, codes, offsets, values, classes
    )
    product, active = np.empty((sizes[0], 4)), np.empty(sizes[0], np.int64)
    room = make_room(classes if sizes[0] > 0 else 1, q, sizes[1], sizes[2], sizes[4], sizes[3])
    work = np.zeros((padded(widest), padded(widest)))
    span = classes * (q + 1)
    block = np.zeros((padded(span), padded(span)))
    own = np.zeros((classes, padded(q + 1), padded(q + 1)))
    row_scratch = (
        np.zeros((CHUNK, padded(span))),
        np.zeros((CHUNK, padded(q + 1))),
        np.zeros((CHUNK, padded(q + 1))),
    )
    pair_row, pair_class = np.empty(m, np.int64), np.empty(m, np.int64)
    pairs = np.empty(cells, np.int64)
    largest = max(1, m // max(1, classes - 1) + 1)
    for k in range(cells):
        largest = max(largest, starts[k + 1] - starts[k]) if small[k] else largest
    scale, tail = np.empty((largest, classes)), np.empty((largest, classes))
    overlap, image, other, rest = np.empty(classes), np.empty(m), np.empty(m), np.empty(m)
    coefficients = np.empty(classes + 1)
    store, store_at = np.empty(1024), np.empty(cells, np.int64)
    border = np.zeros((padded(2 * classes + 1), padded(2 * classes + 1)))
    border_store = np.empty(packed_length(2 * classes, 2 * classes + 1))

    for k in range(cells):
        by_class(theta[k], table)
        for c in range(classes):
            bias[c] = shared[0, c] * prior[c] + shared[1, c] * parent[k, c]
        add_scores(codes, starts[k], starts[k + 1], table, w[k], offsets, bias, scratch, margins)
    to_margins(margins, y)
    loss = posteriors(margins, y, probability, residual)
    damping = 0.0
    iterations = 0
    while iterations < max_iterations:
        iterations += 1
        ridge = rho + damping
        # eliminate every cell
        border[:] = 0.0
        for c in range(classes):
            border[c, c] = ridge
            border[classes + c, classes + c] = ridge
            border[c, 2 * classes] = rho * (shared[0, c] - 1.0)
            border[classes + c, 2 * classes] = rho * (shared[1, c] - 1.0)
        decrement = 0.0
        at = 0
        for k in range(cells):
            lo, hi = starts[k], starts[k + 1]
            by_class(theta[k], table)
            if joint[k]:
                joint_gradient(
                    codes, lo, hi, residual, table, group_count[k], group_start[k], entry_start[k], example[k],
                    groups[lo:hi], scratch, gradient[k], bias_gradient,
                )
            else:
                cell_gradient(codes, lo, hi, residual, table, offsets, scratch, gradient[k], bias_gradient)
            for t in range(m):
                gradient[k, t] += rho * (w[k, t] - 1.0)
            pairs[k] = -1
            if small[k]:
                pairs[k] = uncertain_pairs(
                    lo, hi, probability, 1e-6 * ridge, pair_row, pair_class, scale, tail
                )
                if pairs[k] >= 0 and _pair_cost(pairs[k]) > weight_cost[k]:
                    pairs[k] = -1
            if pairs[k] >= 0:
                size = pairs[k]
                n = hi - lo
                grams = products[offset_products[k] : offset_products[k] + classes * n * n]
                fill_pair_matrix(
                    grams.reshape(classes, n, n),
                    lo,
                    probability,
                    size,
                    pair_row,
                    pair_class,
                    scale,
                    tail,
                    ridge,
                    overlap,
                    work,
                )
                fill_pair_riders(
                    codes,
                    lo,
                    probability,
                    table,
                    size,
                    pair_row,
                    pair_class,
                    scale,
                    tail,
                    gradient[k],
                    image,
                    work,
                )
                for c in range(classes + 1):
                    for d in range(classes + 1):
                        work[size + c, size + d] = 0.0
            elif joint[k]:
                size = m
                count = pair_products(lo, hi, probability, 1e-18, product, active)
                joint_products(
                    codes, table, group_count[k], group_start[k], entry_start[k], example[k], groups[lo:hi], active,
                    count, product, room, ridge, work,
                )
            else:
                size = m
                add_row_products(codes, lo, hi, y, probability, residual, table, row_scratch, block, own)
                arrange(block, own, classes, q, work)
                for t in range(m):
                    work[t, t] += ridge
            if pairs[k] < 0:
                for t in range(m):
                    work[t, m + classes] = gradient[k, t]
                for c in range(classes):
                    work[m + c, m + classes] = bias_gradient[c]
            width = size + classes + 1
            eliminate(work, size, width, PIVOT_FLOOR)
            store_at[k] = at
            if at + packed_length(size, width) > store.shape[0]:
                larger = np.empty(2 * (at + packed_length(size, width)))
                larger[:at] = store[:at]
                store = larger
            at = pack(work, size, width, store, at)
            # its Schur complement goes to the border
            factor = 1.0
            if pairs[k] >= 0:
                factor = -ridge
            for c in range(classes):
                g = work[size + c, size + classes]
                if pairs[k] >= 0:
                    g += bias_gradient[c]
                border[c, 2 * classes] += prior[c] * g
                border[classes + c, 2 * classes] += parent[k, c] * g
                for d in range(classes):
                    s = factor * (work[size + c, size + d] if c <= d else work[size + d, size + c])
                    if c <= d:
                        border[c, d] += prior[c] * prior[d] * s
                        border[classes + c, classes + d] += parent[k, c] * parent[k, d] * s
                    border[c, classes + d] += prior[c] * parent[k, d] * s
        eliminate(border, 2 * classes, 2 * classes + 1, PIVOT_FLOOR)
        pack(border, 2 * classes, 2 * classes + 1, border_store, 0)
        coefficients[0] = -1.0
        flat = shared_direction.reshape(2 * classes)
        back_substitute(border_store, 0, 2 * classes, 2 * classes + 1, coefficients, flat)
        # the cells' own directions
        linear, quadratic = 0.0, 0.0
        for c in range(classes):
            for s in range(2):
                linear += rho * (shared[s, c] - 1.0) * shared_direction[s, c]
                quadratic += rho * shared_direction[s, c] ** 2
        for k in range(cells):
            lo, hi = starts[k], starts[k + 1]
            by_class(theta[k], table)
            for c in range(classes):
                bias[c] = shared_direction[0, c] * prior[c] + shared_direction[1, c] * parent[k, c]
            if pairs[k] >= 0:
                size = uncertain_pairs(lo, hi, probability, 1e-6 * ridge, pair_row, pair_class, scale, tail)
                width = size + classes + 1
                for c in range(classes):
                    coefficients[c] = -bias[c]
                coefficients[classes] = 1.0 / ridge
                back_substitute(store, store_at[k], size, width, coefficients, image)
                for t in range(m):
                    direction[k, t] = -gradient[k, t] / ridge
                apply_transpose(
                    codes,
                    lo,
                    probability,
                    table,
                    size,
                    pair_row,
                    pair_class,
                    scale,
                    tail,
                    image,
                    1.0,
                    direction[k],
                )
                # one step of refinement: dividing by the small ridge has cost half of the digits
                apply_factor(
                    codes,
                    lo,
                    probability,
                    table,
                    size,
                    pair_row,
                    pair_class,
                    scale,
                    tail,
                    direction[k],
                    image,
                )
                for a in range(size):
                    i, c = pair_row[a], pair_class[a]
                    value = tail[i, c] * bias[c]
                    for d in range(c + 1, classes):
                        value -= probability[d, lo + i] * bias[d]
                    image[a] += scale[i, c] * value
                for t in range(m):
                    rest[t] = -gradient[k, t] - ridge * direction[k, t]
                apply_transpose(
                    codes, lo, probability, table, size, pair_row, pair_class, scale, tail, image, -1.0, rest
                )
                apply_factor(
                    codes, lo, probability, table, size, pair_row, pair_class, scale, tail, rest, other
                )
                solve_packed(store, store_at[k], size, width, other)
                apply_transpose(
                    codes, lo, probability, table, size, pair_row, pair_class, scale, tail, other, -1.0, rest
                )
                for t in range(m):
                    direction[k, t] += rest[t] / ridge
            else:
                for c in range(classes):
                    coefficients[c] = -bias[c]
                coefficients[classes] = -1.0
                back_substitute(store, store_at[k], m, m + classes + 1, coefficients, direction[k])
            for t in range(m):
                linear += rho * (w[k, t] - 1.0) * direction[k, t]
                quadratic += rho * direction[k, t] ** 2
            if joint[k]:
                add_joint_scores(
                    codes, lo, hi, table, direction[k], bias, group_count[k], group_start[k], entry_start[k],
                    example[k], groups[lo:hi], scratch, move,
                )
            else:
                add_scores(codes, lo, hi, table, direction[k], offsets, bias, scratch, move)
        to_margins(move, y)
        slope = linear
        for c in range(classes):
            for i in range(rows):
                slope += probability[c, i] * move[c, i]
        decrement = -slope
        finished = damping == 0.0 and decrement <= tolerance * max(loss, 1.0)
        step = 1.0
        if not finished:
            step = line_minimum(margins, move, slope, linear, quadratic, 0.1)
        for k in range(cells):
            for t in range(m):
                w[k, t] += step * direction[k, t]
        for c in range(classes):
            for s in range(2):
                shared[s, c] += step * shared_direction[s, c]
            for i in range(rows):
                margins[c, i] += step * move[c, i]
        loss = posteriors(margins, y, probability, residual)
        if finished:
            break
        if step < 0.1:
            damping = max(10.0 * damping, 1e-3)
        elif damping > 1e-7:
            damping *= 0.1
        else:
            damping = 0.0
    for k in range(cells):
        for c in range(classes):
            for j in range(q):
                weights[k, j, c] = w[k, c * q + j]
    return iterations, loss


@compiled
def _feature_products(starts, codes, theta, classes, m):
    """Products between rows' features of all cells small enough for the space of their rows."""
    cells = theta.shape[0]
    q, values = codes.shape[1], theta.shape[1]
    small, offset = np.zeros(cells, np.bool_), np.zeros(cells, np.int64)
    length, largest = 0, 1
    for k in range(cells):
        n = starts[k + 1] - starts[k]
        if n <= m:
            small[k] = True
            offset[k] = length
            length += classes * n * n
            largest = max(largest, n)
    products = np.empty(length)
    table, feature = np.empty((classes, values)), np.empty((q, largest))
    for k in range(cells):
        if small[k]:
            n = starts[k + 1] - starts[k]
            by_class(theta[k], table)
            part = products[offset[k] : offset[k] + classes * n * n].reshape(classes, n, n)
            feature_products(codes, starts[k], starts[k + 1], table, feature, part)
    return small, offset, products, m + classes + 1


@compiled
def _pair_cost(pairs):
    """Rough cost of a cell in row space, in multiply-adds."""
    return pairs**3 / 6.0 + 8.0 * pairs**2


@compiled
def _groups(starts, codes, offsets, values, classes):
    """Group the attributes of every cell, and decide which cells are better off with it."""
    cells = starts.shape[0] - 1
    rows, q = codes.shape
    m = classes * q
    joint = np.zeros(cells, np.bool_)
    weight_cost = np.empty(cells)
    group_count = np.zeros(cells, np.int64)
    group_start, entry_start = np.zeros((cells, q + 1), np.int64), np.zeros((cells, q + 1), np.int64)
    try_them = classes <= MAXIMUM_CLASSES
    example = np.zeros((cells, values + q * LIMIT if try_them else 1), np.int64)
    groups = np.empty((rows if try_them else 0, q), np.int32)
    pairs = classes * (classes - 1) // 2
    sizes = np.zeros(5, np.int64)
    for k in range(cells):
        lo, hi = starts[k], starts[k + 1]
        n = hi - lo
        weight_cost[k] = n * (m * m / 2.0 + 2.0 * m) + m**3 / 6.0
        if not try_them or n < 16:
            continue
        limit = max(4, min(LIMIT, int(0.7 * np.sqrt(n))))
        count = group_attributes(
            codes, lo, hi, offsets, values, limit, group_start[k], entry_start[k], example[k], groups[lo:hi]
        )
        group_count[k] = count
        entries = entry_start[k, count]
        product_cost = 0.0
        largest = 0
        highest, widest = 0, 0
        for g in range(count):
            members = group_start[k, g + 1] - group_start[k, g]
            height = entry_start[k, g + 1] - entry_start[k, g]
            width = entries - entry_start[k, g]
            product_cost += 2.0 * pairs * height * width * (members + 2.0)
            product_cost += members * (2.0 * pairs + classes) * height * (group_start[k, g + 1] + 8.0)
            largest = max(largest, height * width)
            highest = max(highest, height)
            widest = max(widest, members)
        cost = product_cost + n * count * (count + 1) / 2.0 * (2.5 if pairs == 1 else 5.0) + m**3 / 6.0
        if cost < weight_cost[k]:
            joint[k] = True
            weight_cost[k] = cost
            sizes[0] = max(sizes[0], n)
            sizes[1] = max(sizes[1], largest)
            sizes[2] = max(sizes[2], highest)
            sizes[4] = max(sizes[4], widest)
            sizes[3] = max(sizes[3], entries)
    return joint, group_count, group_start, entry_start, example, groups, weight_cost, sizes
