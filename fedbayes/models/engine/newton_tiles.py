"""Products of small matrices, subtracted in place: the one inner loop that all of Newton's linear algebra uses.

A tile of 4 rows and 8 columns stays in registers while all of its products are added up. Every element is a
chain of fused multiply-adds in the order of the summed index, so the bits do not depend on the machine's
vectors nor on how a matrix is cut into tiles, and no library with threads of its own is needed.
"""

from math import sqrt

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from fedbayes.models.engine.compilation import inner
from fedbayes.models.engine.vector_arithmetic import advance, pointer

ROWS, COLUMNS = 4, 8
_VECTOR = 4
_I32, _I64, _F64 = ir.IntType(32), ir.IntType(64), ir.DoubleType()
_LANES = ir.VectorType(_F64, _VECTOR)


@intrinsic
def _subtract_tile(context, target, target_stride, left, left_stride, right, right_stride, count):
    """target[r, c] -= sum over k < count of left[k, r] * right[k, c] for one tile; count > 0."""

    def generate(context, builder, signature, arguments):
        place, place_stride, a, a_stride, b, b_stride, limit = arguments
        fma = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_LANES, [_LANES] * 3), f"llvm.fma.v{_VECTOR}f64"
        )
        nothing = ir.Constant(_LANES, ir.Undefined)
        everywhere = ir.Constant(ir.VectorType(_I32, _VECTOR), [0] * _VECTOR)

        def vector_at(base, index):
            return builder.bitcast(builder.gep(base, [index]), _LANES.as_pointer())

        places = []
        for r in range(ROWS):
            row = builder.mul(place_stride, ir.Constant(_I64, r))
            for v in range(COLUMNS // _VECTOR):
                places.append(vector_at(place, builder.add(row, ir.Constant(_I64, v * _VECTOR))))
        initial = [builder.load(p, align=8) for p in places]

        before = builder.block
        loop = builder.append_basic_block("products")
        after = builder.append_basic_block("done")
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(_I64)
        k.add_incoming(ir.Constant(_I64, 0), before)
        sums = [builder.phi(_LANES) for _ in initial]
        for phi, value in zip(sums, initial, strict=True):
            phi.add_incoming(value, before)
        b_at = builder.mul(k, b_stride)
        columns = [
            builder.load(vector_at(b, builder.add(b_at, ir.Constant(_I64, v * _VECTOR))), align=8)
            for v in range(COLUMNS // _VECTOR)
        ]
        a_at = builder.mul(k, a_stride)
        results = []
        for r in range(ROWS):
            number = builder.load(builder.gep(a, [builder.add(a_at, ir.Constant(_I64, r))]), align=8)
            one = builder.insert_element(nothing, builder.fneg(number), ir.Constant(_I32, 0))
            factor = builder.shuffle_vector(one, nothing, everywhere)
            for v, column in enumerate(columns):
                results.append(builder.call(fma, [factor, column, sums[r * len(columns) + v]]))
        following = builder.add(k, ir.Constant(_I64, 1))
        k.add_incoming(following, loop)
        for phi, value in zip(sums, results, strict=True):
            phi.add_incoming(value, loop)
        builder.cbranch(builder.icmp_signed("<", following, limit), loop, after)
        builder.position_at_end(after)
        for p, result in zip(places, results, strict=True):
            builder.store(result, p, align=8)
        return context.get_dummy_value()

    pointers = (types.CPointer(types.float64), types.int64)
    return types.void(*pointers * 3, types.int64), generate


@inner
def padded(width):
    """Width rounded up to whole tiles."""
    return (width + COLUMNS - 1) // COLUMNS * COLUMNS


@inner
def subtract_product(target, left, right, count, rows, begin, end):
    """Subtract ``left[:count].T @ right[:count]`` from ``target[:rows, begin:end]``, in whole tiles.

    Parameters
    ----------
    target : ndarray (rows in fours, columns in eights)
        C-contiguous, as are the others; rows and columns are touched up to whole tiles.
    left, right : ndarray (>= count, ...)
        Factors; as wide as the tiles of the target need.
    count, rows : int
        Length of the sums, and number of rows of the target.
    begin, end : int
        Columns; begin is a multiple of 8.
    """
    if count == 0:
        return
    to, one, two = pointer(target), pointer(left), pointer(right)
    to_stride, one_stride, two_stride = target.shape[1], left.shape[1], right.shape[1]
    for r in range(0, rows, ROWS):
        for c in range(begin, end, COLUMNS):
            _subtract_tile(
                advance(to, r * to_stride + c),
                to_stride,
                advance(one, r),
                one_stride,
                advance(two, c),
                two_stride,
                count,
            )


@inner
def subtract_square(target, factor, count, begin, end):
    """Subtract ``factor[:count].T @ factor[:count]`` from the upper triangle of ``target[begin:end, begin:end]``.

    Tiles that hold some of it are touched as a whole.
    """
    if count == 0:
        return
    to, one = pointer(target), pointer(factor)
    to_stride, stride = target.shape[1], factor.shape[1]
    for r in range(begin // ROWS * ROWS, end, ROWS):
        for c in range(r // COLUMNS * COLUMNS, end, COLUMNS):
            _subtract_tile(
                advance(to, r * to_stride + c),
                to_stride,
                advance(one, r),
                stride,
                advance(one, c),
                stride,
                count,
            )


@inner
def subtract_pivots(matrix, row, count, width):
    """Subtract from rows ``row..row+3`` of a matrix what its first ``count`` rows contribute (U'U)."""
    if count == 0:
        return
    base, stride = pointer(matrix), matrix.shape[1]
    for c in range(row // COLUMNS * COLUMNS, width, COLUMNS):
        _subtract_tile(
            advance(base, row * stride + c),
            stride,
            advance(base, row),
            stride,
            advance(base, c),
            stride,
            count,
        )


@inner
def subtract_part(target, row, column, factor, begin, left, right, end):
    """Subtract one tile of ``factor[begin:end, left:].T @ factor[begin:end, right:]`` at ``target[row, column]``."""
    if begin == end:
        return
    to, base = pointer(target), pointer(factor)
    stride = factor.shape[1]
    _subtract_tile(
        advance(to, row * target.shape[1] + column),
        target.shape[1],
        advance(base, begin * stride + left),
        stride,
        advance(base, begin * stride + right),
        stride,
        end - begin,
    )


@inner
def finish_rows(matrix, row, begin, end, own):
    """Divide columns of rows ``row..row+3`` by the rows' own factor: inv(L) of the block at the diagonal.

    ``own`` (4, 4) holds the reciprocal diagonal of the factor and, above it, its entries.
    """
    s0, s1, s2, s3 = own[0, 0], own[1, 1], own[2, 2], own[3, 3]
    f01, f02, f03, f12, f13, f23 = own[0, 1], own[0, 2], own[0, 3], own[1, 2], own[1, 3], own[2, 3]
    for t in range(begin, end):
        a = matrix[row, t] * s0
        b = (matrix[row + 1, t] - f01 * a) * s1
        c = (matrix[row + 2, t] - f02 * a - f12 * b) * s2
        d = (matrix[row + 3, t] - f03 * a - f13 * b - f23 * c) * s3
        matrix[row, t] = a
        matrix[row + 1, t] = b
        matrix[row + 2, t] = c
        matrix[row + 3, t] = d


@inner
def factor_rows(matrix, row, least, own):
    """Factor the 4 by 4 block at the diagonal for :func:`finish_rows`; pivots are at least ``least``."""
    for k in range(ROWS):
        for t in range(k, ROWS):
            value = matrix[row + k, row + t]
            for i in range(k):
                value -= own[i, k] * own[i, t]
            own[k, t] = value
        own[k, k] = max(own[k, k], least[k])
        scale = 1.0 / sqrt(own[k, k])
        for t in range(k + 1, ROWS):
            own[k, t] *= scale
        own[k, k] = scale
