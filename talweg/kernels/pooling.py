"""Maximum and average pooling in any number of spatial dimensions, and their linear adjoints.

Layout `[N, *S, C]` in any memory order. Padding is never read: it does not take part in a maximum
and is not counted in an average, as in TensorFlow.

The maximum's derivative is a choice of one element per window: the first maximum in window scan
order, TensorFlow's convention for two dimensions. `max_pool_gather` takes the chosen elements out
of any array of x's shape (the forward derivative, and TensorFlow's second-order MaxPoolGradGrad);
`max_pool_scatter` puts cotangents back (the gradient). They are each other's transpose, so all
higher derivatives are made of these two.

NaN: a window with a NaN has the maximum NaN, chosen at its first NaN. TensorFlow's answer depends
there on the rank and the order of elements; it may lose the NaN and return the lowest finite
number. TensorFlow's three-dimensional gradient gives *every* tied maximum the whole cotangent,
which is no derivative of the maximum; here the first one has it in every rank.

Choices are multiplied in as integers 0 and 1 on the bit patterns: exact for infinite and NaN
cotangents, where a floating-point product with 0 would make NaN, and one vectorised pass.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from talweg.kernels import window as windows

# A kernel passes over its input once per tap. Measured best between half of this and twice it.
TILE_BYTES = 2 << 20


def max_pool(
    x,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
):
    """y[n, o, c] = max over taps k of x[n, o * stride + k * dilation - low, c]."""
    dtype = x.dtype
    lowest = -np.inf if _is_float(dtype) else _lowest_integer(dtype)
    y = _reduce_windows(windows.widen(x), np.maximum, lowest, window, strides, padding, dilation)
    return y.astype(dtype, copy=False)


def max_pool_gather(
    v,
    x: np.ndarray,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    y: np.ndarray | None = None,
):
    """Return v at the place of each window's first maximum of x: `[N, *S, C] -> [N, *O, C]`.

    `y` is `max_pool(x)` where the caller has it. A window that lies in padding only gives zero.
    """
    dtype = v.dtype
    v, x, y = _operands(v, x, window, strides, padding, dilation, y)
    bits = np.zeros_like(y, dtype=_bits(v).dtype)
    chosen = np.empty_like(bits)
    taps = _taps(x, y, window, strides, padding, dilation)
    for here, there, mask in _first_maxima(x, y, taps):
        product = chosen[here]
        np.copyto(product, mask)  # 0 or 1; cheaper apart than inside of the product
        np.multiply(_bits(v)[there], product, out=product)
        np.bitwise_or(bits[here], product, out=bits[here])
    return bits.view(v.dtype).astype(dtype, copy=False)


def max_pool_scatter(
    g,
    x: np.ndarray,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    y: np.ndarray | None = None,
):
    """Add each g at the place of its window's first maximum of x: `[N, *O, C] -> [N, *S, C]`."""
    dtype = g.dtype
    g, x, y = _operands(g, x, window, strides, padding, dilation, y)
    taps = _taps(x, y, window, strides, padding, dilation)
    disjoint = all(map(_are_disjoint, window, strides, dilation))
    tiled = not any(map(any, padding)) and x.shape[1:-1] == tuple(
        count * taps for count, taps in zip(y.shape[1:-1], window, strict=True)
    )
    # Windows that tile x write every element of it; otherwise the rest must be zero.
    total = (np.empty_like if disjoint and tiled else np.zeros_like)(x, dtype=g.dtype)
    scatter = _scatter_disjoint if disjoint else _scatter_overlapping
    for part in _tiles(x):
        scatter(g[part], x[part], y[part], total[part], taps)
    return total.astype(dtype, copy=False)


def max_pool_with_argmax(
    x,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
):
    """Return the maxima, and the position of each one in its image:
    ((s0 * S1 + s1) * S2 ...) * C + c.
    """
    y = max_pool(x, window, strides, padding, dilation)
    _, wide, top = _operands(x, x, window, strides, padding, dilation, y)
    jumps = np.cumprod((1, *x.shape[:1:-1]))[::-1]  # elements per step along each spatial axis
    offsets = np.zeros(window, np.int64)
    position = np.zeros(y.shape, np.int64)
    spatial = zip(window, strides, padding, dilation, strict=True)
    for axis, (taps, stride, (low, _), step) in enumerate(spatial):
        offsets += _on_axis(np.arange(taps) * step * jumps[axis], axis, len(window))
        starts = (np.arange(y.shape[axis + 1]) * stride - low) * jumps[axis]
        position += _on_axis(starts, axis + 1, y.ndim)
    position += np.arange(x.shape[-1])
    taps = _taps(x, y, window, strides, padding, dilation)
    for tap, (here, _, mask) in zip(taps, _first_maxima(wide, top, taps), strict=True):
        np.add(position[here], offsets.flat[tap.index], out=position[here], where=mask)
    return y, position


