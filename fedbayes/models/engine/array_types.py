"""Types of numbers and arrays in the signatures of functions compiled apart; all arrays are C-contiguous."""

from numba import types

COUNT, NUMBER, FLAG = types.int64, types.float64, types.boolean
COUNTS, NUMBERS, FLAGS = types.int64[::1], types.float64[::1], types.boolean[::1]
LABELS, CODES = types.int32[::1], types.int32[:, ::1]
MATRIX, CUBE = types.float64[:, ::1], types.float64[:, :, ::1]
COUNT_MATRIX = types.int64[:, ::1]
