"""The command line: ``python -m fedbayes.run +experiment=NAME [key=value ...]``.

Compose the configuration, enumerate the grid, run what is left of it, write the report.
"""

import contextlib
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import hydra
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from fedbayes import manifest, runner
from fedbayes.command_line import check_overrides, config_folders, help_text, is_sweep, options_last
from fedbayes.composition_errors import explain, one_line
from fedbayes.config import RunOptions, check_keys, conf_directory, required
from fedbayes.console import say
from fedbayes.errors import ConfigurationError, FedbayesError
from fedbayes.experiments import EXPERIMENTS, experiment
from fedbayes.interruption import Interruption
from fedbayes.manifest_file import dataset_facts, read_manifest, record_invocation
from fedbayes.store import ResultStore

FULL_ERROR = "HYDRA_FULL_ERROR"
COMMON_KEYS = ("kind", "name", "dataset", *[key for key in RunOptions.field_names() if key != "name"])


def main() -> None:
    """Entry point; ends the process with the run's exit code."""
    try:
        code = _main(options_last(sys.argv[1:]))
    except KeyboardInterrupt:  # before the first cell or after the last one
        say("interrupted: finished cells are saved; the same command goes on", sys.stderr)
        code = 130
    sys.exit(code)


def _main(arguments: list[str]) -> int:
    if {"-h", "--help"} & set(arguments):
        say(help_text())
        return 0
    codes: list[int] = []
    started = False
    try:
        check_overrides(arguments)
    except ConfigurationError as error:
        return _refuse(error)

    @hydra.main(config_path=str(conf_directory()), config_name="config", version_base="1.3")
    def job(composed: DictConfig) -> None:
        nonlocal started
        started = True
        codes.append(run(composed, arguments))
        started = False

    with tempfile.TemporaryDirectory(prefix="fedbayes-") as folder:
        sys.argv[1:] = [f"hydra.sweep.dir={folder}", *arguments] if is_sweep(arguments) else arguments
        try:
            with _errors_raised():
                job()
        except Exception as error:  # whatever Hydra and PyYAML raise: nothing of ours has run then
            if started or os.environ.get(FULL_ERROR) == "1":
                raise
            say(f"fedbayes: {explain(error, arguments, config_folders(arguments))}", sys.stderr)
            return 1
    return max(codes, default=0)


@contextlib.contextmanager
def _errors_raised() -> Iterator[None]:
    """Have Hydra raise its errors, which it would else print over many lines and end the process."""
    before = os.environ.get(FULL_ERROR)
    os.environ[FULL_ERROR] = "1"
    try:
        yield
    finally:
        del os.environ[FULL_ERROR]
        if before is not None:
            os.environ[FULL_ERROR] = before


def _refuse(error: FedbayesError) -> int:
    say(f"fedbayes: {error}", sys.stderr)
    return 2


def run(composed: DictConfig, arguments: Sequence[str]) -> int:
    """Run one composed configuration and return its exit code."""
    try:
        return _run(OmegaConf.to_container(composed, resolve=True), arguments)
    except ConfigurationError as error:
        return _refuse(error)
    except OmegaConfBaseException as error:  # an interpolation ${...} that leads nowhere
        return _refuse(ConfigurationError(one_line(error)))
    except FedbayesError as error:
        say(f"fedbayes: {error}", sys.stderr)
        return 1
    except OSError as error:
        say(f"fedbayes: {error}; finished cells are saved, the same command goes on", sys.stderr)
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
    if not isinstance(mapping["dataset"], dict):
        raise ConfigurationError(
            "dataset is not a mapping of names to descriptions: a file in FOLDER/dataset/ begins with `name:`, the rest "
            "indented below it"
        )
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
    statuses = store.statuses()
    remaining, before = grid.remaining(statuses, options.rerun), grid.done(statuses)
    names = list(dict.fromkeys(cell.dataset for cell, _ in remaining))
    datasets, errors = runner.load_datasets(grid, names, options)
    if options.strict_data and errors:
        raise ConfigurationError(
            "strict_data=true and not every data set can be had: "
            + "; ".join(f"{name}: {error}" for name, error in errors.items())
        )
    _check_data(grid, options, names, datasets)
    variants = {name: manifest.data_variant(grid.data_options(name)) for name in datasets}
    notes = module.notes(parameters, datasets)
    if before and options.rerun != "all":
        notes += manifest.recorded_otherwise(options.output_dir, mapping, module.RECORDING)
    for note in notes:
        say(f"fedbayes: note: {note}", sys.stderr)
    todo = sum(len(parts) for _, parts in remaining)
    if todo:
        runner.check_executor(options)
    entry = manifest.invocation(mapping, options, module, variants, datasets, arguments)
    record_invocation(options.output_dir, entry)
    if todo:
        say(f"{todo} rows to do; on a new machine the first ones wait for the compiler")
    try:
        with Interruption() as interruption:
            summary = runner.run_grid(grid, options, store, remaining, datasets, errors, interruption)
    finally:
        store.merge(close=True)
    record_invocation(options.output_dir, entry | manifest.ending(summary.exit_code))
    _say(options, summary, before, todo)
    # a shard without cells and rerun=failed where nothing has failed may leave nothing to report
    if options.report and not summary.interrupted and (options.output_dir / "runs.csv").is_file():
        from fedbayes.report import write_report

        write_report(options.output_dir)
        say(f"report: {options.output_dir / 'tables'} and {options.output_dir / 'figures'}")
    return summary.exit_code


