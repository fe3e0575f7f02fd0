"""Read CSV, TXT, ARFF and Parquet files, gzip-compressed or not, as columns that know the lines they come from.

Text is read as text: what a column means is decided by the loader of a data set, and a cell that does not fit
can then be named by file, line and column.
"""

import io
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from fedbayes.data.files.content import read_bytes
from fedbayes.data.intrusion.text import extension, first_line, is_gzip, name_key, read_text
from fedbayes.errors import DataError

_OTHER_DELIMITERS = {";": "a semicolon", "\t": "a tab", "|": "a bar"}


@dataclass
class Table:
    """Columns of one file, all of the same length.

    Attributes
    ----------
    path
        The file, for messages.
    names
        Column names as written, without surrounding spaces; empty where the file has no header.
    columns
        One Arrow array per column: text from text files, typed from Parquet.
    first_line
        Line number of the first row of a text file; None for Parquet, where rows are counted from 1.
    original
        Position of each row in the file, or None while no row has been left out.
    notes
        What reading changed, counted.
    """

    path: Path
    names: list[str]
    columns: list
    first_line: int | None
    original: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0]) if self.columns else 0

    def place(self, row: int) -> str:
        """Words that lead a reader to a row: file and line (or row, in Parquet)."""
        position = int(row if self.original is None else self.original[row])
        if self.first_line is None:
            return f"{self.path.name}, row {position + 1}"
        return f"{self.path.name}, line {self.first_line + position}"

    def leave_out(self, rows: np.ndarray) -> None:
        """Remove rows; the places of the others stay those of the file."""
        mask = np.ones(self.rows, bool)
        mask[rows] = False
        kept = np.flatnonzero(mask)
        self.original = kept if self.original is None else self.original[kept]
        self.columns = [column.filter(pa.array(mask)) for column in self.columns]


def column_names(path: Path) -> list[str]:
    """Column names (ARFF, Parquet) or cells of the first line (CSV, TXT) of a file."""
    kind = extension(path)
    if kind == ".parquet":
        return [name.strip() for name in open_parquet(path).schema_arrow.names]
    if kind == ".arff":
        return _arff_header(path, read_text(path)[0])[0]
    return split_cells(first_line(path))


def row_count(path: Path) -> int | None:
    """Rows of a Parquet file, from its footer; None for text files, which must be read to know."""
    return open_parquet(path).metadata.num_rows if extension(path) == ".parquet" else None


