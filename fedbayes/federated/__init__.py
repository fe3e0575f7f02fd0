"""Federation: what clients send, what the server makes of it, and what privacy does in between."""

from importlib import import_module

_HOME = {
    "fit_discriminative": "rounds",
    "fit_generative": "counts",
    "sensitivity": "privacy",
}
__all__ = list(_HOME)


def __getattr__(name: str):  # loaded when asked for: each part of the package pays for its own imports only
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