def _check_data(
    grid: runner.Grid, options: RunOptions, remaining: Sequence[str], datasets: Mapping[str, Any]
) -> None:
    """Stop when data have changed under the folder's results: those to compute with, and those all done too."""
    used = dataset_facts(read_manifest(options.output_dir))
    finished = sorted({cell.dataset for cell, _ in grid.cells} & set(used) - set(remaining))
    there, _ = runner.load_datasets(grid, finished, options)  # what cannot be had any more cannot be compared
    for known in (datasets, there):
        variants = {name: manifest.data_variant(grid.data_options(name)) for name in known}
        manifest.check_fingerprints(options.output_dir, known, variants)


def _specifications(chosen: Mapping[str, Any], arguments: Sequence[str]) -> dict[str, Any]:
    """Checked data set descriptions; a file named in one is relative to the folder of its YAML file."""
    from fedbayes.data.specification import load_specification

    specifications = {}
    for name, entry in chosen.items():
        homes = [folder / "dataset" for folder in config_folders(arguments)]
        homes = [home for home in homes if (home / f"{name}.yaml").is_file()]
        if len(homes) > 1:  # Hydra would take the first one without a word
            raise ConfigurationError(
                f"dataset={name!r} stands in {' and in '.join(str(home / f'{name}.yaml') for home in homes)}; "
                "give your own data set another name, as file and as key"
            )
        specifications[name] = load_specification({name: entry}, folder=homes[0] if homes else None)
    return specifications


def _dry_run(grid: runner.Grid, options: RunOptions) -> int:
    """Say what there is to do; write and load nothing."""
    store = ResultStore(options.output_dir, grid.module.TABLES, create=False)
    statuses = store.statuses()
    remaining = grid.remaining(statuses, options.rerun)
    todo = sum(len(parts) for _, parts in remaining)
    seconds = sum(task.cost for task in grid.tasks(remaining))
    say(f"cells: {len(grid.cells)} ({grid.size} rows)")
    done = grid.done(statuses)
    say(f"rows done: {done}")
    say(f"rows to do: {todo}{', those done among them' if done and options.rerun == 'all' else ''}")
    wall = in_words(seconds / options.jobs)
    say(f"rough cost: {in_words(seconds, 'core-')}, {wall} with jobs={options.jobs}")
    return 0


def in_words(seconds: float, of: str = "") -> str:
    """A duration in a unit that shows it, of one core where ``of`` is ``core-``."""
    if seconds < 90:
        number, unit = f"{math.ceil(seconds)}", "second"
    elif seconds < 90 * 60:
        number, unit = f"{seconds / 60:.0f}", "minute"
    else:
        number, unit = f"{seconds / 3600:.1f}", "hour"
    return f"{number} {of}{unit}{'' if number == '1' else 's'}"


def _say(options: RunOptions, summary: runner.Summary, before: int, todo: int) -> None:
    counts = ", ".join(
        f"{summary.counts[s]} {s}" for s in ("done", "failed", "unavailable", "skipped") if summary.counts[s]
    )
    counts = counts or ("none finished" if todo else "nothing to do")
    anew = " and are computed anew" if before and options.rerun == "all" else ""
    say(f"{options.output_dir / 'runs.csv'}: {before} rows were done before{anew}; now {counts}")
    if summary.problems:
        say("\nmissing rows and why:", sys.stderr)
        for (status, dataset, message), count in sorted(summary.problems.items()):
            say(f"  {status:<12}{dataset:<16}{count:>6}  {message}", sys.stderr)
    if summary.interrupted:
        say(
            "interrupted: finished cells are saved; the same command goes on where this one stopped",
            sys.stderr,
        )


if __name__ == "__main__":
    main()