def open_parquet(path: Path) -> pq.ParquetFile:
    """Open a Parquet file, gzip-compressed or not."""
    try:
        return pq.ParquetFile(io.BytesIO(read_bytes(path)) if is_gzip(path) else path)
    except (pa.ArrowInvalid, OSError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{path}: not a Parquet file, or damaged ({reason})") from error


def read_table(path: Path) -> Table:
    """Read a data file; a text file begins with column names unless a cell of its first line is a number.

    Parameters
    ----------
    path
        ``.csv``, ``.txt``, ``.arff`` or ``.parquet``, each with or without ``.gz``.

    Raises
    ------
    DataError
        The file is empty, damaged, uses another delimiter, or a line has the wrong number of cells.
    """
    kind = extension(path)
    if kind == ".parquet":
        parquet = open_parquet(path)
        try:
            content = parquet.read()
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{path}: damaged ({str(error).splitlines()[0]})") from error
        columns = [_one_chunk(column) for column in content.columns]
        table = Table(path, [name.strip() for name in content.schema.names], columns, None)
    else:
        text, notes = read_text(path)
        if kind == ".arff":
            names, skip = _arff_header(path, text)
            table = _parse(path, text, len(names), skip, quote="'", comment="%")
        else:
            skip = len(text) - len(text.lstrip("\n"))
            cells = split_cells(text[skip : _line_end(text, skip)])
            if len(cells) == 1:
                raise _wrong_delimiter(path, skip + 1, cells[0])
            names = [] if any(is_number(cell) for cell in cells) else cells
            table = _parse(path, text, len(cells), skip + bool(names), quote='"')
        table.names = names
        table.notes = notes + table.notes
        _leave_out_repeated_header(table)
    if table.rows == 0:
        raise DataError(f"{path}: holds no rows")
    return table


def is_number(cell: str) -> bool:
    """Whether a cell is a number as data files write them (``1_0`` is not)."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def split_cells(line: str) -> list[str]:
    """Cells of a line, without spaces and quotes around them."""
    return [cell.strip().strip('"').strip() for cell in line.split(",")]


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else combined.chunk(0)


def _arff_header(path: Path, text: str) -> tuple[list[str], int]:
    """Attribute names, and the number of lines up to and including ``@data``."""
    names = []
    for number, line in enumerate(io.StringIO(text), start=1):
        words = line.strip()
        if words.lower().startswith("@data"):
            return names, number
        if words.lower().startswith("@attribute"):
            rest = words[len("@attribute") :].strip()
            match = re.match(r"'([^']*)'|\"([^\"]*)\"|([^\s{]+)", rest)
            if match is None:
                raise DataError(f"{path}, line {number}: no name after @attribute")
            names.append(next(group for group in match.groups() if group is not None).strip())
    raise DataError(f"{path}: no @data line, so this is not an ARFF file")


def _parse(path: Path, text: str, width: int, skip: int, quote: str, comment: str = "") -> Table:
    """Parse the lines after the first `skip` into text columns; blank lines and comments are left out."""
    wrong, comments = [], []

    def handle(row):
        if comment and row.text.lstrip().startswith(comment):
            comments.append(row.number - skip - 1)
        else:
            wrong.append(row)
        return "skip"

    names = [f"c{index}" for index in range(width)]
    start = 0
    for _ in range(skip):
        start = _line_end(text, start) + 1
    if start >= len(text) or text[start:].isspace():
        return Table(path, [], [pa.array([], pa.string())] * width, skip + 1)
    try:
        # Threads are off because rows then have numbers, which errors need.
        parsed = pyarrow.csv.read_csv(
            io.BytesIO(text.encode("utf-8")),
            read_options=pyarrow.csv.ReadOptions(
                use_threads=False, skip_rows=skip, column_names=names, block_size=1 << 24
            ),
            parse_options=pyarrow.csv.ParseOptions(
                quote_char=quote, ignore_empty_lines=False, invalid_row_handler=handle
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid as error:
        raise DataError(f"{path}: cannot be parsed ({str(error).splitlines()[0]})") from error
    if wrong:
        raise _wrong_row(path, wrong[0])
    table = Table(path, [], [_one_chunk(column) for column in parsed.columns], skip + 1)
    if comments:
        table.original = np.delete(np.arange(parsed.num_rows + len(comments)), comments)
    _leave_out_blank_lines(table)
    return table


def _line_end(text: str, start: int) -> int:
    """Position of the end of the line that begins at `start`; texts are large, so they are not split."""
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _wrong_row(path: Path, row) -> DataError:
    if row.text.lstrip().startswith("{"):
        return DataError(f"{path}, line {row.number}: sparse ARFF rows are not supported")
    if row.actual_columns == 1 and any(row.text.count(mark) > 1 for mark in _OTHER_DELIMITERS):
        return _wrong_delimiter(path, row.number, row.text)
    return DataError(
        f"{path}, line {row.number}: {row.actual_columns} cells, expected {row.expected_columns}"
        " (a truncated file, or a stray comma?)"
    )


def _wrong_delimiter(path: Path, number: int, line: str) -> DataError:
    for delimiter, words in _OTHER_DELIMITERS.items():
        if line.count(delimiter) > 1:
            return DataError(f"{path}, line {number}: cells are separated by {words}, expected a comma")
    return DataError(f"{path}, line {number}: one cell only, expected cells separated by commas")


def _leave_out_blank_lines(table: Table) -> None:
    """Lines without any cell filled; a single one at the end of a file is not worth a note."""
    blank = np.arange(table.rows)
    for column in table.columns:
        cells = column if len(blank) == table.rows else column.take(pa.array(blank))
        blank = blank[pc.equal(pc.utf8_trim_whitespace(cells), "").to_numpy(zero_copy_only=False)]
        if blank.size == 0:
            return
    if blank.size > 1 or blank[0] < table.rows - 1:
        table.notes.append(f"{table.path.name}: {blank.size:,} blank lines left out")
    table.leave_out(blank)


def _leave_out_repeated_header(table: Table) -> None:
    """Header lines that stand again among the rows, as in files pasted together."""
    if not table.names or table.rows == 0:
        return
    first = pc.equal(pc.utf8_trim_whitespace(table.columns[0]), table.names[0])
    keys = [name_key(name) for name in table.names]
    rows = [
        row
        for row in np.flatnonzero(first.to_numpy(zero_copy_only=False))
        if [name_key(column[int(row)].as_py()) for column in table.columns] == keys
    ]
    if rows:
        table.notes.append(f"{table.path.name}: {len(rows):,} repeated header lines left out")
        table.leave_out(np.array(rows))
