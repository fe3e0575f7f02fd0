"""CIC-IDS2017 in its three public forms, and the two samples derived from it."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbayes.data.intrusion import cic_ids2017
from fedbayes.data.intrusion.cleaning import Rows, first_of_duplicates
from fedbayes.data.intrusion.flow_features import NUMERIC
from fedbayes.errors import DataError, DataUnavailable

DASHES = ("\x96", "–", "-", "�")


def test_the_paper_has_77_features():
    assert len(set(NUMERIC)) == 76 and "Destination Port" not in NUMERIC


@pytest.fixture
def days(make):
    """Rows of two files, by form."""

    def rows(form):
        monday = [
            make.flow_row(form, **{"Flow Duration": 1}),
            make.flow_row(form, **{"Flow Duration": 2}, protocol=17),
        ]
        thursday = [
            make.flow_row(form, **{"Flow Duration": 1}),  # repeats Monday's
            make.flow_row(
                form, "Web Attack – XSS", **{"Flow Duration": 1}
            ),  # repeats it with the other class
            make.flow_row(
                form, "Web Attack – Brute Force", **{"Flow Duration": 1}
            ),  # repeats the row above, as binary
            make.flow_row(form, "DDoS", **{"Flow Duration": 3, "Total Length of Bwd Packets": 7}),
        ]
        return monday, thursday

    return rows


def write_days(folder, form, days, make):
    header = make.flow_header(form)
    if form == "cleaned":
        folder.mkdir(parents=True)
        for name, rows in zip(("Benign-Monday", "WebAttacks-Thursday"), days(form), strict=True):
            columns = dict(zip(header, zip(*rows, strict=True), strict=True))
            typed = {key: np.array(cells, np.float32) for key, cells in columns.items() if key != "Label"}
            labels = [label.replace("BENIGN", "Benign") for label in columns["Label"]]
            table = pa.table({**typed, "Label": pa.array(labels).dictionary_encode()})
            pq.write_table(table, folder / f"{name}-no-metadata.parquet")
        return
    for name, rows in zip(("Monday-WorkingHours", "Thursday-WebAttacks"), days(form), strict=True):
        path = folder / f"{name}.pcap_ISCX.csv"
        make.write_csv(path, rows, [f" {name}" for name in header], encoding="cp1252", end="\r\n")


@pytest.mark.parametrize("form", ["cleaned", "labelled-flows"])
def test_forms_give_the_same_data(tmp_path, days, make, load, form):
    write_days(tmp_path / "cic-ids2017", form, days, make)
    data = load("cic-ids2017", tmp_path)
    assert data.y.tolist() == [0, 0, 1, 1]
    assert data.class_names == ("benign", "attack")
    assert data.categories == (("17", "6"),)
    assert data.X_categorical[:, 0].tolist() == [1, 0, 1, 1]
    assert data.numeric_names == NUMERIC
    assert data.X_numeric[:, 0].tolist() == [1, 2, 1, 3]
    assert data.X_numeric[3, NUMERIC.index("Total Length of Bwd Packets")] == 7
    assert not data.complete and data.notes[0].startswith("partial data: only ")
    assert "2 rows that repeat an earlier one in all features and the class dropped" in data.notes
    assert len(load("cic-ids2017", tmp_path, drop_duplicates=False).y) == 6
    if form == "labelled-flows":
        assert any("repeated columns left out: Fwd Header Length" in note for note in data.notes)
        assert any("left out: Flow ID, Source IP, Source Port," in note for note in data.notes)


def test_without_protocol_the_feature_is_named_as_missing(tmp_path, days, make, load):
    write_days(tmp_path / "cic-ids2017", "machine-learning", days, make)
    data = load("cic-ids2017", tmp_path)
    assert data.X_categorical.shape == (4, 0) and data.X_numeric.shape == (4, 76)
    assert "partial data: 76 of 77 features, missing: Protocol" in data.notes


def official(monkeypatch, form):
    name = "CLEANED_ROWS" if form == "cleaned" else "ORIGINAL_ROWS"
    monkeypatch.setattr(cic_ids2017, name, {2: "Monday", 4: "Thursday"})


@pytest.mark.parametrize(
    ("form", "complete"), [("cleaned", True), ("labelled-flows", True), ("machine-learning", False)]
)
def test_all_official_files_with_all_features_are_complete(tmp_path, days, make, monkeypatch, form, complete):
    official(monkeypatch, form)
    write_days(tmp_path / "cic-ids2017", form, days, make)
    make.write_csv(
        tmp_path / "cic-ids2017" / "web_attacks_balanced.csv",
        [make.flow_row(form, **{"Flow Duration": 9})]
        if form != "cleaned"
        else [make.flow_row("labelled-flows")],
        make.flow_header(form if form != "cleaned" else "labelled-flows"),
    )
    data = cic_ids2017.load(
        name="c", title="C", data_dir=tmp_path, drop_duplicates=True, missing="category", sample_rows=None
    )
    assert data.complete is complete
    assert data.X_numeric[:, 0].tolist() == [1, 2, 1, 3]
    if form == "cleaned":
        assert "4 rows without duplicates; the published count is 2,231,806" in data.notes
    else:
        assert "not used: web_attacks_balanced.csv" in data.notes


def test_complete_data_must_have_the_expected_rows(tmp_path, days, make, load, monkeypatch):
    official(monkeypatch, "cleaned")
    write_days(tmp_path / "cic-ids2017", "cleaned", days, make)
    with pytest.raises(DataError, match="cic-ids2017: 4 rows, expected 100,000"):
        load("cic-ids2017", tmp_path)


def test_rates_that_are_not_finite_cost_their_rows(tmp_path, make, load):
    form = "labelled-flows"
    rows = [
        make.flow_row(form, **{"Flow Bytes/s": "Infinity", "Flow Packets/s": "NaN"}),
        ["" for _ in make.flow_header(form)],
        make.flow_row(form, "PortScan", **{"Init_Win_bytes_forward": -1}),
    ]
    rows += [make.flow_header(form), make.flow_row(form, protocol="")]
    make.write_csv(tmp_path / "cic-ids2017" / "x.csv", rows, make.flow_header(form))
    data = load("cic-ids2017", tmp_path)
    assert data.y.tolist() == [1, 0]
    assert data.categories == (("6", "?"),)
    assert data.X_numeric[0, NUMERIC.index("Init_Win_bytes_forward")] == -1  # a code, kept
    notes = " | ".join(data.notes)
    assert (
        "1 rows with an empty or infinite number dropped (cells: Flow Bytes/s 1, Flow Packets/s 1)" in notes
    )
    assert "1 blank lines left out" in notes and "1 repeated header lines left out" in notes


@pytest.mark.parametrize("dash", DASHES)
def test_dashes_of_every_kind_in_labels(tmp_path, make, load, dash):
    rows = [
        make.flow_row("labelled-flows", f"Web Attack {dash} Sql Injection"),
        make.flow_row("labelled-flows"),
    ]
    make.write_csv(tmp_path / "cic-ids2017" / "x.csv", rows, make.flow_header("labelled-flows"))
    path = tmp_path / "cic-ids2017" / "x.csv"
    path.write_bytes(path.read_bytes().replace(b"\xc2\x96", b"\x96"))
    assert load("cic-ids2017", tmp_path).y.tolist() == [1, 0]


def test_unknown_labels_and_text_are_refused(tmp_path, make, load):
    header = make.flow_header("labelled-flows")
    path = tmp_path / "cic-ids2017" / "x.csv"
    make.write_csv(path, [make.flow_row("labelled-flows", "Teleportation")], header)
    with pytest.raises(DataError, match=r"x\.csv, line 2, column 'Label': unknown label 'Teleportation'"):
        load("cic-ids2017", tmp_path)
    make.write_csv(path, [make.flow_row("labelled-flows", **{"Flow Duration": "long"})], header)
    with pytest.raises(DataError, match=r"x\.csv, line 2, column 'Flow Duration': 'long' is not a number"):
        load("cic-ids2017", tmp_path)
    make.write_csv(path, [[*make.flow_row("labelled-flows"), "1"]], [*header, "Mood"])
    with pytest.raises(DataError, match=r"x\.csv: 1 column unknown: 'Mood'"):
        load("cic-ids2017", tmp_path)


def test_large_data_are_sampled_by_class_in_the_order_of_the_files(tmp_path, make):
    form = "labelled-flows"
    rows = [
        make.flow_row(form, "DDoS" if k % 5 == 0 else "BENIGN", **{"Flow Duration": k}) for k in range(100)
    ]
    make.write_csv(tmp_path / "cic-ids2017" / "a.csv", rows[:60], make.flow_header(form))
    make.write_csv(tmp_path / "cic-ids2017" / "b.csv", rows[60:], make.flow_header(form))
    settings = {
        "name": "c",
        "title": "C",
        "data_dir": tmp_path,
        "drop_duplicates": True,
        "missing": "category",
    }
    data = cic_ids2017.load(**settings, sample_rows=50)
    numbers = data.X_numeric[:, 0]
    assert np.bincount(data.y).tolist() == [40, 10]
    assert (np.diff(numbers) > 0).all() and ((numbers % 5 == 0) == (data.y == 1)).all()
    assert "stratified sample of 50 of 100 rows (seed 42)" in data.notes
    assert cic_ids2017.load(**settings, sample_rows=50).fingerprint == data.fingerprint


def test_files_are_read_again_where_they_do_not_fit_in_memory(tmp_path, days, make, load, monkeypatch):
    write_days(tmp_path / "cic-ids2017", "cleaned", days, make)
    first = load("cic-ids2017", tmp_path)
    monkeypatch.setattr(cic_ids2017, "_ROWS_IN_MEMORY", 0)
    assert load("cic-ids2017", tmp_path, missing="mode").fingerprint == first.fingerprint


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from([0.0, 1.0, 0.1, 1e300]), st.integers(0, 1)),
        min_size=1,
    )
)
def test_keys_find_the_duplicates_that_comparing_finds(cells):
    texts, numbers, labels = (list(column) for column in zip(*cells, strict=True))
    rows = Rows([pa.array(texts)], np.array(numbers)[:, None], np.array(labels, np.int32), len(cells))
    keys = pd.DataFrame(cic_ids2017.row_keys(rows))
    codes = np.array([["ab".index(text)] for text in texts])
    expected = first_of_duplicates(codes, rows.numeric, rows.y)
    assert (~keys.duplicated().to_numpy() == expected).all()
    assert expected.sum() == len(set(cells))


def test_without_files_the_remedy_is_named(tmp_path, load):
    for name in ("cic-ids2017", "cic-ids2017-corrected", "cic-ids2017-reduced"):
        with pytest.raises(DataUnavailable, match=f"{name}: .*into a folder '{name}/'"):
            load(name, tmp_path)


def test_the_web_attacks_sample(data_dir, load):
    data = load("cic-ids2017", data_dir)
    assert data.X_numeric.shape[1] == 76 and data.categorical_names == ("Protocol",)
    if not data.complete and "web_attacks_balanced" in data.notes[0]:
        assert data.categories == (("0", "17", "6"),)
        assert len(load("cic-ids2017", data_dir, drop_duplicates=False).y) == 7267
        assert np.bincount(data.y).tolist() == [5002, 2143]


def test_the_corrected_sample(data_dir, load):
    data = load("cic-ids2017-corrected", data_dir)
    counts = dict(zip(data.class_names, np.bincount(data.y, minlength=16).tolist(), strict=True))
    assert (
        sum(counts.values()) == 43_419
        and counts["Heartbleed"] == 11
        and counts["Infiltration - Portscan"] == 5000
    )
    assert (len(data.categorical_names), len(data.numeric_names)) == (3, 79)
    assert not {"id", "Flow ID", "Src IP", "Dst IP", "Timestamp", "Src Port"} & set(data.numeric_names)
    assert not data.complete


def test_the_reduced_sample(data_dir, load):
    data = load("cic-ids2017-reduced", data_dir)
    assert np.bincount(data.y).tolist() == [1714, 1714, 1715, 1714, 1715, 1714, 1714]
    assert (data.categorical_names, len(data.numeric_names)) == (("Destination Port",), 51)
    assert not data.complete


def test_attempted_attacks_are_left_out_of_the_corrected_release(tmp_path, make, load):
    from fedbayes.data.intrusion.cic_variants import CORRECTED_CATEGORICAL, CORRECTED_NUMERIC

    header = ["id", "Flow ID", *CORRECTED_CATEGORICAL, *CORRECTED_NUMERIC, "Label", "Attempted Category"]
    rows = [
        ["0"] * (len(header) - 2) + [label, "-1"] for label in ("BENIGN", "DoS Hulk - Attempted", "DoS Hulk")
    ]
    make.write_csv(tmp_path / "cic-ids2017-corrected" / "x.csv", rows, header)
    data = load("cic-ids2017-corrected", tmp_path)
    assert [data.class_names[code] for code in data.y] == ["BENIGN", "DoS Hulk"]
    assert "x.csv: 1 flows of attempted attacks dropped" in data.notes


def test_files_that_claim_to_be_official_are_never_passed_over(tmp_path, days, make, load):
    form = "labelled-flows"
    write_days(tmp_path / "cic-ids2017", form, days, make)
    path = tmp_path / "cic-ids2017" / "Tuesday-WorkingHours.pcap_ISCX.csv"
    header = make.flow_header(form)
    path.write_text(";".join(header) + "\n" + ";".join(make.flow_row(form)) + "\n")
    with pytest.raises(DataError, match=r"Tuesday.*csv, line 1: cells are separated by a semicolon"):
        load("cic-ids2017", tmp_path)
    path.write_text("")
    with pytest.raises(DataError, match=r"Tuesday.*csv: the file is empty"):
        load("cic-ids2017", tmp_path)
    make.write_csv(path, [make.flow_row(form)[:-1]], header[:-1])
    with pytest.raises(DataError, match=r"Tuesday.*csv: 1 column missing: 'Label'"):
        load("cic-ids2017", tmp_path)
    make.write_csv(path, [make.flow_row(form)[-9:]], header[-9:])
    with pytest.raises(DataError, match=r"Tuesday.*csv: only 8 of the 77 features found"):
        load("cic-ids2017", tmp_path)


def test_a_feature_that_one_file_lacks_is_left_out_of_all_and_named(tmp_path, days, make, load):
    form = "labelled-flows"
    write_days(tmp_path / "cic-ids2017", form, days, make)
    make.write_csv(
        tmp_path / "cic-ids2017" / "z.csv",
        [[*make.flow_row(form)[:-2], "DDoS"]],
        [*make.flow_header(form)[:-2], "Label"],
    )
    data = load("cic-ids2017", tmp_path)
    assert "partial data: 76 of 77 features, missing: Idle Min" in data.notes
    assert data.X_numeric.shape == (5, 75)
