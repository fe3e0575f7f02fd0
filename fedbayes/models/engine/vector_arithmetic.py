"""Vectors of classes: the handful of operations that the kernels are made of.

A row's classes lie side by side in ``V`` lanes of float64. Every operation here works on V consecutive
numbers behind a pointer, with V taken from the type of its first argument ``lanes``, a tuple of V empty
tuples (:func:`lane_tuple`): a kernel that is handed such a tuple is compiled once per V, and can be cached
on disk since it is an ordinary function of a module.

Nothing is left to the compiler's choice that could change a result: multiply-adds are fused only where
:func:`multiply_add` says so, sums run along a fixed tree, exp and log are our own (the system's differ
between machines). So the bits depend neither on the width of the machine's vectors nor on threads.
"""

from functools import partial

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from fedbayes.models.engine.compilation import compiled

_I32, _I64, _F64 = ir.IntType(32), ir.IntType(64), ir.DoubleType()


def lane_tuple(width: int) -> tuple:
    """Return the value whose type tells a kernel to work on ``width`` lanes."""
    return ((),) * width


# ------------------------------------------------------------------------------------------- pointers
@intrinsic
def pointer(context, array):
    """Address of a contiguous array's first element.

    The pointer does not keep the array alive. A function gives the memory of an array that it has made back after
    the last line that names it: such an array is named wherever its memory is used, and the pointer kept nowhere.
    """
    if array.layout != "C":
        raise TypingError(f"pointer needs a contiguous array, got {array}")

    def generate(context, builder, signature, arguments):
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), generate


@intrinsic
def advance(context, address, count):
    """Address ``count`` elements further on."""

    def generate(context, builder, signature, arguments):
        return builder.gep(arguments[0], [arguments[1]])

    return address(address, types.int64), generate


@intrinsic
def float64s(context, address):
    """Pointer to float64 numbers at an address."""
    return _address_to(types.float64)


@intrinsic
def int64s(context, address):
    """Pointer to int64 numbers at an address."""
    return _address_to(types.int64)


@intrinsic
def int32s(context, address):
    """Pointer to int32 numbers at an address."""
    return _address_to(types.int32)


@intrinsic
def uint16s(context, address):
    """Pointer to uint16 numbers at an address."""
    return _address_to(types.uint16)


def _address_to(element):
    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(element).as_pointer())

    return types.CPointer(element)(types.int64), generate


@intrinsic(prefer_literal=True)
def stack(context, lanes, count, spare):
    """``count`` (a literal) times V numbers, and ``spare`` more, on the stack: known to overlap no array."""
    size = lanes.count * count.literal_value + spare.literal_value

    def generate(context, builder, signature, arguments):
        with builder.goto_entry_block():
            area = builder.alloca(ir.ArrayType(_F64, size))
            area.align = 64
        return builder.bitcast(area, _F64.as_pointer())

    return types.CPointer(types.float64)(lanes, count, spare), generate


# ------------------------------------------------------------------------------ operations along lanes
def _chunks(width):
    """Vector lengths (8, 4, 2, 1) that make up the width, with their offsets."""
    offset = 0
    for length in (8, 4, 2, 1):
        while width - offset >= length:
            yield offset, length
            offset += length


def _load(builder, address, offset, length):
    return builder.load(_at(builder, address, offset, length), align=8)


def _at(builder, address, offset, length):
    moved = builder.gep(address, [ir.Constant(_I64, offset)])
    return builder.bitcast(moved, ir.VectorType(_F64, length).as_pointer())


def _elementwise(operation):
    """Code that sets target[:V] by ``operation(builder, old target, other operands)``, vector by vector."""

    def generate(context, builder, signature, arguments):
        target, *others = arguments[1:]
        for offset, length in _chunks(signature.args[0].count):
            operands = [
                _load(builder, operand, offset, length)
                if isinstance(kind, types.CPointer)
                else _broadcast(builder, operand, length)
                for operand, kind in zip(others, signature.args[2:], strict=True)
            ]
            place = _at(builder, target, offset, length)
            result = operation(builder, partial(builder.load, place, align=8), *operands)
            builder.store(result, place, align=8)
        return context.get_dummy_value()

    return generate


def _broadcast(builder, number, length):
    kind = ir.VectorType(_F64, length)
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, number, ir.Constant(_I32, 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_I32, length), [0] * length))


def _fused(builder, a, b, c):
    name = f"llvm.fma.v{a.type.count}f64"
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(a.type, [a.type] * 3), name)
    return builder.call(function, [a, b, c])


@intrinsic
def assign(context, lanes, target, source):
    """Set target to source."""
    return types.void(lanes, target, source), _elementwise(lambda b, old, x: x)


@intrinsic
def assign_sum(context, lanes, target, left, right):
    """Set target to left + right."""
    return types.void(lanes, target, left, right), _elementwise(lambda b, old, x, y: b.fadd(x, y))


@intrinsic
def assign_difference(context, lanes, target, left, right):
    """Set target to left - right."""
    return types.void(lanes, target, left, right), _elementwise(lambda b, old, x, y: b.fsub(x, y))


@intrinsic
def assign_product(context, lanes, target, left, right):
    """Set target to left * right."""
    return types.void(lanes, target, left, right), _elementwise(lambda b, old, x, y: b.fmul(x, y))


@intrinsic
def add(context, lanes, target, source):
    """Add source to target."""
    return types.void(lanes, target, source), _elementwise(lambda b, old, x: b.fadd(old(), x))


@intrinsic
def multiply(context, lanes, target, source):
    """Multiply target by source."""
    return types.void(lanes, target, source), _elementwise(lambda b, old, x: b.fmul(old(), x))


