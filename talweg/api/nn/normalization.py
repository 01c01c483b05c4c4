"""tf.nn: moments, normalisation, and the addition of a bias."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import axes_argument, integer, tensor
from talweg.api.export import export, look_up
from talweg.api.nn.loss import precise
from talweg.core.declare import check_dtype
from talweg.core.dims import same_dims
from talweg.core.dtypes import FLOATING, NUMERIC, int32
from talweg.core.errors import invalid, value_error
from talweg.core.shapes import broadcast_dims
from talweg.core.value import Tensor
from talweg.eager.variable import Variable
from talweg.execute.compositions import as_one
from talweg.prims import arithmetic, layout, rounding
from talweg.prims.arithmetic import cast
from talweg.prims.contract import matmul
from talweg.prims.guarded import div_no_nan
from talweg.prims.nn import activations
from talweg.prims.reduce import reduce_dims, reduce_sum
from talweg.prims.sequences import counting
from talweg.prims.state import as_factor

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, TensorLike


def _mean(x: Tensor, axes: tuple) -> Any:
    """Return the mean over axes, which stay with size 1."""
    count = as_factor(math.prod([x.dims[axis] for axis in axes]), x.dtype)
    total = reduce_sum(x, axes=axes, keepdims=True)
    if x.dtype.is_integer:
        return rounding.truncate_div(total, count)
    return total / (float(count) if type(count) is int else count)


def _drop(x: Tensor, axes: tuple, keepdims: bool) -> Any:
    """Drop `axes` of size 1 from `x`, unless they are to be kept."""
    return x if keepdims else layout.reshape(x, shape=reduce_dims(x.dims, axes, False))


def _back(x: Tensor, dtype: object) -> Any:
    return x if x.dtype is dtype else cast(x, dtype=dtype)


@export("nn.moments")
def moments(
    x: object,
    axes: AxisLike,
    shift: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute the mean and the variance of x over axes: (mean, variance).

    x: floats; 16-bit ones are summed in float32.  axes: a list of ints.  shift is not used.  The
    variance is mean(|x - mean|²).  InvalidArgumentError for an axis out of range.

    >>> import talweg as tf
    >>> mean, variance = tf.nn.moments(tf.constant([1.0, 2.0, 6.0]), axes=[0])
    >>> mean.numpy(), variance.numpy()
    (np.float32(3.0), np.float32(4.6666665))
    """
    given = tensor(x)
    check_dtype("moments", "x", given.dtype, NUMERIC)
    wide = precise(given)
    axes = axes_argument(axes, wide.ndim, "moments", "axes")
    mean = _mean(wide, axes)
    variance = _mean(_square_modulus(wide - mean), axes)
    return tuple(_back(_drop(m, axes, keepdims), given.dtype) for m in (mean, variance))


def _square_modulus(x: Tensor) -> Tensor:
    """Compute |x|², in the dtype of x."""
    if not x.dtype.is_complex:
        return arithmetic.square(x)
    real, imaginary = look_up("math.real")(x), look_up("math.imag")(x)
    return cast(arithmetic.square(real) + arithmetic.square(imaginary), dtype=x.dtype)


