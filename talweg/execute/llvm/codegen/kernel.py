"""Code generation of a kernel as an LLVM function."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from talweg.execute.llvm.codegen import interrupts
from talweg.execute.llvm.codegen.access_analysis import AccessAnalysis, AccessFacts, roots_of
from talweg.execute.llvm.codegen.builder import IRBuilder, IRScope, IRValue
from talweg.execute.llvm.codegen.index import Along, Indices
from talweg.execute.llvm.codegen.memory import MemoryEmitter, root
from talweg.execute.llvm.codegen.prefetch import find_named_rows, is_streamed, rows_ahead
from talweg.execute.llvm.codegen.tiles import TileRegisters, TileState, everything
from talweg.execute.llvm.codegen.types import register, vector
from talweg.execute.llvm.codegen.values import ValueEmitter
from talweg.execute.llvm.codegen.vectorize import VectorLoops
from talweg.lower.ir.cost import cost
from talweg.lower.ir.index import Axis, Index
from talweg.lower.ir.loops import (
    Buffer,
    Call,
    Expr,
    For,
    Kernel,
    Pointer,
    Store,
    Tile,
    Update,
    When,
    elements,
)

if TYPE_CHECKING:
    from talweg.execute.llvm.vector_math.library import VectorMathLibrary

MOST = 1 << 20  # iterations that 4096 threads can share with numbers of 32 bits
LOOPS = 8  # between two barriers whose pieces can be counted
PIECES = 64  # of a loop, at most
FEWEST_PIECES = 8
PIECE_WORK = 1 << 16  # operations of a piece, at least
WRITTEN_OUT = 64  # the longest unroll loop that is written out if no tile needs it
# A counter whose next value it cannot see is no induction variable to LLVM: loop strength reduction
# took a quarter of the time of code generation, and helped products alone.  It is no instruction.
OPAQUE = "call i64 @llvm.expect.i64(i64 {}, i64 0)"


class KernelEmitter:
    """The emitter of one kernel; `declared` collects the module's declarations."""

    def __init__(
        self, library: VectorMathLibrary | None, declared: dict[str, str], vector_bytes: int
    ):
        self.code = IRBuilder(library)
        self.indices = Indices(self.code)
        self.memory = MemoryEmitter(self.code, self.indices, vector_bytes)
        self.tiles = TileRegisters(self.code, self.indices, vector_bytes)
        self.finder = AccessAnalysis()
        order = self.finder.order
        self.values = ValueEmitter(self.code, self.indices, self.memory, library, self.tiles, order)
        self.vector_loops = VectorLoops(self, vector_bytes)
        self.declared = declared
        self.rows: list[Axis] = []  # of the loops around, one turn after the other
        self.waits = False  # threads wait for each other within the kernel
        self.pieces = 0  # loops cut in pieces since the threads last waited
        self.asks = False  # whether it may be given up for a signal
        self.effort = 0.0  # of what does not count itself
        self.leaves = False  # somewhere it returns before its end

    def function(
        self, kernel: Kernel, turns: Sequence[Axis] = (), asks: bool = False
    ) -> tuple[str, list[Buffer]]:
        """Emit the function: its text after the name, and its buffer parameters.

        `turns` are the axes of the repeats around the kernel, parameters before these.  `asks`:
        whether it may be given up for a signal.
        """
        self.asks = asks
        for number, axis in enumerate(turns):
            self.indices.axes[axis] = Along(IRValue(f"%turn{number}"))
        self.top(kernel.body)
        buffers = list(self.memory.names)
        shared: dict[Buffer, int] = {}
        for buffer in buffers:
            shared[root(buffer)] = shared.get(root(buffer), 0) + 1
        parameters = ["i64 %thread", "i64 %threads", "ptr %context"]
        parameters += [f"i64 %turn{number}" for number in range(len(turns))]
        for buffer, text in self.memory.names.items():
            alone = shared[root(buffer)] == 1 and not self.waits  # others write while it waits
            alias = "noalias " if alone else ""
            parameters.append(f"ptr {alias}{text}")
        lines = "\n".join(self.code.scopes[0].lines)
        head = f"({', '.join(parameters)}) #0 {{"
        gone = "\nleave:\n  ret void" if self.leaves else ""
        return f"{head}\nentry:\n{lines}\n  ret void{gone}\n}}\n", buffers

    def forget(self) -> None:
        """Break the reference cycles between parts."""
        vars(self).clear()

    # ---------------------------------------------------------------- lists of statements

    def top(self, body: list) -> None:
        """Emit the kernel's statements, distributed over threads."""
        if not any(type(statement) is For and statement.kind == "parallel" for statement in body):
            self.run(body)
            return
        reads: set[Buffer] = set()  # since the threads last waited for each other
        writes: set[Buffer] = set()
        for position, statement in enumerate(body):
            parallel = type(statement) is For and statement.kind == "parallel"
            facts = self.finder.of(statement)
            effects = facts.effects
            if facts.writes & (reads | writes) or facts.reads & writes:
                number = self.code.fresh()
                wait = "call i1 @talweg_wait(ptr %context, i64 %thread, i64 %threads)"
                self.code.line(f"%wait{number} = {wait}")
                interrupts.leave_if(self, f"%wait{number}")
                self.code.invalidate(self.finder.of_list(body).writes)
                self.waits, reads, writes = True, set(), set()
                self.pieces = 0
            reads |= buffers_shared_by_threads(facts.reads)
            writes |= buffers_shared_by_threads(facts.writes)
            rest = body[position + 1 :]
            if parallel:
                self.parallel(statement)
            elif effects:
                flag = self.code.compute("icmp eq i64 %thread, 0", 1, 0)
                self.branch(flag, self.finder.of(statement), lambda s=statement: self.run([s]))
            else:
                self.statement(statement, rest)

    def run(self, body: Sequence) -> None:
        """Emit statements in order."""
        declared: list[Tile] = []
        mark = len(self.values.log)
        for position, statement in enumerate(body):
            sums = []
            if type(statement) is For and statement.kind == "vector" and self.rows:
                ahead = rows_ahead(list(body), statement, self.rows[-1])
                self.vector_loops.ahead[id(statement)] = ahead
            if type(statement) is For and declared and self.indices.lanes == 1:
                sums = self.vector_loops.open_sums(statement, declared)
            self.statement(statement, body[position + 1 :])
            for one in reversed(sums):
                self.tiles.close_sum(one)
            if type(statement) is Tile:
                declared.append(statement)
        self.values.forget(mark)

    def statement(self, statement: Any, rest: Sequence) -> None:
        """Emit one statement; `rest` are those after it in its list."""
        kind = type(statement)
        if kind is For:
            self.loop(statement)
        elif kind is Store:
            buffer, index = statement.buffer, statement.index
            value, values = self.evaluate(statement.value, (index,))
            streamed = is_streamed(buffer, index, self.vector_loops.loop, self.indices.lanes)
            self.memory.store(buffer, index, values, value, statement.op, streamed)
        elif kind is Update:
            value, _ = self.evaluate(statement.value, statement.indices)
            self.tiles.update(statement.tile, statement.indices, value, statement.op)
        elif kind is Tile:
            self.tile(statement, rest)
        elif kind is When:
            self.when(statement)
        elif kind is Call:
            self.call(statement)
        else:
            raise TypeError(f"not a statement: {statement!r}")

    def evaluate(self, value: Expr, indices: tuple[Index, ...]) -> tuple[IRValue, dict]:
        """Emit an expression; its value, and all values (those in the indices, too) by id."""
        values = self.values.evaluate(roots_of(value, indices))
        return values[id(value)], values

    def tile(self, tile: Tile, rest: Sequence) -> None:
        """Allocate registers for a tile."""
        start = self.values.one(tile.start)
        fast = self.finder.of_list(rest).fast.get(tile) if tile.dims else None
        if fast is None:
            self.tiles.declare(tile, start, None, [])
        else:
            dim, loop = fast
            self.tiles.declare(tile, start, dim, self.vector_loops.pieces(loop))

    # ---------------------------------------------------------------- loops

    def loop(self, statement: For) -> None:
        """Emit a loop of any kind."""
        axis, axes = statement.axis, self.indices.axes
        kind = statement.kind
        if axis.extent <= 0:
            return
        if axis.extent == 1:
            axes[axis] = Along(None, 0)
            self.run(statement.body)
            return
        innermost = kind == "vector" and not self.vector_loops.holds_vectors(statement)
        if innermost and self.indices.lanes == 1:
            self.vector_loops.emit(statement)
            return
        needed = axis in self.finder.of(statement).axes
        if needed or (kind == "unroll" and axis.extent <= WRITTEN_OUT):
            for number in range(axis.extent):
                axes[axis] = Along(None, number)
                self.run(statement.body)
            return

        outside = len(self.code.scopes) == 1 or any(type(one) is Call for one in statement.body)
        each = interrupts.each_turn(self, statement) if outside else 0.0

        def body(counter: IRValue) -> None:
            axes[axis] = Along(counter)
            if each:
                interrupts.ask(self, counter, each)
            self.turn(statement)

        self.emit_counted_loop(
            IRValue("0"), IRValue(str(axis.extent)), 1, self.finder.of(statement), body
        )

    def turn(self, loop: For) -> None:
        """Emit the body of a loop, for the present value of its axis."""
        if self.indices.lanes == 1:
            mark = len(self.values.log)
            asked: set[str] = set()  # equal places may stand in several expressions
            for row in find_named_rows(loop, self.finder.of(loop).orders):
                _, values = self.evaluate_indices((row.start,))
                for place in row.lines():
                    self.memory.ask_for(row.buffer, row.start + place, values, row.written, asked)
            self.values.forget(mark)
        self.rows.append(loop.axis)
        self.run(loop.body)
        self.rows.pop()

    def emit_counted_loop(
        self,
        start: IRValue,
        stop: IRValue,
        step: int,
        facts: AccessFacts,
        body: Callable[[IRValue], None],
        following: str = "add nuw nsw i64 {}, {}",
    ) -> None:
        """Emit a loop from start up to stop, which runs at least once.

        following: the instruction that makes the next counter of this one and the step.
        """
        code, number = self.code, self.code.fresh()
        outer = code.scopes[-1]
        depth = len(code.scopes)
        carried = self.find_carried(facts)
        code.invalidate(facts.writes)
        scope = IRScope(f"loop{number}", facts.writes)
        code.scopes.append(scope)
        phis = self.enter(carried, depth)
        counter = IRValue(f"%i{number}", 1, depth)
        body(counter)
        ends = self.leave(carried)
        code.scopes.pop()
        lines = outer.lines
        lines.append(f"  br label %before{number}")
        lines.append(f"before{number}:")
        lines.append(f"  br label %loop{number}")
        lines.append(f"loop{number}:")
        into, latch = f"%before{number}", f"%latch{number}"
        lines.append(f"  %i{number} = phi i64 [{start.text}, {into}], [%n{number}, {latch}]")
        for phi, (state, _, first), end in zip(phis, carried, ends):
            kind = vector(state.kind, first.lanes)
            lines.append(f"  {phi.text} = phi {kind} [{first.text}, {into}], [{end.text}, {latch}]")
        lines += scope.lines
        lines.append(f"  br label {latch}")
        lines.append(f"latch{number}:")
        name = "n" if carried else "m"  # where sums stay in registers, an addition less counts
        lines.append(f"  %{name}{number} = {following.format(f'%i{number}', step)}")
        if not carried:
            lines.append(f"  %n{number} = {OPAQUE.format(f'%m{number}')}")
        lines.append(f"  %c{number} = icmp slt i64 %n{number}, {stop.text}")
        lines.append(f"  br i1 %c{number}, label %loop{number}, label %after{number}")
        lines.append(f"after{number}:")
        outer.label = f"after{number}"
        code.invalidate(facts.writes)
        for (state, offset, _), end in zip(carried, ends):
            state.put(code, offset, end._replace(depth=depth - 1))

    def find_carried(self, facts: AccessFacts) -> list[tuple[TileState, int, IRValue]]:
        """Return the registers a statement may change, with their values before it."""
        found = []
        for state in everything(self.tiles, facts.updates):
            for offset, piece in list(state.pieces.items()):
                if state.lanewise:
                    piece = self.code.spread_value(piece, state.lanewise, state.kind)
                found.append((state, offset, piece))
        return found

    def enter(self, carried: list, depth: int) -> list[IRValue]:
        """Emit phi nodes for them in a loop."""
        phis = []
        for state, offset, piece in carried:
            phi = IRValue(f"%p{self.code.fresh()}", piece.lanes, depth)
            state.pieces[offset] = phi
            phis.append(phi)
        return phis

    def leave(self, carried: list) -> list[IRValue]:
        """Return their values now, in the same pieces as before."""
        ends = []
        for state, offset, piece in carried:
            end = state.get(self.code, offset, piece.lanes)
            ends.append(self.code.spread_value(end, piece.lanes, state.kind))
        return ends

    def parallel(self, statement: For) -> None:
        """Emit a parallel loop; perfectly nested ones are collapsed."""
        nest = [statement]
        while len(nest[-1].body) == 1:
            (inner,) = nest[-1].body
            if type(inner) is not For or inner.kind != "parallel":
                break
            nest.append(inner)
        total = 1
        for loop in nest:
            total *= loop.axis.extent
        if total <= 0:
            return
        facts = self.finder.of(statement)
        code = self.code
        work = cost(Kernel("loop", [statement]))
        effort = work.flops + work.bytes_moved
        counts = self.asks and effort > interrupts.OFTEN
        self.effort += 0.0 if counts else effort
        size = piece(work.flops / total, total)
        if size and self.pieces < LOOPS:
            begin, end, following = self.pieces_of(total, size)
        else:
            begin, end = self.share(total)
            following = "add nuw nsw i64 {}, {}"
        some = code.compute(f"icmp ult i64 {begin.text}, {end.text}", 1, 0)

        def turns() -> None:
            def body(counter: IRValue) -> None:
                if counts:
                    interrupts.ask(self, counter, effort / total)
                self.split(nest, counter)
                self.turn(nest[-1])

            self.emit_counted_loop(begin, end, 1, facts, body, following)

        self.branch(some, facts, turns, certain=True)

    def pieces_of(self, total: int, size: int) -> tuple[IRValue, IRValue, str]:
        """Emit the bounds of a dynamically scheduled loop, and the code that continues it."""
        loop, code = self.pieces, self.code
        self.pieces += 1
        given = f"ptr %context, i64 %threads, i64 {loop}, i64 {size}"
        first = code.fresh()
        code.line(f"%v{first} = call i64 @talweg_piece({given})")
        begin = IRValue(f"%v{first}", 1, len(code.scopes) - 1)
        return begin, IRValue(str(total)), f"call i64 @talweg_turn({given}, i64 {{}})"

    def share(self, total: int) -> tuple[IRValue, IRValue]:
        """Return the bounds of this thread's iterations among `total`."""
        code = self.code
        few = total < MOST  # then 32 bits do for the product, and a division takes half the time
        kind = "i32" if few else "i64"
        names = []
        for name in ("%thread", "%threads"):
            text = f"trunc i64 {name} to i32"
            names.append(code.compute(text, 1, 0).text if few else name)
        low = code.compute(f"mul {kind} {names[0]}, {total}", 1, 0)
        high = code.compute(f"add {kind} {low.text}, {total}", 1, 0)
        ends = []
        for product in (low, high):
            end = code.compute(f"udiv {kind} {product.text}, {names[1]}", 1, 0)
            ends.append(code.compute(f"zext i32 {end.text} to i64", 1, 0) if few else end)
        return ends[0], ends[1]

    def split(self, nest: list[For], counter: IRValue) -> None:
        """Emit the indices of collapsed loops from the number of the iteration."""
        code, rest = self.code, counter
        for loop in reversed(nest[1:]):
            extent = loop.axis.extent
            text = f"urem i64 {rest.text}, {extent}"
            self.indices.axes[loop.axis] = Along(code.compute(text, 1, rest.depth))
            rest = code.compute(f"udiv i64 {rest.text}, {extent}", 1, rest.depth)
        self.indices.axes[nest[0].axis] = Along(rest)

    # ---------------------------------------------------------------- branches and calls

    def when(self, statement: When) -> None:
        """Emit statements under a condition."""
        condition = self.values.one(statement.condition)
        if condition.text in ("true", "false"):
            self.run(statement.body if condition.text == "true" else statement.otherwise)
            return
        other = partial(self.run, statement.otherwise) if statement.otherwise else None
        body = partial(self.run, statement.body)
        if statement.condition.op == "is_nan":
            body = partial(self.vector_loops.run_rarely, body)
        self.branch(condition, self.finder.of(statement), body, other)

    def branch(
        self,
        condition: IRValue,
        facts: AccessFacts,
        body: Callable[[], None],
        other: Callable[[], None] | None = None,
        certain: bool = False,
    ) -> None:
        """Emit `body` if the condition holds, else `other`.

        certain: what is loaded in it may be loaded before it.
        """
        code, number = self.code, self.code.fresh()
        outer, depth, floor = code.scopes[-1], len(code.scopes), code.floor
        carried = self.find_carried(facts)
        arms, ends = [], []
        for name, part in (("then", body), ("else", other)):
            code.invalidate(facts.writes)
            scope = IRScope(f"{name}{number}", facts.writes)
            code.scopes.append(scope)
            code.floor = floor if certain else depth
            if part is not None:
                part()
            ends.append(self.leave(carried))
            code.scopes.pop()
            code.floor = floor
            arms.append((name, scope))
            for state, offset, piece in carried:
                state.put(code, offset, piece)
        lines = outer.lines
        lines.append(f"  br i1 {condition.text}, label %then{number}, label %else{number}")
        for name, scope in arms:
            lines.append(f"{name}{number}:")
            lines += scope.lines
            lines.append(f"  br label %{name}_end{number}")
            lines.append(f"{name}_end{number}:")
            lines.append(f"  br label %join{number}")
        lines.append(f"join{number}:")
        code.invalidate(facts.writes)
        for (state, offset, piece), yes, no in zip(carried, *ends):
            if yes.text == no.text:
                continue
            phi = IRValue(f"%p{code.fresh()}", piece.lanes, depth - 1)
            kind = vector(state.kind, piece.lanes)
            lines.append(
                f"  {phi.text} = phi {kind} [{yes.text}, %then_end{number}], "
                f"[{no.text}, %else_end{number}]"
            )
            state.put(code, offset, phi)

    def call(self, statement: Call) -> None:
        """Emit a call of a library routine."""
        types, texts = [], []
        for argument in statement.arguments:
            if type(argument) is Pointer:
                _, values = self.evaluate_indices((argument.index,))
                address = self.indices.place(argument.index, values)
                value = self.memory.pointer(argument.buffer, address.base, address.constant)
                kind = "ptr"
            elif isinstance(argument, Expr):
                value, kind = self.values.one(argument), register(argument.dtype)
            else:
                index = Index.of(argument)
                _, values = self.evaluate_indices((index,))
                value, kind = self.indices.total(self.indices.place(index, values)), "i64"
            types.append(kind)
            texts.append(f"{kind} {value.text}")
        name = f"talweg_{statement.routine}_{statement.writes[0].dtype.name}"
        self.declared[name] = f"declare void @{name}({', '.join(types)})"
        self.code.line(f"call void @{name}({', '.join(texts)})")
        self.code.invalidate([root(buffer) for buffer in statement.writes])

    def evaluate_indices(self, indices: tuple[Index, ...]) -> tuple[None, dict]:
        """Emit the values that indices depend on."""
        roots = tuple([atom.value for index in indices for atom in elements(index)])
        return None, self.values.evaluate(roots) if roots else {}


def piece(work: float, total: int) -> int:
    """Return the iterations that a thread takes at a time; 0: static scheduling.

    `work`: the operations of one.  Threads are not equally fast, for other processes or machines
    may share their cores.
    """
    size = max(-(-total // PIECES), math.ceil(PIECE_WORK / max(work, 1.0)))
    return size if total >= FEWEST_PIECES * size else 0


def buffers_shared_by_threads(buffers: set[Buffer]) -> set[Buffer]:
    """Return the buffers that threads share."""
    return {buffer for buffer in buffers if buffer.kind != "scratch"}
