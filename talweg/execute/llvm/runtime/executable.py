"""Executables: loop programs as machine code, with memory to run in.

An `Executable` is called with the arrays of its inputs and states, writes states in place, and
gives new arrays for its outputs.  What one run at a time needs, a table of the addresses of all
buffers and the arena of temporaries, is a `ExecutionContext`; there is one more for each thread
that runs the same executable at the same time.

A call that is as it should be never comes to Python (`dispatch.py`).  Others do: arguments that are
not plain arrays of the dtype are made so; a missing context is made; a host call that raised is
raised again, with what was written before it in the states.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from talweg.core import forks
from talweg.core.errors import InternalError, ResourceExhaustedError, compose
from talweg.core.lazy import LazyModule
from talweg.execute import cache, heap
from talweg.execute.llvm.link import code
from talweg.execute.llvm.runtime import dispatch, result_memory, routines, stack_memory
from talweg.execute.llvm.runtime.execution_context import ExecutionContext, inner_lists
from talweg.execute.llvm.runtime.sharing import MeasuredThreads
from talweg.execute.llvm.runtime.thread_pool import allocate_aligned, get_thread_pool, thread_count
from talweg.lower import buffer_assignment
from talweg.lower.ir import cost
from talweg.lower.ir.index import Axis
from talweg.lower.ir.loops import Buffer, Call, For, Kernel, LoopProgram, Repeat
from talweg.lower.ir.visitors import all_statements

if TYPE_CHECKING:
    from talweg.execute.llvm.link import generate
    from talweg.lower.ir import printer
else:
    generate = LazyModule("talweg.execute.llvm.link.generate")
    printer = LazyModule("talweg.lower.ir.printer")

# What is worth it, in operations and bytes, of which a core does about 20 in a nanosecond.
SMALL = 40_000.0  # a program that is done before somebody else could use the GIL
BARRIER = 20_000.0  # what a barrier costs
STARTING = 100_000.0  # what it costs to have other threads, who are awake, take part
WAKING = 2_000_000.0  # what it costs to wake them
ROUNDS = 100  # how often a loop goes round of which nobody knows
LARGE_ARENA = 1 << 20  # bytes of temporaries for which free memory is given back first

_NO_STATES: list = []


class ProgramRecord(NamedTuple):
    """The record of a program's blocks that is needed to run it."""

    routines: tuple[str, ...]  # the symbols of what it calls
    releases: bool  # whether to let go of the GIL
    threads: int
    waits: bool  # for threads that sleep
    plan: buffer_assignment.BufferAssignment


def make_record(program: LoopProgram, threads: int | None = None) -> ProgramRecord:
    """Make the record of the blocks."""
    names = dict.fromkeys([routines.symbol(call) for call in calls(program.blocks)])
    releases, threads, waits = _effort(program, threads)
    return ProgramRecord(
        tuple(names), releases, threads, waits, buffer_assignment.plan(program, threads)
    )


