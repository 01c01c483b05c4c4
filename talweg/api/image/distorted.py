"""Random crops that cover given boxes, for the augmentation of training data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.api.random.stateless import stream_of
from talweg.core.dtypes import float32
from talweg.core.errors import value_error
from talweg.core.value import Tensor
from talweg.eager import randomness
from talweg.prims.random import crop as prims

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


class DistortedBoundingBox(NamedTuple):
    begin: Tensor
    size: Tensor
    bboxes: Tensor


@export("image.sample_distorted_bounding_box")
def sample_distorted_bounding_box(
    image_size: object,
    bounding_boxes: TensorLike,
    seed: Any = 0,
    min_object_covered: TensorLike = 0.1,
    aspect_ratio_range: TensorLike | None = None,
    area_range: TensorLike | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> tuple[Any, ...]:
    """Return a part of an image by chance: begin and size for `tf.slice`, and the box [1, 1, 4].

    image_size: [height, width, channels]; bounding_boxes [batch, n, 4]: top, left, bottom, right
    over height and width, of which one has to be covered by min_object_covered of its area.
    aspect_ratio_range: width over height ([0.75, 1.33]); area_range: of the area of the image
    ([0.05, 1]).  After max_attempts (100) it is the whole image.  seed: 0 for none.
    InvalidArgumentError if there are no boxes, unless use_image_if_no_bounding_boxes.

    >>> import talweg as tf
    >>> begin, size, box = tf.image.sample_distorted_bounding_box(
    ...     [40, 50, 3], [[[0.2, 0.2, 0.8, 0.9]]], min_object_covered=0.5)
    >>> tf.slice(tf.zeros([40, 50, 3]), begin, size).shape[-1]
    3
    """
    attempts = 100 if max_attempts is None else int(max_attempts)
    stream = randomness.reserve(
        ("sample_distorted_bounding_box", tensor(image_size).dtype.name), seed or None, attempts
    )
    return _draw_box(
        stream,
        image_size,
        bounding_boxes,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        attempts,
        use_image_if_no_bounding_boxes,
    )


@export("image.stateless_sample_distorted_bounding_box")
def stateless_sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: TensorLike,
    min_object_covered: TensorLike = 0.1,
    aspect_ratio_range: TensorLike | None = None,
    area_range: TensorLike | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> tuple[Any, ...]:
    """Call `sample_distorted_bounding_box` by a seed, a pair of integers."""
    attempts = 100 if max_attempts is None else int(max_attempts)
    stream, _ = stream_of(seed, "auto_select")
    return _draw_box(
        stream,
        image_size,
        bounding_boxes,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        attempts,
        use_image_if_no_bounding_boxes,
    )


def _draw_box(
    stream: Any,
    image_size: object,
    boxes: TensorLike,
    covered: Any,
    shapes: Any,
    areas: Any,
    attempts: int,
    whole: bool | None,
) -> tuple:
    bounds = []
    for argument, given, usual in (
        ("aspect_ratio_range", shapes, (0.75, 1.33)),
        ("area_range", areas, (0.05, 1.0)),
    ):
        low, high = map(float, usual if given is None else given)
        if not 0 < low <= high or (argument == "area_range" and high > 1):
            raise value_error("TW207", f"{argument} is [{low}, {high}]", "0 < lower <= upper")
        bounds.append((low, high))
    box = prims.drawn_box(
        stream,
        tensor(image_size),
        tensor(boxes, float32),
        tensor(covered, float32),
        shapes=bounds[0],
        areas=bounds[1],
        attempts=attempts,
        whole=bool(whole),
    )
    return DistortedBoundingBox(*box)
