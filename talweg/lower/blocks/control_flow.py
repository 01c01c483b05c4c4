"""Lowering of loops and branches to blocks that hold the blocks of their bodies.

A carried value has one buffer, which holds what it is at the start of a trip; the body's last nests
write the new value in its place, as they do with variables.  Of a stack of which a trip changes
some rows, only these are written: such a row is a result of the body, or among the last nests where
the body reads the stack.  The row that a trip reads is a window into the stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core.dtypes import int32
from talweg.lower.blocks.branch_writes import states_of_body
from talweg.lower.blocks.parallel_repeats import can_share_trips, has_loops, make_private
from talweg.lower.blocks.stacks import Growth, is_blank, kind_of, start_stack, write_last
from talweg.lower.fusion.inline import Inliner, UnloweredError, can_inline, is_plain
from talweg.lower.fusion.loop_nests import plain_loops
from talweg.lower.fusion.views import base_of
from talweg.lower.handler import s
from talweg.lower.ir.index import Axis, Index, flat
from talweg.lower.ir.loops import Buffer, If, Kernel, Repeat, Store, load
from talweg.lower.ir.visitors import refuse, root_of
from talweg.lower.ir.windows import BufferWindow, copy_buffer, resolve_windows
from talweg.passes.specialize.program import Equation, StaticProgram, Value
from talweg.passes.specialize.stack_primitives import is_endless, row, with_row
from talweg.passes.specialize.stacks import is_appended, pass_on
from talweg.prims import arithmetic

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder


def repeat(builder: LoweringBuilder, equation: Equation, name: str) -> list:
    """Lower a loop to blocks."""
    return _LoopBuilder(builder, equation, name).blocks()


class _CarriedSlot:
    """An index that is known before a trip begins: from the trip's number and carried values."""

    def __init__(self, body: _LoopBuilder, value: Value):
        self.reads: set[Value] = set()  # the carried values, and rows of such

        def resolve(other: Value, index: tuple, guard: object) -> Any:
            buffer = body.inner_buffers.get(other)
            if other.content is not None:
                buffer = body.builder.constant(other)
            if buffer is None:
                if other.maker is not None and not can_inline(other.maker):
                    raise UnloweredError(f"{other} is computed in the trip")
                return None
            if other in body.befores or other in body.rows:
                self.reads.add(other)
            return load(buffer, flat(index, other.dims))

        self.index = s.element(Inliner(resolve).at(value, ()))


