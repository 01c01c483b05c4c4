"""Random adjustments and crops of images: from hidden streams, or by a seed.

The numbers drawn are TensorFlow's, for the same seeds and order of calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.array.shapes import shape
from talweg.api.array.slicing import slice_
from talweg.api.debugging.assertions import assert_less_equal
from talweg.api.export import export
from talweg.api.image.adjusting import (
    adjust_brightness,
    adjust_contrast,
    adjust_hue,
    adjust_saturation,
)
from talweg.api.image.files import adjust_jpeg_quality
from talweg.api.image.operands import check_delta, check_range
from talweg.api.random.stateful import uniform
from talweg.api.random.stateless import stateless_uniform
from talweg.api.scopes import control_dependencies
from talweg.core.dtypes import int32
from talweg.core.errors import value_error
from talweg.core.value import Tensor

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


@export("image.random_brightness")
def random_brightness(image: TensorLike, max_delta: Any, seed: object = None) -> Tensor:
    """Return images with a number of [-max_delta, max_delta) added; ValueError for a negative
    one."""
    check_delta(max_delta)
    return adjust_brightness(image, uniform([], -max_delta, max_delta, seed=seed))


@export("image.stateless_random_brightness")
def stateless_random_brightness(image: TensorLike, max_delta: Any, seed: Any) -> Tensor:
    """Call `random_brightness` by a seed, a pair of integers."""
    check_delta(max_delta)
    delta = stateless_uniform([], seed, -max_delta, max_delta)
    return adjust_brightness(image, delta)


@export("image.random_contrast")
def random_contrast(
    image: TensorLike, lower: TensorLike, upper: TensorLike, seed: int | None = None
) -> Tensor:
    """Return images whose contrast is multiplied by a number of [lower, upper).

    ValueError unless 0 <= lower < upper.
    """
    check_range(lower, upper)
    return adjust_contrast(image, uniform([], lower, upper, seed=seed))


@export("image.stateless_random_contrast")
def stateless_random_contrast(
    image: TensorLike, lower: TensorLike, upper: TensorLike, seed: TensorLike
) -> Tensor:
    """Call `random_contrast` by a seed, a pair of integers."""
    check_range(lower, upper)
    return adjust_contrast(image, stateless_uniform([], seed, lower, upper))


@export("image.random_hue")
def random_hue(image: TensorLike, max_delta: Any, seed: object = None) -> Tensor:
    """Return images whose hue is turned by a number of [-max_delta, max_delta).

    ValueError unless 0 <= max_delta <= 0.5.
    """
    check_delta(max_delta, 0.5)
    return adjust_hue(image, uniform([], -max_delta, max_delta, seed=seed))


@export("image.stateless_random_hue")
def stateless_random_hue(image: TensorLike, max_delta: Any, seed: Any) -> Tensor:
    """Call `random_hue` by a seed, a pair of integers."""
    check_delta(max_delta, 0.5)
    return adjust_hue(image, stateless_uniform([], seed, -max_delta, max_delta))


@export("image.random_saturation")
def random_saturation(
    image: TensorLike, lower: TensorLike, upper: TensorLike, seed: int | None = None
) -> Tensor:
    """Return images whose saturation is multiplied by a number of [lower, upper).

    ValueError unless 0 <= lower < upper.
    """
    check_range(lower, upper)
    return adjust_saturation(image, uniform([], lower, upper, seed=seed))


@export("image.stateless_random_saturation")
def stateless_random_saturation(
    image: TensorLike, lower: TensorLike, upper: TensorLike, seed: TensorLike | None = None
) -> Tensor:
    """Call `random_saturation` by a seed, a pair of integers."""
    check_range(lower, upper)
    return adjust_saturation(image, stateless_uniform([], seed, lower, upper))


def _check_qualities(low: Any, high: Any) -> None:
    if not (0 <= low <= 100 and 0 <= high <= 100):
        raise value_error("TW207", f"jpeg qualities {low} and {high}", "numbers from 0 to 100")
    if low >= high:
        raise value_error(
            "TW207", f"min_jpeg_quality must be less than max_jpeg_quality, got {low} and {high}"
        )


@export("image.random_jpeg_quality")
def random_jpeg_quality(
    image: TensorLike,
    min_jpeg_quality: TensorLike,
    max_jpeg_quality: TensorLike,
    seed: int | None = None,
) -> Tensor:
    """Return an image as it is after a JPEG file of a quality drawn from [min, max).

    ValueError unless 0 <= min < max <= 100.
    """
    _check_qualities(min_jpeg_quality, max_jpeg_quality)
    return adjust_jpeg_quality(image, uniform([], min_jpeg_quality, max_jpeg_quality, int32, seed))


@export("image.stateless_random_jpeg_quality")
def stateless_random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: TensorLike, max_jpeg_quality: TensorLike, seed: TensorLike
) -> Tensor:
    """Call `random_jpeg_quality` by a seed, a pair of integers."""
    _check_qualities(min_jpeg_quality, max_jpeg_quality)
    quality = stateless_uniform([], seed, min_jpeg_quality, max_jpeg_quality, int32)
    return adjust_jpeg_quality(image, quality)


@export("image.random_crop")
def random_crop(
    value: TensorLike, size: TensorLike, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Return a block of `size` of a tensor, anywhere in it; InvalidArgumentError if that is too
    large.

    >>> import talweg as tf
    >>> tf.image.random_crop(tf.zeros([8, 8, 3]), [5, 6, 3]).shape
    TensorShape([5, 6, 3])
    """
    x, size, dims, check = _parts(value, size)
    drawn = uniform(shape(dims), maxval=size.dtype.max, dtype=size.dtype, seed=seed)
    with control_dependencies([check]):
        return slice_(x, drawn % (dims - size + 1), size)


@export("image.stateless_random_crop")
def stateless_random_crop(
    value: TensorLike, size: TensorLike, seed: TensorLike, name: str | None = None
) -> Tensor:
    """Call `random_crop` by a seed, a pair of integers.

    >>> import talweg as tf
    >>> x = tf.range(9)
    >>> tf.image.stateless_random_crop(x, [3], (1, 2)).numpy()
    array([5, 6, 7], dtype=int32)
    """
    x, size, dims, check = _parts(value, size)
    drawn = stateless_uniform(shape(dims), seed, minval=0, maxval=size.dtype.max, dtype=size.dtype)
    with control_dependencies([check]):
        return slice_(x, drawn % (dims - size + 1), size)


def _parts(value: TensorLike, size: TensorLike) -> tuple[Any, Any, Any, Any]:
    """Return the tensor, the size of the block,
    the shape of the tensor, the check that one fits.
    """
    x, size = tensor(value), tensor(size, int32)
    dims = shape(x)
    return x, size, dims, assert_less_equal(size, dims, "Need value.shape >= size")