def avg_pool(
    x,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
):
    """y[n, o, c] = mean of the elements of the window that lie inside of x."""
    dtype = x.dtype
    y = _reduce_windows(windows.widen(x), np.add, 0, window, strides, padding, dilation)
    counts = window_counts(x.shape[1:-1], y.shape[1:-1], window, strides, padding, dilation)
    return _divide_by_counts(y, counts).astype(dtype, copy=False)


def avg_pool_transpose(
    g,
    sizes: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
):
    """gx[n, i, c] = sum of g[n, o, c] / count(o) over the windows o that read i."""
    dtype = g.dtype
    g = windows.widen(g)
    counts = window_counts(sizes, g.shape[1:-1], window, strides, padding, dilation)
    g = _divide_by_counts(g, counts, np.empty_like(g))
    # Fewest elements first: the last axis is widened first, so rows stay long for the others.
    for axis in reversed(range(len(sizes))):
        g = _spread_axis(
            g, axis + 1, sizes[axis], window[axis], strides[axis], padding[axis][0], dilation[axis]
        )
    return g.astype(dtype, copy=False)


def window_counts(
    sizes: Sequence[int],
    outputs,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
):
    """Count the elements of x in each window, per spatial axis: numbers or vectors to multiply."""
    if not any(map(any, padding)):
        return list(window)
    counts = []
    for size, count, taps, stride, (low, _), step in zip(
        sizes, outputs, window, strides, padding, dilation, strict=True
    ):
        places = np.arange(count)[:, None] * stride - low + np.arange(taps) * step
        inside = np.sum((places >= 0) & (places < size), axis=1)
        counts.append(np.maximum(inside, 1))  # a window in padding only: the sum 0, not 0 / 0
    return counts


