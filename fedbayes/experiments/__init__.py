"""The experiments: each module enumerates its cells and computes one task of them.

A module of an experiment offers: ``NAME``, ``KEYS`` (its configuration keys), ``TABLES`` (its result files),
``RECORDING`` (keys that change no row, only what is recorded beside it),
``parse``, ``check_specifications``, ``data_options``, ``cells``, ``parts``, ``tasks``, ``notes``, ``skip_reason``, ``run``
and ``describe``.
"""

from importlib import import_module
from types import ModuleType

EXPERIMENTS = ("fedande", "governance")


def experiment(name: str) -> ModuleType:
    """Import the module of an experiment."""
    return import_module(f"fedbayes.experiments.{name}")
