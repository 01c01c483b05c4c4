"""tf.math: cumulative sums, products and log-sum-exps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.api.math.operands import flag
from talweg.core.errors import invalid, type_error
from talweg.core.shapes import normalize_axis
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.prims import scan

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, TensorLike
    from talweg.core.primitive import Primitive


def _scan(prim: Primitive, x: object, axis: AxisLike, exclusive: bool, reverse: bool) -> Any:
    x = tensor(x)
    if type(axis) is not int:
        axis = _one_axis(axis, prim.name)
    place = normalize_axis(prim.name, axis, len(x.dims), by_value=True)
    exclusive = flag(exclusive, prim.name, "exclusive")
    return prim(x, axis=place, exclusive=exclusive, reverse=flag(reverse, prim.name, "reverse"))


def _one_axis(axis: AxisLike, function: str) -> int:
    if isinstance(axis, (bool, np.bool_)):
        return int(axis)
    array = np.asarray(convert_to_tensor(axis)._array)  # type: ignore[attr-defined]
    if array.dtype.kind not in "iu":
        raise type_error("TW104", f"{function}: axis={axis!r} is no integer", "an integer")
    if array.ndim:
        raise invalid("TW203", f"{function}: axis has shape {array.shape}", "a scalar")
    return int(array)


@export("math.cumsum", "cumsum")
def cumsum(
    x: object,
    axis: AxisLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Compute the sums of the elements up to each one along an axis, in x's shape and dtype.

    x: a tensor of numbers of rank at least 1 (InvalidArgumentError otherwise).  exclusive: leave
    the element itself out.  reverse: sum from the end.

    >>> import talweg as tf
    >>> tf.cumsum([1, 2, 3])
    <tf.Tensor: shape=(3,), dtype=int32, numpy=array([1, 3, 6], dtype=int32)>
    >>> tf.cumsum([1, 2, 3], exclusive=True, reverse=True)
    <tf.Tensor: shape=(3,), dtype=int32, numpy=array([5, 3, 0], dtype=int32)>
    """
    return _scan(scan.cumsum, x, axis, exclusive, reverse)


@export("math.cumprod")
def cumprod(
    x: TensorLike,
    axis: AxisLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Compute the products of the elements up to each one along an axis, in x's shape and dtype.

    x: a tensor of numbers of rank at least 1 (InvalidArgumentError otherwise).  exclusive: leave
    the element itself out.  reverse: multiply from the end.  The derivative is exact at zeros.

    >>> import talweg as tf
    >>> tf.math.cumprod([2, 3, 4])
    <tf.Tensor: shape=(3,), dtype=int32, numpy=array([ 2,  6, 24], dtype=int32)>
    >>> tf.math.cumprod([2, 3, 4], exclusive=True)
    <tf.Tensor: shape=(3,), dtype=int32, numpy=array([1, 2, 6], dtype=int32)>
    """
    return _scan(scan.cumprod, x, axis, exclusive, reverse)


@export("math.cumulative_logsumexp")
def cumulative_logsumexp(
    x: TensorLike,
    axis: AxisLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return ln Σ eˣ over the elements up to each one along an axis, without overflow.

    x: a tensor of floats of rank at least 1 (InvalidArgumentError otherwise).  exclusive: leave the
    element itself out, which puts -inf first.  reverse: start from the end.

    >>> import talweg as tf
    >>> tf.math.cumulative_logsumexp([5.0, 1000.0])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([   5., 1000.], dtype=float32)>
    """
    return _scan(scan.cumulative_logsumexp, x, axis, exclusive, reverse)
