"""tf.raw_ops of windows: the operations under the public functions, and their gradients.

As in TensorFlow they take keyword arguments only, and lists with one number per axis.
"""

from __future__ import annotations

from typing import Any

from talweg.api.arguments import integers
from talweg.api.export import export
from talweg.api.image.patches import extract_patches, extract_volume_patches
from talweg.api.nn import convolution, morphology, pooling
from talweg.api.nn.windows import (
    channels_back,
    channels_first,
    channels_last,
    full_list,
    match_dtypes,
    padding_argument,
)
from talweg.core import dtypes
from talweg.core.dims import largest, same
from talweg.prims.nn import convolution as prims
from talweg.prims.nn import pooling as pools

ONES = (1, 1, 1, 1, 1)


def _padding(padding: Any, explicit_paddings: Any) -> Any:
    """Return the public form of a padding and its flat list of numbers."""
    if padding != "EXPLICIT":
        return padding
    flat = list(explicit_paddings)
    return [flat[i : i + 2] for i in range(0, len(flat), 2)]


def _geometry(
    function: str, strides: Any, padding: Any, data_format: Any, dilations: Any, ndim: int
) -> tuple[dict, bool]:
    first = channels_first(data_format, ndim, function)
    return {
        "strides": full_list(strides, ndim, first, function, "strides"),
        "padding": padding_argument(padding, ndim, first, function),
        "dilation": full_list(dilations, ndim, first, function, "dilations"),
    }, first


