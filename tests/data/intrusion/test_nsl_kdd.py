"""NSL-KDD in its public forms, its faults, and the official files."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fedbayes.data.intrusion import nsl_kdd
from fedbayes.errors import DataError, DataUnavailable

HEADER = [*nsl_kdd.FEATURES, "label", "difficulty"]


@pytest.fixture
def rows(make):
    train = [
        make.nsl_row(src_bytes=491, service="ftp_data"),
        make.nsl_row(label="neptune", flag="S0", serror_rate="1.00"),
        make.nsl_row(label="smurf", flag="S0", serror_rate="1.0", difficulty=3),  # the row above, as binary
    ]
    test = [
        make.nsl_row(label="mscan", service="Z39_50", su_attempted=2),
        make.nsl_row(label="normal", flag="S0", serror_rate=1),  # features of an attack, other class: kept
        make.nsl_row(src_bytes=491, service="ftp_data"),
    ]
    return train, test


def as_text(rows, width):
    return [row[:width] for row in rows]


def as_arff(path, rows):
    names = [f"@attribute '{name}' real" for name in nsl_kdd.FEATURES]
    names[1] = "@attribute 'protocol_type' {'tcp','udp', 'icmp'}"
    binary = [[*row[:41], "normal" if row[41] == "normal" else "anomaly"] for row in rows]
    lines = ["@relation 'KDD'", *names, "@attribute 'class' {'normal', 'anomaly'}", "@data"]
    path.write_text("\n".join([*lines, *(",".join(row) for row in binary)]))


def as_parquet(path, rows):
    values = dict(zip(HEADER, zip(*rows, strict=True), strict=True))
    for name in (*nsl_kdd.NUMERIC, "difficulty"):
        values[name] = [float(cell) for cell in values[name]]
    pq.write_table(pa.table({name: list(column) for name, column in values.items()}), path)


def test_every_form_gives_the_same_data(tmp_path, rows, make, load):
    expected = None
    for form in ("txt43", "txt42", "txt.gz", "csv", "csv-index", "arff", "parquet"):
        folder = tmp_path / form / "nids" / "nsl-kdd"
        folder.mkdir(parents=True)
        for name, part in zip(("KDDTrain+", "KDDTest+"), rows, strict=True):
            if form == "txt.gz":
                make.write_csv(folder / f"{name}.txt.gz", part)
            elif form.startswith("txt"):
                make.write_csv(folder / f"{name}.txt", as_text(part, int(form[3:])), end="\r\n")
            elif form == "csv":
                make.write_csv(folder / f"{name}.csv", part, [*HEADER[:41], "Class", "Difficulty Level"])
            elif form == "csv-index":
                numbered = [[str(index), *row[:42]] for index, row in enumerate(part)]
                make.write_csv(folder / f"{name}.csv", numbered, ["", *HEADER[:42]], encoding="utf-8-sig")
            elif form == "arff":
                as_arff(folder / f"{name}.arff", part)
            else:
                as_parquet(folder / f"{name}.parquet", part)
        data = load("nsl-kdd", tmp_path / form)
        assert data.class_names == ("normal", "attack")
        assert data.y.tolist() == [0, 1, 1, 0]
        assert data.categories == (("tcp",), ("Z39_50", "ftp_data", "http"), ("S0", "SF"))
        assert data.X_categorical[:, 1].tolist() == [1, 2, 0, 2]
        assert data.numeric_names[0] == "duration" and len(data.numeric_names) == 38
        assert data.X_numeric[:, data.numeric_names.index("su_attempted")].tolist() == [0, 0, 2, 0]
        assert not data.complete and data.source == "file"
        expected = expected or data.fingerprint
        assert data.fingerprint == expected, form


def test_duplicates_are_kept_on_demand(tmp_path, rows, make, load):
    for name, part in zip(("KDDTrain+", "KDDTest+"), rows, strict=True):
        make.write_csv(tmp_path / f"{name}.txt", part)  # beside one another, in no folder of their own
    assert load("nsl-kdd", tmp_path, drop_duplicates=False).y.tolist() == [0, 1, 1, 1, 0, 0]
    data = load("nsl-kdd", tmp_path)
    assert "2 rows that repeat an earlier one in all features and the class dropped" in data.notes
    assert "2 files: difficulty score (it leaks the label) left out: difficulty" in data.notes


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["KDDTrain+.txt"], "partial data: only KDDTrain+.txt found, KDDTest+ missing"),
        (["KDDTest+.txt"], "partial data: only KDDTest+.txt found, KDDTrain+ missing"),
        (
            ["KDDTrain+_20Percent.txt"],
            "partial data: only KDDTrain+_20Percent.txt found, KDDTrain+ and KDDTest+ missing",
        ),
        (["KDDTrain+_20Percent.txt", "KDDTest-21.txt"], "KDDTrain+ and KDDTest+ missing"),
        (
            ["KDDTrain+.txt", "KDDTrain+_20Percent.txt", "KDDTest+.txt", "KDDTest-21.txt"],
            "official are 125,973",
        ),
        (["nsl-kdd.csv"], "partial data: nsl-kdd.csv 3 rows"),
    ],
)
def test_partial_data_say_so(tmp_path, rows, make, load, names, words):
    for name in names:
        make.write_csv(tmp_path / "nsl-kdd" / name, rows[0])
    data = load("nsl-kdd", tmp_path)
    assert not data.complete
    assert words in data.notes[0]
    assert len(data.y) == 2


def test_without_files_the_remedy_is_named(tmp_path, load):
    for folder in (tmp_path, None):
        with pytest.raises(
            DataUnavailable, match=r"nsl-kdd.*KDDTrain\+ and KDDTest\+.*data_dir=PATH.*fetch_data"
        ):
            load("nsl-kdd", folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"label": "martian"}, r"KDDTrain\+\.txt, line 2, column 'label': unknown label 'martian'"),
        ({"src_bytes": "many"}, r"KDDTrain\+\.txt, line 2, column 'src_bytes': 'many' is not a number"),
    ],
)
def test_wrong_cells(tmp_path, make, load, change, words):
    make.write_csv(tmp_path / "KDDTrain+.txt", [make.nsl_row(), make.nsl_row(**change)])
    with pytest.raises(DataError, match=words):
        load("nsl-kdd", tmp_path)


@pytest.mark.parametrize("change", ["first column lost", "numbered"])
def test_shifted_columns_without_names(tmp_path, make, load, change):
    row = make.nsl_row()
    width, found = (42, row[42]) if change == "first column lost" else (43, row[40])
    make.write_csv(tmp_path / "KDDTrain+.txt", [row[1:] if width == 42 else ["0", *row[:42]]])
    words = rf"KDDTrain\+\.txt: {width} columns without a header, of which number 42 holds {found} and not a label; expected 42"
    with pytest.raises(DataError, match=words):
        load("nsl-kdd", tmp_path)


def test_wrong_columns(tmp_path, make, load):
    path = tmp_path / "KDDTrain+.csv"
    make.write_csv(path, [make.nsl_row()[:41]])
    with pytest.raises(DataError, match="41 columns without a header; expected 42"):
        load("nsl-kdd", tmp_path)
    make.write_csv(path, [make.nsl_row()], [*HEADER[:5], "bytes_back", *HEADER[6:]])
    with pytest.raises(DataError, match=r"KDDTrain\+\.csv: 1 column missing: 'dst_bytes'"):
        load("nsl-kdd", tmp_path)
    make.write_csv(path, [[*make.nsl_row(), "7"]], [*HEADER, "extra"])
    with pytest.raises(DataError, match=r"KDDTrain\+\.csv: 1 column unknown: 'extra'"):
        load("nsl-kdd", tmp_path)


def test_numbers_that_are_missing_cost_their_rows_and_categories_do_not(tmp_path, make, load):
    rows = [
        make.nsl_row(),
        make.nsl_row(dst_bytes="Infinity", label="back"),
        make.nsl_row(dst_bytes="", duration="NaN"),
        make.nsl_row(service="", duration=1),
        make.nsl_row(service="?", label="pod"),
        make.nsl_row(duration=2, service="smtp"),
        make.nsl_row(duration=3),
    ]
    make.write_csv(tmp_path / "KDDTrain+.txt", rows)
    data = load("nsl-kdd", tmp_path)
    assert data.categories[1] == ("http", "smtp", "?")
    assert data.X_categorical[:, 1].tolist() == [0, 2, 2, 1, 0]
    assert "2 missing cells of service kept as a category" in data.notes
    assert (
        "KDDTrain+.txt: 2 rows with an empty or infinite number dropped (cells: duration 1, dst_bytes 2)"
        in data.notes
    )
    data = load("nsl-kdd", tmp_path, missing="mode")
    assert data.categories[1] == ("http", "smtp")
    assert data.X_categorical[:, 1].tolist() == [0, 0, 0, 1, 0]
    assert "2 missing cells of service set to the most frequent value" in data.notes


def test_no_usable_rows(tmp_path, make, load):
    make.write_csv(tmp_path / "KDDTrain+.txt", [make.nsl_row(duration="inf")])
    with pytest.raises(DataError, match="nsl-kdd: no usable rows are left"):
        load("nsl-kdd", tmp_path)


def test_rows_of_one_class(tmp_path, make, load):
    make.write_csv(tmp_path / "KDDTrain+.txt", [make.nsl_row(duration=i) for i in range(3)])
    with pytest.raises(DataError, match="nsl-kdd: all 3 rows are of the class 'normal'"):
        load("nsl-kdd", tmp_path)


def test_official_rows_with_other_content_are_refused(tmp_path, rows, make, load, monkeypatch):
    monkeypatch.setattr(nsl_kdd, "TRAIN_ROWS", 3)
    monkeypatch.setattr(nsl_kdd, "TEST_ROWS", 3)
    for name, part in zip(("KDDTrain+", "KDDTest+"), rows, strict=True):
        make.write_csv(tmp_path / f"{name}.txt", part)
    with pytest.raises(
        DataError, match="2 normal and 2 attack rows without duplicates, expected 76,967 and 70,921"
    ):
        load("nsl-kdd", tmp_path)
    monkeypatch.setattr(nsl_kdd, "DISTINCT_NORMAL", 2)
    monkeypatch.setattr(nsl_kdd, "DISTINCT_ATTACK", 2)
    with pytest.raises(DataError, match="4 rows, expected 147,888"):
        load("nsl-kdd", tmp_path)
    for name, part in zip(("KDDTrain+", "KDDTest+"), rows, strict=True):
        make.write_csv(
            tmp_path / f"{name}.txt", [[*row[:4], "0.5" if row[4] != "0" else "0", *row[5:]] for row in part]
        )
    with pytest.raises(DataError, match="has been scaled"):
        load("nsl-kdd", tmp_path)


def test_the_official_files(data_dir, load, monkeypatch):
    """Equal to a reading of the two files with pandas alone."""
    data = load("nsl-kdd", data_dir)
    assert data.complete
    assert len(data.y) == 147_888
    assert np.bincount(data.y).tolist() == [76_967, 70_921]
    assert data.X_numeric.shape == (147_888, 38) and data.n_categories == (3, 70, 11)
    assert all(list(values) == sorted(values) for values in data.categories)
    parts = [
        pd.read_csv(next(data_dir.rglob(f"{name}.txt.gz")), header=None) for name in ("KDDTrain+", "KDDTest+")
    ]
    frame = pd.concat(parts, ignore_index=True).drop(columns=42)
    frame[41] = (frame[41] != "normal").astype(int)
    frame = frame.drop_duplicates()
    np.testing.assert_array_equal(data.X_numeric, frame.drop(columns=[1, 2, 3, 41]).to_numpy(float))
    np.testing.assert_array_equal(data.y, frame[41])
    for position, column in enumerate((1, 2, 3)):
        categories = pd.Categorical(frame[column])  # in text order
        assert tuple(categories.categories) == data.categories[position]
        np.testing.assert_array_equal(data.X_categorical[:, position], categories.codes)
    monkeypatch.setattr(nsl_kdd, "read", None)  # a second load comes from the converted copy
    again = load("nsl-kdd", data_dir)
    assert again.fingerprint == data.fingerprint
    assert (again.notes, again.complete, again.title) == (data.notes, data.complete, data.title)
