"""Kernels as another machine might have them: a few last bits differ.

NumPy chooses its loops by the processor, OpenBLAS its own; a logarithm, a sum or a product may come
out one or two units of the last place away.  `moved(direction)` has every kernel answer so, in the
worst case: each number that a machine could round otherwise is moved by `ULPS`, all up or all down.

What is left alone: numbers with few digits (1.0, 0.5, 2.5: exact results, which every machine
gives), numbers that were among the operands (what only moves or chooses them), kernels whose last
bit is the point of them (`EXACT`), and what runs bodies, whose own kernels are moved.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from talweg import prims
from talweg.core.primitive import REGISTRY
from talweg.graph.node import BODY, GRAPH

ULPS = 2
EXACT = ("next_after", "decode_image")
LOW = {np.dtype("f4"): ("u4", 11), np.dtype("f8"): ("u8", 26)}  # bits that round numbers lack


@contextmanager
def moved(direction: float) -> Iterator[None]:
    """All kernels of primitives, with results moved towards `direction` (inf or -inf)."""
    for module in pkgutil.walk_packages(prims.__path__, f"{prims.__name__}."):
        importlib.import_module(module.name)
    before = {name: prim.numpy for name, prim in REGISTRY.items()}
    assert set(EXACT) <= set(before)
    try:
        for name, kernel in before.items():
            is_arithmetic = REGISTRY[name].effect not in (BODY, GRAPH)
            if is_arithmetic and name not in EXACT and callable(kernel):
                REGISTRY[name].numpy = _moving(kernel, direction)
        yield
    finally:
        for name, kernel in before.items():
            REGISTRY[name].numpy = kernel


def _moving(kernel: Any, direction: float) -> Any:
    return lambda *operands, **params: _moved(kernel(*operands, **params), operands, direction)


def _moved(result: Any, operands: tuple, direction: float) -> Any:
    """A result, or several, with what may be rounded otherwise moved."""
    if type(result) in (tuple, list):
        return type(result)([_moved(part, operands, direction) for part in result])
    dtype = getattr(result, "dtype", None)
    if dtype is None or np.size(result) == 0:
        return result
    if dtype.kind == "c":
        parts = [_moved(part, _parts(operands), direction) for part in (result.real, result.imag)]
        return (parts[0] + 1j * parts[1]).astype(dtype)
    if dtype not in LOW:
        return result
    unsigned, bits = LOW[dtype]
    array = np.array(result, order="C")
    is_moved = (array.view(unsigned) & ((1 << bits) - 1) != 0) & np.isfinite(array)
    for operand in operands:
        if is_moved.any() and getattr(operand, "dtype", None) == dtype:
            is_moved &= ~np.isin(np.abs(array), np.abs(operand))
    if not is_moved.any():
        return result
    for _ in range(ULPS):
        array = np.where(is_moved, np.nextafter(array, dtype.type(direction)), array)
    return array if isinstance(result, np.ndarray) else array[()]


def _parts(operands: tuple) -> tuple:
    """The real and imaginary parts of complex operands."""
    complex_ones = [x for x in operands if getattr(getattr(x, "dtype", None), "kind", "") == "c"]
    return (*[x.real for x in complex_ones], *[x.imag for x in complex_ones])
