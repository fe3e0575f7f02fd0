"""ARFF files.

The header is parsed here: tabs, braces inside quoted values, quoted names, and one clear message for each
kind of mistake. Rows with quotes, spaces or escapes are split by liac-arff; plain ones by
`str.split`, which is much faster. The check against the declared domains is the same for both.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import arff
import numpy as np

from ...errors import DataError
from ..table import MISSING, Column, Table, encode_texts
from .content import read_lines

_KEYWORD = re.compile(r"\s*@(relation|attribute|data|end)\b", re.IGNORECASE)
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ATTRIBUTE = re.compile(rf"\s*@attribute\s+({_QUOTED}|[^\s'\"{{}},%][^\s{{}},]*)\s*(\S.*)?$", re.IGNORECASE)
_NOMINAL = re.compile(rf"\{{((?:{_QUOTED}|[^'\"{{}}])*)\}}\s*(%.*)?$")
_VALUE = re.compile(rf"\s*({_QUOTED}|[^\s'\",{{}}%][^\s'\",{{}}]*)\s*(,|$)")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_NOT_PLAIN = re.compile(r"""["'{}\\\s%]""")
_PLAIN_MISSING = ("?", "")  # where no quotes occur; otherwise liac-arff tells ? from '?'
_NUMERIC_TYPES = ("numeric", "real", "integer")


@dataclass(frozen=True)
class _Attribute:
    name: str
    kind: str  # "nominal", "numeric" or "string"
    values: tuple[str, ...] = ()


def read_arff(path: Path) -> Table:
    """Read an ARFF file; see `fedbayes.data.files.read_table`."""
    lines = read_lines(path)
    attributes, first = _read_header(path, lines)
    numbered = [
        (number, line.strip())
        for number, line in enumerate(lines[first:], start=first + 1)
        if line.strip() and not line.lstrip().startswith("%")
    ]
    if not numbered:
        raise DataError(f"{path}: no rows after @data")
    numbers = [number for number, _ in numbered]
    if any(_NOT_PLAIN.search(line) for _, line in numbered):
        rows, missing = list(_split_quoted(path, attributes, numbered)), ()
    else:
        rows, missing = [line.split(",") for _, line in numbered], _PLAIN_MISSING
    for number, row in zip(numbers, rows, strict=True):
        if len(row) != len(attributes):
            raise DataError(f"{path}, line {number}: {len(row)} values, expected {len(attributes)}")
    cells = zip(*rows, strict=True)
    columns = [
        _encode(path, attribute, column, missing, numbers)
        for attribute, column in zip(attributes, cells, strict=True)
    ]
    return Table(label=str(path), columns=tuple(columns), rows=len(rows), lines=np.array(numbers))


def _read_header(path: Path, lines: list[str]) -> tuple[list[_Attribute], int]:
    """Parse up to ``@data``; return the attributes and the index of the line after it."""
    attributes: list[_Attribute] = []
    names: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("%"):
            continue
        keyword = _KEYWORD.match(line)
        if not keyword:
            raise DataError(f"{path}, line {number}: expected @attribute or @data, found {_short(line)}")
        word = keyword.group(1).lower()
        if word == "data":
            if not attributes:
                raise DataError(f"{path}, line {number}: @data before any @attribute")
            return attributes, number
        if word == "attribute":
            attribute = _read_attribute(path, number, line)
            if attribute.name in names:
                raise DataError(
                    f"{path}, line {number}: attribute '{attribute.name}' is already declared in "
                    f"line {names[attribute.name]}"
                )
            names[attribute.name] = number
            attributes.append(attribute)
        elif word == "end":
            raise DataError(f"{path}, line {number}: relational attributes are not supported")
    raise DataError(f"{path}: no @data line; is the file complete?")


def _read_attribute(path: Path, number: int, line: str) -> _Attribute:
    place = f"{path}, line {number}"
    match = _ATTRIBUTE.match(line)
    if not match:
        raise DataError(f"{place}: cannot read the attribute's name in {_short(line)}")
    name, kind = match.group(1), (match.group(2) or "").strip()
    if name[0] in "'\"":
        name = re.sub(r"\\(.)", r"\1", name[1:-1])
    if not name.strip():
        raise DataError(f"{place}: the attribute's name is empty")
    if kind.startswith("{"):
        nominal = _NOMINAL.match(kind)
        if not nominal:
            raise DataError(f"{place}: cannot read the values of attribute '{name}': {_short(kind)}")
        return _Attribute(name, "nominal", _read_domain(place, name, nominal.group(1)))
    word = kind.split("%")[0].split("[")[0].strip().lower()
    if word in _NUMERIC_TYPES:
        return _Attribute(name, "numeric")
    if word == "string":
        return _Attribute(name, "string")
    raise DataError(
        f"{place}: attribute '{name}' has type {_short(kind) if kind else 'nothing'}; "
        "supported are {value, ...}, numeric, integer, real and string"
    )


