"""Rules that declarations name in the field `xla`, of more than one function of JAX.

A way is called with the operands as arrays, and the parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from talweg.core.precision import precision as chosen
from talweg.execute.xla.engine import jax, lax
from talweg.execute.xla.engine import numpy as jnp
from talweg.prims.nn.convolution import padding_pairs


def precision() -> Any:
    """Return the precision of float32 products by `tf.config`: all digits, or fewer."""
    return lax.Precision.DEFAULT if chosen.tensor_float_32 else lax.Precision.HIGHEST


def _small(dtype: Any) -> bool:
    return jnp.issubdtype(dtype, jnp.floating) and dtype.itemsize == 2


def matmul(x: Any, y: Any) -> Any:
    """Multiply matrices; products of 16-bit floats are summed in 32 bits."""
    wide = jnp.float32 if _small(x.dtype) else None
    found = jnp.matmul(x, y, precision=precision(), preferred_element_type=wide)
    return found.astype(x.dtype)


# -- windows: [N, *S, C]


def _layout(ndim: int) -> tuple[str, str, str]:
    space = "DHW"[3 - ndim :]
    return f"N{space}C", f"{space}IO", f"N{space}C"


def _pairs(sizes: tuple, taps: tuple, strides: Any, padding: Any, dilation: Any) -> list:
    return [tuple(map(int, p)) for p in padding_pairs(sizes, taps, strides, padding, dilation)]


def convolution(x: Any, w: Any, *, strides: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """Compute z[n, o, m] = Σ x[n, o s + k d - low, c] w[k, c, m]."""
    pairs = _pairs(x.shape[1:-1], w.shape[:-2], strides, padding, dilation)
    wide = jnp.float32 if _small(x.dtype) else None
    convolved = lax.conv_general_dilated(
        x,
        w,
        strides,
        pairs,
        None,
        dilation,
        _layout(len(strides)),
        groups,
        precision=precision(),
        preferred_element_type=wide,
    )
    return convolved.astype(x.dtype)


def _transpose_linear(linear: Callable[..., Any], shape: tuple, g: Any) -> Any:
    """Apply the transpose of a linear function of an array of this shape to a cotangent.

    16-bit floats are computed in 32 bits.
    """
    dtype = jnp.float32 if _small(g.dtype) else g.dtype
    like = jax.ShapeDtypeStruct(shape, dtype)
    return jax.linear_transpose(linear, like)(g.astype(dtype))[0].astype(g.dtype)


def _widen(x: Any) -> Any:
    return x.astype(jnp.float32) if _small(x.dtype) else x


def convolution_input_gradient(g: Any, w: Any, *, sizes: tuple, **params: Any) -> Any:
    """Compute the transpose of `convolution` in x."""
    shape = (g.shape[0], *sizes, w.shape[-2] * params["groups"])
    w = _widen(w)
    return _transpose_linear(lambda x: convolution(x, w, **params), shape, g)


def convolution_filter_gradient(x: Any, g: Any, *, kernel: tuple, **params: Any) -> Any:
    """Compute the transpose of `convolution` in w."""
    shape = (*kernel, x.shape[-1] // params["groups"], g.shape[-1])
    x = _widen(x)
    return _transpose_linear(lambda w: convolution(x, w, **params), shape, g)


def _reduce_windows(x: Any, start: Any, combine: Any, window: Any, **params: Any) -> Any:
    """Reduce windows."""
    strides, dilation = params["strides"], params["dilation"]
    pairs = _pairs(x.shape[1:-1], window, strides, params["padding"], dilation)
    sizes, steps = (1, *window, 1), (1, *strides, 1)
    pads = [(0, 0), *pairs, (0, 0)]
    first = np.asarray(start, x.dtype)
    return lax.reduce_window(x, first, combine, sizes, steps, pads, None, (1, *dilation, 1))


def max_pool(x: Any, **params: object) -> Any:
    """Compute the largest number of each window."""
    low = -np.inf if jnp.issubdtype(x.dtype, jnp.floating) else np.iinfo(x.dtype).min
    return _reduce_windows(x, low, lax.max, **params)


def avg_pool(x: Any, **params: object) -> Any:
    """Compute the mean of each window, without padding."""
    wide = _widen(x)
    count = _reduce_windows(jnp.ones((1, *x.shape[1:-1], 1), wide.dtype), 0, lax.add, **params)
    return (_reduce_windows(wide, 0, lax.add, **params) / count).astype(x.dtype)


def avg_pool_transpose(g: Any, *, sizes: tuple, **params: object) -> Any:
    """Compute the transpose of `avg_pool`."""
    shape = (g.shape[0], *sizes, g.shape[-1])
    return _transpose_linear(lambda x: avg_pool(x, **params), shape, g)


def _first_maxima(x: Any, y: Any, *, window: tuple, **params: Any) -> tuple[Any, Any]:
    """Return the row-major position in the image of each window's first maximum."""
    strides, dilation = params["strides"], params["dilation"]
    sizes = x.shape[1:-1]
    pairs = _pairs(sizes, window, strides, params["padding"], dilation)
    outputs = y.shape[1:-1]
    winners = jnp.full(y.shape, -1, jnp.int64)
    for tap in reversed([*np.ndindex(*window)]):
        offsets = jnp.zeros((1, *outputs, 1), jnp.int64)
        inside = jnp.ones((1, *outputs, 1), bool)
        at = []
        for axis, (size, count) in enumerate(zip(sizes, outputs)):
            first = tap[axis] * dilation[axis] - pairs[axis][0]
            line = np.arange(count) * strides[axis] + first
            shape = [1] * (len(outputs) + 2)
            shape[axis + 1] = count
            inside = inside & jnp.asarray((line >= 0) & (line < size)).reshape(shape)
            line = np.clip(line, 0, size - 1)
            offsets = offsets * size + jnp.asarray(line).reshape(shape)
            at.append(line)
        taken = x[(slice(None), *np.ix_(*at), slice(None))]
        same = (taken == y) | (jnp.isnan(taken) & jnp.isnan(y)) if _has_nan(x) else taken == y
        winners = jnp.where(inside & same, offsets, winners)
    return winners, int(np.prod(sizes))


