import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbayes.data.canonical import MAX_INTEGER_VALUES, make_categorical
from fedbayes.data.specification import DatasetSpecification
from fedbayes.data.table import Column, Table, encode_texts
from fedbayes.errors import DataError

TOY = DatasetSpecification(name="toy", title="Toy", target="c")


def table(lines=None, **columns):
    encoded = [
        values if isinstance(values, Column) else encode_texts(name, values)
        for name, values in columns.items()
    ]
    return Table("toy.csv", tuple(encoded), len(encoded[0].codes), lines)


def declared(name, values, codes):
    return Column(name, tuple(values), np.array(codes, dtype=np.int32), True)


def make(rows, specification=TOY, **settings):
    return make_categorical(rows, specification, source="file", **settings)


def decoded(dataset):
    return [
        (
            *(values[code] for values, code in zip(dataset.categories, row, strict=True)),
            dataset.class_names[label],
        )
        for row, label in zip(dataset.X, dataset.y, strict=True)
    ]


def test_domains_in_text_order_and_rows_sorted():
    dataset = make(table(c=["n", "p", "n"], a=["10", "9", "x"], b=["u", "v", "u"]))
    assert dataset.attribute_names == ("a", "b")
    assert dataset.categories == (("10", "9", "x"), ("u", "v")) and dataset.cardinalities == (3, 2)
    assert dataset.X.tolist() == [[0, 0], [1, 1], [2, 0]] and dataset.y.tolist() == [0, 1, 0]


def test_declared_values_without_a_row_stay():
    column = declared("a", ["z", "b", "m"], [0, 1, 0])
    dataset = make(table(a=column, c=["p", "n", "n"]))
    assert dataset.categories == (("b", "m", "z"),)
    assert decoded(dataset) == [("b", "n"), ("z", "n"), ("z", "p")]


def test_missing_is_the_last_value_of_the_attributes_that_have_one():
    dataset = make(table(a=["x", None, "~"], b=["u", "v", "u"], c=["p", "n", "p"]))
    assert dataset.categories == (("x", "~", "?"), ("u", "v"))
    assert dataset.notes == ("1 missing cells kept as a category of their own",)


def test_a_value_that_looks_like_missing_is_kept_apart():
    dataset = make(table(a=declared("a", ["?", "x"], [0, 1, -1]), c=["p", "n", "p"]))
    assert dataset.categories == (("?", "x", "(?)"),)
    assert decoded(dataset) == [("?", "p"), ("x", "n"), ("(?)", "p")]


def test_missing_by_mode_takes_the_first_of_equals():
    dataset = make(table(a=["y", "x", None, "x", "y"], c=["p", "n", "p", "n", "p"]), missing="mode")
    assert dataset.categories == (("x", "y"),) and np.bincount(dataset.X[:, 0]).tolist() == [3, 2]
    assert dataset.notes == ("1 missing cells replaced by the attribute's most frequent value",)


@pytest.mark.parametrize("missing", ["category", "mode"])
def test_constant_and_all_missing_attributes(missing):
    dataset = make(
        table(a=["x"] * 3, b=[None] * 3, d=declared("d", ["u", "v"], [-1] * 3), c=["p", "n", "p"]),
        missing=missing,
    )
    assert dataset.cardinalities == (1, 1, 3)
    assert dataset.categories == (("x",), ("?",), ("u", "v", "?"))
    assert "attribute 'b' is missing in every row" in dataset.notes


def test_duplicates():
    rows = table(a=["x", "x", "x", "y"], c=["p", "n", "p", "p"])
    assert len(make(rows).y) == 4
    dataset = make(rows, drop_duplicates=True)
    assert decoded(dataset) == [("x", "n"), ("x", "p"), ("y", "p")]
    assert dataset.notes == ("1 rows that repeat another one dropped",)


def test_whole_numbers_are_categories_and_1_is_1_point_0():
    dataset = make(table(a=["1.0", "2", "-1", "1", None], c=["0", "1", "0", "1", "1"]))
    assert dataset.categories == (("-1", "1", "2", "?"),)
    assert np.bincount(dataset.X[:, 0]).tolist() == [1, 2, 1, 1]


def test_whole_numbers_of_any_length_and_sign():
    long = "9" * 5000
    dataset = make(table(a=["+1", "-0", "0", long, long, "-7."], c=["0", "1", "0", "1", "1", "0"]))
    assert dataset.categories == (("-7", "0", "1", long),)
    assert np.bincount(dataset.X[:, 0]).tolist() == [1, 2, 1, 2]


