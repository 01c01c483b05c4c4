"""Convolution in any number of spatial dimensions, and its two adjoints.

y[n, o, m] = sum over taps k and channels c of x[n, o * stride + k * dilation - low, c] w[k, c, m]

(what the field calls convolution: a correlation, the kernel is not turned round). Layouts are
x `[N, *S, C]`, w `[*K, C / groups, M]`, y `[N, *O, M]`. Output channel m belongs to group
m // (M / groups), which reads C / groups channels of its own.

<y, g> is trilinear in (x, w, g); the three functions here are its three partial contractions, so
each one is an adjoint of the others and no further kernel is needed for derivatives of any order.

Method: tiles of im2col columns (Chellapilla et al. 2006), each one BLAS product that writes to its
final place. The columns lie in one of two orders, whichever has the longer runs to copy:
`[position, tap, channel]`, or `[tap, channel, position]` where there are few channels. The input
gradient goes the other way: one product per tap into planes, which are added where the tap read;
with stride 1 it is itself a convolution, with the kernel turned round.
A depthwise convolution has no product worth a BLAS call: it is multiply and add, tap by tap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from talweg.kernels import direct_convolution as direct
from talweg.kernels import window as windows
from talweg.kernels.numpy_blas import matmul

# Columns shorter than this many elements copy slower than rows of positions (measured).
SHORT_RUN = 12
FEW_CHANNELS = 4
# Tap-by-tap work passes over its tile many times: the tile should stay in the second-level cache.
DEPTHWISE_BYTES = 256 << 10


def convolution(
    x,
    w: np.ndarray,
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups=1,
):
    """y = x * w, see the head of this module. [N, *S, C] [*K, C/groups, M] -> [N, *O, M]."""
    kernel, dtype = w.shape[:-2], np.result_type(x, w)
    outputs = windows.output_sizes(x.shape[1:-1], kernel, strides, padding, dilation)
    x, w = windows.widen(x), windows.widen(w)
    y = np.empty((x.shape[0], *outputs, w.shape[-1]), np.result_type(x, w))
    if 0 in (*y.shape, *x.shape, *w.shape):
        return np.zeros(y.shape, dtype)
    geometry = _geometry(x, y, w.shape, strides, padding, dilation)
    if groups == 1 and direct.convolve(x, w, y, geometry):
        return y.astype(dtype, copy=False)
    x = windows.pad_spatial(x, padding)
    if is_depthwise(w, groups):
        _depthwise(x, w, y, strides, dilation)
    else:
        for tile, columns in _column_tiles(x, kernel, strides, dilation, groups):
            matmul(columns, _by_group(w, groups), _positions(y[tile], groups))
    return y.astype(dtype, copy=False)


def convolution_filter_gradient(
    x,
    g: np.ndarray,
    kernel,
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups: int = 1,
):
    """dL/dw = the sum of (columns of x)^T g. [N, *S, C] [N, *O, M] -> [*K, C/groups, M]."""
    dtype = np.result_type(x, g)
    x, g = windows.widen(x), windows.widen(g)
    shape = (*kernel, x.shape[-1] // groups, g.shape[-1])
    total = np.zeros(shape, np.result_type(x, g))
    if 0 in (*g.shape, *x.shape, *shape):
        return total.astype(dtype, copy=False)
    geometry = _geometry(x, g, shape, strides, padding, dilation)
    if groups == 1 and direct.filter_gradient(x, g, total, geometry):
        return total.astype(dtype, copy=False)
    x = windows.pad_spatial(x, padding)
    if is_depthwise(total, groups):
        _depthwise_filter_gradient(x, g, total, strides, dilation)
        return total.astype(dtype, copy=False)
    by_group = _by_group(total, groups)
    part = np.empty(by_group.shape, total.dtype)
    for tile, columns in _column_tiles(x, kernel, strides, dilation, groups):
        matmul(columns.swapaxes(1, 2), _positions(g[tile], groups), part)
        np.add(by_group, part, out=by_group)
    return total.astype(dtype, copy=False)


def convolution_input_gradient(
    g,
    w: np.ndarray,
    sizes: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups: int = 1,
):
    """dL/dx[n, i, c] = sum of g[n, o, m] w[k, c, m] over the (o, k) that read i.

    [N, *O, M] [*K, C/groups, M] -> [N, *sizes, C]. This is the transposed convolution.
    """
    dtype = np.result_type(g, w)
    g, w = windows.widen(g), windows.widen(w)
    shape = (g.shape[0], *sizes, w.shape[-2] * groups)
    total = np.zeros(shape, np.result_type(g, w))
    if 0 in (*g.shape, *w.shape, *shape):
        return total.astype(dtype, copy=False)
    if is_depthwise(w, groups):
        _depthwise_input_gradient(g, w, total, strides, padding, dilation)
    elif _is_pointwise(w.shape[:-2], strides, padding):
        product = _positions(total, groups)
        matmul(_positions(g, groups), _by_group(w, groups).swapaxes(1, 2), product)
    elif _is_convolution(g, w, total, strides, padding, dilation, groups):
        mirrored = _mirror(w.shape[:-2], padding, dilation)
        total = convolution(g, _turn_round(w, groups), strides, mirrored, dilation, groups)
    elif _is_strided(strides, dilation, groups) and direct.input_gradient(
        g, w, total, tuple(strides), padding
    ):
        pass
    elif w.shape[-2] <= FEW_CHANNELS:
        _scatter_rows(g, w, total, strides, padding, dilation, groups)
    else:
        _scatter_planes(g, w, total, strides, padding, dilation, groups)
    return total.astype(dtype, copy=False)


def is_depthwise(w: np.ndarray, groups: int):
    """Return whether every input channel is a group
    of its own (one channel alone is not worth it).
    """
    return groups > 1 and w.shape[-2] == 1


def _is_pointwise(kernel, strides: Sequence[int], padding: Sequence[tuple[int, int]]):
    return all(n == 1 for n in (*kernel, *strides)) and not any(map(any, padding))


def _is_strided(strides: Sequence[int], dilation: Sequence[int], groups: int):
    return groups == 1 and any(n > 1 for n in strides) and all(n == 1 for n in dilation)


def _mirror(kernel, padding: Sequence[tuple[int, int]], dilation: Sequence[int]):
    """Return the padding of the convolution that is the input gradient of one of stride 1."""
    reaches = [step * (size - 1) for step, size in zip(dilation, kernel)]
    return [(reach - low, reach - high) for reach, (low, high) in zip(reaches, padding)]


def _geometry(
    x: np.ndarray,
    y: np.ndarray,
    filters: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
):
    """Return the sizes of y = x * w with filters `[*K, C, M]`."""
    pads = tuple([(low, high) for low, high in padding])
    kernel, steps, apart = tuple(filters[:-2]), tuple(strides), tuple(dilation)
    channels, results = x.shape[-1], y.shape[-1]
    sizes, outputs = x.shape[1:-1], y.shape[1:-1]
    return direct.ConvolutionSizes(
        len(x), sizes, outputs, channels, results, kernel, steps, pads, apart
    )


def _is_convolution(
    g: np.ndarray,
    w: np.ndarray,
    total: np.ndarray,
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups: int,
):
    """Return whether the input gradient is a convolution that copies less than planes would add.

    Adding takes twice as long as copying (measured), and turning a large kernel round takes longer
    than either.
    """
    mirrored = _mirror(w.shape[:-2], padding, dilation)
    if any(min(pads) < 0 for pads in mirrored) or any(n != 1 for n in strides) or w.size > g.size:
        return False
    if FEW_CHANNELS < w.shape[-2] >= w.shape[-1] // groups:
        return True
    geometry = _geometry(g, total, w.shape, strides, mirrored, dilation)
    return groups == 1 and direct.is_direct(g, w, geometry)


def _turn_round(w: np.ndarray, groups: int):
    """Return the kernel with each tap at the opposite end, and inputs and outputs exchanged."""
    *kernel, depth, many = w.shape
    axes = tuple(range(len(kernel)))
    turned = np.flip(w, axes).reshape(*kernel, depth, groups, many // groups)
    swapped = turned.transpose(*axes, -1, -2, -3)
    return np.ascontiguousarray(swapped).reshape(*kernel, many // groups, groups * depth)


def _by_group(w: np.ndarray, groups: int):
    """Return a view of w as matrices `[groups, taps * C/groups, M/groups]`."""
    return w.reshape(-1, groups, w.shape[-1] // groups).swapaxes(0, 1)


def _positions(y: np.ndarray, groups: int):
    """Return a view of `[n, *O,
    M]` (contiguous in its positions) as `[groups, positions, M/groups]`.
    """
    return y.reshape(-1, groups, y.shape[-1] // groups).swapaxes(0, 1)


def _column_tiles(
    x: np.ndarray, kernel, strides: Sequence[int], dilation: Sequence[int], groups: int
):
    """Yield (tile of `[N, *O]`, its columns `[groups, positions, taps * C/groups]`).

    The columns of one tile are overwritten by the next.
    """
    ndim, depth = len(kernel), x.shape[-1] // groups
    view = windows.sliding_windows(x, kernel, strides, dilation)
    outputs = view.shape[1 : 1 + ndim]
    taps = math.prod(kernel)
    if taps == 1 and view.flags.c_contiguous:  # the array is its own matrix of columns
        yield (slice(None),), _positions(view.reshape(*view.shape[: 1 + ndim], -1), groups)
        return
    view = view.reshape(*view.shape[:-1], groups, depth)
    position_axes, tap_axes = range(ndim + 1), range(ndim + 1, 2 * ndim + 1)
    across = _copies_across(x, kernel, dilation, depth)
    if across:
        order = (2 * ndim + 1, *tap_axes, 2 * ndim + 2, *position_axes)
    else:
        order = (2 * ndim + 1, *position_axes, *tap_axes, 2 * ndim + 2)
    buffer = None
    for tile in windows.tiles(x.shape[0], outputs, taps * x.shape[-1] * x.itemsize):
        part = view[tile].transpose(order)
        if buffer is None:
            buffer = np.empty(part.size, x.dtype)
        columns = buffer[: part.size].reshape(part.shape)
        np.copyto(columns, part)
        if across:
            yield tile, columns.reshape(groups, taps * depth, -1).swapaxes(1, 2)
        else:
            yield tile, columns.reshape(groups, -1, taps * depth)


def _copies_across(x: np.ndarray, kernel, dilation: Sequence[int], depth):
    """Return whether positions, not taps and channels, make the longer runs to copy."""
    if x.strides[-1] > x.strides[-2]:  # channels-first memory: rows of positions are contiguous
        return True
    run = depth * (kernel[-1] if dilation[-1] == 1 else 1)
    return depth <= FEW_CHANNELS and run <= SHORT_RUN


def _tap_rows(
    tile,
    sizes: Sequence[int],
    outputs,
    kernel,
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
):
    """Return the taps of one tile:
    as `window_taps`, with outputs counted from the tile's first row.
    """
    first, stop = tile[1].start, tile[1].stop
    (low, high), *others = padding
    moved = ((low - first * strides[0], high), *others)
    return windows.window_taps(
        sizes, (stop - first, *outputs[1:]), kernel, strides, moved, dilation
    )


def _scatter_planes(
    g: np.ndarray,
    w: np.ndarray,
    total,
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups: int,
):
    """Compute per tap one product g w[k]^T, a plane `[n, *O, C]`, added where the tap read."""
    kernel, outputs, depth = w.shape[:-2], g.shape[1:-1], w.shape[-2]
    taps = math.prod(kernel)
    # [taps, groups, M/groups, C/groups]
    matrices = w.reshape(taps, depth, groups, -1).transpose(0, 2, 3, 1)
    channels = total.shape[-1]
    buffer = None
    for tile in windows.tiles(g.shape[0], outputs, taps * channels * g.itemsize):
        rows = g[tile]
        positions = rows.size // rows.shape[-1]
        if buffer is None:
            buffer = np.empty(taps * positions * channels, g.dtype)
        planes = buffer[: taps * positions * channels].reshape(taps, positions, groups, depth)
        matmul(_positions(rows, groups), matrices, planes.swapaxes(1, 2))
        planes = planes.reshape(taps, *rows.shape[:-1], channels)
        target = total[tile[0]]
        for tap in _tap_rows(tile, total.shape[1:-1], outputs, kernel, strides, padding, dilation):
            spot = target[windows.in_image(tap.inputs)]
            np.add(spot, planes[tap.index][windows.in_image(tap.outputs)], out=spot)


def _scatter_rows(
    g: np.ndarray,
    w: np.ndarray,
    total,
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups: int,
):
    """Scatter as `_scatter_planes`, with channels in front: few channels still make long rows."""
    kernel, outputs, depth = w.shape[:-2], g.shape[1:-1], w.shape[-2]
    taps, sizes = math.prod(kernel), total.shape[1:-1]
    matrices = _by_group(w, groups)
    front = np.zeros((groups, depth, g.shape[0], *sizes), g.dtype)
    for tile in windows.tiles(g.shape[0], outputs, taps * total.shape[-1] * g.itemsize):
        rows = g[tile]
        planes = matmul(matrices, _positions(rows, groups).swapaxes(1, 2))
        planes = planes.reshape(groups, taps, depth, *rows.shape[:-1])
        target = front[:, :, tile[0]]
        for tap in _tap_rows(tile, sizes, outputs, kernel, strides, padding, dilation):
            spot = target[(..., *tap.inputs)]
            np.add(spot, planes[:, tap.index][(..., *tap.outputs)], out=spot)
    np.copyto(total, np.moveaxis(front.reshape(-1, g.shape[0], *sizes), 0, -1))


def _depthwise_tiles(g_like, groups: int):
    """Return tiles for tap-by-tap work on `[N, *O, C]`, and the buffer shape of one tile."""
    return windows.tiles(
        g_like.shape[0], g_like.shape[1:-1], groups * g_like.itemsize, DEPTHWISE_BYTES
    )


def _along_rows(weights, width):
    """Return `[taps, C]` repeated to `[taps, width, C]`:
    rows of an image then multiply in one run.
    """
    return np.repeat(weights[:, None, :], width, axis=1)


def _tap_view(
    x: np.ndarray, place, outputs, index, kernel, strides: Sequence[int], dilation: Sequence[int]
):
    """Return the view of a padded x that tap `index` of a tile reads, in the tile's shape."""
    offsets = np.unravel_index(index, kernel)
    spans = []
    for axis, (offset, stride, step) in enumerate(zip(offsets, strides, dilation, strict=True)):
        first, stop = (place[1].start, place[1].stop) if axis == 0 else (0, outputs[axis])
        start = first * stride + int(offset) * step
        spans.append(slice(start, start + (stop - first - 1) * stride + 1, stride))
    return x[(place[0], *spans)]