def _has_nan(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jnp.floating)


def max_pool_gather(v: Any, x: Any, y: Any, **params: Any) -> Any:
    """Gather the elements of v at the first maxima of x's windows."""
    places, size = _first_maxima(x, y, **params)
    flat = v.reshape(v.shape[0], size, v.shape[-1])
    at = jnp.maximum(places, 0).reshape(v.shape[0], -1, v.shape[-1])
    taken = jnp.take_along_axis(flat, at, 1).reshape(y.shape)
    return jnp.where(places < 0, 0, taken).astype(v.dtype)


def max_pool_scatter(g: Any, x: Any, y: Any, **params: Any) -> Any:
    """Compute the transpose of `max_pool_gather` in v."""
    places, size = _first_maxima(x, y, **params)
    count, depth = x.shape[0], x.shape[-1]
    at = jnp.where(places < 0, size, places).reshape(count, -1, depth)
    wide = _widen(g).reshape(count, -1, depth)
    rows = jnp.arange(count).reshape(-1, 1, 1)
    columns = jnp.arange(depth).reshape(1, 1, -1)
    found = jnp.zeros((count, size, depth), wide.dtype).at[rows, at, columns].add(wide, mode="drop")
    return found.reshape(x.shape).astype(g.dtype)


def patches_transpose(g: Any, *, sizes: tuple, window: tuple, **params: Any) -> Any:
    """Sum, for each element of the image, its taps in all windows."""
    strides, dilation = params["strides"], params["dilation"]
    pairs = _pairs(sizes, window, strides, params["padding"], dilation)
    depth = g.shape[-1] // int(np.prod(window))
    found = jnp.zeros((g.shape[0], *sizes, depth), _widen(g).dtype)
    for number, tap in enumerate(np.ndindex(*window)):
        at = []
        for axis, (size, count) in enumerate(zip(sizes, g.shape[1:-1])):
            line = np.arange(count) * strides[axis] + tap[axis] * dilation[axis] - pairs[axis][0]
            at.append(np.where((line >= 0) & (line < size), line, size))
        part = _widen(g[..., number * depth : (number + 1) * depth])
        found = found.at[(slice(None), *np.ix_(*at), slice(None))].add(part, mode="drop")
    return found.astype(g.dtype)


