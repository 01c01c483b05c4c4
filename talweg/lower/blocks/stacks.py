"""Lowering of stacks of dynamic length, whose memory grows as a loop runs (`Grow`).

A row that is read or written must be there first.  Where it is follows from the number of the trip
and from carried values, or is computed in the trip; then it is stored, so that every thread can
look whether there is memory for it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from talweg.core.dtypes import int64
from talweg.core.roles import Role
from talweg.lower.fusion.inline import Inliner
from talweg.lower.fusion.loop_nests import plain_loops
from talweg.lower.handler import s
from talweg.lower.ir.index import Axis, Index, flat
from talweg.lower.ir.loops import Buffer, Fill, Grow, Host, Kernel, Store, load, number
from talweg.lower.ir.visitors import refuse
from talweg.lower.ir.windows import BufferWindow
from talweg.passes.specialize.program import Equation, Value
from talweg.passes.specialize.stack_primitives import is_endless, is_zero

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder


def kind_of(value: Value) -> str:
    """Return the kind of a value's buffer within a program."""
    return "stack" if is_endless(value) and value.size else "temporary"


class Growth:
    """The blocks at the beginning of a trip that allocate the rows which it writes."""

    def __init__(self, builder: LoweringBuilder):
        self.builder = builder
        self.blocks: list = []
        self.held: dict[Index, Index] = {}  # a place -> what all threads know it by
        self.done: set[tuple] = set()

    def ask(self, buffer: Buffer, place: Index) -> None:
        """Ensure that a stack has memory for a row."""
        if buffer.kind != "stack" or (buffer, place) in self.done:
            return
        self.done.add((buffer, place))
        self.blocks.append(Grow(buffer, self._hold(place)))

    def _hold(self, place: Index) -> Index:
        if all(type(atom) is Axis for atom, _ in place.terms):
            return place
        found = self.held.get(place)
        if found is None:
            held = self.builder.new("row", int64, (), "temporary")
            self.blocks.append(Kernel("place", [Store(held, 0, number(place))], ("place",)))
            found = self.held[place] = s.element(load(held, 0))
        return found


def is_blank(value: Value) -> bool:
    """Return whether a stack's rows are read only after they were written."""
    maker = value.maker
    if maker is None or maker.prim.role is not Role.LOOP:
        return False
    return maker.params["body"].carried[maker.outputs.index(value)].blank


def append_rows(builder: LoweringBuilder, equation: Equation, name: str) -> list:
    """Return the blocks that append the first rows of one stack to another, from a row on."""
    _, start, rows, count = equation.inputs
    target, source = builder.buffer_of(equation.output), builder.buffer_of(rows)
    if not rows.size:
        return []
    assert target.kind == source.kind == "stack"
    stores, places = [], []
    for value in (start, count):
        held = builder.new("row", int64, (), "temporary")
        stores.append(Store(held, 0, s.cast(Inliner(builder.load_stored).at(value, ()), int64)))
        places.append(s.element(load(held, 0)))
    return [Kernel(name, stores, ("place",)), Fill(target, source, *places)]


def stack_put(builder: LoweringBuilder, equation: Equation, name: str) -> list:
    """Return the blocks that copy a stack and write a row of it."""
    stack, place, value = equation.inputs
    target = builder.buffer_of(equation.output)
    held = builder.new("row", int64, (), "temporary")
    index = s.cast(Inliner(builder.load_stored).at(place, ()), int64)
    row = builder.buffer_of(value) if value.content is None else builder.constant(value)
    if isinstance(target, BufferWindow):
        raise refuse(name, "a stack within a stack")
    before = [
        *start_stack(builder, stack, target),
        Kernel(name, [Store(held, 0, index)], ("place",)),
    ]
    return [*before, *write_last(builder, target, held, row)]


def export_rows(builder: LoweringBuilder, equation: Equation, name: str) -> list:
    """Return the call that exports the rows of a stack as a side output."""
    function = partial(equation.params["exports"].hand_over, equation.params["place"])
    return [Host("export", function, [builder.buffer_of(x) for x in equation.inputs], [])]


