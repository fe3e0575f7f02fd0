"""What the intrusion data sets share: dispatch, converted copies, synthetic flows, advice on getting files."""

import os
import stat

import numpy as np
import pytest

from fedbayes.data import intrusion
from fedbayes.data.intrusion import LOADERS, nsl_kdd
from fedbayes.data.specification import DatasetSpecification, load_specification
from fedbayes.errors import ConfigurationError, DataUnavailable


def test_every_loader_has_a_description():
    for name in LOADERS:
        specification = load_specification(name)
        assert (specification.kind, specification.loader) == ("mixed", name)
        assert specification.why and specification.license


def test_unknown_loader():
    with pytest.raises(ConfigurationError, match="x: loader is 'kdd'; allowed are nsl-kdd,"):
        intrusion.load(DatasetSpecification(name="x", title="X", kind="mixed", loader="kdd"))


@pytest.fixture
def folder(tmp_path, make):
    make.write_csv(
        tmp_path / "data" / "KDDTrain+.txt", [make.nsl_row(), make.nsl_row(label="pod", duration=-0.0)]
    )
    return tmp_path / "data"


def test_converted_copies_follow_the_content(folder, make, load, own_cache, monkeypatch):
    first = load("nsl-kdd", folder)
    (copy,) = own_cache.rglob("*.parquet")
    monkeypatch.setattr(nsl_kdd, "assemble", None)
    assert load("nsl-kdd", folder).fingerprint == first.fingerprint
    monkeypatch.undo()
    monkeypatch.setenv("FEDBAYES_CACHE", str(own_cache))
    path = folder / "KDDTrain+.txt"
    before = path.stat()
    path.write_text(path.read_text().replace("http", "smtp"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert load("nsl-kdd", folder).categories[1] == ("smtp",)
    path.write_text(path.read_text().replace("smtp", "http"))
    copy.write_bytes(b"not a Parquet file")
    assert load("nsl-kdd", folder).fingerprint == first.fingerprint


def test_neither_the_data_folder_nor_the_cache_need_be_writable(folder, load, tmp_path, monkeypatch):
    before = sorted(path.name for path in folder.rglob("*"))
    monkeypatch.setenv("FEDBAYES_CACHE", str(folder / "KDDTrain+.txt" / "no folder"))
    os.chmod(folder, stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert len(load("nsl-kdd", folder).y) == 2
    finally:
        os.chmod(folder, stat.S_IRWXU)
    assert sorted(path.name for path in folder.rglob("*")) == before


def test_synthetic_flows(load):
    data = load("synthetic-flows", None)
    again = load("synthetic-flows", None)
    assert data.fingerprint == again.fingerprint
    assert data.title.lower().startswith("synthetic") and "no real traffic" in data.notes[0]
    assert data.X_categorical.shape == (6000, 3) and data.X_numeric.shape == (6000, 11)
    counts = np.bincount(data.y)
    assert counts.sum() == 6000 and counts.min() < 60 < counts.max()
    assert np.ptp(data.X_numeric[:, data.numeric_names.index("reserved")]) == 0
    assert all(
        len(np.unique(column)) == size
        for column, size in zip(data.X_categorical.T, data.n_categories, strict=True)
    )


def test_synthetic_flows_follow_their_options():
    def make(**options):
        fields = {"name": "s", "title": "S", "kind": "mixed", "loader": "synthetic-flows", "options": options}
        return intrusion.load(DatasetSpecification(**fields))

    assert len(make(rows=5e2).y) == 500 and np.bincount(make(rows=500).y).min() == 5
    assert make(seed=1).fingerprint != make(seed=2).fingerprint
    with pytest.raises(ConfigurationError, match="s: options: unknown row; allowed are rows and seed"):
        make(row=5)
    with pytest.raises(ConfigurationError, match="s: options: rows=10 is not allowed: a whole number >= 100"):
        make(rows=10)


def test_advice_names_files_places_and_terms(tmp_path):
    for name in set(LOADERS) - {"synthetic-flows"}:
        with pytest.raises(DataUnavailable, match=rf"needed in .*{name}/: .*Published at https://.*Terms: "):
            intrusion.obtain(load_specification(name), tmp_path)
    assert intrusion.obtain(load_specification("synthetic-flows"), tmp_path) == "generated, no file needed"


def test_files_that_are_there_are_described(folder):
    words = intrusion.obtain(load_specification("nsl-kdd"), folder)
    assert "KDDTrain+.txt: 2 lines, 43 columns, content differs from the known copy" in words
    assert "partial: 2 rows to learn from, converted" in words
    assert "KDDTest+ missing" in words and "https://www.unb.ca/cic/datasets/nsl.html" in words


def test_known_content_is_recognised(data_dir):
    words = intrusion.obtain(load_specification("cic-ids2017-reduced"), data_dir)
    assert "12,001 lines, 53 columns, content as published (SHA-256)" in words