def _read_domain(place: str, name: str, inner: str) -> tuple[str, ...]:
    """Split the text between the braces; liac-arff's own pattern can take exponential time here."""
    values: dict[str, None] = {}
    position = 0
    while True:
        match = _VALUE.match(inner, position)
        if not match:
            rest = inner[position:].strip()
            what = "no value" if not rest or rest.startswith(",") else f"cannot read {_short(rest)}"
            raise DataError(
                f"{place}: values of attribute '{name}': {what}; quote values that hold spaces or punctuation"
            )
        text = match.group(1)
        if text == "?":
            raise DataError(f"{place}: attribute '{name}' declares an unquoted ?, which means missing")
        value = _unquote(text)
        if value in values:
            raise DataError(f"{place}: attribute '{name}' declares the value '{value}' twice")
        values[value] = None
        if not match.group(2):
            return tuple(values)
        position = match.end()


def _unquote(text: str) -> str:
    """Remove quotes and escapes in exactly the way liac-arff does for the cells of a row."""
    if text[0] not in "'\"":
        return text
    if "\\" not in text:
        return text[1:-1]
    return next(_decode(["string"], [text], arff.DENSE_GEN))[0]


def _decode(kinds: Sequence[str], rows: Iterable[str], layout: int) -> Iterator[list | dict]:
    """Let liac-arff split rows, one at a time."""
    header = ["@relation r", *(f"@attribute a{i} {kind}" for i, kind in enumerate(kinds)), "@data"]
    return arff.ArffDecoder().decode(itertools.chain(header, rows), return_type=layout)["data"]


def _split_quoted(
    path: Path, attributes: list[_Attribute], numbered: list[tuple[int, str]]
) -> Iterator[list[str | None]]:
    """Split rows that hold quotes, spaces, escapes or braces; every cell comes back as text or None."""
    sparse = numbered[0][1].startswith("{")
    rows = _decode(
        ["string"] * len(attributes),
        (line for _, line in numbered),
        arff.LOD_GEN if sparse else arff.DENSE_GEN,
    )
    for number, line in numbered:
        try:
            if line.startswith("{") != sparse:
                raise DataError(f"{path}, line {number}: the file mixes sparse rows {{...}} and plain rows")
            row = next(rows)
        except arff.BadDataFormat as error:
            raise DataError(
                f"{path}, line {number}: the row {_short(line)} does not hold {len(attributes)} values"
            ) from error
        except (arff.ArffException, ValueError, StopIteration) as error:
            raise DataError(
                f"{path}, line {number}: cannot read the row {_short(line)}; expected {len(attributes)} values "
                "separated by commas, quoted where they hold spaces, quotes or commas"
            ) from error
        yield _fill(path, number, line, attributes, row) if sparse else row


def _fill(
    path: Path, number: int, line: str, attributes: list[_Attribute], row: dict[int, str | None]
) -> list[str | None]:
    """Make a sparse row whole: what is left out is 0, or the first declared value."""
    if row and len(re.sub(_QUOTED, "", line).split(",")) != len(row):
        raise DataError(f"{path}, line {number}: an index occurs twice in the sparse row {_short(line)}")
    cells: list[str | None] = []
    for index, attribute in enumerate(attributes):
        if index in row:
            cells.append(row[index])
        elif attribute.kind == "string":
            raise DataError(
                f"{path}, line {number}: the sparse row leaves out attribute '{attribute.name}', "
                "a string, which has no default"
            )
        else:
            cells.append(attribute.values[0] if attribute.kind == "nominal" else "0")
    return cells


def _encode(
    path: Path,
    attribute: _Attribute,
    cells: Sequence[str | None],
    missing: Sequence[str],
    numbers: list[int],
) -> Column:
    if attribute.kind == "nominal":
        index: dict[str | None, int] = {value: code for code, value in enumerate(attribute.values)}
        index |= dict.fromkeys((None, *missing), MISSING)
        try:
            codes = np.fromiter(map(index.__getitem__, cells), dtype=np.int32, count=len(cells))
        except KeyError:
            row = next(i for i, cell in enumerate(cells) if cell not in index)
            raise DataError(
                f"{path}, line {numbers[row]}: value '{cells[row]}' of attribute '{attribute.name}' is not "
                f"declared; declared are {_short(', '.join(attribute.values))}"
            ) from None
        return Column(attribute.name, attribute.values, codes, declared=True)
    column = encode_texts(attribute.name, cells, missing)
    if attribute.kind == "numeric":
        for code, value in enumerate(column.values):
            if not _NUMBER.fullmatch(value):
                row = int(np.argmax(column.codes == code))
                raise DataError(
                    f"{path}, line {numbers[row]}: '{value}' is no number, but attribute '{attribute.name}' is numeric"
                )
    return column


def _short(text: str, length: int = 60) -> str:
    text = text.strip()
    return text if len(text) <= length else text[: length - 3] + "..."
