"""The native side of the thread pool, as LLVM IR.

The *pool* is one block of memory for the process (`structures.PoolFields`), a *context* one for
each program that can run at a time (`structures.ContextFields`); compiled code gets its address.

How they wait is in `thread_pool_wait.py`, what they do in `thread_pool_jobs.py`:

* `talweg_launch(context)`: run the context's program, on all threads if the pool is free, else one;
* `talweg_barrier(context, thread, threads)`: the last one to come starts a new phase;
* `talweg_next(context, loop)`: the next piece of a loop whose pieces go to whoever is free;
* `talweg_worker(pool, index, seen)`: wait for jobs and take part in them, until there is none;
* `talweg_take`, `talweg_give`: hold the pool, so that no job begins; `talweg_end`: the workers end;
* `talweg_spin(times)`: look so often, to know how long it takes;
* `talweg_host(context, number)`: call Python; its first number says whether that failed;
* `talweg_poll(context, effort)`: see to signals (`interrupts.py`).
"""

from __future__ import annotations

import platform
import sys

from talweg.execute.llvm.runtime import interrupts, thread_pool_jobs, thread_pool_wait
from talweg.execute.llvm.runtime.structures import CACHE_LINE, CORES, fill_offsets

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
    """Return the instruction that marks a spin loop."""
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64", "i686"):
        return "call void @llvm.x86.sse2.pause()"
    if machine in ("aarch64", "arm64"):
        return "call void @llvm.aarch64.hint(i32 1)"
    return 'fence syncscope("singlethread") seq_cst'


def text() -> str:
    """Return the module."""
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
    module = fill_offsets("\n".join(parts)).replace("$PAUSE", pause())
    numbers = {
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
