"""How the engine's functions are compiled: ahead of use, cached on disk, the same bits on every machine."""

import functools
import hashlib
import inspect
import operator
import warnings
from collections.abc import Callable
from pathlib import Path

from llvmlite import binding
from numba import njit
from numba.core import cgutils
from numba.core.caching import NullCache
from numba.core.ccallback import CFunc
from numba.core.errors import TypingError
from numba.core.typing import Signature
from numba.extending import intrinsic

from fedbayes.models.engine.compiled_code_file import CompiledCodeFile


def compiled(function: Callable | None = None, **options) -> Callable:
    """Compile with numba: no fastmath (so that sums keep their order), without the GIL, cached on disk.

    A cached function is compiled again when its own module or any module of the engine has changed. Where no
    folder can be written, the function is compiled in every process, with one warning.
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
    _load_callees_first(dispatcher)
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


inner = functools.partial(compiled, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""As :func:`compiled`, for functions that compiled ones alone call: no code is made to call them from Python."""


_of_overload = operator.attrgetter("library", "fndesc", "signature")
"""What numba keeps of one compilation: machine code, how its symbol is called, and the types."""


def apart(*arguments) -> Callable:
    """Compile as :func:`compiled`, for arguments of these types alone, in code of its own.

    Other callees become part of every compiled function that calls them, directly or not, and are compiled as often.
    A function apart is compiled once, and compiled callers, which know it by its own name, reach it by a symbol; from
    Python it cannot be called.
    """

    def decorate(function):
        dispatcher = inner(function)
        symbol = f"{function.__module__}.{function.__qualname__}"

        @functools.cache
        def load():
            dispatcher.compile(arguments)
            machine_code, described, typed = _of_overload(dispatcher.overloads[arguments])
            binding.add_symbol(symbol, machine_code.get_pointer_to_function(described.llvm_func_name))
            return typed.return_type

        def call(context, *given):
            fits = len(given) == len(arguments)
            if not fits or None in map(context.can_convert, given, arguments):
                raise TypingError(f"{symbol}: compiled for {arguments}, called with {given}")
            returned = load()

            def generate(context, builder, signature, values):
                kind = context.call_conv.get_function_type(returned, arguments)
                code = cgutils.get_or_insert_function(builder.module, kind, symbol)
                status, value = context.call_conv.call_function(builder, code, returned, arguments, values)
                with cgutils.if_unlikely(builder, status.is_error):
                    context.call_conv.return_status_propagate(builder, status)
                return value

            return returned(*arguments), generate

        functools.update_wrapper(call, function)
        own = inspect.signature(function)
        context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_ONLY)
        call.__signature__ = own.replace(parameters=[context, *own.parameters.values()])
        handle = intrinsic(call)
        handle.load_apart = load
        return handle

    return decorate


def _load_callees_first(dispatcher) -> None:
    """See that code from the cache finds the functions apart that it calls, as code just compiled does."""
    load_overload = dispatcher._cache.load_overload

    def load(signature, target):
        for load_callee in _callees_apart(dispatcher.py_func, set()):
            load_callee()
        return load_overload(signature, target)

    dispatcher._cache.load_overload = load


def _callees_apart(function: Callable, seen: set) -> list[Callable]:
    """What loads the functions apart that a function calls, by itself or in what has become part of it."""
    loads = []
    for name in function.__code__.co_names:
        callee = function.__globals__.get(name)
        if hasattr(callee, "load_apart"):
            loads.append(callee.load_apart)
        elif hasattr(callee, "py_func") and callee not in seen:
            seen.add(callee)
            loads += _callees_apart(callee.py_func, seen)
    return loads


@functools.cache
def _warn_once() -> None:
    warnings.warn(
        "no folder to keep compiled code in: the engine is compiled anew in every process (some 20 s); "
        "set NUMBA_CACHE_DIR to a writable folder to avoid it",
        RuntimeWarning,
        stacklevel=4,
    )


def _stamp(compilation, function: Callable) -> None:
    """Make the cache depend on the whole engine, of which any part may be inlined; numba looks at one file only."""
    if isinstance(compilation._cache, NullCache):
        return  # nowhere to keep it
    cache = compilation._cache
    cache._cache_file = CompiledCodeFile(cache._cache_file, _digest(function.__code__.co_filename))


@functools.cache
def _digest(path: str) -> str:
    """Digest of a file of source and of all the engine's."""
    content = hashlib.sha256()
    for source in sorted({Path(path), *Path(__file__).parent.glob("*.py")}):
        if source.is_file():
            content.update(source.read_bytes())
    return content.hexdigest()
