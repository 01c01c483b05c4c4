"""tf.math: reductions over axes.

`axis` is None (all axes), an int, a list of ints, or an integer tensor; negative axes count from
the end.  InvalidArgumentError for an axis that is out of range, named twice, or no integer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import axes_argument, integer, tensor
from talweg.api.export import export
from talweg.api.math.operands import flag, matching
from talweg.core.dtypes import (
    COMPLEX,
    INEXACT,
    INTEGER,
    as_dtype,
    bool_,
    float32,
    float64,
    int16,
    int32,
    int64,
    string,
    uint16,
)
from talweg.core.errors import NeedsStaticError, invalid, type_error
from talweg.core.shapes import normalize_axis
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor, is_tensor_like
from talweg.eager.tensor import EagerTensor
from talweg.execute.compositions import as_one
from talweg.graph.symbol import Symbol
from talweg.prims import arithmetic, complex, reduce

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, DTypeLike, TensorLike
    from talweg.core.primitive import Primitive


def reduction_axes(axis: object, rank: int, function: str) -> tuple[int, ...]:
    """Convert an `axis` argument to sorted non-negative axes."""
    if axis is None:
        return tuple(range(rank))
    if type(axis) is int and -rank <= axis < rank:
        return (axis % rank,)
    if isinstance(axis, (list, tuple)) and all([type(item) is int for item in axis]):
        axes = {item % rank for item in axis if -rank <= item < rank}
        if len(axes) == len(axis):
            return tuple(sorted(axes))
    else:
        axis = _axis_vector(axis, function)
    return axes_argument(axis, rank, function)


def _axis_vector(axis: object, function: str) -> list:
    array = np.asarray(convert_to_tensor(axis)._array)  # type: ignore[attr-defined]
    if array.dtype.kind == "b" and _are_numbers(axis):
        array = array.astype(np.int32)
    if array.size and array.dtype.kind not in "iu":
        raise invalid(
            "TW104", f"{function}: axis={axis!r} is no integer", "an int or a list of ints"
        )
    return array.reshape(-1).tolist()


def _are_numbers(axis: object) -> bool:
    """Return whether truth values count as numbers: Python's do, and one of NumPy alone."""
    if isinstance(axis, (list, tuple)):
        return all([type(item) in (bool, int) for item in axis])
    return isinstance(axis, (bool, np.bool_))


def _reduce(prim: Primitive, x: object, axis: object, keepdims: bool | None, function: str) -> Any:
    if type(x) is not EagerTensor:
        x = convert_to_tensor(x)
        if axis is None and not keepdims and type(x) is Symbol and x.shape.rank is None:
            return prim(x, axes=None, keepdims=False)
    keepdims = flag(keepdims, function, "keepdims")
    try:
        axes = reduction_axes(axis, len(x.dims), function)
    except NeedsStaticError as error:
        error.rank_varies = not keepdims
        raise
    return prim(x, axes=axes, keepdims=keepdims)


