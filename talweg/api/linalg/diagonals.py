"""tf.linalg: diagonals, bands, transposes and the cross product."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import integer, integers, require_sizes, tensor
from talweg.api.export import export
from talweg.api.linalg.operands import matching
from talweg.core.dims import below, differ, dims_differ, largest, same, smallest
from talweg.core.dtypes import INEXACT, int32, int64
from talweg.core.errors import invalid, value_error
from talweg.core.value import Tensor
from talweg.prims import contract
from talweg.prims.arithmetic import select
from talweg.prims.layout import broadcast_to, reshape, transpose
from talweg.prims.linalg import diagonal as prims
from talweg.prims.reduce import reduce_sum

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.primitive import Primitive


def _bounds(k: object, function: str) -> tuple[int, int]:
    """Return the lowest and highest diagonal of an argument k, an int or a pair."""
    given = integers(k, function, "k")
    if len(given) not in (1, 2):
        raise invalid("TW207", f"{function}: k={k!r}", "an integer, or a pair (lowest, highest)")
    low, high = given[0], given[-1]
    if low > high:
        raise invalid(
            "TW207",
            f"{function}: lower_diag_index must not be larger than upper_diag_index: "
            f"{low} > {high}",
        )
    return low, high


def _check_align(align: str, function: str) -> str:
    if align not in prims.ALIGNMENTS:
        raise invalid(
            "TW207", f"{function}: align={align!r}", f"one of {', '.join(prims.ALIGNMENTS)}"
        )
    return align


def _pad(y: Tensor, x: Tensor, prim: Primitive, params: dict, padding: TensorLike) -> Tensor:
    """Pad `y`, which is prim(x), with `padding` wherever x has no elements."""
    if isinstance(padding, (bool, int, float)) and not padding:
        return y
    value = tensor(padding, y.dtype)
    there = prim(broadcast_to(tensor(True), shape=x.dims), **params)
    return select(there, y, value)


@export("linalg.diag")
def diag(
    diagonal: TensorLike,
    name: str = "diag",
    k: TensorLike = 0,
    num_rows: TensorLike = -1,
    num_cols: TensorLike = -1,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Return matrices with the given diagonals, and `padding_value` elsewhere.

    diagonal: [..., n], or [..., high - low + 1, n] for several diagonals k = (low, high), the
    highest first.  Diagonals above the main one have k > 0.  num_rows, num_cols: -1 for the
    smallest fitting size.  align: at which end shorter super- and subdiagonals stand, e.g.
    "RIGHT_LEFT". InvalidArgumentError for sizes or a k that do not fit.

    >>> import talweg as tf
    >>> tf.linalg.diag([1, 2], k=1).numpy().tolist()
    [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    """
    x = tensor(diagonal)
    low, high = _bounds(k, "diag")
    _check_align(align, "diag")
    count = high - low + 1
    if x.ndim < 1 or (count > 1 and (x.ndim < 2 or differ(x.dims[-2], count))):
        raise invalid(
            "TW204",
            f"diag: diagonal has shape {x.dims} for k={(low, high)}",
            f"{count} diagonals in the last axis but one" if count > 1 else "at least 1 dimension",
        )
    rows, columns = _matrix_size(x.dims[-1], low, high, num_rows, num_cols)
    params = {"low": low, "high": high, "rows": rows, "columns": columns, "align": align}
    y = prims.matrix_diag(x, **params)
    return _pad(y, x, prims.matrix_diag, params, padding_value)


def _matrix_size(length: int, low: int, high: int, rows: Any, columns: Any) -> tuple[int, int]:
    least_rows, least_columns = length - smallest(high, 0), length + largest(low, 0)
    rows, columns = integer(rows, "diag", "num_rows"), integer(columns, "diag", "num_cols")
    if same(rows, -1) and same(columns, -1):
        rows = columns = largest(least_rows, least_columns)
    rows = least_rows if same(rows, -1) else rows
    columns = least_columns if same(columns, -1) else columns
    fits = not below(rows, least_rows) and not below(columns, least_columns)
    if not fits or (differ(rows, least_rows) and differ(columns, least_columns)):
        raise invalid(
            "TW205",
            f"diag: num_rows={rows}, num_cols={columns} for diagonals of length {length} and "
            f"k={(low, high)}",
            f"{least_rows} rows or {least_columns} columns, and no fewer of either",
        )
    return rows, columns


