"""Result files: crash-safe append, resume and merge of a folder that several processes may share.

Every process appends whole rows to part files of its own under ``parts/``; merging them into the final
CSV happens under a lock and replaces the file by rename. What a kill leaves behind (a torn last line)
is dropped at the next start.
"""

import csv
import io
import os
import tempfile
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedbayes.atomic_file import write_atomically
from fedbayes.errors import ConfigurationError
from fedbayes.grid import text
from fedbayes.locking import locked, try_lock
from fedbayes.statuses import Statuses, is_plain, read_statuses

STATUSES = ("done", "failed", "unavailable", "skipped")
RUNS = "runs"


@dataclass(frozen=True)
class Table:
    """A CSV file of results.

    Attributes
    ----------
    name
        File name without its ending.
    columns
        All columns in their order.
    key
        Columns that identify a row; the first ``status`` rules decide between rows of one key.
    order
        Columns that rows are sorted by, numbers as numbers.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    order: tuple[str, ...]


def _line(row: Sequence[str]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerow(row)
    return stream.getvalue()


def _clean(value: Any) -> str:
    # a replacement character would be taken for damage when the row is read again
    return " ".join(text(value).replace("\ufffd", "?").split()) if isinstance(value, str) else text(value)


def _rows(content: bytes, table: Table) -> Iterable[list[str]]:
    """Whole rows of a part file: a torn tail or a damaged line is dropped."""
    whole = content[: content.rfind(b"\n") + 1].decode("utf-8", errors="replace")
    status = table.columns.index("status") if "status" in table.columns else None
    for line in whole.splitlines():
        if "\ufffd" in line or "\0" in line:  # not UTF-8, or a block that was never written
            continue
        try:
            row = next(csv.reader([line]))
        except (csv.Error, StopIteration):
            continue
        if len(row) == len(table.columns) and row[0] and (status is None or row[status] in STATUSES):
            yield row


def _is_whole(path: Path, table: Table) -> bool:
    """Whether a final file is plain text that holds its header and one sound row a line, as read in bulk."""
    if "status" not in table.columns:
        return is_plain(path)
    known = read_statuses(path, table.key, STATUSES)
    if known is None:
        return False
    with path.open("rb") as stream:
        lines = sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))
    return len(known) == lines - 1


def _sort_value(value: str) -> tuple:
    try:
        return (0, float(value), "")
    except ValueError:
        return (1, 0.0, value)


class ResultStore:
    """The result tables of one output folder.

    Parameters
    ----------
    folder
        Output folder; made when it does not exist, unless ``create`` is false (then only reading works).
    tables
        The tables that are written there; the first is ``runs``.

    Raises
    ------
    ConfigurationError
        When the folder holds a file of the same name with other columns (another experiment).
    """

    def __init__(self, folder: Path, tables: Sequence[Table], *, create: bool = True):
        self.folder = folder
        self.tables = {table.name: table for table in tables}
        self._parts: dict[str, Any] = {}
        self._synced = time.monotonic()
        for table in tables:
            self._check_header(table)
        if not create:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "parts").mkdir(exist_ok=True)
            self._lock_path.touch()
            for place in (folder, folder / "parts"):  # an existing one may be somebody else's
                with tempfile.TemporaryFile(dir=place):
                    pass
        except OSError as error:
            raise ConfigurationError(
                f"output_dir={str(folder)!r} cannot be written ({error.strerror}); choose another folder"
            ) from None

    @property
    def _lock_path(self) -> Path:
        return self.folder / "parts" / "merge.lock"

    def _check_header(self, table: Table) -> None:
        path = self.folder / f"{table.name}.csv"
        if not path.exists() or path.stat().st_size == 0:
            return
        with path.open(encoding="utf-8", errors="replace", newline="") as stream:
            header = next(csv.reader(stream), [])
        if tuple(header) != table.columns:
            raise ConfigurationError(
                f"{path} has other columns than this experiment writes "
                f"(first difference: {_first_difference(header, table.columns)}); choose another output_dir"
            )

    def append(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append rows to this process's part file; they are on disk, whole, when this returns."""
        table = self.tables[name]
        lines = "".join(_line([_clean(row.get(column)) for column in table.columns]) for row in rows)
        if not lines:
            return
        stream = self._parts.get(name) or self._open_part(name)
        stream.write(lines.encode())
        stream.flush()
        if time.monotonic() - self._synced > 2.0:  # a power cut may cost the last seconds, a kill nothing
            os.fsync(stream.fileno())
            self._synced = time.monotonic()

    def _open_part(self, name: str) -> Any:
        path = self.folder / "parts" / f"{name}-{os.getpid()}-{uuid.uuid4().hex[:8]}.csv"
        with locked(self._lock_path):  # so that nobody takes the new file for a dead one
            stream = path.open("ab")
            try_lock(stream)
        self._parts[name] = stream
        return stream

    def merge(self, *, close: bool = False) -> None:
        """Bring all part files into the final ones; parts whose writer has died are removed.

        Parameters
        ----------
        close
            Also give up this process's own parts.
        """
        with locked(self._lock_path):
            if close:
                for stream in self._parts.values():
                    os.fsync(stream.fileno())
                    stream.close()
                self._parts.clear()
            for table in self.tables.values():
                self._merge_table(table)

    def _merge_table(self, table: Table) -> None:
        parts = self._part_files(table)
        final = self.folder / f"{table.name}.csv"
        if not parts and (not final.exists() or _is_whole(final, table)):
            return
        merged = self._merged(table, parts)
        order = [table.columns.index(column) for column in table.order]
        rows = sorted(
            merged.values(), key=lambda row: tuple(_sort_value(row[position]) for position in order)
        )
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows(rows)
        write_atomically(final, stream.getvalue(), durable=True)
        own = {os.path.realpath(stream.name) for stream in self._parts.values()}
        for path in parts:
            if os.path.realpath(path) not in own:
                with path.open("ab") as part:
                    dead = try_lock(part)
                if dead:
                    path.unlink(missing_ok=True)

    def _part_files(self, table: Table) -> list[Path]:
        """Part files of all processes, the oldest first."""
        return sorted(
            (self.folder / "parts").glob(f"{table.name}-*.csv"), key=lambda p: (p.stat().st_mtime_ns, p)
        )

    def _merged(self, table: Table, parts: Sequence[Path]) -> dict[tuple, list[str]]:
        """Rows of the final file and of the parts, by key; damaged ones are left out."""
        final = self.folder / f"{table.name}.csv"
        key = [table.columns.index(column) for column in table.key]
        status = table.columns.index("status") if "status" in table.columns else None
        merged: dict[tuple, list[str]] = {}
        for path in ([final] if final.exists() else []) + list(parts):
            for row in _rows(path.read_bytes(), table):
                name = tuple(row[position] for position in key)
                known = merged.get(name)
                if known and status is not None and known[status] == "done" and row[status] != "done":
                    continue  # a failed repetition never costs a finished row
                merged[name] = row
        merged.pop(tuple(table.key), None)  # the header of the final file
        return merged

    def statuses(self) -> Statuses:
        """Status of every row that the folder holds, merged or not, by key; reads only."""
        table = self.tables[RUNS]
        final, line_by_line = self.folder / f"{RUNS}.csv", self._part_files(table)
        known = read_statuses(final, table.key, STATUSES) if final.exists() else Statuses()
        if known is None:
            known, line_by_line = Statuses(), [final, *line_by_line]
        cell, part, status = (table.columns.index(column) for column in (*table.key, "status"))
        for path in line_by_line:
            for row in _rows(path.read_bytes(), table):
                known.record(row[cell], row[part], row[status])
        return known


def _first_difference(found: Sequence[str], wanted: Sequence[str]) -> str:
    for have, want in zip(found, wanted, strict=False):
        if have != want:
            return f"{have!r} where {want!r} is expected"
    return f"{len(found)} columns where {len(wanted)} are expected"
