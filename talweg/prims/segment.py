"""Reductions over segments: rows of `data` that share an id.

data [*ids.shape, ...], ids any shape, results [count, ...]; rows with negative ids are left out.
`count` (`num_segments` in the API) is a parameter, so shapes are known before values.  Sorted and
unsorted segment functions differ in what the API checks and in what it puts into empty segments.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import check_dtype, primitive
from talweg.core.dims import dims_differ, same
from talweg.core.dtypes import NUMERIC, REAL, int32, int64, of_numpy
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient, Reject, Sample, later
from talweg.kernels.scatter import are_inside, reduce_rows
from talweg.kernels.sorting import stable_order
from talweg.prims.arithmetic import cast, equal, greater_equal, logical_and, select, zeros_of
from talweg.prims.complex import conj
from talweg.prims.indexing import in_float32
from talweg.prims.layout import broadcast_to, concat, reshape, reverse, strided_slice, transpose
from talweg.prims.scan import linear_recurrence, shift

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.dtypes import DType

IDS = NoGradient("segment ids only choose where a row goes")
ORDER = NoGradient("an order is piecewise constant")
SORTED = np.array([0, 0, 2, 2, 2], np.int32)
MIXED = np.array([[1, -1], [0, 1]], np.int64)
SAMPLES = (
    Sample([5], SORTED, count=3),
    Sample([5, 2], SORTED[::-1].copy(), count=4),
    Sample([2, 2, 3], MIXED, count=2),
    Sample([0, 2], np.zeros(0, np.int32), count=2),
    Sample([], np.array(1, np.int32), count=2),
)
REJECTS = (
    Reject([3], SORTED, count=3, code="TW204"),
    Reject([5], np.ones(5, np.float32), count=3, code="TW102"),
    Reject([5], SORTED, count=2, code="TW206"),
)


def check_ids(name: str, data, ids):
    """Raise InvalidArgumentError unless `ids` are integers
    whose shape begins the shape of `data`.
    """
    check_dtype(name, "segment_ids", ids.dtype, {int32, int64})
    if dims_differ(data.dims[: ids.ndim], ids.dims):
        raise invalid(
            "TW204",
            f"{name}: data.shape = {data.dims} does not start with segment_ids.shape = {ids.dims}",
            "one segment id for each row of data",
        )


def _infer(name: str, accepts: frozenset[DType]):
    def infer(x, ids, *, count):
        check_dtype(name, "data", x.dtype, accepts)
        check_ids(name, x, ids)
        return Aval((count, *x.dims[ids.ndim :]), x.dtype)

    return infer


def _rows(x: np.ndarray, ids, count: int, name: object):
    """Return data and ids with the rows that take part: x [n, ...], ids [n]; all ids in range."""
    if ids.ndim != 1:
        x, ids = x.reshape(ids.size, *x.shape[ids.ndim :]), ids.reshape(-1)
    if are_inside(ids, count):
        return x, ids
    if ids.max() >= count:
        place = int(np.argmax(ids >= count))
        raise invalid(
            "TW206",
            f"{name}: segment_ids[{place}] = {ids[place]} is out of range [0, {count})",
            "ids below num_segments",
        )
    taken = ids >= 0
    return x[taken], ids[taken]


def _segment_kernel(name: str, ufunc, start: Callable):
    """Return the kernel that reduces each segment by `ufunc` with neutral element start(dtype)."""

    def kernel(x: np.ndarray, ids, *, count):
        dtype = x.dtype
        x, ids = _rows(x, ids, count, name)
        if dtype.itemsize == 2 and dtype.kind not in "iu":
            x = x.astype(np.float32)
        blank = start(dtype)
        if blank == 0:
            result = np.zeros((count, *x.shape[1:]), x.dtype)
        else:
            result = np.full((count, *x.shape[1:]), blank, x.dtype)
        if x.size:
            reduce_rows(ufunc, result, ids, x, blank=blank == ufunc.identity)
        return result.astype(dtype, copy=False)

    return kernel


def _segment_rules(name: str, op: str, start: Callable, mark: float | None = None):
    """Return the rules by which a segment reduction is compiled;
    start and mark as in `ScatterRule`.
    """

    def requires(t, x: object, ids, *, count: object):
        if count <= ids.dtype.max:
            t.require(t.less(ids, count))

    def expand(t: object, x: object, ids: object, *, count: int):
        if op not in ("add", "mul"):
            return NotImplemented
        return in_float32(t, name, (x, ids), 0, {"count": count})

    def scatter(s, x, ids, *, count: int):
        rank = len(ids.dims)

        def at(index):
            row = ids(*index[:rank])
            slot = (s.clamp(row, count), *index[rank:])
            return slot, x(*index), s.greater_equal(row, 0)

        dtype = x.dtype
        marked = mark if dtype.is_floating else None
        return s.scatter(x.dims, at, op=op, start=start(dtype.numpy_dtype), mark=marked)

    return {"requires": requires, "expand": expand, "scatter": scatter, "call": "scatter"}


def _batch(name: str):
    def batch(size: int, batched: tuple, x, ids, *, count: int):
        if batched[1]:
            return NotImplemented  # each slice has its own ids
        rank = len(ids.dims)
        perm = (*range(1, rank + 1), 0, *range(rank + 1, len(x.dims)))
        result = later(name)(transpose(x, perm=perm), ids, count=count)
        return transpose(result, perm=(1, 0, *range(2, len(result.dims))))

    return batch


def check_order(x: np.ndarray, function: str) -> None:
    """Raise InvalidArgumentError for ids of segments that decrease or are negative."""
    if not x.size:
        return
    if x[0] < 0:
        raise invalid("TW206", f"{function}: segment id {x[0]} at place 0 is negative", "ids >= 0")
    falls = x[1:] < x[:-1]
    if np.count_nonzero(falls):
        row = int(np.argmax(falls)) + 1
        raise invalid(
            "TW207",
            f"{function}: segment_ids are not sorted: {x[row]} at place {row} follows {x[row - 1]}",
            "ids that do not decrease",
            f"tf.math.unsorted_{function}",
        )


@primitive
class sorted_ids:
    """y = x, ids of segments in order; InvalidArgumentError if one is negative or they decrease."""

    operands = "x"
    no_gradient = IDS

    def infer(x, *, function):
        check_dtype(function, "segment_ids", x.dtype, {int32, int64})
        return Aval(x.dims, x.dtype)

    def numpy(x: np.ndarray, *, function):
        check_order(x, function)
        return x

    def batch(size, batched, x, *, function):
        return NotImplemented

    def expand(t, x, *, function):
        if len(x.dims) != 1:
            return NotImplemented
        if x.size:
            t.require(t.greater_equal(x, 0))
            later = t.strided_slice(x, begin=(1,), end=(x.size,), strides=(1,))
            earlier = t.strided_slice(x, begin=(0,), end=(x.size - 1,), strides=(1,))
            t.require(t.greater_equal(later, earlier))
        return x

    memory = "view"
    samples = (
        Sample(SORTED, function="segment_sum"),
        Sample(np.zeros(0, np.int32), function="segment_sum"),
    )
    rejects = (
        Reject(SORTED[::-1].copy(), function="segment_sum", code="TW207"),
        Reject(np.array([-1, 0], np.int32), function="segment_sum", code="TW206"),
        Reject([3], function="segment_sum", code="TW102"),
    )


# -- sums, and the rows they come from


@primitive
class segment_sum:
    """yₛ = Σ of the rows of x with id s."""

    operands = "x ids"
    tf_type = "UnsortedSegmentSum"
    infer = _infer("segment_sum", NUMERIC)
    numpy = _segment_kernel("segment_sum", np.add, lambda dtype: 0)
    requires, expand, scatter, call = _segment_rules("segment_sum", "add", lambda dtype: 0).values()
    no_gradient = {"ids": IDS}

    def transpose_x(g, x, ids, *, count):
        return segment_rows(g, ids)

    batch = _batch("segment_sum")
    memory = "scatter"
    samples = SAMPLES
    rejects = REJECTS


@primitive
class segment_rows:
    """yᵢ = the row of x that idᵢ names, and zeros for a negative id.   x [count, ...]."""

    operands = "x ids"

    def infer(x, ids):
        check_dtype("segment_rows", "segment_ids", ids.dtype, {int32, int64})
        return Aval((*ids.dims, *x.dims[1:]), x.dtype)

    def numpy(x: np.ndarray, ids):
        if not x.shape[0]:
            return np.zeros((*ids.shape, *x.shape[1:]), x.dtype)
        result = np.asarray(x[np.maximum(ids, 0)])
        if ids.size and ids.min() < 0:
            result[ids < 0] = 0
        return result

    no_gradient = {"ids": IDS}

    def transpose_x(g, x, ids):
        return segment_sum(g, ids, count=x.dims[0])

    def requires(t, x, ids):
        if x.dims[0]:
            t.require(t.less(ids, x.dims[0]))

    def loops(s, index, x, ids):
        if not x.dims[0]:
            return s.zero(x)
        rank = len(ids.dims)
        row = ids(*index[:rank])
        found = x(s.clamp(row, x.dims[0]), *index[rank:])
        return s.select(s.less(row, 0), s.zero(x), found)

    def batch(size, batched, x, ids):
        if batched[1]:
            return NotImplemented  # each slice has its own ids
        rank = len(ids.dims)
        result = segment_rows(transpose(x, perm=(1, 0, *range(2, len(x.dims)))), ids)
        perm = (rank, *range(rank), *range(rank + 1, len(result.dims)))
        return transpose(result, perm=perm)

    memory = "gather"
    samples = (Sample([3], SORTED), Sample([4, 2], SORTED), Sample([2, 3], MIXED))


# -- extremes


def _extreme(name: str, ufunc: Callable, text: str):
    def weights(y: object, x, ids, count: int):
        """Return 1/n at the n places of a segment that take the extreme value, 0 elsewhere."""
        inside = broadcast_to(
            reshape(
                greater_equal(ids, 0), shape=(*ids.dims, *(1,) * (len(x.dims) - len(ids.dims)))
            ),
            shape=x.dims,
        )
        taken = logical_and(equal(x, segment_rows(y, ids)), inside)
        mask = cast(taken, dtype=x.dtype)
        total = segment_rows(segment_sum(mask, ids, count=count), ids)
        return select(taken, mask / total, zeros_of(mask))

    def vjp(g: object, y: object, x: object, ids: object, *, count: int):
        return weights(y, x, ids, count) * segment_rows(g, ids), None

    def jvp(t: tuple, y: object, x: object, ids: object, *, count: int):
        return segment_sum(weights(y, x, ids, count) * t[0], ids, count=count)

    op, mark = ("maximum", -np.inf) if name == "segment_max" else ("minimum", np.inf)
    fields = {
        **_segment_rules(name, op, lambda dtype: _worst(dtype, name), mark),
        "__doc__": text,
        "tf_type": f"UnsortedSegment{name[8:].title()}",
        "operands": "x ids",
        "infer": _infer(name, REAL),
        "numpy": _segment_kernel(name, ufunc, lambda dtype: _worst(dtype, name)),
        "vjp": vjp,
        "jvp": jvp,
        "no_gradient": {"ids": IDS},
        "batch": _batch(name),
        "memory": "scatter",
        "kinks": {"x": "where n places take the value, each gets 1/n of the derivative"},
        "samples": SAMPLES,
        "rejects": REJECTS,
    }
    return primitive(type(name, (), fields))


def _worst(dtype, name: str):
    """Return the maximum (minimum) of an empty segment: the lowest (highest) finite value."""
    limits = of_numpy(dtype)
    return limits.min if name == "segment_max" else limits.max


segment_max = _extreme("segment_max", np.maximum, "yₛ = the largest of the rows of x with id s.")
segment_min = _extreme("segment_min", np.minimum, "yₛ = the smallest of the rows of x with id s.")


# -- products


@primitive
class segment_order:
    """y = the order that sorts x, a vector of integers; equal ones stay in order.  int64."""

    operands = "x"

    def infer(x):
        return Aval(x.dims, int64)

    def numpy(x: np.ndarray):
        return stable_order(x).astype(np.int64, copy=False)

    no_gradient = ORDER

    def batch(size, batched, x):
        return NotImplemented

    memory = "library"

    def xla(j, x):
        return j.numpy.argsort(x, stable=True)

    samples = (Sample(SORTED[::-1].copy()), Sample(np.zeros(0, np.int32)))


def _span(x, start, stop):
    dims = x.dims[1:]
    return strided_slice(
        x, begin=(start, *(0 for _ in dims)), end=(stop, *dims), strides=(1,) * len(x.dims)
    )


def _products_before(x, ids):
    """yᵢ = Π of the rows before i with i's id.   x [n, ...], ids [n] in order.

    A scan by doubling (Blelloch 1990, 1.5): after the step of width w row i holds the product of
    the last 2w rows of its segment.
    """
    size, width = x.dims[0], 1
    ids = broadcast_to(reshape(ids, shape=(size, *(1,) * (len(x.dims) - 1))), shape=x.dims)

    def stay(width: int):
        return equal(_span(ids, width, size), _span(ids, 0, size - width))

    ones = 1 + zeros_of(x)
    if type(size) is not int:
        same_id = equal(ids, shift(ids + 1, 0, 1) - 1)  # false at the start: ids are not negative
        factors = select(same_id, shift(x, 0, 1), zeros_of(x))
        return linear_recurrence(factors, select(same_id, zeros_of(x), ones), axis=0)
    y = concat(
        _span(ones, 0, 1),
        select(stay(1), _span(x, 0, size - 1), _span(ones, 1, size)),
        axis=0,
    )
    while width < size:
        earlier = select(stay(width), _span(y, 0, size - width), _span(ones, width, size))
        y = concat(_span(y, 0, width), _span(y, width, size) * earlier, axis=0)
        width *= 2
    return y


def _other_products(x, ids):
    """Return Π of the other rows with the same id, in x's shape,
    exact at zeros, without a division.
    """
    size = math.prod(ids.dims)
    if any(same(n, 0) for n in x.dims):
        return x
    flat = reshape(ids, shape=(size,))
    order = segment_order(flat)
    rows = segment_rows(reshape(x, shape=(size, *x.dims[len(ids.dims) :])), order)
    flat = segment_rows(flat, order)
    before = _products_before(rows, flat)
    after = reverse(_products_before(reverse(rows, axes=(0,)), reverse(flat, axes=(0,))), axes=(0,))
    return reshape(segment_rows(before * after, segment_order(order)), shape=x.dims)


@primitive
class segment_prod:
    """yₛ = Π of the rows of x with id s.   dyₛ/dxᵢ = Π of the other rows, exact at zeros."""

    operands = "x ids"
    tf_type = "UnsortedSegmentProd"
    infer = _infer("segment_prod", NUMERIC)
    numpy = _segment_kernel("segment_prod", np.multiply, lambda dtype: 1)
    requires, expand, scatter, call = _segment_rules(
        "segment_prod", "mul", lambda dtype: 1
    ).values()
    no_gradient = {"ids": IDS}

    def vjp(g, y, x, ids, *, count):
        x = conj(x) if x.dtype.is_complex else x
        return segment_rows(g, ids) * _other_products(x, ids), None

    def jvp(t: tuple, y, x, ids, *, count):
        return segment_sum(_other_products(x, ids) * t[0], ids, count=count)

    batch = _batch("segment_prod")
    memory = "scatter"
    samples = (*SAMPLES, Sample(np.array([0, 2, 3, 0, 0], np.float32), SORTED, count=3))
    rejects = REJECTS