def _tiles(x: np.ndarray):
    """Return slices of the batch that are small enough to stay in the cache."""
    step = max(TILE_BYTES // max(x[:1].nbytes, 1), 1)
    return [slice(start, start + step) for start in range(0, x.shape[0], step)]


def _is_float(dtype: np.dtype):
    return dtype.kind in "fV"  # ml_dtypes types have kind V


def _lowest_integer(dtype: np.dtype):
    return False if dtype.kind == "b" else np.iinfo(dtype).min


def _on_axis(values: np.ndarray, axis, ndim):
    """Return a vector as an array of `ndim` axes that varies on `axis` only."""
    return values.reshape([-1 if other == axis else 1 for other in range(ndim)])


def _divide_by_counts(y: np.ndarray, counts, out=None):
    """Return y / the product of the per-axis counts."""
    divisor = y.dtype.type(1)
    for axis, count in enumerate(counts, start=1):
        if isinstance(count, np.ndarray):
            count = _on_axis(count.astype(y.dtype), axis, y.ndim)
        divisor = divisor * count
    return np.divide(y, np.asarray(divisor, y.dtype), out=y if out is None else out)


def _reduce_windows(
    x: np.ndarray,
    ufunc,
    identity,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
):
    """Reduce every window: one axis after the other, which both maximum and sum allow."""
    outputs = windows.output_sizes(x.shape[1:-1], window, strides, padding, dilation)
    pairs = [
        windows.axis_taps(size, count, taps, stride, low, step)
        for size, count, taps, stride, (low, _), step in zip(
            x.shape[1:-1], outputs, window, strides, padding, dilation, strict=True
        )
    ]
    y = np.empty_like(x, shape=(x.shape[0], *outputs, x.shape[-1]))
    for part in _tiles(x):
        tile = x[part]
        for axis, (count, axis_pairs) in enumerate(zip(outputs, pairs, strict=True), start=1):
            out = y[part] if axis == len(outputs) else None
            tile = _reduce_axis(tile, axis, count, axis_pairs, ufunc, identity, out)
    return y


def _reduce_axis(x: np.ndarray, axis, outputs, pairs, ufunc, identity, out):
    """Reduce windows along one axis, into `out` if given; `pairs` as `axis_taps` gives them."""
    before = (slice(None),) * axis
    if out is None:
        if len(pairs) == 1 and pairs[0] == (slice(0, outputs), slice(0, x.shape[axis], 1)):
            return x
        out = np.empty_like(x, shape=(*x.shape[:axis], outputs, *x.shape[axis + 1 :]))
    pairs = [pair for pair in pairs if pair is not None]
    whole = [pair for pair in pairs if pair[0] == slice(0, outputs)]
    if len(whole) > 1:  # two taps that every output has make the first values in one pass
        ufunc(x[(*before, whole[0][1])], x[(*before, whole[1][1])], out=out)
    elif whole:
        np.copyto(out, x[(*before, whole[0][1])])
    else:
        out.fill(identity)
    for pair in pairs:
        if pair not in whole[:2]:
            target = out[(*before, pair[0])]
            ufunc(target, x[(*before, pair[1])], out=target)
    return out


def _spread_axis(g: np.ndarray, axis, size, taps, stride, low, step):
    """Return the transpose of a windowed sum along one axis."""
    before = (slice(None),) * axis
    pairs = windows.axis_taps(size, g.shape[axis], taps, stride, low, step)
    shape = (*g.shape[:axis], size, *g.shape[axis + 1 :])
    total = np.zeros_like(g, shape=shape)
    for outputs, inputs in filter(None, pairs):
        place = total[(*before, inputs)]
        if _are_disjoint(taps, stride, step):  # write instead of add
            np.copyto(place, g[(*before, outputs)])
        else:
            np.add(place, g[(*before, outputs)], out=place)
    return total


def _operands(
    moved,
    x: np.ndarray,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    y,
):
    """Return all three in their working dtypes, y made where it is missing."""
    x = windows.widen(x)
    if y is None:
        y = max_pool(x, window, strides, padding, dilation)
    return windows.widen(moved), x, windows.widen(y)


def _taps(
    x: np.ndarray,
    y: np.ndarray,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
):
    return windows.window_taps(x.shape[1:-1], y.shape[1:-1], window, strides, padding, dilation)


def _are_disjoint(taps, stride, step):
    """Return whether no two windows along an axis share an element."""
    return windows.extent(taps, step) <= stride


def _bits(array: np.ndarray):
    """Return the elements of `array` as integers of the same size."""
    return array.view(f"i{array.itemsize}")


def _first_maxima(x: np.ndarray, y: np.ndarray, taps):
    """Yield per tap (index of outputs, index of inputs, mask: this tap is the first maximum).

    The mask of one tap is overwritten by the next.
    """
    open_windows = np.ones_like(y, dtype=bool)
    masks = np.empty_like(open_windows)
    has_nan = _is_float(x.dtype) and y.size and np.isnan(np.max(y))
    compact = np.empty_like(y) if taps and taps[0].inputs[-1].step != 1 else None
    for tap in taps:
        here, there = windows.in_image(tap.outputs), windows.in_image(tap.inputs)
        mask, waiting = masks[here], open_windows[here]
        if tap is taps[-1]:  # what is still open here has its maximum in its last element
            yield here, there, waiting
            return
        read = x[there]
        if compact is not None:  # to copy and compare is faster than to compare short runs
            np.copyto(compact[here], read)
            read = compact[here]
        np.equal(read, y[here], out=mask)
        if has_nan:
            np.logical_or(mask, np.isnan(read), out=mask)
        np.logical_and(mask, waiting, out=mask)
        yield here, there, mask
        np.logical_xor(waiting, mask, out=waiting)


def _scatter_disjoint(g: np.ndarray, x: np.ndarray, y: np.ndarray, total, taps):
    """Scatter as `max_pool_scatter` one tile
    whose windows share no elements: written, not added.
    """
    chosen = np.empty_like(_bits(g))
    for here, there, mask in _first_maxima(x, y, taps):
        np.copyto(chosen[here], mask)  # 0 or 1; cheaper apart than inside of the product
        np.multiply(_bits(g)[here], chosen[here], out=_bits(total)[there])


def _scatter_overlapping(g: np.ndarray, x: np.ndarray, y: np.ndarray, total, taps):
    """Scatter as `max_pool_scatter` one tile whose windows share elements."""
    product = np.empty_like(g)
    chosen = np.empty_like(_bits(g))
    for here, there, mask in _first_maxima(x, y, taps):
        np.copyto(chosen[here], mask)
        np.multiply(_bits(g)[here], chosen[here], out=_bits(product)[here])
        place = total[there]
        np.add(place, product[here], out=place)
