import numpy as np
import pytest

from fedbayes.models.engine.clients import TrainingRows, prepare_clients
from fedbayes.models.engine.layout import make_structure
from fedbayes.models.engine.training import federate


def clients_of(rng, sizes, cardinalities, classes):
    parts = []
    for size in sizes:
        X = np.stack([rng.integers(0, r, size) for r in cardinalities], axis=1).astype(np.int32)
        parts.append((X, ((X[:, 0] + rng.integers(0, classes, size)) % classes).astype(np.int32)))
    return parts


@pytest.mark.parametrize(("sizes", "label"), [((9, 0, 4), None), ((9, 0, 4), 1), ((0, 0), None)])
def test_rounds_at_once_are_rounds_one_by_one(sizes, label):
    parts = clients_of(np.random.default_rng(0), sizes, (2, 3, 4, 2), 3)
    if label is not None:  # one class and little smoothing: every client starts at its optimum
        parts = [(X, np.full_like(y, label)) for X, y in parts]
    clients = prepare_clients(
        TrainingRows(parts, 1.0 if label is None else 1e-12), make_structure((1,), (2, 3, 4, 2), 3)
    )
    weights, iterations, evaluations = federate(clients, 6, 3)
    own, counts = None, np.zeros((2, len(parts)), int)
    for _ in range(6):
        own, *more = federate(clients, 1, 3, own)
        counts += more
    assert weights.tobytes() == own.tobytes()
    assert np.array_equal(counts, [iterations, evaluations])
    assert (iterations.sum() == 0) == (label is not None or not sum(sizes))
    assert np.array_equal(evaluations > 0, np.array(sizes) > 0)
