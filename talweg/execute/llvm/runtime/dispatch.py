"""The way from Python into a compiled program: a builtin function that reads arrays itself.

Its code (`entry_stub.py`) is compiled once for the process; a `Layout` tells it of one program.
The layout of an array object is NumPy's ABI, but that of a Python object is not the same in every
build of Python (free-threaded ones have a longer head): `works` tries it.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from talweg.core.locking import once
from talweg.execute.llvm.link import code
from talweg.execute.llvm.runtime import entry_stub, result_memory
from talweg.execute.llvm.runtime.thread_pool import python_symbols, the_team
from talweg.lower.ir.loops import Buffer, LoopProgram

CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400  # NumPy's flags

_NEW_FROM_DESCR = 94  # the place of PyArray_NewFromDescr in NumPy's table of functions
_PYTHON = [
    *["PyLong_AsVoidPtr", "PyList_Size", "PyList_GetItem", "PyList_New", "PyList_SetItem"],
    *["Py_IncRef", "Py_DecRef", "PyErr_Clear", "PyEval_SaveThread", "PyEval_RestoreThread"],
]
_FASTCALL = 0x80


def numpy_function(number: int) -> int:
    """The address of a function of NumPy's C API."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = get(np._core._multiarray_umath._ARRAY_API, None)  # type: ignore[attr-defined]
    return ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[number] or 0


@functools.cache
def set_handler() -> Any:
    """NumPy's function that has arrays made by others; what it is given next time is its result."""
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(
        numpy_function(result_memory.SET_HANDLER)
    )


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


@once
def _native() -> tuple[code.LoadedCode, _Method]:
    """The entry's code, and its method definition; both stay."""
    symbols = python_symbols(_PYTHON)
    symbols["talweg_launch"] = the_team().addresses["talweg_launch"]
    symbols["talweg_new_array"] = numpy_function(_NEW_FROM_DESCR)
    symbols["talweg_set_handler"] = numpy_function(result_memory.SET_HANDLER)
    found = code.compile_module(entry_stub.text(), symbols, ("talweg_entry",))
    return found, _Method(b"run", found.addresses["talweg_entry"], _FASTCALL, None)


def builtin(layout: CallLayout) -> Any:
    """The Python function that runs a program; `layout` must outlive it."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.addressof(_native()[1]), layout.address, None)


@functools.cache
def works() -> bool:
    """Whether arrays lie in memory as the entry expects."""
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    address = id(array)
    pointer = ctypes.c_void_p

    def at(name: str, kind: type) -> Any:
        return kind.from_address(address + entry_stub.ARRAY[name]).value

    if object.__basicsize__ != 16 or np.ndarray.__basicsize__ < entry_stub.ARRAY["flags"] + 4:
        return False
    if ctypes.sizeof(pointer) != 8 or not hasattr(ctypes.pythonapi, "PyCFunction_NewEx"):
        return False
    dims = at("dims", pointer)
    scalar = np.float32(2.5)
    return (
        at("type", pointer) == id(np.ndarray)
        and at("data", pointer) == array.ctypes.data
        and at("ndim", ctypes.c_int) == 2
        and [ctypes.c_int64.from_address(dims + 8 * i).value for i in range(2)] == [2, 3]
        and at("descr", pointer) == id(array.dtype)
        and at("flags", ctypes.c_int) & WRITEABLE != 0
        and ctypes.c_float.from_address(id(scalar) + entry_stub.SCALAR["number"]).value == 2.5
    )


def whole_of(buffer: Buffer) -> tuple[Buffer, int]:
    """The buffer in whose memory one lies, and how many bytes from its start."""
    offset = 0
    while buffer.part is not None:
        offset += buffer.offset
        buffer = buffer.part
    return buffer, offset


class CallLayout:
    """The layout of a program's calls, as native code knows it: `entry_stub.PROGRAM`, and what that
    points at."""

    def __init__(self, program: LoopProgram, inputs: list, states: list, outputs: list):
        self.places = {buffer: i for i, buffer in enumerate(program.buffers)}
        self.memory = np.zeros(entry_stub.PROGRAM_BYTES // 8, np.int64)
        self.address = self.memory.ctypes.data
        self._kept: list = []
        given = {*inputs, *states, *outputs}
        self.parts = [  # (place, place of the whole, offset) of what lies within those
            (self.places[buffer], self.places[whole], offset)
            for buffer in program.buffers
            for whole, offset in [whole_of(buffer)]
            if buffer.part is not None and whole in given
        ]
        self.set("inputs", len(inputs))
        self.set("states", len(states))
        self.set("outputs", len(outputs))
        self.set("arguments", self._values([*inputs, *states]))
        self.set("results", self._values(outputs))
        self.set("bytes", self._keep([buffer.nbytes for buffer in [*inputs, *states]]))
        self.set("written", self._keep([buffer.kind == "state" for buffer in states]))
        self.set("parts", self._keep([number for part in self.parts for number in part]))
        self.set("part_count", len(self.parts))
        for name, thing in (("ndarray", np.ndarray), ("list", list), ("none", None)):
            self.set(name, id(thing))
        self.set("false", id(False))
        self.handler = None
        if any(buffer.nbytes >= result_memory.LARGE for buffer in outputs):
            self.handler = result_memory.capsule()
        self.set("handler", 0 if self.handler is None else id(self.handler))

    def is_done(self) -> bool:
        """Whether the last run came to its end."""
        return bool(self.memory[entry_stub.PROGRAM["done"] // 8])

    def set(self, name: str, value: int) -> None:
        """Set one of the fields."""
        self.memory[entry_stub.PROGRAM[name] // 8] = value

    def _keep(self, numbers: Iterable[int]) -> int:
        """The address of numbers that stay where they are."""
        array = np.array([*numbers, 0], np.int64)
        self._kept.append(array)
        return array.ctypes.data

    def _values(self, buffers: list[Buffer]) -> int:
        numbers: list[int] = []
        for buffer in buffers:
            dtype = buffer.dtype.numpy_dtype
            self._kept.append(dtype)
            flags = CONTIGUOUS | ALIGNED | (WRITEABLE if buffer.kind == "state" else 0)
            dims = self._keep(buffer.shape)
            takes_scalars = buffer.kind != "state" and not buffer.shape
            scalar = id(dtype.type) if takes_scalars else 0
            numbers += [id(dtype), len(buffer.shape), dims, self.places[buffer], flags, scalar]
        return self._keep(numbers)
