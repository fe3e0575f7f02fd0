"""The command line: ``python -m fedbayes.run +experiment=NAME [key=value ...]``.

Compose the configuration, enumerate the grid, run what is left of it, write the report.
"""

import itertools
import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import hydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from fedbayes import manifest, runner
from fedbayes.config import RunOptions, check_keys, conf_directory, did_you_mean, required
from fedbayes.errors import ConfigurationError, FedbayesError
from fedbayes.experiments import EXPERIMENTS, experiment
from fedbayes.store import ResultStore

COMMON_KEYS = ("kind", "name", "dataset", *[key for key in RunOptions.field_names() if key != "name"])


def main() -> None:
    """Entry point; ends the process with the run's exit code."""
    try:
        code = _main(options_last(sys.argv[1:]))
    except KeyboardInterrupt:  # before the first cell or after the last one
        _print("interrupted: finished cells are saved; the same command goes on", sys.stderr)
        code = 130
    sys.exit(code)


def _print(text: str, stream: TextIO | None = None) -> None:
    """Print on stdout or ``stream``; that its reader has gone (``| head``) is no fault of the run."""
    stream = stream or sys.stdout
    try:
        print(text, file=stream, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _main(arguments: list[str]) -> int:
    if {"-h", "--help"} & set(arguments):
        _print(help_text())
        return 0
    codes: list[int] = []
    try:
        check_overrides(arguments)
    except ConfigurationError as error:
        return _refuse(error)

    @hydra.main(config_path=str(conf_directory()), config_name="config", version_base="1.3")
    def job(composed: DictConfig) -> None:
        codes.append(run(composed, arguments))

    with tempfile.TemporaryDirectory(prefix="fedbayes-") as folder:
        sys.argv[1:] = [f"hydra.sweep.dir={folder}", *arguments] if _is_sweep(arguments) else arguments
        job()
    return max(codes, default=0)


def options_last(arguments: Sequence[str]) -> list[str]:
    """Put Hydra's options behind the overrides, so that they may stand anywhere.

    Hydra's own parser takes overrides in one piece only.
    """
    with_value = ("--config-dir", "-cd", "--config-path", "-cp", "--config-name", "-cn", "--package", "-p",
                  "--cfg", "-c", "--experimental-rerun")  # fmt: skip
    overrides, options, rest = [], [], iter(arguments)
    for argument in rest:
        if argument.startswith("-"):
            options.append(argument)
            if argument in with_value:
                options.extend(itertools.islice(rest, 1))
        else:
            overrides.append(argument)
    return overrides + options


def _is_sweep(arguments: Sequence[str]) -> bool:
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


def _refuse(error: FedbayesError) -> int:
    _print(f"fedbayes: {error}", sys.stderr)
    return 2


def check_overrides(arguments: Sequence[str]) -> None:
    """Refuse what Hydra itself would take wrongly or explain badly.

    Raises
    ------
    ConfigurationError
        For an unknown data set or experiment, and for a sweep over experiments (Hydra would run each with
        the keys of neither).
    """
    folders = _config_folders(arguments)
    sweep = _is_sweep(arguments)
    overrides = [argument for argument in arguments if not argument.startswith("-")]
    known = {
        group: sorted(path.stem for folder in folders for path in (folder / group).glob("*.yaml"))
        for group in ("experiment", "dataset")
    }
    parser = OverridesParser.create()
    for argument in overrides:
        group, equals, value = argument.lstrip("+~").partition("=")
        if not group:
            raise ConfigurationError(f"{argument!r} names no key: write key=value")
        if group not in (*known, "execution"):
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


def run(composed: DictConfig, arguments: Sequence[str]) -> int:
    """Run one composed configuration and return its exit code."""
    try:
        return _run(OmegaConf.to_container(composed, resolve=True), arguments)
    except ConfigurationError as error:
        return _refuse(error)
    except OmegaConfBaseException as error:  # an interpolation ${...} that leads nowhere
        return _refuse(ConfigurationError(" ".join(str(error).split())))
    except FedbayesError as error:
        _print(f"fedbayes: {error}", sys.stderr)
        return 1
    except OSError as error:
        _print(f"fedbayes: {error}; finished cells are saved, the same command goes on", sys.stderr)
        return 1


def _run(mapping: Mapping[str, Any], arguments: Sequence[str]) -> int:
    if "kind" not in mapping:
        names = sorted(path.stem for path in (conf_directory() / "experiment").glob("*.yaml"))
        raise ConfigurationError(f"choose an experiment: +experiment=NAME with one of {', '.join(names)}")
    if mapping["kind"] not in EXPERIMENTS:
        raise ConfigurationError(f"kind={mapping['kind']!r} is not allowed: one of {', '.join(EXPERIMENTS)}")
    module = experiment(mapping["kind"])
    check_keys(mapping, [*COMMON_KEYS, *module.KEYS], "the configuration")
    required(mapping, ("name", "dataset", *module.KEYS))
    options = RunOptions.from_mapping(mapping)
    parameters = module.parse(mapping, options.memory_limit)
    if not mapping["dataset"]:
        raise ConfigurationError("dataset=[] is not allowed: choose at least one data set")
    specifications = _specifications(mapping["dataset"], arguments)
    module.check_specifications(parameters, specifications)
    grid = runner.Grid(module, parameters, specifications)
    grid.enumerate(options.shard)
    if options.dry_run:
        return _dry_run(grid, options)

    store = ResultStore(options.output_dir, module.TABLES)
    store.merge()
    remaining = grid.remaining(store.statuses(), options.rerun)
    names = list(dict.fromkeys(cell.dataset for cell, _ in remaining))
    datasets, errors = runner.load_datasets(grid, names, options)
    if options.strict_data and errors:
        raise ConfigurationError(
            "strict_data=true and not every data set can be had: "
            + "; ".join(f"{name}: {error}" for name, error in errors.items())
        )
    variants = {name: manifest.data_variant(grid.data_options(name)) for name in datasets}
    manifest.check_fingerprints(options.output_dir, datasets, variants)
    entry = manifest.invocation(mapping, options, module, variants, datasets, arguments)
    manifest.record(options.output_dir, entry)
    todo = sum(len(parts) for _, parts in remaining)
    if todo:
        _print(f"{todo} rows to do; on a new machine the first ones wait for the compiler")
    try:
        with _TerminationAsInterrupt():
            summary = runner.run_grid(grid, options, store, remaining, datasets, errors)
    finally:
        store.merge(close=True)
    manifest.record(options.output_dir, entry | manifest.ending(summary.exit_code))
    _say(grid, options, summary, remaining)
    if options.report and not summary.interrupted and grid.cells:  # a shard may have none
        from fedbayes.report import write_report

        write_report(options.output_dir)
        _print(f"report: {options.output_dir / 'tables'} and {options.output_dir / 'figures'}")
    return summary.exit_code


def _specifications(chosen: Mapping[str, Any], arguments: Sequence[str]) -> dict[str, Any]:
    """Checked data set descriptions; a file named in one is relative to the folder of its YAML file."""
    from fedbayes.data.specification import load_specification

    specifications = {}
    for name, entry in chosen.items():
        homes = [folder / "dataset" for folder in _config_folders(arguments)]
        home = next((home for home in reversed(homes) if (home / f"{name}.yaml").is_file()), None)
        specifications[name] = load_specification({name: entry}, folder=home)
    return specifications


def _config_folders(arguments: Sequence[str]) -> list[Path]:
    """Folders that Hydra composes from: the package's own and a ``--config-dir``."""
    folders = [conf_directory()]
    for position, argument in enumerate(arguments):
        name, _, value = argument.partition("=")
        if name in ("--config-dir", "-cd"):
            value = value or (arguments[position + 1] if position + 1 < len(arguments) else "")
            if value:
                folders.append(Path(value))
    return folders


def _dry_run(grid: runner.Grid, options: RunOptions) -> int:
    """Say what there is to do; write and load nothing."""
    store = ResultStore(options.output_dir, grid.module.TABLES, create=False)
    statuses = store.statuses()
    remaining = grid.remaining(statuses, options.rerun)
    todo = sum(len(parts) for _, parts in remaining)
    seconds = sum(task.cost for task in grid.tasks(remaining))
    _print(f"cells: {len(grid.cells)} ({grid.size} rows)")
    _print(f"rows done: {grid.size - todo}")
    _print(f"rows to do: {todo}")
    _print(
        f"rough cost: {seconds / 3600:.2f} core-hours, {seconds / options.jobs / 3600:.2f} h with jobs={options.jobs}"
    )
    return 0


class _TerminationAsInterrupt:
    """Treat SIGTERM like Ctrl-C while the block runs: finished cells are saved."""

    def __enter__(self) -> None:
        def interrupt(number: int, frame: Any) -> None:
            raise KeyboardInterrupt

        self.before = signal.signal(signal.SIGTERM, interrupt)

    def __exit__(self, *exception: object) -> None:
        signal.signal(signal.SIGTERM, self.before)


def _say(grid: runner.Grid, options: RunOptions, summary: runner.Summary, remaining: Sequence) -> None:
    before = grid.size - sum(len(parts) for _, parts in remaining)
    counts = ", ".join(
        f"{summary.counts[s]} {s}" for s in ("done", "failed", "unavailable", "skipped") if summary.counts[s]
    )
    counts = counts or ("none finished" if remaining else "nothing to do")
    _print(f"{options.output_dir / 'runs.csv'}: {before} rows were done before; now {counts}")
    if summary.problems:
        _print("\nmissing rows and why:", sys.stderr)
        for (status, dataset, message), count in sorted(summary.problems.items()):
            _print(f"  {status:<12}{dataset:<16}{count:>6}  {message}", sys.stderr)
    if summary.interrupted:
        _print(
            "interrupted: finished cells are saved; the same command goes on where this one stopped",
            sys.stderr,
        )


if __name__ == "__main__":
    main()
