"""The verifier of loop programs: the rules that executors rely on.

`check(program)` raises InternalError that names the kernel and the statement.  Only what is certain
is refused: an index within a condition, or one computed from data, is taken to be right; and so is
a read of what only one body of an `If` has written, or a `Repeat` that perhaps did not run.

* `verify_scalars.py`: dtypes, indices within buffers, axes and tiles used where they are;
* `verify_races.py`: iterations that run side by side keep out of each other's way;
* here: the blocks, who may be written, and that nothing is read before it was written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.core.dtypes import bool_, int32
from talweg.lower.ir.index import Axis, Element, Index
from talweg.lower.ir.loops import (
    KINDS,
    LOOPS,
    Buffer,
    Call,
    Fill,
    For,
    Grow,
    Host,
    If,
    Kernel,
    LoopProgram,
    Pointer,
    Repeat,
    Store,
    Tile,
    Update,
    When,
    walk,
)
from talweg.lower.ir.verify_races import check_races, check_trips
from talweg.lower.ir.verify_scalars import check_expressions
from talweg.lower.ir.visitors import (
    all_statements,
    bodies,
    brief,
    buffers_written,
    refuse,
    root_of,
    roots,
)

if TYPE_CHECKING:
    from talweg.core.dtypes import DType

_BORN = frozenset(("input", "state", "constant"))  # kinds that hold something at the start
_FIXED = frozenset(("input", "constant"))  # kinds that are never written
_STATEMENTS = (For, Store, Tile, Update, When, Call)


def check(program: LoopProgram) -> None:
    """Raise InternalError where a program breaks a rule."""
    _check_buffers(program)
    known = set(program.buffers)
    born = {buffer for buffer in known if buffer.kind in _BORN and buffer.part is None}
    _Blocks(known).run(program.blocks, born)


def _check_buffers(program: LoopProgram) -> None:
    names = set()
    for buffer in program.buffers:
        where = f"buffer {buffer.name}"
        if buffer.name in names:
            raise refuse(where, "there are two of that name")
        names.add(buffer.name)
        if buffer.kind not in KINDS:
            raise refuse(where, f"{buffer.kind!r} is no kind of buffer")
        if any(type(extent) is not int or extent < 0 for extent in buffer.shape):
            raise refuse(where, f"{buffer.shape} is no shape")
        if buffer.offset < 0 or buffer.offset % max(1, buffer.dtype.size):
            raise refuse(where, f"its offset is {buffer.offset}")
        whole = buffer.part
        if whole is None:
            continue
        if whole not in program.buffers:
            raise refuse(where, f"it is part of {whole}, which is no buffer of the program")
        if buffer.offset + buffer.nbytes > whole.nbytes:
            raise refuse(where, f"it is longer than {whole}, of which it is a part")


class _Blocks:
    """The walk over blocks with the set of initialized (root) buffers."""

    def __init__(self, known: set[Buffer]):
        self.known = known
        self.axes: list[Axis] = []  # of the repeats around

    def run(self, blocks: list, full: set[Buffer]) -> set[Buffer]:
        """Return the initialized buffers after the blocks; `full` were so before."""
        for block in blocks:
            if type(block) is Kernel:
                full = full | self.kernel(block, set(full))
            elif type(block) is Host:
                full = full | self.host(block, full)
            elif type(block) is Grow:
                self.stack(block.buffer, "grow")
                self.place(block.row, full, "grow")
            elif type(block) is Fill:
                full = full | self.fill(block, full)
            elif type(block) is Repeat:
                full = self.repeat(block, full)
            elif type(block) is If:
                self._single(block.choice, int32, "the choice of an if")
                self.read(block.choice, full, "the choice of an if")
                if not block.bodies:
                    raise refuse("if", "it has no bodies")
                full = set.union(*[self.run(body, full) for body in block.bodies])
            else:
                raise refuse("program", f"{type(block).__name__} is no block")
        return full

    def repeat(self, block: Repeat, full: set[Buffer]) -> set[Buffer]:
        """Check a repeat; returns the buffers initialized after it."""
        where = f"repeat {block.axis.name} in {block.axis.extent}"
        if type(block.axis.extent) is not int or block.axis.extent < 0 or block.axis in self.axes:
            raise refuse(where, "it has no axis of its own, or no extent")
        if block.flag is not None:
            self._single(block.flag, bool_, "the flag of a repeat")
            self.read(block.flag, full, "the flag of a repeat")
        if block.parallel:
            check_trips(block)
        self.axes.append(block.axis)
        after = self.run(block.body, full)
        self.axes.pop()
        if block.parallel:
            after = {buffer for buffer in after if buffer.kind != "private"}
        return after if block.axis.extent else full

    def stack(self, buffer: Buffer, place: str) -> None:
        """Check that a buffer can grow."""
        if buffer not in self.known or buffer.kind != "stack" or buffer.part is not None:
            raise refuse(place, f"{buffer} is no stack of the program")

    def place(self, index: Index, full: set[Buffer], place: str) -> None:
        """Check an index that is uniform over threads."""
        for atom, _ in index.terms:
            if type(atom) is Axis:
                if atom not in self.axes:
                    raise refuse(place, f"axis {atom} is used outside of its repeat")
            elif type(atom) is Element and atom.value.op == "load":
                buffer, _ = atom.value.data
                self._single(buffer, atom.value.dtype, place)
                self.read(buffer, full, place)
            else:
                raise refuse(place, f"{atom} is neither an axis nor a number that is loaded")

    def fill(self, block: Fill, full: set[Buffer]) -> set[Buffer]:
        """Check a fill and return the stack it fills."""
        self.stack(block.buffer, "fill")
        if block.source is not None:
            self.stack(block.source, "fill")
            self.read(block.source, full, "fill")
            if block.source is block.buffer or block.source.shape != block.buffer.shape:
                raise refuse("fill", f"{block.source} cannot be copied to {block.buffer}")
            if block.source.dtype is not block.buffer.dtype:
                raise refuse("fill", f"{block.source} and {block.buffer} are of two dtypes")
        for index in (block.start, block.rows):
            if index is not None:
                self.place(index, full, "fill")
        return {block.buffer}

    def _single(self, buffer: Buffer, dtype: DType, place: str) -> None:
        if buffer.size != 1 or buffer.dtype is not dtype:
            raise refuse(place, f"{buffer} is {buffer.dtype.name} {buffer.shape}")

    def read(self, buffer: Buffer, full: set[Buffer], place: str) -> None:
        """Record a read."""
        if buffer not in self.known:
            raise refuse(place, f"{buffer} is no buffer of the program")
        if root_of(buffer) not in full and buffer.size:
            raise refuse(place, f"{buffer} is read before it was written")

    def write(self, buffer: Buffer, full: set[Buffer], place: str) -> None:
        """Record a write."""
        if buffer not in self.known:
            raise refuse(place, f"{buffer} is no buffer of the program")
        root = root_of(buffer)
        if root.kind in _FIXED or buffer.kind in _FIXED:
            raise refuse(place, f"{buffer} is written, and is {root.kind}")
        full.add(root)

    def host(self, host: Host, full: set[Buffer]) -> set[Buffer]:
        place, made = f"host {host.name}", set()
        for buffer in (*host.inputs, *host.outputs):
            if root_of(buffer).kind == "scratch":
                raise refuse(place, f"{buffer} is scratch, of which each thread has its own")
        for buffer in host.inputs:
            self.read(buffer, full, place)
        for buffer in host.outputs:
            self.write(buffer, made, place)
        return made

    def kernel(self, kernel: Kernel, full: set[Buffer]) -> set[Buffer]:
        """Check a kernel; returns the buffers, scratch apart, initialized after it."""
        place = f"kernel {kernel.name}"
        for statement in all_statements(kernel.body):
            if type(statement) not in _STATEMENTS:
                raise refuse(place, f"{type(statement).__name__} is no statement")
            self._form(statement, f"{place}: {brief(statement)}")
        _check_parallel(kernel.body, place)
        full = {buffer for buffer in full if buffer.kind != "scratch"}
        self.order(kernel.body, full, place, set())
        check_expressions(kernel, self.axes)
        check_races(kernel, self.axes)
        return {buffer for buffer in full if buffer.kind != "scratch"}

    def _form(self, statement: object, where: str) -> None:
        if type(statement) is For:
            axis, kind = statement.axis, statement.kind
            if kind not in LOOPS:
                raise refuse(where, f"{kind!r} is no kind of loop")
            if type(axis.extent) is not int or axis.extent < 0:
                raise refuse(where, f"its extent is {axis.extent}")
        elif type(statement) is Tile:
            if any(type(extent) is not int or extent < 1 for extent in statement.dims):
                raise refuse(where, f"its dims are {statement.dims}")
        elif type(statement) is Call:
            for argument in statement.arguments:
                if type(argument) is Pointer:
                    buffer = argument.buffer
                    if buffer not in statement.reads and buffer not in statement.writes:
                        raise refuse(where, f"{buffer} is neither among its reads nor writes")

    def order(self, body: list, full: set[Buffer], context: str, seen: set[int]) -> None:
        """Check that statements read only elements that earlier ones have written."""
        for statement in body:
            where = f"{context}: {brief(statement)}"
            for expr in walk(roots(statement)):
                if expr.op == "load" and id(expr) not in seen:
                    seen.add(id(expr))
                    self.read(expr.data[0], full, where)
            if type(statement) is Store and statement.op is not None:
                self.read(statement.buffer, full, where)
            elif type(statement) is Call:
                for buffer in statement.reads:
                    self.read(buffer, full, where)
            if type(statement) is not Update:
                for buffer in buffers_written(statement):
                    self.write(buffer, full, where)
            for inner in bodies(statement):
                self.order(inner, full, context, seen)


def _check_parallel(body: list, place: str, outermost: bool = True) -> None:
    """Check that a parallel loop is outermost, or the only statement of such a loop."""
    for statement in body:
        parallel = type(statement) is For and statement.kind == "parallel"
        if parallel and not outermost:
            raise refuse(f"{place}: {brief(statement)}", "a parallel loop that is not outermost")
        for inner in bodies(statement):
            _check_parallel(inner, place, parallel and len(inner) == 1)
