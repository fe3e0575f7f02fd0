"""Read CSV, TXT, ARFF and Parquet files, gzip-compressed or not, as tables of columns that know their lines.

Text is read as text: what a column means is decided by the loader of a data set, and a cell that does not fit
can then be named by file, line and column.
"""

import codecs
import gzip
import io
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from fedbayes.errors import DataError

EXTENSIONS = (".txt", ".csv", ".arff", ".parquet")
_MISSING = ("", "nan", "na", "n/a", "null", "none", "?")
_OTHER_DELIMITERS = {";": "a semicolon", "\t": "a tab", "|": "a bar"}


def _cp1252(error: UnicodeDecodeError) -> tuple[str, int]:
    """Read the bytes that are not UTF-8 as Windows-1252, the other encoding these files were written in."""
    return error.object[error.start : error.end].decode("cp1252", errors="replace"), error.end


codecs.register_error("fedbayes-cp1252", _cp1252)


@dataclass
class Table:
    """Columns of one file, all of the same length.

    Attributes
    ----------
    path
        The file, for messages.
    names
        Column names as written, without surrounding spaces, or empty where the file has no header.
    columns
        One Arrow array per column; text from text files, typed from Parquet.
    first_line
        Line number of row 0 in a text file; None for Parquet, where rows are counted from 1.
    """

    path: Path
    names: list[str]
    columns: list
    first_line: int | None
    rows_kept: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0]) if self.columns else 0

    def line(self, row: int) -> str:
        """Words that lead a reader to a row: file and line (or row, in Parquet)."""
        original = int(row if self.rows_kept is None else self.rows_kept[row])
        if self.first_line is None:
            return f"{self.path.name}, row {original + 1}"
        return f"{self.path.name}, line {self.first_line + original}"

    def keep(self, mask: np.ndarray) -> None:
        """Keep the rows of a boolean mask; line numbers stay those of the file."""
        kept = np.flatnonzero(mask)
        self.rows_kept = kept if self.rows_kept is None else self.rows_kept[kept]
        self.columns = [column.filter(pa.array(mask)) for column in self.columns]


def extension(path: Path) -> str:
    """Lower-case extension of a data file without ``.gz``."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def stem(path: Path) -> str:
    """Name of a data file without its extension and ``.gz``."""
    name = path.name[:-3] if path.name.lower().endswith(".gz") else path.name
    return name[: -len(extension(path))] if extension(path) else name


def name_key(name: str) -> str:
    """Letters and digits of a name in lower case: ``' Flow Bytes/s'`` and ``flow_bytes_s`` are the same."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def read_bytes(path: Path) -> bytes:
    """Content of a file, decompressed where its name ends in ``.gz``.

    Raises
    ------
    DataError
        The file is empty, unreadable, or a truncated or damaged gzip file.
    """
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix.lower() == ".gz" else path.read_bytes()
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path}: the gzip file is truncated or damaged ({error}); get it again") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    if not content.strip():
        raise DataError(f"{path}: the file is empty")
    return content


def read_text(path: Path) -> tuple[str, list[str]]:
    """Text of a file and notes about its encoding: UTF-8 (with or without mark), UTF-16, or mixed with Windows-1252."""
    content = read_bytes(path)
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return content.decode("utf-16"), [f"{path.name}: read as UTF-16"]
        except UnicodeDecodeError as error:
            raise DataError(f"{path}: neither UTF-8 nor UTF-16 text") from error
    notes = []
    if content.startswith(codecs.BOM_UTF8):
        content = content[len(codecs.BOM_UTF8) :]
        notes.append(f"{path.name}: byte-order mark removed")
    if b"\0" in content:
        raise DataError(f"{path}: holds zero bytes, so it is not a text file; get it again")
    try:
        return content.decode("utf-8"), notes
    except UnicodeDecodeError:
        text = content.decode("utf-8", errors="fedbayes-cp1252")
        stray = sum(1 for line in content.split(b"\n") if not _is_utf8(line))
        notes.append(f"{path.name}: {stray:,} lines are not UTF-8 and were read as Windows-1252")
        return text, notes


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def first_cells(path: Path) -> list[str]:
    """Column names (ARFF, Parquet) or cells of the first line (CSV, TXT), without reading the whole file."""
    kind = extension(path)
    if kind == ".parquet":
        return [name.strip() for name in _parquet(path).schema_arrow.names]
    if kind == ".arff":
        return _arff_header(path, read_text(path)[0])[0]
    try:
        with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb") as stream:
            line = stream.readline(1 << 16)
            while line and not line.strip():
                line = stream.readline(1 << 16)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read ({error}); get it again") from error
    if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = read_text(path)[0].lstrip().split("\n", 1)[0]
    else:
        text = line.removeprefix(codecs.BOM_UTF8).decode("utf-8", errors="fedbayes-cp1252")
    return _cells(text)


