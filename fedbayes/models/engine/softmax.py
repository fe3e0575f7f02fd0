"""Softmax and log-likelihood of a block of rows."""

from fedbayes.models.engine import vector_arithmetic as va
from fedbayes.models.engine.compilation import compiled
from fedbayes.models.engine.vector_arithmetic import exp, log

BLOCK = 64
"""Rows that are taken through the softmax together; the product of their normalisers stays finite."""

_EIGHT = va.lane_tuple(8)


@compiled
def softmax_residuals(lanes, scores, y, rows):
    """Turn the scores of up to ``BLOCK`` rows into residuals P(class) - [class = y], in place.

    Returns the block's negative log-likelihood. Maximum, sum and scaling run along each row's lanes, exp
    over the block as one flat array, and there is one logarithm for all rows: of the product of their
    normalisers. ``scores`` has room for ``BLOCK * V + 8`` numbers, all of them finite.
    """
    padded = (rows + 7) // 8 * 8
    normaliser = va.stack(_EIGHT, 8, 0)
    loss = va.stack(_EIGHT, 8, 0)
    width = len(lanes)
    for i in range(rows):
        row = va.advance(scores, i * width)
        top = va.largest(lanes, row)
        loss[i] = top - row[y[i]]
        va.subtract_number(lanes, row, top)
    for i in range((rows * width + 7) // 8 * 8):
        scores[i] = exp(scores[i])
    for i in range(rows):
        normaliser[i] = va.total(lanes, va.advance(scores, i * width))
    for i in range(rows, padded):
        loss[i] = 0.0
        normaliser[i] = 1.0
    products = va.stack(_EIGHT, 1, 0)
    losses = va.stack(_EIGHT, 1, 0)
    va.fill(_EIGHT, products, 1.0)
    va.fill(_EIGHT, losses, 0.0)
    for i in range(0, padded, 8):
        va.multiply(_EIGHT, products, va.advance(normaliser, i))
        va.add(_EIGHT, losses, va.advance(loss, i))
    product = ((products[0] * products[4]) * (products[1] * products[5])) * (
        (products[2] * products[6]) * (products[3] * products[7])
    )
    for i in range(padded):
        normaliser[i] = 1.0 / normaliser[i]
    for i in range(rows):
        row = va.advance(scores, i * width)
        va.multiply_number(lanes, row, normaliser[i])
        row[y[i]] = row[y[i]] - 1.0
    return va.total(_EIGHT, losses) + log(product)
