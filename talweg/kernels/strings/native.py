"""Kernels of strings on arrays: machine code (`native_text.py`) where there are many strings.

The code reads and makes `bytes` objects through Python's C functions, while the interpreter's lock
is held.  What it leaves to Python, element by element, goes through the function given with it.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from talweg.kernels.native import engine, translate
from talweg.kernels.strings import (
    native_captures,
    native_patterns,
    native_tables,
    native_text,
    native_words,
)

MANY = 20_000  # elements, in one call or several, that are worth compiling for
SOME = 16  # that are worth a call of what is compiled
LEFT = 8  # elements in a row that the code may leave before Python does the rest
_seen: dict[str, int] = {}  # how many elements each kernel was asked for


def _works() -> bool:
    """Return whether objects are laid out as the code takes them to be."""
    if sys.implementation.name != "cpython" or np.dtype(object).itemsize != 8:
        return False
    sample = b"talweg and some"
    at = id(sample)
    size = ctypes.c_int64.from_address(at + translate.SIZE_AT).value
    kind = ctypes.c_int64.from_address(at + translate.TYPE_AT).value
    data = ctypes.string_at(at + translate.DATA_AT, len(sample))
    return size == len(sample) and kind == id(bytes) and data == sample


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@cache
def _compile_kernel(driver: str, name: str) -> Callable[..., int] | None:
    """Return the function that goes through an array with a kernel; None where there is no code."""
    if not _works():
        return None
    outside = {
        "new_bytes": (_address(ctypes.pythonapi.PyBytes_FromStringAndSize), 2),
        "increase": (_address(ctypes.pythonapi.Py_IncRef), 1),
        "decrease": (_address(ctypes.pythonapi.Py_DecRef), 1),
    }
    homes = (native_text, native_words, native_tables, native_patterns, native_captures)
    kernel = next(getattr(home, name) for home in homes if hasattr(home, name))
    module = translate.NativeModule(outside, {"each": kernel})
    try:
        module.add(getattr(native_text, driver))
    except OSError:  # there is no source text
        return None
    addresses = engine.addresses(module.text(), (driver,))
    if addresses is None:
        return None
    return ctypes.PYFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 8)(addresses[driver])


def worthwhile(name: str, count: int) -> bool:
    """Return whether a kernel has seen enough elements to be compiled for, and has some now."""
    seen = _seen[name] = min(_seen.get(name, 0) + count, MANY)
    return seen == MANY and count >= SOME


def run(
    name: str,
    x: Any,
    dtype: Any,
    slow: Callable[[Any], Any],
    *arguments: int,
    driver: str = "talweg_each",
    out: np.ndarray | None = None,
    at_once: bool = False,
) -> np.ndarray | None:
    """Return the kernel `name` of each element of an array; None where Python is to do it.

    slow: what is done to an element that the code leaves; at_once: whatever has been seen before.
    """
    count = x.size
    if not at_once and not worthwhile(name, count):
        return None
    call = _compile_kernel(driver, name)
    if call is None:
        return None
    flat = np.ascontiguousarray(x).reshape(-1)
    results = np.empty(count, dtype) if out is None else out
    a, b, c = (*arguments, 0, 0, 0)[:3]
    done = left = 0
    while True:
        reached = call(
            flat.ctypes.data, results.ctypes.data, done, count, results.itemsize, a, b, c
        )
        if reached == count:
            return results.reshape(x.shape)
        left = left + 1 if reached < done + SOME else 0
        last = count if left > LEFT else reached + 1
        for k in range(reached, last):
            results[k] = slow(flat[k])
        done = last
        if done == count:
            return results.reshape(x.shape)


class StringKernel(NamedTuple):
    """A kernel with its arguments; `operand` is the dtype of the numbers that it goes through."""

    name: str
    arguments: tuple[int, ...] = ()
    operand: Any = None

    def of(self, x: np.ndarray, dtype: np.dtype, slow: Callable[[Any], Any]) -> np.ndarray | None:
        """Return the kernel of an array; None where Python is to do it."""
        given = x if self.operand is None else np.asarray(x, self.operand)
        driver = "talweg_each" if self.operand is None else "talweg_write"
        return run(self.name, given, dtype, slow, *self.arguments, driver=driver)


class Numbering:
    """The numbers of keys in a list, looked up in an open table (Knuth, volume 3, 6.4).

    keys: strings, or integers of 64 bits or fewer.
    """

    def __init__(self, keys: np.ndarray):
        self.text = keys.dtype == object
        kind = object if self.text else np.int64
        self.keys = np.ascontiguousarray(keys, kind)
        size = 8
        while size < 2 * len(keys):
            size *= 2
        self.slots = np.full(2 * size, -1, np.int64)
        self.mask = size - 1
        numbers = np.arange(len(keys), dtype=np.int64)
        self.works = keys.dtype.kind in "Oiu" and self._run("enter", keys, numbers) is not None

    def _run(self, verb: str, x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray | None:
        slots, keys = self.slots.ctypes.data, self.keys.ctypes.data
        if self.text:
            given = (f"{verb}_key", x, np.int64, _unknown, slots, self.mask, keys)
            return run(*given, out=out, at_once=True)
        given = (f"{verb}_number", np.asarray(x, np.int64), np.int64, _unknown, slots, self.mask)
        return run(*given, driver="talweg_write", out=out, at_once=True)

    def of(self, x: np.ndarray) -> np.ndarray | None:
        """Return the number of each key, -1 for unknown ones."""
        return self._run("look_up", x) if self.works else None


def _unknown(element: str) -> int:
    return -1
