import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbayes.data.files import read_table
from fedbayes.data.files.arff_writer import write_arff
from fedbayes.data.table import Column, Table
from fedbayes.errors import DataError


@pytest.fixture
def arff(tmp_path):
    def read(text, name="toy.arff"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_table(path)

    return read


def texts(table):
    """Rows as text, None where missing."""
    columns = [[*column.values, None] for column in table.columns]
    return [
        tuple(values[column.codes[row]] for values, column in zip(columns, table.columns, strict=True))
        for row in range(table.rows)
    ]


PLAIN = "@relation r\n@attribute a {x,y}\n@attribute c {p,n}\n@data\nx,p\ny,n\n?,p\n"


def test_plain_rows_missing_cells_and_lines(arff):
    table = arff(PLAIN)
    assert texts(table) == [("x", "p"), ("y", "n"), (None, "p")]
    assert table.lines.tolist() == [5, 6, 7]
    assert table.columns[0].declared and table.columns[0].values == ("x", "y")


@pytest.mark.parametrize(
    "text",
    [
        PLAIN.replace("\n", "\r\n"),
        "\ufeff" + PLAIN,
        PLAIN.upper().replace("X", "x").replace("Y", "y").replace("P", "p").replace("N", "n"),
        PLAIN.replace("{x,y}", "{ x , y }"),
        PLAIN.replace("@attribute a {", "@attribute\ta\t{"),
        PLAIN.replace("@attribute a {x,y}", "@attribute 'a' { 'x', \"y\" }\t% comment"),
        PLAIN.replace("@attribute a {", "@ATTRIBUTE a{"),
        PLAIN.replace("x,p", " x ,\tp ").replace("y,n", "'y',\"n\""),
        "% a comment\n\n" + PLAIN.replace("@data\n", "@DATA\n\n% another\n"),
        PLAIN.rstrip("\n"),
    ],
    ids=["crlf", "bom", "capitals", "spaces", "tabs", "quotes", "no space", "cells", "comments", "no end"],
)
def test_spellings_of_the_same_file(arff, text):
    table = arff(text)
    assert [column.values for column in table.columns] == [("x", "y"), ("p", "n")]
    assert texts(table) == [("x", "p"), ("y", "n"), (None, "p")]


def test_a_quoted_question_mark_is_a_value(arff):
    table = arff("@relation r\n@attribute a {'?',b}\n@attribute c {p,n}\n@data\n'?',p\n?,n\nb,p\n")
    assert texts(table) == [("?", "p"), (None, "n"), ("b", "p")]


def test_an_unquoted_question_mark_is_missing_even_where_the_quoted_one_is_declared(arff):
    table = arff("@relation r\n@attribute a {'?',b}\n@attribute c {p,n}\n@data\n?,p\nb,\n")
    assert texts(table) == [(None, "p"), ("b", None)]


def test_quoted_values_hold_commas_spaces_quotes_braces_and_percent(arff):
    header = r"""@relation 'a b'
@attribute 'the name' {'a,b', 'c d', 'it\'s', "say \"no\"", '{x}', '50%', 5%, 'back\\slash'}
@attribute "c" {p,n}
@data
"""
    rows = [
        "'a,b',p",
        "'c d',n",
        r"'it\'s',p",
        r'"say \"no\"",n',
        "'{x}',p",
        "'50%',n",
        "5%,p",
        r"'back\\slash',n",
    ]
    table = arff(header + "\n".join(rows))
    assert table.columns[0].name == "the name"
    assert table.columns[0].values == ("a,b", "c d", "it's", 'say "no"', "{x}", "50%", "5%", "back\\slash")
    assert [row[0] for row in texts(table)] == list(table.columns[0].values)


def test_numbers_as_nominal_values_stay_names(arff):
    table = arff("@relation r\n@attribute a {-1,0,1}\n@attribute c {0,1}\n@data\n-1,0\n1,1\n")
    assert table.columns[0].values == ("-1", "0", "1") and texts(table) == [("-1", "0"), ("1", "1")]
    with pytest.raises(DataError, match=r"line 5: value '1.0' of attribute 'a' is not declared"):
        arff("@relation r\n@attribute a {-1,0,1}\n@attribute c {0,1}\n@data\n1.0,0\n")


def test_numeric_and_string_attributes_are_observed(arff):
    table = arff(
        "@relation r\n@attribute a numeric\n@attribute s string\n@attribute c {p,n}\n@data\n2,'u v',p\n?,w,n\n"
    )
    assert texts(table) == [("2", "u v", "p"), (None, "w", "n")]
    assert not table.columns[0].declared and not table.columns[1].declared


def test_sparse_rows(arff):
    header = "@relation r\n@attribute a {x,y}\n@attribute b numeric\n@attribute c {p,n}\n@data\n"
    table = arff(header + "{0 y, 2 n}\n{}\n{1 4, 2 ?}\n")
    assert texts(table) == [("y", "0", "n"), ("x", "0", "p"), ("x", "4", None)]


HEADER = "@relation r\n@attribute a {x,y}\n@attribute c {p,n}\n@data\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + "x,p\nx\n", "line 6: 1 values, expected 2"),
        (HEADER + "x,p\nx,p,x\n", "line 6: 3 values, expected 2"),
        (HEADER + "x,p\nz,p\n", "line 6: value 'z' of attribute 'a' is not declared; declared are x, y"),
        (HEADER + "x,p\n'x,p\n", "line 6: cannot read the row 'x,p"),
        (HEADER + "x,p\n'x'y,p\n", "line 6: cannot read the row"),
        (HEADER + "x,p\nx y,p\n", "line 6: cannot read the row"),
        (HEADER + "x,p\n50%,p {1\n", "line 6: cannot read the row"),
        (HEADER + "'x',p\n{0 y}\n", "line 6: the file mixes sparse rows"),
        (HEADER + "{0 y}\nx,p\n", "line 6: the file mixes sparse rows"),
        (HEADER + "{0 y, 7 n}\n", "line 5: the row {0 y, 7 n} does not hold 2 values"),
        (HEADER + "x,p\n'x'\n", "line 6: the row 'x' does not hold 2 values"),
        (HEADER + "{0 y, 0 x}\n", "line 5: an index occurs twice"),
        (HEADER + "{zero y}\n", "line 5: cannot read the row"),
        (HEADER, "no rows after @data"),
        ("@relation r\n@attribute a {x,y}\nx,p\n", "line 3: expected @attribute or @data, found x,p"),
        ("@relation r\n@attribute a {x,y}\n", "no @data line"),
        ("", "no @data line"),
        ("@relation r\n@data\nx\n", "line 2: @data before any @attribute"),
        ("@relation r\n@attribute a {x,y\n@data\nx\n", "line 2: cannot read the values of attribute 'a'"),
        (
            "@relation r\n@attribute a {x,y,x}\n@data\nx\n",
            "line 2: attribute 'a' declares the value 'x' twice",
        ),
        ("@relation r\n@attribute a {}\n@data\nx\n", "line 2: values of attribute 'a': no value"),
        ("@relation r\n@attribute a {x,,y}\n@data\nx\n", "line 2: values of attribute 'a': no value"),
        ("@relation r\n@attribute a {x,?}\n@data\nx\n", "line 2: attribute 'a' declares an unquoted"),
        (
            "@relation r\n@attribute a {New York,x}\n@data\nx\n",
            "line 2: values of attribute 'a': cannot read New York",
        ),
        (
            "@relation r\n@attribute a {x}\n@attribute a {y}\n@data\nx\n",
            "line 3: attribute 'a' is already declared in line 2",
        ),
        ("@relation r\n@attribute a\n@data\nx\n", "line 2: attribute 'a' has type nothing"),
        ("@relation r\n@attribute a date\n@data\nx\n", "line 2: attribute 'a' has type date"),
        ("@relation r\n@attribute '' {x}\n@data\nx\n", "line 2: the attribute's name is empty"),
        ("@relation r\n@attribute a relational\n@end a\n", "line 2: attribute 'a' has type relational"),
        ("@relation r\n@attribute a numeric\n@data\n1\ntwo\n", "line 5: 'two' is no number"),
        (b"@relation r\n@attribute a {x\xe9}\n@data\n", "line 2: byte 0xe9 is not UTF-8"),
        (b"@relation r\n@attribute a {x}\n\x00\n", "line 3: holds a zero byte"),
    ],
)
def test_mistakes_name_file_and_line(arff, text, message):
    with pytest.raises(DataError) as error:
        arff(text)
    assert message in str(error.value)
    assert "toy.arff" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_long_wrong_domain_fails_at_once(arff):
    values = ",".join(f"value{i}" for i in range(2000))
    with pytest.raises(DataError, match="line 2"):
        arff(f"@relation r\n@attribute a {{{values},New York}}\n@data\nx\n")


