"""The interpreter of loop programs, slow and simple, which defines their meaning.

It tells errors of lowering from errors of generated code: both executors run the same program.
Iterations of a loop that are independent run side by side ("lanes"); those of a serial loop, or of
every loop where `lanes=False`, one after the other.  What a program may not rely on is made to
show: memory that nothing has been written to holds NaN (integers: garbage), an index outside of its
buffer is an error, and temporaries lie where `Buffer.offset` says.

An expression is computed when it is first needed in a run of a list of statements; uses of the same
object further on in that list, and in lists within, have that value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from talweg.core.dtypes import DType
from talweg.core.errors import InternalError
from talweg.execute.loop_interpreter.memory import BufferMemory
from talweg.execute.loop_interpreter.routines import ROUTINES
from talweg.execute.loop_interpreter.values import (
    COMBINE,
    cast,
    compute_dtype,
    round_to_stored,
    value_of,
)
from talweg.lower.ir.index import Axis, Index, Quotient, Remainder
from talweg.lower.ir.loops import (
    Call,
    Expr,
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

if TYPE_CHECKING:
    from talweg.lower.ir.loops import Buffer


def run(program: LoopProgram, arrays: dict, lanes: bool = True) -> dict[str, NDArray]:
    """Run a program; outputs and states by name, the given arrays unchanged.

    `arrays`: for each input and state (and each constant without content) its array, under the
    buffer's name or its position in `program.buffers`.
    """
    memory = BufferMemory(program, arrays)
    with np.errstate(all="ignore"):
        _Machine(memory, lanes).blocks(program.blocks)
    return {
        buffer.name: memory.array(buffer).copy()
        for buffer in program.buffers
        if buffer.kind in ("output", "state")
    }


class _Frame:
    """The scope of a list of statements, for one or more lanes.

    `origin` says of each lane to which lane of the frame around it it belongs; None where they are
    the same.
    """

    __slots__ = ("axes", "lanes", "origin", "parent", "tiles", "values")

    def __init__(self, parent: _Frame | None, lanes: int, origin: NDArray | None = None):
        self.parent, self.lanes, self.origin = parent, lanes, origin
        self.axes: dict[Axis, NDArray] = {}
        self.tiles: dict[Tile, NDArray] = {}  # [lanes, *dims]
        self.values: dict[int, NDArray] = {}  # what was computed, by id of the expression

    def find(self, table: str, key: Axis | Tile | int) -> tuple[Any, Any]:
        """Return the value in this or an outer scope, and its lane for each lane; or None."""
        frame: _Frame | None = self
        origin: Any = slice(None)
        while frame is not None:
            found = getattr(frame, table).get(key)
            if found is not None:
                return found, origin
            if frame.origin is not None:
                origin = frame.origin[origin]
            frame = frame.parent
        return None, None


class _Machine:
    """The abstract machine that runs blocks and statements on a memory."""

    def __init__(self, memory: BufferMemory, lanes: bool):
        self.memory, self.side_by_side = memory, lanes
        self.scratch = False  # whether the kernel that runs has scratch buffers
        self.axes: dict[Axis, NDArray] = {}  # of the repeats around

    # -- blocks

    def blocks(self, blocks: list) -> None:
        for block in blocks:
            if type(block) is Kernel:
                self.kernel(block)
            elif type(block) is Host:
                self.host(block)
            elif type(block) is Grow:
                self.memory.grow(block.buffer, self.place(block.row) + 1)
            elif type(block) is Fill:
                self.fill(block)
            elif type(block) is Repeat:
                self.repeat(block)
            elif type(block) is If:
                number = int(self.memory.read(block.choice, np.zeros(1, np.int64))[0])
                known = 0 <= number < len(block.bodies)
                self.blocks(block.bodies[number if known else -1])
            else:
                raise InternalError(None, None, f"{type(block).__name__} is no block")

    def place(self, index: Index) -> int:
        """Evaluate an index outside of kernels."""
        frame = _Frame(None, 1)
        frame.axes.update(self.axes)
        return int(self.index(index, frame)[0])

    def fill(self, block: Fill) -> None:
        memory, target, source = self.memory, block.buffer, block.source
        if source is None:
            memory.clear(target)
            return
        start = self.place(block.start)
        rows = memory.rows(source) if block.rows is None else self.place(block.rows)
        memory.grow(target, start + rows)
        if block.rows is None:
            memory.clear(target)
        memory.array(target)[start : start + rows] = memory.array(source)[:rows]

    def repeat(self, block: Repeat) -> None:
        for i in range(block.axis.extent):
            if block.flag is not None and not self.flag(block.flag):
                break
            self.axes[block.axis] = np.full(1, i)
            self.blocks(block.body)

    def flag(self, buffer: Buffer) -> bool:
        return bool(self.memory.read(buffer, np.zeros(1, np.int64))[0])

    def kernel(self, kernel: Kernel) -> None:
        self.scratch = self.memory.poison_scratch()
        frame = _Frame(None, 1)
        frame.axes.update(self.axes)
        self.statements(kernel.body, frame)

    def host(self, host: Host) -> None:
        if host.function is None:
            raise InternalError(None, None, f"host call {host.name} has no function")
        results = host.function(*[self.memory.array(buffer).copy() for buffer in host.inputs])
        if not isinstance(results, (tuple, list)):
            results = (results,)
        if len(results) != len(host.outputs):
            raise InternalError(None, None, f"host call {host.name}: {len(results)} results")
        for buffer, result in zip(host.outputs, results):
            if buffer.kind == "stack":
                self.memory.grow(buffer, len(result))
                self.memory.array(buffer)[: len(result)] = result
            else:
                self.memory.array(buffer)[...] = result

    # -- statements

    def statements(self, body: list, frame: _Frame) -> None:
        for statement in body:
            kind = type(statement)
            if kind is For:
                self.loop(statement, frame)
            elif kind is Tile:
                self.tile(statement, frame)
            elif kind is Update:
                self.update(statement, frame)
            elif kind is Store:
                self.store(statement, frame)
            elif kind is When:
                self.when(statement, frame)
            elif kind is Call:
                self.call(statement, frame)
            else:
                raise InternalError(None, None, f"{kind.__name__} is no statement")

    def loop(self, loop: For, frame: _Frame) -> None:
        extent = loop.axis.extent
        together = self.side_by_side and loop.kind != "serial"
        if together and not (loop.kind == "parallel" and self.scratch):
            inner = _Frame(frame, frame.lanes * extent, np.repeat(np.arange(frame.lanes), extent))
            inner.axes[loop.axis] = np.tile(np.arange(extent), frame.lanes)
            if inner.lanes:
                self.statements(loop.body, inner)
            return
        for i in range(extent):
            if loop.kind == "parallel":
                self.memory.poison_scratch()  # another thread's, perhaps
            inner = _Frame(frame, frame.lanes)
            inner.axes[loop.axis] = np.full(frame.lanes, i)
            self.statements(loop.body, inner)

    def tile(self, tile: Tile, frame: _Frame) -> None:
        start = self.value(tile.start, frame).reshape(frame.lanes, *[1] * len(tile.dims))
        frame.tiles[tile] = np.array(np.broadcast_to(start, (frame.lanes, *tile.dims)))
        if tile.dtype.is_floating:
            frame.tiles[tile] = frame.tiles[tile].astype(compute_dtype(tile.dtype))

    def update(self, update: Update, frame: _Frame) -> None:
        held, place = self.place_in_tile(update.tile, update.indices, frame)
        value = self.value(update.value, frame)
        if update.op is None:
            held[place] = value
        else:
            COMBINE[update.op].at(held, place, value)

    def store(self, store: Store, frame: _Frame) -> None:
        value = self.value(store.value, frame)
        index = self.index(store.index, frame)
        self.memory.write(store.buffer, index, value, store.op)

    def when(self, when: When, frame: _Frame) -> None:
        holds = self.value(when.condition, frame)
        for body, chosen in ((when.body, holds), (when.otherwise, ~holds)):
            origin = np.flatnonzero(chosen)
            if len(origin) and body:
                self.statements(body, _Frame(frame, len(origin), origin))

    def call(self, call: Call, frame: _Frame) -> None:
        routine = ROUTINES.get(call.routine)
        if routine is None:
            raise InternalError(None, None, f"no routine {call.routine}")
        columns = [self.argument(argument, frame) for argument in call.arguments]
        dtype = call.writes[0].dtype
        for lane in range(frame.lanes):
            routine(self.memory, dtype, *[column[lane] for column in columns])

    def argument(self, argument: Index | Expr | Pointer, frame: _Frame) -> list:
        """Evaluate an argument of a routine for each lane; a pointer as (buffer, index)."""
        if type(argument) is Pointer:
            places = self.index(argument.index, frame).tolist()
            return [(argument.buffer, place) for place in places]
        if type(argument) is Expr:
            return list(self.value(argument, frame))
        return self.index(Index.of(argument), frame).tolist()

    # -- values

    def place_in_tile(self, tile: Tile, indices: tuple, frame: _Frame) -> tuple[NDArray, tuple]:
        held, origin = frame.find("tiles", tile)
        if held is None:
            raise InternalError(None, None, f"tile {tile} is used where it is not")
        places = [self.index(index, frame) for index in indices]
        for place, extent in zip(places, tile.dims, strict=True):
            if place.min() < 0 or place.max() >= extent:
                raise InternalError(None, None, f"an index leaves tile {tile}")
        lanes = np.arange(len(held))[origin]
        return held, (lanes, *places)

    def index(self, index: Index, frame: _Frame) -> NDArray:
        """Evaluate an index in each lane."""
        total = np.full(frame.lanes, index.constant, np.int64)
        for atom, factor in index.terms:
            total += self.atom(atom, frame) * factor
        return total

    def atom(self, atom: Any, frame: _Frame) -> NDArray:
        if type(atom) is Axis:
            values, origin = frame.find("axes", atom)
            if values is None:
                raise InternalError(None, None, f"axis {atom} is used outside of its loop")
            return values[origin]
        if type(atom) is Quotient:
            return self.index(atom.index, frame) // atom.divisor
        if type(atom) is Remainder:
            return self.index(atom.index, frame) % atom.divisor
        return self.value(atom.value, frame).astype(np.int64)

    def value(self, expr: Expr, frame: _Frame) -> NDArray:
        """Evaluate an expression in each lane."""
        for part in walk([expr]):
            known, origin = frame.find("values", id(part))
            if known is None:
                frame.values[id(part)] = self.compute(part, frame)
            elif frame.values.get(id(part)) is None:
                frame.values[id(part)] = known[origin]
        return frame.values[id(expr)]

    def compute(self, expr: Expr, frame: _Frame) -> NDArray:
        args = [frame.values[id(arg)] for arg in expr.args]
        op = expr.op
        if op == "const":
            return np.full(frame.lanes, number_of(expr.data, expr.dtype))
        if op == "load":
            buffer, index = expr.data
            places = self.index(index, frame)
            if not args:
                return self.memory.read(buffer, places)
            inside = self.memory.read(buffer, np.where(args[0], places, 0)) if args[0].any() else 0
            return np.where(args[0], inside, args[1]).astype(args[1].dtype)
        if op == "index":
            return self.index(expr.data, frame).astype(compute_dtype(expr.dtype))
        if op == "read":
            tile, indices = expr.data
            held, position = self.place_in_tile(tile, indices, frame)
            return held[position]
        if op == "cast":
            return cast(args[0], expr.args[0].dtype, expr.dtype)
        if op == "bits":
            source = round_to_stored(args[0], expr.args[0].dtype)
            return source.view(expr.dtype.numpy_dtype).astype(compute_dtype(expr.dtype))
        return value_of(op, args, expr.dtype)


def number_of(value: float, dtype: DType) -> Any:
    """Return a constant of an expression as the number it is computed with."""
    return np.asarray(value).astype(dtype.numpy_dtype).astype(compute_dtype(dtype))