class Executable:
    """A compiled program: `executable(inputs, states)` is the list of its outputs.

    `enter` is the native function, for callers who cannot wait: it gives the outputs, or what
    `settle` then makes them of.

    Inputs, states and outputs are in the order of the program's buffers, unless lists of buffers
    say otherwise; a "state" that is only read may be of kind input.  `key`: a name for what the
    program computes (its text), under which its code is kept on disk, so that it need not even be
    emitted again; then `known` does for the blocks.
    """

    def __init__(
        self,
        program: LoopProgram,
        inputs: Sequence[Buffer] | None = None,
        states: Sequence[Buffer] | None = None,
        outputs: Sequence[Buffer] | None = None,
        threads: int | None = None,
        key: str | None = None,
        native: bool = True,
        known: ProgramRecord | None = None,
    ):
        self.program = program
        self.inputs = _of_kind(program, "input") if inputs is None else list(inputs)
        self.states = _of_kind(program, "state") if states is None else list(states)
        self.outputs = _of_kind(program, "output") if outputs is None else list(outputs)
        self.known = known or make_record(program, threads)
        self.routines, self.releases, self.threads, self.waits, self.plan = self.known
        self.shares = self.threads > 1 and self.waits  # the cores with others
        self.key = key
        self.guarded = False  # whether the last output says if the others are right
        self.in_use = self.threads  # threads that its contexts have
        self.measured: dict[int, MeasuredThreads] = {}  # beside others, by fewer
        self.code = compile_executable(program, self.routines, key, known is None)
        self.layout = dispatch.CallLayout(program, self.inputs, self.states, self.outputs)
        self.layout.fields.release = int(self.releases)
        self.constants = _constants(program)
        self.contexts: list[ExecutionContext] = []
        self._lock = threading.Lock()
        if self.routines:
            get_thread_pool().control_blas(*routines.thread_functions())
        self.native = native and dispatch.works()
        self.enter: Any = dispatch.builtin(self.layout) if self.native else _decline
        _executables.add(self)
        if self.layout.handler is not None:
            weakref.finalize(self, result_memory.forget).atexit = False

    def __call__(self, inputs: list, states: list = _NO_STATES) -> list:
        """Run the program and return its outputs, new arrays."""
        return self.settle(self.enter(inputs, states), inputs, states)

    def settle(self, result: bool | list | None, inputs: list, states: list) -> list:
        """Return the outputs for a result of `enter`, which may have declined."""
        if type(result) is list:
            return result
        if result is False:
            self._raise()
        try:
            return self._run_slowly(inputs, states)
        except MemoryError:
            raise _out_of_memory_error(self.program) from None

    def _run_slowly(self, inputs: list, states: list) -> list:
        """Run after converting the arguments that the native entry declined."""
        arrays = [_plain(x, buffer) for x, buffer in _pairs(inputs, self.inputs, "input")]
        held, after = [], []
        for x, buffer in _pairs(states, self.states, "state"):
            array = _plain(x, buffer)
            if buffer.kind == "state":
                if type(x) is not np.ndarray or not x.flags.writeable:
                    raise _wrong(buffer, x, "an array that can be written to")
                if not np.may_share_memory(array, x) or not array.flags.writeable:
                    after.append((x, array))
                arrays = [a.copy() if np.may_share_memory(a, array) else a for a in arrays]
            held.append(array)
        try:
            result = self._attempt(arrays, held)
        finally:
            for x, array in after:
                x[...] = array
        return result

    def _attempt(self, inputs: list, states: list) -> list:
        """Run with plain arrays; with a new context if all are in use."""
        if self.native:
            if all(context.fields.busy for context in self.contexts):
                self._add_frame()
            result = self.enter(inputs, states)
            if type(result) is list:
                return result
            if result is False:
                self._raise()
        return self._run_from_python(inputs, states)

    def _add_frame(self) -> None:
        """Add a context; MemoryError if there is not enough for its arena."""
        get_thread_pool().ensure(self.threads)
        if self.plan.nbytes >= LARGE_ARENA:
            heap.give_back()  # what calls took that were interpreted while this was compiled
        context = ExecutionContext(self.program, self.plan, self.constants, self.layout.places)
        context.fields.run = self.code.addresses["run"]
        context.fields.threads = self.in_use
        context.fields.waits = self.waits
        context.fields.blas = bool(self.routines)
        with self._lock:
            if self.contexts:
                self.contexts[-1].fields.next = context.address
            else:
                self.layout.fields.contexts = context.address
            self.contexts.append(context)

    def use(self, threads: int) -> None:
        """Run on this many threads from now on, within the planned number."""
        with self._lock:
            self.in_use = threads
            for context in self.contexts:
                context.fields.threads = threads

    def _raise(self) -> None:
        """Raise the error of a host call in this thread."""
        for context in self.contexts:
            error = context.take_error()
            if type(error) is MemoryError:
                raise _out_of_memory_error(self.program) from None
            if error is not None:
                try:
                    raise error
                finally:
                    del error  # its traceback holds this frame: no circle
        raise InternalError(None, None, "a host call failed, and left no error")

    # -- without the native entry

    def _run_from_python(self, inputs: list, states: list) -> list:
        """Run the program from Python, as the native entry does."""
        results = [self._new(buffer) for buffer in self.outputs]
        context = self._free_context()
        for buffers, arrays in ((self.inputs, inputs), (self.states, states)):
            for buffer, array in zip(buffers, arrays):
                context.table[self.layout.places[buffer]] = array.ctypes.data
        for buffer, array in zip(self.outputs, results):
            context.table[self.layout.places[buffer]] = array.ctypes.data
        for position, whole, offset in self.layout.parts:
            context.table[position] = context.table[whole] + offset
        get_thread_pool().launch(context.address)
        if context.fields.failed:
            self._raise()
        context.fields.busy = 0
        return results

    def _new(self, buffer: Buffer) -> NDArray:
        """Make an array for a result."""
        shape, dtype = buffer.shape, buffer.dtype.numpy_dtype
        try:
            if self.layout.handler is None:
                return np.empty(shape, dtype)
            return result_memory.empty(shape, dtype, dispatch.set_handler())
        except ValueError:  # more than there are addresses
            raise MemoryError from None

    def _free_context(self) -> ExecutionContext:
        """Take a context that is not in use."""
        while True:
            with self._lock:
                for context in self.contexts:
                    if not context.fields.busy:
                        context.fields.busy = 1
                        context.fields.failed = 0
                        return context
            self._add_frame()

    def forget_frames(self) -> None:
        """Make new contexts and threads in a forked child; running calls keep theirs."""
        self._parents_contexts, self.contexts = self.contexts, []
        self.layout.fields.contexts = 0
        self._lock = threading.Lock()


