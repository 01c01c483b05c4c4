"""Boxes in images: cropped and resized, drawn; glimpses around points.

A box is [top, left, bottom, right] over the height and the width less one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import require_sizes, tensor
from talweg.api.array.clipping import clip_by_value
from talweg.api.array.gathering import gather, where
from talweg.api.array.operands import integer_vector
from talweg.api.array.passing import identity
from talweg.api.array.sequences import range_
from talweg.api.array.shapes import ensure_shape, reshape
from talweg.api.control import while_loop
from talweg.api.debugging.assertions import assert_
from talweg.api.export import export
from talweg.api.image.operands import image_tensor, sizes
from talweg.api.math.comparison import equal, greater_equal, less, less_equal
from talweg.api.math.comparison import logical_and as both
from talweg.api.math.comparison import logical_or as either
from talweg.api.math.reductions import reduce_any
from talweg.api.math.rounding import floor
from talweg.api.random.stateful import normal, uniform
from talweg.api.scopes import control_dependencies
from talweg.api.tensors import cast
from talweg.core.dims import below, differ, largest
from talweg.core.dtypes import float32, int32
from talweg.core.errors import invalid, value_error
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.execute.compositions import as_one

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


@export("image.crop_and_resize")
def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_indices: TensorLike,
    crop_size: TensorLike,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Return parts of images, each resized to crop_size: float32 [boxes, rows, columns, channels].

    image [batch, height, width, channels]; boxes [n, 4]: top, left, bottom, right, where 0 and 1
    are the first and last row or column; box_indices [n]: the image of each box.  A box whose top
    is below its bottom is turned over.  method "bilinear" or "nearest"; what lies outside of an
    image is extrapolation_value.  Differentiable by the image, and by the boxes if bilinear.
    InvalidArgumentError for other shapes or methods.

    >>> import talweg as tf
    >>> x = tf.reshape(tf.range(9.0), [1, 3, 3, 1])
    >>> tf.image.crop_and_resize(x, [[0.0, 0.0, 0.5, 1.0]], [0], [2, 2])[0, ..., 0].numpy().tolist()
    [[0.0, 2.0], [3.0, 5.0]]
    """
    function = "crop_and_resize"
    x, boxes, owners = cast(image, float32), tensor(boxes, float32), tensor(box_indices, int32)
    if x.ndim != 4:
        raise invalid("TW203", f"{function}: image has shape {x.dims}", "rank 4")
    if boxes.ndim != 2 or differ(boxes.dims[1], 4):
        raise invalid("TW204", f"{function}: boxes must have 4 columns, got {boxes.dims}")
    if method not in ("bilinear", "nearest"):
        raise invalid("TW207", f"{function}: method {method!r}", "'bilinear' or 'nearest'")
    boxes = ensure_shape(boxes, [None, 4])
    if owners.ndim != 1 or differ(owners.dims[0], boxes.dims[0]):
        raise invalid("TW204", f"{function}: box_index has incompatible shape {owners.dims}")
    owners = require_sizes(owners, owners.dims, boxes.dims[:1], f"{function}: box_indices")
    wanted = integer_vector(crop_size, function, "crop_size")
    if len(wanted) != 2:
        raise invalid("TW205", f"{function}: crop_size must have two elements, got {wanted}")
    return _crops(x, boxes, owners, *wanted, method, extrapolation_value)


@as_one(least=1)
def _crops(
    x: Tensor,
    boxes: Tensor,
    owners: Tensor,
    rows: int,
    columns: int,
    method: str,
    extrapolation_value: float,
) -> Tensor:
    """Return the resized parts of images, of which the sizes fit together."""
    count, height, width, channels = sizes(x)
    y = _places(boxes[:, 0], boxes[:, 2], rows, height)
    z = _places(boxes[:, 1], boxes[:, 3], columns, width)
    pixels = reshape(x, [count * height * width, channels])
    first = gather(range_(count), owners)[:, None] * height

    def at(row: object, column: object) -> Any:
        down = clip_by_value(cast(row, int32), 0, height - 1)
        right = clip_by_value(cast(column, int32), 0, width - 1)
        return gather(pixels, ((first + down) * width)[:, :, None] + right[:, None, :])

    if method == "nearest":
        sampled = at(floor(y + 0.5), floor(z + 0.5))
    else:
        top, left = floor(y), floor(z)
        along, down = (z - left)[:, None, :, None], (y - top)[:, :, None, None]
        upper = _between(at(top, left), at(top, left + 1.0), along)
        lower = _between(at(top + 1.0, left), at(top + 1.0, left + 1.0), along)
        sampled = _between(upper, lower, down)
    inside = both(_within(y, height)[:, :, None], _within(z, width)[:, None, :])
    return where(inside[..., None], sampled, convert_to_tensor(extrapolation_value, float32))


