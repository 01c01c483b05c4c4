"""Code generation of stacks: `Grow` and `Fill` in @run, and release of memory at its end.

Behind the addresses of the buffers are two numbers for each stack
(`execute/llvm/runtime/execution_context.py`): how many rows there is memory for, and how many are
asked for.  Growing is done by Python (`HostCalls`), which is seldom: a stack grows to twice its
rows, and keeps its memory from call to call, if that is not much.  Every thread looks whether there
is memory, and finds the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.lower.ir.index import Axis, Index
from talweg.lower.ir.loops import Buffer, Fill, Grow

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.execute.llvm.codegen.program import ProgramEmitter

KEPT = 1 << 24  # bytes of a stack that are kept from call to call


def row_bytes(buffer: Buffer) -> int:
    """Return the size of one row."""
    return buffer.nbytes // buffer.shape[0]


class Stacks:
    """The emitter of operations on stacks; `places` are their numbers among the buffers."""

    def __init__(self, emitter: ProgramEmitter, places: list[int]):
        self.emitter = emitter
        self.count = len(emitter.program.buffers)
        self.order = {place: number for number, place in enumerate(places)}

    def grow(self, block: Grow) -> None:
        """Emit the allocation of a row."""
        row = self.index(block.row)
        rows = f"%g{self.emitter.fresh()}"
        self.emitter.line(f"{rows} = add i64 {row}, 1")
        self.ensure(block.buffer, rows)

    def ensure(self, buffer: Buffer, rows: str) -> None:
        """Emit the allocation of this many rows; Python is called if memory is short."""
        emitter, number = self.emitter, self.emitter.fresh()
        line, pending = emitter.line, emitter.pending
        line(f"%n{number} = icmp ugt i64 {rows}, {self.capacity(buffer)}")
        line(f"br i1 %n{number}, label %grow{number}, label %enough{number}")
        emitter.lines.append(f"grow{number}:")
        emitter.barrier()  # nobody is in the old memory any more
        line(f"store i64 {rows}, ptr {self.field(buffer, 1)}, align 8")
        emitter.call_host(-1 - self.number(buffer))
        line(f"br label %enough{number}")
        emitter.lines.append(f"enough{number}:")
        emitter.pending = pending

    def fill(self, block: Fill) -> None:
        """Emit the copy of rows, or zeros."""
        emitter, target, source = self.emitter, block.buffer, block.source
        size = row_bytes(target)
        if source is None:
            emitter.wait()
            self.by_first(self.clear, target, self.capacity(target), size)
            return
        rows = self.capacity(source) if block.rows is None else self.index(block.rows)
        start = self.index(block.start)
        end = f"%g{emitter.fresh()}"
        emitter.line(f"{end} = add i64 {start}, {rows}")
        emitter.wait()
        self.ensure(target, end)
        self.by_first(self.copy, target, source, start, rows, size)

    def by_first(self, emit: Callable, *arguments: object) -> None:
        """Emit code of thread 0, followed by a barrier."""
        emitter, number = self.emitter, self.emitter.fresh()
        emitter.line(f"br i1 %first, label %only{number}, label %done{number}")
        emitter.lines.append(f"only{number}:")
        emit(*arguments)
        emitter.line(f"br label %done{number}")
        emitter.lines.append(f"done{number}:")
        emitter.barrier()

    def clear(self, target: Buffer, rows: str, size: int) -> None:
        """Emit zeros."""
        emitter, number = self.emitter, self.emitter.fresh()
        emitter.line(f"%n{number} = mul i64 {rows}, {size}")
        pointer = emitter.pointer(target)
        emitter.line(f"%z{number} = call ptr @talweg_set(ptr {pointer}, i32 0, i64 %n{number})")

    def copy(self, target: Buffer, source: Buffer, start: str, rows: str, size: int) -> None:
        """Emit a copy of rows of another stack, and zeros behind them."""
        emitter, number = self.emitter, self.emitter.fresh()
        line = emitter.line
        line(f"%n{number} = mul i64 {rows}, {size}")
        line(f"%s{number} = mul i64 {start}, {size}")
        to, of = emitter.pointer(target), emitter.pointer(source)
        line(f"%t{number} = getelementptr i8, ptr {to}, i64 %s{number}")
        line(f"%z{number} = call ptr @talweg_move(ptr %t{number}, ptr {of}, i64 %n{number})")
        line(f"%e{number} = getelementptr i8, ptr %t{number}, i64 %n{number}")
        line(f"%u{number} = add i64 {start}, {rows}")
        line(f"%l{number} = sub i64 {self.capacity(target)}, %u{number}")
        line(f"%m{number} = mul i64 %l{number}, {size}")
        line(f"%y{number} = call ptr @talweg_set(ptr %e{number}, i32 0, i64 %m{number})")

    def give_back(self) -> None:
        """Emit the release of excess memory at the end."""
        emitter = self.emitter
        for slot in self.order:
            buffer, number = emitter.program.buffers[slot], emitter.fresh()
            size = row_bytes(buffer)
            if not size:
                continue
            most = max(1, KEPT // size)
            emitter.line(f"%n{number} = icmp ugt i64 {self.capacity(buffer)}, {most}")
            emitter.line(f"br i1 %n{number}, label %give{number}, label %keep{number}")
            emitter.lines.append(f"give{number}:")
            emitter.barrier()
            emitter.line(f"store i64 0, ptr {self.field(buffer, 1)}, align 8")
            emitter.call_host(-1 - self.number(buffer))
            emitter.line(f"br label %keep{number}")
            emitter.lines.append(f"keep{number}:")

    # -- numbers

    def number(self, buffer: Buffer) -> int:
        """Return the number of a stack among the stacks."""
        return self.order[self.emitter.numbers[buffer]]

    def field(self, buffer: Buffer, which: int) -> str:
        """Return the address of a field of a stack."""
        number = self.emitter.fresh()
        place = self.count + 1 + 2 * self.number(buffer) + which
        self.emitter.line(f"%f{number} = getelementptr ptr, ptr %buffers, i64 {place}")
        return f"%f{number}"

    def capacity(self, buffer: Buffer) -> str:
        """Load the number of rows that there is memory for."""
        field, number = self.field(buffer, 0), self.emitter.fresh()
        self.emitter.line(f"%k{number} = load i64, ptr {field}, align 8")
        return f"%k{number}"

    def index(self, index: Index) -> str:
        """Emit an index of repeat axes and loaded numbers, uniform over threads."""
        emitter, found = self.emitter, str(index.constant)
        for atom, factor in index.terms:
            part = emitter.turns[atom] if type(atom) is Axis else self.load_number(atom.value)
            number = emitter.fresh()
            emitter.line(f"%d{number} = mul i64 {part}, {factor}")
            emitter.line(f"%j{number} = add i64 {found}, %d{number}")
            found = f"%j{number}"
        return found

    def load_number(self, value: Any) -> str:
        """Load a number as an i64."""
        buffer, emitter = value.data[0], self.emitter
        bits = 8 * buffer.dtype.size
        found = emitter.value(buffer, f"i{bits}")
        if bits == 64:
            return found
        number = emitter.fresh()
        emitter.line(f"%w{number} = sext i{bits} {found} to i64")
        return f"%w{number}"
