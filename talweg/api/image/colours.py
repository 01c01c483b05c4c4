"""Colour spaces: RGB to HSV and back; edges.

Smith, "Color gamut transform pairs" (1978).  Channels are the last axis; all values lie in [0, 1].
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.clipping import clip_by_value
from talweg.api.array.creating import ones_like, zeros_like
from talweg.api.array.gathering import where
from talweg.api.array.joining import stack, unstack
from talweg.api.array.rearranging import pad
from talweg.api.array.shapes import reshape
from talweg.api.export import export
from talweg.api.math.comparison import equal, less, less_equal, maximum, minimum
from talweg.api.math.rounding import floor
from talweg.api.nn.convolution import depthwise_conv2d
from talweg.core.dims import differ
from talweg.core.dtypes import float32
from talweg.core.errors import FailedPreconditionError, compose
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.execute.compositions import as_one

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


def _channels(images: TensorLike, function: str) -> tuple:
    x = tensor(images, hint=float32)
    if not x.dims or differ(x.dims[-1], 3):
        text = compose("TW204", f"{function}: images of shape {x.dims}", "3 channels, last")
        raise FailedPreconditionError(None, None, text)
    return tuple(unstack(x, 3, axis=-1))


@export("image.rgb_to_hsv")
@as_one(least=1)
def rgb_to_hsv(images: TensorLike, name: str | None = None) -> Tensor:
    """Return Hue, saturation and value of colours; grey has the hue 0.

    >>> import talweg as tf
    >>> tf.image.rgb_to_hsv([0.0, 1.0, 1.0]).numpy().tolist()
    [0.5, 1.0, 1.0]
    """
    red, green, blue = _channels(images, "rgb_to_hsv")
    value = maximum(maximum(red, green), blue)
    spread = value - minimum(minimum(red, green), blue)
    grey = equal(spread, 0)
    unit = 1.0 / (6.0 * where(grey, ones_like(spread), spread))
    of_green = where(
        equal(green, value),
        unit * (blue - red) + 2.0 / 6.0,
        unit * (red - green) + 4.0 / 6.0,
    )
    hue = where(equal(red, value), unit * (green - blue), of_green)
    hue = where(grey, zeros_like(hue), hue)
    hue = where(less(hue, 0), hue + 1.0, hue)
    dark = less_equal(value, 0)
    saturation = spread / where(dark, ones_like(value), value)
    saturation = where(dark, zeros_like(value), saturation)
    return stack([hue, saturation, value], axis=-1)


@export("image.hsv_to_rgb")
@as_one(least=1)
def hsv_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Return red, green and blue of colours given by hue, saturation and value.

    >>> import talweg as tf
    >>> tf.image.hsv_to_rgb([0.5, 1.0, 1.0]).numpy().tolist()
    [0.0, 1.0, 1.0]
    """
    hue, saturation, value = _channels(images, "hsv_to_rgb")
    turned = (hue - floor(hue)) * 6.0
    red = clip_by_value(abs(turned - 3.0) - 1.0, 0.0, 1.0)
    green = clip_by_value(2.0 - abs(turned - 2.0), 0.0, 1.0)
    blue = clip_by_value(2.0 - abs(turned - 4.0), 0.0, 1.0)
    rest = 1.0 - saturation
    return stack([(rest + saturation * part) * value for part in (red, green, blue)], axis=-1)


@export("image.sobel_edges")
def sobel_edges(image: TensorLike) -> Tensor:
    """Return Sobel's derivatives of images [batch, height, width, channels] by row and by column.

    The result [batch, height, width, channels, 2]; edges are mirrored.

    >>> import talweg as tf
    >>> x = tf.reshape(tf.range(9.0), [1, 3, 3, 1])
    >>> tf.image.sobel_edges(x)[0, 1, 1, 0].numpy().tolist()
    [24.0, 8.0]
    """
    x = tensor(image)
    down = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], np.float32)
    filters = np.stack([down, down.T], axis=-1)[:, :, None, :]
    filters = np.tile(filters, (1, 1, x.dims[-1], 1))
    padded = pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    edges = depthwise_conv2d(padded, convert_to_tensor(filters), [1, 1, 1, 1], "VALID")
    return reshape(edges, [*x.dims, 2])
