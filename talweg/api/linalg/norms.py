"""tf.norm and tf.linalg.normalize."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import axes_argument, tensor
from talweg.api.export import export
from talweg.core.dtypes import INEXACT
from talweg.core.errors import invalid, value_error
from talweg.core.hooks import hooks
from talweg.core.value import Tensor
from talweg.execute.compositions import as_one
from talweg.prims.arithmetic import div, pow_, sqrt, square
from talweg.prims.complex import conj
from talweg.prims.layout import reshape, transpose
from talweg.prims.linalg.spectral import singular_values
from talweg.prims.reduce import reduce_max, reduce_sum

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, TensorLike

MATRIX_NORMS = ("euclidean", "fro", 1, 2, np.inf)


@export("norm", "linalg.norm")
@as_one
def norm(
    tensor: TensorLike,
    ord: Any = "euclidean",
    axis: AxisLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute the norm of vectors along one axis, of matrices along two, or of all elements.

    ord: "euclidean", 1, 2, inf or any positive p for vectors; "euclidean", "fro", 1, 2 or inf for
    matrices.  axis: None (all elements as one vector), an int, or a pair of ints (rows, columns).
    keepdims: keep reduced axes with size 1.  ValueError for an ord or axis that is none of these,
    InvalidArgumentError for integers.

    >>> import talweg as tf
    >>> tf.norm([[3.0, 4.0], [6.0, 8.0]], axis=1).numpy().tolist()
    [5.0, 10.0]
    """
    x, keepdims = _convert(tensor), bool(keepdims)
    if isinstance(axis, (tuple, list)) and len(axis) == 2:
        return _matrix_norm(x, ord, axis, keepdims)
    if axis is not None and not isinstance(axis, (int, np.integer)):
        raise _wrong_axis(axis)
    if isinstance(ord, str) and ord != "euclidean" or not isinstance(ord, str) and not ord > 0:
        raise value_error(
            "TW207",
            f"norm: 'ord' must be a supported vector norm, got {ord!r}",
            "'euclidean', 1, 2, inf, or a positive number",
        )
    axes = axes_argument(axis, x.ndim, "norm")
    if isinstance(ord, str) or ord == 2:
        return _euclidean(x, axes, keepdims)
    size = hooks.abs(x)
    if ord == np.inf:
        return reduce_max(size, axes=axes, keepdims=keepdims)
    if ord == 1:
        return reduce_sum(size, axes=axes, keepdims=keepdims)
    return pow_(reduce_sum(pow_(size, ord), axes=axes, keepdims=keepdims), 1.0 / ord)


_convert = tensor


def _wrong_axis(axis: object) -> Exception:
    return value_error(
        "TW202",
        f"norm: 'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis!r}",
    )


def _euclidean(x: Tensor, axes: tuple, keepdims: bool) -> Tensor:
    if x.dtype not in INEXACT:
        raise invalid(
            "TW102",
            f"norm: tensor has dtype {x.dtype.name}",
            "a floating-point or complex dtype",
            "tf.cast(x, tf.float32)",
        )
    squares = x * conj(x) if x.dtype.is_complex else square(x)
    return sqrt(reduce_sum(squares, axes=axes, keepdims=keepdims))


def _matrix_norm(x: Tensor, ord: object, axis: Any, keepdims: bool) -> Tensor:
    if not all(isinstance(a, (int, np.integer)) for a in axis) or axis[0] == axis[1]:
        raise _wrong_axis(axis)
    if ord not in MATRIX_NORMS:
        raise value_error(
            "TW207",
            f"norm: 'ord' must be a supported matrix norm in {list(MATRIX_NORMS)}, got {ord!r}",
        )
    both = axes_argument(axis, x.ndim, "norm")
    rows, columns = (int(a) % x.ndim for a in axis)
    if ord in ("euclidean", "fro"):
        return _euclidean(x, both, keepdims)
    if ord == 2:
        rest = tuple(a for a in range(x.ndim) if a not in both)
        s = singular_values(transpose(x, perm=(*rest, rows, columns)))
        top = reduce_max(s, axes=(s.ndim - 1,), keepdims=False)
        if not keepdims:
            return top
        return reshape(top, shape=tuple(1 if a in both else n for a, n in enumerate(x.dims)))
    inner, outer = (rows, columns) if ord == 1 else (columns, rows)
    sums = reduce_sum(hooks.abs(x), axes=(inner,), keepdims=True)
    top = reduce_max(sums, axes=(outer,), keepdims=True)
    if keepdims:
        return top
    return reshape(top, shape=tuple(n for a, n in enumerate(x.dims) if a not in both))


@export("linalg.normalize")
def normalize(
    tensor: TensorLike,
    ord: TensorLike = "euclidean",
    axis: AxisLike | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Return (tensor / its norm, the norm with reduced axes kept); arguments and errors as
    `tf.norm`.

    >>> import talweg as tf
    >>> unit, length = tf.linalg.normalize([3.0, 4.0])
    >>> length
    <tf.Tensor: shape=(1,), dtype=float32, numpy=array([5.], dtype=float32)>
    """
    x = _convert(tensor)
    length = norm(x, ord, axis, True)
    same = length if length.dtype is x.dtype else hooks.cast(length, x.dtype)
    return div(x, same), length
