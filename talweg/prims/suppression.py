"""Non-maximum suppression of boxes of detected things (`kernels/suppression.py`)."""

from __future__ import annotations

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, check_dtype, primitive
from talweg.core.dims import differ
from talweg.core.dtypes import bfloat16, float16, float32, float64, int32
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.kernels import suppression

FLOATS = frozenset((float16, bfloat16, float32, float64))
JUMPS = NoGradient("which boxes stay changes in jumps", "gather what belongs to them")


def _check(x, scores, most: Aval, overlaps):
    check_dtype("non_max_suppression", "boxes", x.dtype, FLOATS)
    if len(x.dims) != 2 or differ(x.dims[1], x.dims[0] if overlaps else 4):
        wanted = "[n, n]" if overlaps else "[n, 4]"
        raise invalid("TW204", f"non_max_suppression: boxes have shape {x.dims}", wanted)
    if len(scores.dims) != 1 or differ(scores.dims[0], x.dims[0]):
        raise invalid(
            "TW204", f"non_max_suppression: {x.dims[0]} boxes, scores of shape {scores.dims}"
        )


@primitive
class suppress:
    """i [limit], s [limit], count: the boxes that stay, their scores, how many; then zeros.

    x: boxes [n, 4], or their overlaps [n, n]; most: the overlap that is allowed; sigma: how scores
    fall with the overlap, 0 for not at all.
    """

    operands = "x scores most threshold sigma"
    tf_type = "NonMaxSuppressionV5"
    multiple = True
    no_gradient = JUMPS
    batch = LOOP
    memory = "library"

    def infer(x, scores, most, threshold, sigma, *, limit, overlaps):
        _check(x, scores, most, overlaps)
        return [Aval((limit,), int32), Aval((limit,), scores.dtype), Aval((), int32)]

    def numpy(x: np.ndarray, scores, most, threshold, sigma, *, limit, overlaps):
        if not overlaps and not 0 <= most <= 1:
            raise invalid("TW207", f"iou_threshold must be in [0, 1], got {most}")
        if sigma < 0:
            raise invalid("TW207", f"soft_nms_sigma must be >= 0, got {sigma}")
        if sigma > 0:
            found, kept = suppression.soft(x, scores, limit, most, threshold, float(sigma))
        else:
            found = suppression.hard(x, scores, limit, most, threshold, overlaps)
            kept = scores[found]
        indices, values = np.zeros(limit, np.int32), np.zeros(limit, scores.dtype)
        indices[: len(found)], values[: len(found)] = found, kept
        return indices, values, np.int32(len(found))

    samples = (
        Sample(
            np.array([[0, 0, 1, 1], [0, 0, 1, 0.9], [0, 2, 1, 3]], np.float32),
            np.array([0.5, 0.6, 0.2], np.float32),
            np.float32(0.5),
            np.float32(0),
            np.float32(0),
            limit=2,
            overlaps=False,
        ),
        Sample(
            np.array([[0, 0, 1, 1], [0, 0, 1, 0.9], [0, 2, 1, 3]], np.float32),
            np.array([0.5, 0.6, 0.2], np.float32),
            np.float32(0.5),
            np.float32(0),
            np.float32(0.5),
            limit=3,
            overlaps=False,
        ),
    )
    rejects = (Reject([3, 3], [3], [], [], [], limit=2, overlaps=False, code="TW204"),)


@primitive
class suppress_classes:
    """Boxes, scores, classes [batch, limit, ...] of the best, and how many: each class by itself.

    x [batch, n, classes or 1, 4], scores [batch, n, classes].
    """

    operands = "x scores most threshold"
    tf_type = "CombinedNonMaxSuppression"
    multiple = True
    no_gradient = JUMPS
    batch = LOOP
    memory = "library"

    def infer(x, scores, most, threshold, *, each, limit, clip):
        check_dtype("combined_non_max_suppression", "boxes", x.dtype, {float32})
        if len(x.dims) != 4 or differ(x.dims[3], 4):
            raise invalid(
                "TW204",
                f"combined_non_max_suppression: boxes have shape {x.dims}",
                "[batch, n, classes or 1, 4]",
            )
        if len(scores.dims) != 3:
            raise invalid(
                "TW203", f"combined_non_max_suppression: scores have shape {scores.dims}", "rank 3"
            )
        count = x.dims[0]
        rows = Aval((count, limit), float32)
        return [Aval((count, limit, 4), float32), rows, rows, Aval((count,), int32)]

    def numpy(x: np.ndarray, scores, most, threshold, *, each, limit, clip):
        count = x.shape[0]
        boxes = np.zeros((count, limit, 4), np.float32)
        values, classes = np.zeros((2, count, limit), np.float32)
        valid = np.zeros(count, np.int32)
        for image in range(count):
            best = _best(x[image], scores[image], most, threshold, each)[:limit]
            valid[image] = len(best)
            for place, (score, kind, box) in enumerate(best):
                boxes[image, place] = np.clip(box, 0, 1) if clip else box
                values[image, place], classes[image, place] = score, kind
        return boxes, values, classes, valid

    samples = (
        Sample(
            np.array([[[[0, 0, 1, 1]], [[0, 0, 1, 0.9]]]], np.float32),
            np.array([[[0.5, 0.1], [0.6, 0.2]]], np.float32),
            np.float32(0.5),
            np.float32(0),
            each=2,
            limit=3,
            clip=True,
        ),
    )
    rejects = (Reject([1, 3, 4], [1, 3, 1], [], [], each=1, limit=1, clip=True, code="TW204"),)


def _best(x: np.ndarray, scores, most, threshold, each):
    """Return (score, class, box) of the boxes that an image keeps, best first."""
    found = []
    for kind in range(scores.shape[1]):
        own = x[:, kind if x.shape[1] > 1 else 0]
        kept = suppression.hard(own, scores[:, kind], each, most, threshold, False)
        found += [(scores[n, kind], kind, own[n]) for n in kept]
    return sorted(found, key=lambda item: -item[0])