_executables: weakref.WeakSet[Executable] = weakref.WeakSet()


def _reset_after_fork() -> None:
    for executable in list(_executables):
        executable.forget_frames()


forks.in_child(_reset_after_fork)


def key_of_code(key: str) -> bytes:
    """Return the cache key of a program's code, given a name for the computation."""
    return f"program\n{code.fingerprint()}\n{key}".encode()


class MissingError(LookupError):
    """Object code that a manifest names is missing from the cache."""


def compile_executable(
    program: LoopProgram, called: Iterable[str], key: str | None = None, emit: bool = True
) -> code.LoadedCode:
    """Return a program's code in memory; MissingError if it is neither cached nor emitted."""
    symbols = routines.addresses(called)
    for name in ("talweg_barrier", "talweg_next", "talweg_host", "talweg_poll"):
        symbols[name] = get_thread_pool().addresses[name]
    symbols |= stack_memory.SYMBOLS
    kept_under = None if key is None else key_of_code(key)
    cached = None if kept_under is None else cache.get(kept_under)
    if cached is not None:
        with contextlib.suppress(*code.DAMAGED):
            return code.LoadedCode(cached, symbols, kept=True)
    if not emit:
        raise MissingError(key)
    made, cached = generate.compile_module(program, symbols)
    if kept_under is not None:
        cache.put(kept_under, cached)
    return made


def calls(blocks: Iterable) -> list[Call]:
    """Return the calls of library routines."""
    found: list[Call] = []
    for block in blocks:
        if type(block) is Kernel:
            found += [part for part in all_statements(block.body) if type(part) is Call]
        for inner in inner_lists(block):
            found += calls(inner)
    return found


def _effort(program: LoopProgram, threads: int | None) -> tuple[bool, int, bool]:
    """Decide whether to release the GIL, the number of threads, and whether to wake sleepers."""
    work = _work(program.blocks, [], {})
    if threads is not None:
        return threads > 1 or work.total > SMALL, threads, True
    most = thread_count()
    saved = work.shared * (1 - 1 / most) - work.barriers * BARRIER
    threads = most if saved > STARTING else 1
    return threads > 1 or work.total > SMALL, threads, saved > WAKING


class _Work(NamedTuple):
    """The operations and bytes: all, those in parallel loops; and barriers between."""

    total: float = 0.0
    shared: float = 0.0
    barriers: float = 0.0


