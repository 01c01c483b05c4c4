"""Non-maximum suppression: the best boxes hide those that overlap them too much."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import integer, tensor
from talweg.api.array.shapes import reshape
from talweg.api.export import export
from talweg.api.mapping.map import map_fn
from talweg.core.dims import smallest
from talweg.core.dtypes import float32, int32
from talweg.core.errors import invalid
from talweg.core.value import Tensor
from talweg.prims import suppression as prims

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.dims import Size

NEVER = float("-inf")  # no score is below this


def _suppress(
    boxes: object,
    scores: object,
    limit: Size,
    most: object,
    threshold: object,
    sigma: object = 0.0,
    overlaps: bool = False,
) -> tuple:
    """Select boxes by non-maximum suppression: numbers and scores, padded to `limit`, and their
    count.
    """
    limit = integer(limit, "non_max_suppression", "max_output_size")
    numbers = [tensor(value, float32) for value in (most, threshold, sigma)]
    return prims.suppress(tensor(boxes), tensor(scores), *numbers, limit=limit, overlaps=overlaps)


def _at_most(most_kept: object, boxes: object) -> Any:
    """Bound the number of selected boxes by the number of boxes."""
    limit = integer(most_kept, "non_max_suppression", "max_output_size")
    return smallest(limit, tensor(boxes).dims[0])


@export("image.non_max_suppression")
def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = NEVER,
    name: str | None = None,
) -> Tensor:
    """Return the numbers of the boxes that stay, best first, int32.

    boxes [n, 4]: two corners; scores [n].  A box goes if its intersection with a better one that
    stays, over their union, is above iou_threshold, or its score not above score_threshold.
    InvalidArgumentError for other shapes or a threshold outside [0, 1].

    >>> import talweg as tf
    >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.0], [2.0, 2.0, 3.0, 3.0]]
    >>> tf.image.non_max_suppression(boxes, [0.5, 0.9, 0.7], 3).numpy()
    array([1, 2], dtype=int32)
    """
    indices, _, count = _suppress(
        boxes, scores, _at_most(max_output_size, boxes), iou_threshold, score_threshold
    )
    return indices[:count]


@export("image.non_max_suppression_with_scores")
def non_max_suppression_with_scores(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = NEVER,
    soft_nms_sigma: TensorLike = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Call `non_max_suppression`, with the scores of the boxes that stay.

    soft_nms_sigma: if above 0, scores fall by exp(-iou²/2 sigma) for each better box.
    """
    indices, kept, count = _suppress(
        boxes,
        scores,
        _at_most(max_output_size, boxes),
        iou_threshold,
        score_threshold,
        soft_nms_sigma,
    )
    return indices[:count], kept[:count]


@export("image.non_max_suppression_overlaps")
def non_max_suppression_overlaps(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    overlap_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = NEVER,
    name: str | None = None,
) -> Tensor:
    """Call `non_max_suppression` by overlaps [n, n] of any measure.

    >>> import talweg as tf
    >>> tf.image.non_max_suppression_overlaps([[1.0, 0.8], [0.8, 1.0]], [0.1, 0.2], 2).numpy()
    array([1], dtype=int32)
    """
    indices, _, count = _suppress(
        overlaps,
        scores,
        _at_most(max_output_size, overlaps),
        overlap_threshold,
        score_threshold,
        overlaps=True,
    )
    return indices[:count]


@export("image.non_max_suppression_padded")
def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = NEVER,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
    sorted_input: bool = False,
    canonicalized_coordinates: bool = False,
    tile_size: int = 512,
) -> tuple[Tensor, Tensor]:
    """Return `non_max_suppression` and the number of boxes that stay; for batches, too.

    boxes [..., n, 4], scores [..., n]; pad_to_max_output_size: zeros up to max_output_size.
    sorted_input, canonicalized_coordinates, tile_size: promises that are not needed here.
    """
    x, values = tensor(boxes), tensor(scores)
    limit = integer(max_output_size, "non_max_suppression_padded", "max_output_size")
    if x.ndim == 2:
        indices, _, count = _suppress(x, values, limit, iou_threshold, score_threshold)
        return (indices if pad_to_max_output_size else indices[:count]), count
    leading = x.dims[:-2]
    rows = reshape(x, [-1, *x.dims[-2:]]), reshape(values, [-1, values.dims[-1]])

    def of_one(row: tuple) -> tuple:
        own, score = row
        indices, _, count = _suppress(own, score, limit, iou_threshold, score_threshold)
        return indices, count

    indices, counts = map_fn(of_one, rows, fn_output_signature=(int32, int32))
    return reshape(indices, [*leading, limit]), reshape(counts, leading)


CombinedNonMaxSuppression = collections.namedtuple(
    "CombinedNonMaxSuppression",
    ["nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"],
)


@export("image.combined_non_max_suppression")
def combined_non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size_per_class: TensorLike,
    max_total_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = NEVER,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> tuple[Any, ...]:
    """Return the best boxes of each image of a batch, where boxes hide those of their own class
    only.

    boxes [batch, n, classes or 1, 4], scores [batch, n, classes] -> boxes [batch, m, 4], scores and
    classes [batch, m], and how many are valid [batch]; the rest are zeros.  m is max_total_size,
    with `pad_per_class` at most that of all classes together.  clip_boxes: to [0, 1].
    """
    x, values = tensor(boxes), tensor(scores)
    function = "combined_non_max_suppression"
    each = integer(max_output_size_per_class, function, "max_output_size_per_class")
    limit = integer(max_total_size, function, "max_total_size")
    for name, size in (("max_output_size_per_class", each), ("max_total_size", limit)):
        if type(size) is int and size <= 0:
            raise invalid("TW207", f"{function}: {name} must be positive, got {size}")
    if pad_per_class:
        limit = smallest(limit, each * values.dims[-1])
    numbers = [tensor(value, float32) for value in (iou_threshold, score_threshold)]
    kept = prims.suppress_classes(
        x, values, *numbers, each=each, limit=limit, clip=bool(clip_boxes)
    )
    return CombinedNonMaxSuppression(*kept)
