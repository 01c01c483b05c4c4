"""Counting integers and numbers into bins, and places in flattened tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, check_dtype, primitive
from talweg.core.dims import below, differ
from talweg.core.dtypes import INTEGER, REAL, float64, int32, int64
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.kernels.progression import allocate
from talweg.prims.indexing import check_range

COUNTS = NoGradient("a count is an integer")
RANGE = np.array([0.0, 5.0])


@primitive
class bincount:
    """y[n] = how often n appears in x, for n < size.   x [k] -> y [size]."""

    operands = "x"

    def infer(x, *, size):
        check_dtype("bincount", "arr", x.dtype, {int32, int64})
        if below(size, 0):
            raise invalid("TW207", f"bincount: {size} bins", "at least 0")
        return Aval((size,), int64)

    def numpy(x, *, size):
        if size < 0:
            raise invalid("TW207", f"bincount: {size} bins", "at least 0")
        x = x.reshape(-1)
        if x.size and np.minimum.reduce(x) < 0:
            raise invalid("TW207", "bincount: arr holds negative numbers", "numbers >= 0")
        if x.size and np.maximum.reduce(x) >= size:
            x = x[x < size]
        return allocate("bincount", np.bincount, x, None, size)[:size]

    def requires(t, x, *, size):
        t.require(t.greater_equal(x, 0))

    def scatter(s: Any, x, *, size):
        def at(index: tuple):
            n = x(*index)
            return (s.clamp(n, size),), s.number(1, int64), s.less(n, size)

        return s.scatter(x.dims, at)

    call = "scatter"
    no_gradient = COUNTS
    batch = LOOP
    memory = "scatter"
    samples = (Sample(np.array([1, 1, 3]), size=3), Sample(np.zeros(0, np.int32), size=2))
    rejects = (
        Reject(np.array([-1]), size=2, code="TW207"),
        Reject([2], size=2, code="TW102"),
        Reject(np.array([1]), size=-2, code="TW207"),
    )


@primitive
class number_of_bins:
    """y = one more than the largest element of x, the smallest size that `bincount` needs; or 0.

    InvalidArgumentError for negative elements; `argument` says what x is.
    """

    operands = "x"

    def infer(x: Aval, *, argument: tuple[str, str]):
        check_dtype(*argument, x.dtype, {int32, int64})
        return Aval((), int64)

    def numpy(x, *, argument):
        if x.size and x.min() < 0:
            function, name = argument
            text = f"{function}: {name} holds negative numbers"
            raise invalid("TW207", text, "numbers of at least 0")
        return np.int64(x.max() + 1 if x.size else 0)

    def expand(t, x, *, argument):
        if not x.size:
            return t.array(np.int64(0))
        t.require(t.greater_equal(x, 0))
        top = t.reduce_max(x, axes=tuple(range(len(x.dims))), keepdims=False)
        return t.cast(t.add(top, 1), dtype=int64)

    no_gradient = COUNTS
    batch = LOOP
    memory = "reduce"
    samples = (
        Sample(np.array([1, 1, 3]), argument=("bincount", "arr")),
        Sample(np.zeros(0, np.int32), argument=("bincount", "arr")),
    )
    rejects = (
        Reject(np.array([-1]), argument=("bincount", "arr"), code="TW207"),
        Reject([2], argument=("bincount", "arr"), code="TW102"),
    )


@primitive
class partition_sizes:
    """y[p] = how many elements of x are p, for p < count.   x [n] -> y [count].

    InvalidArgumentError for an element outside [0, count).
    """

    operands = "x"

    def infer(x, *, count):
        check_dtype("dynamic_partition", "partitions", x.dtype, {int32, int64})
        return Aval((count,), int64)

    def numpy(x: np.ndarray, *, count):
        check_range("dynamic_partition", x, count)
        return np.bincount(x, minlength=count)

    def requires(t, x, *, count):
        t.require_below(x, count)

    def scatter(s: Any, x, *, count):
        def at(index: tuple):
            return (s.clamp(x(*index), count),), s.number(1, int64), None

        return s.scatter(x.dims, at)

    call = "scatter"
    no_gradient = COUNTS
    batch = LOOP
    memory = "scatter"
    samples = (Sample(np.array([1, 1, 0]), count=3), Sample(np.zeros(0, np.int32), count=1))
    rejects = (
        Reject(np.array([3]), count=3, code="TW206"),
        Reject(np.array([-1]), count=3, code="TW206"),
    )


def _check_range(name: str, x, limits, bins: int):
    for part, argument in ((x, "values"), (limits, "value_range")):
        check_dtype(name, argument, part.dtype, REAL)
        if part.dtype is not x.dtype:
            raise invalid("TW102", f"{name}: value_range has dtype {part.dtype.name}", "one dtype")
    if len(limits.dims) != 1 or differ(limits.dims[0], 2):
        raise invalid("TW205", f"{name}: value_range has shape {limits.dims}", "two numbers")
    if below(bins, 1):
        raise invalid("TW207", f"{name}: nbins={bins}", "a positive number")


@primitive
class histogram:
    """y[n] = how many elements of x lie in part n of [low, high], cut into `bins` equal parts."""

    operands = "x limits"
    tf_type = "HistogramFixedWidth"

    def infer(x, limits, *, bins, dtype):
        _check_range("histogram_fixed_width", x, limits, bins)
        return Aval((bins,), dtype)

    def numpy(x: np.ndarray, limits, *, bins, dtype):
        low, high = limits
        if not low < high:
            text = f"histogram_fixed_width: value_range=[{low}, {high}]"
            raise invalid("TW207", text, "low < high")
        if np.isnan(x).any():
            raise invalid("TW207", "histogram_fixed_width: values contain NaN")
        step = (float(high) - float(low)) / bins
        places = np.clip((np.asarray(x, np.float64) - float(low)) / step, 0, bins - 1)
        places = places.astype(np.int64).reshape(-1)
        found = allocate("histogram_fixed_width", np.bincount, places, None, bins)
        return found.astype(dtype.numpy_dtype)

    def requires(t, x, limits, *, bins, dtype):
        low, high = t.unstack(limits, axis=0)
        t.require(t.less(low, high))
        if x.dtype.is_floating:
            t.require(t.logical_not(t.is_nan(x)))

    def scatter(s: Any, x, limits, *, bins, dtype):
        low, high = s.cast(limits(0), float64), s.cast(limits(1), float64)
        step = (high - low) / bins

        def at(index: tuple):
            place = (s.cast(x(*index), float64) - low) / step
            place = s.maximum(s.minimum(place, bins - 1), 0)
            return (s.clamp(s.cast(place, int64), bins),), s.number(1, dtype), None

        return s.scatter(x.dims, at)

    call = "scatter"
    no_gradient = COUNTS
    batch = LOOP
    memory = "scatter"
    samples = (Sample(np.array([-1.0, 1.5, 9.0]), RANGE, bins=3, dtype_=int32),)
    rejects = (
        Reject(np.array([1.0]), RANGE[::-1].copy(), bins=3, dtype_=int32, code="TW207"),
        Reject(np.array([np.nan]), RANGE, bins=3, dtype_=int32, code="TW207"),
        Reject(np.array([1.0]), RANGE[:1], bins=3, dtype_=int32, code="TW205"),
        Reject(np.array([1.0]), RANGE, bins=0, dtype_=int32, code="TW207"),
        Reject(np.array([1]), RANGE, bins=2, dtype_=int32, code="TW102"),
    )


@primitive
class histogram_bins:
    """y = the part of [low, high], cut into `bins` equal parts, that each element of x lies in."""

    operands = "x limits"

    def infer(x, limits, *, bins):
        _check_range("histogram_fixed_width_bins", x, limits, bins)
        return Aval(x.dims, int32)

    def numpy(x, limits, *, bins):
        low, high = limits
        kind = np.dtype(np.float64) if x.dtype.kind in "iu" else x.dtype
        scaled = (x - low).astype(kind) / kind.type(high - low)
        return np.clip(np.floor(scaled * bins), 0, bins - 1).astype(np.int32)

    def loops(s, index, x, limits, *, bins):
        low, high = limits(0), limits(1)
        kind = float64 if x.dtype.is_integer else x.dtype
        scaled = s.cast(x(*index) - low, kind) / s.cast(high - low, kind)
        place = s.minimum(s.maximum(s.floor(scaled * bins), 0), bins - 1)
        return s.convert(place, int32)

    no_gradient = COUNTS
    batch = LOOP
    memory = "map"
    samples = (Sample(np.array([-1.0, 1.5, 9.0]), RANGE, bins=3),)
    rejects = (Reject(np.array([1.0]), RANGE[:1], bins=3, code="TW205"),)


@primitive
class unravel:
    """y = the coordinates of flat indices i in a tensor of shape d.   i [n], d [r] -> y [r, n]."""

    operands = "i d"
    tf_type = "UnravelIndex"

    def infer(i, d):
        for part, argument in ((i, "indices"), (d, "dims")):
            check_dtype("unravel_index", argument, part.dtype, INTEGER)
        if len(i.dims) > 1 or len(d.dims) != 1:
            text = f"unravel_index: indices of shape {i.dims}, dims of shape {d.dims}"
            raise invalid("TW203", text, "indices of rank at most 1, dims a vector")
        return Aval((*d.dims, *i.dims), i.dtype)

    def numpy(i, d):
        if (d == 0).any():
            raise invalid("TW205", f"unravel_index: dims={d.tolist()} contains a zero")
        if i.size and i.max() >= np.prod(d, dtype=np.int64):
            raise invalid("TW206", f"unravel_index: index {i.max()} is out of bound with dims")
        left, found = i.astype(np.int64), []
        for size in d[::-1].astype(np.int64):
            found.append(np.fmod(left, size))  # negative indices stay negative, as in TensorFlow
            left = np.trunc(left / size).astype(np.int64)
        return np.array(found[::-1]).astype(i.dtype).reshape(d.size, *i.shape)

    def requires(t, i, d):
        t.require(t.not_equal(d, 0))
        whole = t.reduce_prod(t.cast(d, dtype=int64), axes=(0,), keepdims=False)
        t.require(t.less(t.cast(i, dtype=int64), whole))

    def expand(t, i, d):
        left, found = t.cast(i, dtype=int64), []
        for axis in reversed(range(d.dims[0])):
            size = t.strided_slice(d, begin=(axis,), end=(axis + 1,), strides=(1,))
            size = t.reshape(t.cast(size, dtype=int64), shape=())
            found.append(t.reshape(t.truncate_mod(left, size), shape=(1, *i.dims)))
            left = t.truncate_div(left, size)
        whole = t.concat(*found[::-1], axis=0) if found else None
        return NotImplemented if whole is None else t.cast(whole, dtype=i.dtype)

    no_gradient = NoGradient("coordinates are integers")
    batch = LOOP
    memory = "map"
    samples = (
        Sample(np.array([3, 5]), np.array([2, 3])),
        Sample(np.array(4, np.int32), np.array([2, 3], np.int32)),
    )
    rejects = (
        Reject(np.array([6]), np.array([2, 3]), code="TW206"),
        Reject(np.array([0]), np.array([0, 3]), code="TW205"),
        Reject(np.array([[0]]), np.array([3]), code="TW203"),
    )
