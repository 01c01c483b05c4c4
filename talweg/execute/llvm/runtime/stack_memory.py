"""The memory of the stacks of one execution context, as many rows as runs have needed.

Behind the addresses of all buffers, in the same table, are two numbers for each stack: the rows
there is memory for, and those that are asked for, 0 to give all back.  A stack that grows once more
has at least twice its rows afterwards, and at least as many as an earlier run has needed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from talweg.execute.llvm.runtime.dispatch import whole_of
from talweg.lower.buffer_assignment import ALIGNMENT
from talweg.lower.ir.loops import Buffer, LoopProgram, stacks

FEWEST = 4096  # bytes of a stack that has any
SYMBOLS = {
    "talweg_move": ctypes.cast(ctypes.memmove, ctypes.c_void_p).value or 0,
    "talweg_set": ctypes.cast(ctypes.memset, ctypes.c_void_p).value or 0,
}


class StackMemory:
    """The stacks of one context: its table of addresses, and their memory."""

    def __init__(self, program: LoopProgram, places: Mapping[Buffer, int]):
        self.stacks = stacks(program)
        self.first = len(program.buffers) + 1
        self.table = np.zeros(self.first + 2 * len(self.stacks), np.int64)
        self.held: dict[int, NDArray] = {}
        self.most = [0] * len(self.stacks)  # rows that a run has needed
        self.places: list[list] = []  # of each stack, and what is part of it
        for stack in self.stacks:
            own = [b for b in program.buffers if whole_of(b)[0] is stack]
            self.places.append([(places[b], whole_of(b)[1]) for b in own])

    def adapt(self, number: int) -> None:
        """Grow a stack as requested; MemoryError where that is too much."""
        at = self.first + 2 * number
        rows, asked = int(self.table[at]), int(self.table[at + 1])
        if asked == 0:
            self._put(number, None, 0)
            return
        size = self.stacks[number].nbytes // self.stacks[number].shape[0]
        if asked < 0 or asked * size >= 1 << 47:
            raise MemoryError
        wanted = max(asked, 2 * rows, FEWEST // max(1, size))
        if rows:
            wanted = max(wanted, self.most[number])
        made = zeros(wanted * size)
        if rows:
            made[: rows * size] = self.held[number][: rows * size]
        self.most[number] = max(self.most[number], asked)
        self._put(number, made, wanted)

    def rows(self, stack: Buffer) -> NDArray:
        """Return the rows that a stack has memory for."""
        held = self.held.get(self.stacks.index(stack), np.zeros(0, np.uint8))
        size = stack.nbytes // stack.shape[0]
        found = held[: len(held) // size * size].view(stack.dtype.numpy_dtype)
        return found.reshape(-1, *stack.shape[1:])

    def put_rows(self, stack: Buffer, rows: NDArray) -> None:
        """Set a stack's memory to these rows."""
        number = self.stacks.index(stack)
        at = self.first + 2 * number
        if self.table[at] < len(rows):
            self._put(number, None, 0)  # what it has had is of no use
            self.table[at + 1] = len(rows)
            self.adapt(number)
        self.rows(stack)[: len(rows)] = rows

    def give_back(self) -> None:
        """Free all of it."""
        for number in range(len(self.stacks)):
            self._put(number, None, 0)

    def _put(self, number: int, memory: NDArray | None, rows: int) -> None:
        if memory is None:
            self.held.pop(number, None)
        else:
            self.held[number] = memory
        self.table[self.first + 2 * number] = rows
        for place, offset in self.places[number]:
            self.table[place] = 0 if memory is None else memory.ctypes.data + offset


def zeros(nbytes: int) -> NDArray:
    """Allocate zeroed bytes, aligned for vectors."""
    whole = np.zeros(nbytes + ALIGNMENT, np.uint8)
    start = -whole.ctypes.data % ALIGNMENT
    return whole[start : start + nbytes]
