import importlib.util
from pathlib import Path

import pytest

from fedbayes.data import load, load_dataset, load_specification, sources
from fedbayes.data.files import read_table
from fedbayes.errors import DataUnavailable

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "fetch_data.py"


@pytest.fixture(scope="module")
def script():
    specification = importlib.util.spec_from_file_location("fetch_data", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture
def from_file(monkeypatch, data_dir):
    """OpenML, played by the published files."""
    monkeypatch.delenv("FEDBAYES_DATA", raising=False)

    def fetch(specification, offline=False):
        if specification.name == "splice":
            raise DataUnavailable("splice: OpenML 46 cannot be had here")
        path = sources.find_file(specification, data_dir)
        return read_table(path), specification.target, "openml"

    monkeypatch.setattr("fedbayes.data.openml.fetch", fetch)


def test_a_folder_for_a_machine_without_network(script, from_file, tmp_path, data_dir, capsys):
    folder = tmp_path / "prefetched"
    assert script.main([str(folder), "vote", "soybean", "car"]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["soybean.arff.gz", "vote.arff.gz"]
    assert "car: computed from its rules" in capsys.readouterr().out
    for name in ("vote", "soybean"):
        reference = load_dataset(name, data_dir=data_dir)
        copy = load(load_specification(name), data_dir=folder, offline=True)
        assert (copy.source, copy.fingerprint) == ("file", reference.fingerprint)


def test_what_cannot_be_had_is_named_and_the_rest_is_fetched(script, from_file, tmp_path, capsys):
    assert script.main([str(tmp_path), "splice", "vote"]) == 1
    assert (tmp_path / "vote.arff.gz").exists()
    complaint = capsys.readouterr().err
    assert "splice: OpenML 46 cannot be had here" in complaint
    assert complaint.endswith("fetch_data: could not be had: splice\n")


def test_unknown_name(script, tmp_path, capsys):
    assert script.main([str(tmp_path), "cra"]) == 2
    assert "did you mean car" in capsys.readouterr().err
