"""The description of a data set: one YAML file of a few lines."""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ..config import LARGEST_INTEGER, conf_directory, shown, whole
from ..errors import ConfigurationError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
KINDS = ("categorical", "mixed")
MISSING_TREATMENTS = ("category", "mode")


@dataclass(frozen=True)
class DatasetSpecification:
    """What a data set is, where it comes from and what it must hold.

    Attributes
    ----------
    name, title : str
        Short name for the command line, and the name to print.
    kind : {"categorical", "mixed"}
    target : str or None
        The class column.
    openml_id : int or None
        Number of the data set at OpenML.
    openml_alternatives : tuple of int
        Other numbers to name where ``openml_id`` turns out to be another data set.
    file : str or None
        A data file, absolute or relative to this description's folder or to the data folder.
    rules : str or None
        Name of the rules that compute the data set (`fedbayes.data.rules`).
    loader : str or None
        Name of the loader of a mixed data set (`fedbayes.data.intrusion`).
    rows, attributes, classes : int or None
        What is expected; checked on load where given.
    why : str or None
        One sentence: what the data set is here for.
    position : int or None
        Its place in the papers' tables.
    ignore : tuple of str
        Columns to leave out, such as row names.
    missing : {"category", "mode"} or None
    missing_values : tuple of str or None
        Cells of a CSV file that count as missing.
    drop_duplicates : bool or "auto" or None
    sample_rows : int or None
    license : str or None
    fingerprint : str or None
        Of the data the published results were computed from; a difference becomes a note.
    options : mapping
        Further settings of the loader of a mixed data set.
    folder : Path or None
        Where the description was read from.
    """

    name: str
    title: str
    kind: str = "categorical"
    target: str | None = None
    openml_id: int | None = None
    openml_alternatives: tuple[int, ...] = ()
    file: str | None = None
    rules: str | None = None
    loader: str | None = None
    rows: int | None = None
    attributes: int | None = None
    classes: int | None = None
    why: str | None = None
    position: int | None = None
    ignore: tuple[str, ...] = ()
    missing: str | None = None
    missing_values: tuple[str, ...] | None = None
    drop_duplicates: bool | str | None = None
    sample_rows: int | None = None
    license: str | None = None
    fingerprint: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None

    @classmethod
    def from_mapping(
        cls, name: str, mapping: Mapping[str, Any], folder: str | Path | None = None
    ) -> "DatasetSpecification":
        """Make a specification of the fields below the key ``name``; see `load_specification`."""
        return load_specification({name: mapping}, folder=folder)


_TEXT = (
    "name",
    "title",
    "kind",
    "target",
    "file",
    "rules",
    "loader",
    "why",
    "missing",
    "license",
    "fingerprint",
)
_COUNT = ("openml_id", "rows", "attributes", "classes", "position", "sample_rows")
_KEYS = tuple(item.name for item in fields(DatasetSpecification) if item.name != "folder")


def load_specification(
    description: str | Path | Mapping[str, Any], folder: str | Path | None = None
) -> DatasetSpecification:
    """Make a specification of a description and check it.

    Parameters
    ----------
    description : str, Path or mapping
        The name of a data set of the package, a YAML file with one top-level key (the name) and the fields
        below it, or such a mapping, with the name as its only key or as the field ``name``.
    folder : str or Path, optional
        The folder that a relative ``file`` starts from; default is the YAML file's.

    Raises
    ------
    ConfigurationError
        Unknown name (with a suggestion), unknown field, wrong type or value; names the file and the field.
    """
    if isinstance(description, Mapping) or hasattr(description, "items"):
        return _from_mapping(_plain(description), "data set", Path(folder) if folder else None)
    path = _specification_path(description)
    mapping = _read_yaml(path)
    return _from_mapping(mapping, str(path), Path(folder) if folder else path.resolve().parent, path.stem)


def available() -> tuple[str, ...]:
    """Names of the data sets that the package describes, in alphabetical order."""
    return tuple(sorted(path.stem for path in (conf_directory() / "dataset").glob("*.yaml")))


def unknown_name(name: str) -> ConfigurationError:
    """Make the error for a name that is no data set, with the nearest names."""
    names = available()
    near = difflib.get_close_matches(name.lower().replace("_", "-"), names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(names)}"
    return ConfigurationError(f"dataset: unknown data set '{name}'; {hint}")


def _specification_path(description: str | Path) -> Path:
    text = str(description)
    if isinstance(description, Path) or text.endswith((".yaml", ".yml")) or "/" in text or "\\" in text:
        try:
            path = Path(description).expanduser()
            found = path.is_file()
        except (OSError, RuntimeError) as error:  # a name too long, no permission, no such user
            reason = getattr(error, "strerror", None) or error
            raise ConfigurationError(f"{description}: cannot be used ({reason})") from error
        if not found:
            raise ConfigurationError(f"{path}: no such data set description")
        return path
    path = conf_directory() / "dataset" / f"{text}.yaml"
    if not _NAME.fullmatch(text) or text not in available():
        raise unknown_name(text)
    return path


