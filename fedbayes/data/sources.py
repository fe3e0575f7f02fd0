"""Where a data set comes from: a file, built-in rules, the OpenML cache, OpenML; in this order."""

import os
from collections.abc import Callable
from pathlib import Path

from ..errors import ConfigurationError, DataError, DataUnavailable
from .canonical import make_categorical
from .dataset import CategoricalDataset, MixedDataset
from .files import EXTENSIONS, MISSING_VALUES, data_extension, read_table
from .specification import MISSING_TREATMENTS, DatasetSpecification, load_specification

_SUFFIXES = tuple(extension + packed for extension in EXTENSIONS for packed in ("", ".gz"))


def load_dataset(
    name_or_yaml_path: str | Path, data_dir: str | Path | None = None
) -> CategoricalDataset | MixedDataset:
    """Load a data set by its name or by the YAML file that describes it.

    Parameters
    ----------
    name_or_yaml_path : str or Path
        A name such as ``"car"``, or the path of a YAML file with one top-level key, the name, and below it
        ``target`` and one of ``file``, ``openml_id``, ``rules``.
    data_dir : str or Path, optional
        Folder with data files, only read; default is the environment variable ``FEDBAYES_DATA``.

    Returns
    -------
    CategoricalDataset or MixedDataset

    Raises
    ------
    ConfigurationError
        No such data set, or a wrong description.
    DataUnavailable
        The data cannot be had here; the message says how to get them.
    DataError
        The data are malformed or are not what the description promises.
    """
    return load(load_specification(name_or_yaml_path), data_dir=data_dir)


def load(
    specification: DatasetSpecification,
    data_dir: str | Path | None = None,
    missing: str | None = None,
    drop_duplicates: str | bool = "auto",
    offline: bool | Callable[[], bool] = False,
) -> CategoricalDataset | MixedDataset:
    """Load a data set from the first source that has it.

    Parameters
    ----------
    specification : DatasetSpecification
    data_dir : str or Path, optional
        Folder with data files, searched two levels deep and only read; default is ``FEDBAYES_DATA``.
    missing : {"category", "mode"}, optional
        Default is the specification's, else ``"category"``.
    drop_duplicates : {"auto"} or bool
        ``"auto"`` follows the specification; a categorical data set then keeps all its rows.
    offline : bool or callable
        Do not ask OpenML. A callable is asked only when it comes to that, so that one probe can serve a run.

    Raises
    ------
    ConfigurationError, DataUnavailable, DataError
        As `load_dataset`.
    """
    missing = missing or specification.missing or "category"
    if missing not in MISSING_TREATMENTS:
        raise ConfigurationError(f"missing is {missing!r}; allowed are {' and '.join(MISSING_TREATMENTS)}")
    if drop_duplicates != "auto" and not isinstance(drop_duplicates, bool):
        raise ConfigurationError(f"drop_duplicates is {drop_duplicates!r}; allowed are auto, true and false")
    if drop_duplicates == "auto" and specification.drop_duplicates is not None:
        drop_duplicates = specification.drop_duplicates
    folder = data_folder(data_dir)
    if specification.kind == "mixed":
        from . import intrusion

        return intrusion.load(
            specification, data_dir=folder, drop_duplicates=drop_duplicates, missing=missing
        )
    settings = {"missing": missing, "drop_duplicates": drop_duplicates is True}
    path = find_file(specification, folder)
    if path is not None:
        table = read_table(
            path, MISSING_VALUES if specification.missing_values is None else specification.missing_values
        )
        return make_categorical(table, specification, source="file", **settings)
    if specification.rules is not None:
        from .rules import compute

        return make_categorical(compute(specification.rules), specification, source="rules", **settings)
    if specification.openml_id is not None:
        return _load_openml(specification, settings, offline)
    raise DataUnavailable(f"{specification.name}: no file found {_searched(specification, folder)}")


def data_folder(data_dir: str | Path | None) -> Path | None:
    """Return the folder with data files: ``data_dir``, else ``FEDBAYES_DATA``, else None.

    Raises
    ------
    ConfigurationError
        The folder named does not exist.
    """
    named, key = (data_dir, "data_dir") if data_dir else (os.environ.get("FEDBAYES_DATA"), "FEDBAYES_DATA")
    if not named:
        return None
    if not isinstance(named, str | os.PathLike):
        raise ConfigurationError(f"{key}: {named!r} is no path")
    try:
        folder = Path(named).expanduser()
        found = folder.is_dir()
    except (OSError, RuntimeError) as error:  # a name too long, no permission, no such user
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"{key}: '{named}' cannot be used ({reason})") from error
    if not found:
        raise ConfigurationError(f"{key}: there is no folder '{folder}'")
    return folder


def find_file(specification: DatasetSpecification, folder: Path | None) -> Path | None:
    """Find the data file of a categorical data set.

    A ``file`` that the specification names is looked for beside the description, in the data folder and in
    the current folder; otherwise the data folder is searched, nearest first, for the data set's name with
    one of the known suffixes, or for a folder of that name with one data file in it.
    """
    if specification.file is not None:
        try:
            named = Path(specification.file).expanduser()
            places = (
                [named]
                if named.is_absolute()
                else [base / named for base in (specification.folder, folder, Path()) if base]
            )
            return next((place for place in places if place.is_file()), None)
        except (OSError, RuntimeError) as error:  # a name too long, no permission, no such user
            reason = getattr(error, "strerror", None) or error
            raise DataError(
                f"{specification.name}: file '{specification.file}' cannot be used ({reason})"
            ) from error
    if folder is None:
        return None
    for level in _levels(folder):
        for suffix in _SUFFIXES:
            path = level / (specification.name + suffix)
            if path.is_file():
                return path
        inside = [
            path for path in _entries(level / specification.name) if data_extension(path) and path.is_file()
        ]
        if len(inside) > 1:
            raise DataError(
                f"{level / specification.name}: holds {len(inside)} data files, expected one for '{specification.name}'"
            )
        if inside:
            return inside[0]
    return None


def _levels(folder: Path) -> list[Path]:
    """Return the data folder and the folders in it."""
    return [folder, *(path for path in _entries(folder) if path.is_dir())]


def _entries(folder: Path) -> list[Path]:
    """List the visible entries of a folder in alphabetical order; none where it cannot be read."""
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError:
        return []


def _searched(specification: DatasetSpecification, folder: Path | None) -> str:
    if specification.file is not None:
        bases = [str(base) for base in (specification.folder, folder, Path.cwd()) if base]
        return f"at '{specification.file}' (looked in {', '.join(bases)}); correct the field file or set data_dir=PATH"
    where = f"in '{folder}'" if folder else "because no data folder is named"
    return f"{where}; set data_dir=PATH or FEDBAYES_DATA to a folder with {specification.name}.arff, .csv or .parquet"


def _load_openml(
    specification: DatasetSpecification, settings: dict[str, object], offline: bool | Callable[[], bool]
) -> CategoricalDataset:
    from .openml import fetch

    table, target, source = fetch(specification, offline=offline)
    try:
        return make_categorical(table, specification, source=source, target=target, **settings)
    except DataError as error:
        others = " or ".join(str(number) for number in specification.openml_alternatives)
        hint = f"; the set described is OpenML {others} (openml_id: {others.split()[0]})" if others else ""
        raise DataError(f"{error}{hint}") from error
