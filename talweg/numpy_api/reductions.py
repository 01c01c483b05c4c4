"""Reductions and cumulative functions, with NumPy's dtypes of results."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.array.gathering import where
from talweg.api.export import export, look_up
from talweg.api.tensors import cast
from talweg.core.dtypes import DType, bool_, uint32, uint64
from talweg.core.errors import value_error
from talweg.core.value import Tensor
from talweg.numpy_api.promotion import (
    as_array,
    axis_within,
    default_int,
    inexact,
    promote,
    to_dtype,
)

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, DTypeLike, TensorLike


def sum_dtype(x: Tensor) -> DType:
    """Return the dtype in which NumPy adds: integers narrower than the default are widened."""
    if x.dtype.is_bool:
        return default_int()
    if not x.dtype.is_integer or x.dtype.size >= default_int().size:
        return x.dtype
    if x.dtype.is_unsigned:
        return uint64 if default_int().size == 8 else uint32
    return default_int()


def _reduce(reduce: str, x: Tensor, axis: Any, keepdims: bool | None) -> Tensor:
    axes = axis if axis is None or isinstance(axis, int) else tuple(int(n) for n in axis)
    return look_up(reduce)(x, axis=axes, keepdims=bool(keepdims))


def _without_out(function: str, out: object) -> None:
    if out is not None:
        raise value_error("TW207", f"{function}: `out` is given", "None: tensors do not change")


@export("experimental.numpy.sum")
def sum(
    a: TensorLike,
    axis: AxisLike | None = None,
    dtype: DTypeLike | None = None,
    keepdims: bool | None = None,
) -> Tensor:  # noqa: A001
    """Compute the sum over axes; bool and narrow integers are added as int64 or uint64.

    >>> import talweg as tf
    >>> tf.experimental.numpy.sum([[1, 2], [3, 4]], axis=0).numpy()
    array([4, 6])
    """
    x = as_array(a)
    return _reduce(
        "reduce_sum", cast(x, sum_dtype(x) if dtype is None else to_dtype(dtype)), axis, keepdims
    )


@export("experimental.numpy.prod")
def prod(
    a: Any,
    axis: AxisLike | None = None,
    dtype: DTypeLike | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Compute the product over axes; bool and narrow integers are multiplied as int64 or uint64.

    >>> import talweg as tf
    >>> tf.experimental.numpy.prod([2, 3]).numpy().item()
    6
    """
    x = as_array(a)
    return _reduce(
        "reduce_prod", cast(x, sum_dtype(x) if dtype is None else to_dtype(dtype)), axis, keepdims
    )


