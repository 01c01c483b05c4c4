"""A part of an image by chance (`kernels/random/crop.py`)."""

from __future__ import annotations

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, check_dtype, primitive
from talweg.core.dims import differ
from talweg.core.dtypes import float32, int8, int16, int32, int64, uint8
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.kernels.random import crop
from talweg.kernels.random.philox import stream_of_state
from talweg.prims.random.streams import check_stream

FUNCTION = "sample_distorted_bounding_box"
_STATE = np.array([1, 2, 3], np.uint64)


@primitive
class drawn_box:
    """begin [3], size [3], box [1, 1, 4]: a part of an image, in pixels and over its size.

    size [3]: of the image; boxes [..., n, 4]; covered: the part of a box that has to be inside.
    """

    operands = "stream size boxes covered"
    tf_type = "SampleDistortedBoundingBoxV2"
    multiple = True
    no_gradient = NoGradient("drawn by chance")
    batch = LOOP
    memory = "library"

    def infer(stream, size, boxes, covered, *, shapes, areas, attempts, whole):
        check_stream(FUNCTION, stream)
        check_dtype(FUNCTION, "image_size", size.dtype, {uint8, int8, int16, int32, int64})
        check_dtype(FUNCTION, "bounding_boxes", boxes.dtype, {float32})
        if len(size.dims) != 1 or differ(size.dims[0], 3):
            raise invalid("TW204", f"{FUNCTION}: image_size has shape {size.dims}", "[3]")
        if len(boxes.dims) != 3 or differ(boxes.dims[-1], 4):
            raise invalid(
                "TW204", f"{FUNCTION}: bounding_boxes have shape {boxes.dims}", "[batch, n, 4]"
            )
        part = Aval((3,), size.dtype)
        return [part, part, Aval((1, 1, 4), float32)]

    def numpy(stream, size, boxes, covered, *, shapes, areas, attempts, whole):
        rows = boxes.reshape(-1, 4)
        if not len(rows) and not whole:
            raise invalid(
                "TW205",
                f"{FUNCTION}: there are no bounding boxes",
                "one or more",
                "use_image_if_no_bounding_boxes=True",
            )
        if len(rows) and not ((rows >= 0) & (rows <= 1)).all():
            raise invalid("TW207", f"{FUNCTION}: bounding boxes have coordinates outside [0, 1]")
        height, width = int(size[0]), int(size[1])
        window = crop.crop(
            stream_of_state(stream), (height, width), rows, float(covered), shapes, areas, attempts
        )
        begin = np.array([window.top, window.left, 0]).astype(size.dtype)
        extent = np.array([window.bottom - window.top, window.right - window.left, -1])
        box = np.array(window, np.float32) / np.array([height, width, height, width], np.float32)
        return begin, extent.astype(size.dtype), box.reshape(1, 1, 4)

    samples = (
        Sample(
            _STATE,
            np.array([9, 8, 3]),
            np.array([[[0.1, 0.1, 0.7, 0.9]]], np.float32),
            np.float32(0.2),
            shapes=(0.75, 1.33),
            areas=(0.1, 1.0),
            attempts=9,
            whole=False,
        ),
    )
    rejects = (
        Reject(
            _STATE,
            np.array([9, 8]),
            np.zeros([1, 1, 4], np.float32),
            np.float32(0.2),
            shapes=(0.75, 1.33),
            areas=(0.1, 1.0),
            attempts=9,
            whole=False,
            code="TW204",
        ),
    )
