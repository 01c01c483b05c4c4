"""The dispatch from Python into compiled programs: a builtin function that reads arrays itself.

Its code (`entry_stub.py`) is compiled once for the process; a `CallLayout` tells it of one program.
The layout of an array object is NumPy's ABI, but that of a Python object is not the same in every
build of Python (free-threaded ones have a longer head): `works` tries it.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from talweg.core.locking import once
from talweg.execute.llvm.link import code
from talweg.execute.llvm.runtime import entry_stub, result_memory
from talweg.execute.llvm.runtime.structures import (
    ArgumentCheck,
    ArrayObject,
    BufferPart,
    ProgramCall,
    ScalarObject,
)
from talweg.execute.llvm.runtime.thread_pool import get_thread_pool, python_symbols
from talweg.lower.ir.loops import Buffer, LoopProgram

CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400  # NumPy's flags

_NEW_FROM_DESCR = 94  # the place of PyArray_NewFromDescr in NumPy's table of functions
_PYTHON = [
    *["PyLong_AsVoidPtr", "PyList_Size", "PyList_GetItem", "PyList_New", "PyList_SetItem"],
    *["Py_IncRef", "Py_DecRef", "PyErr_Clear", "PyEval_SaveThread", "PyEval_RestoreThread"],
]
_FASTCALL = 0x80


def numpy_function(number: int) -> int:
    """Return the address of a function of NumPy's C API."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = get(np._core._multiarray_umath._ARRAY_API, None)  # type: ignore[attr-defined]
    return ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[number] or 0


@functools.cache
def set_handler() -> Any:
    """Return NumPy's function that sets the allocator of arrays."""
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(
        numpy_function(result_memory.SET_HANDLER)
    )


class _Method(ctypes.Structure):
    """The C structure PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


@once
def _native() -> tuple[code.LoadedCode, _Method]:
    """Return the entry's code, and its method definition, which live for ever."""
    symbols = python_symbols(_PYTHON)
    symbols["talweg_launch"] = get_thread_pool().addresses["talweg_launch"]
    symbols["talweg_new_array"] = numpy_function(_NEW_FROM_DESCR)
    symbols["talweg_set_handler"] = numpy_function(result_memory.SET_HANDLER)
    found = code.compile_module(entry_stub.text(), symbols, ("talweg_entry",))
    return found, _Method(b"run", found.addresses["talweg_entry"], _FASTCALL, None)


def builtin(layout: CallLayout) -> Any:
    """Make the Python function that runs a program; `layout` must outlive it."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.addressof(_native()[1]), layout.address, None)


@functools.cache
def works() -> bool:
    """Return whether arrays lie in memory as the entry stub expects."""
    head = ArrayObject.data.offset  # of any Python object
    if object.__basicsize__ != head or np.ndarray.__basicsize__ < ctypes.sizeof(ArrayObject):
        return False
    if ctypes.sizeof(ctypes.c_void_p) != 8 or not hasattr(ctypes.pythonapi, "PyCFunction_NewEx"):
        return False
    array, scalar = np.arange(6, dtype=np.float32).reshape(2, 3), np.float64(2.5)
    fields = ArrayObject.from_address(id(array))
    number = ctypes.c_double.from_address(id(scalar) + ScalarObject.number.offset)
    return (
        (fields.type, fields.data) == (id(np.ndarray), array.ctypes.data)
        and fields.ndim == 2
        and list((ctypes.c_int64 * 2).from_address(fields.dims)) == [2, 3]
        and fields.descr == id(array.dtype)
        and fields.flags & WRITEABLE != 0
        and number.value == 2.5
    )


def whole_of(buffer: Buffer) -> tuple[Buffer, int]:
    """Return the root buffer of a buffer, and the offset in bytes from its start."""
    offset = 0
    while buffer.part is not None:
        offset += buffer.offset
        buffer = buffer.part
    return buffer, offset


class CallLayout:
    """The native layout of a program's calls: `structures.ProgramCall`, and what it points at."""

    def __init__(self, program: LoopProgram, inputs: list, states: list, outputs: list):
        self.places = {buffer: i for i, buffer in enumerate(program.buffers)}
        self.fields = ProgramCall()
        self.address = ctypes.addressof(self.fields)
        self._kept: list = []  # what the fields have the addresses of
        given = {*inputs, *states, *outputs}
        self.parts = [  # (place, place of the whole, offset) of what lies within those
            (self.places[buffer], self.places[whole], offset)
            for buffer in program.buffers
            for whole, offset in [whole_of(buffer)]
            if buffer.part is not None and whole in given
        ]
        fields, arguments = self.fields, [*inputs, *states]
        fields.inputs, fields.states, fields.outputs = len(inputs), len(states), len(outputs)
        fields.arguments, fields.results = self._checks(arguments), self._checks(outputs)
        fields.bytes = self._keep_numbers([buffer.nbytes for buffer in arguments])
        fields.written = self._keep_numbers([buffer.kind == "state" for buffer in states])
        fields.parts = self._keep((BufferPart * len(self.parts))(*self.parts))
        fields.part_count = len(self.parts)
        fields.ndarray, fields.list = id(np.ndarray), id(list)
        fields.none, fields.false = id(None), id(False)
        self.handler = None
        if any(buffer.nbytes >= result_memory.LARGE for buffer in outputs):
            self.handler = result_memory.capsule()
            fields.handler = id(self.handler)

    def is_done(self) -> bool:
        """Return whether the last run came to its end."""
        return bool(self.fields.done)

    def _keep(self, array: ctypes.Array) -> int:
        """Keep an array alive and return its address."""
        self._kept.append(array)
        return ctypes.addressof(array)

    def _keep_numbers(self, numbers: Sequence[int]) -> int:
        """Keep 64-bit integers alive and return their address."""
        return self._keep((ctypes.c_int64 * len(numbers))(*numbers))

    def _checks(self, buffers: list[Buffer]) -> int:
        """Keep the checks of arguments or templates of results alive; returns their address."""
        checks = []
        for buffer in buffers:
            dtype = buffer.dtype.numpy_dtype
            self._kept.append(dtype)
            flags = CONTIGUOUS | ALIGNED | (WRITEABLE if buffer.kind == "state" else 0)
            dims = self._keep_numbers(buffer.shape)
            takes_scalars = buffer.kind != "state" and not buffer.shape
            scalar = id(dtype.type) if takes_scalars else 0
            checks.append((id(dtype), len(buffer.shape), dims, self.places[buffer], flags, scalar))
        return self._keep((ArgumentCheck * len(checks))(*checks))