# -- places


def slices(begin: tuple, end: tuple, strides: tuple) -> tuple:
    """Return the slices of `strided_slice`: an end below zero is before the first element."""
    rows = zip(begin, end, strides)
    return tuple([slice(a, None if z < 0 else z, step) for a, z, step in rows])


def strided_slice(x: Any, *, begin: tuple, end: tuple, strides: tuple) -> Any:
    """Take a part of an array."""
    return x[slices(begin, end, strides)]


def unslice(g: Any, *, begin: tuple, end: tuple, strides: tuple, shape: tuple) -> Any:
    """Compute the transpose of a slice: zeros, except for that part."""
    return jnp.zeros(shape, g.dtype).at[slices(begin, end, strides)].set(g)


def gather(x: Any, indices: Any, *, axis: int, batch_dims: int) -> Any:
    """Gather the parts of x along an axis that integers name."""
    if not all(x.shape):
        dims = (*x.shape[:axis], *indices.shape[batch_dims:], *x.shape[axis + 1 :])
        return jnp.zeros(dims, x.dtype)

    def take(x: Any, indices: Any) -> Any:
        return jnp.take(x, indices, axis - batch_dims, mode="clip")

    for _ in range(batch_dims):
        take = jax.vmap(take)
    return take(x, indices)


def _running(sum_up: Callable[..., Any], start: int, x: Any, **params: Any) -> Any:
    axis = params["axis"]
    wide = _widen(x)
    wide = jnp.flip(wide, axis) if params["reverse"] else wide
    found = sum_up(wide, axis=axis, dtype=wide.dtype)
    if params["exclusive"] and x.shape[axis]:
        first = (*[slice(None)] * axis, slice(0, 1))
        found = jnp.roll(found, 1, axis).at[first].set(start)
    found = jnp.flip(found, axis) if params["reverse"] else found
    return found.astype(x.dtype)


def searchsorted(x: Any, v: Any, *, right: bool, dtype: Any) -> Any:
    """Return the positions of numbers in sorted rows; no comparison with NaN holds."""
    kind = dtype.numpy_dtype
    if not x.size or not v.size:
        return jnp.zeros(v.shape, kind)
    rows, parts = x.reshape(-1, x.shape[-1]), v.reshape(-1, v.shape[-1])
    side = "right" if right else "left"
    found = jax.vmap(lambda row, part: jnp.searchsorted(row, part, side=side))(rows, parts)
    found = found.reshape(v.shape).astype(kind)
    if jnp.issubdtype(v.dtype, jnp.floating):
        found = jnp.where(jnp.isnan(v), kind.type(x.shape[-1] if right else 0), found)
    return found


WAYS: dict[str, Callable[..., Any]] = {
    "matmul": matmul,
    "convolution": convolution,
    "convolution_input_gradient": convolution_input_gradient,
    "convolution_filter_gradient": convolution_filter_gradient,
    "max_pool": max_pool,
    "max_pool_gather": max_pool_gather,
    "max_pool_scatter": max_pool_scatter,
    "avg_pool": avg_pool,
    "avg_pool_transpose": avg_pool_transpose,
    "patches_transpose": patches_transpose,
    "strided_slice": strided_slice,
    "unslice": unslice,
    "gather": gather,
    "searchsorted": searchsorted,
    "cumsum": partial(_running, jnp.cumsum, 0),
    "cumprod": partial(_running, jnp.cumprod, 1),
}
