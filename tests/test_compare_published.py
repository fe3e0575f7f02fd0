"""The comparison of fresh results with published ones."""

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

path = Path(__file__).resolve().parents[1] / "scripts" / "compare_published.py"
spec = importlib.util.spec_from_file_location("compare_published", path)
compare_published = importlib.util.module_from_spec(spec)
spec.loader.exec_module(compare_published)


def frame(**changes):
    base = {
        "cell": ["a", "b"],
        "fold": [0, 0],
        "status": ["done", "done"],
        "accuracy": [0.5, 0.75],
        "fit_seconds": [1.0, 2.0],
    }
    return pd.DataFrame(base | changes)


def test_equal_but_for_the_timings():
    lines, equal = compare_published.compare(frame(fit_seconds=[9.0, 9.0]), frame())
    assert equal and "2 in both" in lines[0]


@pytest.mark.parametrize("accuracy", [[0.5, 0.76], [0.5, None]])
def test_a_number_that_differs_is_named(accuracy):
    lines, equal = compare_published.compare(frame(accuracy=accuracy), frame())
    assert not equal and any("accuracy: 1 rows differ" in line for line in lines)


def test_rows_that_only_one_side_has_are_counted():
    lines, equal = compare_published.compare(frame(), frame(cell=["a", "c"]))
    assert equal and "1 in both, 1 only computed, 1 only published" in lines[0]


def test_nothing_in_common_is_no_agreement():
    assert not compare_published.compare(frame(), frame(status=["failed", "failed"]))[1]
