"""Brightness, contrast, gamma, hue and saturation of images.

Images of integers are adjusted as floats from 0 to 1, and go back to their own dtype.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.clipping import clip_by_value
from talweg.api.array.joining import stack, unstack
from talweg.api.array.shapes import shape
from talweg.api.export import export
from talweg.api.image.colours import hsv_to_rgb, rgb_to_hsv
from talweg.api.image.dtypes import convert_image_dtype
from talweg.api.image.operands import image_tensor
from talweg.api.math.arithmetic import rsqrt
from talweg.api.math.comparison import maximum
from talweg.api.math.reductions import reduce_mean, reduce_prod, reduce_std
from talweg.api.tensors import cast
from talweg.core.dims import differ
from talweg.core.dtypes import DType, float16, float32
from talweg.core.errors import invalid, value_error
from talweg.core.value import Tensor
from talweg.execute.compositions import as_one

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike

OWN = (float16, float32)  # dtypes in which images are adjusted as they are


def _as_float(image: object) -> tuple[Any, DType]:
    """Return the image as floats, and the dtype it had."""
    x = tensor(image)
    return convert_image_dtype(x, x.dtype if x.dtype in OWN else float32), x.dtype


@export("image.adjust_brightness")
def adjust_brightness(image: TensorLike, delta: TensorLike) -> Tensor:
    """Add `delta` to images, which goes from -1 to 1; integers stay in their range.

    >>> import talweg as tf
    >>> tf.image.adjust_brightness(tf.constant([[[0, 100, 250]]], tf.uint8), 0.1).numpy().tolist()
    [[[25, 125, 255]]]
    """
    x, dtype = _as_float(image)
    return convert_image_dtype(x + cast(delta, x.dtype), dtype, saturate=True)


@export("image.adjust_contrast")
@as_one
def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """Return images with the distance from the mean of each channel multiplied.

    InvalidArgumentError for images of a rank below 3.

    >>> import talweg as tf
    >>> tf.image.adjust_contrast([[[1.0], [3.0]]], 2.0).numpy().ravel().tolist()
    [0.0, 4.0]
    """
    x, dtype = _as_float(images)
    if x.ndim < 3:
        raise invalid("TW203", f"adjust_contrast: images have shape {x.dims}", "rank 3 or more")
    mean = reduce_mean(x, [-3, -2], keepdims=True)
    adjusted = (x - mean) * cast(contrast_factor, x.dtype) + mean
    return convert_image_dtype(adjusted, dtype, saturate=True)


@export("image.adjust_gamma")
def adjust_gamma(image: TensorLike, gamma: TensorLike = 1, gain: TensorLike = 1) -> Tensor:
    """Return gain * image ** gamma; ValueError for a gamma below 0.

    >>> import talweg as tf
    >>> tf.image.adjust_gamma([[[0.5]]], 2.0).numpy().ravel().tolist()
    [0.25]
    """
    if isinstance(gamma, (int, float)) and gamma < 0:
        raise value_error("TW207", f"Gamma should be a non-negative real number, got {gamma}")
    x, dtype = _as_float(image)
    adjusted = cast(gain, x.dtype) * x ** cast(gamma, x.dtype)
    return convert_image_dtype(adjusted, dtype, saturate=True)


@export("image.adjust_hue")
@as_one(least=1)
def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """Return colours [..., 3] whose hue is turned by `delta`, where 1 is the whole circle.

    ValueError for a delta outside [-1, 1].

    >>> import talweg as tf
    >>> tf.image.adjust_hue([[[1.0, 0.0, 0.0]]], 1 / 3).numpy().round(3).ravel().tolist()
    [0.0, 1.0, 0.0]
    """
    if isinstance(delta, (int, float, np.number)) and not -1 <= delta <= 1:
        raise value_error("TW207", f"delta must be in the interval [-1, 1], got {delta}")
    x, dtype = _as_float(image)
    hue, saturation, value = unstack(rgb_to_hsv(_colours(x, "adjust_hue")), axis=-1)
    turned = stack([hue + cast(delta, x.dtype), saturation, value], axis=-1)
    return convert_image_dtype(hsv_to_rgb(turned), dtype)


@export("image.adjust_saturation")
@as_one(least=1)
def adjust_saturation(
    image: TensorLike, saturation_factor: TensorLike, name: str | None = None
) -> Tensor:
    """Return colours [..., 3] whose saturation is multiplied, up to 1.

    >>> import talweg as tf
    >>> tf.image.adjust_saturation([[[0.75, 0.5, 0.5]]], 0.0).numpy().round(3).ravel().tolist()
    [0.75, 0.75, 0.75]
    """
    x, dtype = _as_float(image)
    hue, saturation, value = unstack(rgb_to_hsv(_colours(x, "adjust_saturation")), axis=-1)
    scaled = clip_by_value(saturation * cast(saturation_factor, x.dtype), 0.0, 1.0)
    return convert_image_dtype(hsv_to_rgb(stack([hue, scaled, value], axis=-1)), dtype)


def _colours(x: Tensor, function: str) -> Any:
    if x.ndim < 3 or differ(x.dims[-1], 3):
        raise invalid("TW204", f"{function}: images have shape {x.dims}", "[..., rows, columns, 3]")
    return x


@export("image.per_image_standardization")
@as_one
def per_image_standardization(image: TensorLike) -> Tensor:
    """Return each image less its mean, over its standard deviation; that of n numbers is at least
    n^-1/2.

    image [..., height, width, channels]; integers become float32.  ValueError for a lower rank.

    >>> import talweg as tf
    >>> tf.image.per_image_standardization([[[1.0], [3.0]]]).numpy().ravel().tolist()
    [-1.0, 1.0]
    """
    x = image_tensor(image, "per_image_standardization", most=None)
    x = x if x.dtype is float32 else cast(x, float32)
    axes = [-1, -2, -3]
    count = cast(reduce_prod(shape(x)[-3:]), x.dtype)
    deviation = maximum(reduce_std(x, axes, keepdims=True), rsqrt(count))
    return (x - reduce_mean(x, axes, keepdims=True)) / deviation