@export("experimental.numpy.mean")
def mean(
    a: TensorLike,
    axis: AxisLike | None = None,
    dtype: DTypeLike | None = None,
    out: object = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Compute the mean over axes, of integers as a float.  ValueError for `out`.

    >>> import talweg as tf
    >>> tf.experimental.numpy.mean([1, 2]).numpy().item()
    1.5
    """
    _without_out("mean", out)
    x = inexact(a) if dtype is None else as_array(a, dtype)
    return _reduce("reduce_mean", x, axis, keepdims)


@export("experimental.numpy.amax")
def amax(
    a: TensorLike,
    axis: AxisLike | None = None,
    out: object = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Return the largest element over axes.  ValueError for `out`.

    >>> import talweg as tf
    >>> tf.experimental.numpy.amax([3, 1]).numpy().item()
    3
    """
    _without_out("amax", out)
    return _extreme("reduce_max", a, axis, keepdims)


@export("experimental.numpy.amin")
def amin(
    a: TensorLike,
    axis: AxisLike | None = None,
    out: object = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Return the smallest element over axes.  ValueError for `out`.

    >>> import talweg as tf
    >>> tf.experimental.numpy.amin([3, 1]).numpy().item()
    1
    """
    _without_out("amin", out)
    return _extreme("reduce_min", a, axis, keepdims)


@export("experimental.numpy.max")
def max(  # noqa: A001
    a: TensorLike, axis: AxisLike | None = None, keepdims: bool | None = None
) -> Tensor:
    """Return the largest element over axes.

    >>> import talweg as tf
    >>> tf.experimental.numpy.max([3, 1]).numpy().item()
    3
    """
    return _extreme("reduce_max", a, axis, keepdims)


@export("experimental.numpy.min")
def min(  # noqa: A001
    a: TensorLike, axis: AxisLike | None = None, keepdims: bool | None = None
) -> Tensor:
    """Return the smallest element over axes.

    >>> import talweg as tf
    >>> tf.experimental.numpy.min([3, 1]).numpy().item()
    1
    """
    return _extreme("reduce_min", a, axis, keepdims)


def _extreme(reduce: str, a: object, axis: object, keepdims: bool | None) -> Tensor:
    x = as_array(a)
    if x.dtype.is_bool:
        reduce = {"reduce_max": "reduce_any", "reduce_min": "reduce_all"}[reduce]
    return _reduce(reduce, x, axis, keepdims)


@export("experimental.numpy.ptp")
def ptp(a: TensorLike, axis: AxisLike | None = None, keepdims: bool | None = None) -> Tensor:
    """Compute the difference of the largest and the smallest element over axes.

    >>> import talweg as tf
    >>> tf.experimental.numpy.ptp([3, 1]).numpy().item()
    2
    """
    return amax(a, axis, keepdims=keepdims) - amin(a, axis, keepdims=keepdims)


@export("experimental.numpy.all")
def all(  # noqa: A001
    a: TensorLike, axis: AxisLike | None = None, keepdims: bool | None = None
) -> Tensor:
    """Return whether all elements over axes are true (not 0).

    >>> import talweg as tf
    >>> bool(tf.experimental.numpy.all([1, 0]))
    False
    """
    return _reduce("reduce_all", cast(as_array(a), bool_), axis, keepdims)


@export("experimental.numpy.any")
def any(  # noqa: A001
    a: TensorLike | None, axis: AxisLike | None = None, keepdims: bool | None = None
) -> Tensor:
    """Return whether an element over axes is true (not 0).

    >>> import talweg as tf
    >>> bool(tf.experimental.numpy.any([1, 0]))
    True
    """
    return _reduce("reduce_any", cast(as_array(a), bool_), axis, keepdims)


@export("experimental.numpy.var")
def var(
    a: TensorLike,
    axis: AxisLike | None = None,
    dtype: DTypeLike | None = None,
    out: object = None,
    ddof: int = 0,
    keepdims: bool | None = None,
) -> Tensor:
    """Compute the variance over axes: the squares of the deviations from the mean, added and
    divided by their number less `ddof`.  Real for complex numbers.  ValueError for `out`.

    >>> import talweg as tf
    >>> tf.experimental.numpy.var([1.0, 3.0]).numpy().item()
    1.0
    """
    _without_out("var", out)
    x = inexact(a) if dtype is None else as_array(a, dtype)
    deviation = x - _reduce("reduce_mean", x, axis, True)
    if x.dtype.is_complex:
        square = look_up("math.real")(deviation * look_up("math.conj")(deviation))
    else:
        square = deviation * deviation
    total = _reduce("reduce_sum", square, axis, keepdims)
    count = _reduce("reduce_sum", look_up("ones_like")(square), axis, keepdims)
    return total / (count - ddof)


@export("experimental.numpy.std")
def std(a: TensorLike, axis: AxisLike | None = None, keepdims: bool | None = None) -> Tensor:
    """Compute the standard deviation over axes: the root of the variance.

    >>> import talweg as tf
    >>> tf.experimental.numpy.std([1.0, 5.0]).numpy().item()
    2.0
    """
    return look_up("sqrt")(var(a, axis, keepdims=keepdims))


@export("experimental.numpy.nansum")
def nansum(
    a: TensorLike,
    axis: AxisLike | None = None,
    dtype: DTypeLike | None = None,
    keepdims: bool | None = False,
) -> Tensor:
    """Sum the elements that are not NaN.

    >>> import talweg as tf
    >>> tf.experimental.numpy.nansum([1.0, float("nan")]).numpy().item()
    1.0
    """
    return sum(_nan_to(a, 0), axis, dtype, keepdims)


@export("experimental.numpy.nanprod")
def nanprod(
    a: TensorLike,
    axis: AxisLike | None = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Multiply the elements that are not NaN.

    >>> import talweg as tf
    >>> tf.experimental.numpy.nanprod([2.0, float("nan")]).numpy().item()
    2.0
    """
    return prod(_nan_to(a, 1), axis, dtype, keepdims)


@export("experimental.numpy.nanmean")
def nanmean(
    a: TensorLike,
    axis: AxisLike | None = None,
    dtype: DTypeLike | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Compute the mean of the elements that are not NaN.

    >>> import talweg as tf
    >>> tf.experimental.numpy.nanmean([2.0, float("nan"), 4.0]).numpy().item()
    3.0
    """
    x = as_array(a)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        return mean(x, axis, dtype, keepdims=keepdims)
    total = nansum(x, axis, dtype, keepdims)
    present = look_up("logical_not")(look_up("not_equal")(x, x))
    return total / _reduce("reduce_sum", cast(present, total.dtype), axis, keepdims)


def _nan_to(a: object, number: float) -> Tensor:
    x = as_array(a)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        return x
    return where(look_up("not_equal")(x, x), as_array(number, x.dtype), x)


@export("experimental.numpy.average")
def average(
    a: TensorLike,
    axis: int | None = None,
    weights: TensorLike | None = None,
    returned: bool = False,
) -> Any:
    """Compute the mean with weights, of the shape of `a`, or a vector along `axis`.

    With `returned`, also the sums of the weights.  ValueError for an axis that is no integer, and
    for a vector of weights without an axis.

    >>> import talweg as tf
    >>> tf.experimental.numpy.average([1, 4], weights=[2, 1]).numpy().item()
    2.0
    """
    if axis is not None and not isinstance(axis, (int, np.integer)):
        raise value_error("TW203", f"average: axis is {axis!r}", "an integer or None")
    x = inexact(a)
    if weights is None:
        center = mean(x, axis)
        count = _reduce("reduce_sum", look_up("ones_like")(x), axis, False)
        return (center, count) if returned else center
    x, w = promote(x, inexact(weights))
    if w.ndim != x.ndim:
        if axis is None or w.ndim != 1:
            raise value_error("TW204", f"average: weights of shape {w.shape}", "an axis, a vector")
        shape = [1] * x.ndim
        shape[axis] = -1
        w = look_up("broadcast_to")(look_up("reshape")(w, shape), look_up("shape")(x))
    total = _reduce("reduce_sum", w, axis, False)
    center = _reduce("reduce_sum", x * w, axis, False) / total
    return (center, total) if returned else center


@export("experimental.numpy.count_nonzero")
def count_nonzero(a: TensorLike, axis: AxisLike | None = None) -> Tensor:
    """Count the elements over axes that are not 0.

    >>> import talweg as tf
    >>> tf.experimental.numpy.count_nonzero([0, 3]).numpy().item()
    1
    """
    return _reduce("reduce_sum", cast(cast(as_array(a), bool_), "int64"), axis, False)


@export("experimental.numpy.argmax")
def argmax(a: TensorLike, axis: int | None = None) -> Tensor:
    """Return the index of the largest element along an axis; without one, in the flat array.

    >>> import talweg as tf
    >>> tf.experimental.numpy.argmax([3, 7]).numpy().item()
    1
    """
    return _place("argmax", a, axis)


@export("experimental.numpy.argmin")
def argmin(a: TensorLike, axis: int | None = None) -> Tensor:
    """Return the index of the smallest element along an axis; without one, in the flat array.

    >>> import talweg as tf
    >>> tf.experimental.numpy.argmin([3, 7]).numpy().item()
    0
    """
    return _place("argmin", a, axis)


def _place(function: str, a: object, axis: int | None) -> Tensor:
    x = as_array(a)
    if x.dtype.is_bool:
        x = cast(x, "int8")
    if axis is None or x.ndim == 0:
        x, axis = look_up("reshape")(x, [-1]), 0
    return look_up(function)(x, axis=axis)


@export("experimental.numpy.cumsum")
def cumsum(a: TensorLike, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Return running sums along an axis; without one, of the flat array.

    >>> import talweg as tf
    >>> tf.experimental.numpy.cumsum([1, 2, 3]).numpy()
    array([1, 3, 6])
    """
    return _running(look_up("cumsum"), a, axis, dtype)


@export("experimental.numpy.cumprod")
def cumprod(a: TensorLike, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Return running products along an axis; without one, of the flat array.

    >>> import talweg as tf
    >>> tf.experimental.numpy.cumprod([1, 2, 3]).numpy()
    array([1, 2, 6])
    """
    return _running(look_up("math.cumprod"), a, axis, dtype)


def _running(
    function: Callable[..., Tensor], a: object, axis: int | None, dtype: DTypeLike | None
) -> Tensor:
    x = as_array(a)
    if dtype is not None:
        x = cast(x, to_dtype(dtype))
    elif x.dtype.is_bool or x.dtype.is_integer and x.dtype.size < default_int().size:
        x = cast(x, default_int())
    if axis is None:
        x, axis = look_up("reshape")(x, [-1]), 0
    return function(x, axis=axis)


@export("experimental.numpy.diff")
def diff(a: TensorLike, n: int = 1, axis: int = -1) -> Tensor:
    """Compute the n-th differences of neighbours along an axis.  ValueError for a negative n or a
    scalar.

    >>> import talweg as tf
    >>> tf.experimental.numpy.diff([1, 4, 9]).numpy()
    array([3, 5])
    """
    x = as_array(a)
    if n < 0:
        raise value_error("TW207", f"diff: n is {n}", "not a negative number")
    if x.ndim == 0:
        raise value_error("TW203", "diff: `a` is a scalar", "at least one axis")
    axis = axis_within(axis, x.ndim, "diff")
    for _ in range(n):
        later = x[(*[slice(None)] * axis, slice(1, None))]
        earlier = x[(*[slice(None)] * axis, slice(None, -1))]
        if x.dtype.is_bool:
            x = look_up("not_equal")(later, earlier)
        else:
            x = later - earlier
    return x


@export("experimental.numpy.trace")
def trace(
    a: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike | None = None
) -> Tensor:
    """Compute the sum of a diagonal of the matrices that two axes make.

    >>> import talweg as tf
    >>> tf.experimental.numpy.trace([[1, 2], [3, 4]]).numpy().item()
    5
    """
    return sum(look_up("experimental.numpy.diagonal")(a, offset, axis1, axis2), -1, dtype)


@export("experimental.numpy.size")
def size(x: TensorLike, axis: int | None = None) -> Any:
    """Return the number of elements, or the size of an axis: a NumPy integer where it is known.

    >>> import talweg as tf
    >>> int(tf.experimental.numpy.size([[1, 2, 3]]))
    3
    """
    if isinstance(x, (int, float, bool, complex)):
        return 1
    x = as_array(x)
    if x.shape.rank is not None:
        sizes = x.shape.as_list() if axis is None else [x.shape.as_list()[axis]]
        if None not in sizes:
            return np.int64(np.prod(sizes, dtype=np.int64))
    return look_up("size")(x) if axis is None else look_up("shape")(x)[axis]


@export("experimental.numpy.ndim")
def ndim(a: Any) -> int:
    """Return the number of axes.

    >>> import talweg as tf
    >>> tf.experimental.numpy.ndim([[1]])
    2
    """
    return as_array(a).ndim


@export("experimental.numpy.shape")
def shape(a: Any) -> Any:
    """Return the static shape.

    >>> import talweg as tf
    >>> tf.experimental.numpy.shape([[1, 2]])
    TensorShape([1, 2])
    """
    return as_array(a).shape
