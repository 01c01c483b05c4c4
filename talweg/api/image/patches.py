"""Patches of images and volumes, laid out as channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.api.nn.windows import full_list, padding_argument
from talweg.core.errors import invalid
from talweg.core.value import Tensor
from talweg.prims.nn import pooling

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike, WindowLike


def _patches(
    function: str, x: Tensor, window: tuple, strides: tuple, dilation: tuple, padding: object
) -> Any:
    ndim = len(window)
    if x.ndim != ndim + 2:
        raise invalid("TW203", f"{function}: images have shape {x.dims}", f"rank {ndim + 2}")
    padding = padding_argument(padding, ndim, False, function, False)
    return pooling.patches(x, window=window, strides=strides, padding=padding, dilation=dilation)


@export("image.extract_patches")
def extract_patches(
    images: TensorLike,
    sizes: TensorLike,
    strides: WindowLike,
    rates: WindowLike,
    padding: WindowLike,
    name: str | None = None,
) -> Tensor:
    """Return the windows of images, each one as a row of channels.

    images [batch, height, width, channels] -> [batch, rows, columns, patch], where a patch has the
    elements of its rows, columns and channels, in that order.  sizes, strides, rates (the distance
    between taps): lists of 4 with 1 first and last.  padding "SAME" (zeros) or "VALID".

    >>> import talweg as tf
    >>> x, ones = tf.reshape(tf.range(9), [1, 3, 3, 1]), [1, 1, 1, 1]
    >>> tf.image.extract_patches(x, [1, 2, 2, 1], ones, ones, "VALID")[0, 0, 0].numpy().tolist()
    [0, 1, 3, 4]
    """
    function = "extract_patches"
    window = full_list(sizes, 2, False, function, "sizes")
    steps = full_list(strides, 2, False, function, "strides")
    dilation = full_list(rates, 2, False, function, "rates")
    return _patches(function, tensor(images), window, steps, dilation, padding)


@export("extract_volume_patches")
def extract_volume_patches(
    input: TensorLike,
    ksizes: WindowLike,
    strides: WindowLike,
    padding: WindowLike,
    name: str | None = None,
) -> Tensor:
    """Return the windows of volumes, each one as a row of channels; see `tf.image.extract_patches`.

    input [batch, depth, height, width, channels]; ksizes, strides: lists of 5 with 1 first and
    last.
    """
    function = "extract_volume_patches"
    window = full_list(ksizes, 3, False, function, "ksizes")
    steps = full_list(strides, 3, False, function, "strides")
    return _patches(function, tensor(input), window, steps, (1, 1, 1), padding)
