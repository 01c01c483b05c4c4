"""A random loop program that grows, for `tests/lower/programs.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.core.dtypes import BY_NAME, DType, bool_, float32, int32
from talweg.lower.ir.index import Axis, Index
from talweg.lower.ir.loops import (
    Buffer,
    For,
    If,
    Kernel,
    LoopProgram,
    Repeat,
    Store,
    const,
    load,
    number,
)
from tests.lower.expressions import Expressions, Number, Source, make

COMPUTED = (
    "float32",
    "float32",
    "float32",
    "float64",
    "int32",
    "int64",
    "uint8",
    "int8",
    "bool",
    "float16",
    "bfloat16",
)
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 31, 40)


class Maker:
    """A program that grows, and what may be read in it so far."""

    def __init__(self, program: LoopProgram, choices: Any):
        self.program, self.choices = program, choices
        self.arrays: dict[str, Any] = {}
        self.sources: list[Source] = []
        self.blocks = program.blocks
        self.control: set[Buffer] = set()  # counters, flags and choices
        self.around: list[Axis] = []  # the axes of repeats
        self.count = 0

    def is_control(self, buffer: Buffer) -> bool:
        """Whether a buffer decides what is run, or is never written."""
        return buffer in self.control

    def give(self, dtype: DType, shape: tuple, kind: str, values: Any) -> Buffer:
        """A buffer with numbers from outside."""
        buffer = self.program.buffer(kind[0], dtype, shape, kind)
        if kind == "constant":
            buffer.content = values
        else:
            self.arrays[buffer.name] = values
        self.sources.append(Source(buffer, True))
        return buffer

    def new(self, dtype: DType, shape: tuple, kind: str = "temporary") -> Buffer:
        """A buffer that a kernel is going to write."""
        return self.program.buffer("t" if kind == "temporary" else "s", dtype, shape, kind)

    def made(self, buffer: Buffer, exact: bool) -> None:
        """A buffer is written, all of it."""
        self.sources.append(Source(buffer, exact))

    def axis(self, letter: str, extent: int) -> Axis:
        """A new axis; names come again."""
        self.count += 1
        return Axis(f"{letter}{self.count % 4}", extent)

    def kind(self, *kinds: str) -> str:
        """A kind of loop."""
        return self.choices.pick(kinds)

    def extent(self) -> int:
        """The extent of an inner loop."""
        return self.choices.pick(SIZES)

    def few(self) -> int:
        """The extent of an outer loop."""
        return self.choices.pick(SIZES[:8])

    def dtype(self) -> DType:
        """A dtype to compute."""
        return BY_NAME[self.choices.pick(COMPUTED)]

    def at(self, axes: list[Axis], outer: Expressions | None = None) -> Expressions:
        """Expressions at a place, with what was made around it."""
        found = Expressions(self.choices, self.sources, [*self.around, *axes])
        if outer is not None:
            found.pool += outer.pool
        return found

    def value(self, here: Expressions, dtype: DType) -> Number:
        """A number to store: exact where dtypes are so short that errors would grow."""
        depth = self.choices.number(1, 4)
        return here.any(dtype, depth, exact=dtype.is_floating and dtype.size < 4)

    def add(self, body: list, name: str) -> None:
        """A kernel."""
        number = len(self.blocks)
        reason = self.choices.pick(("", "it is large"))
        self.blocks.append(Kernel(f"k{number}", body, [name, "exp"], reason))

    # -- control flow

    def repeat(self, times: int, build: Callable[[], None]) -> None:
        """A repeat that a flag ends after `times` times; what it makes is not read after it."""
        first = len(self.program.buffers)
        counter, flag = self.new(int32, ()), self.new(bool_, (1,))
        self.control |= {counter, flag}
        self.blocks.append(Kernel("start", [Store(counter, 0, const(0, int32))]))
        test = Kernel("test", [Store(flag, 0, make("less", load(counter, 0), const(times, int32)))])
        outer, known = self.blocks, len(self.sources)
        self.sources.append(Source(counter, True))
        self.blocks = []
        build()
        step = make("add", load(counter, 0), const(1, int32))
        self.blocks.append(Kernel("step", [Store(counter, 0, step)]))
        body, self.blocks = [*self.blocks, test], outer
        self.blocks += [test, Repeat(self.axis("w", 1 << 20), body, flag)]
        del self.sources[known + 1 :]
        if times == 0:  # what nobody writes is no result
            self.control |= set(self.program.buffers[first:])

    def rounds(self, build: Callable[[], None]) -> None:
        """A repeat, perhaps one that a flag ends: then what it makes is not read after it."""
        axis, flag = self.axis("q", self.choices.number(1, 4)), None
        outer, known, first = self.blocks, len(self.sources), len(self.program.buffers)
        if self.choices.chance(40):
            flag = self.new(bool_, (1,))
            begins = const(self.choices.chance(80), bool_)
            outer.append(Kernel("begin", [Store(flag, 0, begins)]))
            self.control.add(flag)
        self.blocks = []
        self.around.append(axis)
        build()
        self.around.pop()
        if flag is not None:
            more = make(
                "less", number(Index.of(axis), int32), const(self.choices.number(0, 3), int32)
            )
            self.blocks.append(Kernel("more", [Store(flag, 0, more)]))
            del self.sources[known:]
            self.control |= set(self.program.buffers[first:])
        body, self.blocks = self.blocks, outer
        self.blocks.append(Repeat(axis, body, flag))

    def choose(self, bodies: int) -> None:
        """One of several kernels that make the same buffer."""
        choice, n = self.new(int32, ()), self.extent()
        self.control.add(choice)
        row = self.at([]).integer(int32, 2).expr
        self.blocks.append(
            Kernel("choice", [Store(choice, 0, make("remainder", row, const(4, int32)))])
        )
        target, outer, made = self.new(float32, (n,)), self.blocks, []
        for _ in range(bodies):
            self.blocks = []
            i = self.axis("i", n)
            value = self.at([i]).any(float32, 2)
            self.add(
                [For(i, [Store(target, i, value.expr)], self.kind("vector", "parallel"))], "case"
            )
            made.append(self.blocks)
        self.blocks = outer
        self.blocks.append(If(choice, made))
        self.made(target, False)
