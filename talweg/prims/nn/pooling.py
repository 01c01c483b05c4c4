"""Pooling and patches: what windows hold, reduced or laid out.  Parameters as in `convolution.py`.

The derivative of a maximum is a choice: `max_pool_gather` takes one element out of every window,
`max_pool_scatter` puts cotangents back; each is the transpose of the other, so they close the
derivatives of `max_pool` to any order.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import check_dtype, primitive
from talweg.core.dims import differ, dims_differ
from talweg.core.dtypes import ANY, FLOATING, REAL, int64, uint32, uint64
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.kernels import pooling as kernels
from talweg.kernels import window as windows
from talweg.prims.nn.convolution import (
    check_outputs,
    check_rank,
    leading,
    output_dims,
    padding_pairs,
)

if TYPE_CHECKING:
    from talweg.core.dtypes import DType

POOLED = REAL - {uint32, uint64}
CHOSEN = NoGradient("which element is the maximum is piecewise constant")
POSITION = NoGradient("a position is piecewise constant")

_TILES = {"window": (2, 2), "strides": (2, 2), "padding": "VALID", "dilation": (1, 1)}
_OVERLAPPING = {"window": (3, 2), "strides": (1, 2), "padding": "SAME", "dilation": (1, 1)}
_DILATED = {"window": (2,), "strides": (1,), "padding": ((1, 0),), "dilation": (3,)}
_SAMPLES = (
    Sample([2, 4, 5, 2], **_TILES),
    Sample([1, 4, 4, 2], **_OVERLAPPING),
    Sample([2, 7, 1], **_DILATED),
    Sample([0, 4, 4, 2], **_TILES),
)
_REJECTS = (
    Reject([4, 4, 2], **_TILES, code="TW203"),
    Reject([1, 4, 4, 2], **{**_TILES, "window": (9, 2)}, code="TW204"),
    Reject([1, 4, 4, 2], **{**_TILES, "strides": (2, 0)}, code="TW207"),
    Reject(np.ones((1, 4, 4, 1), bool), **_TILES, code="TW102"),
)
FIRST = {"x": "of several maxima in a window, the first in row-major order has the derivative"}


def _infer(name: str, accepts: frozenset[DType]):
    def infer(x, *, window, strides, padding, dilation):
        check_dtype(name, "input", x.dtype, accepts)
        check_rank(name, x, len(window) + 2)
        _check_padding(name, window, padding)
        outputs = output_dims(name, x.dims[1:-1], window, strides, padding, dilation)
        return Aval((x.dims[0], *outputs, x.dims[-1]), x.dtype)

    return infer


def _check_padding(name: str, window: tuple, padding: str | tuple):
    if isinstance(padding, str):
        return
    for taps, pair in zip(window, padding):
        if max(pair) >= taps:
            raise invalid(
                "TW207",
                f"{name}: padding {pair} needs to be smaller than the window size {taps}",
                "padding that leaves an element of the input in every window",
            )


def _geometry(sizes: tuple, window: tuple, strides: tuple, padding: str | tuple, dilation: tuple):
    pairs = padding_pairs(sizes, window, strides, padding, dilation)
    return window, strides, pairs, dilation


# -- maximum


@primitive
class max_pool:
    """y[n, o, c] = max over k of x[n, o s + k d - low, c]; padding takes no part."""

    operands = "x"
    tf_attributes = "pooling"

    def tf_type(x, **params):
        return "MaxPool" if x.dims is None or len(x.dims) < 5 else "MaxPool3D"

    infer = _infer("max_pool", POOLED)

    def numpy(x, **params):
        return kernels.max_pool(x, *_geometry(x.shape[1:-1], **params))

    def vjp(g, y, x, **params):
        return max_pool_scatter(g, x, y, **params)

    def jvp(t, y, x, **params):
        return max_pool_gather(t, x, y, **params)

    batch = leading("max_pool")
    memory = "window"
    xla = "max_pool"
    call = "pooling"
    accepts = POOLED
    kinks = FIRST
    samples = _SAMPLES
    rejects = (
        *_REJECTS,
        Reject([1, 4, 4, 2], **{**_TILES, "padding": ((2, 0), (0, 0))}, code="TW207"),
    )


def _check_choice(name: str, x, y, params):
    check_rank(name, x, len(params["window"]) + 2)
    check_dtype(name, "y", y.dtype, {x.dtype})
    check_outputs(name, y, x.dims[1:-1], **params)


@primitive
class max_pool_gather:
    """z[n, o, c] = v where x has the first maximum y[n, o, c] of its window.   y = max_pool(x)."""

    operands = "v x y"

    def infer(v, x, y, **params):
        _check_choice("max_pool_gather", x, y, params)
        if dims_differ(v.dims, x.dims):
            raise invalid("TW204", f"max_pool_gather: v has shape {v.dims}", f"x's shape {x.dims}")
        return Aval(y.dims, v.dtype)

    def numpy(v, x, y, **params):
        return kernels.max_pool_gather(v, x, *_geometry(x.shape[1:-1], **params), y=y)

    def transpose_v(h, v, x, y, **params):
        return max_pool_scatter(h, x, y, **params)

    no_gradient = {"x": CHOSEN, "y": CHOSEN}
    batch = leading("max_pool_gather")
    memory = "window"
    xla = "max_pool_gather"
    call = "pooling"
    accepts = POOLED
    samples = (
        Sample([2, 4, 5, 2], [2, 4, 5, 2], [2, 2, 2, 2], **_TILES),
        Sample([1, 4, 4, 2], [1, 4, 4, 2], [1, 4, 2, 2], **_OVERLAPPING),
    )
    rejects = (
        Reject([1, 4, 4, 2], [1, 4, 4, 2], [1, 3, 2, 2], **_TILES, code="TW204"),
        Reject([1, 4, 4, 1], [1, 4, 4, 2], [1, 2, 2, 2], **_TILES, code="TW204"),
    )


@primitive
class max_pool_scatter:
    """x̄ = each g[n, o, c] added where x has the first maximum y[n, o, c] of its window."""

    operands = "g x y"

    def infer(g, x, y, **params):
        _check_choice("max_pool_scatter", x, y, params)
        if dims_differ(g.dims, y.dims):
            raise invalid("TW204", f"max_pool_scatter: g has shape {g.dims}", f"y's shape {y.dims}")
        return Aval(x.dims, g.dtype)

    def numpy(g, x, y, **params):
        return kernels.max_pool_scatter(g, x, *_geometry(x.shape[1:-1], **params), y=y)

    def transpose_g(h, g, x, y, **params):
        return max_pool_gather(h, x, y, **params)

    no_gradient = {"x": CHOSEN, "y": CHOSEN}
    batch = leading("max_pool_scatter")
    memory = "window"
    xla = "max_pool_scatter"
    call = "max_pool_scatter"
    accepts = POOLED
    samples = (
        Sample([2, 2, 2, 2], [2, 4, 5, 2], [2, 2, 2, 2], **_TILES),
        Sample([1, 4, 2, 2], [1, 4, 4, 2], [1, 4, 2, 2], **_OVERLAPPING),
    )
    rejects = (
        Reject([1, 3, 2, 2], [1, 4, 4, 2], [1, 3, 2, 2], **_TILES, code="TW204"),
        Reject([1, 2, 2, 1], [1, 4, 4, 2], [1, 2, 2, 2], **_TILES, code="TW204"),
    )


@primitive
class max_pool_with_argmax:
    """y as `max_pool`, and where each maximum is in its image: ((s0 S1 + s1) S2 ...) C + c."""

    operands = "x"
    tf_attributes = "pooling"
    multiple = True

    def infer(x, **params):
        y = _infer("max_pool_with_argmax", POOLED)(x, **params)
        return [y, Aval(y.dims, int64)]

    def numpy(x, **params):
        return kernels.max_pool_with_argmax(x, *_geometry(x.shape[1:-1], **params))

    def vjp(g: tuple, z, x, **params):
        return max_pool_scatter(g[0], x, z[0], **params)

    def jvp(t, z, x, **params):
        return max_pool_gather(t, x, z[0], **params), None

    batch = leading("max_pool_with_argmax")
    memory = "window"
    accepts = POOLED
    kinks = FIRST
    samples = _SAMPLES
    rejects = _REJECTS


# -- average


@primitive
class avg_pool:
    """y[n, o, c] = mean over k of x[n, o s + k d - low, c]; padding is not counted."""

    operands = "x"
    tf_attributes = "pooling"

    def tf_type(x, **params):
        return "AvgPool" if x.dims is None or len(x.dims) < 5 else "AvgPool3D"

    infer = _infer("avg_pool", FLOATING)

    def numpy(x, **params):
        return kernels.avg_pool(x, *_geometry(x.shape[1:-1], **params))

    def transpose_x(g, x, **params):
        return avg_pool_transpose(g, sizes=x.dims[1:-1], **params)

    batch = leading("avg_pool")
    memory = "window"
    xla = "avg_pool"
    call = "pooling"
    accepts = FLOATING
    samples = _SAMPLES
    rejects = _REJECTS


@primitive
class avg_pool_transpose:
    """x̄[n, i, c] = Σ g[n, o, c] / count(o) over the windows o that read i."""

    operands = "g"

    def infer(g, *, sizes, **params):
        check_dtype("avg_pool_transpose", "g", g.dtype, FLOATING)
        check_rank("avg_pool_transpose", g, len(sizes) + 2, "g")
        check_outputs("avg_pool_transpose", g, sizes, **params)
        return Aval((g.dims[0], *sizes, g.dims[-1]), g.dtype)

    def numpy(g, *, sizes, **params):
        return kernels.avg_pool_transpose(g, sizes, *_geometry(sizes, **params))

    def transpose_g(h, g, *, sizes, **params):
        return avg_pool(h, **params)

    batch = leading("avg_pool_transpose")
    memory = "window"
    xla = "avg_pool_transpose"
    call = "pooling"
    accepts = FLOATING
    samples = (
        Sample([2, 2, 2, 2], sizes=(4, 5), **_TILES),
        Sample([1, 4, 2, 2], sizes=(4, 4), **_OVERLAPPING),
        Sample([2, 5, 1], sizes=(7,), **_DILATED),
    )
    rejects = (Reject([1, 3, 2, 2], sizes=(4, 4), **_TILES, code="TW204"),)


# -- patches


@primitive
class patches:
    """y[n, o, (k, c)] = x[n, o s + k d - low, c], 0 in padding.   [N, *S, C] -> [N, *O, ΠK C]."""

    operands = "x"

    def infer(x, *, window, **params):
        check_dtype("patches", "images", x.dtype, ANY)
        check_rank("patches", x, len(window) + 2, "images")
        outputs = output_dims("patches", x.dims[1:-1], window, **params)
        depth = None if x.dims[-1] is None else math.prod(window) * x.dims[-1]
        return Aval((x.dims[0], *outputs, depth), x.dtype)

    def numpy(x, **params):
        return windows.patches(x, *_geometry(x.shape[1:-1], **params))

    def loops(s, index, x, *, window, **params):
        geometry = _geometry(x.dims[1:-1], window, **params)
        tap, channel, at, inside = index[-1] // x.dims[-1], index[-1] % x.dims[-1], [], None
        for axis in reversed(range(len(window))):
            _, strides, pairs, steps = geometry
            k = tap % window[axis] if axis else tap
            place = index[1 + axis] * strides[axis] + k * steps[axis] - pairs[axis][0]
            inside = s.all(inside, s.within(place, 0, x.dims[1 + axis]))
            tap, at = tap // window[axis], [place, *at]
        return x.where(inside, 0, index[0], *at, channel)

    def transpose_x(g, x, **params):
        return patches_transpose(g, sizes=x.dims[1:-1], **params)

    batch = leading("patches")
    memory = "window"
    accepts = ANY
    samples = _SAMPLES
    rejects = _REJECTS[:3]


@primitive
class patches_transpose:
    """x̄[n, i, c] = Σ g[n, o, (k, c)] over o s + k d - low = i."""

    operands = "g"

    def infer(g, *, sizes, window, **params):
        check_rank("patches_transpose", g, len(window) + 2, "g")
        check_outputs("patches_transpose", g, sizes, window, **params)
        if differ(g.dims[-1] % math.prod(window), 0):
            raise invalid(
                "TW204",
                f"patches_transpose: {g.dims[-1]} channels of windows of {tuple(window)}",
                f"a multiple of {math.prod(window)}",
            )
        return Aval((g.dims[0], *sizes, g.dims[-1] // math.prod(window)), g.dtype)

    def numpy(g, *, sizes, **params):
        return windows.patches_transpose(g, sizes, *_geometry(sizes, **params))

    def transpose_g(h, g, *, sizes, **params):
        return patches(h, **params)

    batch = leading("patches_transpose")
    memory = "window"
    call = "pooling"
    xla = "patches_transpose"
    samples = (
        Sample([2, 2, 2, 8], sizes=(4, 5), **_TILES),
        Sample([1, 4, 2, 12], sizes=(4, 4), **_OVERLAPPING),
        Sample([2, 5, 2], sizes=(7,), **_DILATED),
    )
    rejects = (
        Reject([1, 2, 2, 6], sizes=(4, 4), **_TILES, code="TW204"),
        Reject([1, 3, 2, 8], sizes=(4, 4), **_TILES, code="TW204"),
    )
