"""Static programs of the bodies of loops and branches.

An `Inner` program takes values of the program around it as inputs, when they are first used
(`bring_in`).  In a loop, what does not change from trip to trip is computed outside, once; views of
such values are not worth it.  What follows from the number of the trip alone is known for every
trip: where it is an integer that grows evenly it becomes a `round_number`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from talweg.core.aval import Aval
from talweg.core.dtypes import int64
from talweg.core.roles import Trait
from talweg.passes.specialize.program import StaticProgram, Value, constant
from talweg.passes.specialize.stack_primitives import (
    LoopIndex,
    by_element,
    is_zero,
    round_number,
    row,
    with_row,
)
from talweg.prims import arithmetic, indexing

if TYPE_CHECKING:
    from talweg.core.dtypes import DType
    from talweg.core.primitive import Primitive
    from talweg.graph.node import Node

MOST = 1 << 24  # trips of a loop of which all numbers are looked at
ACTS = frozenset(("host", "random", "graph"))  # effects: such equations stay where they are


class BodyProgram(StaticProgram):
    """The static program of a body; `loop` is None for the body of a branch."""

    __slots__ = (
        "brought",
        "early",
        "inexact",
        "known_numbers",
        "loop",
        "outer",
        "still",
        "twins",
    )

    def __init__(self, outer: StaticProgram, loop: LoopIndex | None = None):
        super().__init__()
        self.outer, self.loop = outer, loop
        outer.inners.append(self)
        self.endless = outer.endless
        self.hosts = None if outer.hosts is None else outer.hosts.inside(self)
        self.early = False  # whether it is run to learn how many trips there are
        self.inexact = False  # whether there may be fewer trips than `loop` has
        self.twins: dict[Value, Value] = {}  # value here -> the same one outside
        self.brought: dict[Value, Value] = {}  # value outside -> here
        self.still: set[Value] = set()  # views made here of what does not change
        self.known_numbers: dict[Value, NDArray] = {}  # value -> what it is in each trip

    def within(self, what: str) -> bool:
        """Return whether this program, or one around it, is `early` or `inexact`."""
        place: Any = self
        while type(place) is BodyProgram:
            if getattr(place, what):
                return True
            place = place.outer
        return False

    def bring_in(self, value: Value) -> Value:
        """Return the value in the body that represents an outer one."""
        if value.content is not None:
            return value
        found = self.brought.get(value)
        if found is None:
            found = self.brought[value] = Value(value.dims, value.dtype)
            self.twins[found] = value
            self.inputs.append(found)
        return found

    def stream(self, operation: Node, seeds: tuple) -> Value:
        """Return the state that a random operation's stream has before the whole program runs."""
        return self.bring_in(self.outer.stream(operation, seeds))

    def twin(self, value: Value) -> Value | None:
        """Return the outer value that equals this one, None if it may change between trips."""
        if value.content is not None:
            return value
        found = self.twins.get(value)
        if found is None and value in self.still:
            maker = value.maker
            assert maker is not None
            inputs = [self.twin(x) for x in maker.inputs]
            found = self.outer.apply(maker.prim, inputs, maker.params, maker.node)
            self.twins[value] = found
        return found

    def changes(self, value: Value) -> bool:
        """Return whether a value may differ from trip to trip."""
        return value.content is None and value not in self.twins and value not in self.still

    def numbers(self, value: Value) -> NDArray | None:
        """Return the values of an integer in all trips, if they are known."""
        found = self.known_numbers.get(value)
        if found is None and self.loop is None and value in self.twins:
            return self.outer.numbers(self.twins[value])
        return super().numbers(value) if found is None else found

    def limits(self, value: Value) -> tuple[int, int] | None:
        """Return the smallest and largest possible value of an integer, if known."""
        if value in self.twins and value not in self.known_numbers and value not in self.bounds:
            return self.outer.limits(self.twins[value])
        return super().limits(value)

    def round(self, start: int, step: int, dtype: DType) -> Value:
        """Return start + step * (number of the trip)."""
        assert self.loop is not None
        params = {"loop": self.loop, "start": start, "step": step, "dtype": dtype}
        found = self.apply(round_number, (), params)
        last = start + step * (self.loop.trips - 1)
        self.bounds[found] = min(start, last), max(start, last)
        if found not in self.known_numbers and self.loop.trips <= MOST:
            numbers = start + step * np.arange(self.loop.trips, dtype=np.int64)
            self.known_numbers[found] = numbers.astype(dtype.numpy_dtype)
        return found

    def by_trip(self, numbers: NDArray, dtype: DType) -> Value:
        """Return the value that is `numbers[k]` in trip k."""
        if not len(numbers):  # a loop without trips: nobody will see it
            return constant(np.zeros((), dtype.numpy_dtype))
        if (numbers == numbers[0]).all():
            return constant(numbers[0])
        line = affine(numbers)
        if line is not None and dtype.is_integer:
            return self.round(*line, dtype)
        key = ("by_trip", numbers.tobytes(), dtype)
        known = self.known.get(key)
        if known is None:
            inputs = (constant(numbers), self.round(0, 1, int64))
            known = self.known[key] = super()._new(row, inputs, {}, None)
            self.known_numbers[known] = numbers
        return known

    def _new(self, prim: Primitive, inputs: Sequence, params: dict, node: object) -> Any:
        pure = prim.effect is None
        if self.loop is None:
            known = [self.numbers(x) for x in inputs if not x.dims]
            all_known = inputs and len(known) == len(inputs)
            if pure and by_element(prim) and all_known and all(x is not None for x in known):
                outside = [self.twin(x) for x in inputs]
                return self.bring_in(self.outer.apply(prim, outside, params, node))
            return super()._new(prim, inputs, params, node)
        if prim is round_number:
            return super()._new(prim, inputs, params, node)
        if pure and inputs and not any(map(self.changes, inputs)):
            if Trait.REINDEXES in prim.traits:
                result = super()._new(prim, inputs, params, node)
                self.still.add(result)
                return result
            outside = self.outer.apply(prim, [self.twin(x) for x in inputs], params, node)
            if isinstance(outside, tuple):
                return tuple(map(self.bring_in, outside))
            return self.bring_in(outside)
        simple = self._simpler(prim, inputs, params, node)
        if simple is not None:
            return simple
        if prim is row:
            numbers = self._row_of_known(*inputs)
            if numbers is not None:
                return self.by_trip(numbers, inputs[0].dtype)
        if pure and inputs and by_element(prim):
            numbers = self._evaluate_trips(prim, inputs, params)
            if numbers is not None:
                dtype = prim.infer(*[Aval(x.dims, x.dtype) for x in inputs], **params).dtype
                if dtype.is_integer or not len(numbers) or (numbers == numbers[0]).all():
                    return self.by_trip(numbers, dtype)
                result = super()._new(prim, inputs, params, node)
                self.known_numbers[result] = numbers
                return result
        return super()._new(prim, inputs, params, node)

    def _simpler(self, prim: Primitive, inputs: Sequence, params: dict, node: object) -> Any:
        """Return a simpler equation on rows of stacks with the same result.

        One gathered row; the sum of x and an array that is zero but for a row: x with another row.
        """
        if prim is indexing.gather:
            x, index = inputs
            limits = None if index.dims or len(x.dims) == 0 else self.limits(index)
            if limits is not None and limits[0] >= 0 and limits[1] < x.dims[0]:
                first = params["axis"] == 0 and params["batch_dims"] == 0
                return self.apply(row, (x, index), {}, node) if first else None
        if prim is not arithmetic.add:
            return None
        for x, y in (inputs, inputs[::-1]):
            maker = y.maker
            if maker is not None and maker.prim is with_row and x.dims == y.dims:
                zero, index, value = maker.inputs
                if is_zero(zero):
                    own = self.apply(row, (x, index), {}, node)
                    return self.apply(
                        with_row, (x, index, self.apply(prim, (own, value), {}, node)), {}
                    )
        return None

    def _row_of_known(self, x: Value, index: Value) -> NDArray | None:
        """Return a known vector's elements at an index that counts the trips."""
        content, places = x.content, self.numbers(index)
        if content is None or places is None or content.shape != x.dims or len(x.dims) != 1:
            return None
        if content.dtype.kind not in "iub" or places.min() < 0 or places.max() >= len(content):
            return None
        return content[places]

    def _evaluate_trips(self, prim: Primitive, inputs: Sequence, params: dict) -> NDArray | None:
        """Compute the results in all trips, where all operands are known scalars."""
        whole = [x.dtype.is_integer or x.dtype.is_bool for x in inputs]
        if any(x.dims for x in inputs) or not all(whole):
            return None
        operands = [self.numbers(x) for x in inputs]
        if any(x is None for x in operands) or self.loop is None:
            return None
        with np.errstate(all="ignore"):
            found = np.asarray(prim.numpy(*operands, **params))
        if found.dtype.kind not in "iub":
            return None
        return np.broadcast_to(found, (self.loop.trips,))


def affine(numbers: NDArray) -> tuple[int, int] | None:
    """Return (start, step) of evenly growing numbers (an affine recurrence), None for others."""
    exact = numbers.astype(np.int64)
    start, step = int(exact[0]), int(exact[1] - exact[0]) if len(exact) > 1 else 0
    return (start, step) if (exact == start + step * np.arange(len(exact))).all() else None


def acts(static: StaticProgram) -> bool:
    """Return whether a program has effects beside its results."""
    return any(equation.prim.effect in ACTS for equation in static.equations)
