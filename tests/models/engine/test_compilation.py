"""Caching of compiled code: falls back where nothing can be written, and notices changed sources."""

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numba.core.caching
import pytest
from numba import types
from numba.core.typing import signature

from fedbayes.models.engine import compilation


def plus_one(x):
    return x + 1.0


def plus_two(x):
    return x + 2.0


def test_without_a_writable_folder_code_is_compiled_with_one_warning(monkeypatch):
    monkeypatch.setattr(numba.core.caching.CacheImpl, "_locator_classes", [])
    compilation._warn_once.cache_clear()
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR"):
        compiled = compilation.compiled(plus_one)
    assert compiled(2.0) == 3.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compilation.compiled(plus_two)(2.0) == 4.0
        address = compilation.compiled_address(plus_two, signature(types.float64, types.float64))
    assert address > 0


def test_an_address_is_the_function():
    import ctypes

    address = compilation.compiled_address(plus_one, signature(types.float64, types.float64))
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)(2.5) == 3.5


def test_code_is_compiled_again_when_any_source_of_the_engine_has_changed(tmp_path):
    """Constants and modules are drawn into compiled code too, not only functions."""
    engine = Path(compilation.__file__).parent
    copy = shutil.copytree(
        engine.parents[1], tmp_path / "fedbayes", ignore=shutil.ignore_patterns("__pycache__")
    )
    code = (
        "from fedbayes.models.engine import gram_lbfgs, lbfgs\n"
        "print({f._cache._cache_file._source_stamp for f in (gram_lbfgs.descend, lbfgs.minimise)})"
    )

    def stamps():
        environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        run = [sys.executable, "-c", code]
        return subprocess.run(
            run, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
        ).stdout

    before = stamps()
    assert stamps() == before
    for name in ("problem", "gram"):
        source = copy / "models" / "engine" / f"{name}.py"
        source.write_text(source.read_text() + "\n# changed\n")
        assert stamps() != before
        before = stamps()


STAGES = """
from numba import types
from numba.core.errors import TypingError
from fedbayes.models.engine.compilation import apart, compiled

@apart(types.float64)
def half(x):
    return x / 2.0

@compiled
def quarter(x):
    return half(half(x))

@compiled
def half_of_text(x):
    return half("text") + x

print(quarter(10.0), sum(quarter.stats.cache_hits.values()))
try:
    half_of_text(1.0)
except TypingError as error:
    print("called with" in str(error))
"""


def test_a_function_apart_is_found_by_callers_just_compiled_and_by_those_from_the_cache(tmp_path):
    (tmp_path / "stages.py").write_text(STAGES)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    printed = [
        subprocess.run(
            [sys.executable, "-c", "import stages"],
            cwd=tmp_path, env=environment, check=True, capture_output=True, text=True,
        ).stdout.split()
        for _ in range(2)
    ]  # fmt: skip
    assert printed == [["2.5", "0", "True"], ["2.5", "1", "True"]]
