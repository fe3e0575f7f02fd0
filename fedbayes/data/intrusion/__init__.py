"""Intrusion-detection data: network flows with categorical and numeric features."""

import os

from fedbayes.data.dataset import MixedDataset
from fedbayes.errors import ConfigurationError

__all__ = ["load"]

_LOADERS = ("nsl-kdd",)


def load(
    specification,
    data_dir: str | os.PathLike | None = None,
    drop_duplicates: str | bool = "auto",
    missing: str = "category",
) -> MixedDataset:
    """Load an intrusion data set."""
    from fedbayes.data.intrusion import nsl_kdd

    if specification.loader != "nsl-kdd":
        raise ConfigurationError(f"{specification.name}: unknown loader {specification.loader!r}")
    return nsl_kdd.load(
        name=specification.name,
        title=specification.title,
        data_dir=data_dir,
        drop_duplicates=drop_duplicates in ("auto", True),
        missing=missing,
    )
