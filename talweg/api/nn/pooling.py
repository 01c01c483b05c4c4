"""tf.nn: pooling.

Maxima ignore padding, averages do not count it.  Of several equal maxima the first in row-major
order has the gradient, in every rank; a window with a NaN has the maximum NaN
(`talweg/kernels/pooling.py` says how TensorFlow differs).  Every data format works on the CPU.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.api.nn.convolution import check_not_both
from talweg.api.nn.windows import (
    axis_entries,
    channels_back,
    channels_first,
    channels_last,
    check_windows_fit,
    padding_argument,
    per_axis,
)
from talweg.core import dtypes
from talweg.core.errors import (
    OpError,
    UnimplementedError,
    compose,
    invalid,
    type_error,
    value_error,
)
from talweg.core.value import Tensor
from talweg.prims import arithmetic
from talweg.prims.layout import reshape
from talweg.prims.nn import pooling
from talweg.prims.sequences import counting
from talweg.prims.state import as_factor

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike, WindowLike

# The primitive, and whether the function takes a list of paddings.
KINDS = {"MAX": (pooling.max_pool, True), "AVG": (pooling.avg_pool, False)}


def _pool(
    function: str,
    kind: str,
    ndim: int,
    input: object,
    ksize: object,
    strides: object,
    padding: Any,
    data_format: str | None,
    dilation: tuple[Any, ...] | None = None,
) -> Any:
    """End all poolings in one way: read the arguments, run the primitive with channels last."""
    prim, lists = KINDS[kind]
    x = tensor(input)
    first = channels_first(data_format, ndim, function)
    window, (batch, depth) = axis_entries(ksize, ndim, first, function, "ksize")
    strides, (batch_step, depth_step) = axis_entries(strides, ndim, first, function, "strides")
    padding = padding_argument(padding, ndim, first, function, lists)
    if (batch, batch_step) != (1, 1):
        raise _not_along("batch", function)
    x = channels_last(x, first)
    dilation = dilation or (1,) * ndim
    check_windows_fit(function, x.dims[1:-1], window, padding, dilation)
    check_windows_fit(function, x.dims[-1:], (depth,), "VALID", (1,))
    window, padding = within_reach(x.dims[1:-1], window, strides, padding, dilation)
    if (depth, depth_step) == (1, 1):
        y = prim(x, window=window, strides=strides, padding=padding, dilation=dilation)
        return channels_back(y, first)
    if prim is not pooling.max_pool:
        raise _not_along("channel", function)
    if not isinstance(padding, str):
        padding = (*padding, (0, 0))
    y = prim(  # the channels as one more spatial axis, and a channel axis of one
        reshape(x, shape=(*x.dims, 1)),
        window=(*window, depth),
        strides=(*strides, depth_step),
        padding=padding,
        dilation=(*dilation, 1),
    )
    return channels_back(reshape(y, shape=y.dims[:-1]), first)


def within_reach(sizes: Any, window: Any, strides: Any, padding: object, dilation: Any) -> tuple:
    """Cut off the ends of windows that never meet the image, where "SAME" has very large ones.

    Returns (window, padding).  What a pooling does grows with its window; these give the same.
    """
    numbers = (*sizes, *window, *strides)
    if padding != "SAME" or any(type(n) is not int for n in numbers) or set(dilation) != {1}:
        return window, padding
    if all(taps <= 2 * size + 1 for taps, size in zip(window, sizes)) or 0 in (*sizes, *strides):
        return window, padding
    taps_left, pairs = [], []
    for size, taps, stride in zip(sizes, window, strides):
        outputs = -(-size // stride)
        whole = max((outputs - 1) * stride + taps - size, 0)
        front = whole // 2
        first = max(front - (outputs - 1) * stride, 0)  # the first tap that any window uses
        last = min(taps, size + front)
        taps_left.append(last - first)
        behind = max((outputs - 1) * stride + last - front - size, 0)
        pairs.append((front - first, behind))
    return tuple(taps_left), tuple(pairs)


def _not_along(axis: str, function: str) -> OpError:
    text = f"{function}: Pooling is not yet supported on the {axis} dimension."
    return UnimplementedError(None, None, compose("TW402", text))


def _rank(function: str, x: Tensor) -> int:
    ndim = x.ndim - 2
    if ndim not in (1, 2, 3):
        raise value_error(
            "TW203", f"{function}: input has shape {x.dims} of rank {x.ndim}", "rank 3, 4 or 5"
        )
    return ndim


@export("nn.max_pool")
def max_pool(
    input: TensorLike,
    ksize: WindowLike,
    strides: WindowLike,
    padding: WindowLike,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute the maximum of each window, in 1, 2 or 3 dimensions by the rank of the input.

    ksize, strides: an int or a list with one number per spatial axis, or per axis.  padding:
    "SAME", "VALID", or a list of pairs, one per axis.  data_format: "NWC", "NHWC", "NDHWC" or their
    forms with the channels in front.

    >>> import talweg as tf
    >>> x = tf.constant([[[1.0], [5.0], [3.0], [2.0]]])
    >>> tf.nn.max_pool(x, 2, 2, "VALID").numpy().ravel().tolist()
    [5.0, 3.0]
    """
    input = tensor(input)
    ndim = _rank("max_pool", input)
    return _pool("max_pool", "MAX", ndim, input, ksize, strides, padding, data_format)


