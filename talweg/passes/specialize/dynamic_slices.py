"""Specialization of slices with computed bounds.

Their sizes are numbers all the same: `x[i]`, `x[i : i + 2]`, `tf.slice(x, [i, 0], [1, 4])`.  Where
a slice is clipped at an end its size depends on values; the program then requires that it is not.
A slice of one row is a `row`, which a loop can read where it lies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.dim_walks import substitute
from talweg.core.dims import Atom, Dim, of_atom
from talweg.core.dtypes import int64
from talweg.core.errors import NeedsStaticError, OpError
from talweg.core.primitive import REGISTRY
from talweg.passes.reasons import Reason
from talweg.passes.specialize.lists import Lists
from talweg.passes.specialize.program import SpecializationError, Value, constant
from talweg.passes.specialize.stack_primitives import Construct, is_one, is_zero
from talweg.passes.specialize.trees import ListRange
from talweg.prims import arithmetic, layout, rounding

if TYPE_CHECKING:
    from talweg.core.dims import Size
    from talweg.passes.functionalize import Step
    from talweg.passes.specialize.specializer import _Specializer


def _slice_at(s: Any, index: tuple, x: Any, *starts: Any, axes: tuple, dims: tuple) -> Any:
    place = list(index)
    for axis, start in zip(axes, starts):
        place[axis] = place[axis] + s.element(start())
    return x(*place)


def _unslice_at(
    s: Any, index: tuple, g: Any, *starts: Any, axes: tuple, dims: tuple, shape: tuple
) -> Any:
    place, inside = list(index), None
    for axis, start in zip(axes, starts):
        place[axis] = place[axis] - s.element(start())
        inside = s.all(inside, s.within(place[axis], 0, dims[axis]))
    return g.where(inside, s.zero(g), *place)


slice_at = Construct("slice_at", {"loops": _slice_at})  # dims[axes] elements from the starts on
slice_at.infer = lambda x, *starts, axes, dims: Aval(dims, x.dtype)

unslice_at = Construct("unslice_at", {"loops": _unslice_at})  # zeros with g from the starts on
unslice_at.infer = lambda g, *starts, axes, dims, shape: Aval(shape, g.dtype)


FUNCTIONS = {
    "floordiv": "floor_div",
    "mod": "mod",
    "max": "maximum",
    "min": "minimum",
    "add": "add",
    "mul": "mul",
}


class SlicePart:
    """The index along one axis: known bounds, or `start` and a number of elements.

    `single`: the result has no such axis.
    """

    __slots__ = ("bounds", "count", "single", "start")

    def __init__(self, bounds: tuple | None, start: Value | None, count: int, single: bool):
        self.bounds, self.start, self.count, self.single = bounds, start, count, single


class SliceSizes:
    """The sizes in the parameters of a step: numbers, or computed values."""

    def __init__(self, maker: Any, step: Step):
        self.maker = maker
        self.lists = Lists(maker.static, step.node)

    def substitute(self, size: Size) -> Any:
        """Return a size with its known atoms substituted."""
        try:
            return substitute(size, self._atom)
        except OpError as error:
            raise SpecializationError(Reason.SIZE_REFUSED, error) from error

    def _atom(self, atom: Atom) -> Any:
        slot, kind, place = self.maker.program.places[atom]
        value = self.maker.plain(slot)
        if kind == "size":
            return value.dims[place]
        if value.content is None:
            return of_atom(atom)
        return int(np.broadcast_to(value.content, value.dims).reshape(-1)[place])

    def value(self, size: Size) -> Value:
        """Return a size as a computed integer."""
        apply = self.lists.apply
        if type(size) is int:
            return constant(np.int64(size))
        total = constant(np.int64(size.constant))
        for atoms, factor in size.terms:
            product = constant(np.int64(factor))
            for atom in atoms:
                product = self._times(product, self._element(atom))
            zero = total.content is not None and not total.content
            total = product if zero else apply(arithmetic.add, total, product)
        return total

    def _times(self, x: Value, y: Value) -> Value:
        one = x.content is not None and int(x.content) == 1
        return y if one else self.lists.apply(arithmetic.mul, x, y)

    def _element(self, atom: Atom) -> Value:
        if atom.arguments:
            name = FUNCTIONS.get(atom.kind)
            if name is None:
                raise SpecializationError(Reason.SIZE_OF_VALUE)
            operands = [self.value(self.substitute(argument)) for argument in atom.arguments]
            return self.lists.apply(REGISTRY[name], *operands)
        slot, _, place = self.maker.program.places[atom]
        value = self.maker.plain(slot)
        if value.dims:
            flat = self.lists.apply(layout.reshape, value, shape=(value.size,))
            value = self.lists.row(flat, constant(np.int64(place)))
        return self.lists.apply(arithmetic.cast, value, dtype=int64)

    def part(self, key: Size | tuple, size: int) -> SlicePart:
        """Return the slice that an index takes of an axis of this size."""
        if type(key) is not tuple:
            key = self.substitute(key)
            if type(key) is int:
                if not -size <= key < size:
                    raise SpecializationError(Reason.INDEX_OUTSIDE)
                key = key % size
                return SlicePart((key, key + 1, 1), None, 1, True)
            return SlicePart(None, self._inside(self.value(key), size), 1, True)
        start, stop, step = [x if x is None else self.substitute(x) for x in key]
        if type(start) is not Dim and type(stop) is not Dim and type(step) is not Dim:
            return SlicePart(slice(start, stop, step).indices(size), None, 0, False)
        if step not in (None, 1):
            raise SpecializationError(Reason.SLICE_STEPS)
        start, stop = 0 if start is None else start, size if stop is None else stop
        return self.run(start, stop - start, size)

    def run(self, start: Size, count: Size, size: int) -> SlicePart:
        """Return the index of `count` elements of an axis, from `start` on."""
        if type(count) is not int or not 0 <= count <= size:
            raise SpecializationError(Reason.SIZE_OF_VALUE)
        if type(start) is int:
            if not 0 <= start <= size - count:
                raise SpecializationError(Reason.SLICE_CLIPPED)
            return SlicePart((start, start + count, 1), None, count, False)
        first = self.lists.require(self.value(start), size - count + 1)
        return SlicePart(None, first, count, False)

    def _inside(self, index: Value, size: int) -> Value:
        """Normalize an index that may be negative."""
        limits = self.lists.limits(index)
        if limits is not None and (limits[0] >= 0 or limits[1] < 0):
            index = self._shift(index, size) if limits[1] < 0 else index
            return self.lists.require(index, size)
        apply, shifted = self.lists.apply, self._shift(index, size)
        negative = apply(arithmetic.less, index, constant(np.int64(0)))
        return self.lists.safe(apply(arithmetic.select, negative, shifted, index), size)

    def _shift(self, index: Value, size: int) -> Value:
        return self.lists.apply(arithmetic.add, index, constant(np.int64(size)))


def _fix_bounds(parts: Sequence[SlicePart], dims: Sequence[int]) -> dict:
    """Return the bounds of the known parts; others take the whole axis."""
    bounds = [(0, size, 1) if p.bounds is None else p.bounds for p, size in zip(parts, dims)]
    begin, end, strides = zip(*bounds) if bounds else ((), (), ())
    return {"begin": tuple(begin), "end": tuple(end), "strides": tuple(strides)}


def _is_whole(bounds: dict, dims: Sequence[int]) -> bool:
    full = (0,) * len(dims), tuple(dims), (1,) * len(dims)
    return (bounds["begin"], bounds["end"], bounds["strides"]) == full


def _count(bounds: tuple) -> int:
    return len(range(*bounds))


def _sizes(parts: Sequence[SlicePart]) -> tuple:
    return tuple([p.count if p.bounds is None else _count(p.bounds) for p in parts])


def _slice_parts(t: Lists, x: Value, parts: list[SlicePart]) -> Value:
    """Emit x[parts], axes of single elements left out."""
    bounds = _fix_bounds(parts, x.dims)
    if not _is_whole(bounds, x.dims):
        x = t.apply(layout.strided_slice, x, **bounds)
    moving = [axis for axis, part in enumerate(parts) if part.start is not None]
    starts: list[Any] = [parts[axis].start for axis in moving]
    shape = tuple([n for n, part in zip(_sizes(parts), parts) if not part.single])
    if moving == [0] and parts[0].single:
        sliced = t.row(x, starts[0])
    elif moving:
        sizes: Any = _sizes(parts)
        sliced = t.apply(slice_at, x, *starts, axes=tuple(moving), dims=sizes)
    else:
        sliced = x
    return sliced if sliced.dims == shape else t.apply(layout.reshape, sliced, shape=shape)


def _unslice(t: Lists, g: Value, parts: list[SlicePart], dims: tuple) -> Value:
    """Emit zeros of `dims` with g at [parts] (the transpose of a slice)."""
    moving = [axis for axis, part in enumerate(parts) if part.start is not None]
    starts = [parts[axis].start for axis in moving]
    sizes = _sizes(parts)
    middle = tuple(
        [size if part.start is not None else n for part, n, size in zip(parts, sizes, dims)]
    )
    if moving == [0] and parts[0].single:
        g = t.apply(layout.reshape, g, shape=middle[1:])
        first: Any = starts[0]
        filled = t.put_row(t.zero(middle, g.dtype), middle[0], first, g)
    else:
        g = t.apply(layout.reshape, g, shape=sizes)
        params = {"axes": tuple(moving), "dims": sizes, "shape": middle}
        filled = t.apply(unslice_at, g, *starts, **params)  # type: ignore[arg-type]
    bounds = _fix_bounds(parts, dims)
    if _is_whole(bounds, dims):
        return filled
    return t.apply(layout.unslice, filled, **bounds, shape=dims)


def _parts(sizes: SliceSizes, key: tuple, dims: tuple) -> list[SlicePart]:
    keys = [key[axis] if axis < len(key) else (None, None, None) for axis in range(len(dims))]
    return [sizes.part(part, size) for part, size in zip(keys, dims)]


def _slice_by(maker: _Specializer, step: Step) -> Value:
    x, sizes = maker.plain(step.inputs[0]), SliceSizes(maker, step)
    return _slice_parts(sizes.lists, x, _parts(sizes, step.params["key"], x.dims))


def _unslice_by(maker: _Specializer, step: Step) -> Value:
    g, sizes = maker.plain(step.inputs[0]), SliceSizes(maker, step)
    dims = tuple([sizes.substitute(size) for size in step.params["shape"]])
    if not all(type(size) is int for size in dims):
        raise SpecializationError(Reason.SIZE_OF_VALUE)
    return _unslice(sizes.lists, g, _parts(sizes, step.params["key"], dims), dims)


def _block(maker: _Specializer, step: Step) -> Value:
    x, sizes = maker.plain(step.inputs[0]), SliceSizes(maker, step)
    parts = []
    for begin, count, size in zip(step.params["begin"], step.params["shape"], x.dims):
        begin, count = sizes.substitute(begin), sizes.substitute(count)
        count = size - begin if type(count) is int and count == -1 else count
        parts.append(sizes.run(begin, count, size))
    return _slice_parts(sizes.lists, x, parts)


def _pad(maker: _Specializer, step: Step) -> Value:
    x, v = [maker.plain(slot) for slot in step.inputs]
    sizes = SliceSizes(maker, step)
    if not is_zero(v):
        raise SpecializationError(Reason.SIZE_OF_VALUE)
    parts, dims = [], []
    for low, high, size in zip(step.params["low"], step.params["high"], x.dims):
        low, high = sizes.substitute(low), sizes.substitute(high)
        whole = low + size + high
        if type(whole) is not int:
            raise SpecializationError(Reason.SIZE_OF_VALUE)
        parts.append(sizes.run(low, size, whole))
        dims.append(whole)
    return _unslice(sizes.lists, x, parts, tuple(dims))


def _sequence(maker: _Specializer, step: Step, params: dict | None = None) -> Any:
    """Make a range of unknown length, of which a loop takes one number per trip."""
    start, limit, delta = [maker.plain(slot) for slot in step.inputs]
    if params is not None and params["count"] is not None:
        return NotImplemented
    if all(x.content is not None for x in (start, limit, delta)):
        return NotImplemented
    by = 0 if delta.content is None else delta.content.reshape(-1)[0]
    if by == 0 or not start.dtype.is_integer:
        raise SpecializationError(Reason.SIZE_OF_VALUE)
    t = Lists(maker.static, step.node)
    span = t.apply(arithmetic.sub, limit, start)
    if by != 1:
        more = constant(np.asarray(by - (1 if by > 0 else -1), start.dtype.numpy_dtype))
        span = t.apply(rounding.floor_div, t.apply(arithmetic.add, span, more), delta)
    none = constant(np.zeros((), start.dtype.numpy_dtype))
    return ListRange(start, delta, t.apply(arithmetic.maximum, span, none))


def _shape_of(maker: _Specializer, step: Step, params: dict) -> Any:
    values = maker.values.get(step.inputs[0])
    if type(values) is not ListRange:
        return NotImplemented
    t = Lists(maker.static, step.node)
    count = t.apply(arithmetic.cast, values.count, dtype=params["dtype"])
    return t.apply(layout.reshape, count, shape=(1,))


def _number_of(maker: Any, step: Any, params: dict) -> Any:
    """Return an element of a range."""
    values, index = [maker.values.get(slot) for slot in step.inputs]
    if type(values) is not ListRange:
        return NotImplemented
    t = Lists(maker.static, step.node)
    own = t.apply(arithmetic.cast, index, dtype=values.start.dtype)
    if not is_one(values.step):
        own = t.apply(arithmetic.mul, own, values.step)
    return own if is_zero(values.start) else t.apply(arithmetic.add, values.start, own)


RANGES: dict[str, Callable[[Any, Any, dict], Any]] = {
    "sequence": _sequence,
    "shape_of": _shape_of,
    "gather": _number_of,
    "gather_rows": _number_of,
}

WAYS: dict[str, Callable[[Any, Any], Value]] = {
    "slice_by": _slice_by,
    "unslice_by": _unslice_by,
    "block": _block,
    "pad": _pad,
    "sequence": _sequence,
}


def _apply_rule(way: Callable[[Any, Any], Value], maker: object, step: Step) -> Value:
    """Apply a specialization rule; where it depends on unknown values, the host runs the step."""
    try:
        return way(maker, step)
    except NeedsStaticError as error:
        raise SpecializationError(Reason.SIZE_OF_VALUE) from error


SLICES = {name: partial(_apply_rule, way) for name, way in WAYS.items()}
