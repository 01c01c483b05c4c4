"""Equal integers of a small range, numbered and ordered by tables, in machine code.

The loops are text of `translate.py`; NumPy, which they take the place of, goes through the array
six times or more (`kernels/sorting.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from talweg.kernels.native.functions import compile_function
from talweg.kernels.native.words import load32, load64, store32, store64

MANY = 1 << 21  # integers, in one call or several, that are worth compiling for
SOME = 1 << 8  # that are worth a call
_seen = {"count": 0}


def element32(x: int, i: int, base: int, sign: int) -> int:
    """Return base + sign x[i] of integers of 32 bits; 0 or more."""
    return (base + sign * load32(x + 4 * i)) & 0xFFFFFFFF


def element64(x: int, i: int, base: int, sign: int) -> int:
    """Return base + sign x[i] of integers of 64 bits."""
    return base + sign * load64(x + 8 * i)


def element(x: int, i: int, base: int, sign: int) -> int:
    """Stand for one of the two above."""
    raise NotImplementedError


def talweg_number_groups(
    x: int, count: int, base: int, table: int, firsts: int, groups: int, sizes: int
) -> int:
    """Number the different integers by first appearance; how many there are.

    table: zeros of 32 bits for each possible number; firsts, sizes: for each group; groups: for
    each element.
    """
    i = 0
    different = 0
    while i < count:
        at = table + 4 * element(x, i, base, 1)
        group = load32(at)
        if group == 0:
            different = different + 1
            group = different
            store32(at, group)
            store64(firsts + 8 * (group - 1), i)
            store64(sizes + 8 * (group - 1), 0)
        own = sizes + 8 * (group - 1)
        store64(own, load64(own) + 1)
        store64(groups + 8 * i, group - 1)
        i = i + 1
    return different


def talweg_order(
    x: int, count: int, base: int, sign: int, starts: int, possible: int, order: int
) -> int:
    """Write the order that sorts the integers, equal ones as they stand (a counting sort).

    starts: zeros of 64 bits for each possible number.
    """
    i = 0
    while i < count:
        at = starts + 8 * element(x, i, base, sign)
        store64(at, load64(at) + 1)
        i = i + 1
    before = 0
    k = starts
    while k < starts + 8 * possible:
        own = load64(k)
        store64(k, before)
        before = before + own
        k = k + 8
    i = 0
    while i < count:
        at = starts + 8 * element(x, i, base, sign)
        own = load64(at)
        store64(order + 8 * own, i)
        store64(at, own + 1)
        i = i + 1
    return count


def number_groups(
    x: np.ndarray, low: int, high: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return (first places, group of each element, sizes), groups by first appearance; None where
    NumPy is to do it.
    """
    code = _compiled("talweg_number_groups", x)
    if code is None:
        return None
    x, base = _of_whole_words(x), -low
    table = np.zeros(high - low + 1, np.int32)
    firsts, sizes = (np.empty(min(x.size, table.size), np.int64) for _ in range(2))
    groups = np.empty(x.size, np.int64)
    pointers = [array.ctypes.data for array in (table, firsts, groups, sizes)]
    count = code(x.ctypes.data, x.size, _wrapped(base), *pointers)
    return firsts[:count], groups, sizes[:count]


def stable_order(x: np.ndarray, low: int, high: int, descending: bool) -> np.ndarray | None:
    """Return the order that sorts a vector; None where NumPy is to do it."""
    code = _compiled("talweg_order", x)
    if code is None:
        return None
    x = _of_whole_words(x)
    starts, order = np.zeros(high - low + 1, np.int64), np.empty(x.size, np.int64)
    base, sign = (high, -1) if descending else (-low, 1)
    code(
        x.ctypes.data, x.size, _wrapped(base), sign, starts.ctypes.data, starts.size,
        order.ctypes.data,
    )  # fmt: skip
    return order


def _of_whole_words(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x, np.int32 if x.dtype.itemsize < 4 else None)


def _wrapped(number: int) -> int:
    """Return a number modulo 2^64, as a signed one."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _compiled(name: str, x: np.ndarray) -> Callable[..., int] | None:
    """Return a loop over integers like those of x, if so many were seen that it is worth it."""
    _seen["count"] = min(_seen["count"] + x.size, MANY)
    if _seen["count"] < MANY or x.size < SOME:
        return None
    return _compile(name, 64 if x.dtype.itemsize == 8 else 32)


@cache
def _compile(name: str, bits: int) -> Callable[..., int] | None:
    function = {"talweg_number_groups": talweg_number_groups, "talweg_order": talweg_order}[name]
    return compile_function(function, {"element": element64 if bits == 64 else element32})