def row_count(path: Path) -> int | None:
    """Rows of a Parquet file from its footer; None for text files, which must be read to know."""
    return _parquet(path).metadata.num_rows if extension(path) == ".parquet" else None


def read_table(path: Path, header: bool | None = None) -> Table:
    """Read a data file.

    Parameters
    ----------
    path
        ``.csv``, ``.txt``, ``.arff`` or ``.parquet``, each with or without ``.gz``.
    header
        Whether a text file begins with column names; None: it does when no cell of its first line is a number.

    Raises
    ------
    DataError
        The file is empty, damaged, uses another delimiter, or a line has the wrong number of cells.
    """
    kind = extension(path)
    if kind == ".parquet":
        file = _parquet(path)
        table = file.read()
        columns = [column.combine_chunks() for column in table.columns]
        result = Table(path, [name.strip() for name in table.schema.names], columns, None)
    else:
        text, notes = read_text(path)
        if kind == ".arff":
            names, skip = _arff_header(path, text)
            result = _parse(path, text, names, skip, quote="'", comment="%")
        else:
            blank = len(text) - len(text.lstrip("\r\n"))
            skip = text[:blank].count("\n")
            cells = _cells(text[blank:].split("\n", 1)[0])
            if len(cells) == 1:
                _refuse_delimiter(path, cells[0])
            if header is None:
                header = not any(_is_number(cell) for cell in cells)
            names = cells if header else []
            result = _parse(path, text, names or [""] * len(cells), skip + bool(header), quote='"')
            result.names = names
        result.notes = notes + result.notes
        _drop_repeated_header(result)
    if result.rows == 0:
        raise DataError(f"{path}: holds no rows")
    return result


