"""Files that are whole or not there."""

import os
import uuid
from pathlib import Path


def write_atomically(path: Path, content: str | bytes, *, durable: bool = False) -> Path:
    """Write a file so that its final name never shows a part of it, making the folder when needed.

    Parameters
    ----------
    path
        Final name.
    content
        Bytes, or text that is written as UTF-8 with line feeds on every system.
    durable
        Also wait until the content has reached the disk, so that a power cut leaves the old or the new file.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    OSError
        When the folder cannot be written or is full; the file is then as it was before.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode("utf-8") if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        with temporary.open("wb") as stream:
            stream.write(data)
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path
