"""How the engine's functions are compiled: ahead of use, cached on disk, the same bits on every machine."""

import functools
import hashlib
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

from numba import njit
from numba.core.ccallback import CFunc
from numba.core.typing import Signature


def compiled(function: Callable | None = None, **options) -> Callable:
    """Compile with numba: no fastmath (so that sums keep their order), without the GIL, cached on disk.

    A cached function is compiled again when its own module or any module of the engine it draws on has
    changed. Where no folder can be written, the function is compiled in every process, with one warning.
    """
    if function is None:
        return functools.partial(compiled, **options)
    options = {"nogil": True, "error_model": "numpy", **options}
    try:
        dispatcher = njit(function, cache=True, **options)
    except RuntimeError:  # numba found no writable folder
        _warn_once()
        return njit(function, **options)
    _stamp(dispatcher, function)
    return dispatcher


@functools.cache
def compiled_address(function: Callable, signature: Signature) -> int:
    """Compile for one signature and return the address of the code, as :func:`numba.cfunc` does.

    Callers that reach a function by address do not contain it: they are compiled once, not again for every
    number of lanes.
    """
    code = CFunc(function, (signature.args, signature.return_type), {}, {"error_model": "numpy"})
    try:
        code.enable_caching()
    except RuntimeError:
        _warn_once()
    _stamp(code, function)
    code.compile()
    _kept.append(code)
    return code.address


_kept: list[CFunc] = []  # code lives as long as its object


@functools.cache
def _warn_once() -> None:
    warnings.warn(
        "no folder to keep compiled code in: the engine is compiled anew in every process (some 20 s); "
        "set NUMBA_CACHE_DIR to a writable folder to avoid it",
        RuntimeWarning,
        stacklevel=4,
    )


def _stamp(compilation, function: Callable) -> None:
    """Make the cache depend on all sources that are inlined; numba by itself looks at one file only."""
    index = getattr(getattr(compilation, "_cache", None), "_cache_file", None)
    if hasattr(index, "_source_stamp"):
        index._source_stamp = _digest(function.__module__)


@functools.cache
def _digest(module: str) -> str:
    content = hashlib.sha256()
    for name in sorted(_drawn_on(module)):
        path = getattr(sys.modules[name], "__file__", None)
        if path and Path(path).is_file():
            content.update(Path(path).read_bytes())
    return content.hexdigest()


def _drawn_on(module: str) -> set[str]:
    """Modules of this package whose names are imported, directly or not, by the given one."""
    package = __name__.rpartition(".")[0]
    seen, todo = set(), [module]
    while todo:
        name = todo.pop()
        if name in seen or name not in sys.modules:
            continue
        seen.add(name)
        origins = {getattr(value, "__module__", None) for value in list(vars(sys.modules[name]).values())}
        todo.extend(o for o in origins if isinstance(o, str) and o.startswith(package))
    return seen
