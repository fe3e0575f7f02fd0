"""The line search of Moré and Thuente (ACM TOMS 20, 1994), in the form and with the constants of L-BFGS-B.

The state of a search is one float64 array; :func:`begin` fills it, :func:`next_step` takes the value and
slope at the last trial step and returns the next one.
"""

import numpy as np

from fedbayes.models.engine.compilation import compiled

_LARGEST_STEP = 1e10
_SUFFICIENT_DECREASE, _CURVATURE, _INTERVAL = 1e-3, 0.9, 0.1

# places in the state: the best step so far, the other end of its interval, value and slope at both, ...
_BEST, _F_BEST, _G_BEST, _OTHER, _F_OTHER, _G_OTHER, _F_START, _G_START = range(8)
# ... whether a minimum is bracketed and the second stage reached, bounds on the step, the last two widths
_BRACKETED, _SECOND_STAGE, _LOWER, _UPPER, _WIDTH, _PREVIOUS_WIDTH = range(8, 14)
STATE_SIZE = 14


@compiled
def begin(state, value, slope, step):
    """Start a search from a point with this value and (negative) slope; ``step`` is the first trial step."""
    state[_BEST] = state[_OTHER] = 0.0
    state[_F_BEST] = state[_F_OTHER] = state[_F_START] = value
    state[_G_BEST] = state[_G_OTHER] = state[_G_START] = slope
    state[_BRACKETED] = state[_SECOND_STAGE] = 0.0
    state[_LOWER] = 0.0
    state[_UPPER] = step + 4.0 * step
    state[_WIDTH] = _LARGEST_STEP
    state[_PREVIOUS_WIDTH] = 2.0 * _LARGEST_STEP


@compiled
def next_step(state, step, value, slope):
    """Return ``(step, done)``: done when the last trial step is acceptable, or no better one can be found."""
    required = _SUFFICIENT_DECREASE * state[_G_START]
    bound = state[_F_START] + step * required
    bracketed = state[_BRACKETED] == 1.0
    if state[_SECOND_STAGE] == 0.0 and value <= bound and slope >= 0.0:
        state[_SECOND_STAGE] = 1.0
    done = value <= bound and abs(slope) <= -_CURVATURE * state[_G_START]
    if bracketed:  # rounding errors prevent progress, or the interval is short enough
        done |= step <= state[_LOWER] or step >= state[_UPPER]
        done |= state[_UPPER] - state[_LOWER] <= _INTERVAL * state[_UPPER]
    done |= step == _LARGEST_STEP and value <= bound and slope <= required
    done |= step == 0.0 and (value > bound or slope >= required)
    if done:
        return step, True

    # in the first stage a step that lowers the value, though not enough, is judged by the value above the bound
    tilt = required if state[_SECOND_STAGE] == 0.0 and value <= state[_F_BEST] and value > bound else 0.0
    trial = _safeguarded_step(state, step, value, slope, tilt)
    bracketed = state[_BRACKETED] == 1.0
    best, other = state[_BEST], state[_OTHER]
    if bracketed:
        if abs(other - best) >= 0.66 * state[_PREVIOUS_WIDTH]:
            trial = best + 0.5 * (other - best)
        state[_PREVIOUS_WIDTH] = state[_WIDTH]
        state[_WIDTH] = abs(other - best)
        state[_LOWER], state[_UPPER] = min(best, other), max(best, other)
    else:
        state[_LOWER] = trial + 1.1 * (trial - best)
        state[_UPPER] = trial + 4.0 * (trial - best)
    trial = min(max(trial, 0.0), _LARGEST_STEP)
    if bracketed and (
        trial <= state[_LOWER]
        or trial >= state[_UPPER]
        or state[_UPPER] - state[_LOWER] <= _INTERVAL * state[_UPPER]
    ):
        trial = best
    return trial, False


@compiled
def _root_term(theta, a, b):
    scale = max(abs(theta), max(abs(a), abs(b)))
    return scale * np.sqrt(max(0.0, (theta / scale) ** 2 - (a / scale) * (b / scale)))


@compiled
def _safeguarded_step(state, step, value, slope, tilt):
    """Cubic and quadratic interpolation from the best and the last step; updates the interval."""
    x, fx, gx = state[_BEST], state[_F_BEST] - state[_BEST] * tilt, state[_G_BEST] - tilt
    y, fy, gy = state[_OTHER], state[_F_OTHER] - state[_OTHER] * tilt, state[_G_OTHER] - tilt
    f, g = value - step * tilt, slope - tilt
    bracketed = state[_BRACKETED] == 1.0
    lower, upper = state[_LOWER], state[_UPPER]
    opposite = g * (gx / abs(gx)) < 0.0
    if f > fx:  # a higher value: the minimum is bracketed
        theta = 3.0 * (fx - f) / (step - x) + gx + g
        gamma = _root_term(theta, gx, g)
        gamma = -gamma if step < x else gamma
        cubic = x + ((gamma - gx) + theta) / (((gamma - gx) + gamma) + g) * (step - x)
        quadratic = x + (gx / ((fx - f) / (step - x) + gx)) / 2.0 * (step - x)
        trial = cubic if abs(cubic - x) < abs(quadratic - x) else cubic + (quadratic - cubic) / 2.0
        bracketed = True
    elif opposite:  # a lower value and slopes of opposite sign: bracketed
        theta = 3.0 * (fx - f) / (step - x) + gx + g
        gamma = _root_term(theta, gx, g)
        gamma = -gamma if step > x else gamma
        cubic = step + ((gamma - g) + theta) / (((gamma - g) + gamma) + gx) * (x - step)
        quadratic = step + (g / (g - gx)) * (x - step)
        trial = cubic if abs(cubic - step) > abs(quadratic - step) else quadratic
        bracketed = True
    elif abs(g) < abs(gx):  # a lower value, same sign, a smaller slope
        theta = 3.0 * (fx - f) / (step - x) + gx + g
        gamma = _root_term(theta, gx, g)
        gamma = -gamma if step > x else gamma
        ratio = ((gamma - g) + theta) / ((gamma + (gx - g)) + gamma)
        cubic = step + ratio * (x - step) if ratio < 0.0 and gamma != 0.0 else upper if step > x else lower
        quadratic = step + (g / (g - gx)) * (x - step)
        if bracketed:
            trial = cubic if abs(cubic - step) < abs(quadratic - step) else quadratic
            limit = step + 0.66 * (y - step)
            trial = min(limit, trial) if step > x else max(limit, trial)
        else:
            trial = cubic if abs(cubic - step) > abs(quadratic - step) else quadratic
            trial = max(lower, min(upper, trial))
    elif bracketed:  # a lower value, same sign, the slope does not shrink
        theta = 3.0 * (f - fy) / (y - step) + gy + g
        gamma = _root_term(theta, gy, g)
        gamma = -gamma if step > y else gamma
        trial = step + ((gamma - g) + theta) / (((gamma - g) + gamma) + gy) * (y - step)
    else:
        trial = upper if step > x else lower
    if f > fx:
        state[_OTHER], state[_F_OTHER], state[_G_OTHER] = step, value, slope
    else:
        if opposite:
            state[_OTHER], state[_F_OTHER], state[_G_OTHER] = state[_BEST], state[_F_BEST], state[_G_BEST]
        state[_BEST], state[_F_BEST], state[_G_BEST] = step, value, slope
    state[_BRACKETED] = 1.0 if bracketed else 0.0
    return trial
