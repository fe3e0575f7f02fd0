"""Run what is left of a grid: remaining cells -> executor -> store, with progress; errors become rows."""

import os
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import ModuleType
from typing import Any

from fedbayes import executors
from fedbayes.config import RunOptions
from fedbayes.errors import DataError, DataUnavailable, FedbayesError
from fedbayes.grid import Cell, Task, balanced_shard
from fedbayes.interruption import Interruption
from fedbayes.progress import Progress
from fedbayes.statuses import Statuses
from fedbayes.store import ResultStore


@dataclass
class Grid:
    """An experiment's cells and what stands of them in the output folder.

    Attributes
    ----------
    module
        The experiment's module.
    parameters
        Its checked values.
    specifications
        Data set specifications by name, in the order chosen.
    """

    module: ModuleType
    parameters: Any
    specifications: Mapping[str, Any]
    cells: list[tuple[Cell, tuple[str, ...]]] = field(default_factory=list)

    def enumerate(self, shard: tuple[int, int] | None) -> None:
        """Fill ``cells``: each once with its parts, in order, those of the shard alone."""
        seen: dict[str, Cell] = {}
        for cell in self.module.cells(self.parameters, self.specifications):
            seen.setdefault(cell.key, cell)
        self.cells = [(cell, self.module.parts(cell, self.parameters)) for cell in seen.values()]
        if shard is not None:
            mine: dict[str, list[str]] = {}
            for task in balanced_shard(self.tasks(self.cells), *shard):
                for cell in task.cells:
                    mine.setdefault(cell.key, []).extend(
                        task.parts or self.module.parts(cell, self.parameters)
                    )
            self.cells = [(cell, tuple(mine[cell.key])) for cell, _ in self.cells if cell.key in mine]

    def data_options(self, name: str) -> dict[str, Any]:
        """The options that change a data set's content, as its cells have them."""
        return self.module.data_options(self.parameters, self.specifications[name])

    @property
    def size(self) -> int:
        """Number of rows that the grid has."""
        return sum(len(parts) for _, parts in self.cells)

    def done(self, statuses: Statuses) -> int:
        """Number of the grid's rows that are done."""
        total = 0
        counted: dict[tuple[int, int], int] = {}  # as in `remaining`
        for cell, parts in self.cells:
            known = statuses.of(cell.key)
            state = (id(known), id(parts))
            if state not in counted:
                counted[state] = sum(known.get(part) == "done" for part in parts)
            total += counted[state]
        return total

    def tasks(self, wanted: Iterable[tuple[Cell, tuple[str, ...]]]) -> list[Task]:
        """Tasks of the wanted cells and parts."""
        shapes = {
            name: (spec.rows or 1000, spec.attributes or 10, spec.classes or 2)
            for name, spec in self.specifications.items()
        }
        return self.module.tasks(list(wanted), self.parameters, shapes)

    def remaining(self, statuses: Statuses, rerun: str) -> list[tuple[Cell, tuple[str, ...]]]:
        """Cells and their parts that are still to be computed.

        A done row is not computed again unless ``rerun`` is ``all``; a failed one always is (``rerun=failed``
        computes nothing else).
        """

        def wanted(status: str | None) -> bool:
            if rerun == "failed":
                return status in ("failed", "unavailable")
            return rerun == "all" or status != "done"

        result = []
        decided: dict[tuple[int, int], tuple[str, ...]] = {}  # most cells share their parts and their state
        for cell, parts in self.cells:
            known = statuses.of(cell.key)
            state = (id(known), id(parts))
            if state not in decided:
                decided[state] = tuple(part for part in parts if wanted(known.get(part)))
            if decided[state]:
                result.append((cell, decided[state]))
        return result


def load_datasets(
    grid: Grid, names: Iterable[str], options: RunOptions
) -> tuple[dict[str, Any], dict[str, DataError]]:
    """Load the data sets that remaining cells need; what cannot be had is returned as its error.

    The network is probed at most once, and only when a data set needs it.
    """
    from fedbayes.data import openml, sources

    @cache
    def offline() -> bool:
        return not openml.reachable()

    loaded: dict[str, Any] = {}
    errors: dict[str, DataError] = {}
    for name in names:
        try:
            loaded[name] = sources.load(
                grid.specifications[name],
                data_dir=options.data_dir,
                **grid.data_options(name),
                offline=offline,
            )
        except DataError as error:
            errors[name] = error
        except FedbayesError:
            raise
        except Exception as error:  # a fault in one data set never costs the others
            errors[name] = DataError(f"{name}: {type(error).__name__}: {error}")
    return loaded, errors


@dataclass
class Summary:
    """What a run did."""

    counts: Counter = field(default_factory=Counter)
    problems: dict[tuple[str, str, str], int] = field(default_factory=dict)
    interrupted: bool = False

    def add(self, row: Mapping[str, Any]) -> None:
        """Count a row of the runs table."""
        self.counts[row["status"]] += 1
        if row["status"] != "done":
            problem = (row["status"], row["dataset"], row.get("message") or "")
            self.problems[problem] = self.problems.get(problem, 0) + 1

    @property
    def exit_code(self) -> int:
        """Exit code of the run: 130 interrupted, 1 something failed or was unavailable, else 0."""
        if self.interrupted:
            return 130
        return 1 if self.counts["failed"] or self.counts["unavailable"] else 0


