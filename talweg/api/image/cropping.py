"""Cropping and padding of images; conversion to grey."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import integer, require_sizes, tensor
from talweg.api.array.passing import get_static_value, identity
from talweg.api.array.rearranging import pad
from talweg.api.array.shapes import ensure_shape
from talweg.api.debugging.assertions import assert_
from talweg.api.export import export
from talweg.api.image.operands import image_tensor, sizes
from talweg.api.linalg.products import tensordot
from talweg.api.math.comparison import greater, less_equal, logical_and, minimum
from talweg.api.scopes import control_dependencies
from talweg.api.tensors import cast
from talweg.core.dims import below, largest
from talweg.core.dtypes import float32, float64, int32
from talweg.core.errors import value_error
from talweg.core.value import Tensor

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


@export("image.crop_to_bounding_box")
def crop_to_bounding_box(
    image: TensorLike, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Tensor:
    """Return the box of the target size that begins at the offsets; ValueError if it is not inside.

    >>> import talweg as tf
    >>> x = tf.reshape(tf.range(4), [2, 2, 1])
    >>> tf.image.crop_to_bounding_box(x, 1, 0, 1, 2)[0, :, 0].numpy()
    array([2, 3], dtype=int32)
    """
    x = image_tensor(image, "crop_to_bounding_box")
    height, width = x.dims[-3:-1]
    offset_height, offset_width, target_height, target_width = _numbers(
        offset_height, offset_width, target_height, target_width
    )
    low, right = offset_height + target_height, offset_width + target_width
    if min(offset_height, offset_width) < 0 or target_height <= 0 or target_width <= 0:
        raise value_error("TW207", "offsets must be >= 0 and target sizes > 0")
    text = f"a box that ends at {low}, {right}"
    if below(height, low) or below(width, right):
        raise value_error("TW206", f"{text} in an image of {height} by {width}")
    enough = largest(height, low), largest(width, right)
    x = require_sizes(x, (height, width), enough, f"{text} in a smaller image")
    return x[..., offset_height:low, offset_width:right, :]


def _numbers(*values: object) -> list:
    """Convert offsets and sizes to Python numbers; unknown ones of a graph leave all to the
    run.
    """
    return [int(value) if isinstance(value, Tensor) else value for value in values]


@export("image.pad_to_bounding_box")
def pad_to_bounding_box(
    image: TensorLike, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Tensor:
    """Return the image at the offsets in one of the target size, with zeros around; ValueError if
    too big.

    >>> import talweg as tf
    >>> tf.image.pad_to_bounding_box(tf.ones([1, 1, 1]), 0, 1, 1, 3)[0, :, 0].numpy()
    array([0., 1., 0.], dtype=float32)
    """
    x = tensor(image)
    if x.shape.rank is None:
        x = ensure_shape(x, [None, None, None])  # as TensorFlow takes it
    height, width = sizes(x)[-3:-1]
    offsets = [_static_or_tensor(offset_height), _static_or_tensor(offset_width)]
    ends = [_static_or_tensor(target_height), _static_or_tensor(target_width)]
    behind = [end - before - size for end, before, size in zip(ends, offsets, (height, width))]
    if any(type(margin) is int and margin < 0 for margin in (*offsets, *behind)):
        raise value_error(
            "TW207",
            f"an image of {height} by {width} at {offset_height}, {offset_width} does not "
            f"fit into {target_height} by {target_width}",
        )
    around = [[before, after] for before, after in zip(offsets, behind)]
    return pad(x, [*[[0, 0]] * (x.ndim - 3), *around, [0, 0]])


def _static_or_tensor(number: Any) -> Any:
    """Return an offset or size as an int where it is known, else as an int32 tensor."""
    if not isinstance(number, Tensor):
        return number
    found = get_static_value(number)
    return cast(number, int32) if found is None else int(found)


@export("image.rgb_to_grayscale")
def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """Return the brightness of colours, with one channel: 0.2989 r + 0.587 g + 0.114 b.

    >>> import talweg as tf
    >>> tf.image.rgb_to_grayscale(tf.ones([1, 1, 3])).shape
    TensorShape([1, 1, 1])
    """
    x = tensor(images)
    weights = tensor([0.2989, 0.5870, 0.1140], float32 if not x.dtype.is_floating else x.dtype)
    if x.dtype.is_floating:
        return tensordot(x, weights, [[-1], [0]])[..., None]
    scale = 1.0 / x.dtype.max
    grey = tensordot(cast(x, float32) * scale, weights, [[-1], [0]])[..., None]
    return cast(grey * (x.dtype.max + 0.5), x.dtype)


@export("image.central_crop")
def central_crop(image: TensorLike, central_fraction: Any) -> Tensor:
    """Return the middle of images: this fraction of their height and of their width.

    ValueError for a fraction outside (0, 1] or a rank other than 3 or 4; InvalidArgumentError for
    a fraction outside (0, 1] that only the run knows.

    >>> import talweg as tf
    >>> tf.image.central_crop(tf.zeros([8, 6, 1]), 0.5).shape
    TensorShape([4, 4, 1])
    """
    known = get_static_value(central_fraction)
    if known is None:
        fraction = _check_fraction(cast(central_fraction, float64))
    else:
        fraction = float(known)
        if not 0 < fraction <= 1:
            raise value_error("TW207", f"central_fraction {fraction} is not within (0, 1]")
        if fraction == 1:
            return tensor(image)
    x = image_tensor(image, "central_crop")
    height, width = sizes(x)[-3:-1]
    top, left = [_margin(size, fraction) for size in (height, width)]
    return x[..., top : height - top, left : width - left, :]


def _check_fraction(fraction: Tensor) -> Tensor:
    """Return the fraction, which only the run knows,
    after an assertion that it is within (0, 1].
    """
    inside = logical_and(greater(fraction, 0), less_equal(fraction, 1))
    check = assert_(inside, ["central_fraction is not within (0, 1]:", fraction])
    with control_dependencies([check]):
        return identity(fraction)


def _margin(size: Any, fraction: Any) -> Any:
    """Compute the size of the margin on each side; a tensor where the size or fraction is one."""
    if type(size) is int and type(fraction) is float:
        return int((size - size * fraction) / 2)
    size = cast(size, float64)
    return cast((size - size * fraction) / 2, int32)


@export("image.resize_with_crop_or_pad")
def resize_with_crop_or_pad(
    image: TensorLike, target_height: TensorLike, target_width: TensorLike
) -> Tensor:
    """Return images of the target size: their middle, or with zeros around them.

    ValueError for a target size below 1 or a rank other than 3 or 4.

    >>> import talweg as tf
    >>> tf.image.resize_with_crop_or_pad(tf.ones([1, 4, 1]), 3, 2)[..., 0].numpy().tolist()
    [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
    """
    x = image_tensor(image, "resize_with_crop_or_pad")
    wanted = []
    for name, value in (("target_height", target_height), ("target_width", target_width)):
        wanted.append(integer(value, "resize_with_crop_or_pad", name))
        if wanted[-1] <= 0:
            raise value_error("TW207", f"{name} must be > 0, got {value}")
    own = sizes(x)[-3:-1]
    kept = [_least(old, new) for old, new in zip(own, wanted)]
    cut = [-_least((new - old + 1) // 2, 0) for old, new in zip(own, wanted)]
    x = x[..., cut[0] : cut[0] + kept[0], cut[1] : cut[1] + kept[1], :]
    before = [(new - size) // 2 for new, size in zip(wanted, kept)]
    around = [[low, new - size - low] for low, new, size in zip(before, wanted, kept)]
    padded = pad(x, [*[[0, 0]] * (x.ndim - 3), *around, [0, 0]])
    return ensure_shape(padded, [*[None] * (x.ndim - 3), *wanted, None])


def _least(first: Any, second: int) -> Any:
    """Return the smaller one; a tensor where one is."""
    known = type(first) is int and type(second) is int
    return min(first, second) if known else minimum(first, second)
