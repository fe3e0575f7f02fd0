"""What Hydra, OmegaConf and PyYAML refuse, said in one line with what helps."""

from collections.abc import Sequence
from pathlib import Path

import yaml
from hydra.errors import HydraException
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from fedbayes.config import did_you_mean

MOST_LETTERS = 600
KEYS_OF_HYDRA = ("defaults", "hydra")
"""Keys of configuration files that are no parameters of an experiment."""


def explain(error: Exception, arguments: Sequence[str], folders: Sequence[Path]) -> str:
    """Say in one line why no configuration could be composed.

    Parameters
    ----------
    error
        What reading and composing configuration files raised.
    arguments
        What was typed.
    folders
        Those that Hydra composes from.
    """
    if isinstance(error, yaml.YAMLError):
        return f"a configuration file is not valid YAML: {one_line(error)}"
    if isinstance(error, UnicodeDecodeError):
        return f"{_not_text(folders)} is not UTF-8 text: save it as UTF-8"
    if isinstance(error, RecursionError):
        return "a configuration file or value is nested too deeply, or includes itself"
    cause = error.__cause__
    key = getattr(cause, "full_key", None)
    if isinstance(cause, ConfigKeyError | ConfigAttributeError) and key:
        return _unknown_key(key, arguments, folders)
    said = one_line(error)
    if not said or said.startswith("Error merging override"):
        said += (": " if said else "") + one_line(cause)
    known = isinstance(error, HydraException | OmegaConfBaseException | OSError | ValueError)
    return said if known else f"{type(error).__name__}: {said}"


def one_line(text: object) -> str:
    """Join the lines of a message but those that help nobody, and cut it where it is very long."""
    wanted, _, _ = str(text).partition("Config search path")
    lines = [line.strip() for line in wanted.splitlines()]
    kept = [line for line in lines if line and not line.startswith(("See https://", "object_type="))]
    said = "; ".join(kept).replace(":;", ":").replace(".;", ";")
    return said if len(said) <= MOST_LETTERS else f"{said[:MOST_LETTERS]}..."


def _not_text(folders: Sequence[Path]) -> str:
    for path in sorted(path for folder in folders for path in folder.rglob("*.yaml")):
        try:
            path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            return str(path)
    return "a configuration file"


def _unknown_key(key: str, arguments: Sequence[str], folders: Sequence[Path]) -> str:
    experiments = [path for folder in folders for path in (folder / "experiment").glob("*.yaml")]
    of_experiments = [name for path in experiments for name in _top_keys(path)]
    common = [name for folder in folders for name in _top_keys(folder / "config.yaml")]
    chosen = any(argument.lstrip("+").startswith("experiment=") for argument in arguments)
    if key in of_experiments and not chosen:
        return f"{key} belongs to an experiment: choose one with +experiment=NAME (--help lists them)"
    return f"no key {key!r}{did_you_mean(key, [*common, *of_experiments])} (--help lists all keys)"


def _top_keys(path: Path) -> list[str]:
    try:
        read = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return []
    return [str(key) for key in read if key not in KEYS_OF_HYDRA] if isinstance(read, dict) else []
