"""Random generators: every draw belongs to a seed and a purpose."""

from zlib import crc32

import numpy as np


def generator(seed: int, purpose: str, *numbers: int) -> np.random.Generator:
    """Make the generator of one purpose, independent of any other purpose and of the order of use.

    Parameters
    ----------
    seed
        Seed of the cell.
    purpose
        What the draws are for, e.g. ``"clients"``.
    numbers
        Non-negative whole numbers that tell draws of one purpose apart (fold, clients, n).
    """
    return np.random.default_rng(np.random.SeedSequence([seed, crc32(purpose.encode()), *numbers]))