@export("nn.max_pool1d")
def max_pool1d(
    input: TensorLike,
    ksize: WindowLike,
    strides: WindowLike,
    padding: WindowLike,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """Call `max_pool` for [batch, width, channels]."""
    return _pool("max_pool1d", "MAX", 1, input, ksize, strides, padding, data_format)


@export("nn.max_pool2d")
def max_pool2d(
    input: TensorLike,
    ksize: WindowLike,
    strides: WindowLike,
    padding: WindowLike,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """Call `max_pool` for [batch, height, width, channels]."""
    return _pool("max_pool2d", "MAX", 2, input, ksize, strides, padding, data_format)


@export("nn.max_pool3d")
def max_pool3d(
    input: TensorLike,
    ksize: WindowLike,
    strides: WindowLike,
    padding: WindowLike,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Call `max_pool` for [batch, depth, height, width, channels]."""
    return _pool("max_pool3d", "MAX", 3, input, ksize, strides, padding, data_format)


@export("nn.avg_pool")
def avg_pool(
    input: TensorLike,
    ksize: WindowLike,
    strides: WindowLike,
    padding: WindowLike,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute the mean of each window (of its elements inside the input), in 1, 2 or 3 dimensions.

    Arguments as in `max_pool`; padding "SAME" or "VALID".

    >>> import talweg as tf
    >>> x = tf.constant([[[1.0], [5.0], [3.0]]])
    >>> tf.nn.avg_pool(x, 2, 2, "SAME").numpy().ravel().tolist()
    [3.0, 3.0]
    """
    input = tensor(input)
    ndim = _rank("avg_pool", input)
    return _pool("avg_pool", "AVG", ndim, input, ksize, strides, padding, data_format)


@export("nn.avg_pool1d")
def avg_pool1d(
    input: TensorLike,
    ksize: WindowLike,
    strides: WindowLike,
    padding: WindowLike,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """Call `avg_pool` for [batch, width, channels]."""
    return _pool("avg_pool1d", "AVG", 1, input, ksize, strides, padding, data_format)


@export("nn.avg_pool2d")
def avg_pool2d(
    input: TensorLike,
    ksize: WindowLike,
    strides: WindowLike,
    padding: WindowLike,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """Call `avg_pool` for [batch, height, width, channels]."""
    return _pool("avg_pool2d", "AVG", 2, input, ksize, strides, padding, data_format)


@export("nn.avg_pool3d")
def avg_pool3d(
    input: TensorLike,
    ksize: WindowLike,
    strides: WindowLike,
    padding: WindowLike,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Call `avg_pool` for [batch, depth, height, width, channels]."""
    return _pool("avg_pool3d", "AVG", 3, input, ksize, strides, padding, data_format)


@export("nn.pool")
def pool(
    input: TensorLike,
    window_shape: Any,
    pooling_type: str,
    strides: WindowLike | None = None,
    padding: WindowLike = "VALID",
    data_format: str | None = None,
    dilations: WindowLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Pool by type "MAX" or "AVG" over windows of `window_shape`, which may have holes.

    ValueError for another type, for strides and dilations at once, and for a rank that does not
    fit window_shape.

    >>> import talweg as tf
    >>> x = tf.reshape(tf.range(5.0), [1, 5, 1])
    >>> tf.nn.pool(x, [2], "MAX", dilations=[3]).numpy().ravel().tolist()
    [3.0, 4.0]
    """
    if isinstance(window_shape, int):
        raise type_error("TW104", f"pool: window_shape={window_shape}", "a list of ints")
    ndim = len(window_shape)
    if pooling_type not in KINDS:
        raise value_error("TW207", f"pool: pooling_type={pooling_type!r}", "'MAX' or 'AVG'")
    input = tensor(input)
    if input.ndim != ndim + 2 or ndim not in (1, 2, 3):
        raise value_error(
            "TW203",
            f"pool: input has shape {input.dims}, window_shape is {list(window_shape)}",
            "1 to 3 window sizes, and an input with a batch and a channel axis more",
        )
    first = channels_first(data_format, ndim, "pool")
    strides = per_axis(strides, ndim, first, "pool", "strides")
    dilation = per_axis(dilations, ndim, first, "pool", "dilations")
    check_not_both("pool", strides, dilation)
    window, steps = list(window_shape), list(strides)
    return _pool("pool", pooling_type, ndim, input, window, steps, padding, data_format, dilation)


class MaxPoolWithArgmax(NamedTuple):
    """The results of `max_pool_with_argmax`."""

    output: Any
    argmax: Any


@export("nn.max_pool_with_argmax")
def max_pool_with_argmax(
    input: TensorLike,
    ksize: WindowLike,
    strides: WindowLike,
    padding: WindowLike,
    data_format: str = "NHWC",
    output_dtype: DTypeLike = dtypes.int64,
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> Any:
    """Compute the maxima of `max_pool2d`, and where in the image they are: (y * width + x) *
    channels + c.

    With `include_batch_in_index` the images of a batch are counted through.  output_dtype: int32 or
    int64.

    >>> import talweg as tf
    >>> x = tf.constant([[[[1.0], [5.0]], [[3.0], [2.0]]]])
    >>> tf.nn.max_pool_with_argmax(x, 2, 2, "VALID").argmax.numpy().item()
    1
    """
    function = "max_pool_with_argmax"
    if data_format != "NHWC":
        raise value_error("TW207", f"{function}: data_format={data_format!r}", "'NHWC'")
    output_dtype = dtypes.as_dtype(output_dtype)
    if output_dtype not in (dtypes.int32, dtypes.int64):
        raise invalid("TW102", f"{function}: output_dtype={output_dtype.name}", "int32 or int64")
    x = tensor(input)
    params = {
        "window": per_axis(ksize, 2, False, function, "ksize"),
        "strides": per_axis(strides, 2, False, function, "strides"),
        "padding": padding_argument(padding, 2, False, function, False),
        "dilation": (1, 1),
    }
    fits = (params["window"], params["padding"], params["dilation"])
    check_windows_fit(function, x.dims[1:-1], *fits)
    params["window"], params["padding"] = within_reach(x.dims[1:-1], **params)
    y, position = pooling.max_pool_with_argmax(x, **params)
    if include_batch_in_index:
        image = math.prod(x.dims[1:])
        first = reshape(counting(size=x.dims[0], dtype=dtypes.int64), shape=(x.dims[0], 1, 1, 1))
        first = first * as_factor(image, dtypes.int64)
        position = arithmetic.add(position, first)
    if output_dtype is not dtypes.int64:
        position = arithmetic.cast(position, dtype=output_dtype)
    return MaxPoolWithArgmax(y, position)
