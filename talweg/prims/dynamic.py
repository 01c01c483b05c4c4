"""Slices, shapes and sequences whose bounds and sizes may be known only when a graph runs.

Bounds are those the user wrote: negative ones count from the end, and the kernel clips them, so a
bound may be a symbolic size of either sign.  The primitives of `prims/layout.py` take bounds that
are resolved already, and serve eager execution and known sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, primitive
from talweg.core.dims import Dim, below, differ, largest, same, same_dims, smallest
from talweg.core.dtypes import float32, int32, int64
from talweg.core.errors import NeedsStaticError, OpError, invalid
from talweg.core.hooks import hooks
from talweg.core.primitive import NoGradient, Reject, Sample, later
from talweg.core.roles import Trait
from talweg.prims.layout import broadcast_to, count_sliced, like, pad
from talweg.prims.rounding import mod

if TYPE_CHECKING:
    from talweg.core.dims import Size

COUNTS = NoGradient("positions are integers")


# -- slices


def _start(bound: Size | None, size: Size):
    """Return the start of a forward slice, not clipped at the end."""
    if bound is None:
        return 0
    return bound if bound >= 0 else largest(size + bound, 0)


def _stop(bound: Size | None, size: Size):
    """Return the stop of a forward slice, not clipped at the start."""
    if bound is None:
        return size
    return smallest(bound, size) if bound >= 0 else size + bound


def _forward_count(start: Size | None, stop: Size | None, step: int, size: Size):
    if stop is None and start is not None and start < 0:
        length = smallest(-start, size)
    else:
        length = _stop(stop, size) - _start(start, size)
    return largest(0, length if step == 1 else (length + step - 1) // step)


def _backward_count(start: int | None, stop: int | None, step: int, size: int):
    if start is None:
        first = size - 1
    else:
        first = smallest(start, size - 1) if start >= 0 else size + start
    if stop is None:
        last = -1
    else:
        last = stop if stop >= 0 else largest(size + stop, -1)
    return largest(0, (first - last - step - 1) // -step)


def slice_count(start: Size | None, stop: Size | None, step: int | None, size: Size):
    """Count the elements that [start : stop : step] takes of `size`; None if that is not known."""
    step = 1 if step is None else step
    try:
        if step > 0:
            return _forward_count(start, stop, step, size)
        return _backward_count(start, stop, step, size)
    except NeedsStaticError:
        return None


def slice_dims(dims: tuple, key: tuple):
    """Return the dimensions of x[key] for x of shape `dims`."""
    found = []
    for size, part in zip(dims, key):
        if type(part) is tuple:
            start, stop, step = part
            found.append(slice_count(start, stop, step, size))
    return (*found, *dims[len(key) :])


def as_index(key: tuple, dims: tuple):
    """Return the key as NumPy takes it; InvalidArgumentError for an index out of range."""
    index = []
    for axis, (size, part) in enumerate(zip(dims, key)):
        if type(part) is tuple:
            index.append(slice(*part))
            continue
        if not -size <= part < size:
            raise invalid(
                "TW206",
                f"getitem: slice index {part} of dimension {axis} out of bounds",
                f"an index from {-size} to {size - 1}" if size else "no index: it is empty",
            )
        index.append(part)
    return (*index, ...)


def resolve_key(key: tuple, dims: tuple):
    """Return the key as bounds of a `strided_slice` that keeps all axes."""
    begin, end, strides = [], [], []
    for place, size in enumerate(dims):
        part = key[place] if place < len(key) else (None, None, None)
        if type(part) is not tuple:
            part = part % size
            part = (part, part + 1, 1)
        for found, bound in zip((begin, end, strides), slice(*part).indices(size)):
            found.append(bound)
    return {"begin": tuple(begin), "end": tuple(end), "strides": tuple(strides)}


KEYS = (
    Sample([5], key=((1, -1, 2),)),
    Sample([5, 3], key=((-1, None, -2), 2)),
    Sample([3, 2], key=(-1,)),
    Sample([3], key=((7, None, None),)),
)


@primitive
class slice_by:
    """y = x[key]: for each axis (start, stop, step), None where left out, or a single index."""

    operands = "x"
    sizes = "slice_by"
    tf_type = "StridedSlice"
    tf_name = "strided_slice"

    def infer(x, *, key):
        for axis, (size, part) in enumerate(zip(x.dims, key)):
            if type(part) is tuple:
                if type(part[2]) is int and part[2] == 0:
                    raise invalid("TW207", f"getitem: strides[{axis}] must be non-zero")
                continue
            outside = below(size - 1, part) or (below(part, 0) and below(size + part, 0))
            if outside:
                raise invalid(
                    "TW206", f"getitem: slice index {part} of dimension {axis} out of bounds"
                )
        return Aval(slice_dims(x.dims, key), x.dtype)

    def numpy(x: np.ndarray, *, key):
        return x[as_index(key, x.shape)]

    def transpose_x(g, x, *, key):
        return unslice_by(g, key=key, shape=x.dims)

    def batch(size, batched, x, *, key):
        return slice_by(x, key=((None, None, None), *key))

    def expand(t, x, *, key):
        y = t.strided_slice(x, **resolve_key(key, x.dims))
        return t.reshape(y, shape=slice_dims(x.dims, key))

    memory = "view"
    samples = KEYS
    rejects = (
        Reject([3], key=(3,), code="TW206"),
        Reject([3], key=(-4,), code="TW206"),
        Reject([3], key=((None, None, 0),), code="TW207"),
    )


@primitive
class unslice_by:
    """y = zeros of `shape` with g at [key]; the transpose of `slice_by`."""

    operands = "g"
    tf_type = "StridedSliceGrad"

    def infer(g, *, key, shape):
        return Aval(tuple(shape), g.dtype)

    def numpy(g: np.ndarray, *, key, shape):
        result = np.zeros(shape, g.dtype)
        result[as_index(key, shape)] = g
        return result

    def transpose_g(h, g, *, key, shape):
        return slice_by(h, key=key)

    def batch(size, batched, g, *, key, shape):
        return unslice_by(g, key=((None, None, None), *key), shape=(size, *shape))

    def expand(t, g, *, key, shape):
        bounds = resolve_key(key, shape)
        sizes = [count_sliced(*bound) for bound in zip(*bounds.values())]
        return t.unslice(t.reshape(g, shape=tuple(sizes)), **bounds, shape=shape)

    memory = "view"
    samples = (
        Sample([2], key=((1, -1, 2),), shape=(5,)),
        Sample([3], key=((-1, None, -2), 2), shape=(5, 3)),
        Sample([2], key=(-1,), shape=(3, 2)),
    )


@primitive
class block:
    """y = the block of x that starts at `begin` and has this shape; -1 reaches to the end."""

    operands = "x"
    tf_type = "Slice"

    def infer(x, *, begin, shape):
        dims = []
        for start, count, have in zip(begin, shape, x.dims):
            if same(count, -1):
                dims.append(have - start)
            else:
                dims.append(count if below(-1, count) else None)
        return Aval(tuple(dims), x.dtype)

    def numpy(x: np.ndarray, *, begin, shape):
        index = []
        for axis, (start, count, have) in enumerate(zip(begin, shape, x.shape)):
            if not 0 <= start <= have:
                raise invalid(
                    "TW206", f"slice: expected begin[{axis}] in [0, {have}], but got {start}"
                )
            if not -1 <= count <= have - start:
                raise invalid(
                    "TW206", f"slice: expected size[{axis}] in [0, {have - start}], but got {count}"
                )
            index.append(slice(start, have if count == -1 else start + count))
        return x[(*index, ...)]

    def transpose_x(g, x, *, begin, shape):
        high = tuple(n - a - m for n, a, m in zip(x.dims, begin, g.dims))
        return pad(g, zero_of(g), low=tuple(begin), high=high)

    def batch(size, batched, x, *, begin, shape):
        return block(x, begin=(0, *begin), shape=(-1, *shape))

    def expand(t, x, *, begin, shape):
        end = [n if count == -1 else b + count for b, count, n in zip(begin, shape, x.dims)]
        inside = [0 <= b <= e <= n for b, e, n in zip(begin, end, x.dims)]
        if not all(inside):
            return NotImplemented
        return t.strided_slice(x, begin=tuple(begin), end=tuple(end), strides=(1,) * len(end))

    memory = "view"
    samples = (Sample([5], begin=(1,), shape=(2,)), Sample([3, 2], begin=(1, 0), shape=(-1, 1)))
    rejects = (
        Reject([3], begin=(4,), shape=(0,), code="TW206"),
        Reject([3], begin=(1,), shape=(3,), code="TW206"),
    )


def zero_of(x):
    """Return a scalar zero of the dtype of x."""
    return hooks.convert_to_tensor(x.dtype.numpy_dtype.type(0))


# -- shapes


def _check_vector(name: str, shape: Aval):
    if shape.dtype not in (int32, int64) or (shape.dims is not None and len(shape.dims) != 1):
        raise invalid("TW203", f"{name}: shape has shape {shape.dims}", "an integer vector")


def _constant_array(x: np.ndarray):
    """Return the array of a constant, for `expand` rules."""
    return np.broadcast_to(x.content, x.dims)


def is_static(dims: tuple | None):
    """Return whether all dimensions are known numbers."""
    return dims is not None and all(type(size) is int for size in dims)


@primitive
class reshape_to:
    """y = the elements of x in the shape that an integer vector gives; -1 for what is left.

    `dims`: what is known of the result, None for unknown sizes, or if the rank is unknown.
    """

    operands = "x shape"
    tf_type = "Reshape"

    def infer(x, shape, *, dims):
        _check_vector("reshape", shape)
        return Aval(dims, x.dtype)

    def numpy(x, shape, *, dims):
        wanted = tuple(shape.tolist())
        rest = np.prod([n for n in wanted if n != -1], dtype=np.int64)
        left = [n for n in wanted if n < 0]
        fits = x.size == rest if not left else left == [-1] and (rest and x.size % rest == 0)
        if not fits and not (left == [-1] and not x.size):
            raise invalid(
                "TW205", f"reshape: input of shape {x.shape} cannot be given the shape {wanted}"
            )
        if left and not rest:  # what the dimensions other than 0 leave
            have = np.prod([n for n in x.shape if n], dtype=np.int64)
            last = have // np.prod([n for n in wanted if n > 0], dtype=np.int64)
            wanted = tuple(int(last) if n == -1 else n for n in wanted)
        return x.reshape(wanted)

    def transpose_x(g, x, shape, *, dims):
        return like(g, x)

    def expand(t, x, shape, *, dims):
        if shape.content is not None:
            blank = np.broadcast_to(np.zeros((), bool), x.dims)
            try:
                known = reshape_to.numpy(blank, _constant_array(shape), dims=dims).shape
            except OpError:
                return NotImplemented
        elif is_static(dims):
            wanted = np.array(dims, shape.dtype.numpy_dtype)
            t.require(t.logical_or(t.equal(shape, t.array(wanted)), t.equal(shape, -1)))
            known = dims
        else:
            return NotImplemented
        return t.reshape(x, shape=known)

    no_gradient = {"shape": COUNTS}
    batch = LOOP
    memory = "view"
    samples = (
        Sample([6], np.array([2, -1], np.int32), dims=(2, None)),
        Sample([2, 3], np.array([3, 2], np.int64), dims=None),
    )
    rejects = (
        Reject([6], np.array([4, -1], np.int32), dims=None, code="TW205"),
        Reject([6], np.array([-1, -1], np.int32), dims=None, code="TW205"),
        Reject([6], np.array([[6]], np.int32), dims=None, code="TW203"),
    )


@primitive
class broadcast_by:
    """y = x broadcast to the shape that an integer vector gives.

    `dims`: what is known of the result, None for unknown sizes, or if the rank is unknown.
    """

    operands = "x shape"
    tf_type = "BroadcastTo"

    def infer(x, shape, *, dims):
        _check_vector("broadcast_to", shape)
        return Aval(dims, x.dtype)

    def numpy(x: np.ndarray, shape, *, dims):
        wanted = tuple(shape.tolist())
        broadcast_to.infer(Aval(np.shape(x), float32), shape=wanted)
        return broadcast_to.numpy(np.asarray(x), shape=wanted)

    def transpose_x(g, x, shape, *, dims):
        return later("sum_like")(g, x)

    def expand(t, x, shape, *, dims):
        if shape.content is None:
            return NotImplemented
        known = tuple(_constant_array(shape).tolist())
        try:
            broadcast_to.infer(Aval(x.dims, x.dtype), shape=known)
        except OpError:
            return NotImplemented
        return t.broadcast_to(x, shape=known)

    no_gradient = {"shape": COUNTS}
    batch = LOOP
    memory = "view"
    samples = (
        Sample([3], np.array([2, 3], np.int32), dims=(2, None)),
        Sample([], np.array([3, 2], np.int64), dims=None),
    )
    rejects = (
        Reject([6], np.array([4], np.int32), dims=None, code="TW201"),
        Reject([6], np.array([[6]], np.int32), dims=None, code="TW203"),
    )


@primitive
class transpose_by:
    """y = x with axis `perm[i]` at place i; negative axes count from the end."""

    operands = "x perm"
    tf_type = "Transpose"
    tf_name = "transpose"

    def infer(x, perm):
        _check_vector("transpose", perm)
        if differ(perm.dims[0], len(x.dims)):
            raise invalid("TW202", f"transpose: perm has shape {perm.dims}", f"[{len(x.dims)}]")
        alike = same_dims(x.dims[1:], x.dims[:-1])  # in any order
        return Aval(x.dims if alike else (None,) * len(x.dims), x.dtype)

    def numpy(x, perm):
        order = [axis + x.ndim if axis < 0 else axis for axis in perm.tolist()]
        if sorted(order) != list(range(x.ndim)):
            raise invalid("TW202", f"transpose: perm={perm.tolist()} is not a permutation")
        return x.transpose(order)

    def transpose_x(g, x, perm):
        return transpose_by(g, later("argsort")(mod(perm, len(x.dims)), descending=False))

    def expand(t, x, perm):
        if perm.content is None:
            return NotImplemented
        rank = len(x.dims)
        order = [axis + rank if axis < 0 else axis for axis in _constant_array(perm).tolist()]
        if sorted(order) != list(range(rank)):
            return NotImplemented
        return t.transpose(x, perm=tuple(order))

    no_gradient = {"perm": COUNTS}
    batch = LOOP
    memory = "view"
    samples = (
        Sample([2, 3, 4], np.array([2, 0, 1], np.int32)),
        Sample([2, 3], np.array([-1, 0])),
    )
    rejects = (
        Reject([2, 3], np.array([0, 0]), code="TW202"),
        Reject([2], np.array([0, 1]), code="TW202"),
    )


@primitive
class reverse_by:
    """y = x with the order along the axes in a vector reversed."""

    operands = "x axes"
    tf_type = "ReverseV2"

    def infer(x, axes):
        _check_vector("reverse", axes)
        return x

    def numpy(x: np.ndarray, axes):
        given = axes.tolist()
        found = {axis % x.ndim for axis in given if -x.ndim <= axis < x.ndim}
        if len(found) < len(given):
            text = f"reverse: axis={given} for rank {x.ndim}"
            raise invalid("TW202", text, "axes of the tensor, none twice")
        return np.flip(x, tuple(found))

    def transpose_x(g, x, axes):
        return reverse_by(g, axes)

    def expand(t, x, axes):
        rank = len(x.dims)
        given = [] if axes.content is None else _constant_array(axes).tolist()
        found = {axis % rank for axis in given if -rank <= axis < rank}
        if axes.content is None or len(found) < len(given):
            return NotImplemented
        return t.reverse(x, axes=tuple(sorted(found)))

    no_gradient = {"axes": COUNTS}
    batch = LOOP
    memory = "view"
    samples = (Sample([2, 3], np.array([-1])), Sample([2, 3], np.array([0, 1], np.int32)))
    rejects = (Reject([2], np.array([0, 0]), code="TW202"),)


@primitive
class squeeze_all:
    """y = x without its axes of size 1."""

    operands = "x"
    tf_type = "Squeeze"

    def infer(x):
        if x.dims is None or any(type(n) is Dim and not below(1, n) for n in x.dims):
            return Aval(None, x.dtype)
        return Aval(tuple([n for n in x.dims if not same(n, 1)]), x.dtype)

    def numpy(x: np.ndarray):
        return np.squeeze(x)

    def transpose_x(g, x):
        return like(g, x)

    def expand(t, x):
        return t.reshape(x, shape=tuple([n for n in x.dims if n != 1]))

    batch = LOOP
    memory = "view"
    traits = {Trait.SAME_MEMORY}
    samples = (Sample([1, 3, 1]), Sample([2, 3]), Sample([1]))
