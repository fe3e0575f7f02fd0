"""Write a table as an ARFF file that reads back the same, here and in Weka."""

import gzip
from pathlib import Path

from ...atomic_file import write_atomically
from ..table import MISSING, Table

_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def write_arff(path: Path, table: Table, relation: str) -> None:
    """Write a table with its declared domains; the file is compressed where its name ends in ``.gz``.

    Columns without a declared domain become string attributes.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    lines = [f"@relation {_quote(relation)}"]
    cells = []
    for column in table.columns:
        texts = [_quote(value) for value in column.values]
        kind = f"{{{','.join(texts)}}}" if column.declared else "string"
        lines.append(f"@attribute {_quote(column.name)} {kind}")
        texts.append("?")  # index -1
        assert MISSING == -1
        cells.append([texts[code] for code in column.codes.tolist()])
    lines.append("@data")
    lines += [",".join(row) for row in zip(*cells, strict=True)]
    content = ("\n".join(lines) + "\n").encode("utf-8")
    write_atomically(path, gzip.compress(content, mtime=0) if path.name.endswith(".gz") else content)


def _quote(text: str) -> str:
    return f"'{text.translate(_ESCAPES)}'"
