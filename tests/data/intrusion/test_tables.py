"""Reading files: encodings, forms, and one clear line for each fault."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fedbayes.data.intrusion.columns import as_numbers, as_text, match_columns, missing_cells, read_labels
from fedbayes.data.intrusion.tables import column_names, read_table
from fedbayes.data.intrusion.text import extension, name_key, stem
from fedbayes.errors import DataError


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def cells(table):
    return [list(row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]


def test_names(tmp_path):
    assert extension(tmp_path / "KDDTrain+.TXT.gz") == ".txt"
    assert stem(tmp_path / "Monday.pcap_ISCX.csv.gz") == "Monday.pcap_ISCX"
    assert name_key("\ufeff Flow Bytes/s") == name_key("flow_bytes_s") == "flowbytess"


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("a,b\r\nx,1\r\n", None),
        ("\ufeffa, b \nx,1\n", "byte-order mark"),
        ("a,b\nx,1\n".encode("utf-16"), "UTF-16"),
        ("\n\na,b\nx,1", None),
    ],
)
def test_text_forms(tmp_path, content, note):
    path = write(tmp_path / "t.csv", content)
    table = read_table(path)
    assert table.names == column_names(path) == ["a", "b"]
    assert cells(table) == [["x", "1"]]
    assert [note in line for line in table.notes] == ([True] if note else [])


def test_mixed_encodings_are_read_and_counted(tmp_path):
    path = write(tmp_path / "t.csv", b"a,b\nWeb \x96 XSS,1\nWeb \xe2\x80\x93 XSS,2\n")
    table = read_table(path)
    assert [row[0] for row in cells(table)] == ["Web – XSS", "Web – XSS"]
    assert "1 lines are not UTF-8" in table.notes[0]


def test_blank_lines_and_repeated_headers_are_left_out_and_lines_keep_their_numbers(tmp_path):
    path = write(tmp_path / "t.csv", "a,b\n1,2\n,\n\n3,4\n a ,B\n5,x\n\n")
    table = read_table(path)
    assert cells(table) == [["1", "2"], ["3", "4"], ["5", "x"]]
    assert table.notes == ["t.csv: 3 blank lines left out", "t.csv: 1 repeated header lines left out"]
    assert [table.place(row) for row in range(3)] == ["t.csv, line 2", "t.csv, line 5", "t.csv, line 7"]
    with pytest.raises(DataError, match=r"t\.csv, line 7, column 'b': 'x' is not a number"):
        as_numbers(table, 1, "b")


def test_arff(tmp_path):
    text = "% words\n@relation 'r'\n@attribute 'a b' real\n@ATTRIBUTE c {'x, y', 'z'}\n\n@DATA\n1,'x, y'\n% no\n2,z\n"
    table = read_table(write(tmp_path / "t.arff", text))
    assert table.names == ["a b", "c"]
    assert cells(table) == [["1", "x, y"], ["2", "z"]]
    assert table.place(1) == "t.arff, line 9"


def test_parquet(tmp_path):
    content = pa.table({" a ": [1, 2], "b": pa.array(["x", None]).dictionary_encode()})
    pq.write_table(content, tmp_path / "t.parquet")
    write(tmp_path / "t.parquet.gz", gzip.compress((tmp_path / "t.parquet").read_bytes()))
    for name in ("t.parquet", "t.parquet.gz"):
        table = read_table(tmp_path / name)
        assert table.names == ["a", "b"]
        assert as_numbers(table, 0, "a").tolist() == [1.0, 2.0]
        assert as_text(table.columns[1]).to_pylist() == ["x", ""]
        assert table.place(1) == f"{name}, row 2"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.csv", "", "the file is empty"),
        ("t.csv", " \n\n", "the file is empty"),
        ("t.csv.gz", gzip.compress(b"", mtime=0), "the file is empty"),
        ("t.csv", "a,b\n", "holds no rows"),
        ("t.csv", "a;b;c\n1;2;3\n", "line 1: cells are separated by a semicolon, expected a comma"),
        ("t.csv", "a\tb\tc\n1\t2\t3\n", "line 1: cells are separated by a tab"),
        ("t.csv", "a,b,c\n1,2,3\n4;5;6\n", "line 3: cells are separated by a semicolon"),
        ("t.csv", "just words\nmore\n", "line 1: one cell only"),
        ("t.csv", "a,b,c\n1,2,3\n\n4,5", "line 4: 2 cells, expected 3"),
        ("t.csv", "a,b\n1,2\n4,5,6\n", "line 3: 3 cells, expected 2"),
        ("t.csv", b"a,b\n1,\x002\n", "line 2: holds a zero byte"),
        ("t.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 999, mtime=0)[:-20], r"t\.csv\.gz: .*damaged"),
        ("t.parquet", b"PAR1 not really", "not a Parquet file, or damaged"),
        ("t.arff", "@relation r\n@attribute a real\n1\n", "no @data line"),
        ("t.arff", "@attribute a real\n@attribute b real\n@data\n{0 1, 1 2, 1 3}\n", "line 4: sparse ARFF"),
    ],
)
def test_faults(tmp_path, name, content, words):
    with pytest.raises(DataError, match=words) as raised:
        read_table(write(tmp_path / name, content))
    assert "\n" not in str(raised.value)


def test_numbers(tmp_path):
    rows = "1, 2.5 ,-0,1e3,+7,,NaN, Infinity,-inf,?,null"
    table = read_table(
        write(tmp_path / "t.csv", "a,b\n" + "".join(f"{cell},x\n" for cell in rows.split(",")))
    )
    expected = [1, 2.5, 0, 1000, 7, np.nan, np.nan, np.inf, -np.inf, np.nan, np.nan]
    np.testing.assert_array_equal(as_numbers(table, 0, "a"), expected)


def test_text_cells(tmp_path):
    table = read_table(write(tmp_path / "t.csv", "a,b\n 6.0 ,x\n17,x\n-,x\n?,x\n,x\n"))
    text = as_text(table.columns[0])
    assert text.to_pylist() == ["6", "17", "-", "?", ""]
    assert missing_cells(text).tolist() == [False, False, False, True, True]


WANTED = {"Flow Duration": ("dur",), "Label": ()}
DROPPED = {"identifiers": ("id", "")}


def columns(tmp_path, header, row):
    table = read_table(write(tmp_path / "t.csv", f"{header}\n{row}\n"))
    table.names = header.split(",")
    return table, match_columns(table, WANTED, DROPPED)


def test_columns_are_found_under_any_spelling(tmp_path):
    table, found = columns(tmp_path, "id, flow_duration, LABEL", "1,2,x")
    assert found == {"Flow Duration": 1, "Label": 2}
    assert table.notes == ["t.csv: identifiers left out: id"]
    assert columns(tmp_path, "dur,Label", "2,x")[1] == {"Flow Duration": 0, "Label": 1}


@pytest.mark.parametrize(
    ("header", "row", "words"),
    [
        ("id,Label", "1,x", r"1 column missing: 'Flow Duration'"),
        ("dur,Label,foo,bar", "1,x,2,3", r"2 columns unknown: 'foo', 'bar'; remove"),
        ("dur,Flow Duration,Label", "1,2,x", r"column 'Flow Duration' stands twice with different content"),
    ],
)
def test_wrong_columns(tmp_path, header, row, words):
    with pytest.raises(DataError, match=words):
        columns(tmp_path, header, row)


def test_a_repeated_column_is_left_out(tmp_path):
    for header in ("dur,Flow Duration.1,Label", "dur,Flow Duration,Label"):
        table, found = columns(tmp_path, header, "1,1,x")
        assert found == {"Flow Duration": 0, "Label": 2}
        assert table.notes == ["t.csv: repeated columns left out: Flow Duration"]


def test_unknown_labels_are_named(tmp_path):
    table = read_table(write(tmp_path / "t.csv", "a,b\nx,p\ny,p\nz,p\nz,p\n"))
    assert read_labels(table, 0, "a", {"x": 0, "y": 1, "z": -1}.get).tolist() == [0, 1, -1, -1]
    with pytest.raises(DataError, match=r"t\.csv, line 4, column 'a': unknown label 'z' \(2 such rows\)"):
        read_labels(table, 0, "a", {"x": 0, "y": 1}.get)
