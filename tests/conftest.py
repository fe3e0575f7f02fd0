"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest


def _data_dir() -> Path | None:
    named = os.environ.get("FEDBAYES_DATA")
    if named:
        return Path(named)
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return beside if beside.is_dir() else None


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder with the real data sets; tests that need it skip where there is none."""
    folder = _data_dir()
    if folder is None or not folder.is_dir():
        pytest.skip("no real data here: set FEDBAYES_DATA to a folder that holds the data sets")
    return folder
