"""Tic-Tac-Toe Endgame: every board at the end of a game in which x moves first; positive where x has won."""

import numpy as np

from ..table import Table
from .decision_tables import make_table

SQUARES = tuple(
    f"{row}-{column}-square" for row in ("top", "middle", "bottom") for column in ("left", "middle", "right")
)
VALUES = ("b", "o", "x")
CLASSES = ("negative", "positive")
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


def compute() -> Table:
    """Compute the 958 rows."""
    ends: dict[str, str | None] = {}
    _play("b" * 9, "x", ends, set())
    codes = np.array([[VALUES.index(mark) for mark in board] for board in ends])
    labels = np.array([winner == "x" for winner in ends.values()], dtype=np.int32)
    columns = dict(zip(SQUARES, codes.T, strict=True))
    domains = dict.fromkeys(SQUARES, VALUES)
    return make_table("rules 'tic-tac-toe'", domains, columns, "Class", CLASSES, labels)


def _play(board: str, player: str, ends: dict[str, str | None], seen: set[str]) -> None:
    """Make every move from a board; collect the boards where the game ends, with the winner."""
    if board in seen:
        return
    seen.add(board)
    opponent = "o" if player == "x" else "x"
    won = any(all(board[square] == opponent for square in line) for line in LINES)
    if won or "b" not in board:
        ends[board] = opponent if won else None
        return
    for square, mark in enumerate(board):
        if mark == "b":
            _play(board[:square] + player + board[square + 1 :], opponent, ends, seen)
