"""tf.nn: transposed convolutions.

Each is the primitive `convolution_input_gradient`: the gradient of a convolution for its input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import integers, require_sizes
from talweg.api.export import export
from talweg.api.nn.windows import (
    channels_back,
    channels_first,
    channels_last,
    check_input_rank,
    match_dtypes,
    padding_argument,
    per_axis,
)
from talweg.core.dims import Size, differ, same, smallest
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.value import Tensor
from talweg.prims.nn import convolution as prims

if TYPE_CHECKING:
    from talweg.core.annotations import ShapeLike, TensorLike, WindowLike


def _convolve_transposed(
    function: str,
    g: object,
    w: object,
    output_shape: object,
    strides: tuple,
    padding: str,
    dilation: tuple,
    first: bool,
) -> Any:
    """End all transposed convolutions in one way: by the input gradient of a convolution."""
    g, w = match_dtypes(g, w)
    ndim = len(strides)
    check_input_rank(g, ndim, function)
    check_input_rank(w, ndim, function, "filters")
    g = channels_last(g, first)
    count, sizes, channels = _output_shape(function, output_shape, g, w, ndim, first)
    depth = w.dims[-2]
    w = require_sizes(
        w,
        (channels % depth, smallest(channels, 1)),
        (0, 1),
        f"{function}: output_shape",
    )
    g = require_sizes(g, g.dims[:1], (count,), f"{function}: batch size of output_shape")
    x = prims.convolution_input_gradient(
        g,
        w,
        sizes=sizes,
        strides=strides,
        padding=padding,
        dilation=dilation,
        groups=channels // w.dims[-2],
    )
    return channels_back(x, first)


def _output_shape(
    function: str, output_shape: object, g: Any, w: Any, ndim: int, first: bool
) -> tuple[Size, tuple, Size]:
    """Read (batch size, spatial sizes, channels) of `output_shape`.

    It may leave out batch size and channels.
    """
    if isinstance(output_shape, int):
        raise type_error(
            "TW205", f"{function}: output_shape={output_shape}", f"{ndim} or {ndim + 2} sizes"
        )
    shape = integers(output_shape, function, "output_shape")
    depth = w.dims[-2]
    if len(shape) == ndim:
        return g.dims[0], shape, depth
    if len(shape) != ndim + 2:
        raise value_error(
            "TW205",
            f"{function}: output_shape={shape} has length {len(shape)}",
            f"{ndim} or {ndim + 2} sizes",
        )
    channels = shape[1] if first else shape[-1]
    prims.check_positive(function, "filter sizes", w.dims[:-1])
    odd = differ(channels % depth, 0) or same(channels, 0)
    if odd or differ(shape[0], g.dims[0]):
        raise invalid(
            "TW204",
            f"{function}: output_shape={shape} with an input of batch size {g.dims[0]} and filters "
            f"of shape {w.dims}",
            f"batch size {g.dims[0]}, and channels a multiple of the filters' {depth}",
        )
    return shape[0], (shape[2:] if first else shape[1:-1]), channels


@export("nn.conv1d_transpose")
def conv1d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: WindowLike,
    padding: WindowLike = "SAME",
    data_format: str | None = "NWC",
    dilations: WindowLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute the transpose (the input gradient) of `conv1d`; filters [taps, out, in].

    `output_shape` is the shape of the result; windows over it must number as many as input has.

    >>> import talweg as tf
    >>> x, w = tf.constant([[[1.0], [2.0]]]), tf.constant([[[1.0]], [[10.0]]])
    >>> tf.nn.conv1d_transpose(x, w, [1, 4, 1], 2).numpy().ravel().tolist()
    [1.0, 10.0, 2.0, 20.0]
    """
    first = channels_first(data_format, 1, "conv1d_transpose")
    return _convolve_transposed(
        "conv1d_transpose",
        input,
        filters,
        output_shape,
        per_axis(strides, 1, first, "conv1d_transpose", "strides"),
        padding_argument(padding, 1, first, "conv1d_transpose"),
        per_axis(dilations, 1, first, "conv1d_transpose", "dilations"),
        first,
    )


@export("nn.conv2d_transpose")
def conv2d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: WindowLike,
    padding: WindowLike = "SAME",
    data_format: str | None = "NHWC",
    dilations: WindowLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute the transpose (the input gradient) of `conv2d`; filters [height, width, out, in].

    `output_shape` is the shape of the result; windows over it must number as many as input has.
    """
    first = channels_first(data_format, 2, "conv2d_transpose")
    return _convolve_transposed(
        "conv2d_transpose",
        input,
        filters,
        output_shape,
        per_axis(strides, 2, first, "conv2d_transpose", "strides"),
        padding_argument(padding, 2, first, "conv2d_transpose"),
        per_axis(dilations, 2, first, "conv2d_transpose", "dilations"),
        first,
    )


@export("nn.conv3d_transpose")
def conv3d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: WindowLike,
    padding: WindowLike = "SAME",
    data_format: str | None = "NDHWC",
    dilations: WindowLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute the transpose (the input gradient) of `conv3d`; filters [depth, height, width, out,
    in].
    """
    first = channels_first(data_format, 3, "conv3d_transpose")
    return _convolve_transposed(
        "conv3d_transpose",
        input,
        filters,
        output_shape,
        per_axis(strides, 3, first, "conv3d_transpose", "strides"),
        padding_argument(padding, 3, first, "conv3d_transpose"),
        per_axis(dilations, 3, first, "conv3d_transpose", "dilations"),
        first,
    )


@export("nn.conv_transpose")
def conv_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: WindowLike,
    padding: WindowLike = "SAME",
    data_format: str | None = None,
    dilations: WindowLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Call `conv1d_transpose`, `conv2d_transpose` or `conv3d_transpose`, by length of
    output_shape."""
    if isinstance(output_shape, int):
        raise type_error("TW205", f"conv_transpose: output_shape={output_shape}", "3 to 5 sizes")
    shape = integers(output_shape, "conv_transpose", "output_shape")
    functions = {3: conv1d_transpose, 4: conv2d_transpose, 5: conv3d_transpose}
    if len(shape) not in functions:
        raise value_error(
            "TW205",
            f"conv_transpose: output_shape must be of length 3, 4 or 5, got {shape} of length "
            f"{len(shape)}",
        )
    return functions[len(shape)](
        input, filters, shape, strides, padding, data_format, dilations, name
    )


@export("nn.atrous_conv2d_transpose")
def atrous_conv2d_transpose(
    value: Any,
    filters: Any,
    output_shape: Any,
    rate: TensorLike,
    padding: Any,
    name: str | None = None,
) -> Tensor:
    """Compute the transpose (the input gradient) of `atrous_conv2d`; filters [height, width, out,
    in].
    """
    function = "atrous_conv2d_transpose"
    value, filters = match_dtypes(value, filters)
    rates = per_axis(rate, 2, False, function, "rate")
    if min(rates) < 1:
        raise value_error("TW207", f"{function}: `rate` cannot be less than one, got {rate}")
    if padding not in ("SAME", "VALID"):
        raise value_error(
            "TW207", f"{function}: `padding` must be either 'VALID' or 'SAME', got {padding!r}"
        )
    if value.ndim == filters.ndim == 4 and differ(value.dims[-1], filters.dims[-1]):
        raise value_error(
            "TW204",
            f"{function}: value has {value.dims[-1]} channels, filters have shape {filters.dims}",
            "the filters' last dimension equal to the number of channels",
        )
    return _convolve_transposed(
        function, value, filters, output_shape, (1, 1), padding, rates, False
    )