@export("nn.weighted_moments")
def weighted_moments(
    x: TensorLike,
    axes: AxisLike,
    frequency_weights: TensorLike,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute the mean and the variance of x over axes, each element counted with its weight.

    x: floats.  frequency_weights: what broadcasts with x; cast to its dtype.
    mean = sum(w x) / sum(w), variance = sum(w (x - mean)²) / sum(w); both 0 where sum(w) = 0.

    >>> import talweg as tf
    >>> mean, variance = tf.nn.weighted_moments([1.0, 3.0], [0], [1.0, 3.0])
    >>> mean.numpy(), variance.numpy()
    (np.float32(2.5), np.float32(0.75))
    """
    given = tensor(x)
    check_dtype("weighted_moments", "x", given.dtype, FLOATING)
    wide = precise(given)
    weights = _back(tensor(frequency_weights), wide.dtype)
    dims = broadcast_dims("weighted_moments", wide.dims, weights.dims)
    if not same_dims(weights.dims, dims):
        weights = layout.broadcast_to(weights, shape=dims)
    axes = axes_argument(axes, len(dims), "weighted_moments", "axes")
    count = reduce_sum(weights, axes=axes, keepdims=True)
    mean = div_no_nan(reduce_sum(weights * wide, axes=axes, keepdims=True), count)
    spread = weights * arithmetic.square(wide - mean)
    variance = div_no_nan(reduce_sum(spread, axes=axes, keepdims=True), count)
    return tuple(_back(_drop(m, axes, keepdims), given.dtype) for m in (mean, variance))


@export("nn.sufficient_statistics")
def sufficient_statistics(
    x: TensorLike,
    axes: AxisLike,
    shift: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Any, ...]:
    """Compute the sums for moments: (count, sum(x - shift), sum((x - shift)²), shift or None).

    x: floats.  shift: a number or tensor, subtracted first so that less is lost by rounding.

    >>> import talweg as tf
    >>> count, total, squares, shift = tf.nn.sufficient_statistics([1.0, 2.0], [0])
    >>> count.numpy(), total.numpy(), squares.numpy()
    (np.float32(2.0), np.float32(3.0), np.float32(5.0))
    """
    x = tensor(x)
    axes = axes_argument(axes, x.ndim, "sufficient_statistics", "axes")
    count = as_factor(math.prod([x.dims[axis] for axis in axes]), x.dtype)
    if shift is not None:
        shift = tensor(shift, hint=x.dtype)
        x = x - shift
    sums = [reduce_sum(v, axes=axes, keepdims=keepdims) for v in (x, arithmetic.square(x))]
    return (tensor(count, x.dtype), *sums, shift)


@export("nn.normalize_moments")
def normalize_moments(
    counts: TensorLike,
    mean_ss: TensorLike,
    variance_ss: TensorLike,
    shift: TensorLike,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute the mean and the variance of the sums of `sufficient_statistics`.

    counts: a scalar; mean_ss, variance_ss, shift (or None): tensors that broadcast.

    >>> import talweg as tf
    >>> mean, variance = tf.nn.normalize_moments(2.0, 3.0, 5.0, None)
    >>> mean.numpy(), variance.numpy()
    (np.float32(1.5), np.float32(0.25))
    """
    mean_ss = tensor(mean_ss)
    share = 1 / tensor(counts, hint=mean_ss.dtype)
    mean = mean_ss * share
    variance = tensor(variance_ss) * share - arithmetic.square(mean)
    return (mean if shift is None else mean + tensor(shift, hint=mean.dtype)), variance


@export("nn.batch_normalization")
def batch_normalization(
    x: object,
    mean: TensorLike | None,
    variance: TensorLike | None,
    offset: TensorLike | None,
    scale: TensorLike | None,
    variance_epsilon: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Return scale (x - mean) / √(variance + variance_epsilon) + offset.

    x: floats of any shape; mean, variance, offset, scale (the last two may be None) broadcast with
    it, and may be wider floats than x, in whose dtype the result is.  InvalidArgumentError where
    their dtypes differ or shapes do not broadcast.

    >>> import talweg as tf
    >>> tf.nn.batch_normalization([[3.0]], [1.0], [4.0], [10.0], [5.0], 0.0).numpy()
    array([[15.]], dtype=float32)
    """
    x = tensor(x)
    statistics = (mean, variance, offset, scale)
    given = [value.dtype for value in statistics if isinstance(value, (Tensor, Variable))]
    hint = given[0] if given else x.dtype
    mean, variance = tensor(mean, hint=hint), tensor(variance, hint=hint)
    factor = arithmetic.rsqrt(variance + variance_epsilon)
    if scale is not None:
        factor = factor * tensor(scale, hint=hint)
    shift = mean * factor
    shift = -shift if offset is None else tensor(offset, hint=hint) - shift
    return x * _back(factor, x.dtype) + _back(shift, x.dtype)


@export("nn.batch_norm_with_global_normalization")
def batch_norm_with_global_normalization(
    input: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    beta: TensorLike,
    gamma: TensorLike,
    variance_epsilon: TensorLike,
    scale_after_normalization: bool,
    name: str | None = None,
) -> Tensor:
    """Return batch normalisation of [b, h, w, c] by the moments [c] of each channel.

    gamma is used if `scale_after_normalization`; see `batch_normalization`.

    >>> import talweg as tf
    >>> x = tf.constant([[[[3.0]]]])
    >>> tf.nn.batch_norm_with_global_normalization(x, [1.0], [4.0], [0.0], [5.0], 0.0, True).numpy()
    array([[[[5.]]]], dtype=float32)
    """
    scale = gamma if scale_after_normalization else None
    return batch_normalization(input, mean, variance, beta, scale, variance_epsilon)


@export("nn.local_response_normalization", "nn.lrn")
@as_one
def local_response_normalization(
    input: TensorLike,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """Return input / (bias + alpha S)^beta, S the sum of squares over channels within
    `depth_radius`.

    input: floats, [b, h, w, c].  InvalidArgumentError for another rank or dtype.  Krizhevsky et al.
    2012, "ImageNet classification with deep convolutional neural networks", 3.3.

    >>> import talweg as tf
    >>> tf.nn.lrn(tf.constant([[[[1.0, 2.0]]]]), depth_radius=0).numpy()
    array([[[[0.70710677, 0.8944272 ]]]], dtype=float32)
    """
    given = tensor(input)
    check_dtype("local_response_normalization", "input", given.dtype, FLOATING)
    if given.ndim != 4:
        raise invalid(
            "TW203",
            f"local_response_normalization: input must be 4-dimensional, got shape {given.dims}",
            "shape [batch, height, width, channels]",
        )
    radius = integer(depth_radius, "local_response_normalization", "depth_radius")
    x = precise(given)
    size = x.dims[-1]
    places = counting(size=size, dtype=int32)
    distance = arithmetic.abs_(layout.reshape(places, shape=(size, 1)) - places)
    window = cast(arithmetic.less_equal(distance, radius), dtype=x.dtype)
    sums = matmul(arithmetic.square(x), window)
    return _back(x * (bias + alpha * sums) ** -beta, given.dtype)


@export("nn.bias_add")
def bias_add(
    value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """Return value + bias, the bias along the channels of value.

    value: numbers, [b, ..., c], or [b, c, ...] with a data_format that starts in "NC".  bias: [c],
    of the same dtype.  ValueError for another data_format, InvalidArgumentError for shapes or
    dtypes that do not match.

    >>> import talweg as tf
    >>> tf.nn.bias_add([[1.0, 2.0]], [10.0, 20.0]).numpy()
    array([[11., 22.]], dtype=float32)
    """
    first = False
    if data_format is not None:
        first = data_format.startswith("NC")
        if not first and not (data_format.startswith("N") and data_format.endswith("C")):
            raise value_error(
                "TW207", f"bias_add: data_format={data_format!r}", "'N...C' or 'NC...'"
            )
    x = tensor(value)
    b = tensor(bias, None if hasattr(bias, "dtype") else x.dtype)
    return activations.bias_add(x, b, axis=1 if first and x.ndim > 1 else max(x.ndim - 1, 0))
