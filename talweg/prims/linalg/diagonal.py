"""Diagonals and bands of matrices, and the cross product.  All linear.

Several diagonals d = low..high of an [m, n] matrix stand together as the rows of a [high - low + 1,
length] matrix, the highest first; shorter ones are filled up with zeros at the left or right, as
`align` says ("RIGHT_LEFT": superdiagonals stand at the right, subdiagonals at the left).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LEADING, check_dtype, primitive
from talweg.core.dims import below, differ, dims_differ, largest, smallest
from talweg.core.dtypes import REAL, int32
from talweg.core.errors import FailedPreconditionError, compose, invalid
from talweg.core.primitive import Reject, Sample
from talweg.prims.arithmetic import neg, zeros_of
from talweg.prims.indexing import gather

ALIGNMENTS = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")


def check_rank(name, operand, x, rank, hint=""):
    """Raise InvalidArgumentError unless `x` has at least `rank` dimensions."""
    if x.ndim < rank:
        raise invalid(
            "TW203", f"{name}: {operand} has shape {x.dims}", f"at least {rank} dimensions", hint
        )


def longest(rows: int, columns: int, low: int, high: int):
    """Return the length of the longest of the diagonals low..high."""
    return largest(0, smallest(rows + smallest(high, 0), columns - largest(low, 0)))


@lru_cache(maxsize=256)
def places(rows: int, columns: int, low: int, high: int, align: str):
    """Return, for each entry of the compact form [high-low+1, l]:
    row, column, whether it exists.
    """
    length = longest(rows, columns, low, high)
    upper, lower = align.split("_")
    count = high - low + 1
    row, column = np.zeros((count, length), int), np.zeros((count, length), int)
    there = np.zeros((count, length), bool)
    for position in range(count):
        d = high - position
        own = max(0, min(rows + min(d, 0), columns - max(d, 0)))
        left = (d >= 0 and upper == "LEFT") or (d <= 0 and lower == "LEFT")
        start = 0 if left else length - own
        row[position, start : start + own] = np.arange(own) - min(d, 0)
        column[position, start : start + own] = np.arange(own) + max(d, 0)
        there[position, start : start + own] = True
    return row, column, there


@lru_cache(maxsize=256)
def _entries(rows: int, columns: int, low: int, high: int, align: str):
    """Return, for each entry of the matrix,
    its place in the flat compact form, and whether it is there.
    """
    row, column, there = places(rows, columns, low, high, align)
    place, on = np.zeros((rows, columns), np.int64), np.zeros((rows, columns), bool)
    place[row[there], column[there]] = np.flatnonzero(there)
    on[row[there], column[there]] = True
    return place, on


def _take_diagonal(t, flat, place: object, there):
    """Return flat[..., place], and zeros where there is nothing, for `expand` rules."""
    rank = len(flat.dims) - 1
    found = t.apply(gather, flat, t.array(place), axis=rank, batch_dims=0)
    return found if there.all() else t.select(t.array(there), found, t.zeros_of(found))


def diagonal_dims(name: str, dims: tuple, low: int, high: int):
    """Return the shape of the diagonals low..high of a matrix of shape `dims`."""
    rows, columns = dims[-2:]
    for value in (low, high):
        if value and (below(value, 1 - rows) or below(columns - 1, value)):
            raise invalid(
                "TW207",
                f"{name}: diagonal k={value} is out of bound for a matrix of shape {dims}",
                f"k in [{1 - rows}, {columns - 1}], or 0",
            )
    length = longest(rows, columns, low, high)
    return (*dims[:-2], length) if low == high else (*dims[:-2], high - low + 1, length)


@primitive
class matrix_diag_part:
    """y = the diagonals low..high of x.   x [..., m, n] -> [..., high - low + 1, length].

    The axis of diagonals is left out where there is one only.
    """

    operands = "x"
    tf_type = "MatrixDiagPartV3"

    def infer(x, *, low, high, align):
        check_rank("diag_part", "input", x, 2)
        return Aval(diagonal_dims("diag_part", x.dims, low, high), x.dtype)

    def numpy(x: np.ndarray, *, low, high, align):
        if low == high:
            return np.diagonal(x, low, -2, -1)
        row, column, there = places(*x.shape[-2:], low, high, align)
        if not x.size:
            return np.zeros((*x.shape[:-2], *row.shape), x.dtype)
        return np.where(there, x[..., row, column], np.zeros((), x.dtype))

    def transpose_x(g, x, *, low, high, align):
        rows, columns = x.dims[-2:]
        return matrix_diag(g, low=low, high=high, rows=rows, columns=columns, align=align)

    def expand(t, x, *, low, high, align):
        rows, columns = x.dims[-2:]
        row, column, there = places(rows, columns, low, high, align)
        if low == high:
            row, column, there = row[0], column[0], there[0]
        flat = t.reshape(x, shape=(*x.dims[:-2], rows * columns))
        return _take_diagonal(t, flat, row * columns + column, there)

    batch = LEADING
    memory = "gather"
    samples = (
        Sample([3, 4], low=0, high=0, align="RIGHT_LEFT"),
        Sample([2, 3, 4], low=-2, high=2, align="RIGHT_LEFT"),
        Sample([4, 3], low=-1, high=1, align="LEFT_RIGHT"),
        Sample([0, 3], low=0, high=0, align="RIGHT_LEFT"),
        Sample([3, 3], low=1, high=1, align="RIGHT_LEFT"),
    )
    rejects = (
        Reject([3], low=0, high=0, align="RIGHT_LEFT", code="TW203"),
        Reject([3, 3], low=3, high=3, align="RIGHT_LEFT", code="TW207"),
    )


@primitive
class matrix_diag:
    """y = the [rows, columns] matrix with the diagonals x, zero elsewhere."""

    operands = "x"
    tf_type = "MatrixDiagV3"

    def infer(x, *, low, high, rows, columns, align):
        lead = x.dims[:-1] if low == high else x.dims[:-2]
        length = longest(rows, columns, low, high)
        wanted = (length,) if low == high else (high - low + 1, length)
        if dims_differ(x.dims[len(lead) :], wanted):
            text = f"diag: diagonals {low} to {high} of a matrix of {rows} by {columns}"
            raise invalid("TW204", f"{text} of shape {x.dims}", f"[..., {str(wanted)[1:-1]}]")
        return Aval((*lead, rows, columns), x.dtype)

    def numpy(x: np.ndarray, *, low, high, rows, columns, align):
        lead = x.shape[:-1] if low == high else x.shape[:-2]
        result = np.zeros((*lead, rows, columns), x.dtype)
        row, column, there = places(rows, columns, low, high, align)
        if low == high:
            x = x[..., None, :]
        result[..., row[there], column[there]] = x[..., there]
        return result

    def transpose_x(g, x, *, low, high, rows, columns, align):
        return matrix_diag_part(g, low=low, high=high, align=align)

    def expand(t, x, *, low, high, rows, columns, align):
        place, on = _entries(rows, columns, low, high, align)
        lead = x.dims[:-1] if low == high else x.dims[:-2]
        flat = t.reshape(x, shape=(*lead, x.size // max(1, math.prod(lead))))
        return _take_diagonal(t, flat, place, on)

    batch = LEADING
    memory = "scatter"
    samples = (
        Sample([3], low=0, high=0, rows=3, columns=3, align="RIGHT_LEFT"),
        Sample([2, 3], low=1, high=1, rows=4, columns=4, align="RIGHT_LEFT"),
        Sample([3, 3], low=-1, high=1, rows=3, columns=4, align="LEFT_RIGHT"),
        Sample([0], low=0, high=0, rows=0, columns=0, align="RIGHT_LEFT"),
    )
    rejects = (
        Reject([3], low=0, high=0, rows=2, columns=3, align="RIGHT_LEFT", code="TW204"),
        Reject([2, 3], low=-1, high=1, rows=3, columns=3, align="RIGHT_LEFT", code="TW204"),
    )


@primitive
class matrix_set_diag:
    """z = x with its diagonals low..high replaced by y."""

    operands = "x y"
    tf_type = "MatrixSetDiagV3"
    linear = "x y"

    def infer(x, y, *, low, high, align):
        check_rank("set_diag", "input", x, 2)
        wanted = diagonal_dims("set_diag", x.dims, low, high)
        if dims_differ(y.dims, wanted):
            raise invalid(
                "TW204",
                f"set_diag: diagonal has shape {y.dims} and input has shape {x.dims}",
                f"a diagonal of shape {wanted}",
            )
        check_dtype("set_diag", "diagonal", y.dtype, {x.dtype})
        return x

    def numpy(x, y, *, low, high, align):
        result = x.copy()
        row, column, there = places(*x.shape[-2:], low, high, align)
        if low == high:
            y = y[..., None, :]
        result[..., row[there], column[there]] = y[..., there]
        return result

    def expand(t, x, y, *, low, high, align):
        rows, columns = x.dims[-2:]
        y = t.matrix_diag(y, low=low, high=high, rows=rows, columns=columns, align=align)
        return t.select(t.array(_entries(rows, columns, low, high, align)[1]), y, x)

    def transpose_x(g, x, y, *, low, high, align):
        return matrix_set_diag(g, zeros_of(y), low=low, high=high, align=align)

    def transpose_y(g, x, y, *, low, high, align):
        return matrix_diag_part(g, low=low, high=high, align=align)

    batch = LEADING
    memory = "scatter"
    samples = (
        Sample([3, 4], [3], low=0, high=0, align="RIGHT_LEFT"),
        Sample([2, 3, 4], [2, 3, 3], low=-1, high=1, align="RIGHT_LEFT"),
    )
    rejects = (
        Reject([3, 4], [4], low=0, high=0, align="RIGHT_LEFT", code="TW204"),
        Reject([3], [3], low=0, high=0, align="RIGHT_LEFT", code="TW203"),
    )


@primitive
class band_part:
    """y = x within `lower` subdiagonals and `upper` superdiagonals (all if negative), else 0."""

    operands = "x"
    tf_type = "MatrixBandPart"

    def infer(x, *, lower, upper):
        check_rank("band_part", "input", x, 2)
        for argument, value, size in (("num_lower", lower, -2), ("num_upper", upper, -1)):
            if below(x.dims[size], value):
                raise invalid(
                    "TW207",
                    f"band_part: {argument}={value} for matrices of shape {x.dims[-2:]}",
                    f"a negative number, or at most {x.dims[size]}",
                )
        return x

    def numpy(x: np.ndarray, *, lower, upper):
        rows, columns = x.shape[-2:]
        distance = np.arange(columns) - np.arange(rows)[:, None]
        inside = np.ones((rows, columns), bool)
        if lower >= 0:
            inside &= distance >= -lower
        if upper >= 0:
            inside &= distance <= upper
        return np.where(inside, x, np.zeros((), x.dtype))

    def transpose_x(g, x, *, lower, upper):
        return band_part(g, lower=lower, upper=upper)

    def loops(s, index, x, *, lower, upper):
        *_, rows, columns = x.dims
        low = -lower if lower >= 0 else 1 - rows
        high = upper if upper >= 0 else columns - 1
        inside = s.within(index[-1] - index[-2], low, high + 1)
        return x.where(inside, s.zero(x), *index)

    batch = LEADING
    memory = "map"
    samples = (
        Sample([3, 4], lower=1, upper=0),
        Sample([2, 4, 3], lower=-1, upper=0),
        Sample([3, 3], lower=0, upper=-1),
        Sample([0, 3], lower=0, upper=0),
    )
    rejects = (
        Reject([3], lower=0, upper=0, code="TW203"),
        Reject([3, 3], lower=4, upper=0, code="TW207"),
    )


@primitive
class cross:
    """z = x × y along the last axis, of size 3.   x̄ = y × z̄,  ȳ = z̄ × x."""

    operands = "x y"

    def infer(x, y):
        check_dtype("cross", "a", x.dtype, REAL)
        check_dtype("cross", "b", y.dtype, {x.dtype})
        if dims_differ(x.dims, y.dims):
            raise invalid(
                "TW204", f"cross: a has shape {x.dims} and b has shape {y.dims}", "equal shapes"
            )
        check_rank("cross", "a", x, 1)
        if differ(x.dims[-1], 3):
            text = compose("TW204", f"cross: a has shape {x.dims}", "a last dimension of 3")
            raise FailedPreconditionError(None, None, text)
        return x

    def numpy(x: np.ndarray, y):
        result = np.empty(x.shape, x.dtype)
        for i, (j, k) in enumerate(((1, 2), (2, 0), (0, 1))):
            result[..., i] = x[..., j] * y[..., k] - x[..., k] * y[..., j]
        return result

    def loops(s, index, x, y):
        *lead, i = index
        j, k = (i + 1) % 3, (i + 2) % 3
        return x(*lead, j) * y(*lead, k) - x(*lead, k) * y(*lead, j)

    def transpose_x(g, x, y):
        return cross(y, g)

    def transpose_y(g, x, y):
        return neg(cross(x, g))

    batch = LEADING
    memory = "map"
    samples = (Sample([3], [3]), Sample([2, 3], [2, 3]), Sample([3], [3], dtype=int32))
    rejects = (Reject([3], [2, 3], code="TW204"), Reject([], [], code="TW203"))
