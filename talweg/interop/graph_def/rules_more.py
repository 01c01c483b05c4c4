"""Rules of operations that tf.raw_ops does not have: images, files, ragged tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import look_up
from talweg.core import dtypes
from talweg.core.aval import Aval
from talweg.core.errors import UnimplementedError, compose, invalid
from talweg.eager.tensor import array_of, wrap
from talweg.graph.symbol import constant_of
from talweg.interop.graph_def.rules_basic import defer_function
from talweg.interop.graph_def.values import constant, rule
from talweg.prims import arithmetic, rounding

if TYPE_CHECKING:
    from talweg.interop.graph_def.building import GraphBuilder
    from talweg.interop.graph_def.reading import NodeRecord

# -- images


@rule("ResizeBilinear", "ResizeNearestNeighbor")
def resize_images(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Resize images."""
    images, size = inputs
    corners, centers = item.attributes["align_corners"], item.attributes["half_pixel_centers"]
    kind = "bilinear" if item.op == "ResizeBilinear" else "nearest"
    dims = images.node.aval.dims
    if dims is not None:
        content = constant_of(size.node)
        wanted = [None, None] if content is None else [int(n) for n in np.ravel(content.array)]
        dims = (None, *wanted[:2], dims[-1] if type(dims[-1]) is int else None)
    dtype = dtypes.float32 if kind == "bilinear" else images.dtype
    arguments = (kind, corners, centers)
    return [defer_function(item, resize, (images, size), arguments, Aval(dims, dtype))]


def resize(images: Any, size: int, kind: str, corners: bool, centers: bool) -> Any:
    """Resize images [b, h, w, c] to `size`: each pixel from the nearest, or from four."""
    gather = look_up("gather")
    if kind == "bilinear":
        images = look_up("cast")(images, dtypes.float32)
    wanted = [int(n) for n in np.ravel(array_of(size))]
    if len(wanted) != 2 or min(wanted) < 1 or images.ndim != 4 or 0 in images.dims[1:3]:
        raise invalid("TW205", f"resize: images of shape {images.dims} to the sizes {wanted}")
    for axis, count in zip((1, 2), wanted):
        have = images.dims[axis]
        scale = (have - 1) / (count - 1) if corners and count > 1 else have / count
        scale = np.float32(scale)
        steps = np.arange(count, dtype=np.float32)
        if kind == "nearest":
            if centers:
                places = np.floor((steps + np.float32(0.5)) * scale)
            else:
                places = np.round(steps * scale) if corners else np.floor(steps * scale)
            chosen = np.clip(places, 0, have - 1).astype(np.int32)
            images = gather(images, wrap(chosen), axis=axis)
            continue
        half = np.float32(0.5)
        places = (steps + half) * scale - half if centers else steps * scale
        low = np.floor(places)
        weight = (places - low).reshape((count, *(1,) * (3 - axis)))
        first = np.clip(low, 0, have - 1).astype(np.int32)
        second = np.clip(low + 1, 0, have - 1).astype(np.int32)
        a, b = (gather(images, wrap(part), axis=axis) for part in (first, second))
        images = a + (b - a) * wrap(weight.astype(np.float32))
    return images


@rule("FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def quantize(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return numbers rounded to the steps of a quantization, limits moved so that 0 is a step."""
    attributes = item.attributes
    x, *limits = inputs
    if not limits:
        limits = [constant(attributes[name], dtypes.float32) for name in ("min", "max")]
    low, high = limits
    least = 1.0 if attributes["narrow_range"] else 0.0
    most = float(2 ** min(max(attributes["num_bits"], 2), 16) - 1)
    step = (high - low) / (most - least)
    offset = least - low / step
    zero = rounding.floor(arithmetic.minimum(arithmetic.maximum(offset, least), most) + 0.5)
    low, high = (least - zero) * step, (most - zero) * step
    inside = arithmetic.minimum(arithmetic.maximum(x, low), high)
    return [rounding.floor((inside - low) / step + 0.5) * step + low]


# -- files: a graph that was imported writes and reads none


def _refuse(*tensors: object) -> Any:
    raise UnimplementedError(
        None,
        None,
        compose(
            "TW506",
            "an imported graph was asked to read or write a file",
            hint="tf.train.Saver of talweg, made for the imported variables",
        ),
    )


@rule("SaveV2", "RestoreV2", "MergeV2Checkpoints", "ShardedFilename")
def checkpoint(builder: GraphBuilder, item: NodeRecord, inputs: list) -> Any:
    """Return an operation that raises UnimplementedError when it is run."""
    dtypes_of = [dtype for part in item.operation.outputs for dtype in part.dtypes(item.attributes)]
    found = [
        defer_function(item, _refuse, tuple(inputs), (number,), Aval(None, dtype))
        for number, dtype in enumerate(dtypes_of or [dtypes.bool_])
    ]
    return found if dtypes_of else found[0].op


# -- ragged tensors, and files


@rule("RaggedTensorToTensor")
def fill_up(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Fill up the rows of a ragged tensor to a tensor."""
    shape, values, default, *rows = inputs
    kinds = [
        kind if isinstance(kind, str) else kind.decode()
        for kind in item.attributes["row_partition_types"]
    ]
    first = None
    if kinds and kinds[0] == "FIRST_DIM_SIZE":
        first, rows, kinds = rows[0], rows[1:], kinds[1:]
    ragged = values
    for number in range(len(rows) - 1, -1, -1):
        if kinds[number] == "ROW_SPLITS":
            ragged = look_up("RaggedTensor").from_row_splits(ragged, rows[number], validate=False)
        elif kinds[number] == "VALUE_ROWIDS" and number == 0 and first is not None:
            ragged = look_up("RaggedTensor").from_row_splits(
                ragged, _splits_of(rows[number], first), validate=False
            )
        else:
            raise UnimplementedError(
                None,
                None,
                compose("TW506", f"{item.described} has rows given as {kinds[number]}"),
            )
    sizes = constant_of(shape.node)
    if sizes is None:
        raise item.error("its shape is not constant")
    wanted = (
        None if sizes.array.ndim == 0 else [None if size < 0 else int(size) for size in sizes.array]
    )
    return [ragged.to_tensor(default_value=default, shape=wanted)]


def _splits_of(rows: Any, count: int) -> Any:
    """Return the splits of `count` rows, for the row of each value."""
    lengths = look_up("math.unsorted_segment_sum")(look_up("ones_like")(rows), rows, count)
    return look_up("concat")([look_up("zeros")([1], rows.dtype), look_up("cumsum")(lengths)], 0)


@rule("ReadFile")
def read_file(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return the contents of a file, read when the graph runs."""
    return [look_up("io.read_file")(inputs[0])]
