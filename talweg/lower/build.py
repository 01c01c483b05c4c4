"""Lowering of a static program to a loop program: `build`.

What is stored (`lower/fusion/materialize.py`), in which nests (`lower/fusion/groups.py`,
`lower/fusion/final_writes.py`), in which loops (`lower/fusion/loop_nests.py`); equations of other
kinds by the way their declaration's `call` names (`lower/blocks/registry.py`), or by the NumPy
kernel.  Units are built from the last to the first: so it is known who reads a value from memory
when the nest that makes it is built, and what nobody reads is not written.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dtypes import DType, bool_, int32
from talweg.core.roles import Role
from talweg.lower.blocks.branch_writes import find_branch_writes, split_branches
from talweg.lower.blocks.registry import BLOCKS
from talweg.lower.blocks.stacks import kind_of
from talweg.lower.fusion.early_stores import copy_if_lost, write_early
from talweg.lower.fusion.final_writes import place_finals
from talweg.lower.fusion.groups import Block, FusionPlan, Nest
from talweg.lower.fusion.inline import Inliner, is_plain
from talweg.lower.fusion.loop_nests import NestBuilder, general_loops, guard_load, plain_loops
from talweg.lower.fusion.materialize import Storage
from talweg.lower.fusion.product_casts import move_casts
from talweg.lower.fusion.views import base_of
from talweg.lower.handler import s
from talweg.lower.ir.index import Axis, Index, flat, unflatten
from talweg.lower.ir.loops import Buffer, Expr, Host, If, Kernel, LoopProgram, Store, const, load
from talweg.lower.ir.registers import lowering_for
from talweg.lower.lowered import Lowered
from talweg.passes.specialize.program import Equation, StaticProgram, Value
from talweg.prims import arithmetic, reduce
from talweg.prims.state import ROW_RULES

if TYPE_CHECKING:
    from collections.abc import Callable


def build(
    static: StaticProgram,
    name: str = "program",
    threads: int = 2,
    vector_bytes: int = 32,
    matrix_tiles: bool = False,
) -> Lowered:
    """Lower a static program, for this many threads and vectors of this many bytes.

    matrix_tiles: for a processor with registers that multiply matrices.
    """
    with lowering_for(vector_bytes, matrix_tiles):  # what is stored depends on it, too
        move_casts(static)
        split_branches(static)
        builder = LoweringBuilder(static, name)
        builder.threads = threads
        return builder.build()


class LoweringBuilder:
    """The builder of a program's blocks; `outer` is the builder of the enclosing program."""

    current: Nest | Block  # the unit that is being built

    def __init__(self, static: StaticProgram, name: str, outer: LoweringBuilder | None = None):
        self.threads = 1 if outer is None else outer.threads
        self.static, self.outer = static, outer
        self.name = "" if outer is None else f"{name}_"  # what the names of kernels begin with
        self.program = LoopProgram(name) if outer is None else outer.program
        self.lowered = Lowered(self.program)
        self.buffers: dict[Value, Buffer] = {}
        self.copies: list[tuple[Value, Buffer]] = []
        self.state: dict[Any, Buffer] = {}
        self.conflicts: dict[Any, dict[Value, bool]] = {}  # see lower/fusion/final_writes.py
        self.places: dict[Any, set[Value]] = {}
        self.also: dict[Value, list[Buffer]] = {}  # where values are put beside their buffers
        self.written: dict[
            Value, int
        ] = {}  # values that are lost after a unit; see lower/fusion/early_stores.py
        self.updated: set[Buffer] = set()  # which an epilogue reads where it writes
        self.fixed: set[Buffer] = set()  # of the body of a loop: what no trip changes
        self.ahead: dict[tuple, tuple[Any, Kernel]] = {}  # made of such a buffer, before the loop
        guard = combine_guards(static)
        if guard is not None:
            static.outputs = [*static.outputs, guard]
            self.lowered.guard = True
        self.guard = guard
        self.in_place: dict[Value, Buffer] = {}  # new values made where the old ones are
        self.storage = Storage(static)
        if outer is None:
            self._interface()
        self.grouping = FusionPlan(self.storage)

    def inside(self, static: StaticProgram, name: str) -> LoweringBuilder:
        """Make the builder of a body within this program, which registers its buffers here."""
        return LoweringBuilder(static, name, self)

    def new(self, name: str, dtype: DType, shape: tuple, kind: str) -> Buffer:
        """Make a buffer of the program."""
        return self.program.buffer(name, dtype, shape, kind)

    def _interface(self) -> None:
        static, lowered = self.static, self.lowered
        for value in static.inputs:
            buffer = self.new("input", value.dtype, value.dims, "input")
            self.buffers[value] = buffer
            lowered.inputs.append(buffer)
        for variable, before, after in static.states:
            written = after is not before
            buffer = self.new("state", before.dtype, before.dims, "state" if written else "input")
            self.buffers[before] = buffer
            lowered.states.append((variable, buffer, written))
            self.state[variable] = buffer
        self.note_scattered()
        for value, variable in find_branch_writes(static).items():
            self.in_place[value] = self.state[variable]
        for value in static.outputs:
            buffer = self.new("output", value.dtype, value.dims, "output")
            lowered.outputs.append(buffer)
            self.result(value, buffer)

    def note_scattered(self) -> None:
        """Find the variables that are updated element-wise in place."""
        for variable, before, after in self.static.states:
            if is_scattered(self.static, before, after):
                self.in_place[after] = self.state[variable]

    def _copy_before_scatters(self) -> None:
        """Copy the updates that scatters would overwrite before they run."""
        states = [row for row in self.static.states if row[1] is not row[2]]
        lost = {before for _, before, _ in states}.union(*self.conflicts.values())
        for equation in self._in_place_makers():
            own = {before for _, before, after in states if after.maker is equation}
            head, operands = equation.inputs[:1], equation.inputs[1:]
            if equation.prim.role is Role.BRANCH:  # whose bodies know what they overwrite
                kept = [x if x in own else copy_if_lost(self, x, lost) for x in operands]
            else:
                kept = [copy_if_lost(self, x, lost) for x in operands]
            equation.inputs = (*head, *kept)

    def _in_place_makers(self) -> list[Equation]:
        """Return the equations that write variables by themselves, after everything else."""
        makers = [value.maker for value in self.in_place if value.maker is not None]
        return list(dict.fromkeys(makers))

    def result(self, value: Value, buffer: Buffer) -> None:
        """Ensure that a value is stored in a buffer."""
        base = base_of(value)
        if base in self.buffers or base.content is not None:
            self.copies.append((value, buffer))
        else:
            self.buffers[base] = buffer

    def build(self) -> Lowered:
        """Build the loop program."""
        self.program.blocks = self.blocks()
        self.lowered.reasons = [(repr(value), text) for value, text in self.grouping.reasons]
        return self.lowered

    def blocks(self) -> list:
        """Build the blocks of all units."""
        if self.guard is not None and self.guard.content is not None:  # false, always
            failed = Store(self.lowered.outputs[-1], 0, const(False, bool_))
            return [Kernel("fails", [failed], ("guard",))]
        self._copy_before_scatters()
        if self.outer is not None:
            write_early(self)
        plain = [copy for copy in self.copies if is_plain(copy[1].dtype)]
        finals = place_finals(self.grouping, plain, self.conflicts, self.places, set(self.in_place))
        blocks: list[Any] = []
        updates = [
            self.grouping.units[self.grouping.unit_of[equation.outputs[0]]]
            for equation in self._in_place_makers()
        ]
        scattered = [block for unit in updates for block in self._block(unit)]
        count = len(self.grouping.units) - len(finals)
        last = [self._unit(nest) for nest in reversed(finals)][::-1]
        for unit in reversed([u for u in self.grouping.units[:count] if u not in updates]):
            blocks += [block for block in reversed(self._blocks(unit)) if block is not None]
        blocks.reverse()
        last += self._host_copies() + scattered
        if last and self.guard is not None:
            blocks += self._guard(last)
        else:
            blocks += last
        return blocks

    def _host_copies(self) -> list:
        """Return copies made by the host, of dtypes that loops cannot compute with."""
        copies = [copy for copy in self.copies if not is_plain(copy[1].dtype)]
        for variable, before, after in self.static.states:
            if after is not before and not is_plain(after.dtype):
                copies.append((after, self.state[variable]))
        pairs = [(self.buffer_of(value), buffer) for value, buffer in copies]
        blocks = []
        while pairs:  # what is read comes before what is written there
            read = {memory_of(source) for source, _ in pairs}
            free = [pair for pair in pairs if memory_of(pair[1]) not in read]
            source, buffer = pair = free[0] if free else pairs[0]
            pairs.remove(pair)
            if not free:
                copy = self.new("copy", source.dtype, source.shape, "temporary")
                pairs.append((copy, buffer))
                buffer = copy
            function = partial(np.reshape, shape=buffer.shape)
            blocks.append(Host("copy", function, [source], [buffer]))
        return blocks

    def _guard(self, last: list) -> list:
        """Return the final nests, run only if all guards hold."""
        assert self.guard is not None  # `nests` asks only then
        buffer = self.buffers[base_of(self.guard)]
        choice = self.new("choice", int32, (), "temporary")
        value = s.select(load(buffer, 0), const(0, int32), const(1, int32))
        stores = [Store(choice, 0, value)]
        if self.lowered.outputs[-1] is not buffer:  # the guard is a result, too: it is among `last`
            stores.append(Store(self.lowered.outputs[-1], 0, load(buffer, 0)))
        return [Kernel("choose", stores, ("guard",)), If(choice, [last, []])]

    def _blocks(self, unit: Nest) -> list:
        if type(unit) is Block:
            return self._block(unit)
        return [self._unit(unit)]

    def _unit(self, nest: Nest) -> Kernel | None:
        """Build the kernel of a nest, None if it has no user."""
        self.current = nest
        if nest.space[0] == "general":
            (value,) = nest.members
            buffer = self.buffers.get(value)
            if buffer is None:
                return None
            loops = general_loops(value.maker, buffer, Inliner(self.load_stored))
            names = [maker.prim.name for maker in (value.maker,) if maker is not None]
            return Kernel(f"{self.name}k{nest.number}", loops, names)
        if not nest.final and not any(value in self.buffers for value in nest.members):
            return None
        nest.targets = [
            (value, target if isinstance(target, Buffer) else self.state[target])
            for value, target in nest.targets
        ]
        nest_builder = NestBuilder(nest, self.elsewhere, self.buffers.get, self.new)
        nest_builder.also = self.also
        return nest_builder.build(f"{self.name}k{nest.number}")

    def elsewhere(self, base: Value) -> Buffer | None:
        """Return the buffer of a value from another unit, None if it is not stored."""
        if base in self.buffers and base not in self.grouping.unit_of:
            return self.buffers[base]
        if base.content is not None:
            return self.constant(base)
        unit = self.grouping.unit_of.get(base)
        if unit is None or unit >= self.current.number:  # what is not made yet is computed here
            return None
        return self.buffer_of(base)

    def buffer_of(self, value: Value) -> Buffer:
        """Return the buffer of a stored value, made on first use."""
        base = base_of(value)
        if base.content is not None:
            return self.constant(base)
        buffer = self.buffers.get(base)
        if buffer is None:
            buffer = self.buffers[base] = self.new("b", base.dtype, base.dims, kind_of(base))
        return buffer

    def constant(self, base: Value) -> Buffer:
        """Return the buffer of a constant."""
        if self.outer is not None:
            return self.outer.constant(base)
        buffer = self.buffers.get(base)
        if buffer is None:
            buffer = self.new("constant", base.dtype, base.dims, "constant")
            content = np.broadcast_to(base.content, base.dims)
            buffer.content = np.ascontiguousarray(content).reshape(base.dims)
            self.buffers[base] = buffer
        return buffer

    def load_stored(self, value: Value, index: tuple, guard: Expr | None) -> Any:
        """Return the element of a stored value of another unit, or None."""
        buffer = self.elsewhere(base_of(value))
        return None if buffer is None else guard_load(buffer, flat(index, value.dims), guard)

    def _block(self, unit: Block) -> list:
        self.current = unit
        equation = unit.equation
        way = BLOCKS.get(equation.prim.lowering.get("call", ""))
        if way is not None:
            found = way(self, equation, f"{self.name}k{unit.number}")
            if found is not None:
                return found
        host = self.host(equation)
        return [host, *self.emit_epilogue()]

    def emit_epilogue(self) -> list:
        """Return the epilogue: statements that finish the result of the current block."""
        unit = self.current
        assert type(unit) is Block
        if len(unit.members) == len(unit.equation.outputs):
            return []
        value = unit.equation.output
        axes = [Axis(f"i{k}", size) for k, size in enumerate(value.dims)]
        place = flat(tuple(map(Index.of, axes)), value.dims)
        raw = load(self.buffer_of(value), place)
        stores = self.results(value, unflatten(place, value.dims), raw)
        names = [member.maker.prim.name for member in unit.members[1:]]
        return [Kernel(f"{self.name}k{unit.number}", plain_loops(axes, stores), names)]

    def results(self, value: Value, index: tuple, expr: Expr) -> list:
        """Return the statements that consume the final element of a block's result at `index`.

        They store it, if somebody reads it, and what is computed from it (`Block.members`).
        """
        offset = flat(index, value.dims)
        elements_of: dict[Value, Expr] = {value: expr}

        def resolve(other: Value, _: tuple, guard: Expr | None) -> Expr | None:
            base = base_of(other)
            expression = elements_of.get(base)
            return self.load_stored(other, _, guard) if expression is None else expression

        inliner = Inliner(resolve)
        stores: list[Any] = []
        for member in self.current.members:
            if member is not value:
                assert member.maker is not None  # members are results of equations
                elements_of[member] = inliner.of_equation(
                    member.maker, unflatten(offset, member.dims)
                )
            buffer = self.buffers.get(member)
            if buffer is not None and not is_load(elements_of[member], buffer, offset):
                stores.append(Store(buffer, offset, elements_of[member]))
            stores += [
                Store(other, offset, elements_of[member]) for other in self.also.get(member, ())
            ]
        return stores

    def memory_of(self, value: Value) -> Buffer:
        """Return the buffer of a block's raw result, that of its only consumer if it may be."""
        buffer = self.buffers.get(value)
        if buffer is None:
            for member in self.current.members[1:]:
                shared = self.buffers.get(member)
                if (
                    shared is not None
                    and shared not in self.updated
                    and member.dtype is value.dtype
                ):
                    return shared
        return self.buffer_of(value)

    def host(self, equation: Equation) -> Host:
        """Return the call of a NumPy kernel from inside the program."""
        kernel = equation.prim.numpy
        function = partial(kernel, **equation.params) if equation.params else kernel
        inputs = [self.buffer_of(x) for x in equation.inputs]
        pairs = list(zip(inputs, equation.inputs))
        shapes = [None if buffer.shape == x.dims else x.dims for buffer, x in pairs]
        if any(dims is not None for dims in shapes):
            function = partial(_reshape, function, shapes)
        outputs = [self.buffer_of(x) for x in equation.outputs]
        if any(x.dims != buffer.shape for x, buffer in zip(equation.outputs, outputs)):
            function = partial(_reshape_results, function, [b.shape for b in outputs])
        name = getattr(kernel, "name", equation.prim.name)  # a region says what is in it
        call = Host(name, function, inputs, outputs)
        call.node = equation.node
        return call


