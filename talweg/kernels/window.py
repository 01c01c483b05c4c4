"""Sliding windows over channels-last arrays: sizes, padding, views, tiles and patches.

An array is ``[batch, *spatial, channels]`` with any number of spatial axes, in any memory order.
One *tap* is one position inside the window. Along each axis, output `o` reads through tap `k` the
element `o * stride + k * dilation - low` of the input, where `low` is the padding in front.

The convolution and pooling kernels share this module, so that there is one place where that formula
stands and one place where an off-by-one can be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

# A tile of columns or windows: small enough to bound memory, large enough that the BLAS threads
# meet seldom (4 MB tiles, which stay in cache, measured 10 to 20 % slower on the CNN step).
TILE_BYTES = 16 << 20


class Tap(NamedTuple):
    """One position of the window, and the parts of output and input that meet through it."""

    index: int  # row-major number of the tap in the window
    outputs: tuple  # slices of the spatial output axes
    inputs: tuple  # slices of the spatial input axes, as long as `outputs`


def same_padding(
    sizes: Sequence[int], window: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
):
    """Pad for ceil(size / stride) outputs (SAME); an odd rest of the padding goes to the end."""
    pairs = []
    for size, taps, stride, step in zip(sizes, window, strides, dilation, strict=True):
        outputs = -(-size // stride)
        total = max((outputs - 1) * stride + extent(taps, step) - size, 0)
        pairs.append((total // 2, total - total // 2))
    return tuple(pairs)


def explicit_padding(
    padding,
    sizes: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
):
    """Return the pairs (in front, behind) per spatial axis for "SAME", "VALID" or given pairs."""
    if isinstance(padding, str):
        if padding == "SAME":
            return same_padding(sizes, window, strides, dilation)
        return ((0, 0),) * len(sizes)
    return tuple((int(low), int(high)) for low, high in padding)


def extent(taps, step):
    """Count the elements that a window of `taps` taps spans whose neighbours are `step` apart."""
    return (taps - 1) * step + 1


def output_sizes(
    sizes: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
):
    """Count the windows that fit on each axis: (size + low + high - extent) // stride + 1."""
    return tuple(
        max((size + low + high - extent(taps, step)) // stride + 1, 0)
        for size, taps, stride, (low, high), step in zip(
            sizes, window, strides, padding, dilation, strict=True
        )
    )


def infer_transposed_sizes(
    outputs,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
):
    """Return the smallest input whose windows are `outputs` in number:
    `output_sizes` turned round.
    """
    return tuple(
        (count - 1) * stride + extent(taps, step) - low - high
        for count, taps, stride, (low, high), step in zip(
            outputs, window, strides, padding, dilation, strict=True
        )
    )


def axis_taps(size, outputs, taps, stride, low, step):
    """Return, per tap of one axis, the slices (outputs,
    inputs) that meet inside the array, or None.
    """
    pairs = []
    for tap in range(taps):
        shift = tap * step - low
        first = max(0, -(shift // stride))  # the least o with o * stride + shift >= 0
        last = min(outputs - 1, (size - 1 - shift) // stride)
        if first > last:
            pairs.append(None)
            continue
        start = first * stride + shift
        stop = last * stride + shift + 1
        pairs.append((slice(first, last + 1), slice(start, stop, stride)))
    return pairs


def window_taps(
    sizes: Sequence[int],
    outputs,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
):
    """Return every `Tap` that touches the array, in window scan order. Padding is never touched."""
    axes = [
        axis_taps(size, count, taps, stride, low, step)
        for size, count, taps, stride, (low, _), step in zip(
            sizes, outputs, window, strides, padding, dilation, strict=True
        )
    ]
    touching = []
    for index, pairs in enumerate(product(*axes)):
        if None not in pairs:
            slices = tuple(zip(*pairs, strict=True)) or ((), ())
            touching.append(Tap(index, *slices))
    return touching


def working_dtype(dtype: np.dtype):
    """Return the dtype a kernel computes in:
    16-bit floats are widened and the result rounded once.
    """
    dtype = np.dtype(dtype)
    if dtype.kind in "fV" and dtype.itemsize < 4:  # ml_dtypes types have kind V
        return np.dtype(np.float32)
    return dtype


def widen(array: np.ndarray):
    """Return `array` in its `working_dtype`."""
    return array.astype(working_dtype(array.dtype), copy=False)


def in_image(slices):
    """Return the index of spatial `slices` in a `[batch, *spatial, channels]` array."""
    return (slice(None), *slices, slice(None))


def pad_spatial(x: np.ndarray, padding: Sequence[tuple[int, int]], fill=0):
    """Return `x` with (in front, behind) elements `fill` round it;
    `x` itself where there are none.
    """
    if not any(map(any, padding)):
        return x
    sizes = x.shape[1:-1]
    wide = tuple(low + size + high for size, (low, high) in zip(sizes, padding, strict=True))
    # Same memory order as x, so that rows which are long in x stay long.
    padded = np.full_like(x, fill, shape=(x.shape[0], *wide, x.shape[-1]))
    inside = [slice(low, low + size) for size, (low, _) in zip(sizes, padding, strict=True)]
    padded[in_image(inside)] = x
    return padded


def sliding_windows(
    x: np.ndarray, window: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
):
    """Return a view `[batch, *outputs, *window, channels]` of `x`,
    which has its padding already.
    """
    ndim = x.ndim - 2
    outputs = output_sizes(x.shape[1:-1], window, strides, ((0, 0),) * ndim, dilation)
    steps = x.strides[1:-1]
    shape = (x.shape[0], *outputs, *window, x.shape[-1])
    jumps = (
        x.strides[0],
        *(step * stride for step, stride in zip(steps, strides, strict=True)),
        *(step * apart for step, apart in zip(steps, dilation, strict=True)),
        x.strides[-1],
    )
    if 0 in shape:  # as_strided on an empty array may point outside of it
        return np.empty(shape, x.dtype)
    return as_strided(x, shape, jumps, writeable=False)


def tiles(batch, outputs, bytes_each, limit=TILE_BYTES):
    """Cut `[batch, *outputs]` into slices (of the batch, of the first output axis).

    `bytes_each` is what one output position occupies in the tile's buffers. A tile is some whole
    images, or some rows of one image where an image is larger than `limit`, so that a tile of a
    row-major array is contiguous.
    """
    rows = outputs[0] if outputs else 1
    row_bytes = max(math.prod(outputs[1:]) * bytes_each, 1)
    images = limit // max(row_bytes * rows, 1)
    if images >= 1:
        count = -(-batch // images) if batch else 0
        step = -(-batch // count) if count else 1  # tiles of about equal size
        for start in range(0, batch, step):
            yield slice(start, min(start + step, batch)), slice(0, rows)
        return
    step = max(limit // row_bytes, 1)
    for image in range(batch):
        for start in range(0, rows, step):
            yield slice(image, image + 1), slice(start, min(start + step, rows))


def patches(
    x,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
):
    """Return every window as one row of channels: `[N, *S, C] -> [N, *outputs, prod(window) * C]`.

    The order inside a row is the window in row-major order, channels innermost, as in TensorFlow's
    `extract_patches`; outside of the array are zeros.
    """
    x = pad_spatial(x, padding)
    view = sliding_windows(x, window, strides, dilation)
    ndim = x.ndim - 2
    depth = math.prod(window) * x.shape[-1]
    return view.copy(order="C").reshape(*view.shape[: 1 + ndim], depth)


def patches_transpose(
    g,
    sizes: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
):
    """Return the transpose of `patches`: each row of channels is added where it was read.

    gx[n, i, c] = sum of g[n, o, k, c] over all (o, k) with o * stride + k * dilation - low = i.
    """
    outputs, dtype, taps = g.shape[1:-1], g.dtype, math.prod(window)
    g = widen(g).reshape(*g.shape[:-1], taps, g.shape[-1] // taps)
    total = np.zeros((g.shape[0], *sizes, g.shape[-1]), g.dtype)
    for tap in window_taps(sizes, outputs, window, strides, padding, dilation):
        rows = total[in_image(tap.inputs)]
        np.add(rows, g[(slice(None), *tap.outputs, tap.index)], out=rows)
    return total.astype(dtype, copy=False)
