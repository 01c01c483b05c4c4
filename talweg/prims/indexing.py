"""Gather and scatter: elements of x at the places that an integer tensor i names.

All are linear in x (in g, in the updates), and the transpose of a gather is a scatter that adds.
Indices count from 0; the kernel raises an InvalidArgumentError for one that is out of range.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import primitive
from talweg.core.dims import Dim, below, differ, dims_differ, is_symbolic, same
from talweg.core.dtypes import as_dtype, float32, int16, int32, int64
from talweg.core.errors import NeedsStaticError, invalid
from talweg.core.hooks import hooks
from talweg.core.primitive import NoGradient, Reject, Sample, later
from talweg.core.roles import Trait
from talweg.core.value import IndexedSlices
from talweg.kernels.scatter import are_inside, combine_rows, zeros
from talweg.prims.layout import batch_to_front, broadcast_to, concat, reshape

INDEX = frozenset({int16, int32, int64})
POSITIONS = NoGradient("positions are integers")
ROWS = np.array([2, 0, 2], np.int32)
PLACES = np.array([[0, 1], [1, 0]], np.int32)


def check_index(name: str, dtype):
    """Raise InvalidArgumentError unless `dtype` can index."""
    if dtype not in INDEX:
        given = f"{name}: indices have dtype {dtype.name}"
        raise invalid("TW102", given, "one of int16, int32, int64")


def check_range(name: str, indices: np.ndarray, size):
    """Raise InvalidArgumentError that names the first index outside [0, size)."""
    if not are_inside(indices, size):
        bad = tuple(np.argwhere((indices < 0) | (indices >= size))[0])
        raise invalid(
            "TW206",
            f"{name}: indices[{','.join(map(str, bad))}] = {indices[bad]} is not in [0, {size})",
            f"indices of at least 0 and below {size}",
        )


# -- along one axis


def _gather_dims(name: str, x, i: np.ndarray, axis: int, batch_dims: int):
    check_index(name, i.dtype)
    if x.ndim <= axis:
        raise invalid(
            "TW203",
            f"{name}: params has shape {x.dims}; axis {axis} is not one of its axes",
            f"a rank of at least {axis + 1}",
        )
    for d, (a, b) in enumerate(zip(x.dims[:batch_dims], i.dims[:batch_dims])):
        if differ(a, b):
            raise invalid(
                "TW204",
                f"{name}: params.shape[{d}]={a} should be equal to indices.shape[{d}]={b}",
                f"equal leading dimensions for batch_dims={batch_dims}",
            )
    return (*x.dims[:axis], *i.dims[batch_dims:], *x.dims[axis + 1 :])


def _split_dims(dims: Sequence[Any], axis: int, batch_dims: int):
    """Return the sizes of the batch axes, the axes before the gathered one, and those after it."""
    prod = math.prod
    return prod(dims[:batch_dims]), prod(dims[batch_dims:axis]), prod(dims[axis + 1 :])


def _number_batched_rows(i: np.ndarray, batches, size):
    """Return row numbers [batches * k] in an array of `batches` blocks of `size` rows."""
    blocks = np.arange(batches, dtype=np.int64)[:, None] * size
    count = i.size // batches if batches else 0
    return (blocks + i.reshape(batches, count)).reshape(-1)


def _gather(x, i: np.ndarray, *, axis: int, batch_dims: int):
    size = x.shape[axis]
    check_range("gather", i, size)
    if batch_dims == 0:
        found = x.take(i, axis)
        return found if isinstance(found, (np.ndarray, np.generic)) else np.array(found, object)
    dims = (*x.shape[:axis], *i.shape[batch_dims:], *x.shape[axis + 1 :])
    batches, outer, inner = _split_dims(x.shape, axis, batch_dims)
    if 0 in dims:
        return np.zeros(dims, x.dtype)
    rows = np.moveaxis(x.reshape(batches, outer, size, inner), 2, 1)
    found = rows.reshape(batches * size, outer, inner)[_number_batched_rows(i, batches, size)]
    found = np.moveaxis(found.reshape(batches, -1, outer, inner), 2, 1)
    return found.reshape(dims)


def _scatter_rows(g: np.ndarray, i: np.ndarray, *, axis: int, batch_dims: int, rows: np.ndarray):
    dims = (*g.shape[:axis], rows, *g.shape[axis + i.ndim - batch_dims :])
    check_range("scatter", i, rows)
    batches, outer, inner = _split_dims(dims, axis, batch_dims)
    result = zeros((batches * rows, outer * inner), g.dtype)
    if g.size:
        parts = np.moveaxis(g.reshape(batches, outer, -1, inner), 1, 2)
        places = _number_batched_rows(i, batches, rows)
        combine_rows("add", result, places, parts.reshape(places.size, outer * inner))
    result = np.moveaxis(result.reshape(batches, rows, outer, inner), 2, 1)
    return result.reshape(dims)


def _along(prim):
    """Return the batch rule of gather and scatter_rows: batched operands get a batch axis more."""

    def batch(size, batched, x, i, *, axis: int, batch_dims: int, **params: object):
        if not batched[1] and batch_dims == 0:
            return prim()(x, i, axis=axis + 1, batch_dims=0, **params)
        x, i = batch_to_front(size, x, batched[0]), batch_to_front(size, i, batched[1])
        return prim()(x, i, axis=axis + 1, batch_dims=batch_dims + 1, **params)

    return batch


@primitive
class gather:
    """z[b, o, k, r] = x[b, o, i[b, k], r]: `axis` follows o, b stands for the `batch_dims` axes."""

    operands = "x i"
    sizes = "gather"
    tf_type = "GatherV2"
    tf_attributes = "gather"

    def infer(x, i, *, axis, batch_dims):
        return Aval(_gather_dims("gather", x, i, axis, batch_dims), x.dtype)

    numpy = _gather

    def transpose_x(g, x, i, *, axis, batch_dims):
        return scatter_rows(g, i, axis=axis, batch_dims=batch_dims, rows=x.dims[axis])

    def requires(t, x, i, *, axis, batch_dims):
        t.require_below(i, x.dims[axis])

    def loops(s, index, x, i, *, axis, batch_dims):
        if not x.dims[axis]:
            return s.zero(x)
        stop = axis + len(i.dims) - batch_dims
        row = i(*index[:batch_dims], *index[axis:stop])
        return x(*index[:axis], s.clamp(row, x.dims[axis]), *index[stop:])

    no_gradient = {"i": POSITIONS}
    batch = _along(lambda: gather)
    memory = "gather"
    traits = {Trait.MOVES_ROWS, Trait.TAKES_ELEMENTS}
    xla = "gather"
    samples = (
        Sample([3, 2], ROWS, axis=0, batch_dims=0),
        Sample([2, 3, 2], np.array([[1, 1], [0, 2]]), axis=1, batch_dims=0),
        Sample([2, 3, 4], np.array([[1], [3]]), axis=2, batch_dims=1),
        Sample([2, 3], np.array([2, 0]), axis=1, batch_dims=1),
        Sample([3], np.zeros(0, np.int32), axis=0, batch_dims=0),
        Sample([3], np.array(1), axis=0, batch_dims=0),
    )
    rejects = (
        Reject([3], np.array([3]), axis=0, batch_dims=0, code="TW206"),
        Reject([3], np.array([-1]), axis=0, batch_dims=0, code="TW206"),
        Reject([3], np.array([0.5]), axis=0, batch_dims=0, code="TW102"),
        Reject([3], ROWS, axis=1, batch_dims=0, code="TW203"),
        Reject([2, 3], np.array([[1], [1], [1]]), axis=1, batch_dims=1, code="TW204"),
    )


@primitive
class scatter_rows:
    """z[b, o, n, r] = Σ g[b, o, k, r] over the k with i[b, k] = n; the transpose of `gather`."""

    operands = "g i"

    def infer(g, i, *, axis, batch_dims, rows):
        check_index("scatter_rows", i.dtype)
        return Aval((*g.dims[:axis], rows, *g.dims[axis + i.ndim - batch_dims :]), g.dtype)

    numpy = _scatter_rows

    def transpose_g(h, g, i, *, axis, batch_dims, rows):
        return gather(h, i, axis=axis, batch_dims=batch_dims)

    def requires(t, g, i, *, axis, batch_dims, rows):
        t.require_below(i, rows)

    def expand(t, g, i, **params):
        return in_float32(t, "scatter_rows", (g, i), 0, params)

    def scatter(s: Any, g, i, *, axis, batch_dims, rows):
        stop = axis + len(i.dims) - batch_dims

        def at(index):
            row = s.clamp(i(*index[:batch_dims], *index[axis:stop]), rows)
            return (*index[:axis], row, *index[stop:]), g(*index), None

        return s.scatter(g.dims, at, op=sum_of(g), start=s.zero(g).data)

    call = "scatter"
    no_gradient = {"i": POSITIONS}
    batch = _along(lambda: scatter_rows)
    memory = "scatter"
    samples = (
        Sample([3, 2], ROWS, axis=0, batch_dims=0, rows=4),
        Sample([2, 2, 2, 2], np.array([[1, 1], [0, 2]]), axis=1, batch_dims=0, rows=3),
        Sample([2, 3, 1], np.array([[1], [3]]), axis=2, batch_dims=1, rows=4),
        Sample([0], np.zeros(0, np.int32), axis=0, batch_dims=0, rows=3),
    )
    rejects = (Reject([1], np.array([3]), axis=0, batch_dims=0, rows=3, code="TW206"),)


def sum_of(x):
    """Return the reduction that adds elements of x: `or` for truth values, for `scatter` rules."""
    return "or" if x.dtype.is_bool else "add"


def in_float32(t, name: str, operands, place, params):
    """Return a sum (product) of 16-bit floats computed in float32, for `expand` rules."""
    x = operands[place]
    if not (x.dtype.is_floating and x.dtype.size == 2):
        return NotImplemented
    wide = [t.cast(v, dtype=float32) if v.dtype is x.dtype else v for v in operands]
    return t.cast(t.apply(later(name), *wide, **params), dtype=x.dtype)


def slices(g, i: np.ndarray, x: np.ndarray, dtype):
    """Return the cotangent `g` of rows i of x, as IndexedSlices."""
    try:
        count, rest = math.prod(i.dims), x.dims[1:]
    except NeedsStaticError:
        return _make_unranked_slices(g, i, x, as_dtype(dtype))
    if is_symbolic(x.dims):
        whole = later("shape_of")(x, dtype=as_dtype(dtype))
    else:
        whole = hooks.convert_to_tensor(np.array(x.dims, dtype))
    return IndexedSlices(reshape(g, shape=(count, *rest)), reshape(i, shape=(count,)), whole)


def _make_unranked_slices(g: np.ndarray, i: np.ndarray, x: np.ndarray, dtype):
    """Return `slices` of a tensor whose rank a graph does not know."""
    whole, reshape_to = later("shape_of")(x, dtype=dtype), later("reshape_to")
    first = hooks.convert_to_tensor(np.array([-1], dtype.numpy_dtype))
    sizes = concat(first, later("slice_by")(whole, key=((1, None, None),)), axis=0)
    places = reshape_to(i, first, dims=(None,))
    return IndexedSlices(reshape_to(g, sizes, dims=None), places, whole)


@primitive
class gather_rows:
    """z[k, r] = x[i[k], r], whose cotangent is sparse: IndexedSlices of x."""

    operands = "x i"
    sizes = "gather"
    tf_type = "GatherV2"

    def infer(x, i):
        if x.dims is None or i.dims is None:
            return Aval(None, x.dtype)
        return Aval(_gather_dims("gather", x, i, 0, 0), x.dtype)

    def numpy(x, i):
        return _gather(x, i, axis=0, batch_dims=0)

    def transpose_x(g, x, i):
        return slices(g, i, x, np.int32)

    def expand(t, x, i):
        return t.gather(x, i, axis=0, batch_dims=0)

    no_gradient = {"i": POSITIONS}

    def batch(size, batched, x, i):
        rule: Any = gather.batch
        return rule(size, batched, x, i, axis=0, batch_dims=0)

    memory = "gather"
    traits = {Trait.MOVES_ROWS}
    samples = (
        Sample([3, 2], ROWS),
        Sample([3], np.array([[1, 1], [0, 2]])),
        Sample([3], np.array(1)),
    )
    rejects = (Reject([3], np.array([3]), code="TW206"), Reject([], ROWS, code="TW203"))


# -- at several coordinates


def nd_dims(name: str, shape: Sequence[Any], i: np.ndarray):
    """Return the dimensions of the slices that indices i [..., depth] name in `shape`."""
    check_index(name, i.dtype)
    if i.ndim == 0:
        raise invalid("TW203", f"{name}: indices is a scalar", "indices of rank at least 1")
    depth = i.dims[-1]
    if type(depth) is Dim:
        return None  # it is known only when the graph runs
    if depth > len(shape):
        raise invalid(
            "TW204",
            f"{name}: index innermost dimension length must be <= rank {len(shape)} of shape "
            f"{tuple(shape)}; saw: {depth}",
            "one number in an index for each axis, or fewer",
        )
    return (*i.dims[:-1], *shape[depth:])


def _flat_rows(name: str, i: np.ndarray, shape: Sequence[Any]):
    """Return the row number of every index in an array of `shape` flattened to rows."""
    depth = i.shape[-1]
    sizes = np.array(shape[:depth], np.int64)
    if i.size and (i.min() < 0 or any(i[..., k].max() >= sizes[k] for k in range(depth))):
        index = tuple(np.argwhere(((i < 0) | (i >= sizes)).any(-1))[0])
        raise invalid(
            "TW206",
            f"{name}: indices[{','.join(map(str, index))}] = {i[index].tolist()} does not index "
            f"into shape {list(shape)}",
            "each index at least 0 and below the size of its axis",
        )
    rows = np.zeros(i.shape[:-1], np.int64)
    for k in range(depth):  # a product of integers with steps takes several times as long
        rows *= sizes[k]
        rows += i[..., k].astype(np.int64, copy=False)
    return rows.reshape(-1)


def _as_rows(array: np.ndarray, depth: int):
    """Return a copy of `array` as a matrix with a row for each index of `depth` numbers."""
    rows = math.prod(array.shape[:depth])
    return np.array(array).reshape(rows, math.prod(array.shape[depth:]))


def nd_places(shape: Sequence[Any], i):
    """Return indices i moved to where a batch axis comes first: [size, ..., depth + 1]."""
    size = shape[0]
    front = later("counting")(size=size, dtype=i.dtype)
    front = reshape(front, shape=(size,) + (1,) * (len(i.dims) - 1))
    return concat(broadcast_to(front, shape=(*i.dims[:-1], 1)), i, axis=len(i.dims) - 1)


def require_places(t, i: np.ndarray, dims: Sequence[Any]):
    """Require all indices i [..., depth] within an array of shape `dims`, for `requires` rules."""
    depth = i.dims[-1]
    if depth and len(set(dims[:depth])) == 1:
        t.require_below(i, dims[0])
    elif depth:
        limits = np.array(dims[:depth]).clip(max=i.dtype.max).astype(i.dtype.numpy_dtype)
        inside = t.less(i, t.array(limits))
        t.require(t.logical_and(t.greater_equal(i, 0), inside))


def _gather_nd(x: np.ndarray, i: np.ndarray, *, sparse: bool):
    rows = _flat_rows("gather_nd", i, x.shape)
    dims = (*i.shape[:-1], *x.shape[i.shape[-1] :])
    if 0 in dims:
        return np.zeros(dims, x.dtype)
    depth = i.shape[-1]
    matrix = x.reshape(math.prod(x.shape[:depth]), math.prod(x.shape[depth:]))
    return matrix[rows].reshape(dims)


@primitive
class gather_nd:
    """z[k, r] = x[i[k, 0], i[k, 1], ..., r].  With `sparse` the cotangent is IndexedSlices."""

    operands = "x i"

    def infer(x, i, *, sparse):
        if x.ndim == 0:
            raise invalid("TW203", "gather_nd: params is a scalar", "params of rank at least 1")
        return Aval(nd_dims("gather_nd", x.dims, i), x.dtype)

    numpy = _gather_nd

    def transpose_x(g, x, i, *, sparse):
        if sparse:
            return slices(g, i, x, i.dtype.numpy_dtype)
        return scatter_nd(i, g, shape=x.dims)

    def requires(t, x, i, *, sparse):
        require_places(t, i, x.dims)

    def loops(s, index, x, i, *, sparse):
        depth, lead = i.dims[-1], len(i.dims) - 1
        sizes = x.dims[:depth]
        if 0 in sizes:
            return s.zero(x)
        places = [s.clamp(i(*index[:lead], k), size) for k, size in enumerate(sizes)]
        return x(*places, *index[lead:])

    no_gradient = {"i": POSITIONS}

    def batch(size, batched, x, i, *, sparse):
        x, i = batch_to_front(size, x, batched[0]), batch_to_front(size, i, batched[1])
        return gather_nd(x, nd_places(x.dims, i), sparse=False)

    memory = "gather"
    samples = (
        Sample([2, 3], PLACES, sparse=False),
        Sample([2, 3], np.array([[1], [1], [0]]), sparse=False),
        Sample([2, 3], np.zeros((2, 0), np.int32), sparse=False),
        Sample([2, 3], np.zeros((0, 1), np.int32), sparse=False),
        Sample([3], np.array([1]), sparse=False),
    )
    rejects = (
        Reject([2, 3], np.array([[2, 0]]), sparse=False, code="TW206"),
        Reject([2, 3], np.array([[0, 0, 0]]), sparse=False, code="TW204"),
        Reject([], np.array([0]), sparse=False, code="TW203"),
        Reject([2, 3], np.array(0), sparse=False, code="TW203"),
    )


def check_updates(name: str, shape: Sequence[Any], i, updates: np.ndarray):
    if shape is None or i.dims is None or updates.dims is None:
        return  # a rank that is known only when the graph runs
    dims = nd_dims(name, shape, i)
    if dims is None:
        return
    if dims_differ(updates.dims, dims):
        raise invalid(
            "TW204",
            f"{name}: shapes: updates {updates.dims}, indices {i.dims}, tensor {tuple(shape)}",
            f"updates of shape indices.shape[:-1] + tensor.shape[{i.dims[-1]}:] = {dims}",
        )
    if any(same(size, 0) for size in shape) and differ(math.prod(dims), 0):
        raise invalid(
            "TW206",
            f"{name}: indices and updates specified for empty output of shape {tuple(shape)}",
        )


def scatter_into(name: str, kind, whole: np.ndarray, i, updates: np.ndarray):
    rows = _flat_rows(name, i, whole.shape)
    result = _as_rows(whole, i.shape[-1])
    combine_rows(kind, result, rows, updates.reshape(rows.size, result.shape[1]))
    return result.reshape(whole.shape)


def nd_updates(s, i, u, dims: Sequence[Any]):
    """Return `ScatterRule.at` for updates u [..., r] at i [..., depth] in an array of `dims`."""
    depth, lead = i.dims[-1], len(i.dims) - 1

    def at(index):
        places = [s.clamp(i(*index[:lead], k), size) for k, size in enumerate(dims[:depth])]
        return (*places, *index[lead:]), u(*index), None

    return at


@primitive
class scatter_nd:
    """z = zeros of `shape`, with z[i[k], r] += u[k, r]; the transpose of `gather_nd`."""

    operands = "i u"

    def infer(i, u, *, shape):
        if any(below(size, 0) for size in shape):
            raise invalid("TW205", f"scatter_nd: shape={shape} has a negative dimension")
        check_updates("scatter_nd", shape, i, u)
        return Aval(tuple(shape), u.dtype)

    def numpy(i, u, *, shape):
        return scatter_into("scatter_nd", "add", zeros(shape, u.dtype), i, u)

    def transpose_u(g, i, u, *, shape):
        return gather_nd(g, i, sparse=False)

    def requires(t, i, u, *, shape):
        require_places(t, i, shape)

    def expand(t, i, u, *, shape):
        return in_float32(t, "scatter_nd", (i, u), 1, {"shape": shape})

    def scatter(s: Any, i, u, *, shape):
        return s.scatter(u.dims, nd_updates(s, i, u, shape), op=sum_of(u), start=s.zero(u).data)

    call = "scatter"
    no_gradient = {"i": POSITIONS}

    def batch(size, batched, i, u, *, shape):
        i, u = batch_to_front(size, i, batched[0]), batch_to_front(size, u, batched[1])
        shape = (size, *shape)
        return scatter_nd(nd_places(shape, i), u, shape=shape)

    memory = "scatter"
    samples = (
        Sample(PLACES, [2], shape=(2, 3)),
        Sample(np.array([[1], [1], [0]]), [3, 2], shape=(4, 2)),
        Sample(np.zeros((0, 1), np.int32), [0], shape=(3,)),
    )
    rejects = (
        Reject(np.array([[4]]), [1], shape=(4,), code="TW206"),
        Reject(np.array([[0]]), [2], shape=(4,), code="TW204"),
        Reject(np.array(0), [1], shape=(4,), code="TW203"),
    )
