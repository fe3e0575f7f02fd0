"""Data sets that are computed from their definition, exactly, with the names and values of the published files."""

import importlib

from ...errors import ConfigurationError
from ..table import Table

RULES = {
    "car": "car",
    "kr-vs-k": "king_rook_king",
    "nursery": "nursery",
    "tic-tac-toe": "tic_tac_toe",
}
"""Name of each built-in data set and the module that computes it."""


def compute(name: str) -> Table:
    """Compute a built-in data set.

    Parameters
    ----------
    name : str
        A key of ``RULES``.

    Raises
    ------
    ConfigurationError
        There are no such rules.
    """
    if name not in RULES:
        raise ConfigurationError(f"rules: unknown rules '{name}'; known are {', '.join(RULES)}")
    return importlib.import_module(f".{RULES[name]}", __name__).compute()