def _plain(mapping: Any) -> dict[str, Any]:
    """Turn an OmegaConf node into plain containers; leave others as they are."""
    from omegaconf import DictConfig, OmegaConf

    if isinstance(mapping, DictConfig):
        return OmegaConf.to_container(mapping, resolve=True)  # type: ignore[return-value]
    return dict(mapping)


def _read_yaml(path: Path) -> Any:
    import yaml
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        return OmegaConf.to_container(OmegaConf.load(path), resolve=True)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}, line {mark.line + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or type(error).__name__
        raise ConfigurationError(f"{place}: not valid YAML ({problem})") from error
    except (OmegaConfBaseException, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConfigurationError(f"{path}: cannot be read ({reason})") from error


def _from_mapping(
    mapping: Any, place: str, folder: Path | None, stem: str | None = None
) -> DatasetSpecification:
    example = "one top-level key, the data set's name, with the fields below it"
    if not isinstance(mapping, dict) or not mapping:
        raise ConfigurationError(f"{place}: expected {example}")
    key, value = next(iter(mapping.items()))
    if len(mapping) == 1 and isinstance(value, dict):
        if stem is not None and key != stem:
            raise ConfigurationError(f"{place}: the key '{key}' must be the file's name, '{stem}'")
        mapping = {"name": key, **value}
        if mapping["name"] != key:
            raise ConfigurationError(f"{place}: name '{mapping['name']}' must be the key above it, '{key}'")
    elif stem is not None:
        raise ConfigurationError(f"{place}: expected {example} ('{stem}:' in the first line)")
    return _checked(mapping, place, folder)


def _checked(mapping: dict[str, Any], place: str, folder: Path | None) -> DatasetSpecification:
    name = mapping.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"{place}: name is {name!r}; allowed are letters, digits, '-', '_' and '.' (quote a number)"
        )
    place = f"{place}: {name}" if name not in place else place
    values: dict[str, Any] = {}
    for key, value in mapping.items():
        if key not in _KEYS:
            near = difflib.get_close_matches(str(key), _KEYS, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"known are {', '.join(_KEYS)}"
            raise ConfigurationError(f"{place}: unknown field '{key}'; {hint}")
        if value is not None:
            values[key] = _typed(place, key, value)
    values.setdefault("title", name)
    specification = DatasetSpecification(**values, folder=folder)
    _check_whole(place, specification)
    return specification


def _typed(place: str, key: str, value: Any) -> Any:
    def wrong(expected: str) -> ConfigurationError:
        return ConfigurationError(f"{place}: {key} is {shown(value)}; expected {expected}")

    def above_zero(item: Any) -> int | None:
        number = whole(item)
        return number if number is not None and 0 < number <= LARGEST_INTEGER else None

    if key in _TEXT:
        if not isinstance(value, str) or not value.strip():
            raise wrong("text (quote words such as no, yes, on and numbers)")
        return value
    if key in _COUNT:
        if above_zero(value) is None:
            raise wrong(f"a whole number above 0 and <= {LARGEST_INTEGER}")
        return above_zero(value)
    if key == "drop_duplicates":
        if value != "auto" and not isinstance(value, bool):
            raise wrong("auto, true or false")
        return value
    if key == "options":
        if not isinstance(value, Mapping):
            raise wrong("a mapping")
        return dict(value)
    items = value if isinstance(value, list | tuple) else [value]
    if key == "openml_alternatives":
        if None in map(above_zero, items):
            raise wrong(f"a list of whole numbers above 0 and <= {LARGEST_INTEGER}")
        items = map(above_zero, items)
    elif not all(isinstance(item, str) for item in items):
        raise wrong("a list of texts (quote words such as no, yes, on and numbers)")
    return tuple(items)


def _check_whole(place: str, specification: DatasetSpecification) -> None:
    if specification.kind not in KINDS:
        raise ConfigurationError(
            f"{place}: kind is '{specification.kind}'; allowed are {' and '.join(KINDS)}"
        )
    if specification.missing not in (None, *MISSING_TREATMENTS):
        raise ConfigurationError(
            f"{place}: missing is '{specification.missing}'; allowed are {' and '.join(MISSING_TREATMENTS)}"
        )
    if specification.kind == "mixed":
        if specification.loader is None:
            raise ConfigurationError(f"{place}: a mixed data set needs the field loader")
        return
    if specification.loader is not None:
        raise ConfigurationError(f"{place}: loader is for data sets of kind mixed; use file or openml_id")
    if specification.target is None:
        raise ConfigurationError(f"{place}: target is missing: the name of the class column")
    if specification.sample_rows is not None:
        raise ConfigurationError(f"{place}: sample_rows is for data sets of kind mixed")
