"""What is typed: where Hydra needs help with it, and the help text."""

from collections import deque
from collections.abc import Sequence
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

from fedbayes.composition_errors import one_line
from fedbayes.config import conf_directory, did_you_mean
from fedbayes.errors import ConfigurationError
from fedbayes.experiments import EXPERIMENTS

INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
COMPLETION = ("install", "uninstall", "query")
"""What may follow Hydra's options ``--info`` and ``--shell-completion``."""


def options_last(arguments: Sequence[str]) -> list[str]:
    """Put Hydra's options behind the overrides, so that they may stand anywhere.

    Hydra's own parser takes overrides in one piece only.
    """
    overrides, options = _apart(arguments)
    return overrides + options


def _apart(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Overrides, and options of Hydra with their values."""
    with_value = ("--config-dir", "-cd", "--config-path", "-cp", "--config-name", "-cn", "--package", "-p",
                  "--cfg", "-c", "--experimental-rerun")  # fmt: skip
    overrides, options, rest = [], [], deque(arguments)
    while rest:
        argument = rest.popleft()
        if not argument.startswith("-"):
            overrides.append(argument)
            continue
        options.append(argument)
        following = rest[0] if rest else ""
        # the value of these may be left out
        info = argument in ("--info", "-i") and following in INFO
        completion = argument in ("--shell-completion", "-sc") and following.partition("=")[0] in COMPLETION
        if rest and (argument in with_value or info or completion):
            options.append(rest.popleft())
    return overrides, options


def without_places(arguments: Sequence[str]) -> list[str]:
    """Leave out what names this machine or places on it: folders, hosts, settings of Hydra itself.

    Of any other absolute path (the file of a data set) the last part stays.
    """
    kept, rest = [], iter(arguments)
    for argument in rest:
        name, _, value = argument.partition("=")
        key, place = name.lstrip("+"), Path(value.strip("'\""))
        if key in ("--config-dir", "-cd", "--config-path", "-cp"):
            if not value:
                next(rest, None)
        elif key not in ("data_dir", "output_dir", "execution.address") and not key.startswith("hydra."):
            kept.append(f"{name}={place.name}" if place.is_absolute() else argument)
    return kept


def is_sweep(arguments: Sequence[str]) -> bool:
    """Whether Hydra's own multirun is asked for."""
    return "-m" in arguments or "--multirun" in arguments


def help_text() -> str:
    """The keys of every experiment with their defaults and what is allowed, as the configuration files say."""
    conf = conf_directory()
    experiments = {
        path.stem: path.read_text(encoding="utf-8") for path in (conf / "experiment").glob("*.yaml")
    }
    lines = [
        "usage: python -m fedbayes.run +experiment=NAME [key=value ...]",
        "       python -m fedbayes.report FOLDER",
        "",
        "experiments:",
        *(f"  {name:<24}{_first_comment(text)}" for name, text in sorted(experiments.items())),
        "",
        "data sets: " + ", ".join(sorted(path.stem for path in (conf / "dataset").glob("*.yaml"))),
        "  choose with 'dataset=[a,b]'; your own: one YAML file in FOLDER/dataset/ and --config-dir FOLDER",
        "",
        "common keys (default, then what is allowed):",
        *_key_lines((conf / "config.yaml").read_text(encoding="utf-8")),
        "  execution: local          # local | dask (then execution.address=tcp://host:port, or a local cluster)",
    ]
    for name in EXPERIMENTS:
        lines += ["", f"keys of +experiment={name}:", *_key_lines(experiments[name])]
    lines += [
        "",
        "Where a list is shown, a single value will do. Quote brackets: 'seeds=[42,43]' (zsh needs it).",
        "Exit codes: 0 all cells done or skipped; 1 some failed or a data set was unavailable; "
        "2 wrong configuration;",
        "130 interrupted. Finished cells are saved at every moment; the same command goes on.",
    ]
    return "\n".join(lines)


def _first_comment(text: str) -> str:
    comments = [
        line[1:].strip() for line in text.splitlines() if line.startswith("#") and "@package" not in line
    ]
    return comments[0] if comments else ""


def _key_lines(text: str) -> list[str]:
    """Lines of a YAML file that set keys, without its defaults list and Hydra's own section."""
    kept, skipping = [], False
    for line in text.splitlines():
        if line and not line[0].isspace() and not line.startswith("#"):
            skipping = line.partition(":")[0] in ("defaults", "hydra", "kind", "name")
        if line.strip() and not skipping and not line.startswith("#"):
            kept.append(f"  {line}")
    return kept


def check_overrides(arguments: Sequence[str]) -> None:
    """Refuse what Hydra itself would take wrongly or explain badly.

    Raises
    ------
    ConfigurationError
        For an unknown data set or experiment, and for a sweep over experiments (Hydra would run each with
        the keys of neither).
    """
    folders = config_folders(arguments)
    sweep = is_sweep(arguments)
    overrides, _ = _apart(arguments)
    known = {
        group: sorted(path.stem for folder in folders for path in (folder / group).glob("*.yaml"))
        for group in ("experiment", "dataset")
    }
    parser = OverridesParser.create()
    for argument in overrides:
        group, equals, value = argument.lstrip("+~").partition("=")
        if not group:
            raise ConfigurationError(f"{argument!r} names no key: write key=value")
        if not equals and not argument.startswith("~"):
            experiment = (
                f"; an experiment is chosen with +experiment={group}" if group in known["experiment"] else ""
            )
            raise ConfigurationError(f"{argument!r} has no value: write key=value{experiment}")
        if group not in (*known, "execution"):
            _check_value(parser, argument)
            continue
        if group == "experiment" and sweep and "," in value:
            raise ConfigurationError(
                f"a sweep over experiments (-m {argument}) is not possible: run one command for each"
            )
        if group == "dataset" and sweep:
            continue
        try:
            override = parser.parse_override(argument)
            parsed = override.value()
        except ValueError:
            raise ConfigurationError(f"{group} holds a number of thousands of digits") from None
        except Exception:  # Hydra explains its own grammar
            continue
        if group == "execution":
            if equals and parsed is None:
                raise ConfigurationError(f"{argument} is not allowed: one of local, dask")
            continue
        if override.is_sweep_override():
            raise ConfigurationError(
                f"{argument} is a sweep: choose several data sets with 'dataset=[a,b]'"
                if group == "dataset"
                else f"{argument} names several experiments: run one command for each"
            )
        names = parsed if isinstance(parsed, list) else [parsed]
        if group == "dataset" and (not names or parsed is None):
            raise ConfigurationError(
                f"{argument} is not allowed: choose at least one of {', '.join(known[group])}"
            )
        for name in names:
            if str(name) not in known[group]:
                what = "data set" if group == "dataset" else "experiment"
                raise ConfigurationError(
                    f"unknown {what} {str(name)!r}{did_you_mean(str(name), known[group])} "
                    f"(known: {', '.join(known[group])})"
                )


def _check_value(parser: OverridesParser, argument: str) -> None:
    """Say what helps where Hydra's grammar cannot read a value."""
    try:
        parser.parse_override(argument)
    except ValueError:  # Python reads no whole number of more than 4300 digits
        key = argument.partition("=")[0]
        raise ConfigurationError(f"{key} holds a number of thousands of digits") from None
    except RecursionError:
        raise ConfigurationError(f"{argument.partition('=')[0]} is nested too deeply") from None
    except HydraException:
        key, _, value = argument.partition("=")
        quoted = f"{key}='{value}'"
        if value[:1] in ("", "[", "{", "'", '"') or "'" in value:
            return  # Hydra explains its own grammar
        try:
            parser.parse_override(quoted)
        except HydraException:
            return
        raise ConfigurationError(one_line(f'{argument} needs quotes around its value: "{quoted}"')) from None


def config_folders(arguments: Sequence[str]) -> list[Path]:
    """Folders that Hydra composes from: the package's own and a ``--config-dir``."""
    folders = [conf_directory()]
    for position, argument in enumerate(arguments):
        name, _, value = argument.partition("=")
        if name in ("--config-dir", "-cd"):
            value = value or (arguments[position + 1] if position + 1 < len(arguments) else "")
            if value:
                folders.append(Path(value))
    return folders
