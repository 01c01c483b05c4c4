"""Many tensors from one and one from many: stack, unstack, split; roll and bitcast."""

from __future__ import annotations

import operator

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LEADING, primitive
from talweg.core.dims import below, differ, dims_differ
from talweg.core.dtypes import float32, float64, int32, uint8
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.core.roles import Trait
from talweg.core.shapes import merge_equal_shapes, normalize_axis
from talweg.prims.layout import batch_to_front, concat, reshape

TOGETHER = 8  # small tensors that a loop chooses from; of more, groups are joined first
SMALL = 16  # numbers of one: larger ones are copied by the host, each in one stretch


@primitive
class stack:
    """z = the operands along a new axis `axis`."""

    operands = "*values"
    sizes = "stack"
    tf_type = "Pack"
    tf_name = "stack"
    tf_attributes = "stack"

    def infer(*values, axis):
        first = values[0]
        if any(value.dims is None for value in values):
            return Aval(None, first.dtype)
        axis = normalize_axis("stack", axis, first.ndim + 1)
        for position, other in enumerate(values):
            if dims_differ(other.dims, first.dims):
                raise invalid(
                    "TW204",
                    f"stack: shapes of all inputs must match: values[0].shape = {first.dims} != "
                    f"values[{position}].shape = {other.dims}",
                )
            if other.dtype is not first.dtype:
                raise invalid(
                    "TW102",
                    f"stack: values[{position}] has dtype {other.dtype.name} and values[0] has "
                    f"dtype {first.dtype.name}",
                    "operands of one dtype",
                )
        dims = merge_equal_shapes(*[value.dims for value in values])
        return Aval((*dims[:axis], len(values), *dims[axis:]), first.dtype)

    def numpy(*values: np.ndarray, axis):
        dims, kind = np.shape(values[0]), values[0].dtype
        axis %= len(dims) + 1
        result = np.empty((*dims[:axis], len(values), *dims[axis:]), kind)
        lead = (slice(None),) * axis
        for place, value in enumerate(values):  # numpy.stack is written in Python, too
            result[(*lead, place)] = value
        return result

    def transpose(g, *values, axis):
        dims = g.dims
        if type(dims[axis]) is not int:
            g = reshape(g, shape=(*dims[:axis], len(values), *dims[axis + 1 :]))
        return list(unstack(g, axis=axis + len(g.dims) if axis < 0 else axis))

    def batch(size, batched, *values, axis):
        fronted = [batch_to_front(size, x, b) for x, b in zip(values, batched)]
        return stack(*fronted, axis=axis + 1)

    def loops(s, index, *values, axis):
        axis %= len(index)
        own, found = (*index[:axis], *index[axis + 1 :]), None
        for number, x in reversed(list(enumerate(values))):
            chosen = s.is_(index[axis], number)
            found = x.only(chosen, *own) if found is None else x.where(chosen, found, *own)
        return found

    def expand(t, *values, axis):
        if len(values) <= TOGETHER or values[0].size > SMALL:
            return NotImplemented
        groups = [values[i : i + TOGETHER] for i in range(0, len(values), TOGETHER)]
        parts = [t.stack(*group, axis=axis) for group in groups]
        while len(parts) > TOGETHER:
            groups = [parts[i : i + TOGETHER] for i in range(0, len(parts), TOGETHER)]
            parts = [t.concat(*group, axis=axis) for group in groups]
        return t.concat(*parts, axis=axis)

    memory = "map"

    def xla(j, *values, axis):
        return j.numpy.stack(values, axis)

    samples = (Sample([2], [2], [2], axis=1), Sample([], [], axis=0), Sample([0, 2], axis=1))
    rejects = (
        Reject([2], [3], axis=0, code="TW204"),
        Reject([2], np.ones(2, np.int32), axis=0, code="TW102"),
        Reject([2], [2], axis=2, code="TW202"),
        Reject([2], axis=-3, code="TW202"),
    )


def _parts(t, x, sizes: tuple, axis: int):
    """Return slices of x along an axis, one after the other, for `expand` rules."""
    found, start, rest = [], 0, x.dims[axis + 1 :]
    for size in sizes:
        begin = (*(0,) * axis, start, *(0,) * len(rest))
        end = (*x.dims[:axis], start + size, *rest)
        part = t.strided_slice(x, begin=begin, end=end, strides=(1,) * len(x.dims))
        found.append(part)
        start += size
    return tuple(found)


@primitive
class unstack:
    """The slices of x along `axis`, each without that axis."""

    operands = "x"
    tf_type = "Unpack"
    tf_name = "unstack"
    tf_attributes = "unstack"
    multiple = True

    def infer(x, *, axis):
        dims = x.dims[:axis] + x.dims[axis + 1 :]
        return [Aval(dims, x.dtype)] * operator.index(x.dims[axis])

    def numpy(x: np.ndarray, *, axis):
        if x.ndim == 1:
            return tuple(x[i, ...] for i in range(len(x)))
        others = [other for other in range(x.ndim) if other != axis]
        return tuple(x.transpose(axis, *others))

    def transpose_x(g: tuple, x, *, axis):
        return stack(*g, axis=axis)

    def batch(size, batched, x, *, axis):
        return unstack(x, axis=axis + 1)

    def expand(t, x, *, axis):
        dims = (*x.dims[:axis], *x.dims[axis + 1 :])
        parts = _parts(t, x, (1,) * x.dims[axis], axis)
        return tuple([t.reshape(part, shape=dims) for part in parts])

    memory = "view"
    traits = {Trait.GIVES_PARTS}
    samples = (Sample([2, 3], axis=1), Sample([3], axis=0), Sample([2, 0], axis=0))