def _depthwise(
    x: np.ndarray, w: np.ndarray, y: np.ndarray, strides: Sequence[int], dilation: Sequence[int]
):
    """y[n, o, c, j] = sum over taps of x[n, o * stride + k * dilation, c] w[k, c, j]."""
    kernel, outputs, channels = w.shape[:-2], y.shape[1:-1], x.shape[-1]
    split = y.reshape(*y.shape[:-1], channels, -1)
    weights = w.reshape(-1, channels, split.shape[-1])
    for copy in range(split.shape[-1]):
        rows = _along_rows(weights[..., copy], outputs[-1])
        for tile in _depthwise_tiles(y, channels):
            target = split[(*tile, ..., copy)]
            total = np.empty(target.shape, y.dtype)
            product = np.empty_like(total)
            for index, row in enumerate(rows):
                part = _tap_view(x, tile, outputs, index, kernel, strides, dilation)
                np.multiply(part, row, out=product if index else total)
                if index:
                    np.add(total, product, out=total)
            target[...] = total


def _depthwise_filter_gradient(
    x: np.ndarray, g: np.ndarray, total, strides: Sequence[int], dilation: Sequence[int]
):
    """gw[k, c, j] = sum over n, o of x[n, o * stride + k * dilation, c] g[n, o, c, j]."""
    kernel, outputs, channels = total.shape[:-2], g.shape[1:-1], x.shape[-1]
    split = g.reshape(*g.shape[:-1], channels, -1)
    sums = total.reshape(-1, channels, split.shape[-1])
    for tile in _depthwise_tiles(g, channels):
        for copy in range(split.shape[-1]):
            rows = np.ascontiguousarray(split[(*tile, ..., copy)])
            product = np.empty_like(rows)
            # A product with ones is BLAS's sum over positions, several times faster than np.sum.
            ones = np.ones(rows.size // channels, g.dtype)
            for index in range(len(sums)):
                part = _tap_view(x, tile, outputs, index, kernel, strides, dilation)
                np.multiply(part, rows, out=product)
                sums[index, :, copy] += ones @ product.reshape(-1, channels)


def _depthwise_input_gradient(
    g: np.ndarray,
    w: np.ndarray,
    total,
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
):
    """gx[n, i, c] = sum of g[n, o, c, j] w[k, c, j] over the (o, k, j) that read i."""
    kernel, outputs, channels = w.shape[:-2], g.shape[1:-1], total.shape[-1]
    split = g.reshape(*g.shape[:-1], channels, -1)
    weights = w.reshape(-1, channels, split.shape[-1])
    for tile in _depthwise_tiles(g, channels):
        target = total[tile[0]]
        taps = _tap_rows(tile, total.shape[1:-1], outputs, kernel, strides, padding, dilation)
        for copy in range(split.shape[-1]):
            rows = np.ascontiguousarray(split[(*tile, ..., copy)])
            product = np.empty_like(rows)
            scaled = _along_rows(weights[..., copy], outputs[-1])
            for tap in taps:
                np.multiply(rows, scaled[tap.index], out=product)
                spot = target[windows.in_image(tap.inputs)]
                np.add(spot, product[windows.in_image(tap.outputs)], out=spot)
