"""Layout primitives: shape, order of axes, slices, padding, joining. All are linear."""

from __future__ import annotations

import math

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import primitive
from talweg.core.dims import Size, below, differ, largest, same
from talweg.core.dtypes import float32, int32
from talweg.core.errors import NeedsStaticError, invalid, invalid_value
from talweg.core.primitive import Reject, Sample, later
from talweg.core.roles import Trait
from talweg.core.shapes import merge_equal_shapes, normalize_axis
from talweg.kernels.broadcasting import spread


def batch_to_front(size: object, x, batched: object):
    """Return `x` with a batch axis in front: its own, or `size` copies of it."""
    return x if batched else broadcast_to(x, shape=(size, *x.dims))


SMALL = 4096  # elements below which a copy costs less than making a view
SHORT = 16  # elements of a row that do not fill a vector


@primitive
class broadcast_to:
    """y = x repeated along new leading axes and along axes of size 1 to the given shape."""

    operands = "x"
    sizes = "broadcast"

    def infer(x, *, shape):
        lead = len(shape) - x.ndim
        if lead < 0 or any(differ(a, b) and differ(a, 1) for a, b in zip(x.dims, shape[lead:])):
            raise invalid(
                "TW201",
                f"broadcast_to: incompatible shapes: {x.dims} cannot be broadcast to {shape}",
                "each dimension of the input equal to the shape's, counted from the end, or 1",
            )
        if any(below(size, 0) for size in shape):
            raise invalid("TW205", f"broadcast_to: shape={shape} has a negative dimension")
        return Aval(tuple(shape), x.dtype)

    def numpy(x: np.ndarray, *, shape):
        if math.prod(shape) > SMALL:
            return spread(x, shape)
        result = np.empty(shape, x.dtype)
        result[...] = x
        return result

    def transpose_x(g, x, *, shape):
        lead = len(shape) - len(x.dims)
        pairs = list(zip(x.dims, shape[lead:]))
        if not all(type(a) is int or same(a, b) for a, b in pairs):
            return later("sum_like")(g, x)
        axes = tuple(range(lead)) + tuple(
            i + lead for i, (a, b) in enumerate(pairs) if same(a, 1) and not same(b, 1)
        )
        return reshape(later("reduce_sum")(g, axes=axes, keepdims=False), shape=x.dims)

    def batch(size, batched, x, *, shape):
        ones = (1,) * (len(shape) - len(x.dims) + 1)
        return broadcast_to(reshape(x, shape=(size, *ones, *x.dims[1:])), shape=(size, *shape))

    def loops(s, index, x, *, shape):
        lead = len(shape) - len(x.dims)
        return x(*[0 if n == 1 else i for i, n in zip(index[lead:], x.dims)])

    memory = "view"
    traits = {Trait.REINDEXES, Trait.KEEPS_UNIFORMITY, Trait.CHEAP_TO_REPEAT, Trait.MOVES_ROWS}
    xla = "numpy.broadcast_to"
    samples = (
        Sample([3], shape=(2, 3)),
        Sample([2, 1], shape=(2, 4)),
        Sample([], shape=(2, 2)),
        Sample([1], shape=(0,)),
    )
    rejects = (Reject([3], shape=(2, 4), code="TW201"), Reject([2, 3], shape=(3,), code="TW201"))


@primitive
class reshape:
    """y = the elements of x, in row-major order, in another shape of equal size."""

    operands = "x"
    sizes = "reshape"
    tf_attributes = "reshape"

    def infer(x, *, shape):
        if x.dims is not None and differ(math.prod(x.dims), math.prod(shape)):
            raise invalid(
                "TW205",
                f"reshape: input of shape {x.dims} has {math.prod(x.dims)} values, but the "
                f"requested shape {tuple(shape)} has {math.prod(shape)}",
                "a shape with as many elements",
            )
        return Aval(tuple(shape), x.dtype)

    def numpy(x: np.ndarray, *, shape):
        if x.ndim and not x.strides[-1] and shape and 1 < x.shape[-1] != shape[-1]:
            if x.size > SMALL and not any(x.strides):  # one number everywhere
                return spread(x[(0,) * x.ndim], shape)
            x = np.repeat(x[..., 0], x.shape[-1])  # NumPy copies such views element by element
        return x.reshape(shape)

    def transpose_x(g, x, *, shape):
        return like(g, x)

    def batch(size, batched, x, *, shape):
        return reshape(x, shape=(size, *shape))

    def loops(s, index, x, *, shape):
        return x.at_place(s.place(index, shape))

    memory = "view"
    traits = {
        Trait.SAME_MEMORY,
        Trait.REINDEXES,
        Trait.KEEPS_LIMITS,
        Trait.KEEPS_UNIFORMITY,
        Trait.CHEAP_TO_REPEAT,
        Trait.MOVES_ROWS,
        Trait.TAKES_ELEMENTS,
    }
    xla = "numpy.reshape"
    samples = (
        Sample([6], shape=(2, 3)),
        Sample([2, 3], shape=(3, 1, 2)),
        Sample([0, 3], shape=(0,)),
    )
    rejects = (Reject([6], shape=(4,), code="TW205"),)


