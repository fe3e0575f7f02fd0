import os
import shutil
import sys

import numpy as np
import pytest

import fedbayes.data
from fedbayes.data import load, load_dataset, load_specification
from fedbayes.data.cache import cache_folder
from fedbayes.errors import ConfigurationError, DataError, DataUnavailable

CSV = "id,colour,size,label\n1,red,1,yes\n2,blue,2,no\n3,red,,no\n4,blue,1,yes\n"
YAML = "mine:\n  title: My data\n  file: mine.csv\n  target: label\n  ignore: [id]\n  rows: 4\n"


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch):
    monkeypatch.delenv("FEDBAYES_DATA", raising=False)


@pytest.fixture
def own(tmp_path):
    (tmp_path / "mine.csv").write_text(CSV)
    (tmp_path / "mine.yaml").write_text(YAML)
    return tmp_path


def test_a_users_file_with_one_yaml_file(own):
    dataset = load_dataset(str(own / "mine.yaml"))
    assert (dataset.name, dataset.title, dataset.source) == ("mine", "My data", "file")
    assert dataset.attribute_names == ("colour", "size")
    assert dataset.categories == (("blue", "red"), ("1", "2", "?"))
    assert dataset.class_names == ("no", "yes")
    assert dataset.X.tolist() == [[0, 0], [0, 1], [1, 0], [1, 2]]
    assert dataset.y.tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize("name", ["~nobody-of-that-name/mine.csv", "a" * 300 + ".csv"])
def test_paths_that_cannot_be(own, name, monkeypatch):
    specification = load_specification({"mine": {"file": name, "target": "label"}})
    with pytest.raises(DataError, match="mine: file '.*' cannot be used"):
        load(specification)
    with pytest.raises(ConfigurationError, match="cannot be used"):
        load_dataset(f"{name}/mine.yaml")
    with pytest.raises(ConfigurationError, match="data_dir: '.*' cannot be used"):
        load_dataset("car", data_dir=name)
    monkeypatch.setenv("FEDBAYES_CACHE", "~nobody-of-that-name/x")
    assert cache_folder().name == "x"


