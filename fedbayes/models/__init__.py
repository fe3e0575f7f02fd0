"""Bayesian classifiers over categorical and mixed attributes."""

from importlib import import_module

_HOME = {
    "AnDEClassifier": "ande",
    "HybridNB": "hybrid_nb",
    "WeightedAnDEClassifier": "weighted_ande",
}
__all__ = list(_HOME)


def __getattr__(name: str):  # loaded when asked for: each part of the package pays for its own imports only
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
