"""What the FedAnDE paper prints: Table 1 and the grid of section 4."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PublishedDataset:
    """One line of Table 1."""

    name: str
    title: str
    rows: int
    attributes: int
    classes: int
    openml_id: int


# in the paper's order, which is by the number of rows: Figure 3 shows the first six, Figure 4 the rest
TABLE_1 = (
    PublishedDataset("vote", "House Votes 84", 435, 16, 2, 56),
    PublishedDataset("soybean", "Soybean", 683, 35, 19, 42),
    PublishedDataset("tic-tac-toe", "Tic-Tac-Toe", 958, 9, 2, 50),
    PublishedDataset("flare", "Flare", 1066, 11, 6, 46174),
    PublishedDataset("car", "Car Evaluation", 1728, 6, 4, 991),
    PublishedDataset("splice", "Splice", 3190, 60, 3, 46),
    PublishedDataset("kr-vs-kp", "Kr-vs-Kp", 3196, 36, 2, 3),
    PublishedDataset("mushroom", "Mushroom", 8124, 22, 2, 24),
    PublishedDataset("phishing", "Phishing Websites", 11055, 30, 2, 4534),
    PublishedDataset("nursery", "Nursery", 12960, 8, 5, 1568),
    PublishedDataset("kr-vs-k", "Kr-vs-K", 28056, 6, 18, 46173),
    PublishedDataset("connect-4", "Connect-4", 67557, 42, 3, 40668),
)
TITLES = {published.name: published.title for published in TABLE_1}
SMALLER_SIX = tuple(published.name for published in TABLE_1[:6])
LARGER_SIX = tuple(published.name for published in TABLE_1[6:])
CLIENTS = (5, 10, 20, 50, 100)
ORDERS = (0, 1, 2)
EPSILON = 1.0
ROUNDS = 10
FOLDS = 5
SEEDS = 5
