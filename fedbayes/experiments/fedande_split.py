"""Rows of a FedAnDE cell: training and test part of a fold, and the clients' shares of the training part."""

import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold

from fedbayes import partition


def split_rows(y: np.ndarray, folds: int, fold: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the training and the test part of one fold, both ascending."""
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        parts = list(splitter.split(np.zeros(len(y)), y))
    return parts[fold]


def deal_rows(y: np.ndarray, name: str, clients: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Deal training rows to clients by the partition named (``stratified``, ``iid``, ``dirichlet-ALPHA``)."""
    if name.startswith("dirichlet-"):
        return partition.dirichlet_by_class(y, clients, float(name.removeprefix("dirichlet-")), rng)[0]
    return {"stratified": partition.stratified, "iid": partition.iid}[name](y, clients, rng)