def as_text(column):
    """Column as Arrow text without surrounding spaces; whole numbers lose a trailing ``.0``, nulls become empty."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    column = pc.fill_null(pc.cast(column, pa.string()), "")
    return pc.replace_substring_regex(pc.utf8_trim_whitespace(column), r"^(-?\d+)\.0+$", r"\1")


def as_numbers(table: Table, index: int, name: str) -> np.ndarray:
    """Column as float64; empty cells and ``NaN`` become NaN, ``Infinity`` stays infinite (the caller drops both).

    Raises
    ------
    DataError
        A cell is text; the message names file, line, column and cell.
    """
    column = table.columns[index]
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        try:
            return pc.fill_null(pc.cast(column, pa.float64(), safe=False), np.nan).to_numpy(
                zero_copy_only=False
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(
                f"{table.path}: column '{name}' is of type {column.type}, expected numbers"
            ) from error
    try:
        return pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        pass
    text = as_text(column)
    missing = pc.is_in(pc.utf8_lower(text), value_set=pa.array(_MISSING))
    text = pc.if_else(missing, "nan", text)
    try:
        return pc.cast(text, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        for row, cell in enumerate(text.to_pylist()):
            if not _is_number(cell):
                raise DataError(
                    f"{table.line(row)}, column '{name}': {cell[:40]!r} is not a number"
                ) from None
        raise


def missing_cells(text) -> np.ndarray:
    """Boolean mask of the empty (missing) cells of a text column; ``-`` is a value, ``?`` is missing."""
    return pc.is_in(pc.utf8_lower(text), value_set=pa.array(_MISSING)).to_numpy(zero_copy_only=False)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _cells(line: str) -> list[str]:
    return [cell.strip().strip('"').strip() for cell in line.rstrip("\r\n").split(",")]


def _refuse_delimiter(path: Path, line: str) -> None:
    for delimiter, words in _OTHER_DELIMITERS.items():
        if line.count(delimiter) > 1:
            raise DataError(f"{path}, line 1: cells are separated by {words}, expected a comma")
    raise DataError(f"{path}, line 1: one cell only, expected cells separated by commas")


def _parquet(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(io.BytesIO(read_bytes(path)) if path.suffix.lower() == ".gz" else path)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path}: not a Parquet file, or damaged ({str(error).splitlines()[0]})") from error


def _arff_header(path: Path, text: str) -> tuple[list[str], int]:
    """Attribute names and the number of lines up to and including ``@data``."""
    names = []
    for number, line in enumerate(io.StringIO(text), start=1):
        words = line.strip()
        if words.lower().startswith("@data"):
            return names, number
        if words.lower().startswith("@attribute"):
            rest = words[len("@attribute") :].strip()
            match = re.match(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|([^\s{]+)", rest)
            if match is None:
                raise DataError(f"{path}, line {number}: no name after @attribute")
            names.append(next(group for group in match.groups() if group is not None).strip())
    raise DataError(f"{path}: no @data line, so this is not an ARFF file")


def _parse(path: Path, text: str, names: list[str], skip: int, quote: str, comment: str = "") -> Table:
    """Parse the lines after `skip` into text columns; lines of blanks and comments are left out."""
    wrong = []
    dropped = []

    def handle(row):
        if comment and row.text.lstrip().startswith(comment):
            dropped.append(row.number)
        else:
            wrong.append(row)
        return "skip"

    inner = [f"c{index}" for index in range(len(names))]
    if not "".join(text.split("\n", skip)[skip:]).strip():
        return Table(path, names, [pa.array([], pa.string()) for _ in names], skip + 1)
    try:
        parsed = pyarrow.csv.read_csv(
            io.BytesIO(text.encode("utf-8")),
            read_options=pyarrow.csv.ReadOptions(
                use_threads=False, skip_rows=skip, column_names=inner, block_size=1 << 24
            ),
            parse_options=pyarrow.csv.ParseOptions(
                quote_char=quote, ignore_empty_lines=False, invalid_row_handler=handle
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(inner, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid as error:
        raise DataError(f"{path}: cannot be parsed ({str(error).splitlines()[0]})") from error
    if wrong:
        row = wrong[0]
        if row.text.lstrip().startswith("{"):
            raise DataError(f"{path.name}, line {row.number}: sparse ARFF rows are not supported")
        _explain_wrong_row(path, row)
    columns = [column.combine_chunks() for column in parsed.columns]
    table = Table(path, names, columns, skip + 1)
    if dropped:
        lines = np.arange(parsed.num_rows + len(dropped))
        table.rows_kept = np.delete(lines, np.asarray(dropped) - skip - 1)
    _drop_blank_rows(table)
    return table


def _explain_wrong_row(path: Path, row) -> None:
    for delimiter, words in _OTHER_DELIMITERS.items():
        if row.actual_columns == 1 and row.text.count(delimiter) > 1:
            raise DataError(
                f"{path.name}, line {row.number}: cells are separated by {words}, expected a comma"
            )
    raise DataError(
        f"{path.name}, line {row.number}: {row.actual_columns} cells, expected {row.expected_columns}"
        " (a truncated file or a stray comma?)"
    )


def _drop_blank_rows(table: Table) -> None:
    blank = pc.equal(pc.utf8_trim_whitespace(table.columns[0]), "")
    candidates = np.flatnonzero(blank.to_numpy(zero_copy_only=False))
    if candidates.size == 0:
        return
    for column in table.columns[1:]:
        cells = pc.utf8_trim_whitespace(column.take(pa.array(candidates)))
        candidates = candidates[pc.equal(cells, "").to_numpy(zero_copy_only=False)]
    if candidates.size > 1 or (candidates.size and candidates[0] < table.rows - 1):
        table.notes.append(f"{table.path.name}: {candidates.size:,} blank lines left out")
    mask = np.ones(table.rows, bool)
    mask[candidates] = False
    if not mask.all():
        table.keep(mask)


def _drop_repeated_header(table: Table) -> None:
    """Leave out header lines that stand again among the rows (files pasted together)."""
    if not table.names or table.rows == 0:
        return
    same = np.flatnonzero(
        pc.equal(pc.utf8_trim_whitespace(table.columns[0]), table.names[0]).to_numpy(zero_copy_only=False)
    )
    same = np.array(
        [
            row
            for row in same
            if all(
                name_key(column[int(row)].as_py()) == name_key(name)
                for column, name in zip(table.columns, table.names, strict=True)
            )
        ],
        dtype=np.int64,
    )
    if same.size:
        table.notes.append(f"{table.path.name}: {same.size:,} repeated header lines left out")
        mask = np.ones(table.rows, bool)
        mask[same] = False
        table.keep(mask)
