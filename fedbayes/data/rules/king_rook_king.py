"""Kr-vs-K: white king and rook against the black king, black to move, by retrograde analysis.

The class is the number of moves that white needs to mate against the best defence, or draw. All positions
are solved at once by value iteration on arrays over (white king, rook, black king), each by column and row,
until nothing changes; then one position of each class of mirror images is kept, as in the published set.
"""

import numpy as np

from ..table import Table
from .decision_tables import make_table

COLUMNS = tuple("abcdefgh")
ROWS = tuple("12345678")
DOMAINS = {
    "White_king_col": COLUMNS,
    "White_king_row": ROWS,
    "White_rook_col": COLUMNS,
    "White_rook_row": ROWS,
    "Black_king_col": COLUMNS,
    "Black_king_row": ROWS,
}
CLASSES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight"),
    *("nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "draw"),
)

DRAW = np.int8(100)
ILLEGAL = np.int8(-1)
WHITE_KING, ROOK, BLACK_KING = (0, 1), (2, 3), (4, 5)  # the axes of column and row
_STEPS = [(column, row) for column in (-1, 0, 1) for row in (-1, 0, 1) if (column, row) != (0, 0)]


def compute() -> Table:
    """Compute the 28056 rows."""
    moves, legal = solve()
    king_column, king_row, rook_column, rook_row, black_column, black_row = np.indices((8,) * 6, sparse=True)
    kept = legal & (king_column < 4) & (king_row <= king_column)
    on_diagonal = king_row == king_column
    kept &= ~on_diagonal | (black_row <= black_column)
    kept &= ~(on_diagonal & (black_row == black_column)) | (rook_row <= rook_column)
    codes = dict(zip(DOMAINS, np.nonzero(kept), strict=True))
    labels = np.minimum(moves[kept], len(CLASSES) - 1)
    return make_table("rules 'kr-vs-k'", DOMAINS, codes, "Game", CLASSES, labels)


def solve() -> tuple[np.ndarray, np.ndarray]:
    """Solve every position with black to move.

    Returns
    -------
    moves : ndarray of int8, shape (8, 8, 8, 8, 8, 8)
        White's moves to mate, or ``DRAW``; by column and row of white king, rook and black king.
    legal : ndarray of bool, same shape
    """
    index = np.indices((8,) * 6, sparse=True)
    near = _distance(index, WHITE_KING, BLACK_KING) <= 1  # the kings touch, or stand on one square
    legal = ~near & (_distance(index, WHITE_KING, ROOK) > 0) & (_distance(index, ROOK, BLACK_KING) > 0)
    captured = np.broadcast_to(_distance(index, ROOK, BLACK_KING) == 0, legal.shape)
    attacked = _attacked(index)
    blocked = np.broadcast_to((_distance(index, WHITE_KING, ROOK) == 0) | captured, legal.shape)
    no_escape = np.where(attacked, np.int8(0), DRAW)  # mate or stalemate
    white = np.full(legal.shape, DRAW)
    black = np.full(legal.shape, DRAW)
    while True:
        replies = np.where(near, ILLEGAL, np.where(captured, DRAW, np.where(attacked, ILLEGAL, white)))
        worst = _king_moves(replies, BLACK_KING, np.maximum, ILLEGAL)
        updated = np.where(legal, np.where(worst == ILLEGAL, no_escape, worst), DRAW)
        if np.array_equal(updated, black):
            return black, legal
        black = updated
        best = np.minimum(_king_moves(black, WHITE_KING, np.minimum, DRAW), _rook_moves(black, blocked))
        white = np.minimum(best + np.int8(1), DRAW)


def _distance(index: list[np.ndarray], one: tuple[int, int], other: tuple[int, int]) -> np.ndarray:
    """King's moves between two pieces on an empty board."""
    return np.maximum(abs(index[one[0]] - index[other[0]]), abs(index[one[1]] - index[other[1]]))


def _attacked(index: list[np.ndarray]) -> np.ndarray:
    """Where the rook attacks the black king's square: same line, the white king not between."""
    attacked = np.zeros((8,) * 6, dtype=bool)
    for same, along in ((0, 1), (1, 0)):
        king, rook, black = (index[piece[along]] for piece in (WHITE_KING, ROOK, BLACK_KING))
        in_line = index[ROOK[same]] == index[BLACK_KING[same]]
        king_in_line = index[WHITE_KING[same]] == index[ROOK[same]]
        between = king_in_line & (np.minimum(rook, black) < king) & (king < np.maximum(rook, black))
        attacked |= in_line & (rook != black) & ~between
    return attacked


def _king_moves(values: np.ndarray, piece: tuple[int, int], choose: np.ufunc, nothing: np.int8) -> np.ndarray:
    """Best value over the eight steps of a king; ``nothing`` for steps off the board."""
    result = np.full(values.shape, nothing)
    for step in _STEPS:
        source, target = [slice(None)] * 6, [slice(None)] * 6
        for axis, move in zip(piece, step, strict=True):
            source[axis] = slice(max(move, 0), 8 + min(move, 0))
            target[axis] = slice(max(-move, 0), 8 + min(-move, 0))
        here = result[tuple(target)]
        choose(here, values[tuple(source)], out=here)
    return result


def _rook_moves(values: np.ndarray, blocked: np.ndarray) -> np.ndarray:
    """Best (least) value over the rook's moves: it slides until a king stands in its way."""
    result = np.full(values.shape, DRAW)
    for axis in ROOK:
        value, stop, best = (np.moveaxis(array, axis, 0) for array in (values, blocked, result))
        for squares in (range(8), range(7, -1, -1)):
            beyond = np.full(value.shape[1:], DRAW)  # the best further along, seen from the current square
            for square in squares:
                np.minimum(best[square], beyond, out=best[square])
                beyond = np.where(stop[square], DRAW, np.minimum(beyond, value[square]))
    return result
