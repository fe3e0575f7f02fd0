import collections
import functools

import numpy as np
import pytest

from fedbayes.data import load_dataset, load_specification
from fedbayes.data.rules import RULES, compute, king_rook_king
from fedbayes.errors import ConfigurationError


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch):
    monkeypatch.delenv("FEDBAYES_DATA", raising=False)


@functools.cache
def computed_once(name):
    return load_dataset(name)


def multiset(dataset):
    rows = np.column_stack([dataset.X, dataset.y]).tolist()
    values = (*dataset.categories, dataset.class_names)
    return collections.Counter(tuple(v[c] for v, c in zip(values, row, strict=True)) for row in rows)


@pytest.mark.parametrize("name", sorted(RULES))
def test_rules_equal_the_published_file(name, data_dir):
    computed, published = computed_once(name), load_dataset(name, data_dir=data_dir)
    assert (computed.source, published.source) == ("rules", "file")
    assert multiset(computed) == multiset(published)
    assert computed.attribute_names == published.attribute_names
    assert computed.fingerprint == published.fingerprint
    assert computed.notes == published.notes == ()


@pytest.mark.parametrize(
    ("name", "classes"),
    [
        ("car", {"unacc": 1210, "acc": 384, "good": 69, "vgood": 65}),
        (
            "nursery",
            {"not_recom": 4320, "recommend": 2, "very_recom": 328, "priority": 4266, "spec_prior": 4044},
        ),
        ("tic-tac-toe", {"negative": 332, "positive": 626}),
        (
            "kr-vs-k",
            dict(
                zip(
                    king_rook_king.CLASSES,
                    [
                        27,
                        78,
                        246,
                        81,
                        198,
                        471,
                        592,
                        683,
                        1433,
                        1712,
                        1985,
                        2854,
                        3597,
                        4194,
                        4553,
                        2166,
                        390,
                        2796,
                    ],
                    strict=True,
                )
            ),
        ),
    ],
)
def test_published_class_counts(name, classes):
    dataset = computed_once(name)
    assert dict(zip(dataset.class_names, np.bincount(dataset.y).tolist(), strict=True)) == classes
    assert len(np.unique(dataset.X, axis=0)) == len(dataset.X)
    assert dataset.fingerprint == load_specification(name).fingerprint


@pytest.fixture(scope="module")
def solved():
    return king_rook_king.solve()


def square(name):
    return "abcdefgh".index(name[0]), int(name[1]) - 1


@pytest.mark.parametrize(
    ("white_king", "rook", "black_king", "moves"),
    [
        ("c1", "a3", "a1", 0),  # mate on the edge: the king covers b1 and b2
        ("b6", "h8", "b8", 0),
        ("b6", "b7", "a8", king_rook_king.DRAW),  # no check and no move: stalemate
        ("h8", "b2", "a1", king_rook_king.DRAW),  # the rook is lost
        ("b6", "h1", "a8", 1),  # the one move, to b8, is answered by mate on h8
    ],
)
def test_positions_worked_out_by_hand(solved, white_king, rook, black_king, moves):
    values, legal = solved
    place = (*square(white_king), *square(rook), *square(black_king))
    assert legal[place]
    assert values[place] == moves


def test_the_white_king_shields_from_the_rook(solved):
    values, legal = solved
    place = (*square("c3"), *square("b3"), *square("e3"))  # king between rook and black king: no check
    assert legal[place] and 0 < values[place] < king_rook_king.DRAW


def test_solution_has_the_symmetries_of_the_board(solved):
    values, legal = solved
    for array in (np.where(legal, values, -1),):
        assert np.array_equal(array, array[::-1, :, ::-1, :, ::-1, :])
        assert np.array_equal(array, array[:, ::-1, :, ::-1, :, ::-1])
        assert np.array_equal(array, array.transpose(1, 0, 3, 2, 5, 4))


def test_every_symmetry_class_is_kept_once(solved):
    """Of all legal positions, exactly one mirror image of each is in the data set (edges of the rule included)."""
    _, legal = solved
    boards = np.argwhere(legal)
    images = []
    for flip_column in (False, True):
        for flip_row in (False, True):
            for swap in (False, True):
                image = boards.copy()
                if flip_column:
                    image[:, ::2] = 7 - image[:, ::2]
                if flip_row:
                    image[:, 1::2] = 7 - image[:, 1::2]
                if swap:
                    image = image[:, [1, 0, 3, 2, 5, 4]]
                images.append(image @ (8 ** np.arange(5, -1, -1)))
    table = compute("kr-vs-k")
    kept = np.column_stack([column.codes for column in table.columns[:-1]]) @ (8 ** np.arange(5, -1, -1))
    smallest = np.min(images, axis=0)
    name_of = dict(zip(images[0].tolist(), smallest.tolist(), strict=True))
    classes = [name_of[code] for code in kept.tolist()]
    assert len(set(classes)) == len(classes) == len(np.unique(smallest)) == 28056


def test_unknown_rules():
    with pytest.raises(ConfigurationError, match="unknown rules 'chess'"):
        compute("chess")
