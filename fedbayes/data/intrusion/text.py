"""Text of a data file whatever its encoding: UTF-8 with or without a mark, UTF-16, or mixed with Windows-1252."""

import codecs
import gzip
import io
import re
import zlib
from pathlib import Path

from fedbayes.data.files.content import read_bytes
from fedbayes.errors import DataError

EXTENSIONS = (".txt", ".csv", ".arff", ".parquet")
_GZIP = b"\x1f\x8b"


def _cp1252(error: UnicodeDecodeError) -> tuple[str, int]:
    """Read the bytes that are not UTF-8 as Windows-1252, the other encoding these files were written in."""
    return error.object[error.start : error.end].decode("cp1252", errors="replace"), error.end


codecs.register_error("fedbayes-cp1252", _cp1252)


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


def is_gzip(path: Path) -> bool:
    """Whether a file is gzip-compressed, judged by its content."""
    with path.open("rb") as stream:
        return stream.read(2) == _GZIP


def read_text(path: Path) -> tuple[str, list[str]]:
    """Read a text file.

    Returns
    -------
    text : str
        Without byte-order mark.
    notes : list of str
        What was unusual about its encoding.

    Raises
    ------
    DataError
        The file is empty, unreadable, not text, or a truncated or damaged gzip file.
    """
    content = read_bytes(path)
    if not content.strip():
        raise DataError(f"{path}: the file is empty")
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return _line_ends(content.decode("utf-16")), [f"{path.name}: read as UTF-16"]
        except UnicodeDecodeError as error:
            raise DataError(f"{path}: neither UTF-8 nor UTF-16 text") from error
    notes = []
    if content.startswith(codecs.BOM_UTF8):
        content = content[len(codecs.BOM_UTF8) :]
        notes.append(f"{path.name}: byte-order mark removed")
    if b"\0" in content:
        line = content[: content.index(b"\0")].count(b"\n") + 1
        raise DataError(f"{path}, line {line}: holds a zero byte, so this is no text file; get it again")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = content.decode("utf-8", errors="fedbayes-cp1252")
        stray = sum(not _is_utf8(line) for line in content.split(b"\n"))
        notes.append(f"{path.name}: {stray:,} lines are not UTF-8 and were read as Windows-1252")
    return _line_ends(text), notes


def first_line(path: Path) -> str:
    """First line of a text file that is not blank, without reading the whole file where that can be avoided."""
    try:
        with gzip.open(path, "rb") if is_gzip(path) else path.open("rb") as stream:
            start = stream.read(1 << 16)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read ({error}); get it again") from error
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = read_text(path)[0]
    else:
        text = start.removeprefix(codecs.BOM_UTF8).decode("utf-8", errors="fedbayes-cp1252")
    return next((line for line in io.StringIO(_line_ends(text)) if line.strip()), "").rstrip("\n")


def _line_ends(text: str) -> str:
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