def like(g, x):
    """Return `g` in the shape of x, of which a graph may not even know the rank."""
    try:
        return reshape(g, shape=x.dims)
    except NeedsStaticError:
        sizes = later("shape_of")(x, dtype=int32)
        return later("reshape_to")(g, sizes, dims=None)


@primitive
class transpose:
    """y = x with axis `perm[i]` at place i."""

    operands = "x"
    sizes = "transpose"
    tf_name = "transpose"
    tf_attributes = "transpose"

    def infer(x, *, perm):
        if sorted(perm) != list(range(x.ndim)):
            raise (invalid_value if len(perm) == x.ndim else invalid)(
                "TW202",
                f"transpose: perm={tuple(perm)} is not a permutation of the axes of a tensor of "
                f"shape {x.dims}",
                f"each of 0..{x.ndim - 1} once" if x.ndim else "an empty perm",
            )
        return Aval(tuple(x.dims[axis] for axis in perm), x.dtype)

    def numpy(x, *, perm):
        return x.transpose(perm)

    def transpose_x(g, x, *, perm):
        return transpose(g, perm=inverse_permutation(perm))

    def batch(size, batched, x, *, perm):
        return transpose(x, perm=(0, *(axis + 1 for axis in perm)))

    def loops(s, index, x, *, perm):
        return x(*[index[place] for place in inverse_permutation(perm)])

    memory = "view"
    traits = {
        Trait.MATRICES_IN_PLACE,
        Trait.REINDEXES,
        Trait.KEEPS_UNIFORMITY,
        Trait.CHEAP_TO_REPEAT,
        Trait.MOVES_ROWS,
    }

    def xla(j, x, *, perm):
        return j.lax.transpose(x, perm)

    samples = (Sample([2, 3], perm=(1, 0)), Sample([2, 3, 4], perm=(2, 0, 1)), Sample([], perm=()))
    rejects = (Reject([2, 3], perm=(0, 0), code="TW202"), Reject([2], perm=(0, 1), code="TW202"))


def inverse_permutation(perm: tuple) -> tuple:
    """Return the permutation that undoes `perm`."""
    inverse = [0] * len(perm)
    for place, axis in enumerate(perm):
        inverse[axis] = place
    return tuple(inverse)


@primitive
class reverse:
    """y = x with the order along `axes` reversed."""

    operands = "x"
    sizes = "reverse"
    tf_type = "ReverseV2"

    def infer(x, *, axes):
        return x

    def numpy(x: np.ndarray, *, axes):
        return np.flip(x, axes)

    def transpose_x(g, x, *, axes):
        return reverse(g, axes=axes)

    def batch(size, batched, x, *, axes):
        return reverse(x, axes=tuple(axis + 1 for axis in axes))

    def loops(s, index, x, *, axes):
        places = enumerate(zip(index, x.dims))
        return x(*[n - 1 - i if axis in axes else i for axis, (i, n) in places])

    memory = "view"
    traits = {Trait.MOVES_ROWS}

    def xla(j, x, *, axes):
        return j.lax.rev(x, axes)

    samples = (Sample([2, 3], axes=(0,)), Sample([2, 3], axes=(0, 1)), Sample([2], axes=()))


