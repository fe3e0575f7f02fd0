"""What became of every row of a results folder, held so that a hundred thousand cells take little time and memory."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

NOTHING: Mapping[str, str] = {}


class Statuses(Mapping):
    """Status by (cell, part). Cells in the same state share one mapping of part to status.

    Parameters
    ----------
    by_cell
        For each cell its statuses by part; the inner mappings may be shared and are never changed.
    """

    def __init__(self, by_cell: dict[str, Mapping[str, str]] | None = None):
        self._by_cell = {} if by_cell is None else by_cell

    def of(self, cell: str) -> Mapping[str, str]:
        """Statuses of one cell by part; the same object for cells that are read in the same state."""
        return self._by_cell.get(cell, NOTHING)

    def record(self, cell: str, part: str, status: str) -> None:
        """Take in a later row; a failed repetition never costs a finished one."""
        known = self.of(cell)
        if known.get(part) != "done" or status == "done":
            self._by_cell[cell] = {**known, part: status}

    def __getitem__(self, key: tuple[str, str]) -> str:
        cell, part = key
        return self._by_cell[cell][part]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return ((cell, part) for cell, known in self._by_cell.items() for part in known)

    def __len__(self) -> int:
        return sum(map(len, self._by_cell.values()))


def read_statuses(path: Path, key: Sequence[str], statuses: Sequence[str]) -> Statuses | None:
    """Read the statuses of a whole and undamaged results file.

    Parameters
    ----------
    path
        CSV file with the columns of ``key`` and ``status``.
    key
        Columns of the cell and of the part.
    statuses
        Those that exist; rows with another one are left out.

    Returns
    -------
    Statuses or None
        None where the file has to be read line by line: it holds something that is not plain ASCII, or its
        last line is torn.
    """
    from pyarrow import ArrowInvalid, csv, dictionary, int32, string

    if not is_plain(path):
        return None
    columns = [*key, "status"]
    try:
        table = csv.read_csv(
            path,
            read_options=csv.ReadOptions(use_threads=False),
            parse_options=csv.ParseOptions(invalid_row_handler=lambda row: "skip"),
            convert_options=csv.ConvertOptions(
                include_columns=columns,
                column_types=dict.fromkeys(columns, dictionary(int32(), string())),
                strings_can_be_null=False,
            ),
        )
    except ArrowInvalid:
        return None
    codes, names = [], []
    for column in table.unify_dictionaries().columns:
        column = column.combine_chunks()
        codes.append(column.indices.to_numpy(zero_copy_only=False))
        names.append(column.dictionary.to_pylist())
    cell, part, status = codes
    valid = np.array([name in statuses for name in names[2]], bool)[status] if len(status) else status > 0
    usable = np.flatnonzero(valid)
    usable = usable[np.argsort(cell[usable], kind="stable")]
    state = part[usable].astype(np.int64) * len(names[2]) + status[usable]
    starts = np.flatnonzero(np.diff(cell[usable], prepend=-1))
    by_cell: dict[str, Mapping[str, str]] = {}
    shared: dict[bytes, Mapping[str, str]] = {}
    bounds = [*starts.tolist(), len(usable)]
    for first, low, high in zip(cell[usable][starts].tolist(), bounds, bounds[1:], strict=False):
        name = state[low:high].tobytes()
        if name not in shared:
            pairs = (divmod(code, len(names[2])) for code in state[low:high].tolist())
            shared[name] = {names[1][p]: names[2][s] for p, s in pairs}
        if names[0][first]:
            by_cell[names[0][first]] = shared[name]
    return Statuses(by_cell)


def is_plain(path: Path) -> bool:
    """Whether a file is ASCII text without zero bytes that ends with a line."""
    last = b"\n"
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            if b"\0" in block or not block.isascii():
                return False
            last = block[-1:]
    return last == b"\n"