def test_the_file_may_lie_in_the_data_folder_or_the_current_one(own, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.move(own / "mine.csv", elsewhere / "mine.csv")
    with pytest.raises(DataUnavailable, match="no file found at 'mine.csv'"):
        load_dataset(own / "mine.yaml")
    assert load_dataset(own / "mine.yaml", data_dir=elsewhere).source == "file"
    monkeypatch.setenv("FEDBAYES_DATA", str(elsewhere))
    assert load_dataset(own / "mine.yaml").source == "file"
    monkeypatch.delenv("FEDBAYES_DATA")
    monkeypatch.chdir(elsewhere)
    assert load(load_specification({"mine": {"file": "mine.csv", "target": "label"}})).source == "file"


def test_the_same_data_in_every_format(own):
    import pandas as pd

    reference = load_dataset(own / "mine.yaml")
    frame = pd.read_csv(own / "mine.csv")
    frame.to_parquet(own / "mine.parquet")
    (own / "mine.arff").write_text(
        "@relation m\n@attribute id numeric\n@attribute colour {red,blue}\n@attribute size {2,1}\n"
        "@attribute label {yes,no}\n@data\n2,blue,2,no\n1,red,1,yes\n4,blue,1,yes\n3,red,?,no\n"
    )
    for suffix in ("parquet", "arff"):
        (own / "mine.yaml").write_text(YAML.replace("mine.csv", f"mine.{suffix}"))
        assert load_dataset(own / "mine.yaml").fingerprint == reference.fingerprint


@pytest.mark.parametrize(
    "place", ["car.arff", "sub/car.arff", "car/car.arff", "car/anything.arff", "sub/car/anything.arff"]
)
def test_where_a_data_folder_is_searched(tmp_path, data_dir, place):
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(data_dir / "fedande" / "car.arff", path)
    assert load_dataset("car", data_dir=tmp_path).source == "file"


def test_deeper_files_and_other_names_are_not_taken(tmp_path, data_dir):
    for place in ("a/b/car.arff", "car.txt", "cars.arff", ".hidden/car.arff"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(data_dir / "fedande" / "car.arff", tmp_path / place)
    assert load_dataset("car", data_dir=tmp_path).source == "rules"


def test_two_files_in_the_folder_of_a_data_set(tmp_path):
    (tmp_path / "car").mkdir()
    for name in ("a.csv", "b.csv"):
        (tmp_path / "car" / name).write_text(CSV)
    with pytest.raises(DataError, match="holds 2 data files, expected one for 'car'"):
        load_dataset("car", data_dir=tmp_path)


@pytest.mark.parametrize(
    "name", ["vote", "soybean", "flare", "splice", "kr-vs-kp", "mushroom", "phishing", "connect-4"]
)
def test_the_published_files(name, data_dir):
    dataset = load_dataset(name, data_dir=data_dir)
    specification = load_specification(name)
    assert dataset.X.shape == (specification.rows, specification.attributes)
    assert len(dataset.class_names) == specification.classes
    assert dataset.fingerprint == specification.fingerprint
    rows = np.column_stack([dataset.X, dataset.y])
    assert np.array_equal(rows, rows[np.lexsort(rows.T[::-1])])
    missing = {"vote": 392, "soybean": 2337, "mushroom": 2480}.get(name, 0)
    held = sum(
        int((dataset.X[:, j] == values.index("?")).sum())
        for j, values in enumerate(dataset.categories)
        if "?" in values
    )
    assert held == missing
    if name == "mushroom":  # declared domains count, not observed ones
        named = dict(zip(dataset.attribute_names, dataset.cardinalities, strict=True))
        assert (named["veil-type"], named["ring-type"], named["stalk-root"]) == (2, 8, 7)


def test_a_wrong_file_in_the_data_folder_is_an_error_not_passed_over(tmp_path):
    (tmp_path / "car.csv").write_text("a,class\nx,1\ny,2\n")
    with pytest.raises(
        DataError, match=r"car\.csv: not the data set 'car' as described: 2 rows instead of 1728"
    ):
        load_dataset("car", data_dir=tmp_path)
    (tmp_path / "car.csv").write_text("a,class\nx\n")
    with pytest.raises(DataError, match=r"car\.csv, line 2"):
        load_dataset("car", data_dir=tmp_path)


def test_a_data_folder_that_does_not_exist(tmp_path, monkeypatch):
    with pytest.raises(ConfigurationError, match="data_dir: there is no folder"):
        load_dataset("car", data_dir=tmp_path / "none")
    with pytest.raises(ConfigurationError, match="data_dir: 5 is no path"):
        load_dataset("car", data_dir=5)
    monkeypatch.setenv("FEDBAYES_DATA", str(tmp_path / "none"))
    with pytest.raises(ConfigurationError, match="FEDBAYES_DATA: there is no folder"):
        load_dataset("car")
    assert load_dataset("car", data_dir=tmp_path).source == "rules"


def test_the_data_folder_is_only_read(own, data_dir):
    shutil.copy(data_dir / "fedande" / "car.arff", own)
    before = {path: path.stat().st_mtime_ns for path in own.iterdir()}
    for folder in (own,):
        os.chmod(folder, 0o555)
        try:
            load_dataset("car", data_dir=folder)
            load_dataset(own / "mine.yaml", data_dir=folder)
        finally:
            os.chmod(folder, 0o755)
    assert {path: path.stat().st_mtime_ns for path in own.iterdir()} == before


def test_settings(own):
    specification = load_specification(own / "mine.yaml")
    assert load(specification, missing="mode").categories[1] == ("1", "2")
    with pytest.raises(ConfigurationError, match="missing is 'drop'"):
        load(specification, missing="drop")
    with pytest.raises(ConfigurationError, match="drop_duplicates is 1"):
        load(specification, drop_duplicates=1)
    repeated = CSV + "9,red,1,yes\n"
    (own / "mine.csv").write_text(repeated)
    (own / "mine.yaml").write_text(YAML.replace("rows: 4", "drop_duplicates: true"))
    specification = load_specification(own / "mine.yaml")
    assert len(load(specification).y) == 4
    assert len(load(specification, drop_duplicates=False).y) == 5


def test_a_mixed_data_set_goes_to_its_loader(monkeypatch, tmp_path):
    seen = {}

    class Intrusion:
        @staticmethod
        def load(specification, **settings):
            seen.update(settings, loader=specification.loader)
            return "dataset"

    monkeypatch.setitem(sys.modules, "fedbayes.data.intrusion", Intrusion)
    monkeypatch.setattr(fedbayes.data, "intrusion", Intrusion, raising=False)
    specification = load_specification(
        {"mine": {"kind": "mixed", "loader": "nsl-kdd", "drop_duplicates": "auto"}}
    )
    assert load(specification, data_dir=str(tmp_path)) == "dataset"
    assert seen == {
        "loader": "nsl-kdd",
        "data_dir": tmp_path,
        "drop_duplicates": "auto",
        "missing": "category",
    }


def test_the_root_stays_light():
    """Neither openml nor pandas is imported by loading data that need neither."""
    import subprocess

    code = (
        "import sys; from fedbayes.data import load_dataset; load_dataset('car');"
        "print([m for m in ('openml', 'pandas', 'matplotlib', 'sklearn', 'pyarrow') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
