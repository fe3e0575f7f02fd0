"""OpenML, through the ``openml`` package, with a verified copy of our own.

The package deletes a cached data set whose download fails and asks the server again for ten seconds each, so
it is never pointed at the user's OpenML cache: that one is read as files, and downloads go to a temporary
folder. What has been read well once is stored in our cache folder.
"""

import contextlib
import hashlib
import logging
import os
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np

from ..errors import DataError, DataUnavailable
from .cache import cache_folder
from .files import read_table
from .specification import DatasetSpecification
from .stored_table import read_stored_table, save_table
from .table import MISSING, Column, Table

RETRIES = 3
_NAMESPACE = "{http://openml.org/openml}"


def reachable(timeout: float = 5.0) -> bool:
    """Ask once whether the configured server (``openml.config.server``) answers.

    Parameters
    ----------
    timeout : float
        Seconds to wait, name resolution included.
    """
    try:
        server = _package().config.server
    except DataUnavailable:
        return False
    answers: list[bool] = []

    def ask() -> None:
        try:
            request = urllib.request.Request(server, headers={"User-Agent": "fedbayes"})
            with urllib.request.urlopen(request, timeout=timeout):
                answers.append(True)
        except urllib.error.HTTPError as error:
            # The server's own "no such page" is an answer; a gateway that does not let us through is none.
            answers.append(error.code < 500 and error.code not in (403, 407))
        except (OSError, ValueError):
            answers.append(False)

    # Resolving a name does not obey a socket's timeout, so the question is asked aside.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(timeout + 1.0)
    return bool(answers and answers[0])


def fetch(
    specification: DatasetSpecification, offline: bool | Callable[[], bool] = False
) -> tuple[Table, str | None, str]:
    """Get a data set from our cache, from the OpenML cache or from OpenML.

    Parameters
    ----------
    specification : DatasetSpecification
        With an ``openml_id``.
    offline : bool or callable
        Do not ask the server; a callable is asked only when nothing is cached. With False the server is
        probed first, so that a machine without network fails in seconds.

    Returns
    -------
    table : Table
        Without the columns that OpenML marks as row names or to be ignored.
    target : str or None
        The class column: the specification's if there is such a column, else OpenML's default target.
    source : str
        ``"openml-cache"`` or ``"openml"``.

    Raises
    ------
    DataUnavailable
        Nothing is cached and the server cannot be asked, or does not have the data set.
    """
    number = specification.openml_id
    assert number is not None
    try:
        package = _package()
    except DataUnavailable as error:
        raise _unavailable(specification, str(error)) from error
    host = urllib.parse.urlsplit(package.config.server).netloc.replace(":", "_") or "openml"
    stored = cache_folder() / "openml" / host / f"{number}.npz"
    copy = read_stored_table(stored)
    if copy is not None:
        return copy[0], _target(specification, *copy), "openml-cache"
    cached = Path(package.config.get_cache_directory()) / "datasets" / str(number)
    found = _read_folder(cached, specification, verify=True)
    source = "openml-cache"
    if found is None:
        if offline() if callable(offline) else (offline or not reachable()):
            raise _unavailable(specification, "no copy is cached and the server cannot be reached")
        found = _download(package, specification)
        source = "openml"
    save_table(stored, *found)
    return found[0], _target(specification, *found), source


def _package() -> ModuleType:
    """Import the package, which makes folders in the user's home and may fail in many ways."""
    try:
        import openml

        return openml
    except Exception as error:
        raise DataUnavailable(f"the openml package cannot be used here ({_first_line(error)})") from error


def _target(specification: DatasetSpecification, table: Table, default: str | None) -> str | None:
    names = [column.name.casefold() for column in table.columns]
    named = specification.target
    return named if named is not None and (named.casefold() in names or default is None) else default


def _download(package: ModuleType, specification: DatasetSpecification) -> tuple[Table, str | None]:
    number = specification.openml_id
    with tempfile.TemporaryDirectory(prefix="fedbayes-openml-") as root, _settings(package, Path(root)):
        try:
            package.datasets.get_dataset(
                number, download_data=True, download_qualities=False, download_features_meta_data=False
            )
        except package.exceptions.OpenMLHashException as error:
            raise _unavailable(specification, "the file arrived damaged (wrong checksum)") from error
        except Exception as error:  # the package lets errors of four libraries and its own through
            raise _unavailable(specification, _first_line(error)) from error
        folder = Path(package.config.get_cache_directory()) / "datasets" / str(number)
        try:
            found = _read_folder(folder, specification, verify=False)
        except DataError as error:  # the temporary folder's name helps nobody
            raise DataError(str(error).replace(f"{folder}{os.sep}", f"OpenML {number}: ")) from error
    if found is None:
        raise _unavailable(specification, "the server sent no ARFF file")
    return found


