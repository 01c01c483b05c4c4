"""tf.nn: convolutions, plain, dilated, depthwise and separable.

All of them are the primitive `convolution` in another dress.
Beyond TensorFlow: every data format, dilation, group count and pair of unequal strides works on the
CPU, forward and backward, and explicit paddings are taken by every plain convolution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import integers, require_sizes, tensor
from talweg.api.export import export
from talweg.api.nn.windows import (
    channels_back,
    channels_first,
    channels_last,
    check_input_rank,
    check_windows_fit,
    full_list,
    match_dtypes,
    padding_argument,
    per_axis,
    with_batch_axes,
)
from talweg.core.dims import differ, dims_differ, largest, same
from talweg.core.errors import invalid, value_error
from talweg.core.value import Tensor
from talweg.prims.layout import reshape
from talweg.prims.nn import convolution as prims

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike, WindowLike


def _convolve(
    function: str,
    x: object,
    w: object,
    strides: tuple,
    padding: object,
    dilation: tuple,
    first: bool,
) -> Any:
    """End all convolutions in one way, after their arguments were read."""
    x, w = match_dtypes(x, w)
    ndim = len(strides)
    check_input_rank(x, ndim, function)
    check_input_rank(w, ndim, function, "filters")
    depth = w.dims[-2]

    def run(x: Tensor) -> Any:
        x = channels_last(x, first)
        check_windows_fit(function, x.dims[1:-1], w.dims[:-2], padding, dilation)
        # How many times the filters fit; if they do not, the primitive says what is wrong.
        fits = not same(depth, 0) and not differ(x.dims[-1] % depth, 0)
        groups = largest(x.dims[-1] // depth, 1) if fits else 1
        y = prims.convolution(
            x, w, strides=strides, padding=padding, dilation=dilation, groups=groups
        )
        return channels_back(y, first)

    return with_batch_axes(x, ndim + 2, run)


@export("nn.conv1d")
def conv1d(
    input: TensorLike,
    filters: TensorLike,
    stride: WindowLike,
    padding: WindowLike,
    data_format: str = "NWC",
    dilations: WindowLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolve along a line.

    input [batch, width, in], or [batch, in, width] for data_format "NCW", with any number of batch
    axes; filters [taps, in, out]; stride and dilations: an int or a list of 1 or 3.  padding:
    "SAME", "VALID", or a list of three pairs.  InvalidArgumentError for shapes and dtypes that do
    not go together.

    >>> import talweg as tf
    >>> x, w = tf.constant([[[1.0], [2.0], [4.0]]]), tf.constant([[[1.0]], [[10.0]]])
    >>> tf.nn.conv1d(x, w, 1, "VALID").numpy().ravel().tolist()
    [21.0, 42.0]
    """
    first = channels_first(data_format, 1, "conv1d")
    return _convolve(
        "conv1d",
        input,
        filters,
        per_axis(stride, 1, first, "conv1d", "stride"),
        padding_argument(padding, 1, first, "conv1d"),
        per_axis(dilations, 1, first, "conv1d", "dilations"),
        first,
    )