def _input_gradient(
    function: str, sizes: Any, w: Any, g: Any, strides: Any, padding: Any, form: Any, step: Any
) -> Any:
    shape = integers(sizes, function, "input_sizes")
    ndim = len(shape) - 2
    params, first = _geometry(function, strides, padding, form, step, ndim)
    g, w = match_dtypes(g, w)
    spatial, channels = (shape[2:], shape[1]) if first else (shape[1:-1], shape[-1])
    groups = largest(channels // w.dims[-2], 1) if not same(w.dims[-2], 0) else 1
    x = prims.convolution_input_gradient(
        channels_last(g, first), w, sizes=spatial, groups=groups, **params
    )
    return channels_back(x, first)


def _filter_gradient(
    function: str, x: Any, sizes: Any, g: Any, strides: Any, padding: Any, form: Any, step: Any
) -> Any:
    shape = integers(sizes, function, "filter_sizes")
    params, first = _geometry(function, strides, padding, form, step, len(shape) - 2)
    x, g = match_dtypes(x, g)
    x, g = channels_last(x, first), channels_last(g, first)
    groups = largest(x.dims[-1] // shape[-2], 1) if not same(shape[-2], 0) else 1
    return prims.convolution_filter_gradient(x, g, kernel=shape[:-2], groups=groups, **params)


@export("raw_ops.Conv2D")
def Conv2D(
    *,
    input,
    filter,
    strides,
    padding,
    use_cudnn_on_gpu=True,
    explicit_paddings=(),
    data_format="NHWC",
    dilations=ONES[:4],
    name=None,
):
    """Compute `tf.nn.conv2d`."""
    padding = _padding(padding, explicit_paddings)
    return convolution.conv2d(input, filter, strides, padding, data_format, dilations)


@export("raw_ops.Conv2DBackpropInput")
def Conv2DBackpropInput(
    *,
    input_sizes,
    filter,
    out_backprop,
    strides,
    padding,
    use_cudnn_on_gpu=True,
    explicit_paddings=(),
    data_format="NHWC",
    dilations=ONES[:4],
    name=None,
):
    """Compute the gradient of `tf.nn.conv2d` for its input, of shape `input_sizes`."""
    padding = _padding(padding, explicit_paddings)
    return _input_gradient(
        "Conv2DBackpropInput",
        input_sizes,
        filter,
        out_backprop,
        strides,
        padding,
        data_format,
        dilations,
    )


@export("raw_ops.Conv2DBackpropFilter")
def Conv2DBackpropFilter(
    *,
    input,
    filter_sizes,
    out_backprop,
    strides,
    padding,
    use_cudnn_on_gpu=True,
    explicit_paddings=(),
    data_format="NHWC",
    dilations=ONES[:4],
    name=None,
):
    """Compute the gradient of `tf.nn.conv2d` for its filters, of shape `filter_sizes`."""
    padding = _padding(padding, explicit_paddings)
    return _filter_gradient(
        "Conv2DBackpropFilter",
        input,
        filter_sizes,
        out_backprop,
        strides,
        padding,
        data_format,
        dilations,
    )


@export("raw_ops.Conv3D")
def Conv3D(*, input, filter, strides, padding, data_format="NDHWC", dilations=ONES, name=None):
    """Compute `tf.nn.conv3d`."""
    return convolution.conv3d(input, filter, strides, padding, data_format, dilations)


@export("raw_ops.Conv3DBackpropInputV2")
def Conv3DBackpropInputV2(
    *,
    input_sizes,
    filter,
    out_backprop,
    strides,
    padding,
    data_format="NDHWC",
    dilations=ONES,
    name=None,
):
    """Compute the gradient of `tf.nn.conv3d` for its input, of shape `input_sizes`."""
    return _input_gradient(
        "Conv3DBackpropInputV2",
        input_sizes,
        filter,
        out_backprop,
        strides,
        padding,
        data_format,
        dilations,
    )


@export("raw_ops.Conv3DBackpropFilterV2")
def Conv3DBackpropFilterV2(
    *,
    input,
    filter_sizes,
    out_backprop,
    strides,
    padding,
    data_format="NDHWC",
    dilations=ONES,
    name=None,
):
    """Compute the gradient of `tf.nn.conv3d` for its filters, of shape `filter_sizes`."""
    return _filter_gradient(
        "Conv3DBackpropFilterV2",
        input,
        filter_sizes,
        out_backprop,
        strides,
        padding,
        data_format,
        dilations,
    )


@export("raw_ops.DepthwiseConv2dNative")
def DepthwiseConv2dNative(
    *,
    input,
    filter,
    strides,
    padding,
    explicit_paddings=(),
    data_format="NHWC",
    dilations=ONES[:4],
    name=None,
):
    """Compute `tf.nn.depthwise_conv2d`."""
    padding = _padding(padding, explicit_paddings)
    return convolution.depthwise_conv2d(input, filter, strides, padding, data_format, dilations)


@export("raw_ops.DepthwiseConv2dNativeBackpropInput")
def DepthwiseConv2dNativeBackpropInput(
    *,
    input_sizes,
    filter,
    out_backprop,
    strides,
    padding,
    explicit_paddings=(),
    data_format="NHWC",
    dilations=ONES[:4],
    name=None,
):
    """Compute `tf.nn.depthwise_conv2d_backprop_input`."""
    padding = _padding(padding, explicit_paddings)
    return convolution.depthwise_conv2d_backprop_input(
        input_sizes, filter, out_backprop, strides, padding, data_format, dilations
    )


@export("raw_ops.DepthwiseConv2dNativeBackpropFilter")
def DepthwiseConv2dNativeBackpropFilter(
    *,
    input,
    filter_sizes,
    out_backprop,
    strides,
    padding,
    explicit_paddings=(),
    data_format="NHWC",
    dilations=ONES[:4],
    name=None,
):
    """Compute `tf.nn.depthwise_conv2d_backprop_filter`."""
    padding = _padding(padding, explicit_paddings)
    return convolution.depthwise_conv2d_backprop_filter(
        input, filter_sizes, out_backprop, strides, padding, data_format, dilations
    )


# -- pooling


def _choice(
    function: str,
    prim: Any,
    moved: Any,
    x: Any,
    y: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    form: Any,
) -> Any:
    """Compute `max_pool_scatter` or `max_pool_gather` in any data format."""
    x, y = match_dtypes(x, y)
    x, moved = match_dtypes(x, moved)
    ndim = x.ndim - 2
    first = channels_first(form, ndim, function)
    parts = [channels_last(part, first) for part in (moved, x, y)]
    window = full_list(ksize, ndim, first, function, "ksize")
    strides = full_list(strides, ndim, first, function, "strides")
    padding = padding_argument(padding, ndim, first, function)
    dilation = (1,) * ndim
    sizes = parts[1].dims[1:-1]
    window, padding = pooling.within_reach(sizes, window, strides, padding, dilation)
    result = prim(*parts, window=window, strides=strides, padding=padding, dilation=dilation)
    return channels_back(result, first)


def _average(
    function: str, shape: Any, g: Any, ksize: Any, strides: Any, padding: Any, form: Any
) -> Any:
    sizes = integers(shape, function, "orig_input_shape")
    ndim = len(sizes) - 2
    first = channels_first(form, ndim, function)
    sizes = sizes[2:] if first else sizes[1:-1]
    window = full_list(ksize, ndim, first, function, "ksize")
    strides = full_list(strides, ndim, first, function, "strides")
    padding = padding_argument(padding, ndim, first, function, False)
    dilation = (1,) * ndim
    window, padding = pooling.within_reach(sizes, window, strides, padding, dilation)
    result = pools.avg_pool_transpose(
        channels_last(match_dtypes(g, g)[0], first),
        sizes=sizes,
        window=window,
        strides=strides,
        padding=padding,
        dilation=dilation,
    )
    return channels_back(result, first)


@export("raw_ops.MaxPool")
def MaxPool(*, input, ksize, strides, padding, explicit_paddings=(), data_format="NHWC", name=None):
    """Compute `tf.nn.max_pool2d`."""
    padding = _padding(padding, explicit_paddings)
    return pooling.max_pool2d(input, ksize, strides, padding, data_format)


@export("raw_ops.MaxPoolV2")
def MaxPoolV2(*, input, ksize, strides, padding, data_format="NHWC", name=None):
    """Compute `tf.nn.max_pool2d`."""
    return pooling.max_pool2d(
        input,
        list(integers(ksize, "MaxPoolV2", "ksize")),
        list(integers(strides, "MaxPoolV2", "strides")),
        padding,
        data_format,
    )


@export("raw_ops.MaxPool3D")
def MaxPool3D(*, input, ksize, strides, padding, data_format="NDHWC", name=None):
    """Compute `tf.nn.max_pool3d`."""
    return pooling.max_pool3d(input, ksize, strides, padding, data_format)


@export("raw_ops.MaxPoolGrad")
def MaxPoolGrad(
    *,
    orig_input,
    orig_output,
    grad,
    ksize,
    strides,
    padding,
    explicit_paddings=(),
    data_format="NHWC",
    name=None,
):
    """Return `grad`, of the shape of orig_output, at the first maximum of each window of
    orig_input."""
    padding = _padding(padding, explicit_paddings)
    return _choice(
        "MaxPoolGrad",
        pools.max_pool_scatter,
        grad,
        orig_input,
        orig_output,
        ksize,
        strides,
        padding,
        data_format,
    )


@export("raw_ops.MaxPoolGradGrad", "raw_ops.MaxPool3DGradGrad")
def MaxPoolGradGrad(
    *, orig_input, orig_output, grad, ksize, strides, padding, data_format=None, name=None
):
    """Return of `grad`, of the shape of orig_input, the elements at the first maxima of its
    windows."""
    return _choice(
        "MaxPoolGradGrad",
        pools.max_pool_gather,
        grad,
        orig_input,
        orig_output,
        ksize,
        strides,
        padding,
        data_format,
    )


@export("raw_ops.MaxPool3DGrad")
def MaxPool3DGrad(
    *, orig_input, orig_output, grad, ksize, strides, padding, data_format="NDHWC", name=None
):
    """Do what `MaxPoolGrad` does for volumes: the first maximum has the gradient, not all of
    several."""
    return _choice(
        "MaxPool3DGrad",
        pools.max_pool_scatter,
        grad,
        orig_input,
        orig_output,
        ksize,
        strides,
        padding,
        data_format,
    )


@export("raw_ops.MaxPoolWithArgmax")
def MaxPoolWithArgmax(
    *, input, ksize, strides, padding, Targmax=dtypes.int64, include_batch_in_index=False, name=None
):
    """Compute `tf.nn.max_pool_with_argmax`."""
    return pooling.max_pool_with_argmax(
        input, ksize, strides, padding, "NHWC", Targmax, include_batch_in_index
    )


@export("raw_ops.AvgPool")
def AvgPool(*, value, ksize, strides, padding, data_format="NHWC", name=None):
    """Compute `tf.nn.avg_pool2d`."""
    return pooling.avg_pool2d(value, ksize, strides, padding, data_format)


@export("raw_ops.AvgPool3D")
def AvgPool3D(*, input, ksize, strides, padding, data_format="NDHWC", name=None):
    """Compute `tf.nn.avg_pool3d`."""
    return pooling.avg_pool3d(input, ksize, strides, padding, data_format)


@export("raw_ops.AvgPoolGrad", "raw_ops.AvgPool3DGrad")
def AvgPoolGrad(*, orig_input_shape, grad, ksize, strides, padding, data_format=None, name=None):
    """Compute the gradient of an average pooling for its input, of shape `orig_input_shape`."""
    return _average("AvgPoolGrad", orig_input_shape, grad, ksize, strides, padding, data_format)


# -- morphology and patches


@export("raw_ops.Dilation2D")
def Dilation2D(*, input, filter, strides, rates, padding, name=None):
    """Compute `tf.nn.dilation2d`."""
    return morphology.dilation2d(input, filter, strides, padding, "NHWC", rates)


@export("raw_ops.ExtractImagePatches")
def ExtractImagePatches(*, images, ksizes, strides, rates, padding, name=None):
    """Compute `tf.image.extract_patches`."""
    return extract_patches(images, ksizes, strides, rates, padding)


@export("raw_ops.ExtractVolumePatches")
def ExtractVolumePatches(*, input, ksizes, strides, padding, name=None):
    """Compute `tf.extract_volume_patches`."""
    return extract_volume_patches(input, ksizes, strides, padding)