def _places(start: Any, end: Any, count: object, size: TensorLike) -> Any:
    """Compute the coordinates of the rows (or columns) of crops, [boxes, count]."""
    last = cast(size, float32) - 1.0
    if count == 1:
        return (0.5 * (start + end) * last)[:, None]
    step = (end - start) * last / (cast(count, float32) - 1.0)
    return (start * last)[:, None] + cast(range_(count), float32) * step[:, None]


def _between(first: Any, second: Any, part: Any) -> Any:
    return first + (second - first) * part


def _within(places: object, size: TensorLike) -> Any:
    return both(greater_equal(places, 0.0), less_equal(places, cast(size, float32) - 1.0))


# Yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia.
COLOURS = [
    [1, 1, 0, 1],
    [0, 0, 1, 1],
    [1, 0, 0, 1],
    [0, 1, 0, 1],
    [0.5, 0, 0.5, 1],
    [0.5, 0.5, 0, 1],
    [0.5, 0, 0, 1],
    [0, 0, 0.5, 1],
    [0, 1, 1, 1],
    [1, 0, 1, 1],
]


@export("image.draw_bounding_boxes")
def draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, colors: TensorLike, name: str | None = None
) -> Tensor:
    """Return images with the outlines of boxes, one pixel wide.

    images [batch, height, width, 1, 3 or 4], floats; boxes [batch, n, 4]: top, left, bottom, right,
    where 0 and 1 are the first and last row or column; colors [m, channels or more], taken in turn,
    or None.  InvalidArgumentError for other shapes.

    >>> import talweg as tf
    >>> x = tf.zeros([1, 3, 3, 1])
    >>> tf.image.draw_bounding_boxes(x, [[[0.0, 0.0, 1.0, 1.0]]], [[9.0]])[0, ..., 0].numpy()
    array([[9., 9., 9.],
           [9., 0., 9.],
           [9., 9., 9.]], dtype=float32)
    """
    function = "draw_bounding_boxes"
    x, boxes = tensor(images), tensor(boxes, float32)
    if x.ndim != 4 or all(differ(x.dims[-1], count) for count in (1, 3, 4)):
        raise invalid(
            "TW204",
            f"{function}: images have shape {x.dims}",
            "[batch, height, width, channels] with 1, 3 or 4 channels",
        )
    if boxes.ndim != 3 or differ(boxes.dims[-1], 4) or differ(boxes.dims[0], x.dims[0]):
        raise invalid("TW204", f"{function}: boxes have shape {boxes.dims}", "[batch, n, 4]")
    boxes = require_sizes(boxes, boxes.dims[:1], x.dims[:1], f"{function}: boxes of images")
    table = _colour_table(colors, x)
    _, height, width, channels = sizes(x)
    rows, columns = range_(height)[:, None], range_(width)
    boxes = ensure_shape(boxes, [None, None, 4])
    count = sizes(boxes)[1]

    def draw(number: Any, drawn: Any) -> tuple:
        edges = _edges(boxes[:, number], height, width)
        top, left, bottom, right = [edge[:, None, None] for edge in edges]
        outline = _outline(rows, columns, (top, left, bottom, right))
        shown = both(both(less_equal(top, bottom), less_equal(left, right)), outline)
        return number + 1, where(shown[..., None], table[number % table.dims[0]], drawn)

    known = reduce_any(equal(channels, [1, 3, 4]))
    check = assert_(known, [f"{function}: 1, 3 or 4 channels, not", channels])
    _, x = while_loop(lambda number, drawn: less(number, count), draw, [0, x])
    with control_dependencies([check]):
        return identity(x)


