"""UNSW-NB15: parts known by their rows, ten classes, quirks of the official files."""

import numpy as np
import pytest

from fedbayes.data.intrusion import unsw_nb15
from fedbayes.errors import DataError, DataUnavailable

HEADER = ["id", *unsw_nb15.FEATURES, "attack_cat", "label"]


@pytest.fixture
def official(monkeypatch):
    """Parts of three and two rows are the official ones."""
    monkeypatch.setattr(unsw_nb15, "PART_ROWS", {3: "training set", 2: "testing set"})


@pytest.fixture
def rows(make):
    three = [
        make.unsw_row(dur=1),
        make.unsw_row(dur=2, attack_cat=" Backdoors ", label=1, is_ftp_login=4),
        make.unsw_row(dur=2, attack_cat="Backdoor", label=1, is_ftp_login=4),
    ]
    two = [make.unsw_row(dur=3, attack_cat="", state="CON"), make.unsw_row(dur=4, attack_cat="DoS", label=1)]
    return three, two


def test_parts_are_known_by_their_rows_whatever_their_names(
    tmp_path, rows, make, load, official, monkeypatch
):
    counts = np.bincount([6, 1, 1, 6, 2], minlength=10)
    monkeypatch.setattr(unsw_nb15, "COMPLETE_COUNTS", tuple(counts.tolist()))
    swapped = tmp_path / "unsw-nb15"
    make.write_csv(swapped / "UNSW_NB15_testing-set.csv", rows[0], HEADER, encoding="utf-8-sig", end="\r\n")
    make.write_csv(swapped / "UNSW_NB15_training-set.csv.gz", rows[1], HEADER)
    make.write_csv(swapped / "a.csv", rows[1], HEADER)
    make.write_csv(swapped / "UNSW-NB15_features.csv", [["1", "srcip"]], ["No.", "Name"])
    with pytest.raises(DataError, match="unsw-nb15: 5 rows, expected 257,673"):
        load("unsw-nb15", tmp_path)
    data = load("unsw-nb15", tmp_path, drop_duplicates=True)
    data_all = unsw_nb15.load(
        name="u", title="U", data_dir=tmp_path, drop_duplicates=False, missing="category"
    )
    assert data_all.complete and data.complete
    assert data_all.X_numeric[:, 0].tolist() == [1, 2, 2, 3, 4]
    assert [data_all.class_names[code] for code in data_all.y] == [
        "Normal",
        "Backdoor",
        "Backdoor",
        "Normal",
        "DoS",
    ]
    assert data.X_numeric[:, 0].tolist() == [1, 2, 3, 4]
    assert len(data.numeric_names) == 39 and data.categorical_names == ("proto", "service", "state")
    assert data.categories == (("tcp",), ("-",), ("CON", "FIN"))
    assert data.X_numeric[1, data.numeric_names.index("is_ftp_login")] == 4
    notes = " | ".join(data.notes)
    assert "identifiers left out: id" in notes
    assert "1 empty attack_cat cells with label 0 read as Normal" in notes
    assert "not used: UNSW_NB15_training-set.csv.gz" in notes


def test_one_part_is_partial(tmp_path, rows, make, load, official):
    make.write_csv(tmp_path / "UNSW_NB15_training-set.csv", rows[1], HEADER)
    data = load("unsw-nb15", tmp_path)
    assert not data.complete and len(data.class_names) == 10
    assert data.notes[0].startswith(
        "partial data: UNSW_NB15_training-set.csv with 2 rows (the official testing set)"
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"attack_cat": "Aliens", "label": 1}, "line 3, column 'attack_cat': unknown label 'Aliens'"),
        ({"attack_cat": "DoS", "label": 0}, "line 3: attack_cat 'DoS' contradicts label 0"),
        ({"attack_cat": "", "label": 1}, "line 3: attack_cat '' contradicts label 1"),
        ({"rate": "fast"}, "line 3, column 'rate': 'fast' is not a number"),
    ],
)
def test_wrong_cells(tmp_path, make, load, change, words):
    make.write_csv(tmp_path / "unsw-nb15.csv", [make.unsw_row(), make.unsw_row(**change)], HEADER)
    with pytest.raises(DataError, match=words):
        load("unsw-nb15", tmp_path)


def test_without_files_the_remedy_is_named(tmp_path, load):
    with pytest.raises(DataUnavailable, match="both UNSW_NB15_training-set and"):
        load("unsw-nb15", tmp_path)


def test_the_official_testing_set(data_dir, load):
    data = load("unsw-nb15", data_dir)
    if not data.complete:
        assert np.bincount(data.y).tolist() == [677, 583, 4089, 11132, 6062, 18871, 37000, 3496, 378, 44]
        assert data.n_categories == (131, 13, 7)
        assert "the official testing set" in data.notes[0]
    assert np.unique(data.X_numeric[:, data.numeric_names.index("is_ftp_login")]).tolist()[:3] == [0, 1, 2]


def test_files_that_claim_to_be_official_are_never_passed_over(tmp_path, make, load):
    path = tmp_path / "unsw-nb15" / "UNSW_NB15_training-set.csv"
    make.write_csv(path, [make.unsw_row()[:-2]], HEADER[:-2])
    with pytest.raises(DataError, match=r"2 columns missing: 'attack_cat', 'label'"):
        load("unsw-nb15", tmp_path)
    path.write_text(";".join(HEADER) + "\n" + ";".join(make.unsw_row()) + "\n")
    with pytest.raises(DataError, match=r"line 1: cells are separated by a semicolon"):
        load("unsw-nb15", tmp_path)
    path.write_text("")
    with pytest.raises(DataError, match=r"training-set\.csv: the file is empty"):
        load("unsw-nb15", tmp_path)
