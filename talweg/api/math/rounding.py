"""tf.math: rounding, and questions about floating-point numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.api.math.operands import elementwise, matching_tensors
from talweg.core.dtypes import float32
from talweg.core.value import Tensor
from talweg.prims import rounding

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


@export("math.floor", "floor")
def floor(x: Any, name: str | None = None) -> Tensor:
    """Return the largest integer not above x, as a float.  The derivative is absent.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.floor([-1.5, 1.5])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([-2.,  1.], dtype=float32)>
    """
    return elementwise(rounding.floor, x)


@export("math.ceil")
def ceil(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the smallest integer not below x, as a float.  The derivative is absent.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.ceil([-1.5, 1.5])
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([-1.,  2.], dtype=float32)>
    """
    return elementwise(rounding.ceil, x)


@export("math.rint")
def rint(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the integer next to x, halves to the even one, as a float.

    x: a tensor of floats; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.rint([-1.5, 0.5, 2.4])
    <tf.Tensor: shape=(3,), dtype=float32, numpy=array([-2.,  0.,  2.], dtype=float32)>
    """
    return elementwise(rounding.round_, x)


@export("math.round", "round")
def round(x: TensorLike, name: str | None = None) -> Tensor:  # noqa: A001
    """Return the integer next to x, halves to the even one, in x's dtype.

    x: a tensor of real numbers; integers come back as they are.  InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.round([-1.5, 0.5, 2.4])
    <tf.Tensor: shape=(3,), dtype=float32, numpy=array([-2.,  0.,  2.], dtype=float32)>
    """
    return elementwise(lambda x: x if x.dtype.is_integer else rounding.round_(x), x)


@export("math.is_nan")
def is_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether x is not a number.

    x: a tensor of floats; InvalidArgumentError otherwise.  bool in x's shape.

    >>> import talweg as tf
    >>> tf.math.is_nan([1.0, float("nan"), float("inf")])
    <tf.Tensor: shape=(3,), dtype=bool, numpy=array([False,  True, False])>
    """
    return elementwise(rounding.is_nan, x)


@export("math.is_inf")
def is_inf(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether x is infinite.

    x: a tensor of floats; InvalidArgumentError otherwise.  bool in x's shape.

    >>> import talweg as tf
    >>> tf.math.is_inf([1.0, float("nan"), float("inf")])
    <tf.Tensor: shape=(3,), dtype=bool, numpy=array([False, False,  True])>
    """
    return elementwise(rounding.is_inf, x)


@export("math.is_finite")
def is_finite(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether x is neither infinite nor NaN.

    x: a tensor of floats; InvalidArgumentError otherwise.  bool in x's shape.

    >>> import talweg as tf
    >>> tf.math.is_finite([1.0, float("nan"), float("inf")])
    <tf.Tensor: shape=(3,), dtype=bool, numpy=array([ True, False, False])>
    """
    return elementwise(rounding.is_finite, x)


@export("math.nextafter")
def nextafter(x1: TensorLike, x2: TensorLike, name: str | None = None) -> Tensor:
    """Return the next number of the dtype after x1 in the direction of x2.

    x1, x2: tensors of float32 or float64, broadcast; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> float(tf.math.nextafter(tf.constant(1.0, tf.float64), 2.0)) - 1.0
    2.220446049250313e-16
    """
    return rounding.next_after(*matching_tensors(x1, x2, hint=float32))
