"""The native side of running a program on several threads, as LLVM IR.

The *team* is one block of memory for the process (`TEAM`), a *frame* one for each program that can
run at a time (`FRAME`); compiled code is given the address of its frame as its `pool`.

How they wait is in `thread_pool_wait.py`, what they do in `thread_pool_jobs.py`:

* `talweg_launch(frame)`: run the frame's program, on all threads if the team is free, else on one;
* `talweg_barrier(frame, thread, threads)`: the last one to come starts a new phase;
* `talweg_next(frame, loop)`: the next piece of a loop whose pieces go to whoever is free;
* `talweg_worker(team, index, seen)`: wait for jobs and take part in them, until there is none;
* `talweg_take`, `talweg_give`: hold the team, so that no job begins; `talweg_end`: the workers end;
* `talweg_spin(times)`: look so often, to know how long it takes;
* `talweg_host(frame, number)`: call Python; the frame's first number says whether that failed;
* `talweg_poll(frame, effort)`: see to signals (`interrupts.py`).
"""

from __future__ import annotations

import platform
import sys

from talweg.execute.llvm.runtime import interrupts, thread_pool_jobs, thread_pool_wait

CACHE_LINE = 64
CORES = 1024  # bits in a set of cores
MAX_THREADS = 256


def lay_out(*lines: list[tuple[str, int]]) -> tuple[dict[str, int], int]:
    """name -> offset of fields (name, bytes), where each list begins a cache line; bytes in all.

    >>> laid_out([("count", 4), ("place", 8)], [("free", 4)])
    ({'count': 0, 'place': 8, 'free': 64}, 128)
    """
    offsets, end = {}, 0
    for fields in lines:
        end = -(-end // CACHE_LINE) * CACHE_LINE
        for name, size in fields:
            end = -(-end // min(size, 8)) * min(size, 8)
            offsets[name] = end
            end += size
    return offsets, -(-end // CACHE_LINE) * CACHE_LINE


TEAM, SLOTS = lay_out(  # what is written often has a line for itself; then the threads' slots
    [("busy", 4)],  # 1 while a job runs, or while somebody holds the team
    [
        ("frame", 8),  # ptr: the job; null means that the workers shall end
        ("threads", 8),  # how many threads take part
        ("workers", 8),  # how many workers there are
        ("core", 4),  # the core that the thread runs on which began the job
        ("late", 4),  # how many short programs ran alone since workers were last roused
        ("patient", 4),  # after how many they are roused again
        ("stays", 4),  # 1 while the thread that began the job keeps to its core
        ("main", 8),  # i64: the thread in which Python sees to signals
    ],
    [("sequence", 4)],  # number of the job
    [("arrived", 4)],  # threads at the barrier
    [("phase", 4)],  # barriers passed
    [("finished", 4)],  # workers that are done with the job
    [("done", 4)],  # number of the last job that all workers are done with
    [
        ("blas_lock", 4),
        ("blas_users", 4),  # programs that run and call BLAS
        ("blas_before", 4),  # how many threads BLAS was to use
        ("blas_set", 8),  # ptr to what sets that; null if there is nothing
        ("blas_get", 8),
    ],
    [("allowed", CORES // 8)],  # the cores that threads may run on; none where that is not known
    [("own", CORES // 8)],  # those that the thread which began the job may run on
    [("taken", CACHE_LINE)],  # eight i64: pieces of loops that were taken since the last barrier
)
TEAM_BYTES = SLOTS + MAX_THREADS * CACHE_LINE
SLOT = {
    "asleep": 0,  # i32
    "lock": 8,
    "barrier": 16,  # three i32: how often to look at a barrier; how often in vain; the most
    "idle": 32,  # the same for a worker without a job
}
FRAME = {
    "failed": 0,  # i32: a host call raised, or a signal's handler: all leave
    "team": 8,
    "run": 16,  # the program's @run
    "buffers": 24,  # ptr to the pointers of all buffers
    "threads": 32,  # i64: how many it may run on
    "host": 40,  # a Python callable, called with the number of a host block; true: it failed
    "busy": 48,  # i64: in use
    "next": 56,  # another frame of the same program
    "held": 64,  # ptr to the arguments of the call that runs
    "blas": 72,  # i64: whether the program calls BLAS
    "waits": 80,  # i64: whether it is worth it to wait for workers who sleep
    "shared": 88,  # i64: whether several threads run it at present
    "work": 96,  # i64: what was done since signals were last thought of; thread 0's alone
    "due": 104,  # i64: from when on, in milliseconds, they are seen to; 0: not known yet
}
FRAME_BYTES = 128
PYTHON = [
    *["PyThread_acquire_lock", "PyThread_release_lock", "PyGILState_Ensure", "PyGILState_Release"],
    *["PyObject_CallFunction", "PyObject_IsTrue", "Py_DecRef", "PyErr_Clear"],
    *["PyThread_get_thread_ident", "PyErr_CheckSignals", "PyErr_Fetch"],
    *["PyErr_NormalizeException", "PyException_SetTraceback"],
]
EXPORTS = [
    *["talweg_launch", "talweg_barrier", "talweg_worker", "talweg_take", "talweg_give"],
    "talweg_next",
    *["talweg_end", "talweg_spin", "talweg_host", "talweg_poll"],
]


def pause() -> str:
    """The instruction that says that a thread only waits."""
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64", "i686"):
        return "call void @llvm.x86.sse2.pause()"
    if machine in ("aarch64", "arm64"):
        return "call void @llvm.aarch64.hint(i32 1)"
    return 'fence syncscope("singlethread") seq_cst'


def text() -> str:
    """The module."""
    scheduler = thread_pool_jobs.LINUX if sys.platform == "linux" else thread_pool_jobs.OTHERS
    clock = interrupts.WINDOWS if sys.platform == "win32" else interrupts.POSIX
    parts = [
        _DECLARATIONS,
        scheduler,
        clock,
        thread_pool_wait.WAITING,
        thread_pool_jobs.JOBS,
        thread_pool_jobs.HOST,
        interrupts.POLL,
    ]
    module = "\n".join(parts).replace("$PAUSE", pause())
    for prefix, table in (("team", TEAM), ("slot", SLOT), ("frame", FRAME)):
        for name, offset in table.items():
            module = module.replace(f"${prefix}.{name}$", str(offset))
    numbers = {
        "$SLOTS": SLOTS,
        "$LINE": CACHE_LINE,
        "$CORE_BYTES": CORES // 8,
        "$CORES": CORES,
        "$AFRESH": thread_pool_wait.TRY_AFRESH,
        "$FEWEST": thread_pool_wait.FEWEST_SPINS,
        "$RARELY": thread_pool_jobs.RARELY,
        "$EVERY": interrupts.EVERY,
        "$LONG": interrupts.LONG,
        "$MONOTONIC": 6 if sys.platform == "darwin" else 1,
    }
    for name, number in numbers.items():
        module = module.replace(name, str(number))
    return module


_DECLARATIONS = """
declare i32 @PyThread_acquire_lock(ptr, i32)
declare void @PyThread_release_lock(ptr)
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare ptr @PyObject_CallFunction(ptr, ptr, ...)
declare i32 @PyObject_IsTrue(ptr)
declare void @Py_DecRef(ptr)
declare void @PyErr_Clear()
declare i64 @PyThread_get_thread_ident()
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)
declare i32 @PyException_SetTraceback(ptr, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i32 @llvm.umin.i32(i32, i32)
declare i32 @llvm.umax.i32(i32, i32)
"""