@primitive
class split:
    """x cut along `axis` into pieces of the given sizes, which fill the axis."""

    operands = "x"
    tf_name = "split"
    tf_attributes = "split"
    multiple = True

    def tf_type(x, *, sizes, axis):
        return "Split" if len({*sizes}) == 1 else "SplitV"

    def infer(x, *, sizes, axis):
        dims = x.dims
        if any(below(size, 0) for size in sizes) or differ(sum(sizes), dims[axis]):
            raise invalid(
                "TW204",
                f"split: sizes {tuple(sizes)} do not fill dimension {axis} of shape {dims}",
                f"sizes of at least 0 with the sum {dims[axis]}",
            )
        return [Aval((*dims[:axis], size, *dims[axis + 1 :]), x.dtype) for size in sizes]

    def numpy(x: np.ndarray, *, sizes, axis):
        lead, pieces, start = (slice(None),) * axis, [], 0
        for size in sizes:
            pieces.append(x[(*lead, slice(start, start + size))])
            start += size
        return tuple(pieces)

    def transpose_x(g: tuple, x, *, sizes, axis):
        return concat(*g, axis=axis)

    def batch(size, batched, x, *, sizes, axis):
        return split(x, sizes=sizes, axis=axis + 1)

    def expand(t, x, *, sizes, axis):
        return _parts(t, x, sizes, axis)

    memory = "view"
    traits = {Trait.MATRICES_IN_PLACE, Trait.GIVES_PARTS}
    samples = (Sample([5], sizes=(2, 0, 3), axis=0), Sample([2, 4], sizes=(1, 3), axis=1))
    rejects = (Reject([4], sizes=(1, 2), axis=0, code="TW204"),)


@primitive
class roll:
    """z[(j + shift) mod n] = x[j] along each of `axes`, which may be named more than once."""

    operands = "x"

    def infer(x, *, shifts, axes):
        return x

    def numpy(x: np.ndarray, *, shifts, axes):
        for shift, axis in zip(shifts, axes):  # two copies: np.roll is a page of Python
            size = x.shape[axis]
            if size and shift % size:
                lead, cut = (slice(None),) * axis, -shift % size
                x = np.concatenate((x[(*lead, slice(cut, None))], x[(*lead, slice(cut))]), axis)
        return x

    def transpose_x(g, x, *, shifts, axes):
        return roll(g, shifts=tuple(-shift for shift in shifts), axes=axes)

    def batch(size, batched, x, *, shifts, axes):
        return roll(x, shifts=shifts, axes=tuple(axis + 1 for axis in axes))

    def expand(t, x, *, shifts, axes):
        for shift, axis in zip(shifts, axes):
            size = x.dims[axis]
            if size and shift % size:
                first, second = _parts(t, x, (-shift % size, shift % size), axis)
                x = t.concat(second, first, axis=axis)
        return x

    memory = "view"
    samples = (
        Sample([3], shifts=(1,), axes=(0,)),
        Sample([2, 3], shifts=(-1, 2), axes=(0, 1)),
        Sample([0], shifts=(1,), axes=(0,)),
    )


@primitive
class bitcast:
    """z = the bytes of x read as another dtype; narrower elements get a last axis of their own."""

    operands = "x"

    def infer(x, *, dtype):
        have, want = x.dtype.size, dtype.size
        if have == want:
            return Aval(x.dims, dtype)
        if have > want:
            return Aval((*x.dims, have // want), dtype)
        if not x.dims or differ(x.dims[-1] * have, want):
            raise invalid(
                "TW204",
                f"bitcast: cannot bitcast from {x.dtype.name} of shape {x.dims} to {dtype.name}",
                f"a last dimension of {want // have}",
            )
        return Aval(x.dims[:-1], dtype)

    def numpy(x: np.ndarray, *, dtype):
        target = dtype.numpy_dtype
        flat = np.ascontiguousarray(x)
        dims = np.shape(x)
        if flat.itemsize > target.itemsize:
            return flat.reshape(*dims, 1).view(target)
        if flat.itemsize < target.itemsize:
            return flat.view(target).reshape(dims[:-1])
        return flat.view(target).reshape(dims)

    no_gradient = NoGradient("it reads the bytes of numbers", "tf.cast")
    batch = LEADING

    def scalar(s, x, *, dtype):
        if x.dtype.size != dtype.size or x.dtype.is_bool or dtype.is_bool:
            return NotImplemented
        return s.bits(x, dtype)

    memory = "view"

    def xla(j, x, *, dtype):
        if x.dtype == bool or dtype.is_bool:
            return NotImplemented
        return j.lax.bitcast_convert_type(x, dtype.numpy_dtype)

    samples = (
        Sample([2], dtype_=int32),
        Sample([3], dtype_=uint8),
        Sample(np.zeros((2, 4), np.uint8), dtype_=float32),
    )
    rejects = (Reject([3], dtype_=float64, code="TW204"),)
