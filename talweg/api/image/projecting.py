"""Projective transforms of images: ImageProjectiveTransformV3.

The colour at row y and column x of the result is that of the image at ((a x + b y + c) / k,
(d x + e y + f) / k) with k = g x + h y + 1, where a to h are the eight numbers of the transform.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.array.clipping import clip_by_value
from talweg.api.array.creating import ones_like
from talweg.api.array.gathering import gather_nd, where
from talweg.api.array.joining import stack
from talweg.api.array.operands import integer_vector, size_tensor
from talweg.api.array.sequences import range_ as sequence
from talweg.api.export import export
from talweg.api.math.comparison import equal, greater, less, logical_and, logical_or
from talweg.api.math.rounding import floor
from talweg.api.tensors import cast
from talweg.core.dtypes import float32, int32
from talweg.core.errors import invalid
from talweg.core.value import Tensor
from talweg.prims import layout

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike


@export("raw_ops.ImageProjectiveTransformV3")
def projective_transform(
    images: TensorLike,
    transforms: Any,
    output_shape: ShapeLike,
    fill_value: TensorLike,
    interpolation: str,
    fill_mode: str = "CONSTANT",
    name: str | None = None,
) -> Tensor:
    """Return each image [batch, height, width, channels] transformed by its row of transforms
    [batch, 8].

    One row serves all.  interpolation "NEAREST" or "BILINEAR"; fill_mode says what lies outside:
    "CONSTANT" (`fill_value`), "REFLECT", "WRAP" or "NEAREST".

    >>> import talweg as tf
    >>> x = tf.reshape(tf.range(3.0), [1, 1, 3, 1])
    >>> tf.raw_ops.ImageProjectiveTransformV3(images=x, transforms=[[1.0, 0, 1, 0, 1, 0, 0, 0]],
    ...     output_shape=[1, 3], fill_value=9.0, interpolation="NEAREST").numpy().ravel().tolist()
    [1.0, 2.0, 9.0]
    """
    x, t = tensor(images), cast(transforms, float32)
    if x.ndim != 4 or t.ndim != 2 or t.dims[1] != 8:
        raise invalid(
            "TW203",
            f"images of shape {x.dims}, transforms of shape {t.dims}",
            "[batch, height, width, channels] and [batch or 1, 8]",
        )
    if fill_mode not in FOLDS or interpolation not in ("NEAREST", "BILINEAR"):
        raise invalid("TW207", f"fill_mode {fill_mode!r}, interpolation {interpolation!r}")
    rows, columns = integer_vector(output_shape, "ImageProjectiveTransformV3", "output_shape")
    column = cast(sequence(size_tensor(columns, int32)), float32)[None, None, :]
    row = cast(sequence(size_tensor(rows, int32)), float32)[None, :, None]
    a, b, c, d, e, f, g, h = [t[:, k, None, None] for k in range(8)]
    k = g * column + h * row + 1.0
    nowhere = equal(k, 0.0)
    k = where(nowhere, ones_like(k), k)
    height, width = (cast(size_tensor(size, int32), float32) for size in x.dims[1:3])
    across = FOLDS[fill_mode]((a * column + b * row + c) / k, width)
    down = FOLDS[fill_mode]((d * column + e * row + f) / k, height)
    fill = cast(fill_value, x.dtype)
    outside = logical_or(nowhere, False)
    size = (x.dims[0], rows, columns)
    across, down = (layout.broadcast_to(part, shape=size) for part in (across, down))
    pick = _picker(x, fill, height, width)
    colours = (
        _nearest(pick, down, across)
        if interpolation == "NEAREST"
        else _bilinear(pick, down, across, x.dtype)
    )
    return where(layout.broadcast_to(outside, shape=size)[..., None], fill, colours)


def _picker(x: Tensor, fill: object, height: Any, width: Any) -> Callable[[Any, Any], Any]:
    """Make the function that picks colours at whole rows and columns; `fill` outside the image."""
    batch = sequence(size_tensor(x.dims[0], int32))[:, None, None]

    def pick(down: Any, across: Any) -> Any:
        inside = logical_and(
            logical_and(greater(down, -0.5), less(down, height - 0.5)),
            logical_and(greater(across, -0.5), less(across, width - 0.5)),
        )
        row = cast(clip_by_value(down, 0.0, height - 1.0), int32)
        column = cast(clip_by_value(across, 0.0, width - 1.0), int32)
        image = layout.broadcast_to(batch, shape=row.dims)
        colours = gather_nd(x, stack([image, row, column], axis=-1))
        return where(inside[..., None], colours, fill)

    return pick


def _round(x: Any) -> Any:
    """Return the nearest whole number, halves away from zero."""
    return where(less(x, 0.0), -floor(0.5 - x), floor(x + 0.5))


def _nearest(pick: Callable, down: object, across: object) -> Any:
    return pick(_round(down), _round(across))


def _bilinear(pick: Callable, down: object, across: object, dtype: DTypeLike) -> Any:
    above, left = floor(down), floor(across)
    low, right = (down - above)[..., None], (across - left)[..., None]

    def row(at: Any) -> Any:
        first, second = (cast(pick(at, left + step), float32) for step in (0.0, 1.0))
        return first * (1.0 - right) + second * right

    return cast(row(above) * (1.0 - low) + row(above + 1.0) * low, dtype)


def _truncate(x: Tensor) -> Any:
    return where(less(x, 0.0), -floor(-x), floor(x))


def _reflect(x: Tensor, size: int) -> Any:
    """Reflect at the edges: d c b a | a b c d | d c b a."""
    period = 2.0 * size
    lower = where(less(x, period), period * _truncate(-x / period) + x, x)
    lower = where(less(lower, -size), lower + period, -lower - 1.0)
    upper = x - period * _truncate(x / period)
    upper = where(less(upper, size), upper, period - upper - 1.0)
    inner = where(greater(x, size - 1.0), upper, x)
    return clip_by_value(where(less(x, 0.0), lower, inner), 0.0, size - 1.0)


def _wrap(x: Tensor, size: int) -> Any:
    """Wrap round the edges: a b c d | a b c d | a b c d."""
    last = where(less(size, 1.5), ones_like(size), size - 1.0)
    lower = x + size * (_truncate(-x / last) + 1.0)
    upper = x - size * _truncate(x / last)
    inner = where(greater(x, size - 1.0), upper, x)
    return clip_by_value(where(less(x, 0.0), lower, inner), 0.0, size - 1.0)


FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "CONSTANT": lambda x, size: x,
    "REFLECT": _reflect,
    "WRAP": _wrap,
    "NEAREST": lambda x, size: clip_by_value(x, 0.0, size - 1.0),
}
