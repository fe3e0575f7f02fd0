import gzip
import io

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fedbayes.data.files import read_table
from fedbayes.errors import DataError


@pytest.fixture
def read(tmp_path):
    def read(content, name, **settings):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_table(path, **settings)

    return read


def texts(table):
    columns = [[*column.values, None] for column in table.columns]
    return [
        tuple(values[column.codes[row]] for values, column in zip(columns, table.columns, strict=True))
        for row in range(table.rows)
    ]


CSV = "a,b\nx,1\ny,2\n"


@pytest.mark.parametrize(
    "text",
    [
        CSV,
        "\ufeff" + CSV,
        CSV.replace("\n", "\r\n"),
        CSV.replace(",", ";"),
        CSV.replace(",", "\t"),
        CSV.replace(",", " , "),
        'a,"b"\n"x","1"\n\ny,"2"\n\n',
    ],
    ids=["plain", "bom", "crlf", "semicolon", "tab", "spaces", "quotes"],
)
def test_csv_spellings(read, text):
    table = read(text, "toy.csv")
    assert [column.name for column in table.columns] == ["a", "b"]
    assert texts(table) == [("x", "1"), ("y", "2")]
    assert not table.columns[0].declared


def test_csv_quotes_lines_and_missing_cells(read):
    table = read('a,b\n"x, ""y""\nz",1\n,?\nNA,none\n', "toy.csv")
    assert texts(table) == [('x, "y"\nz', "1"), (None, None), (None, "none")]
    assert table.lines.tolist() == [2, 4, 5]
    assert texts(read("a,b\nNA,?\n,x\n", "toy.csv", missing_values=[""])) == [("NA", "?"), (None, "x")]


def test_csv_with_one_column_keeps_empty_cells_apart(read):
    assert texts(read('a\nx\n""\ny\n', "toy.csv")) == [("x",), (None,), ("y",)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "toy.csv: the file is empty"),
        ("a,b\n", "toy.csv: no rows after the header"),
        ("a,b\nx,1\ny\n", "toy.csv, line 3: 1 values, expected 2"),
        ("a,b\nx,1\ny,2,3\n", "toy.csv, line 3: 3 values, expected 2"),
        ('a,b\nx,1\n"y,2\nz,3\n', "toy.csv, line 3: cannot be read as CSV"),
        ('a,b\nx,1\n"y"z,2\n', "toy.csv, line 3: cannot be read as CSV"),
        ("a,a\nx,1\n", "toy.csv, line 1: the column name 'a' occurs twice"),
        ("a, b\nx,1\n a,b\ny,2\n", "toy.csv, line 3: repeats the header"),
        (",a\n0,1\n", "toy.csv, line 1: column 1 has no name"),
        (b"a,b\nx,\xff\n", "toy.csv, line 2: byte 0xff is not UTF-8"),
    ],
)
def test_csv_mistakes_name_file_and_line(read, text, message):
    with pytest.raises(DataError) as error:
        read(text, "toy.csv")
    assert message in str(error.value)


def parquet(frame, **settings):
    buffer = io.BytesIO()
    pq.write_table(frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, **settings), buffer)
    return buffer.getvalue()


FRAME = pd.DataFrame(
    {
        "text": ["x", None, "y"],
        "whole": [1, 2, 3],
        "gaps": [1.0, float("nan"), 2.0],
        "flag": [True, False, True],
        "kind": pd.Categorical(["lo", "hi", None], categories=["lo", "mid", "hi"]),
    }
)


@pytest.mark.parametrize("name", ["toy.parquet", "toy.parquet.gz"])
def test_parquet_types(read, name):
    content = parquet(FRAME)
    table = read(gzip.compress(content) if name.endswith(".gz") else content, name)
    assert texts(table) == [
        ("x", "1", "1", "True", "lo"),
        (None, "2", None, "False", "hi"),
        ("y", "3", "2", "True", None),
    ]
    assert [column.declared for column in table.columns] == [False, False, False, False, True]
    assert table.columns[4].values == ("lo", "mid", "hi")
    assert table.place(2).endswith(f"{name}, row 3")


def test_parquet_categories_in_several_chunks(read):
    chunks = [pa.array(["b", None]).dictionary_encode(), pa.array(["a", "b"]).dictionary_encode()]
    content = parquet(pa.table({"a": pa.chunked_array(chunks)}))
    assert [row[0] for row in texts(read(content, "toy.parquet"))] == ["b", None, "a", "b"]


def test_parquet_leaves_out_the_index_of_pandas(read):
    frame = FRAME[["text", "whole"]].iloc[[2, 0]]
    assert [c.name for c in read(parquet(frame), "toy.parquet").columns] == ["text", "whole"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PAR1 not really", "toy.parquet: cannot be read as Parquet"),
        (b"", "toy.parquet: cannot be read as Parquet"),
        (parquet(FRAME)[:-40], "toy.parquet: cannot be read as Parquet"),
        (parquet(FRAME.head(0)), "toy.parquet: holds no rows"),
        (
            parquet(pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])})),
            "toy.parquet: column 'when' has type timestamp",
        ),
        (parquet(pa.table({"l": [[1, 2]]})), "toy.parquet: column 'l' has type list"),
    ],
)
def test_parquet_mistakes_name_the_file(read, content, message):
    with pytest.raises(DataError) as error:
        read(content, "toy.parquet")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