@contextlib.contextmanager
def _settings(package: ModuleType, root: Path) -> Iterator[None]:
    """Let the package work in a folder of its own, quietly, with few retries; then put everything back."""
    config = package.config
    before = config._root_cache_directory, config.connection_n_retries
    skip = os.environ.get("OPENML_SKIP_PARQUET")
    quiet, logger = logging.NullHandler(), logging.getLogger()
    level = logging.root.manager.disable
    config.set_root_cache_directory(root)
    config.connection_n_retries = min(RETRIES, config.connection_n_retries)
    os.environ["OPENML_SKIP_PARQUET"] = "true"  # only the ARFF file has a checksum and declares the domains
    logger.addHandler(quiet)  # otherwise the package's first warning would configure logging for everybody
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        config.set_root_cache_directory(before[0])
        config.connection_n_retries = before[1]
        if skip is None:
            os.environ.pop("OPENML_SKIP_PARQUET", None)
        else:
            os.environ["OPENML_SKIP_PARQUET"] = skip
        logging.disable(level)
        logger.removeHandler(quiet)


def _read_folder(
    folder: Path, specification: DatasetSpecification, verify: bool
) -> tuple[Table, str | None] | None:
    """Read a data set as the openml package stores it; None where it is not there whole."""
    try:
        description = ElementTree.parse(folder / "description.xml").getroot()
    except (OSError, ElementTree.ParseError):
        return None
    data = folder / "dataset.arff"
    checksum = _texts(description, "md5_checksum")
    if data.is_file():
        if verify and checksum and not _has_checksum(data, checksum[0]):
            return None
        table = read_table(data)
    else:
        parquet = _read_parquet(folder, specification.openml_id)
        if parquet is None:
            return None
        table = parquet
    targets = _texts(description, "default_target_attribute")
    unwanted = {
        *_texts(description, "row_id_attribute"),
        *_texts(description, "ignore_attribute"),
    } - {specification.target}
    columns = [
        # OpenML writes a question mark in a name as %3F.
        replace(column, name=urllib.parse.unquote(column.name))
        for column in table.columns
        if column.name not in unwanted
    ]
    label = f"OpenML {specification.openml_id}"
    return replace(table, label=label, columns=tuple(columns), lines=None), targets[0] if targets else None


def _read_parquet(folder: Path, number: int | None) -> Table | None:
    """Read the Parquet copy, with the domains that the description of the features declares."""
    path = folder / f"dataset_{number}.pq"
    try:
        features = ElementTree.parse(folder / "features.xml").getroot()
    except (OSError, ElementTree.ParseError):
        return None
    if not path.is_file():
        return None
    from .files.parquet import read_parquet

    domains = {
        "".join(_texts(feature, "name", split=False)): _texts(feature, "nominal_value", split=False)
        for feature in features.iter(f"{_NAMESPACE}feature")
    }
    table = read_parquet(path)
    columns = []
    for column in table.columns:
        domain = tuple(dict.fromkeys(domains.get(column.name, ())))
        if domain and set(column.values) <= set(domain):
            recode = np.array([*(domain.index(value) for value in column.values), MISSING], dtype=np.int32)
            column = Column(column.name, domain, recode[column.codes], declared=True)
        columns.append(column)
    return replace(table, columns=tuple(columns))


def _texts(node: ElementTree.Element, tag: str, split: bool = True) -> list[str]:
    """Texts of the elements of a name below a node; lists with commas count as several."""
    found = [element.text or "" for element in node.iter(_NAMESPACE + tag)]
    if split:
        found = [part.strip() for text in found for part in text.split(",")]
    return [text for text in found if text]


def _has_checksum(path: Path, checksum: str) -> bool:
    content = path.read_bytes()
    sums = {hashlib.md5(text).hexdigest() for text in (content, content.replace(b"\r\n", b"\n"))}
    return checksum in sums


def _unavailable(specification: DatasetSpecification, reason: str) -> DataUnavailable:
    return DataUnavailable(
        f"{specification.name}: OpenML {specification.openml_id} cannot be had here ({reason}); on a machine with "
        "network run 'python scripts/fetch_data.py FOLDER', then set FEDBAYES_DATA=FOLDER (or data_dir=FOLDER)"
    )


def _first_line(error: BaseException) -> str:
    """Say what went wrong in a few words, without the addresses of objects that some libraries print."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__