def run_grid(
    grid: Grid,
    options: RunOptions,
    store: ResultStore,
    remaining: Sequence[tuple[Cell, tuple[str, ...]]],
    datasets: Mapping[str, Any],
    errors: Mapping[str, DataError],
    interruption: Interruption | None = None,
) -> Summary:
    """Compute the remaining cells and write their rows as they come.

    KeyboardInterrupt leaves every finished row in the store and is reported in the summary; so does an
    ``interruption`` that tells between tasks that one has come and was lost.
    """
    summary, interruption = Summary(), interruption or Interruption()
    module, parameters = grid.module, grid.parameters

    def write(outcome: Mapping[str, list[dict]]) -> bool:
        for name, rows in outcome.items():
            store.append(name, rows)
        for row in outcome["runs"]:
            summary.add(row)
        return any(row["status"] == "failed" for row in outcome["runs"])

    possible = []
    for cell, parts in remaining:
        error = errors.get(cell.dataset)
        if error is not None:
            status, reason = ("unavailable" if isinstance(error, DataUnavailable) else "failed"), str(error)
        else:
            status, reason = "skipped", module.skip_reason(cell, datasets[cell.dataset], parameters)
        if reason:
            dataset = datasets.get(cell.dataset)
            rows = [
                module.describe(cell, part, dataset) | {"status": status, "message": reason} for part in parts
            ]
            write({"runs": rows})
        else:
            possible.append((cell, parts))
    if options.on_error == "stop" and summary.exit_code:
        return summary

    tasks = grid.tasks(possible)
    progress = Progress(tasks, options.jobs)
    last_merge, merge_seconds = time.monotonic(), 0.0
    try:
        with progress:
            for task, outcome in execute(tasks, options, datasets, interruption):
                failed = write(outcome)
                progress.advance(task)
                now = time.monotonic()
                if now - last_merge > max(60.0, 50 * merge_seconds):  # the file stays fresh at little cost
                    store.merge()
                    last_merge = time.monotonic()
                    merge_seconds = last_merge - now
                if interruption():
                    raise KeyboardInterrupt
                if failed and options.on_error == "stop":
                    break
    except KeyboardInterrupt:
        summary.interrupted = True
    return summary


def check_executor(options: RunOptions) -> None:
    """Refuse an executor that cannot be had, while nothing has been written.

    Raises
    ------
    ConfigurationError
        Saying what is missing.
    """
    if options.execution.name == "dask":
        from fedbayes import dask_executor

        dask_executor.check(options.execution.address)


def execute(
    tasks: Sequence[Task], options: RunOptions, datasets: Mapping[str, Any], interruption: Interruption
) -> Iterator[tuple[Task, dict[str, list[dict]]]]:
    """Compute tasks on the chosen executor; whatever goes wrong becomes rows with status ``failed``."""
    needed = {name: datasets[name] for name in dict.fromkeys(task.dataset for task in tasks)}
    if options.execution.name != "dask" and 0 < len(tasks) < options.jobs:
        tasks = [replace(task, threads=options.jobs // len(tasks)) for task in tasks]
    tasks = compiled_apart(tasks, needed, options.jobs)
    if options.execution.name == "dask":
        from fedbayes.dask_executor import distributed

        results = distributed(tasks, compute, needed, options.jobs, options.execution.address)
    elif options.jobs == 1 or len(tasks) <= 1:
        results = executors.serial(tasks, compute, needed)
    else:
        results = executors.processes(tasks, compute, needed, options.jobs, interruption)
    for task, outcome in results:
        if isinstance(outcome, executors.WorkerLost):
            outcome = failed_rows(task, needed[task.dataset], outcome.message)
        yield task, outcome


def compiled_apart(tasks: Sequence[Task], datasets: Mapping[str, Any], workers: int) -> list[Task]:
    """Tasks in their order, but for the first ones: as far as possible each has another number of classes.

    The engine is compiled for each number of classes. So workers that start together compile different code,
    and later find in the cache what the others have compiled, instead of compiling the same at once.
    """
    first: dict[int, int] = {}
    for position, task in enumerate(tasks):
        first.setdefault(len(datasets[task.dataset].class_names), position)
        if len(first) == workers:
            break
    leading = list(first.values())
    return [tasks[i] for i in leading] + [task for i, task in enumerate(tasks) if i not in leading]


def compute(task: Task, dataset: Any) -> dict[str, list[dict]]:
    """Compute one task in whatever process this is; an exception becomes failed rows.

    When cells that are computed together fail, each is tried alone, so that one cannot cost the others.
    """
    from fedbayes.experiments import experiment

    module = experiment(task.experiment)
    try:
        return module.run(task, dataset)
    except Exception as error:
        if len(task.cells) > 1:
            merged: dict[str, list[dict]] = {}
            for cell in task.cells:
                for name, rows in compute(replace(task, cells=(cell,)), dataset).items():
                    merged.setdefault(name, []).extend(rows)
            return merged
        if os.environ.get("FEDBAYES_TRACEBACK"):
            traceback.print_exc()
        return failed_rows(task, dataset, f"{type(error).__name__}: {error}")


def failed_rows(task: Task, dataset: Any, message: str) -> dict[str, list[dict]]:
    """Rows with status ``failed`` for every cell and part of a task; the message becomes one line."""
    from fedbayes.experiments import experiment

    module = experiment(task.experiment)
    message = " ".join(message.split())
    return {
        "runs": [
            module.describe(cell, part, dataset) | {"status": "failed", "message": message}
            for cell in task.cells
            for part in (task.parts or module.parts(cell, task.parameters))
        ]
    }