class _LoopBuilder:
    """The lowering of one loop."""

    def __init__(self, builder: LoweringBuilder, equation: Equation, name: str):
        self.builder, self.equation, self.name = builder, equation, name
        self.body = body = equation.params["body"]
        self.axis = Axis("t", body.loop.trips)
        body.loop.trip = Index.of(self.axis)
        self.befores = {c.before: number for number, c in enumerate(body.carried)}
        count = len(body.static.inputs)
        outside = zip(body.static.inputs, equation.inputs[:count])
        self.inner_buffers = {x: builder.buffer_of(outer) for x, outer in outside}
        self.fixed = set(self.inner_buffers.values())
        self.starts = equation.inputs[count:]
        for carried, output in zip(body.carried, equation.outputs):
            buffer = builder.buffers.get(output)
            if buffer is None:
                before = carried.before
                buffer = builder.new("carried", before.dtype, before.dims, kind_of(before))
            self.inner_buffers[carried.before] = buffer
        self.rows: dict[
            Value, tuple[Value, _CarriedSlot]
        ] = {}  # windows: the stack, the place in it
        self.growth = Growth(builder)
        self.last: list = []  # blocks at the end of a trip
        self.place_of: dict[Value, _CarriedSlot] = {}
        self.outside = {x: outer for x, outer in zip(body.static.inputs, equation.inputs)}
        self.static = StaticProgram()
        # whether trips do not hang on each other: each writes its own rows of stacks, and no more
        self.independent = (
            self.body.flag is None
            and can_share_trips(self.axis.extent, builder.threads)
            and all(map(has_loops, body.static.equations))
        )

    def blocks(self) -> list:
        """Return the blocks before a loop, and the loop."""
        before: list[Any] = []
        pairs = zip(self.body.carried, self.starts)
        for carried, start in pairs:
            if not carried.blank and is_endless(start):
                before += start_stack(self.builder, start, self.inner_buffers[carried.before])
            elif not carried.blank:
                before += fill_buffer(self.builder, start, self.inner_buffers[carried.before])
        inner = self._inner()
        flag = self.body.flag
        buffer = None if flag is None else self.inner_buffers[flag.before]
        blocks = inner.blocks()
        resolved = resolve_windows([*self.growth.blocks, *blocks, *self.last], self.builder.new)
        before += [kernel for _, kernel in inner.ahead.values()]
        shared = {root_of(self.inner_buffers[carried.before]) for carried in self.body.carried}
        parallel = self.independent and make_private(resolved, shared)
        return [*before, Repeat(self.axis, resolved, buffer, parallel)]

    def _inner(self) -> Any:
        """Make the builder of the body."""
        static, body = self.static, self.body
        static.inputs = list(body.static.inputs)
        static.equations = self._with_windows()
        outputs: list[tuple[Value, Buffer]] = []
        conflicts: dict[Any, dict[Value, bool]] = {}
        places: dict[Any, set] = {}
        state: dict[Any, Buffer] = {}
        used = self._count_uses()
        for carried in body.carried:
            before, after = carried.before, carried.after
            writes = self._row_writes(before, after, used)
            self.independent = self.independent and self._is_independent(
                before, after, writes, used
            )
            if after is before:
                static.states.append((carried, before, before))
            elif is_appended(before, after, used):
                static.states.append((carried, before, before))
                outputs.append((after, self.inner_buffers[before]))
            elif is_endless(before) and self._is_passed_on(before, after, used):
                static.states.append((carried, before, before))
                changed = pass_on(before, after) or []
                outputs += [(x, self.inner_buffers[before]) for x in changed]
            elif is_endless(before) and writes is None:
                static.states.append((carried, before, before))
                self._write_last(before, after, used, outputs)
            elif writes is None:
                static.states.append((carried, before, after))
                state[carried] = self.inner_buffers[before]
                conflicts[carried] = self._overwritten(before)
            else:
                static.states.append((carried, before, before))
                for target, value in writes:
                    self._write(before, target, value, used, outputs, conflicts, places, state)
        static.outputs = [value for value, _ in outputs]
        inner = self.builder.inside(static, self.name)
        inner.buffers.update(self.inner_buffers)
        if self.independent:
            inner.threads = 1
        inner.fixed = self.fixed
        inner.conflicts, inner.places, inner.state = conflicts, places, state
        inner.note_scattered()
        for value, buffer in outputs:
            inner.result(value, buffer)
        return inner

    def _is_independent(self, before: Value, after: Value, writes: list | None, used: dict) -> bool:
        """Return whether trips change nothing of a carried value but a row for each."""
        if after is before:
            return True
        if writes is None or len(writes) != 1 or used.get(before, 0) != 1 or is_endless(before):
            return False
        (slot, value) = writes[0]
        own = slot.index == Index.of(self.axis) and not slot.reads
        read = any(stack is before for stack, _ in self.rows.values())
        return own and not read and is_plain(value.dtype)

    def _write(
        self,
        stack: Value,
        slot: _CarriedSlot,
        value: Value,
        used: dict,
        outputs: list,
        conflicts: dict,
        places: dict,
        state: dict,
    ) -> None:
        """Write a row of a stack, straight into the result if the old row has no reader."""
        window = self._window(stack, slot)
        overwritten = self._overwritten(stack, slot)
        if not overwritten and not slot.reads and is_plain(value.dtype):
            outputs.append((self._own(value), window))
            return
        key = (stack, len(state))
        self.static.states.append((key, Value((0,), value.dtype), value))
        state[key], conflicts[key] = window, overwritten
        places[key] = slot.reads

    def _write_last(self, stack: Value, after: Value, used: dict, outputs: list) -> None:
        """Write rows of a stack, at positions computed in the trip, at the trip's end."""
        rows, new = [], self.builder.new
        while after is not stack:
            maker = after.maker
            if maker is None or maker.prim is not with_row or used.get(after, 0) != 1:
                raise refuse(self.name, "a list of unknown length is changed as a whole")
            after, *parts = maker.inputs
            kept = [new("last", x.dtype, x.dims, "temporary") for x in parts]
            outputs += [(self._own(x), buffer) for x, buffer in zip(parts, kept)]
            rows.append(kept)
        for place, value in reversed(rows):
            self.last += write_last(self.builder, self.inner_buffers[stack], place, value)

    def _is_passed_on(self, before: Value, after: Value, used: dict) -> bool:
        """Return whether a stack is only passed on to inner loops that change it."""
        found = pass_on(before, after)
        if not found or any(stack is before for stack, _ in self.rows.values()):
            return False
        return all(used.get(x, 0) == 1 for x in (before, *found))

    def _own(self, value: Value) -> Value:
        """Return a value that the body computes: a copy if it is an input of the body."""
        base = base_of(value)
        if base.content is None and base not in self.inner_buffers:
            return value
        equation = Equation(arithmetic.identity, [value], {})
        copy = Value(value.dims, value.dtype)
        equation.outputs, copy.maker = (copy,), equation
        self.static.equations.append(equation)
        return copy

    def _overwritten(self, before: Value, place: _CarriedSlot | None = None) -> dict[Value, bool]:
        """Return the values that a write of a carried value, or of its row, destroys.

        The new value's own element of them may be read as it is written where that is true.
        """
        found = {} if place is not None else {before: True}
        if place is not None and before in self._read_whole:
            found[before] = False
        for value, (stack, own) in self.rows.items():
            if before in own.reads or not own.reads.isdisjoint(found):
                found[value] = False
            elif stack is before and (place is None or not _apart(place.index, own.index)):
                found[value] = place is not None and place.index == own.index
        return found

    def _window(self, stack: Value, place: _CarriedSlot) -> BufferWindow:
        if stack not in self.outside or not is_blank(self.outside[stack]):
            self.growth.ask(self.inner_buffers[stack], place.index)
        dims = stack.dims[1:]
        size = 1
        for extent in dims:
            size *= extent
        return BufferWindow(self.inner_buffers[stack], place.index * size, dims)

    def _place(self, index: Value) -> _CarriedSlot:
        found = self.place_of.get(index)
        if found is None:
            found = self.place_of[index] = _CarriedSlot(self, index)
        return found

    def _with_windows(self) -> list[Equation]:
        """Return the body's equations without reads of rows, which become windows."""
        other_equations = []
        for equation in self.body.static.equations:
            if equation.prim is row and equation.inputs[0] in self.inner_buffers:
                stack, index = equation.inputs
                try:
                    index_in_row = self._place(index)
                except UnloweredError:
                    other_equations.append(equation)
                    continue
                value = equation.output
                self.rows[value] = (stack, index_in_row)
                self.inner_buffers[value] = self._window(stack, index_in_row)
                self.static.inputs.append(value)
                value.maker = None
            else:
                other_equations.append(equation)
        return other_equations

    def _count_uses(self) -> dict[Value, int]:
        """Count the uses of each value in the body; finds which stacks are read as wholes."""
        used: dict[Value, int] = {}
        for equation in self.static.equations:
            for x in equation.inputs:
                used[x] = used.get(x, 0) + 1
        for carried in self.body.carried:
            used[carried.after] = used.get(carried.after, 0) + 1
        self._read_whole: set[Value] = set()
        return used

    def _row_writes(self, before: Value, after: Value, used: dict) -> list | None:
        """Return (position, value) of each row that a trip writes; None where it writes more."""
        writes = []
        value = after
        while value is not before:
            maker = value.maker
            if maker is None or maker.prim is not with_row or used.get(value, 0) != 1:
                return None
            try:
                row = self._place(maker.inputs[1])
            except UnloweredError:
                return None
            writes.append((row, maker.inputs[2]))
            value = maker.inputs[0]
        if len(writes) > 1 and used.get(before, 0) > 1:
            return None
        if used.get(before, 0) > 1:
            self._read_whole.add(before)
        return writes[::-1] if len(writes) < 2 or _all_apart(writes) else None