@intrinsic
def multiply_add(context, lanes, target, left, right):
    """Add left * right to target, rounded once."""
    return types.void(lanes, target, left, right), _elementwise(lambda b, old, x, y: _fused(b, x, y, old()))


@intrinsic
def raise_to_magnitude(context, lanes, target, source):
    """Set target to max(target, |source|)."""

    def operation(builder, old, x):
        negative = builder.fsub(ir.Constant(x.type, [-0.0] * x.type.count), x)
        magnitude = builder.select(builder.fcmp_ordered(">", negative, x), negative, x)
        before = old()
        return builder.select(builder.fcmp_ordered(">", magnitude, before), magnitude, before)

    return types.void(lanes, target, source), _elementwise(operation)


@intrinsic
def fill(context, lanes, target, number):
    """Set every lane of target to number."""
    return types.void(lanes, target, types.float64), _elementwise(lambda b, old, x: x)


@intrinsic
def subtract_number(context, lanes, target, number):
    """Subtract number from every lane of target."""
    return types.void(lanes, target, types.float64), _elementwise(lambda b, old, x: b.fsub(old(), x))


@intrinsic
def multiply_number(context, lanes, target, number):
    """Multiply every lane of target by number."""
    return types.void(lanes, target, types.float64), _elementwise(lambda b, old, x: b.fmul(old(), x))


def _reduction(combine):
    """Code that folds V lanes into one number: vectors of equal length first, then halves: a fixed tree."""

    def generate(context, builder, signature, arguments):
        parts = {}

        def merge(length, vector):
            parts[length] = combine(builder, parts[length], vector) if length in parts else vector

        for offset, length in _chunks(signature.args[0].count):
            merge(length, _load(builder, arguments[1], offset, length))
        for length in (8, 4, 2):
            if length in parts:
                vector, half = parts.pop(length), length // 2
                nothing = ir.Constant(vector.type, ir.Undefined)
                mask = ir.VectorType(_I32, half)
                low = builder.shuffle_vector(vector, nothing, ir.Constant(mask, list(range(half))))
                high = builder.shuffle_vector(vector, nothing, ir.Constant(mask, list(range(half, length))))
                merge(half, combine(builder, low, high))
        return builder.extract_element(parts[1], ir.Constant(_I32, 0))

    return generate


@intrinsic
def total(context, lanes, source):
    """Sum of the V lanes."""
    return types.float64(lanes, source), _reduction(lambda b, x, y: b.fadd(x, y))


@intrinsic
def largest(context, lanes, source):
    """Maximum of the V lanes (none may be NaN)."""
    return types.float64(lanes, source), _reduction(lambda b, x, y: b.select(b.fcmp_ordered(">", x, y), x, y))


# -------------------------------------------------------------------------------------- exp, log, fma
@intrinsic
def fma(context, a, b, c):
    """Return a * b + c, rounded once."""

    def generate(context, builder, signature, arguments):
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


@intrinsic
def _bits(context, x):
    return types.int64(types.float64), lambda c, builder, s, arguments: builder.bitcast(arguments[0], _I64)


@intrinsic
def _number(context, x):
    return types.float64(types.int64), lambda c, builder, s, arguments: builder.bitcast(arguments[0], _F64)


_LOG2E = 1.4426950408889634
_ROUND_TO_INTEGER = 6755399441055744.0  # 1.5 * 2**52: adding it leaves the integer part in the low bits
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10


@compiled(inline="always")
def exp(x):
    """exp(x) for x <= 0, within 1.12 units in the last place; from -708 downwards it stays at 3e-308.

    Degree-11 Chebyshev interpolant on |r| <= ln(2)/2 (coefficients from extended precision, frozen here),
    summed in pairs: a long chain of multiply-adds would wait for itself.
    """
    x = x if x > -708.0 else -708.0
    shifted = fma(x, _LOG2E, _ROUND_TO_INTEGER)
    k = shifted - _ROUND_TO_INTEGER
    r = fma(-k, _LN2_LOW, fma(-k, _LN2_HIGH, x))
    square = r * r
    fourth = square * square
    low = fma(
        fma(r, 0.008333333333387663, 0.041666666666488404),
        square,
        fma(r, 0.16666666666666466, 0.5000000000000019),
    )
    middle = fma(
        fma(r, 2.755728744889999e-06, 2.480148552032588e-05),
        square,
        fma(r, 0.000198412698035902, 0.001388888895225081),
    )
    high = fma(fma(r, 2.5101476824682322e-08, 2.763263757551089e-07), fourth, middle)
    p = fma(fma(high, fourth, low), square, r) + 1.0
    return _number(_bits(p) + (_bits(shifted) << 52))


@compiled(inline="always")
def log(x):
    """Natural logarithm of a positive normal number, within one unit in the last place.

    log(x) = k ln 2 + log(1 + f) with sqrt(1/2) < 1 + f < sqrt(2), and log(1 + f) from the odd series in
    s = f / (2 + f) (the method and minimax coefficients of fdlibm).
    """
    k = (_bits(x) - 0x3FE6A09E667F3BCD) >> 52  # the constant: bits of sqrt(1/2)
    f = _number(_bits(x) - (k << 52)) - 1.0
    s = f / (2.0 + f)
    z = s * s
    p = fma(z, 1.479819860511658591e-01, 1.531383769920937332e-01)
    p = fma(z, p, 1.818357216161805012e-01)
    p = fma(z, p, 2.222219843214978396e-01)
    p = fma(z, p, 2.857142874366239149e-01)
    p = fma(z, p, 3.999999999940941908e-01)
    p = fma(z, p, 6.666666666666735130e-01)
    half_square = 0.5 * f * f
    e = float(k)
    return e * _LN2_HIGH - ((half_square - fma(s, half_square + z * p, e * _LN2_LOW)) - f)
