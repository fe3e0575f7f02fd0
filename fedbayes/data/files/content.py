"""The bytes and the text of a file, decompressed and decoded, with errors that name the file."""

import gzip
import zlib
from pathlib import Path

from ...errors import DataError

_GZIP_MAGIC = b"\x1f\x8b"


def read_bytes(path: Path) -> bytes:
    """Read a file; gzip is recognised by its content, so a wrong suffix does no harm."""
    try:
        content = path.read_bytes()
        if content.startswith(_GZIP_MAGIC):
            content = gzip.decompress(content)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path}: the compressed file is damaged ({error})") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    return content


def read_lines(path: Path) -> list[str]:
    """Read a UTF-8 text file (with or without a byte-order mark) as lines without their ends."""
    content = read_bytes(path)
    if b"\x00" in content:
        line = content[: content.index(b"\x00")].count(b"\n") + 1
        raise DataError(f"{path}, line {line}: holds a zero byte, so it is no text file in UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path}, line {line}: byte 0x{content[error.start]:02x} is not UTF-8; save the file as UTF-8"
        ) from error
    # Only these three end a line; str.splitlines would also split at characters that may stand in a value.
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