def _apart(i: Index, j: Index) -> bool:
    """Return whether two indices certainly differ."""
    difference = i - j
    return not difference.terms and difference.constant != 0


def _all_apart(writes: list) -> bool:
    places = [place.index for place, _ in writes]
    return all(_apart(i, j) for n, i in enumerate(places) for j in places[:n])


def fill_buffer(builder: LoweringBuilder, value: Value, buffer: Buffer) -> list:
    """Return the blocks that copy a stored value, or a constant, into a buffer."""
    if not is_plain(value.dtype):
        return copy_buffer(builder.buffer_of(value), buffer, builder.new)
    axes = [Axis(f"i{k}", size) for k, size in enumerate(value.dims)]
    index = tuple(map(Index.of, axes))
    expr = Inliner(builder.load_stored).at(value, index)
    loops = plain_loops(axes, [Store(buffer, flat(index, value.dims), expr)])
    return [Kernel("start", loops, ("start",))]


def choose(builder: LoweringBuilder, equation: Equation, name: str) -> list:
    """Lower a branch to blocks."""
    body = equation.params["body"]
    index, *operands = equation.inputs
    outer = iter(operands)
    bodies = []
    for number, inner in enumerate(body.bodies):
        static = StaticProgram()
        static.inputs, static.equations = list(inner.inputs), list(inner.equations)
        buffers = {x: builder.buffer_of(next(outer)) for x in inner.inputs}
        results = [
            (row[number], builder.buffers[output])
            for row, output in zip(body.results, equation.outputs)
            if row[number] is not None and output in builder.buffers
        ]
        given = [pair for pair in results if is_endless(pair[0]) and _is_given(pair[0], buffers)]
        results = [pair for pair in results if pair not in given]
        static.outputs = [value for value, _ in results]
        written = states_of_body(builder, equation, number)
        for output, old, after in written:
            before = old[0] if old else Value(after.dims, after.dtype)
            static.states.append((output, before, after))
        made = builder.inside(static, f"{name}_{number}")
        made.buffers.update(buffers)
        made.state = {output: builder.in_place[output] for output, _, _ in written}
        made.conflicts = {output: dict.fromkeys(old, True) for output, old, _ in written}
        made.note_scattered()
        for value, buffer in results:
            made.result(value, buffer)
        copies = [block for pair in given for block in start_stack(made, *pair)]
        bodies.append([*made.blocks(), *copies])
    choice, before = _choice(builder, index, len(bodies))
    return [*before, If(choice, bodies)]


def _is_given(value: Value, buffers: dict) -> bool:
    """Return whether a body's result needs no computation."""
    return value.content is not None or value in buffers


def _choice(builder: LoweringBuilder, index: Value, count: int) -> tuple[Buffer, list]:
    """Return the buffer that holds the number of the chosen body."""
    choice = builder.new("choice", int32, (), "temporary")
    value = Inliner(builder.load_stored).at(index, ())
    inside = s.logical_and(s.greater_equal(value, 0), s.less(value, count))
    number = s.select(inside, value, count - 1)
    return choice, [Kernel("choose", [Store(choice, 0, s.cast(number, int32))], ("choose",))]
