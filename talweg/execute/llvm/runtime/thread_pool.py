"""The thread pool that compiled programs share.

There is one pool for the process: this thread, whichever it is, and N-1 workers, daemon threads
that stay in native code (`thread_pool_ir.py`) without the GIL.  A program that finds the pool busy
runs on its caller's thread alone.  Workers start when the first program wants them; a forked child,
which has none of its parent's threads, starts its own; they end before the interpreter does.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import threading
import time
from collections.abc import Callable

import numpy as np

from talweg.core import forks, settings
from talweg.core.cores import count_cores
from talweg.execute.llvm.link import code
from talweg.execute.llvm.runtime import thread_pool_ir
from talweg.execute.llvm.runtime.structures import (
    CACHE_LINE,
    CORES,
    MAX_THREADS,
    CoreSet,
    PoolFields,
    SpinCount,
)

# Microseconds for which a waiting thread looks at most, before it sleeps: several times what it
# takes to wake one up (in a virtual machine 200), or sleepers keep each other late.
PATIENCE = {"barrier": 1000, "idle": 1000}
PATIENCE_IN_A_CROWD = 2  # where there are more threads than cores, of this process or of others
FEW_CROWDS = 1000  # numbers that tell one set of cores from the one before

_lock = threading.Lock()


def python_symbols(names: list[str]) -> dict[str, int]:
    """Return the addresses of functions of the Python C API."""
    return {
        name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
        for name in names
    }


def allocate_aligned(nbytes: int) -> np.ndarray:
    """Allocate zeroed bytes, aligned to a cache line."""
    whole = np.zeros(nbytes + CACHE_LINE, np.uint8)
    start = -whole.ctypes.data % CACHE_LINE
    return whole[start : start + nbytes]


def available_cores() -> int:
    """Return the number of cores that this process may use at a time."""
    return min(count_cores(), MAX_THREADS)


def thread_count() -> int:
    """Return the number of threads that a program may use."""
    asked = settings.threads.get()
    return min(asked, MAX_THREADS) if asked > 0 else available_cores()


def current_core() -> int:
    """Return the core that this thread runs on; 0 where that is not known."""
    try:
        with open("/proc/thread-self/stat") as file:
            return int(file.read().rpartition(")")[2].split()[36])
    except (OSError, ValueError, IndexError):
        return 0


def _spins_in_a_microsecond(spin: Callable[[int], None]) -> float:
    """Measure the spins of a thread in a microsecond."""
    least = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        spin(200)
        least = min(least, time.perf_counter() - start)
    return 200 / (least * 1e6)


class ThreadPool:
    """The pool's memory, its native functions, and its threads."""

    def __init__(self) -> None:
        self.code = code.compile_module(
            thread_pool_ir.text(),
            python_symbols(thread_pool_ir.PYTHON),
            thread_pool_ir.EXPORTS,
            quick=True,
        )
        self.memory = allocate_aligned(ctypes.sizeof(PoolFields))
        self.address = self.memory.ctypes.data
        self.fields = PoolFields.from_address(self.address)
        self.addresses = self.code.addresses
        self.threads: list[threading.Thread] = []
        self.closed = False
        self.locks: list[int] = []
        self.kept = 0  # cores to which all threads keep; 0 where they may run on any
        self.blas = 0, 0
        number, pointer = ctypes.c_int64, ctypes.c_void_p
        at = self.addresses
        self._work = ctypes.CFUNCTYPE(None, pointer, number, ctypes.c_int32)(at["talweg_worker"])
        self._take = ctypes.PYFUNCTYPE(ctypes.c_int32, pointer)(at["talweg_take"])
        self._give = ctypes.PYFUNCTYPE(None, pointer)(at["talweg_give"])
        spin = ctypes.CFUNCTYPE(None, ctypes.c_int32)(at["talweg_spin"])
        self._spins = _spins_in_a_microsecond(spin) if available_cores() > 1 else 0.0
        self._end = ctypes.PYFUNCTYPE(None, pointer)(at["talweg_end"])
        self.launch = ctypes.CFUNCTYPE(None, pointer)(at["talweg_launch"])
        self.reset()

    def reset(self) -> None:
        """Forget all threads: none has started, or the process was forked."""
        self.memory[...] = 0
        self.fields.main = threading.main_thread().ident or 0
        self.threads = []
        self.locks = []
        self.kept = 0
        self._lock_for(0)
        self.control_blas(*self.blas)

    def _lock_for(self, thread: int) -> None:
        """Give a thread the lock it sleeps on, held."""
        if thread < len(self.locks):
            return
        lock = _allocate_lock()
        _acquire_lock(lock, 1)
        self.locks.append(lock)
        self.fields.slots[thread].lock = lock
        self._be_patient(thread)

    def _be_patient(self, thread: int) -> None:
        """Set how long a thread spins: briefly where threads share cores."""
        slot = self.fields.slots[thread]
        crowded = self.fields.crowded or len(self.locks) > available_cores()
        for kind, patience in PATIENCE.items():
            most = max(1, int((PATIENCE_IN_A_CROWD if crowded else patience) * self._spins))
            setattr(slot, kind, SpinCount(most, 0, most))

    def set_crowd(self, crowded: bool, cores: int = 0) -> None:
        """Set whether others want the cores, too, and to how many all threads keep (0: to any)."""
        self.kept = cores
        self._allow_cores()
        self.fields.gathers = cores > 0
        self.fields.crowded = self.fields.crowded % FEW_CROWDS + 1 if crowded else 0
        for thread in range(len(self.locks)):
            self._be_patient(thread)

    def control_blas(self, setter: int, getter: int) -> None:
        """Make BLAS use one thread in programs that call it, by these functions."""
        self.blas = setter, getter
        self.fields.blas_get, self.fields.blas_set = getter, setter

    def ensure(self, threads: int) -> None:
        """Start workers for `threads` threads, as many as possible."""
        self._allow_cores()
        if len(self.threads) + 1 >= threads or self.closed:
            return
        # Ctrl-C, which only the main thread is told of, must not come between a worker's start and
        # the note of it: nobody would ever wait for that worker again.
        starter = threading.Thread(target=self._start_all, args=(threads,))
        with contextlib.suppress(RuntimeError):  # the system has no more threads
            starter.start()
            starter.join()

    def _start_all(self, threads: int) -> None:
        with _lock:
            if self._take(self.address):
                try:
                    seen = self.fields.sequence
                    while len(self.threads) + 1 < threads:
                        self._start(seen)
                        for thread in range(len(self.locks)):
                            self._be_patient(thread)
                except RuntimeError:
                    pass
                finally:
                    self._give(self.address)

    def _allow_cores(self) -> None:
        """Set the cores on which workers may run (affinity)."""
        if hasattr(os, "sched_getaffinity"):
            cores = sorted(core for core in os.sched_getaffinity(0) if core < CORES)
            here = current_core() if self.kept else 0
            cores.sort(key=lambda core: core < here)  # from here on, then from the first one
            allowed = sum(1 << core for core in cores[: self.kept or None])
            self.fields.allowed = CoreSet(*allowed.to_bytes(CORES // 8, "little"))

    def _start(self, seen: int) -> None:
        index = len(self.threads) + 1
        self._lock_for(index)
        worker = threading.Thread(
            target=self._work,
            args=(self.address, index, seen),
            name=f"talweg-{index}",
            daemon=True,
        )
        worker.start()
        self.threads.append(worker)
        self.fields.workers = index

    def stop(self, patience: float = 1.0) -> bool:
        """End the workers; False while a program runs."""
        end = time.monotonic() + patience
        with _lock:
            while not self._take(self.address):
                if time.monotonic() > end:
                    return False
                time.sleep(0.001)
            self._end(self.address)
            for worker in self.threads:
                worker.join(max(0.01, end - time.monotonic()))
            ended = not any(worker.is_alive() for worker in self.threads)
            if ended:
                self.reset()
            return ended


_allocate_lock = ctypes.pythonapi.PyThread_allocate_lock
_allocate_lock.restype = ctypes.c_void_p
_acquire_lock = ctypes.pythonapi.PyThread_acquire_lock
_acquire_lock.argtypes = [ctypes.c_void_p, ctypes.c_int]


_pool: ThreadPool | None = None


def get_thread_pool() -> ThreadPool:
    """Return the one thread pool of the process."""
    global _pool
    if _pool is None:
        with _lock:
            if _pool is None:
                _pool = ThreadPool()
    return _pool


def _reset_after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    if _pool is not None:
        _pool.reset()


def _at_exit() -> None:
    if _pool is not None:
        _pool.closed = True
        _pool.stop()


forks.in_child(_reset_after_fork)
atexit.register(_at_exit)
