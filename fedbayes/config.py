"""Where the configuration lives, how its values are checked, and the options common to every experiment.

Hydra composes plain values; the functions here turn them into checked ones. Every failure is one
:class:`~fedbayes.errors.ConfigurationError` that names the key, the value and what is allowed.
"""

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeVar

from fedbayes.errors import ConfigurationError

T = TypeVar("T")

LARGEST_SMOOTHING = 1e12
"""Bound of what is added to counts or variances: sums of it must stay finite."""

LARGEST_INTEGER = 2**31 - 1
"""Bound of the whole numbers that have no other one, so that compiled code can take them."""

_NAME = re.compile(r"[^\W_][\w.-]*")


def conf_directory() -> Path:
    """Folder of the Hydra configuration: inside an installed wheel, or beside the package in a checkout."""
    package = Path(__file__).resolve().parent
    installed = package / "conf"
    return installed if installed.is_dir() else package.parent / "conf"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` for the closest known name, or an empty string."""
    close = get_close_matches(str(name), [str(entry) for entry in known], n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def wrong(key: str, value: Any, allowed: str) -> ConfigurationError:
    """One line that names the key, the value and what is allowed."""
    return ConfigurationError(f"{key}={shown(value)} is not allowed: {allowed}")


def shown(value: Any) -> str:
    """A value as it stands in a message, cut where it is very long."""
    try:
        written = repr(value)
    except ValueError:  # Python writes no whole number of more than 4300 digits
        return "a number of thousands of digits"
    return written if len(written) <= 200 else f"{written[:80]}... ({len(written)} characters)"


def check_keys(mapping: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    """Refuse keys that nothing reads.

    Raises
    ------
    ConfigurationError
        Naming the first unknown key and the closest known one.
    """
    known = list(known)
    for key in mapping:
        if key not in known:
            raise ConfigurationError(
                f"unknown key {key!r} in {where}{did_you_mean(str(key), known)} (known: {', '.join(sorted(known))})"
            )


def whole(value: Any) -> int | None:
    """The whole number that a value is, also one written as a float (1e6); None for anything else."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None


def integer(low: int, high: int | None = None) -> Callable[[str, Any], int]:
    """Checker of a whole number in [low, high]; without ``high`` what fits a signed 32-bit integer."""
    allowed = f"a whole number >= {low}" if high is None else f"a whole number from {low} to {high}"
    largest = LARGEST_INTEGER if high is None else high

    def check(key: str, value: Any) -> int:
        number = whole(value)
        if number is None or number < low:
            raise wrong(key, value, allowed)
        if number > largest:
            raise wrong(key, value, allowed if high is not None else f"{allowed} and <= {largest}")
        return number

    return check


def real(
    low: float = -math.inf, high: float = math.inf, *, open_low: bool = False, infinite: bool = False
) -> Callable[[str, Any], float]:
    """Checker of a finite number in [low, high]; ``open_low`` excludes low, ``infinite`` admits inf."""
    bounds = f"{'>' if open_low else '>='} {low:g}" if math.isfinite(low) else ""
    if math.isfinite(high):
        bounds += f"{' and ' if bounds else ''}<= {high:g}"
    allowed = f"a {'' if infinite else 'finite '}number {bounds}".rstrip() + (" or inf" if infinite else "")

    def check(key: str, value: Any) -> float:
        if isinstance(value, str) and value.strip().lower() in ("inf", "+inf", ".inf", "infinity"):
            value = math.inf
        if isinstance(value, bool) or not isinstance(value, Real):
            raise wrong(key, value, allowed)
        try:
            value = float(value)
        except OverflowError:  # a whole number of more than 308 digits
            raise wrong(key, value, allowed) from None
        too_low = value <= low if open_low else value < low
        if math.isnan(value) or too_low or value > high or (math.isinf(value) and not infinite):
            raise wrong(key, value, allowed)
        return value + 0.0  # -0.0 is 0.0

    return check


def choice(*options: Any) -> Callable[[str, Any], Any]:
    """Checker of one of the given values."""

    def check(key: str, value: Any) -> Any:
        for option in options:
            if value == option and type(value) is type(option):
                return option
        names = ", ".join("true" if o is True else "false" if o is False else str(o) for o in options)
        raise wrong(key, value, f"one of {names}{did_you_mean(str(value), options)}")

    return check


def optional(check: Callable[[str, Any], T]) -> Callable[[str, Any], T | None]:
    """Checker that lets null pass."""
    return lambda key, value: None if value is None else check(key, value)


def values(check: Callable[[str, Any], T], key: str, value: Any) -> tuple[T, ...]:
    """A single value or a non-empty list, each entry checked, repeated ones counted once."""
    entries = list(value) if isinstance(value, list | tuple) else [value]
    if not entries:
        raise wrong(key, value, "at least one value")
    return tuple(dict.fromkeys(check(key, entry) for entry in entries))


def boolean(key: str, value: Any) -> bool:
    """Checker of true or false."""
    return choice(True, False)(key, value)


def required(mapping: Mapping[str, Any], keys: Iterable[str]) -> None:
    """Refuse a configuration from which a key was deleted.

    Raises
    ------
    ConfigurationError
        Naming the first key that is missing.
    """
    for key in keys:
        if key not in mapping:
            raise ConfigurationError(f"the key {key!r} is missing: it may be set, but not deleted (~{key})")


def path(key: str, value: Any) -> Path:
    """Checker of a path; ``~`` becomes the home folder."""
    allowed = "a path"
    if not isinstance(value, str | os.PathLike) or not str(value).strip() or "\0" in str(value):
        raise wrong(key, value, allowed)
    try:
        expanded = Path(value).expanduser()
        expanded.exists()
    except (RuntimeError, OSError) as error:  # no such user, no permission, a name too long
        reason = getattr(error, "strerror", None) or error
        raise wrong(key, value, f"{allowed} that can be used here ({reason})") from None
    return expanded


def usable_cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every platform
        return os.cpu_count() or 1


def _shard(value: Any) -> tuple[int, int]:
    allowed = "i/N with 1 <= i <= N, for example 1/4"
    written = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", value.strip()) if isinstance(value, str) else None
    if written is None:
        raise wrong("shard", value, allowed)
    index, count = map(int, written.groups())
    if not 1 <= index <= count:
        raise wrong("shard", value, allowed)
    return index, count


def _address(key: str, value: Any) -> str:
    """Checker of a scheduler's address; Dask itself waits half a minute for one that cannot be."""
    host = r"(\[[0-9A-Fa-f:.]+(%\w+)?\]|[^\s/:\[\]]+)"
    if not isinstance(value, str) or not re.fullmatch(rf"([a-z]+://)?{host}:[0-9]{{1,5}}", value):
        raise wrong(key, value, "the tcp://host:port of a Dask scheduler, or null for a local cluster")
    return value


@dataclass(frozen=True)
class Execution:
    """Where the cells are computed."""

    name: str = "local"
    address: str | None = None


@dataclass(frozen=True)
class RunOptions:
    """Options that change no number: where to read and write, how to run."""

    name: str
    data_dir: Path | None
    output_dir: Path
    jobs: int
    shard: tuple[int, int] | None = None
    on_error: str = "continue"
    rerun: str = "none"
    report: bool = True
    dry_run: bool = False
    strict_data: bool = False
    memory_limit: float = 4.0
    execution: Execution = field(default_factory=Execution)

    @classmethod
    def field_names(cls) -> list[str]:
        """Names of the keys that this class reads."""
        return [entry.name for entry in fields(cls)]

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> "RunOptions":
        """Check the common keys of a composed configuration.

        Raises
        ------
        ConfigurationError
            For the first key whose value is not allowed.
        """
        execution = mapping.get("execution") or {}
        if not isinstance(execution, Mapping):
            raise wrong("execution", execution, "one of local, dask")
        check_keys(execution, ("name", "address"), "execution")
        data_dir = mapping.get("data_dir")
        if data_dir is not None:
            data_dir = path("data_dir", data_dir)
            if not data_dir.is_dir():
                raise wrong(
                    "data_dir",
                    str(data_dir),
                    "a folder that exists (or null: built-in rules and OpenML only)",
                )
        name = mapping["name"]
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise wrong("name", name, "letters, digits, '-', '_' and '.', a letter or digit first")
        output_dir = mapping.get("output_dir")
        output_dir = Path("results") / name if output_dir is None else path("output_dir", output_dir)
        if output_dir.exists() and not output_dir.is_dir():
            raise wrong("output_dir", str(output_dir), "a folder, or a path that does not exist yet")
        jobs = optional(integer(1))("jobs", mapping.get("jobs"))
        shard = mapping.get("shard")
        return cls(
            name=name,
            data_dir=data_dir,
            output_dir=output_dir,
            jobs=jobs or usable_cores(),
            shard=None if shard is None else _shard(shard),
            on_error=choice("continue", "stop")("on_error", mapping.get("on_error", "continue")),
            rerun=choice("none", "failed", "all")("rerun", mapping.get("rerun", "none")),
            report=boolean("report", mapping.get("report", True)),
            dry_run=boolean("dry_run", mapping.get("dry_run", False)),
            strict_data=boolean("strict_data", mapping.get("strict_data", False)),
            memory_limit=real(0, open_low=True)("memory_limit", mapping.get("memory_limit", 4.0)),
            execution=Execution(
                name=choice("local", "dask")("execution.name", execution.get("name", "local")),
                address=optional(_address)("execution.address", execution.get("address")),
            ),
        )
