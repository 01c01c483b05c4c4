"""tf.conv, and the gradients of tf.nn.conv2d as functions of the tensors that they are for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.export import export, look_up
from talweg.api.nn.convolution import _convolve
from talweg.api.nn.windows import full_list
from talweg.core.errors import UnimplementedError, compose, invalid
from talweg.core.value import Tensor

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike

FORMATS = ("CHANNELS_LAST", "CHANNELS_FIRST")


@export("conv")
def conv(
    input: TensorLike,  # noqa: A002
    filter: TensorLike,  # noqa: A002
    strides: Any,
    padding: str,
    explicit_paddings: Sequence[int] = (),
    data_format: str = "CHANNELS_LAST",
    dilations: Any = (),
    batch_dims: int = 1,
    groups: int = 1,
    name: str | None = None,
) -> Tensor:
    """Convolve in 2 or 3 dimensions, as many as the filter has before its last two.

    input: `batch_dims` axes, then the spatial ones and the channels, or the channels first for
    "CHANNELS_FIRST"; strides, dilations: lists of a number for each axis of a batch of 1 axis.
    padding: "SAME", "VALID", or "EXPLICIT" with two numbers for each axis in `explicit_paddings`.
    InvalidArgumentError for other formats, paddings and ranks; UnimplementedError for groups.

    >>> import talweg as tf
    >>> tf.conv(tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 1, 1]), [1, 1, 1, 1], "VALID").shape
    TensorShape([1, 3, 3, 1])
    """
    x, taps = tensor(input), tensor(filter)
    spatial = taps.ndim - 2
    if spatial not in (2, 3):
        raise invalid("TW203", f"conv: the filter has {spatial} spatial dimensions", "2 or 3")
    if data_format not in FORMATS:
        raise invalid("TW207", f"conv: data_format is {data_format!r}", f"one of {FORMATS}")
    if padding not in ("SAME", "VALID", "EXPLICIT"):
        raise invalid("TW207", f"conv: padding is {padding!r}", "'SAME', 'VALID' or 'EXPLICIT'")
    if groups != 1:
        raise UnimplementedError(None, None, compose("TW402", f"conv: groups is {groups}"))
    if x.ndim != batch_dims + spatial + 1:
        raise invalid(
            "TW203", f"conv: input has {x.ndim} axes", f"{batch_dims + spatial + 1} of them"
        )
    first = data_format == "CHANNELS_FIRST"
    steps = full_list(list(strides), spatial, first, "conv", "strides")
    gaps = full_list(list(dilations) or [1] * (spatial + 2), spatial, first, "conv", "dilations")
    margins = _margins(padding, list(explicit_paddings), spatial, first)
    batch = look_up("shape")(x)[:batch_dims]
    if batch_dims != 1:
        own = look_up("shape")(x)[batch_dims:]
        x = look_up("reshape")(x, look_up("concat")([[-1], own], 0))
    convolved = _convolve("conv", x, taps, steps, margins, gaps, first)
    if batch_dims != 1:
        own = look_up("shape")(convolved)[1:]
        convolved = look_up("reshape")(convolved, look_up("concat")([batch, own], 0))
    return convolved


def _margins(padding: str, explicit: list, spatial: int, first: bool) -> Any:
    if padding != "EXPLICIT":
        return padding
    if len(explicit) != 2 * (spatial + 2):
        raise invalid(
            "TW204", f"conv: {len(explicit)} explicit_paddings", f"{2 * (spatial + 2)} numbers"
        )
    pairs = list(zip(explicit[::2], explicit[1::2]))
    return tuple(pairs[2:] if first else pairs[1:-1])


@export("conv2d_backprop_input_v2")
def conv2d_backprop_input_v2(
    input: TensorLike,  # noqa: A002
    filter: TensorLike,  # noqa: A002
    out_backprop: TensorLike,
    strides: Any,
    padding: str,
    use_cudnn_on_gpu: bool = True,
    explicit_paddings: Sequence[int] = (),
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Compute the gradient of `tf.nn.conv2d` by its input, of which only the shape counts.

    >>> import talweg as tf
    >>> tf.conv2d_backprop_input_v2(tf.ones([1, 3, 3, 1]), tf.ones([2, 2, 1, 1]),
    ...     tf.ones([1, 2, 2, 1]), [1, 1, 1, 1], "VALID").numpy()[0, :, :, 0].tolist()
    [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    """
    return look_up("raw_ops.Conv2DBackpropInput")(
        input_sizes=look_up("shape")(input),
        filter=filter,
        out_backprop=out_backprop,
        strides=list(strides),
        padding=padding,
        explicit_paddings=list(explicit_paddings),
        data_format=data_format,
        dilations=list(dilations),
    )


@export("conv2d_backprop_filter_v2")
def conv2d_backprop_filter_v2(
    input: TensorLike,  # noqa: A002
    filter: TensorLike,  # noqa: A002
    out_backprop: TensorLike,
    strides: Any,
    padding: str,
    use_cudnn_on_gpu: bool = True,
    explicit_paddings: Sequence[int] = (),
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Compute the gradient of `tf.nn.conv2d` by its filter, of which only the shape counts.

    >>> import talweg as tf
    >>> tf.conv2d_backprop_filter_v2(tf.ones([1, 3, 3, 1]), tf.ones([2, 2, 1, 1]),
    ...     tf.ones([1, 2, 2, 1]), [1, 1, 1, 1], "VALID").numpy().ravel().tolist()
    [4.0, 4.0, 4.0, 4.0]
    """
    return look_up("raw_ops.Conv2DBackpropFilter")(
        input=input,
        filter_sizes=look_up("shape")(filter),
        out_backprop=out_backprop,
        strides=list(strides),
        padding=padding,
        explicit_paddings=list(explicit_paddings),
        data_format=data_format,
        dilations=list(dilations),
    )