def _reshape_results(function: Callable, shapes: list, *arrays: object) -> Any:
    results = function(*arrays)
    if type(results) is tuple:
        return tuple([np.reshape(x, shape) for x, shape in zip(results, shapes)])
    return np.reshape(results, shapes[0])


def is_scattered(static: StaticProgram, before: Value, after: Value) -> bool:
    """Return whether a variable's new value is its old one
    with rows combined, without other use.
    """
    maker = after.maker
    if maker is None or maker.prim.role is not Role.WRITE or not is_plain(after.dtype):
        return False
    if maker.inputs[0] is not before or maker.params["rule"] not in ROW_RULES:
        return False
    places, rows = maker.inputs[1:]
    if rows.dims not in ((*places.dims, *before.dims[1:]), ()):
        return False
    used = [x for equation in static.equations for x in equation.inputs]
    used += [base_of(x) for x in (*static.outputs, *static.guards)]
    others = [new for _, old, new in static.states if old is not before]
    return not any(x is after for x in (*used, *others))


def memory_of(buffer: Buffer) -> Buffer:
    """Return the buffer that a window is in, or a buffer itself."""
    return getattr(buffer, "whole", buffer)


def is_load(expr: Expr, buffer: Buffer, place: Index) -> bool:
    """Return whether an expression is just the load of an element."""
    return expr.op == "load" and not expr.args and expr.data == (buffer, place)


def _reshape(function: Any, shapes: list, *arrays: object) -> Any:
    pairs = zip(arrays, shapes)
    return function(*[x if dims is None else x.reshape(dims) for x, dims in pairs])


def combine_guards(static: StaticProgram) -> Value | None:
    """Return the conjunction of all guards, None if there are none.

    A constant where the program always fails, which is known only after the passes.
    """
    combined = None
    for guard in static.guards:
        if guard.content is not None and bool(np.all(guard.content)):
            continue
        axes = tuple(range(len(guard.dims)))
        all_of = reduce.reduce_all
        total = static.apply(all_of, [guard], {"axes": axes, "keepdims": False})
        if combined is not None:
            total = static.apply(arithmetic.logical_and, [combined, total], {})
        combined = total
    if combined is not None and combined.content is not None and combined.content.all():
        return None
    return combined
