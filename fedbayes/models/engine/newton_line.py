"""The objective along a line, on cached margins: no table is looked up.

A row's margin of class y is score(y) - score(own class), so the own class has margin 0 and the row's loss is
log(sum of exp(margins)). Kept as margins, tiny losses and tiny residuals of separable rows stay exact to the
last digits. Arrays are (classes, rows): loops run along rows and fill whole vectors.
"""

import numpy as np

from fedbayes.models.engine.array_types import LABELS, MATRIX
from fedbayes.models.engine.compilation import apart, compiled, inner
from fedbayes.models.engine.vector_arithmetic import exp, log

BLOCK = 128


@inner
def _exponentials(margins, direction, step, lo, count, out, top, total):
    """exp(margin - row's largest margin) of a block of rows, and their sums."""
    classes = margins.shape[0]
    for i in range(count):
        top[i] = 0.0
        total[i] = 0.0
    for c in range(classes):
        for i in range(count):
            u = margins[c, lo + i] + step * direction[c, lo + i]
            out[c, i] = u
            top[i] = u if u > top[i] else top[i]
    for c in range(classes):
        for i in range(count):
            e = exp(out[c, i] - top[i])
            out[c, i] = e
            total[i] += e


@inner
def slope(margins, direction, step):
    """Loss at ``margins + step * direction``, and its first and second derivative along the direction."""
    classes, rows = margins.shape
    out = np.empty((classes, BLOCK))
    top, total = np.empty(BLOCK), np.empty(BLOCK)
    mean, square = np.empty(BLOCK), np.empty(BLOCK)
    value, first, second = np.zeros(BLOCK), np.zeros(BLOCK), np.zeros(BLOCK)
    for lo in range(0, rows, BLOCK):
        count = min(BLOCK, rows - lo)
        _exponentials(margins, direction, step, lo, count, out, top, total)
        for i in range(count):
            mean[i] = 0.0
            square[i] = 0.0
        for c in range(classes):
            for i in range(count):
                d = direction[c, lo + i]
                weighted = out[c, i] * d
                mean[i] += weighted
                square[i] += weighted * d
        for i in range(count):
            m = mean[i] / total[i]
            value[i] += top[i] + log(total[i])
            first[i] += m
            second[i] += square[i] / total[i] - m * m
    loss, d1, d2 = 0.0, 0.0, 0.0
    for i in range(BLOCK):
        loss += value[i]
        d1 += first[i]
        d2 += second[i]
    return loss, d1, d2


@apart(MATRIX, LABELS, MATRIX, MATRIX)
def posteriors(margins, y, probability, residual):
    """Fill posteriors and residuals (posterior - 1 for the own class, exact also near 0); return the loss."""
    classes, rows = margins.shape
    out = np.empty((classes, BLOCK))
    top, total = np.empty(BLOCK), np.empty(BLOCK)
    own, others = np.empty(BLOCK), np.empty(BLOCK)
    loss = np.zeros(BLOCK)
    for lo in range(0, rows, BLOCK):
        count = min(BLOCK, rows - lo)
        _exponentials(margins, margins, 0.0, lo, count, out, top, total)
        for i in range(count):  # the own class apart, so that what is left of 1 is exact
            own[i] = out[y[lo + i], i]
            out[y[lo + i], i] = 0.0
            others[i] = 0.0
        for c in range(classes):
            for i in range(count):
                others[i] += out[c, i]
        for i in range(count):
            total[i] = 1.0 / (others[i] + own[i])
            others[i] *= total[i]
            own[i] *= total[i]
        for c in range(classes):
            for i in range(count):
                p = out[c, i] * total[i]
                probability[c, lo + i] = p
                residual[c, lo + i] = p
        for i in range(count):
            probability[y[lo + i], lo + i] = own[i]
            residual[y[lo + i], lo + i] = -others[i]
            # -log(own): by log1p where the own class is nearly certain
            loss[i] += _minus_log(others[i]) if own[i] > 0.5 else top[i] - log(total[i])
    value = 0.0
    for i in range(BLOCK):
        value += loss[i]
    return value


@inner
def _minus_log(others):
    """-log(1 - others) for 0 <= others <= 0.5, exact for tiny others too."""
    rest = 1.0 - others
    lost = 1.0 - rest
    return others if lost == 0.0 else -log(rest) * (others / lost)


@compiled
def line_minimum(margins, direction, loss, slope_at_start, linear, quadratic, accuracy):
    """Find a step where the slope of loss + linear * t + quadratic * t^2 / 2 is nearly zero.

    The function is convex. Steps above 1 are tried as long as the slope stays negative, since separable rows
    shrink their losses exponentially along a Newton direction; the zero is then bracketed. A small slope alone
    is not enough: after a steep descent the function may have risen again, far above where it was.

    Returns
    -------
    float
        A step that does not raise the function beyond rounding, with a slope of at most ``accuracy`` times
        that at 0 in size; the largest step known to descend if there is none.
    """
    goal = -accuracy * slope_at_start
    highest = loss + 1e-13 * max(loss, 1.0)
    low, high, step = 0.0, np.inf, 1.0
    slope_low, slope_high = slope_at_start, 0.0
    for _ in range(60):
        value, d1, d2 = slope(margins, direction, step)
        value += (linear + 0.5 * quadratic * step) * step
        d1 += linear + quadratic * step
        d2 += quadratic
        if abs(d1) <= goal and value <= highest:
            return step
        if d1 < 0.0 and value <= highest:
            low, slope_low = step, d1
        else:
            high, slope_high = step, d1
        if high - low <= 1e-12 * high:
            return low
        newton = step - d1 / d2 if d2 > 0.0 else np.inf
        if high == np.inf:
            if step >= 1e6:
                return step
            step = min(max(newton, 2.0 * step), 8.0 * step)
        elif low < newton < high and high < 3.0 * low:
            step = newton
        else:
            lowest = low + 0.1 * (high - low) if low > 0.0 else 0.05 * high
            if low < newton < high:
                step = max(newton, lowest)
            else:
                secant = (
                    low + (high - low) * slope_low / (slope_low - slope_high) if slope_high > 0.0 else low
                )
                step = max(secant, lowest)
            if step >= high:
                step = 0.5 * (low + high)
    return low
