"""The execution context of one run: the addresses of its buffers, and its temporaries.

Native code reads the fields (`structures.ContextFields`) and fills in the addresses of what a call
is given; those of constants and of what lies in the arena are there from the start.  Host blocks
come back to Python here.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from talweg.core.errors import InternalError
from talweg.execute.call import run_anywhere
from talweg.execute.interpret import locate_error
from talweg.execute.llvm.runtime.dispatch import whole_of
from talweg.execute.llvm.runtime.stack_memory import StackMemory
from talweg.execute.llvm.runtime.structures import ContextFields
from talweg.execute.llvm.runtime.thread_pool import allocate_aligned, get_thread_pool
from talweg.lower.buffer_assignment import ALIGNMENT, PLACED, BufferAssignment
from talweg.lower.ir.loops import Buffer, Host, If, LoopProgram, Repeat


class ExecutionContext:
    """The memory for one run, which must not be freed during it."""

    def __init__(
        self,
        program: LoopProgram,
        plan: BufferAssignment,
        constants: Mapping[Buffer, NDArray],
        places: Mapping[Buffer, int],
    ):
        self._memory = allocate_aligned(ctypes.sizeof(ContextFields))
        self.address = self._memory.ctypes.data
        self.fields = ContextFields.from_address(self.address)
        whole = np.empty(plan.nbytes + ALIGNMENT, np.uint8)
        start = -whole.ctypes.data % ALIGNMENT
        self.arena = whole[start : start + plan.nbytes]
        self.stacks = StackMemory(program, places)
        self.table = self.stacks.table
        self._held = np.zeros(len(program.buffers) + 1, np.int64)
        self._place(program, constants, plan.offsets)
        self.hosts = HostCalls(program, self.table, places, self.stacks)
        self.fields.pool = get_thread_pool().address
        self.fields.buffers = self.table.ctypes.data
        self.fields.held = self._held.ctypes.data
        self.fields.host = id(self.hosts)

    def take_error(self) -> BaseException | None:
        """Take the error of a host call in this thread, if any, and free the context."""
        hosts = self.hosts
        if hosts.error is None or hosts.thread != threading.get_ident():
            return None
        error, hosts.error = hosts.error, None
        self.stacks.give_back()
        self.fields.busy = 0
        return error

    def _place(
        self,
        program: LoopProgram,
        constants: Mapping[Buffer, NDArray],
        offsets: Mapping[Buffer, int],
    ) -> None:
        """Store the addresses of buffers that are not arguments of a call."""
        start = self.arena.ctypes.data
        for place, buffer in enumerate(program.buffers):
            whole, offset = whole_of(buffer)
            if whole.kind == "constant":
                self.table[place] = constants[whole].ctypes.data + offset
            elif whole.kind in PLACED:
                self.table[place] = start + offsets[whole] + offset


class HostCalls:
    """The host calls of one context, by number; it stores their errors."""

    def __init__(
        self,
        program: LoopProgram,
        table: NDArray,
        places: Mapping[Buffer, int],
        stacks: StackMemory,
    ):
        self.blocks = hosts(program.blocks)
        self.table, self.places, self.stacks = table, places, stacks
        self.error: BaseException | None = None
        self.thread = 0
        self.views: dict[Buffer, tuple] = {}  # the last ones, and where they are

    def __call__(self, number: int | BaseException) -> bool:
        """Run a host block, or grow a stack (numbers below zero); whether it failed.

        Instead of a number: what a signal's handler has raised meanwhile.
        """
        if not isinstance(number, int):
            self.error, self.thread = number, threading.get_ident()
            return True
        block = self.blocks[number] if number >= 0 else None
        try:
            if block is None:
                self.stacks.adapt(-1 - number)
            else:
                self._run(block)
        except BaseException as error:  # noqa: BLE001 -- raised again when the program has ended
            if isinstance(error, Exception) and block is not None and block.node is not None:
                locate_error(error, block.node)
            self.error, self.thread = error, threading.get_ident()
            return True
        return False

    def _run(self, block: Host) -> None:
        copies = _may_keep(block)
        arrays = [self._array(buffer, copies) for buffer in block.inputs]
        results = run_anywhere(block.function, *arrays)
        if not isinstance(results, (tuple, list)):
            results = (results,)
        if len(results) != len(block.outputs):
            raise InternalError(None, None, f"host call {block.name}: {len(results)} results")
        for buffer, result in zip(block.outputs, results):
            if buffer.kind == "stack":
                self.stacks.put_rows(buffer, result)
                continue
            if np.shape(result) != tuple(buffer.shape):
                difference = (
                    f"{block.name} gave {np.shape(result)} instead of {tuple(buffer.shape)}"
                )
                raise InternalError(None, None, difference)
            self._view(buffer)[...] = result

    def _array(self, buffer: Buffer, copy: bool) -> NDArray:
        """Return a buffer's elements: a read-only view of its memory, or a copy."""
        if buffer.kind == "stack":
            return self.stacks.rows(buffer)
        array = self._view(buffer)
        if copy:
            return array.copy()
        array = array.view()
        array.flags.writeable = False
        return array

    def _view(self, buffer: Buffer) -> NDArray:
        """Return a view of a buffer's elements; most lie in the arena, in every run."""
        address = int(self.table[self.places[buffer]])
        known, array = self.views.get(buffer, (None, None))
        if known != address:
            if buffer.nbytes == 0:
                return np.empty(buffer.shape, buffer.dtype.numpy_dtype)
            held: Any = (ctypes.c_char * buffer.nbytes).from_address(address)
            array = np.frombuffer(held, buffer.dtype.numpy_dtype).reshape(buffer.shape)
            self.views[buffer] = address, array
        return array


def _may_keep(block: Host) -> bool:
    """Return whether a function may keep its arguments: a user's may, NumPy kernels do not."""
    return block.node is None or block.node.prim.effect == "host"


def inner_lists(block: object) -> list[list]:
    """Return the lists of blocks in a block, in the order that numbers host blocks."""
    if type(block) is Repeat:
        return [block.body]
    return block.bodies if type(block) is If else []


def hosts(blocks: Iterable) -> list[Host]:
    """Return the host blocks, in the order of their numbers."""
    found: list[Host] = []
    for block in blocks:
        if type(block) is Host:
            found.append(block)
        for inner in inner_lists(block):
            found += hosts(inner)
    return found
