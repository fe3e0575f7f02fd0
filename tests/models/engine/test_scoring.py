"""The forward pass against numpy."""

import itertools

import numpy as np
import pytest

from fedbayes.models.engine.layout import lanes, make_structure
from fedbayes.models.engine.scoring import (
    JOINT_VALUES,
    add_posteriors,
    group_attributes,
    prepare_rows,
    sort_rows,
)
from fedbayes.models.engine.tables import PAD_PRIOR


def reference(X, structure, cells, base, theta, classes):
    cardinalities = structure.parent_cardinalities
    cell = np.zeros(len(X), int)
    for p, cardinality in zip(structure.parents, cardinalities, strict=True):
        cell = cell * cardinality + X[:, p]
    k = np.searchsorted(cells, cell)
    scores = base[k].astype(np.longdouble)
    for j, offset in zip(structure.others, structure.offsets, strict=True):
        scores += theta[k, offset + X[:, j]]
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))[:, :classes]
    return scores / scores.sum(axis=1, keepdims=True)


def random_tables(rng, structure, cells):
    base = np.full((len(cells), structure.lanes), PAD_PRIOR)
    base[:, : structure.classes] = -rng.exponential(3, size=(len(cells), structure.classes))
    theta = np.zeros((len(cells), structure.values, structure.lanes))
    theta[..., : structure.classes] = -rng.exponential(3, size=(*theta.shape[:2], structure.classes))
    return base, theta


@pytest.mark.parametrize("classes", [1, 2, 3, 5, 18])
@pytest.mark.parametrize(("rows", "n"), [(1, 1), (63, 2), (400, 0), (1000, 1), (700, 2)])
def test_equals_numpy(classes, rows, n):
    rng = np.random.default_rng(classes + rows)
    cardinalities = [3, 2, 4, 2, 150, 1, 3]
    X = np.stack([rng.integers(c, size=rows) for c in cardinalities], axis=1)
    prepared = prepare_rows(X, cardinalities)
    out, expected = np.zeros((rows, classes)), np.zeros((rows, classes))
    for parents in itertools.islice(itertools.combinations(range(7), n), 6):
        structure = make_structure(parents, cardinalities, classes)
        cells, starts, order = sort_rows(prepared, structure)
        base, theta = random_tables(rng, structure, cells)
        add_posteriors(prepared, structure, starts, order, base, theta, out)
        expected += reference(X, structure, cells, base, theta, classes)
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-13)


def test_order_of_rows():
    X = np.array([[1, 0], [0, 2], [1, 1], [0, 0]])
    rows = prepare_rows(X, [2, 3])
    cells, starts, order = sort_rows(rows, make_structure((0,), [2, 3], 2))
    assert (cells.tolist(), starts.tolist(), order.tolist()) == ([0, 1], [0, 2, 4], [1, 3, 0, 2])


def test_far_more_cells_than_rows():
    cardinalities = [3000, 3000, 2]
    X = np.array([[2999, 2999, 1], [0, 5, 0], [2999, 2999, 0]])
    rows = prepare_rows(X, cardinalities)
    cells, starts, order = sort_rows(rows, make_structure((0, 1), cardinalities, 2))
    assert (cells.tolist(), starts.tolist(), order.tolist()) == ([5, 8999999], [0, 1, 3], [1, 0, 2])


def test_groups_hold_consecutive_attributes_and_few_values():
    cardinalities = np.array([2, 3, 500, 4, 4, 4, 4, 1])
    members, entries = group_attributes(cardinalities)
    assert members.tolist() == [0, 2, 3, 6, 8]
    assert entries.tolist() == [0, 6, 506, 570, 574]
    sizes = np.diff(entries)
    assert all(size <= JOINT_VALUES for size, width in zip(sizes, np.diff(members), strict=True) if width > 1)


def test_extreme_scores_stay_finite():
    structure = make_structure((), [2], 3)
    rows = prepare_rows(np.array([[0], [1]]), [2])
    theta = np.zeros((1, 2, lanes(3)))
    theta[0, 0, :3] = [-1e6, 0.0, -1e6]
    out = np.zeros((2, 3))
    base = np.array([[0.0, 0.0, 0.0, PAD_PRIOR]])
    _, starts, order = sort_rows(rows, structure)
    add_posteriors(rows, structure, starts, order, base, theta, out)
    np.testing.assert_allclose(out, [[0, 1, 0], [1 / 3] * 3], atol=1e-15)