@export("nn.conv2d")
def conv2d(
    input: TensorLike,
    filters: TensorLike,
    strides: WindowLike,
    padding: WindowLike,
    data_format: str | None = "NHWC",
    dilations: WindowLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolve in the plane.

    input [batch, height, width, in], or [batch, in, height, width] for data_format "NCHW", with any
    number of batch axes; filters [height, width, in / groups, out]; strides and dilations: an int
    or a list of 1, 2 or 4.  padding: "SAME", "VALID", or a list of four pairs in the order of the
    axes.  InvalidArgumentError for shapes and dtypes that do not go together.

    >>> import talweg as tf
    >>> x = tf.reshape(tf.range(9.0), [1, 3, 3, 1])
    >>> tf.nn.conv2d(x, tf.ones([2, 2, 1, 1]), 1, "VALID").numpy().ravel().tolist()
    [8.0, 12.0, 20.0, 24.0]
    """
    first = channels_first(data_format, 2, "conv2d")
    return _convolve(
        "conv2d",
        input,
        filters,
        per_axis(strides, 2, first, "conv2d", "strides"),
        padding_argument(padding, 2, first, "conv2d"),
        per_axis(dilations, 2, first, "conv2d", "dilations"),
        first,
    )


@export("nn.conv3d")
def conv3d(
    input: TensorLike,
    filters: TensorLike,
    strides: WindowLike,
    padding: WindowLike,
    data_format: str = "NDHWC",
    dilations: WindowLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolve in space.

    input [batch, depth, height, width, in] or, for "NCDHW", [batch, in, depth, height, width];
    filters [depth, height, width, in, out]; strides and dilations: lists of 5.

    >>> import talweg as tf
    >>> x = tf.ones([1, 2, 2, 2, 1])
    >>> tf.nn.conv3d(x, x[0, ..., None], [1, 1, 1, 1, 1], "VALID").numpy().item()
    8.0
    """
    first = channels_first(data_format, 3, "conv3d")
    dilations = (1,) * 5 if dilations is None else dilations
    return _convolve(
        "conv3d",
        input,
        filters,
        full_list(strides, 3, first, "conv3d", "strides"),
        padding_argument(padding, 3, first, "conv3d"),
        full_list(dilations, 3, first, "conv3d", "dilations"),
        first,
    )


@export("nn.convolution")
def convolution(
    input: TensorLike,
    filters: TensorLike,
    strides: WindowLike | None = None,
    padding: WindowLike = "VALID",
    data_format: str | None = None,
    dilations: object = None,
    name: str | None = None,
) -> Tensor:
    """Convolve in as many dimensions (1 to 3) as the filters have before their last two.

    Strides and dilations cannot both exceed 1 (ValueError).

    >>> import talweg as tf
    >>> tf.nn.convolution(tf.ones([1, 4, 1]), tf.ones([2, 1, 1]), padding="SAME").shape
    TensorShape([1, 4, 1])
    """
    input, filters = match_dtypes(input, filters)
    ndim = _spatial_rank("convolution", filters.ndim - 2)
    first = channels_first(data_format, ndim, "convolution")
    strides = per_axis(strides, ndim, first, "convolution", "strides")
    dilation = per_axis(dilations, ndim, first, "convolution", "dilations")
    check_not_both("convolution", strides, dilation)
    padding = padding_argument(padding, ndim, first, "convolution")
    return _convolve("convolution", input, filters, strides, padding, dilation, first)


def _spatial_rank(function: str, ndim: int) -> int:
    if ndim not in (1, 2, 3):
        raise value_error(
            "TW203", f"{function}: the number of spatial dimensions is {ndim}", "1, 2 or 3"
        )
    return ndim


def check_not_both(function: str, strides: tuple, dilation: tuple) -> None:
    """Raise ValueError if there are both strides and dilations; ValueError for either below 1."""
    for argument, values in (("strides", strides), ("dilations", dilation)):
        if min(values) < 1:
            raise value_error(
                "TW207", f"{function}: all values of {argument} must be positive, got {values}"
            )
    if max(strides) > 1 and max(dilation) > 1:
        raise value_error(
            "TW207",
            f"{function}: strides > 1 not supported in conjunction with dilations > 1, got "
            f"strides={strides} and dilations={dilation}",
        )


@export("nn.atrous_conv2d")
def atrous_conv2d(
    value: TensorLike,
    filters: TensorLike,
    rate: TensorLike,
    padding: WindowLike,
    name: str | None = None,
) -> Tensor:
    """Call `conv2d` with `rate - 1` holes between the taps of the filters (channels last).

    >>> import talweg as tf
    >>> tf.nn.atrous_conv2d(tf.ones([1, 5, 5, 1]), tf.ones([2, 2, 1, 1]), 2, "VALID").shape
    TensorShape([1, 3, 3, 1])
    """
    return convolution(value, filters, None, padding, "NHWC", rate)


# -- depthwise


def _depthwise_geometry(
    function: str, strides: object, padding: object, data_format: str | None, dilations: object
) -> tuple[dict, bool]:
    """Return (strides, padding, dilation as parameters, whether channels are in front)."""
    first = channels_first(data_format, 2, function)
    return {
        "strides": full_list(strides, 2, first, function, "strides"),
        "padding": padding_argument(padding, 2, first, function),
        "dilation": per_axis(dilations, 2, first, function, "dilations"),
    }, first


def _check_floating(function: str, x: Tensor) -> None:
    if not x.dtype.is_floating:
        raise invalid("TW102", f"{function}: input has dtype {x.dtype.name}", "a floating dtype")


@export("nn.depthwise_conv2d")
def depthwise_conv2d(
    input: object,
    filter: TensorLike,
    strides: WindowLike,
    padding: WindowLike,
    data_format: str | None = None,
    dilations: WindowLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolve every channel with its own filters.

    input [batch, height, width, in] (or channels first), filter [height, width, in, multiplier] ->
    in * multiplier channels; result j of channel c has number c * multiplier + j.  strides: a list
    of 4.

    >>> import talweg as tf
    >>> x, w = tf.ones([1, 3, 3, 2]), tf.ones([2, 2, 2, 3])
    >>> tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "VALID").shape
    TensorShape([1, 2, 2, 6])
    """
    function = "depthwise_conv2d"
    params, first = _depthwise_geometry(function, strides, padding, data_format, dilations)
    x, w = match_dtypes(input, filter)
    check_input_rank(x, 2, function)
    check_input_rank(w, 2, function, "filter")
    _check_floating(function, x)
    x = channels_last(x, first)
    if differ(x.dims[-1], w.dims[2]):
        raise invalid(
            "TW204",
            f"{function}: input and filter must have the same depth: {x.dims[-1]} vs {w.dims[2]}",
        )
    check_windows_fit(function, x.dims[1:-1], w.dims[:2], params["padding"], params["dilation"])
    return channels_back(prims.convolution(x, _beside(w), groups=w.dims[2], **params), first)


def _beside(w: Tensor) -> Any:
    """Reshape depthwise filters [h, w, in, multiplier] to grouped ones [h, w, 1, in *
    multiplier].
    """
    return reshape(w, shape=(*w.dims[:2], 1, w.dims[2] * w.dims[3]))


@export("nn.depthwise_conv2d_backprop_input")
def depthwise_conv2d_backprop_input(
    input_sizes: TensorLike,
    filter: TensorLike,
    out_backprop: TensorLike,
    strides: WindowLike,
    padding: WindowLike,
    data_format: str = "NHWC",
    dilations: WindowLike = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Compute the gradient of `depthwise_conv2d` for its input, of shape `input_sizes`."""
    function = "depthwise_conv2d_backprop_input"
    params, first = _depthwise_geometry(function, strides, padding, data_format, dilations)
    shape = integers(input_sizes, function, "input_sizes")
    g, w = match_dtypes(out_backprop, filter)
    check_input_rank(w, 2, function, "filter")
    g = channels_last(g, first)
    sizes = shape[2:] if first else shape[1:-1]
    x = prims.convolution_input_gradient(g, _beside(w), sizes=sizes, groups=w.dims[2], **params)
    return channels_back(x, first)


@export("nn.depthwise_conv2d_backprop_filter")
def depthwise_conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: WindowLike,
    padding: WindowLike,
    data_format: str = "NHWC",
    dilations: WindowLike = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Compute the gradient of `depthwise_conv2d` for its filter, of shape `filter_sizes`."""
    function = "depthwise_conv2d_backprop_filter"
    params, first = _depthwise_geometry(function, strides, padding, data_format, dilations)
    shape = integers(filter_sizes, function, "filter_sizes")
    x, g = match_dtypes(input, out_backprop)
    x, g = channels_last(x, first), channels_last(g, first)
    w = prims.convolution_filter_gradient(x, g, kernel=shape[:2], groups=shape[2], **params)
    return reshape(w, shape=shape)


@export("nn.separable_conv2d")
def separable_conv2d(
    input: object,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: WindowLike,
    padding: WindowLike,
    data_format: str | None = None,
    dilations: WindowLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Call `depthwise_conv2d`, then a 1x1 convolution that mixes the channels.

    depthwise_filter [height, width, in, multiplier], pointwise_filter [1, 1, in * multiplier, out]
    (ValueError for other shapes).

    >>> import talweg as tf
    >>> x, d, p = tf.ones([1, 3, 3, 2]), tf.ones([2, 2, 2, 1]), tf.ones([1, 1, 2, 5])
    >>> tf.nn.separable_conv2d(x, d, p, [1, 1, 1, 1], "SAME").shape
    TensorShape([1, 3, 3, 5])
    """
    pointwise = tensor(pointwise_filter)
    if pointwise.ndim != 4 or dims_differ(pointwise.dims[:2], (1, 1)):
        raise value_error(
            "TW204",
            f"separable_conv2d: pointwise_filter has shape {pointwise.dims}",
            "[1, 1, in * multiplier, out]",
        )
    pointwise = require_sizes(
        pointwise, pointwise.dims[:2], (1, 1), "separable_conv2d: pointwise_filter"
    )
    x = depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations)
    return conv2d(x, pointwise, 1, "VALID", data_format)