def test_leading_zeros_are_text():
    assert make(table(a=["01", "1", "2"], c=["p", "n", "p"])).categories == (("01", "1", "2"),)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["0.5", "1", "2"], "attribute 'a' holds numbers that are not whole (such as 0.5)"),
        (["1", "2", "1e-3"], "attribute 'a' holds numbers that are not whole (such as 1e-3)"),
        (["1", "2", "inf"], "attribute 'a' holds numbers that are not whole (such as inf)"),
        (
            [str(i) for i in range(MAX_INTEGER_VALUES + 1)],
            "attribute 'a' holds 51 different numbers, more than 50",
        ),
    ],
)
def test_measurements_are_refused_with_the_remedy(cells, message):
    labels = ["p", "n"] * len(cells)
    with pytest.raises(DataError) as error:
        make(table(a=cells, c=labels[: len(cells)]))
    assert message in str(error.value) and "ignore: [a]" in str(error.value)
    left_out = DatasetSpecification(name="toy", title="Toy", target="c", ignore=("a",))
    assert make(table(a=cells, b=["x"] * len(cells), c=labels[: len(cells)]), left_out).attribute_names == (
        "b",
    )


def test_a_numeric_target_is_no_class():
    with pytest.raises(DataError, match="the target 'c' holds numbers that are not whole"):
        make(table(a=["x", "y"], c=["0.5", "1.5"]))


def test_an_identifier_is_noted():
    names = [f"row{i}" for i in range(60)]
    dataset = make(table(a=names, c=["p", "n"] * 30))
    assert "ignore: [a]" in dataset.notes[0] and dataset.cardinalities == (60,)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": ["x"], "b": ["y"]}, "toy.csv: no column 'c' (the target of 'toy'); the columns are a, b"),
        ({"c": ["p", "n"]}, "toy.csv: no attribute is left beside the target 'c'"),
        ({"a": ["x", "y"], "c": ["p", "p"]}, "toy.csv: the target 'c' has only one class ('p')"),
        ({"a": ["x", "y"], "c": ["p", None]}, "toy.csv, row 2: the target 'c' is missing (1 rows in all)"),
        ({"a": [], "c": []}, "toy.csv: holds no rows"),
    ],
)
def test_targets_that_are_none(columns, message):
    with pytest.raises(DataError) as error:
        make(table(**columns))
    assert message in str(error.value)


def test_a_missing_class_names_the_line():
    with pytest.raises(DataError, match=r"toy\.csv, line 9: the target"):
        make(table(lines=np.array([3, 9]), a=["x", "y"], c=["p", None]))


def test_one_class_even_where_two_are_declared():
    with pytest.raises(DataError, match="only one class"):
        make(table(a=["x", "y"], c=declared("c", ["p", "n"], [1, 1])))


def test_target_in_other_capitals_and_declared_class_without_rows():
    dataset = make(table(a=["x", "y"], C=declared("C", ["p", "n", "q"], [0, 1])))
    assert dataset.class_names == ("n", "p", "q")
    assert dataset.notes == ("declared classes without rows: q",)


def test_ignore_is_checked_for_a_file_of_ones_own():
    rows = table(a=["x", "y"], c=["p", "n"])
    make(rows, DatasetSpecification(name="toy", title="Toy", target="c", ignore=("Id",)))
    for ignore, message in ((("Id",), "no column 'Id'"), (("c",), "also listed in ignore")):
        specification = DatasetSpecification(
            name="toy", title="Toy", target="c", file="toy.csv", ignore=ignore
        )
        with pytest.raises(DataError, match=message):
            make(rows, specification)


def test_expected_numbers():
    specification = DatasetSpecification(name="toy", title="Toy", target="c", rows=2, attributes=3, classes=4)
    with pytest.raises(DataError, match="1 attributes instead of 3, 2 classes instead of 4"):
        make(table(a=["x", "y"], c=["p", "n"]), specification)


def test_a_known_fingerprint_that_differs_is_noted():
    rows = table(a=["x", "y"], c=["p", "n"])
    known = make(rows).fingerprint
    same = DatasetSpecification(name="toy", title="Toy", target="c", fingerprint=known)
    assert make(rows, same).notes == ()
    assert "not the same rows" in make(table(a=["x", "z"], c=["p", "n"]), same).notes[0]


cells = st.sampled_from(["x", "y", "z", "?", None])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(cells, cells, st.sampled_from("pn")), min_size=2, max_size=12), st.randoms())
def test_row_order_and_declaration_order_do_not_matter(rows, random):
    rows += [("x", "y", "p"), ("x", "y", "n")]
    shuffled = random.sample(rows, len(rows))
    domain = ["x", "y", "z", "?"]
    other = random.sample(domain, 4)

    def build(data, values):
        codes = [
            [-1 if cell is None else values.index(cell) for cell in column]
            for column in list(zip(*data, strict=True))[:2]
        ]
        return table(
            a=declared("a", values, codes[0]), b=declared("b", values, codes[1]), c=[r[2] for r in data]
        )

    one, two = make(build(rows, domain)), make(build(shuffled, other))
    assert one.fingerprint == two.fingerprint
    shown = sorted(("(?)" if a is None else a, "(?)" if b is None else b, c) for a, b, c in rows)
    assert sorted(decoded(one)) == shown
