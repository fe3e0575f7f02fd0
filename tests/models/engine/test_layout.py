"""Structures, sorting and log tables against counting by hand."""

import numpy as np
import pytest

from fedbayes.models.engine.layout import cell_index, lanes, log_tables, make_structure, sort_rows


@pytest.mark.parametrize(
    ("classes", "width"), [(1, 2), (2, 2), (3, 4), (5, 8), (8, 8), (9, 10), (18, 18), (19, 20)]
)
def test_lanes(classes, width):
    assert lanes(classes) == width


def test_too_many_classes_are_named():
    assert lanes(998) == 998
    with pytest.raises(ValueError, match="999 classes are too many: code is compiled for at most 998"):
        lanes(999)


def test_cells_count_the_first_superparent_most_significant():
    X = np.array([[0, 1, 2], [1, 0, 0], [1, 1, 1]])
    assert cell_index(X, (0, 2), (2, 2, 3)).tolist() == [2, 3, 4]
    assert cell_index(X, (), (2, 2, 3)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("parents", [(), (1,), (0, 3), (0, 1, 2)])
def test_tables_hold_smoothed_relative_frequencies(parents):
    rng = np.random.default_rng(len(parents))
    cardinalities, o, smoothing = (3, 2, 4, 3), 3, 0.7
    X = np.stack([rng.integers(0, r, 40) for r in cardinalities], 1).astype(np.int32)
    y = rng.integers(0, 2, 40).astype(np.int32)  # class 2 is absent
    structure = make_structure(parents, cardinalities, o)
    rows = sort_rows(X, y, structure)
    tables = log_tables(rows, structure, smoothing)
    cell = cell_index(X, parents, cardinalities)
    assert rows.cells.tolist() == sorted(set(cell.tolist()))
    np.testing.assert_array_equal(rows.y, y[rows.order])
    np.testing.assert_array_equal(rows.codes, X[rows.order][:, structure.others] + structure.offsets)
    for c in range(o):
        n_class = np.sum(y == c)
        assert tables.prior[c] == pytest.approx(
            np.log((n_class + smoothing) / (40 + smoothing * o)), abs=1e-14
        )
        for k, v in enumerate(rows.cells):
            within = (cell == v) & (y == c)
            expected = np.log((within.sum() + smoothing) / (n_class + smoothing * structure.cells))
            assert tables.parent[k, c] == pytest.approx(expected, abs=1e-14)
            for j, first, r in zip(structure.others, structure.offsets, structure.cardinalities, strict=True):
                counts = np.bincount(X[within, j], minlength=r)
                expected = np.log((counts + smoothing) / (within.sum() + smoothing * r))
                np.testing.assert_allclose(tables.theta[k, first : first + r, c], expected, atol=1e-14)
    assert np.all(tables.prior[o:] == -1e30)
    assert np.all(tables.theta[:, :, o:] == 0)


def test_a_client_without_rows_has_tables_of_no_cells():
    structure = make_structure((1,), (2, 3, 2), 2)
    rows = sort_rows(np.zeros((0, 3), np.int32), np.zeros(0, np.int32), structure)
    tables = log_tables(rows, structure, 1.0)
    assert tables.theta.shape == (0, 4, 2)
    np.testing.assert_allclose(tables.prior, np.log([0.5, 0.5]))
