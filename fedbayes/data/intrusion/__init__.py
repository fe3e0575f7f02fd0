"""Intrusion-detection data: network flows with categorical and numeric features.

Each data set has a module that knows its files, columns and labels; reading, cleaning and keeping converted
copies are shared. Files are recognised by their content where their names are not to be relied on.
"""

import os
from pathlib import Path

from fedbayes.config import integer
from fedbayes.data.dataset import MixedDataset
from fedbayes.data.specification import DatasetSpecification
from fedbayes.errors import ConfigurationError, DataError

LOADERS = (
    "nsl-kdd",
    "unsw-nb15",
    "cic-ids2017",
    "cic-ids2017-corrected",
    "cic-ids2017-reduced",
    "synthetic-flows",
)
# "auto": these two repeat rows because of how they were made; in the others repeated rows are traffic.
_DROP_DUPLICATES = ("nsl-kdd", "cic-ids2017")

__all__ = ["LOADERS", "drops_duplicates", "load", "obtain"]


def load(
    specification: DatasetSpecification,
    data_dir: str | os.PathLike | None = None,
    drop_duplicates: str | bool = "auto",
    missing: str = "category",
) -> MixedDataset:
    """Load an intrusion data set, from its converted copy in the user's cache folder if there is one.

    Parameters
    ----------
    specification
        Description of kind ``mixed``; its ``loader`` is one of `LOADERS`.
    data_dir
        Folder to search for the files, two levels deep; never written to.
    drop_duplicates
        Whether rows that repeat an earlier one in all features and the class are dropped. ``"auto"`` takes the
        specification's choice, and where that is ``"auto"`` too: yes for NSL-KDD and CIC-IDS2017, else no.
    missing
        An empty categorical cell becomes a value of its own (``"category"``) or the most frequent value
        (``"mode"``). Rows with an empty or infinite number are always dropped, and counted in the notes.

    Raises
    ------
    ConfigurationError
        The loader is unknown.
    DataUnavailable
        The files are not there; the message names the remedy.
    DataError
        A file is malformed (file, line and column are named), or complete data do not hold what the
        specification expects.
    """
    loader = specification.loader
    if loader not in LOADERS:
        raise ConfigurationError(
            f"{specification.name}: loader is {loader!r}; allowed are {', '.join(LOADERS)}"
        )
    if loader == "synthetic-flows":
        return _synthetic(specification)
    drop_duplicates = drops_duplicates(specification, drop_duplicates)
    data = _load_files(specification, data_dir, drop_duplicates, missing)
    if data.y.min() == data.y.max():
        raise DataError(
            f"{specification.name}: all {data.y.size:,} rows are of the class '{data.class_names[data.y[0]]}'; "
            "a classifier needs two"
        )
    if data.complete and drop_duplicates == (loader in _DROP_DUPLICATES):
        _check(specification, data)
    return data


def drops_duplicates(specification: DatasetSpecification, asked: str | bool = "auto") -> bool:
    """Whether repeated rows are dropped; for ``"auto"`` see :func:`load`. Generated flows are kept as they are."""
    if specification.loader == "synthetic-flows":
        return False
    if asked == "auto":
        asked = specification.drop_duplicates
    return specification.loader in _DROP_DUPLICATES if asked in ("auto", None) else bool(asked)


def obtain(specification: DatasetSpecification, folder: str | os.PathLike) -> str:
    """Check the files of a data set in a folder, convert them once, and say what is there and what is missing.

    Raises
    ------
    DataUnavailable
        No file is there; the message names the files and where to get them.
    DataError
        A file is malformed.
    """
    from fedbayes.data.intrusion.obtaining import obtain

    return obtain(specification, folder)


def _synthetic(specification: DatasetSpecification) -> MixedDataset:
    from fedbayes.data.intrusion import synthetic_flows

    settings = {"rows": specification.rows or 6_000, **specification.options}
    unknown = set(settings) - {"rows", "seed"}
    if unknown:
        raise ConfigurationError(
            f"{specification.name}: options: unknown {', '.join(sorted(unknown))}; allowed are rows and seed"
        )
    for key, least in (("rows", 100), ("seed", 0)):
        if key in settings:
            settings[key] = integer(least)(f"{specification.name}: options: {key}", settings[key])
    return synthetic_flows.load(name=specification.name, title=specification.title, **settings)


def find_files(loader: str, data_dir: str | os.PathLike | None) -> list[Path]:
    """Files below a folder that a loader recognises as its own."""
    from fedbayes.data.intrusion import cic_ids2017, cic_variants, nsl_kdd, unsw_nb15

    if loader == "nsl-kdd":
        return list(nsl_kdd.find(data_dir).values())
    if loader == "cic-ids2017":
        return [file.path for file in cic_ids2017.find(data_dir)]
    find = {
        "unsw-nb15": unsw_nb15.find,
        "cic-ids2017-corrected": cic_variants.find_corrected,
        "cic-ids2017-reduced": cic_variants.find_reduced,
    }
    return find[loader](data_dir)


def _load_files(
    specification: DatasetSpecification,
    data_dir: str | os.PathLike | None,
    drop_duplicates: bool,
    missing: str,
) -> MixedDataset:
    from fedbayes.data.intrusion import cache, cic_ids2017, cic_variants, nsl_kdd, unsw_nb15

    settings: dict[str, object] = {"drop_duplicates": drop_duplicates, "missing": missing}
    if specification.loader == "cic-ids2017":
        settings["sample_rows"] = specification.sample_rows
    read = {
        "nsl-kdd": nsl_kdd.load,
        "unsw-nb15": unsw_nb15.load,
        "cic-ids2017": cic_ids2017.load,
        "cic-ids2017-corrected": cic_variants.load_corrected,
        "cic-ids2017-reduced": cic_variants.load_reduced,
    }[specification.loader]
    names = {"name": specification.name, "title": specification.title}
    copy = cache.copy_path(
        specification.loader, find_files(specification.loader, data_dir), {**settings, **names}
    )
    data = cache.read_dataset(copy)
    if data is None:
        data = read(data_dir=data_dir, **settings, **names)
        cache.write_dataset(copy, data)
    return data


def _check(specification: DatasetSpecification, data: MixedDataset) -> None:
    found = {
        "rows": len(data.y),
        "attributes": len(data.categorical_names) + len(data.numeric_names),
        "classes": len(data.class_names),
    }
    for field, value in found.items():
        expected = getattr(specification, field)
        if expected is not None and value != expected:
            raise DataError(f"{data.name}: {value:,} {field}, expected {expected:,}")
