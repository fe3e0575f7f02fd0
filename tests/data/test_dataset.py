import dataclasses
import pickle

import numpy as np
import pytest

from fedbayes.data import CategoricalDataset, MixedDataset


def categorical(**changes):
    fields = {
        "name": "toy",
        "title": "Toy",
        "X": np.array([[0, 1], [1, 0], [1, 2]]),
        "y": np.array([0, 1, 1]),
        "attribute_names": ("a", "b"),
        "cardinalities": (2, 3),
        "categories": (("n", "y"), ("1", "2", "?")),
        "class_names": ("no", "yes"),
        "source": "file",
    }
    return CategoricalDataset(**(fields | changes))


def mixed(**changes):
    fields = {
        "name": "toy",
        "title": "Toy",
        "X_categorical": np.array([[0], [1]]),
        "X_numeric": np.array([[0.5, -1.0], [2.0, 0.0]]),
        "y": np.array([1, 0]),
        "categorical_names": ("proto",),
        "numeric_names": ("bytes", "rate"),
        "categories": (("tcp", "udp"),),
        "n_categories": (2,),
        "class_names": ("normal", "attack"),
        "source": "file",
    }
    return MixedDataset(**(fields | changes))


def test_arrays_have_the_promised_type_and_order():
    dataset = categorical(X=np.asfortranarray(np.array([[0, 1], [1, 0], [1, 2]], dtype=np.int64)))
    assert dataset.X.dtype == np.int32 and dataset.X.flags.c_contiguous
    assert dataset.y.dtype == np.int32
    assert mixed().X_numeric.dtype == np.float64


@pytest.mark.parametrize(
    "change",
    [
        {"X": np.array([[0, 3], [1, 0], [1, 2]])},
        {"X": np.array([[0, -1], [1, 0], [1, 2]])},
        {"X": np.array([[0], [1], [1]])},
        {"y": np.array([0, 1, 2])},
        {"y": np.array([0, 1])},
        {"cardinalities": (2, 2)},
    ],
)
def test_codes_outside_their_domains_are_refused(change):
    with pytest.raises(ValueError):
        categorical(**change)


def test_numbers_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="finite"):
        mixed(X_numeric=np.array([[0.5, np.inf], [2.0, 0.0]]))


def test_fingerprint_depends_on_content_alone():
    reference = categorical().fingerprint
    same = categorical(name="other", title="Other", source="rules", notes=("x",), complete=False)
    assert len(reference) == 64 and same.fingerprint == reference
    for change in (
        {"X": np.array([[0, 1], [1, 0], [1, 1]])},
        {"y": np.array([0, 1, 0])},
        {"attribute_names": ("a", "c")},
        {"categories": (("n", "y"), ("1", "2", "3"))},
        {"class_names": ("no", "maybe")},
    ):
        assert categorical(**change).fingerprint != reference


def test_fingerprint_keeps_names_apart():
    one = categorical(attribute_names=("ab", "c"))
    other = categorical(attribute_names=("a", "bc"))
    assert one.fingerprint != other.fingerprint


def test_fingerprint_has_one_zero():
    one = mixed(X_numeric=np.array([[0.5, -1.0], [2.0, -0.0]]))
    assert one.fingerprint == mixed().fingerprint
    assert mixed(X_numeric=np.array([[0.5, -1.0], [2.0, 1e-300]])).fingerprint != one.fingerprint


def test_instances_are_frozen_and_travel_between_processes():
    dataset = categorical()
    with pytest.raises(dataclasses.FrozenInstanceError):
        dataset.name = "x"
    copy = pickle.loads(pickle.dumps(dataset))
    assert copy.fingerprint == dataset.fingerprint
