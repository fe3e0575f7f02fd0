"""Inverses of small symmetric positive definite matrices, on the tiles that eliminations use."""

import numpy as np

from fedbayes.models.engine.array_types import COUNT, MATRIX, NUMBER
from fedbayes.models.engine.compilation import apart
from fedbayes.models.engine.newton_tiles import (
    COLUMNS,
    ROWS,
    factor_rows,
    finish_rows,
    subtract_part,
    subtract_pivots,
)


@apart(MATRIX, COUNT, NUMBER, MATRIX, MATRIX)
def invert(matrix, size, floor, product, inverse):
    """Fill ``inverse[:size, :size]`` with the inverse of the upper triangle of ``matrix[:, :wide]``.

    Parameters
    ----------
    matrix : ndarray (wide, 2 wide)
        Upper triangle, its order padded to whole tiles with a unit diagonal; overwritten, as is the right half.
    size : int
        Order of the inverse that is wanted.
    floor : float
        Smallest pivot, relative to its diagonal entry, that counts as positive.
    product : ndarray (wide, wide)
        Scratch.
    inverse : ndarray (wide, wide)
        Filled on both sides of the diagonal.
    """
    wide = matrix.shape[0]
    least, own = np.empty(ROWS), np.empty((ROWS, ROWS))
    # U'U = matrix in the left half; inv(U') in the right, whose column j is zero above row j
    for r in range(wide):
        for t in range(wide, 2 * wide):
            matrix[r, t] = 0.0
        matrix[r, wide + r] = 1.0
    for row in range(0, wide, ROWS):
        for r in range(ROWS):
            least[r] = floor * matrix[row + r, row + r]
        subtract_pivots(matrix, row, row, wide)
        for c in range(0, row, COLUMNS):
            subtract_part(matrix, row, wide + c, matrix, c, row, wide + c, row)
        last = wide + (row // COLUMNS + 1) * COLUMNS
        factor_rows(matrix, row, least, own)
        finish_rows(matrix, row, row, wide, own)
        finish_rows(matrix, row, wide, last, own)
    product[:] = 0.0
    for r in range(0, wide, ROWS):
        for c in range(r // COLUMNS * COLUMNS, wide, COLUMNS):
            subtract_part(product, r, c, matrix, c, wide + r, wide + c, wide)
    for r in range(size):
        inverse[r, r] = -product[r, r]
        for t in range(r + 1, size):
            inverse[r, t] = -product[r, t]
            inverse[t, r] = -product[r, t]