@export("math.reduce_sum", "reduce_sum")
def reduce_sum(
    input_tensor: TensorLike, axis: object = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Compute the sum of the elements over axes, in the dtype of the operand.

    input_tensor: a tensor of numbers (InvalidArgumentError otherwise).  axis: None for all, or
    axes.  keepdims: keep reduced axes with size 1.  An empty sum is 0.

    >>> import talweg as tf
    >>> tf.reduce_sum([[1.0, 2.0], [3.0, 4.0]], axis=1)
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([3., 7.], dtype=float32)>
    """
    return _reduce(reduce.reduce_sum, input_tensor, axis, keepdims, "reduce_sum")


@export("math.reduce_mean", "reduce_mean")
def reduce_mean(
    input_tensor: TensorLike,
    axis: AxisLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Compute the mean of the elements over axes, in the dtype of the operand.

    input_tensor: a tensor of numbers (InvalidArgumentError otherwise); the mean of integers drops
    its fraction, that of no floats is NaN.  axis: None for all, or axes.  keepdims: keep reduced
    axes with size 1.

    >>> import talweg as tf
    >>> tf.reduce_mean([[1.0, 2.0], [3.0, 4.0]])
    <tf.Tensor: shape=(), dtype=float32, numpy=2.5>
    """
    return _reduce(reduce.reduce_mean, input_tensor, axis, keepdims, "reduce_mean")


@export("math.reduce_prod", "reduce_prod")
def reduce_prod(
    input_tensor: object,
    axis: AxisLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Compute the product of the elements over axes, in the dtype of the operand; 1 for no
    elements.

    input_tensor: a tensor of numbers (InvalidArgumentError otherwise).  axis: None for all, or
    axes.  keepdims: keep reduced axes with size 1.  The derivative is exact where elements are 0.

    >>> import talweg as tf
    >>> tf.reduce_prod([[1.0, 2.0], [3.0, 4.0]], axis=0)
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([3., 8.], dtype=float32)>
    """
    return _reduce(reduce.reduce_prod, input_tensor, axis, keepdims, "reduce_prod")


@export("math.reduce_max", "reduce_max")
def reduce_max(
    input_tensor: TensorLike,
    axis: AxisLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the largest element over axes; NaN wins, and -inf (the lowest integer) stands for
    none.

    input_tensor: a tensor of real numbers (InvalidArgumentError otherwise).  axis: None for all, or
    axes.  keepdims: keep reduced axes with size 1.  Equal largest elements share the derivative.

    >>> import talweg as tf
    >>> tf.reduce_max([[1.0, 2.0], [3.0, 4.0]], axis=1, keepdims=True)
    <tf.Tensor: shape=(2, 1), dtype=float32, numpy=
    array([[2.],
           [4.]], dtype=float32)>
    """
    return _reduce(reduce.reduce_max, input_tensor, axis, keepdims, "reduce_max")


@export("math.reduce_min", "reduce_min")
def reduce_min(
    input_tensor: TensorLike,
    axis: AxisLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the smallest element over axes; NaN wins, and inf (the highest integer) stands for
    none.

    input_tensor: a tensor of real numbers (InvalidArgumentError otherwise).  axis: None for all, or
    axes.  keepdims: keep reduced axes with size 1.  Equal smallest elements share the derivative.

    >>> import talweg as tf
    >>> tf.reduce_min([[1.0, 2.0], [3.0, 4.0]], axis=-1)
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 3.], dtype=float32)>
    """
    return _reduce(reduce.reduce_min, input_tensor, axis, keepdims, "reduce_min")


@export("math.reduce_logsumexp", "reduce_logsumexp")
def reduce_logsumexp(
    input_tensor: TensorLike,
    axis: AxisLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return ln Σ eˣ over axes, without overflow; -inf for no elements.

    input_tensor: a tensor of floats (InvalidArgumentError otherwise).  axis: None for all, or axes.
    keepdims: keep reduced axes with size 1.

    >>> import talweg as tf
    >>> round(float(tf.reduce_logsumexp([1000.0, 1000.0])), 2)
    1000.69
    """
    return _reduce(reduce.logsumexp, input_tensor, axis, keepdims, "reduce_logsumexp")


def _truth(x: TensorLike) -> Tensor:
    return tensor(x, None if is_tensor_like(x) else bool_)


@export("math.reduce_all", "reduce_all")
def reduce_all(
    input_tensor: TensorLike,
    axis: AxisLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return whether all elements over axes are true; true for no elements.

    input_tensor: a tensor of bool (InvalidArgumentError or TypeError otherwise).  axis: None for
    all, or axes.  keepdims: keep reduced axes with size 1.

    >>> import talweg as tf
    >>> tf.reduce_all([[True, False], [True, True]], axis=1)
    <tf.Tensor: shape=(2,), dtype=bool, numpy=array([False,  True])>
    """
    return _reduce(reduce.reduce_all, _truth(input_tensor), axis, keepdims, "reduce_all")


@export("math.reduce_any", "reduce_any")
def reduce_any(
    input_tensor: TensorLike,
    axis: AxisLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return whether some element over axes is true; false for no elements.

    input_tensor: a tensor of bool (InvalidArgumentError or TypeError otherwise).  axis: None for
    all, or axes.  keepdims: keep reduced axes with size 1.

    >>> import talweg as tf
    >>> tf.reduce_any([[True, False], [False, False]], axis=1)
    <tf.Tensor: shape=(2,), dtype=bool, numpy=array([ True, False])>
    """
    return _reduce(reduce.reduce_any, _truth(input_tensor), axis, keepdims, "reduce_any")


# -- spread and size


@export("math.reduce_variance")
def reduce_variance(
    input_tensor: TensorLike,
    axis: AxisLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Compute the mean of |x - mean|² over axes, a real number for complex operands too.

    input_tensor: a tensor of floats or complex numbers; TypeError for integers.  axis: None for
    all, or axes.  keepdims: keep reduced axes with size 1.

    >>> import talweg as tf
    >>> tf.math.reduce_variance([1.0, 2.0, 3.0, 4.0])
    <tf.Tensor: shape=(), dtype=float32, numpy=1.25>
    """
    return _variance(input_tensor, axis, keepdims, "reduce_variance")


def _variance(x: object, axis: object, keepdims: bool, function: str) -> Any:
    x = tensor(x)
    if x.dtype in INTEGER or (x.dtype in INEXACT and isinstance(axis, float)):
        raise type_error(
            "TW102",
            f"{function}: input_tensor has dtype {x.dtype.name} and axis is {axis!r}",
            "floats or complex numbers, and integer axes",
            "tf.cast(x, tf.float32)",
        )
    axes = reduction_axes(axis, len(x.dims), function)
    difference = x - reduce.reduce_mean(x, axes=axes, keepdims=True)
    if x.dtype in COMPLEX:
        squares = complex.real(difference * complex.conj(difference))
    else:
        squares = arithmetic.square(difference)
    return reduce.reduce_mean(squares, axes=axes, keepdims=flag(keepdims, function, "keepdims"))


@export("math.reduce_std")
def reduce_std(
    input_tensor: TensorLike,
    axis: AxisLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Compute the square root of `tf.math.reduce_variance`.

    input_tensor: a tensor of floats or complex numbers; TypeError for integers.  axis: None for
    all, or axes.  keepdims: keep reduced axes with size 1.  Where it is 0 it has no derivative
    (NaN).

    >>> import talweg as tf
    >>> tf.math.reduce_std([1.0, 1.0, 3.0, 3.0])
    <tf.Tensor: shape=(), dtype=float32, numpy=1.0>
    """
    return arithmetic.sqrt(_variance(input_tensor, axis, keepdims, "reduce_std"))


@export("math.reduce_euclidean_norm")
def reduce_euclidean_norm(
    input_tensor: TensorLike,
    axis: AxisLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return √ Σ |x|² over axes, in the dtype of the operand; for integers the fraction is dropped.

    input_tensor: a tensor of numbers (InvalidArgumentError otherwise).  axis: None for all, or
    axes.  keepdims: keep reduced axes with size 1.

    >>> import talweg as tf
    >>> tf.math.reduce_euclidean_norm([[3.0, 4.0], [6.0, 8.0]], axis=1)
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([ 5., 10.], dtype=float32)>
    """
    x = tensor(input_tensor)
    axes = reduction_axes(axis, len(x.dims), "reduce_euclidean_norm")
    if x.dtype in INTEGER:
        total = _reduce(
            reduce.reduce_sum, arithmetic.square(x), axes, keepdims, "reduce_euclidean_norm"
        )
        return arithmetic.cast(
            arithmetic.sqrt(arithmetic.cast(total, dtype=float64)), dtype=x.dtype
        )
    squares = x * complex.conj(x) if x.dtype in COMPLEX else arithmetic.square(x)
    return arithmetic.sqrt(
        _reduce(reduce.reduce_sum, squares, axes, keepdims, "reduce_euclidean_norm")
    )


@export("math.l2_normalize", "nn.l2_normalize", "linalg.l2_normalize")
@as_one
def l2_normalize(
    x: TensorLike,
    axis: AxisLike | None = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: AxisLike | None = None,
) -> Tensor:
    """Return x / √ max(Σ |x|², epsilon), the sum over axes.

    x: a tensor of floats or complex numbers; TypeError for integers.  axis: None for all, or axes
    (`dim` is its older name).

    >>> import talweg as tf
    >>> tf.math.l2_normalize([3.0, 4.0]).numpy().round(4)
    array([0.6, 0.8], dtype=float32)
    """
    x = tensor(x)
    if x.dtype not in INEXACT:
        raise type_error(
            "TW102", f"l2_normalize: x has dtype {x.dtype.name}", "floats or complex numbers"
        )
    axes = reduction_axes(dim if axis is None else axis, len(x.dims), "l2_normalize")
    if x.dtype in COMPLEX:
        size = arithmetic.square(complex.real(x)) + arithmetic.square(complex.imag(x))
    else:
        size = arithmetic.square(x)
    total = reduce.reduce_sum(size, axes=axes, keepdims=True)
    scale = arithmetic.rsqrt(arithmetic.maximum(*matching(total, epsilon)))
    if x.dtype in COMPLEX:
        return complex.complex_(complex.real(x) * scale, complex.imag(x) * scale)
    return x * scale


# -- counts and places


def _nonzero(x: Tensor) -> Tensor:
    """Return whether an element is not 0, "" or False."""
    if x.dtype is bool_:
        return x
    zero = convert_to_tensor("") if x.dtype is string else arithmetic.zeros_of(x)
    return arithmetic.not_equal(x, zero)


@export("math.count_nonzero")
@as_one
def count_nonzero(
    input: TensorLike,  # noqa: A002
    axis: AxisLike | None = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = int64,
    name: str | None = None,
) -> Tensor:
    """Count the elements over axes that are not 0 (false, the empty string), as `dtype`.

    input: a tensor of any dtype.  axis: None for all, or axes.  keepdims: keep reduced axes with
    size 1.

    >>> import talweg as tf
    >>> tf.math.count_nonzero([[0, 3], [1, 2]], axis=0)
    <tf.Tensor: shape=(2,), dtype=int64, numpy=array([1, 2])>
    """
    ones = arithmetic.cast(_nonzero(tensor(input)), dtype=int64)
    total = _reduce(reduce.reduce_sum, ones, axis, keepdims, "count_nonzero")
    return arithmetic.cast(total, dtype=as_dtype(dtype))


@export("math.zero_fraction", "nn.zero_fraction")
def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """Return the fraction of elements that are 0, a float32 scalar; NaN for no elements.

    value: a tensor of numbers.

    >>> import talweg as tf
    >>> tf.nn.zero_fraction([0.0, 1.0, 0.0, 2.0])
    <tf.Tensor: shape=(), dtype=float32, numpy=0.5>
    """
    value = tensor(value)
    zero = arithmetic.cast(arithmetic.logical_not(_nonzero(value)), dtype=float32)
    return reduce.reduce_mean(zero, axes=tuple(range(len(value.dims))), keepdims=False)


PLACES = {"argmax": (int16, uint16, int32, int64), "argmin": (int32, int64)}


def _place(
    prim: Primitive, x: TensorLike, axis: AxisLike | None, output_type: object, function: str
) -> Any:
    x, dtype = tensor(x), as_dtype(output_type)
    if dtype not in PLACES[function]:
        names = ", ".join(allowed.name for allowed in PLACES[function])
        raise invalid("TW102", f"{function}: output_type is {dtype.name}", f"one of {names}")
    if function == "argmin" and isinstance(axis, (list, tuple)):
        raise invalid("TW203", f"{function}: axis={axis!r} is no scalar", "one axis")
    number = integer(0 if axis is None else axis, function, "axis")
    return prim(x, axis=normalize_axis(function, number, len(x.dims)), dtype=dtype)


@export("math.argmax", "argmax")
def argmax(
    input: TensorLike,  # noqa: A002
    axis: AxisLike | None = None,
    output_type: DTypeLike = int64,
    name: str | None = None,
) -> Tensor:
    """Return the place of the largest element along an axis, the first of equal ones.

    input: a tensor of real numbers or bool.  axis: one axis, 0 if None.  output_type: int16,
    uint16, int32 or int64.  InvalidArgumentError for an empty axis.

    >>> import talweg as tf
    >>> tf.argmax([[1, 9, 3], [7, 5, 6]], axis=1)
    <tf.Tensor: shape=(2,), dtype=int64, numpy=array([1, 0])>
    """
    return _place(reduce.argmax, input, axis, output_type, "argmax")


@export("math.argmin", "argmin")
def argmin(
    input: TensorLike,  # noqa: A002
    axis: AxisLike | None = None,
    output_type: DTypeLike = int64,
    name: str | None = None,
) -> Tensor:
    """Return the place of the smallest element along an axis, the first of equal ones.

    input: a tensor of real numbers or bool.  axis: one axis, 0 if None.  output_type: int32 or
    int64. InvalidArgumentError for an empty axis.

    >>> import talweg as tf
    >>> tf.argmin([[1, 9, 3], [7, 5, 6]], axis=1)
    <tf.Tensor: shape=(2,), dtype=int64, numpy=array([0, 1])>
    """
    return _place(reduce.argmin, input, axis, output_type, "argmin")
