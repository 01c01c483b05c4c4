"""Memory layouts of the structures shared by native code and Python, each described once.

A layout is a `ctypes.Structure`.  Python reads and writes its fields by name; IR text names them as
`$context.busy$`, in whose place `fill_offsets` puts the offset, and the size of a structure as
`$context$`.  Addresses are numbers here (`Address`): an id, or where an array's elements begin.
"""

from __future__ import annotations

import ctypes
from ctypes import c_int32, c_int64

Address = ctypes.c_uint64
CACHE_LINE = 64
CORES = 1024  # bits in a set of cores
MAX_THREADS = 256
NAME_BYTES = 127  # of a name in NumPy's ABI
KEPT_BLOCKS = 16  # freed blocks of large results that are kept at most
CoreSet = ctypes.c_uint8 * (CORES // 8)


class ProgramCall(ctypes.Structure):
    """The entry stub's description of a program."""

    _fields_ = [
        ("contexts", Address),  # the first execution context; the stub reads it without an offset
        ("inputs", c_int64),  # how many
        ("states", c_int64),
        ("outputs", c_int64),
        ("arguments", Address),  # an `ArgumentCheck` for each input, then for each state
        ("results", Address),  # an `ArgumentCheck` for each output
        ("release", c_int64),  # whether to let go of the GIL
        ("ndarray", Address),  # the type
        ("list", Address),  # the type
        ("none", Address),
        ("false", Address),
        ("parts", Address),  # a `BufferPart` for each buffer within an argument or result
        ("part_count", c_int64),
        ("bytes", Address),  # an i64 for each argument: how many bytes it has
        ("written", Address),  # an i64 for each state: whether the program writes it
        ("handler", Address),  # who makes the memory of results (`result_memory.py`); 0: NumPy
        ("done", c_int64),  # whether the last run came to its end
    ]


class ArgumentCheck(ctypes.Structure):
    """The required layout of an argument, or the template of a result."""

    _fields_ = [
        ("descr", Address),  # the dtype object
        ("ndim", c_int64),
        ("dims", Address),  # of i64s
        ("number", c_int64),  # which of the program's buffers
        ("flags", c_int64),  # NumPy's flags that must be set
        ("scalar", Address),  # the type of NumPy's scalars that will do as well; 0: none
    ]


class BufferPart(ctypes.Structure):
    """A buffer within another one: buffers[number] = buffers[whole] + offset."""

    _fields_ = [("number", c_int64), ("whole", c_int64), ("offset", c_int64)]


class ArrayObject(ctypes.Structure):
    """NumPy's array object (PyArrayObject_fields), as builds of Python with the GIL have it."""

    _fields_ = [
        ("references", c_int64),
        ("type", Address),
        ("data", Address),
        ("ndim", c_int32),
        ("dims", Address),
        ("strides", Address),
        ("base", Address),
        ("descr", Address),
        ("flags", c_int32),
    ]


class ScalarObject(ctypes.Structure):
    """A NumPy scalar, whose number follows the object's head."""

    _fields_ = [("references", c_int64), ("type", Address), ("number", c_int64)]


class ContextFields(ctypes.Structure):
    """The native side of an `ExecutionContext`: one for each run of a program at a time."""

    _fields_ = [
        ("failed", c_int32),  # a host call or signal raised: all leave; read without an offset
        ("pool", Address),
        ("run", Address),  # the program's @run
        ("buffers", Address),  # of the addresses of all buffers
        ("threads", c_int64),  # how many it may run on
        ("host", Address),  # a callable, called with the number of a host block; true: it failed
        ("busy", c_int64),  # in use
        ("next", Address),  # another context of the same program
        ("held", Address),  # of the arguments of the call that runs
        ("blas", c_int64),  # whether the program calls BLAS
        ("waits", c_int64),  # whether it pays to wait for workers who sleep
        ("shared", c_int64),  # whether several threads run it at present
        ("work", c_int64),  # what was done since signals were last thought of; thread 0's alone
        ("due", c_int64),  # from when on, in milliseconds, they are seen to; 0: not known yet
        ("unused", c_int64 * 2),  # to the end of a cache line
    ]


class SpinCount(ctypes.Structure):
    """The spins of a waiting thread before it sleeps: now, in vain so far, and at most."""

    _fields_ = [("limit", c_int32), ("misses", c_int32), ("most", c_int32)]


class WorkerSlot(ctypes.Structure):
    """The pool's state of a thread, a cache line."""

    _fields_ = [
        ("asleep", c_int32),
        ("lock", Address),
        ("barrier", SpinCount),
        ("idle", SpinCount),  # of a worker without a job
        ("unused", ctypes.c_uint8 * 24),
    ]


def on_cache_lines(*lines: list[tuple[str, type]]) -> list[tuple[str, type]]:
    """Return the fields of a structure, aligned so that each list begins a cache line.

    >>> [name for name, _ in on_cache_lines([("count", c_int32)], [("free", c_int64)])]
    ['count', 'unused_4', 'free', 'unused_72']
    """
    fields: list[tuple[str, type]] = []
    for line in lines:
        fields += line
        so_far = type("SoFar", (ctypes.Structure,), {"_fields_": fields})
        last = getattr(so_far, fields[-1][0])
        end = last.offset + last.size
        if end % CACHE_LINE:
            fields.append((f"unused_{end}", ctypes.c_uint8 * (-end % CACHE_LINE)))
    return fields


class PoolFields(ctypes.Structure):
    """The native side of the `ThreadPool`; often written fields have their own cache lines."""

    _fields_ = on_cache_lines(
        [("busy", c_int32)],  # 1 while a job runs, or somebody holds the pool; without an offset
        [
            ("job", Address),  # the context that runs; null means that the workers shall end
            ("threads", c_int64),  # how many threads take part
            ("workers", c_int64),  # how many workers there are
            ("core", c_int32),  # the core that the thread runs on which began the job
            ("late", c_int32),  # how many short programs ran alone since workers were last roused
            ("patient", c_int32),  # after how many they are roused again
            ("crowded", c_int32),  # not 0 where others want the cores; changes with what is allowed
            ("gathers", c_int32),  # 1 where the thread that begins a job keeps to what is allowed
            ("stays", c_int32),  # 1 while the thread that began the job keeps to its core
            ("main", c_int64),  # the thread in which Python sees to signals
        ],
        [("sequence", c_int32)],  # number of the job
        [("arrived", c_int32)],  # threads at the barrier
        [("phase", c_int32)],  # barriers passed
        [("finished", c_int32)],  # workers that are done with the job
        [("done", c_int32)],  # number of the last job that all workers are done with
        [
            ("blas_lock", c_int32),
            ("blas_users", c_int32),  # programs that run and call BLAS
            ("blas_before", c_int32),  # how many threads BLAS was to use
            ("blas_set", Address),  # what sets that; null if there is nothing
            ("blas_get", Address),
        ],
        [("allowed", CoreSet)],  # the cores that workers may run on; none where that is not known
        [("own", CoreSet)],  # those that the thread which began the job may run on
        [("taken", c_int64 * 8)],  # pieces of loops that were taken since the last barrier
        [("slots", WorkerSlot * MAX_THREADS)],
    )


class ResultPool(ctypes.Structure):
    """The freed blocks of large results, kept for the next ones (`result_memory.py`)."""

    _fields_ = [
        ("lock", c_int64),
        ("kept", c_int64),  # bytes
        ("count", c_int64),  # blocks
        ("limit", c_int64),  # bytes that may be kept
        ("made", c_int64),  # blocks so far
        ("reused", c_int64),
        ("blocks", Address * KEPT_BLOCKS),
    ]


class BlockHead(ctypes.Structure):
    """The header before the elements of a large result."""

    _fields_ = [
        ("bytes", c_int64),  # of its block, 0 if that is not to be kept; read without an offset
        ("asked", c_int64),  # bytes that were asked for
    ]


class MemoryHandler(ctypes.Structure):
    """NumPy's PyDataMem_Handler (NEP 49)."""

    _fields_ = [
        ("name", ctypes.c_char * NAME_BYTES),
        ("version", ctypes.c_uint8),
        ("context", Address),
        ("functions", Address * 4),  # malloc, calloc, realloc, free
    ]


LAYOUTS: dict[str, type[ctypes.Structure]] = {  # by their names in IR text
    "program": ProgramCall,
    "check": ArgumentCheck,
    "part": BufferPart,
    "array": ArrayObject,
    "scalar": ScalarObject,
    "context": ContextFields,
    "spins": SpinCount,
    "slot": WorkerSlot,
    "pool": PoolFields,
    "results": ResultPool,
    "head": BlockHead,
}


def offset_of(structure: type[ctypes.Structure], field: str) -> int:
    """Return the offset of a field in bytes.

    >>> offset_of(SpinCount, "most")
    8
    """
    return getattr(structure, field).offset


def fill_offsets(text: str) -> str:
    """Substitute offsets of fields and sizes of structures for their names in IR text.

    >>> fill_offsets("i64 $spins.most$ of $spins$")
    'i64 8 of 12'
    """
    for name, structure in LAYOUTS.items():
        text = text.replace(f"${name}$", str(ctypes.sizeof(structure)))
        for field, *_ in structure._fields_:
            text = text.replace(f"${name}.{field}$", str(offset_of(structure, field)))
    return text