def count_sliced(begin: Size, end: Size, step: int) -> Size:
    """Count the elements begin, begin + step, ... before `end` (after it for negative steps)."""
    return largest(0, -((begin - end) // step))


@primitive
class strided_slice:
    """y = x[begin : end : strides] along every axis.

    Bounds are already resolved: non-negative, clipped, except that `end` is -1 for a slice that
    runs backwards to the very first element.
    """

    operands = "x"
    sizes = "strided_slice"
    tf_name = "strided_slice"

    def infer(x, *, begin, end, strides):
        sizes = (count_sliced(b, e, s) for b, e, s in zip(begin, end, strides))
        return Aval(tuple(sizes), x.dtype)

    def numpy(x: np.ndarray, *, begin, end, strides):
        return x[as_slices(begin, end, strides)]

    def transpose_x(g, x, *, begin, end, strides):
        return unslice(g, begin=begin, end=end, strides=strides, shape=x.dims)

    def batch(size, batched, x, *, begin, end, strides):
        return strided_slice(x, begin=(0, *begin), end=(size, *end), strides=(1, *strides))

    def loops(s, index, x, *, begin, end, strides):
        return x(*[b + i * step for i, b, step in zip(index, begin, strides)])

    memory = "view"
    traits = {Trait.MATRICES_IN_PLACE, Trait.REINDEXES, Trait.MOVES_ROWS, Trait.TAKES_ELEMENTS}
    xla = "strided_slice"
    samples = (
        Sample([5], begin=(1,), end=(4,), strides=(2,)),
        Sample([5, 3], begin=(4, 0), end=(-1, 2), strides=(-2, 1)),
        Sample([3], begin=(2,), end=(2,), strides=(1,)),
    )


def as_slices(begin: tuple, end: tuple, strides: tuple) -> tuple:
    """Return Python slices for resolved bounds."""
    return tuple(slice(b, None if e < 0 else e, s) for b, e, s in zip(begin, end, strides))


@primitive
class unslice:
    """y = zeros of `shape` with g at [begin : end : strides]; the transpose of `strided_slice`."""

    operands = "g"
    tf_type = "StridedSliceGrad"

    def infer(g, *, begin, end, strides, shape):
        return Aval(tuple(shape), g.dtype)

    def numpy(g: np.ndarray, *, begin, end, strides, shape):
        result = np.zeros(shape, g.dtype)
        result[as_slices(begin, end, strides)] = g
        return result

    def transpose_g(h, g, *, begin, end, strides, shape):
        return strided_slice(h, begin=begin, end=end, strides=strides)

    def batch(size, batched, g, *, begin, end, strides, shape):
        bounds = {"begin": (0, *begin), "end": (size, *end), "strides": (1, *strides)}
        return unslice(g, **bounds, shape=(size, *shape))

    def loops(s, index, g, *, begin, end, strides, shape):
        places, tests = [], []
        for i, b, step, n in zip(index, begin, strides, g.dims):
            distance = i - b if step > 0 else b - i
            places.append(distance // abs(step))
            tests += [s.is_(distance % abs(step), 0), s.within(places[-1], 0, n)]
        return g.where(s.all(*tests), s.zero(g), *places)

    memory = "view"
    xla = "unslice"
    samples = (
        Sample([2], begin=(1,), end=(4,), strides=(2,), shape=(5,)),
        Sample([3, 2], begin=(4, 0), end=(-1, 2), strides=(-2, 1), shape=(5, 3)),
    )


@primitive
class pad:
    """y = x with `low[i]` copies of v before and `high[i]` after it along axis i."""

    operands = "x v"
    tf_type = "PadV2"
    linear = "x v"

    def infer(x, v, *, low, high):
        if any(below(n, 0) for n in (*low, *high)):
            raise invalid("TW207", f"pad: paddings {low} and {high}", "numbers of at least 0")
        return Aval(tuple(a + n + b for a, n, b in zip(low, x.dims, high)), x.dtype)

    def numpy(x, v, *, low, high):
        shape = tuple(a + n + b for a, n, b in zip(low, x.shape, high))
        result = np.full(shape, v, x.dtype)
        result[tuple(slice(a, a + n) for a, n in zip(low, x.shape))] = x
        return result

    def transpose_x(g, x, v, *, low, high):
        end = tuple(a + n for a, n in zip(low, x.dims))
        return strided_slice(g, begin=tuple(low), end=end, strides=(1,) * len(low))

    def transpose_v(g, x, v, *, low, high):
        inside = pad.transposes["x"](g, x, v, low=low, high=high)
        total = later("reduce_sum")
        every, some = tuple(range(len(low))), tuple(range(len(inside.dims)))
        return total(g, axes=every, keepdims=False) - total(inside, axes=some, keepdims=False)

    def batch(size, batched, x, v, *, low, high):
        if batched[1]:
            return NotImplemented  # each slice has its own v
        return pad(x, v, low=(0, *low), high=(0, *high))

    def expand(t, x, v, *, low, high):
        """Return rows of few channels padded as rows of numbers, which fill vectors."""
        if len(low) < 2 or low[-1] or high[-1] or x.dims[-1] >= SHORT:
            return NotImplemented
        width, dims = x.dims[-1], tuple([a + n + b for a, n, b in zip(low, x.dims, high)])
        flat = t.reshape(x, shape=(*x.dims[:-2], x.dims[-2] * width))
        ends = [(*sizes[:-2], sizes[-2] * width) for sizes in (low, high)]
        return t.reshape(t.pad(flat, v, low=ends[0], high=ends[1]), shape=dims)

    def loops(s, index, x, v, *, low, high):
        inside = [i - a for i, a in zip(index, low)]
        fits = s.all(*[s.within(i, 0, n) for i, n in zip(inside, x.dims)])
        return x.where(fits, v(), *inside)

    memory = "map"
    traits = {Trait.MOVES_ROWS}

    def xla(j, x, v, *, low, high):
        return j.lax.pad(x, v.reshape(()), [(a, b, 0) for a, b in zip(low, high)])

    samples = (
        Sample([2, 3], [], low=(1, 0), high=(2, 1)),
        Sample([0], [], low=(1,), high=(1,)),
        Sample([], [], low=(), high=()),
    )


@primitive
class concat:
    """z = the operands one after the other along `axis`."""

    operands = "*values"
    sizes = "concat"
    tf_type = "ConcatV2"
    tf_name = "concat"
    tf_attributes = "concat"

    def infer(*values, axis):
        first = values[0]
        if any(value.dims is None for value in values):
            return Aval(None, first.dtype)
        axis = normalize_axis("concat", axis, first.ndim)
        for position, other in enumerate(values):
            fits = other.ndim == first.ndim and not any(
                differ(a, b) for i, (a, b) in enumerate(zip(first.dims, other.dims)) if i != axis
            )
            if not fits:
                raise invalid(
                    "TW204",
                    f"concat: values[{position}] has shape {other.dims} and values[0] has shape "
                    f"{first.dims}",
                    f"equal ranks, and equal dimensions except along axis {axis}",
                )
            if other.dtype is not first.dtype:
                raise invalid(
                    "TW102",
                    f"concat: values[{position}] has dtype {other.dtype.name} and values[0] has "
                    f"dtype {first.dtype.name}",
                    "operands of one dtype",
                )
        total = sum(value.dims[axis] for value in values)
        dims = merge_equal_shapes(*[value.dims for value in values])
        return Aval((*dims[:axis], total, *dims[axis + 1 :]), first.dtype)

    def numpy(*values: np.ndarray, axis):
        return np.concatenate(values, axis)

    def transpose(g, *values, axis):
        parts, start, dims = [], 0, g.dims
        axis = axis + len(dims) if axis < 0 else axis
        for value in values:
            stop = start + value.dims[axis]
            begin = tuple(start if i == axis else 0 for i in range(len(dims)))
            end = tuple(stop if i == axis else size for i, size in enumerate(dims))
            parts.append(strided_slice(g, begin=begin, end=end, strides=(1,) * len(dims)))
            start = stop
        return parts

    def batch(size, batched, *values, axis):
        fronted = [batch_to_front(size, x, b) for x, b in zip(values, batched)]
        return concat(*fronted, axis=axis + 1)

    def loops(s, index, *values, axis):
        axis %= len(index)
        place, found, stop = index[axis], None, sum([x.dims[axis] for x in values])
        for x in reversed(values):
            start = stop - x.dims[axis]
            own = (*index[:axis], place - start, *index[axis + 1 :])
            inside = s.within(place, start, stop)
            if x.dims[axis]:
                found = x.only(inside, *own) if found is None else x.where(inside, found, *own)
            stop = start
        return found if found is not None else s.zero(values[0])

    memory = "view"
    traits = {Trait.MOVES_ROWS}

    def xla(j, *values, axis):
        return j.numpy.concatenate(values, axis)

    samples = (Sample([2, 3], [2, 1], axis=1), Sample([2], [0], [3], axis=0), Sample([2], axis=0))
    rejects = (
        Reject([2, 3], [3, 3], axis=1, code="TW204"),
        Reject([2], axis=1, code="TW202"),
        Reject([2], np.ones(2, np.int32), axis=0, dtype=float32, code="TW102"),
    )