def fetch_rows(builder: LoweringBuilder, equation: Equation, name: str) -> list:
    """Return the call that fills a stack with rows that are passed to the program."""
    function = partial(equation.params["exports"].fetch, equation.params["place"])
    return [Host("fetch", function, [], [builder.buffer_of(equation.output)])]


def write_last(builder: LoweringBuilder, stack: Buffer, row_number: Buffer, value: Buffer) -> list:
    """Return the blocks that copy a row to the position in a stack that a buffer holds.

    Where the place is below zero no row is changed: the first one becomes what it is.
    """
    if stack.kind != "stack":
        return []
    held = builder.new("row", int64, (), "temporary")
    asked = s.cast(load(row_number, 0), int64)
    blocks: list[Any] = [Kernel("place", [Store(held, 0, s.maximum(asked, 0))])]
    row = s.element(load(held, 0))
    axes = [Axis(f"i{k}", size) for k, size in enumerate(value.shape)]
    inside = flat(tuple(map(Index.of, axes)), value.shape)
    target = row * value.size + inside
    chosen_row = s.select(s.less(asked, 0), load(stack, target), load(value, inside))
    body = plain_loops(axes, [Store(stack, target, chosen_row)])
    return [*blocks, Grow(stack, row), Kernel("put", body, ("with_row",))]


def stack_of_array(builder: LoweringBuilder, equation: Equation, name: str) -> list:
    """Return the blocks that make a stack of an array."""
    (x,) = equation.inputs
    target = builder.buffer_of(equation.output)
    if not x.size:
        return [] if target.kind != "stack" else [Fill(target, None)]
    axes = [Axis(f"i{k}", size) for k, size in enumerate(x.dims)]
    index = tuple(map(Index.of, axes))
    place = flat(index, x.dims)
    stores = plain_loops(axes, [Store(target, place, Inliner(builder.load_stored).at(x, index))])
    return [Fill(target, None), Grow(target, x.dims[0] - 1), Kernel(name, stores, ("widen",))]


def beginning(builder: LoweringBuilder, equation: Equation, name: str) -> list:
    """Return the blocks that copy the first rows of a stack, with zeros for unwritten ones."""
    (x,), result = equation.inputs, equation.output
    source, target = builder.buffer_of(x), builder.buffer_of(result)
    if not result.size:
        return []
    axes = [Axis(f"i{k}", size) for k, size in enumerate(result.dims)]
    place = flat(tuple(map(Index.of, axes)), result.dims)
    body = plain_loops(axes, [Store(target, place, load(source, place))])
    return [Grow(source, result.dims[0] - 1), Kernel(name, body, ("head",))]


def start_stack(builder: LoweringBuilder, start: Value, buffer: Buffer) -> list:
    """Return the blocks that copy the initial value of a carried stack into its buffer."""
    if buffer.kind != "stack":  # there is nothing in its rows
        return []
    if is_zero(start):
        return [Fill(buffer, None)]
    source = builder.buffer_of(start)
    return [] if source is buffer else [Fill(buffer, source)]


def stack_row(builder: LoweringBuilder, equation: Equation, name: str) -> list:
    """Return the blocks that read a row at a computed position, or outside of loops."""
    stack, row_index = equation.inputs
    buffer = builder.buffer_of(stack)
    if isinstance(buffer, BufferWindow) or not is_endless(stack):
        raise refuse(name, "a row of a stack within a stack")
    index = s.element(Inliner(builder.load_stored).at(row_index, ()))
    held = builder.new("row", int64, (), "temporary")
    before: list[Kernel | Grow] = [Kernel(name, [Store(held, 0, number(index))], ("place",))]
    row = s.element(load(held, 0))
    if buffer.kind == "stack":
        before.append(Grow(buffer, row))
    value = equation.output
    axes = [Axis(f"i{k}", size) for k, size in enumerate(value.dims)]
    inside = flat(tuple(map(Index.of, axes)), value.dims)
    source = load(buffer, row * value.size + inside)
    target = builder.buffer_of(value)
    copy = Kernel(name, plain_loops(axes, [Store(target, inside, source)]), ("row",))
    return [*before, copy]