def test_gzip_is_known_by_content(arff, tmp_path):
    packed = gzip.compress(PLAIN.encode())
    assert texts(arff(packed, "toy.arff.gz")) == texts(arff(packed, "toy.arff")) == texts(arff(PLAIN))
    for broken in (packed[:-9], packed[:20] + b"abc" + packed[20:]):
        with pytest.raises(DataError, match=r"toy\.arff\.gz: the compressed file is damaged"):
            arff(broken, "toy.arff.gz")


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_table(tmp_path / "none.arff")
    with pytest.raises(DataError, match="unknown kind of data file"):
        read_table(tmp_path / "toy.xls")


values = st.text(
    st.characters(exclude_categories=("Cs", "Cc")) | st.sampled_from("\n\r\t',\"{}%?\\ "),
    min_size=1,
    max_size=6,
)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_what_is_written_reads_back(tmp_path_factory, data):
    domain = tuple(data.draw(st.lists(values, min_size=1, max_size=4, unique=True)))
    codes = data.draw(st.lists(st.integers(-1, len(domain) - 1), min_size=1, max_size=5))
    name = data.draw(values.filter(lambda text: text.strip() and not set(text) & set("\n\r\t")))
    columns = (
        Column(name, domain, np.array(codes, dtype=np.int32), True),
        Column(name + "2", ("p", "n"), np.zeros(len(codes), dtype=np.int32), True),
    )
    path = tmp_path_factory.mktemp("arff") / "table.arff"
    write_arff(path, Table("t", columns, len(codes)), "r")
    back = read_table(path)
    assert [column.name for column in back.columns] == [name, name + "2"]
    assert back.columns[0].values == domain
    assert back.columns[0].codes.tolist() == codes


@settings(max_examples=80, deadline=None)
@given(st.text(st.sampled_from("@atribuedxyp{}',?%\\\" \n01"), max_size=40), st.booleans())
def test_any_text_is_a_table_or_a_data_error(tmp_path_factory, text, in_rows):
    path = tmp_path_factory.mktemp("fuzz") / "fuzz.arff"
    path.write_text(HEADER + text if in_rows else "@relation r\n" + text + "\n@data\nx\n")
    try:
        read_table(path)
    except DataError as error:
        assert "fuzz.arff" in str(error)
