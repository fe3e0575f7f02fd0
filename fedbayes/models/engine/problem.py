"""One client's objective on one structure as the kernels see it: numbers and addresses in an int64 vector.

Addresses keep the code that calls the kernels (optimiser, rounds) free of their types, so that it is compiled
once and only the kernels are compiled per number of lanes. Whoever makes a problem keeps its arrays alive.
"""

from functools import cache

from llvmlite import ir
from numba import types
from numba.core.typing import signature
from numba.extending import intrinsic

from fedbayes.models.engine import vector_arithmetic as va
from fedbayes.models.engine.compilation import compiled, compiled_address

# numbers: rows, occupied cells, other attributes, their values together, groups of attributes (0: none) and
# the entries of all groups' tables
ROWS, CELLS, ATTRIBUTES, VALUES, GROUPS, ENTRIES = range(6)
# addresses of the client's sorted rows ...
STARTS, CODES, GROUPED, LABELS = range(6, 10)
# ... of its log tables, of the structure's attributes, of the groups, of working space, and of the kernel
PRIOR, PARENT, THETA, OFFSETS, CARDINALITIES, GROUP_MEMBERS, GROUP_ENTRIES, SCRATCH, KERNEL = range(10, 19)
SIZE = 19


@cache
def kernel_address(kernel, width: int) -> int:
    """Compile a kernel for so many lanes.

    Parameters
    ----------
    kernel : function (problem, weights, gradient, lanes) -> float
        A plain function over pointers (int64, float64, float64) and a :func:`lane_tuple`.
    width : int
        Number of lanes.
    """
    numbers = types.CPointer(types.float64)
    lanes = types.UniTuple(types.Tuple(()), width)
    return compiled_address(
        kernel, signature(types.float64, types.CPointer(types.int64), numbers, numbers, lanes)
    )


@intrinsic
def _call(context, address, problem, weights, gradient):
    # the kernel's last argument, the tuple of empty tuples, takes no space and is not passed
    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.DoubleType(), [argument.type for argument in arguments[1:]])
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    return types.float64(types.int64, problem, weights, gradient), generate


@compiled
def call(kernel, problem, first, second):
    """Call a kernel by its address on one client's problem and two vectors."""
    return _call(kernel, va.pointer(problem), va.pointer(first), va.pointer(second))


@compiled
def evaluate(problem, weights, gradient):
    """Negative conditional log-likelihood at the weights; writes its gradient.

    Parameters
    ----------
    problem : ndarray (SIZE,) int64
        One client's problem.
    weights, gradient : ndarray (at least 2 V + K q V,)
        Flat weights and gradient; only so many numbers are read and written.
    """
    return call(problem[KERNEL], problem, weights, gradient)