def _work(blocks: Iterable, turns: list[Axis], known: dict[str, cost.Cost]) -> _Work:
    """Count the amount of work; `turns`: the axes of the repeats around.

    known: costs by `kernel_key`, which is needed for the code anyway.
    """
    total = shared = barriers = 0.0
    for block in blocks:
        if type(block) is Kernel:
            key, _ = printer.kernel_key(block, turns)
            costs = known.get(key)
            if costs is None:
                costs = known[key] = cost.cost(block)
            effort = costs.flops + costs.bytes_moved
            is_shared = any(type(part) is For and part.kind == "parallel" for part in block.body)
            each, rounds = _Work(effort, effort * is_shared, 1.0), 1
        else:
            within = [*turns, block.axis] if type(block) is Repeat else turns
            inner = [each for blocks in inner_lists(block) for each in blocks]
            each, rounds = _work(inner, within, known), 1
            if type(block) is Repeat:
                rounds = block.axis.extent if block.flag is None else min(block.axis.extent, ROUNDS)
                if block.parallel:
                    each = _Work(each.total, each.total, 1.0 / rounds)
        total += rounds * each.total
        shared += rounds * each.shared
        barriers += rounds * each.barriers
    return _Work(total, shared, barriers)


def _of_kind(program: LoopProgram, kind: str) -> list[Buffer]:
    return [b for b in program.buffers if b.kind == kind and b.part is None]


def _constants(program: LoopProgram) -> dict[Buffer, NDArray]:
    """Return the contents of constants, aligned for vectors."""
    found = {}
    for buffer in program.buffers:
        if buffer.kind == "constant" and buffer.part is None:
            content = np.asarray(buffer.content, buffer.dtype.numpy_dtype, order="C")
            if content.size != buffer.size:
                raise _wrong(buffer, content, "the content of a constant")
            if content.ctypes.data % buffer_assignment.ALIGNMENT or not content.flags.c_contiguous:
                place = allocate_aligned(buffer.nbytes)
                place[...] = np.frombuffer(content.tobytes(), np.uint8)
                content = place
            found[buffer] = content
    return found


def _decline(inputs: list, states: list) -> None:
    """Return the native entry's answer to a call that Python has to make."""


def _pairs(values: Iterable, buffers: list[Buffer], kind: str) -> list[tuple[Any, Buffer]]:
    """Pair each value with its buffer."""
    values = list(values)
    if len(values) != len(buffers):
        text = f"a compiled program was given {len(values)} {kind}s, and has {len(buffers)}"
        raise InternalError(None, None, text)
    return list(zip(values, buffers))


def _plain(value: np.generic | np.ndarray, buffer: Buffer) -> NDArray:
    """Return a value as native code expects it, itself if it is so already."""
    dtype = buffer.dtype.numpy_dtype
    array = value
    if type(array) is not np.ndarray:
        array = np.asarray(array, dtype if isinstance(value, (bool, int, float)) else None)
    if array.dtype is not dtype:
        if array.dtype != dtype and array.dtype.newbyteorder("=") != dtype:
            raise _wrong(buffer, array, "an argument of a compiled program")
        array = array.astype(dtype)
    if array.shape != tuple(buffer.shape):
        raise _wrong(buffer, array, "an argument of a compiled program")
    if not (array.flags.c_contiguous and array.flags.aligned):
        array = array.copy(order="C")
    return array


def _wrong(buffer: Buffer, value: list[float] | np.ndarray, what: str) -> InternalError:
    found = f"{getattr(value, 'dtype', type(value).__name__)} {np.shape(value)}"
    wanted_ = f"{buffer.dtype.name} {tuple(buffer.shape)}"
    return InternalError(None, None, f"{buffer.name}, {what}: {found} instead of {wanted_}")


def _out_of_memory_error(program: LoopProgram) -> ResourceExhaustedError:
    text = compose("TW209", f"{program.name}: not enough memory for its results and temporaries")
    return ResourceExhaustedError(None, None, text)
