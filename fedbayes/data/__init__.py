"""Data sets: their types, where they come from, and how they are checked."""

from .dataset import CategoricalDataset, MixedDataset
from .sources import load, load_dataset
from .specification import DatasetSpecification, available, load_specification

__all__ = [
    "CategoricalDataset",
    "DatasetSpecification",
    "MixedDataset",
    "available",
    "load",
    "load_dataset",
    "load_specification",
]
