"""tf.image.resize and its kin: rows and columns of images made longer or shorter."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.gathering import gather
from talweg.api.array.passing import get_static_value
from talweg.api.array.rearranging import pad
from talweg.api.array.shapes import expand_dims, squeeze
from talweg.api.export import export, graph_aware
from talweg.api.image import weights
from talweg.api.image.resampling import resample
from talweg.core.dims import same
from talweg.core.dtypes import float32
from talweg.core.errors import invalid, value_error
from talweg.core.value import Tensor
from talweg.execute.compositions import as_one
from talweg.graph.symbol import Symbol
from talweg.kernels.progression import allocate
from talweg.prims import arithmetic

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


@export("image.ResizeMethod")
class ResizeMethod:
    """The methods of `tf.image.resize`.

    >>> import talweg as tf
    >>> tf.image.ResizeMethod.BICUBIC
    'bicubic'
    """

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


@export("image.resize")
@as_one
def resize(
    images: TensorLike,
    size: TensorLike,
    method: str = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return images with `size` rows and columns.

    images [height, width, channels] or [batch, height, width, channels]; the result is float32,
    but "nearest" keeps the dtype.  `antialias` widens the filters
    where images shrink; `preserve_aspect_ratio` takes the largest size that fits into `size`.
    ValueError for other ranks, sizes or methods.

    >>> import talweg as tf
    >>> tf.image.resize(tf.constant([[[0.0], [4.0]]]), [1, 4])[0, :, 0].numpy().tolist()
    [0.0, 1.0, 3.0, 4.0]
    """
    x = tensor(images)
    if x.ndim not in (3, 4):
        raise value_error("TW203", f"'images' of shape {x.dims}", "either 3 or 4 dimensions")
    if any(same(n, 0) for n in x.dims[-3:]):
        raise invalid("TW205", "input image must be of non-zero size", "at least one pixel")
    if method not in (*weights.KERNELS, "nearest", "area"):
        allowed = ", ".join(map(repr, (*weights.KERNELS, "nearest", "area")))
        text = f"Resize method is not implemented: {method}"
        raise value_error("TW207", text, f"one of {allowed}")
    result = _of_any_size(x, size, method, preserve_aspect_ratio, antialias)
    if type(result) is Symbol and not result.shape.is_fully_defined():
        result.set_shape(_infer_shape(x, size, preserve_aspect_ratio))
    return result


def _of_any_size(x: Tensor, size: object, method: str, preserve: bool, antialias: bool) -> Any:
    """Compute `resize` as an opaque call, in graphs that do not know the size of the images."""
    single = x.ndim == 3
    x = expand_dims(x, 0) if single else x
    height, width = (operator.index(n) for n in x.dims[1:3])
    rows, columns = _size(size)
    if preserve:
        scale = min(np.float32(rows) / height, np.float32(columns) / width)
        rows, columns = (max(1, int(np.rint(scale * n))) for n in (height, width))
    if type(x.dims[3]) is int:  # of what no memory holds nothing is begun
        allocate("image.resize", np.empty, (rows, columns, x.dims[3]), np.float32)
    x = _resize(x, (height, width), (rows, columns), method, antialias)
    return squeeze(x, [0]) if single else x


_of_any_size = graph_aware(_of_any_size)


def _infer_shape(x: Tensor, size: TensorLike, preserve: bool) -> list:
    """Infer the static shape of resized images."""
    shape = x.shape.as_list()
    known = None if preserve else get_static_value(tensor(size))
    shape[-3:-1] = [None, None] if known is None else [int(n) for n in known]
    return shape


def _size(size: Any) -> tuple[int, int]:
    """Convert the size to rows and columns; ValueError for other lengths, InvalidArgumentError
    below one.
    """
    given = size if isinstance(size, (list, tuple)) else list(tensor(size).numpy().reshape(-1))
    if len(given) != 2:
        text = f"'size' must be a 1-D int32 Tensor of 2 elements, got {size}"
        raise value_error("TW205", text, hint="[height, width]")
    if not all([hasattr(n, "__index__") for n in given]):
        raise value_error("TW205", f"'size' must be a 1-D int32 Tensor, got {size}")
    rows, columns = (operator.index(n) for n in given)
    if rows <= 0 or columns <= 0:
        raise invalid("TW205", f"'size' {rows}, {columns}", "positive numbers")
    return rows, columns


def _resize(x: Tensor, old: tuple, new: tuple, method: str, antialias: bool) -> Any:
    if method == "nearest":
        for axis in (0, 1):
            if old[axis] != new[axis]:
                x = gather(x, weights.nearest_places(old[axis], new[axis]), axis=axis + 1)
        return x
    x = arithmetic.cast(x, dtype=float32)
    axes = (0, 1) if new[0] <= old[0] else (1, 0)  # what grows the rows comes last
    for axis in axes:
        if old[axis] == new[axis] and method not in ("gaussian", "mitchellcubic"):
            continue  # the others leave a pixel that keeps its place as it is
        x = resample(x, axis + 1, old[axis], new[axis], method, antialias)
    return x


@export("image.resize_with_pad")
def resize_with_pad(
    image: TensorLike,
    target_height: int,
    target_width: int,
    method: str = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> Tensor:
    """Return images of the target size with their aspect ratio kept, and zeros around them.

    >>> import talweg as tf
    >>> tf.image.resize_with_pad(tf.ones([2, 4, 1]), 4, 4)[:, 0, 0].numpy().tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    x = tensor(image)
    if x.ndim not in (3, 4):
        raise value_error("TW203", f"'image' of shape {x.dims}", "either 3 or 4 dimensions")
    for size, name in ((target_height, "target_height"), (target_width, "target_width")):
        if type(size) is int and size <= 0:
            raise value_error("TW205", f"resize_with_pad: {name} must be > 0.")
    if any(same(n, 0) for n in x.dims[-3:]):
        raise value_error("TW205", f"inner 3 dims of 'image.shape' must be > 0: {x.dims}")
    height, width = (operator.index(n) for n in x.dims[-3:-1])
    ratio = max(width / target_width, height / target_height)
    rows, columns = int(height / ratio), int(width / ratio)
    x = resize(x, [rows, columns], method, antialias=antialias)
    above = max(0, int((target_height - height / ratio) / 2))
    left = max(0, int((target_width - width / ratio) / 2))
    around = [[above, target_height - rows - above], [left, target_width - columns - left], [0, 0]]
    return pad(x, [[0, 0], *around] if x.ndim == 4 else around)