@export("linalg.diag_part")
def diag_part(
    input: TensorLike,
    name: str = "diag_part",
    k: TensorLike = 0,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Return the diagonal k of matrices [..., m, n], or the diagonals k = (low, high), the highest
    first.

    Shorter diagonals are filled with `padding_value` at the end `align` leaves free.
    InvalidArgumentError for a rank below 2 or a diagonal outside the matrix.

    >>> import talweg as tf
    >>> tf.linalg.diag_part([[1, 2], [3, 4]], k=(0, 1)).numpy().tolist()
    [[0, 2], [1, 4]]
    """
    x = tensor(input)
    low, high = _bounds(k, "diag_part")
    params = {"low": low, "high": high, "align": _check_align(align, "diag_part")}
    y = prims.matrix_diag_part(x, **params)
    return y if low == high else _pad(y, x, prims.matrix_diag_part, params, padding_value)


@export("linalg.set_diag")
def set_diag(
    input: TensorLike,
    diagonal: TensorLike,
    name: str = "set_diag",
    k: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Return matrices [..., m, n] with the diagonals k replaced; k and align as for
    `tf.linalg.diag_part`.

    >>> import talweg as tf
    >>> tf.linalg.set_diag([[1, 2], [3, 4]], [8, 9]).numpy().tolist()
    [[8, 2], [3, 9]]
    """
    x, y = matching(input, diagonal)
    low, high = _bounds(k, "set_diag")
    return prims.matrix_set_diag(x, y, low=low, high=high, align=_check_align(align, "set_diag"))


@export("linalg.tensor_diag")
def tensor_diag(diagonal: TensorLike, name: str | None = None) -> Tensor:
    """Return a tensor of shape d + d that holds `diagonal`, of shape d, where both indices are
    equal.

    >>> import talweg as tf
    >>> tf.linalg.tensor_diag([1, 2]).numpy().tolist()
    [[1, 0], [0, 2]]
    """
    x = tensor(diagonal)
    if x.dtype not in INEXACT | {int32, int64}:
        raise invalid("TW102", f"tensor_diag: diagonal has dtype {x.dtype.name}", "a wider number")
    if not x.ndim:
        raise invalid("TW203", "tensor_diag: diagonal has shape ()", "a rank of at least 1")
    size = math.prod(x.dims)
    flat = reshape(x, shape=(size,))
    y = prims.matrix_diag(flat, low=0, high=0, rows=size, columns=size, align="RIGHT_LEFT")
    return reshape(y, shape=(*x.dims, *x.dims))


@export("linalg.tensor_diag_part")
def tensor_diag_part(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the diagonal of a tensor of shape d + d, of shape d; InvalidArgumentError for other
    shapes.

    >>> import talweg as tf
    >>> tf.linalg.tensor_diag_part([[1, 2], [3, 4]]).numpy().tolist()
    [1, 4]
    """
    x = tensor(input)
    half = x.dims[: x.ndim // 2]
    if dims_differ(x.dims, half + half):
        raise invalid(
            "TW204", f"tensor_diag_part: input has shape {x.dims}", "a shape that repeats its half"
        )
    if not half:
        return x
    x = require_sizes(x, x.dims, half + half, "tensor_diag_part: no shape that repeats its half")
    size = math.prod(half)
    y = prims.matrix_diag_part(reshape(x, shape=(size, size)), low=0, high=0, align="RIGHT_LEFT")
    return reshape(y, shape=half)


@export("linalg.band_part")
def band_part(
    input: TensorLike, num_lower: TensorLike, num_upper: TensorLike, name: str | None = None
) -> Tensor:
    """Return matrices [..., m, n] with zeros outside a band around the diagonal.

    num_lower, num_upper: how many sub- and superdiagonals stay; all if negative.
    InvalidArgumentError for a rank below 2, or for more diagonals than there are.

    >>> import talweg as tf
    >>> tf.linalg.band_part([[1, 2], [3, 4]], 0, -1).numpy().tolist()
    [[1, 2], [0, 4]]
    """
    lower = integer(num_lower, "band_part", "num_lower")
    return prims.band_part(
        tensor(input), lower=lower, upper=integer(num_upper, "band_part", "num_upper")
    )


@export("linalg.trace")
def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """Compute the sum of the diagonal of matrices [..., m, n] -> [...].

    >>> import talweg as tf
    >>> tf.linalg.trace([[1, 2], [3, 4]])
    <tf.Tensor: shape=(), dtype=int32, numpy=5>
    """
    d = prims.matrix_diag_part(tensor(x), low=0, high=0, align="RIGHT_LEFT")
    return reduce_sum(d, axes=(d.ndim - 1,), keepdims=False)


@export("linalg.cross")
def cross(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """Compute the cross product of vectors of 3 in the last axis; shapes are equal, dtypes real.

    InvalidArgumentError for shapes that differ, FailedPreconditionError for a last axis that is
    not 3.

    >>> import talweg as tf
    >>> tf.linalg.cross([1, 0, 0], [0, 1, 0]).numpy().tolist()
    [0, 0, 1]
    """
    return prims.cross(*matching(a, b))


@export("linalg.matrix_transpose")
def matrix_transpose(
    a: TensorLike, name: str = "matrix_transpose", conjugate: bool = False
) -> Tensor:
    """Exchange the last two axes, conjugated on demand; ValueError for a rank below 2.

    >>> import talweg as tf
    >>> tf.linalg.matrix_transpose([[1, 2, 3]]).numpy().tolist()
    [[1], [2], [3]]
    """
    x = tensor(a)
    if x.ndim < 2:
        raise value_error(
            "TW203", f"matrix_transpose: a has shape {x.dims}", "a (batch) matrix with rank >= 2"
        )
    if conjugate:
        return contract.adjoint(x)
    return transpose(x, perm=(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


@export("linalg.adjoint")
def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Compute the conjugate transpose of the last two axes; ValueError for a rank below 2.

    >>> import talweg as tf
    >>> tf.linalg.adjoint([[1.0, 2.0]]).numpy().tolist()
    [[1.0], [2.0]]
    """
    return matrix_transpose(matrix, conjugate=True)
