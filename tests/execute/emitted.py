"""Runs loop programs as machine code and with NumPy, and compares.

Each buffer ends where a page begins that nobody may touch, so that reading too far is noticed, too;
what lies before it is compared afterwards.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from talweg.execute.llvm.codegen.program import emit
from talweg.execute.llvm.link import code
from talweg.execute.llvm.runtime.structures import ContextFields
from talweg.execute.llvm.vector_math.library import VectorMathLibrary
from talweg.execute.loop_interpreter import interpreter
from talweg.lower.ir.loops import Buffer, LoopProgram
from talweg.lower.ir.printer import parse
from talweg.lower.ir.verifier import check

PAGE = mmap.PAGESIZE
_LIBC = ctypes.CDLL(None)
_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
_BARRIER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_NEXT = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
_HOST = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64)
_POLL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)


class Guarded:
    """Bytes that end at the end of a page, the next of which is not there."""

    def __init__(self, nbytes: int):
        pages = -(-nbytes // PAGE) + 1
        self.region = mmap.mmap(-1, (pages + 1) * PAGE)
        whole = np.frombuffer(self.region, np.uint8)
        self.address = whole.ctypes.data
        end = pages * PAGE
        self.data = whole[end - nbytes : end]
        self.before = whole[end - nbytes - 64 : end - nbytes]
        self.before[:] = 0xA5
        self.guard(0)
        self.pages = pages

    def guard(self, protection: int) -> None:
        """Sets what may be done to the last page."""
        last = self.address + (len(self.region) // PAGE - 1) * PAGE
        assert _LIBC.mprotect(ctypes.c_void_p(last), ctypes.c_size_t(PAGE), protection) == 0

    def check(self) -> None:
        """Nothing was written before it."""
        assert (self.before == 0xA5).all()

    def __del__(self) -> None:
        self.guard(mmap.PROT_READ | mmap.PROT_WRITE)


class Machine:
    """A program as machine code, with what it calls."""

    def __init__(self, program: LoopProgram, vector_bytes: int = 32, symbols: dict | None = None):
        self.program = program
        self.text = emit(program, vector_bytes, VectorMathLibrary())
        self.hosts: list[Any] = []
        self.barrier: threading.Barrier | None = None
        self.context = ContextFields()
        self.polls = 0
        self.taken: dict[int, int] = {}  # pieces of loops since the last barrier
        self.lock = threading.Lock()
        callbacks = {
            "talweg_barrier": _BARRIER(self._wait),
            "talweg_next": _NEXT(self._next),
            "talweg_host": _HOST(self._host),
            "talweg_poll": _POLL(self._poll),
        }
        self.callbacks = {**callbacks, **(symbols or {})}
        addresses = {
            name: ctypes.cast(call, ctypes.c_void_p).value or 0
            for name, call in self.callbacks.items()
        }
        self.code = code.compile_module(self.text, addresses)
        self.function = _RUN(self.code.addresses["run"])

    def _wait(self, context: Any, thread: int, threads: int) -> None:
        assert self.barrier is not None
        self.barrier.wait(20)

    def _next(self, context: Any, loop: int) -> int:
        with self.lock:
            number = self.taken.get(loop, 0)
            self.taken[loop] = number + 1
            return number

    def _host(self, context: Any, number: int) -> int:
        try:
            self.hosts[number]()
        except ArithmeticError:
            self.context.failed = 1
        return self.context.failed

    def _poll(self, context: Any, effort: int) -> None:
        self.polls += 1

    def run(self, arrays: dict, threads: int = 1) -> dict[str, NDArray]:
        """The outputs and states, by name."""
        memory = {}
        for buffer in self.program.buffers:
            if buffer.part is None:
                memory[buffer] = Guarded(
                    (buffer.nbytes + 63) // 64 * 64 * threads
                    if buffer.kind == "scratch"
                    else buffer.nbytes
                )
                memory[buffer].data[:] = 0xF5
                given = arrays.get(buffer.name, buffer.content)
                if given is not None:
                    array = np.ascontiguousarray(given, buffer.dtype.numpy_dtype)
                    memory[buffer].data[:] = array.reshape(-1).view(np.uint8)
        places = [self._place(buffer, memory) for buffer in self.program.buffers]
        pointers = (ctypes.c_void_p * max(1, len(places)))(*[p.ctypes.data for p in places])
        self.places = dict(zip(self.program.buffers, places))
        self.context = ContextFields()
        self.taken.clear()
        self.barrier = threading.Barrier(threads, self.taken.clear)
        context = ctypes.addressof(self.context)
        others = [
            threading.Thread(target=self.function, args=(pointers, number, threads, context))
            for number in range(1, threads)
        ]
        for other in others:
            other.start()
        self.function(pointers, 0, threads, context)
        for other in others:
            other.join()
        for held in memory.values():
            held.check()
        return {
            buffer.name: self.array(buffer).copy()
            for buffer in self.program.buffers
            if buffer.kind in ("output", "state")
        }

    def _place(self, buffer: Buffer, memory: dict) -> NDArray:
        if buffer.part is None:
            return memory[buffer].data
        return self._place(buffer.part, memory)[buffer.offset : buffer.offset + buffer.nbytes]

    def array(self, buffer: Buffer) -> NDArray:
        """What a buffer holds."""
        return self.places[buffer].view(buffer.dtype.numpy_dtype).reshape(buffer.shape)


def same(
    program: LoopProgram | str,
    arrays: dict[str, Any] | None = None,
    threads: tuple[int, ...] = (1, 3),
    tolerance: float = 0.0,
    vector_bytes: int = 32,
    meaning: LoopProgram | None = None,
) -> dict[str, NDArray]:
    """Runs the program both ways and on several threads; all outputs must be the same.

    `meaning`: a program of the same meaning, with which NumPy is done sooner.
    """
    if isinstance(program, str):
        program = parse(program)
    check(program)
    arrays = dict(arrays or {})
    for buffer in program.buffers:
        if buffer.kind in ("input", "state") and buffer.name not in arrays:
            arrays[buffer.name] = numbers(buffer)
        elif buffer.name in arrays:
            arrays[buffer.name] = np.asarray(arrays[buffer.name]).astype(buffer.dtype.numpy_dtype)
    expected = interpreter.run(meaning or program, arrays)
    machine = Machine(program, vector_bytes)
    found: dict[str, NDArray] = {}
    for count in threads:
        found = machine.run(arrays, count)
        for name, value in found.items():
            compare(name, value, expected[name], tolerance)
    return found


def compare(name: str, value: NDArray, expected: NDArray, tolerance: float) -> None:
    """Equal, NaNs too; floats up to a relative tolerance."""
    assert value.dtype == expected.dtype
    if value.dtype.kind not in "biu":
        value, expected = value.astype(np.float64), expected.astype(np.float64)
        np.testing.assert_allclose(value, expected, tolerance, tolerance, err_msg=name)
    else:
        np.testing.assert_array_equal(value, expected, err_msg=name)


def numbers(buffer: Buffer, seed: int = 0) -> NDArray:
    """Numbers for a buffer."""
    random = np.random.default_rng([seed, buffer.size])
    dtype = buffer.dtype
    if dtype.is_bool:
        return random.random(buffer.shape) < 0.5
    if dtype.is_floating:
        return random.standard_normal(buffer.shape).astype(dtype.numpy_dtype)
    low = 0 if dtype.is_unsigned else -100
    return random.integers(low, 100, buffer.shape).astype(dtype.numpy_dtype)