def _colour_table(colors: object, x: Tensor) -> Any:
    channels = x.dims[-1]
    given = None if colors is None else tensor(colors, float32)
    if given is None or given.ndim != 2 or not given.dims[0]:
        table = np.array(COLOURS, np.float32)
        white = np.concatenate([np.ones_like(table[:, :1]), table[:, 1:]], axis=1)
        given = where(equal(sizes(x)[-1], 1), convert_to_tensor(white), convert_to_tensor(table))
    if below(given.dims[1], channels):
        raise invalid(
            "TW204", f"draw_bounding_boxes: colors have {given.dims[1]} channels, images {channels}"
        )
    enough = largest(given.dims[1], channels)
    given = require_sizes(given, given.dims[1:], (enough,), "draw_bounding_boxes: colors")
    return cast(given[:, :channels], x.dtype)


def _edges(box: Any, height: Any, width: Any) -> list:
    """Round the edges of a box of each image to rows and columns."""
    lasts = (height - 1, width - 1, height - 1, width - 1)
    return [cast(box[:, i] * cast(last, float32), int32) for i, last in enumerate(lasts)]


def _outline(rows: object, columns: object, edges: tuple) -> Any:
    """Test which pixels lie on the edges of a box."""
    top, left, bottom, right = edges
    between = both(greater_equal(rows, top), less_equal(rows, bottom))
    across = both(greater_equal(columns, left), less_equal(columns, right))
    lines = both(either(equal(rows, top), equal(rows, bottom)), across)
    return either(lines, both(either(equal(columns, left), equal(columns, right)), between))


@export("image.extract_glimpse")
def extract_glimpse(
    input: TensorLike,
    size: TensorLike,
    offsets: TensorLike,
    centered: bool = True,
    normalized: bool = True,
    noise: str = "uniform",
    name: str | None = None,
) -> Tensor:
    """Return windows of `size` [rows, columns] in images [batch, height, width, channels].

    offsets [batch, 2]: where windows begin, in pixels, or over the size of the image if
    `normalized`; with `centered` from the middle of the image, and with both the middle of the
    window, -1 and 1 being the borders of the image.  Outside is noise: "uniform", "gaussian" or
    "zero".

    >>> import talweg as tf
    >>> x = tf.reshape(tf.range(9.0), [1, 3, 3, 1])
    >>> tf.image.extract_glimpse(x, [2, 2], [[1.0, 0.0]], False, False)[0, ..., 0].numpy().tolist()
    [[3.0, 4.0], [6.0, 7.0]]
    """
    function = "extract_glimpse"
    x, offsets = image_tensor(input, function), tensor(offsets, float32)
    if x.ndim != 4:
        raise invalid("TW203", f"{function}: input has shape {x.dims}", "rank 4")
    if noise not in ("uniform", "gaussian", "zero"):
        raise value_error("TW207", f"{function}: noise {noise!r}", "'uniform', 'gaussian', 'zero'")
    window = integer_vector(size, function, "size")
    if len(window) != 2:
        raise invalid("TW205", f"{function}: size is {window}", "two numbers")
    if offsets.ndim != 2 or differ(offsets.dims[0], x.dims[0]) or differ(offsets.dims[1], 2):
        raise invalid("TW204", f"{function}: offsets have shape {offsets.dims}", "[batch, 2]")
    begins = require_sizes(offsets, offsets.dims, (x.dims[0], 2), f"{function}: offsets")
    count, height, width, channels = sizes(x)
    places = []
    for axis, (own, wanted) in enumerate(zip((height, width), window)):
        start = begins[:, axis]
        full = cast(own, float32)
        if centered and normalized:
            start = (start * full + full - cast(wanted, float32)) / 2.0
        elif centered:
            start = start + full / 2.0
        elif normalized:
            start = start * full
        places.append(cast(start, int32)[:, None] + range_(wanted))
    rows, columns = places
    inside = both(_inside(rows, height)[:, :, None], _inside(columns, width)[:, None, :])
    down = clip_by_value(rows, 0, height - 1) + range_(count)[:, None] * height
    right = clip_by_value(columns, 0, width - 1)
    pixels = reshape(x, [count * height * width, channels])
    windows = gather(pixels, (down * width)[:, :, None] + right[:, None, :])
    return where(inside[..., None], windows, _noise(noise, windows))


def _inside(places: object, size: TensorLike) -> Any:
    return both(greater_equal(places, 0), less(places, size))


def _noise(kind: str, like: Any) -> Any:
    if kind == "zero":
        return convert_to_tensor(0.0, like.dtype)
    draw = uniform if kind == "uniform" else normal
    return cast(draw(sizes(like)), like.dtype)
