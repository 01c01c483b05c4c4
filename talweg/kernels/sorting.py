"""Kernels that sort: orders, the largest elements and the different ones of an array.

A number of at most 32 bits and its place fit into one integer of 64: sorting these integers gives
the order of the numbers, with equal ones in the order of their places, at the speed of NumPy's
vectorised sort, which knows no places (a packed, or decorated, sort).  Several times as fast as a
stable `argsort` (`python -m benchmarks operations.eager`, argsort, top_k, unique).
"""

from __future__ import annotations

import numpy as np

from talweg.kernels.abandoned_calls import count_per_element, make_interruptible
from talweg.kernels.native import groups as native_groups

FEW = 64  # elements of a row that `argsort` sorts as fast
PLACE = np.int64(0xFFFFFFFF)
SIGN = np.int32(0x7FFFFFFF)
NAN = np.float32(np.nan)
WIDEST = 1 << 31  # what an integer may span to be packed
COST = 1 << 8  # multiplications that take as long as an element's part
BYTE = 256  # different integers, from where they are sorted by one digit
COUNTED = 1 << 16  # possible integers up to which counting them takes less time than sorting
NUMBERED = 128  # integers that Python numbers sooner than NumPy is called ten times
SPARSE = 4  # times as many possible numbers as elements are worth a table


def stable_order(x: np.ndarray, descending: bool = False) -> np.ndarray:
    """Return the order (int64) that sorts the rows of x [..., n]; equal elements stay in their
    order.

    NaN counts as the largest number.
    """
    if x.dtype.kind == "V":
        x = x.astype(np.float32)  # bfloat16 has no sorting in NumPy
    if x.dtype.kind in "iu" and x.dtype.itemsize > 1 and x.size > BYTE:
        low, high = int(x.min()), int(x.max())
        if high - low < COUNTED and x.size == x.shape[-1]:
            order = native_groups.stable_order(x.reshape(-1), low, high, descending)
            if order is not None:
                return order.reshape(x.shape)
        if high - low < BYTE:
            x = _above(x, low).astype(np.uint8)  # a radix sort of one digit
    packed = _pack_order(x, descending)
    if packed is not None:
        packed.sort(-1)
        return np.bitwise_and(packed, PLACE, out=packed)
    if not descending:
        return x.argsort(-1, "stable")
    return x.shape[-1] - 1 - x[..., ::-1].argsort(-1, "stable")[..., ::-1]


def first_places(x: np.ndarray, count: int, descending: bool) -> np.ndarray:
    """Return the first `count` places of `stable_order(x, descending)` in each row."""
    found = None
    if 0 < 2 * count <= x.shape[-1] and x.dtype.kind in "iuf" and x.shape[-1] > FEW:
        found = _up_to_the_last(x, count, descending)
    return stable_order(x, descending)[..., :count] if found is None else found


def take_in_rows(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return x[..., places[..., j]], as `numpy.take_along_axis` does by Python's steps."""
    size = x.shape[-1]
    if x.size > size:
        starts = np.arange(0, x.size, size).reshape(*x.shape[:-1], 1)
        places = places + starts
    return x.take(places)


def _up_to_the_last(x: np.ndarray, count: int, descending: bool) -> np.ndarray | None:
    """Return `first_places`,
    of the elements up to the last that is chosen; None where many are equal.
    """
    size = x.shape[-1]
    last = size - count if descending else count - 1
    bound = np.partition(x, last, -1)[..., last : last + 1]
    places = np.flatnonzero(~(x < bound) if descending else ~(x > bound))
    rows = x.size // size
    if places.size == rows * count:
        places = places.reshape(*x.shape[:-1], count)
    elif rows == 1 and 2 * places.size <= size:
        places = places.reshape(*x.shape[:-1], places.size)
    else:  # ties, or NaN
        return None
    order = stable_order(x.take(places), descending)[..., :count]
    places = take_in_rows(places, order)
    return places % size if rows > 1 else places


def _pack_order(x: np.ndarray, descending: bool) -> np.ndarray | None:
    """Return integers of 64 bits in the order of x's rows
    and their places; None where none are made.
    """
    if x.shape[-1] <= FEW or x.shape[-1] > WIDEST or x.dtype.kind not in "iuf":
        return None
    if x.dtype.kind in "iu":
        keys = _integer_keys(x)
    elif x.dtype.itemsize <= 4:
        keys = _float_keys(x)
    else:
        return None
    if keys is None:
        return None
    if descending:
        np.invert(keys, out=keys)
    keys <<= 32
    keys |= np.arange(x.shape[-1])
    return keys


def _integer_keys(x: np.ndarray) -> np.ndarray | None:
    """Return integers of 32 bits, in int64, in the order of x;
    None where x is wider, or sorts as fast.
    """
    if x.dtype.itemsize <= 2:
        return None  # a radix sort
    if not x.size:
        return None
    if x.dtype.itemsize == 4 and x.dtype.kind == "i":
        return x.astype(np.int64)
    low, high = int(x.min()), int(x.max())
    if high - low >= WIDEST:
        return None
    return _above(x, low)


def _above(x: np.ndarray, low: int) -> np.ndarray:
    """Return x - low as int64, for integers that are at least `low` and less than 2^63 above it."""
    if x.dtype.kind == "u":
        return (x - x.dtype.type(low)).astype(np.int64)
    return np.subtract(x, low, dtype=np.int64)


def _float_keys(x: np.ndarray) -> np.ndarray:
    """Return integers of 32 bits, in int64, in the order of x:
    bits of negative numbers are turned.
    """
    x = x.astype(np.float32) + np.float32(0)  # -0 is 0
    x[np.isnan(x)] = NAN
    bits = x.view(np.int32)
    return np.bitwise_xor(bits, (bits >> 31) & SIGN).astype(np.int64)


@make_interruptible(count_per_element(COST))
def distinct(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (where each different element of x [n] first stands, the number of each, how often it
    is).

    In the order of first appearance, all int64.  NaN differs from NaN.
    """
    if x.dtype.kind in "iu" and x.size <= NUMBERED:
        return _number_few(x)
    if x.dtype.kind == "V":
        x = x.astype(np.float32)
    if x.dtype.kind == "O":
        _, first, group, count = np.unique(x, True, True, True, equal_nan=False)
        group = group.reshape(-1)
    else:
        numbered = _number_groups(x)
        if numbered is not None:
            return numbered
        first, group, count = _tabulate_groups(x) or _sort_groups(x)
    is_first = np.zeros(x.size, np.int64)
    is_first[first] = 1
    rank = (np.cumsum(is_first) - 1)[first]
    ordered = np.empty_like(count)
    ordered[rank] = count
    return np.flatnonzero(is_first), rank[group], ordered


def _number_few(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `distinct` of few integers, in Python."""
    numbers: dict[int, int] = {}
    groups = np.array([numbers.setdefault(value, len(numbers)) for value in x.tolist()], np.int64)
    counts = np.bincount(groups)
    first = np.empty(counts.size, np.int64)
    first[groups[::-1]] = np.arange(x.size - 1, -1, -1)  # the last one written is the first
    return first, groups, counts


def _number_groups(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return `distinct` of many integers of a small range by one loop; else None."""
    if x.dtype.kind not in "iu" or not x.size:
        return None
    low, high = int(x.min()), int(x.max())
    return None if high - low >= SPARSE * x.size else native_groups.number_groups(x, low, high)


def _tabulate_groups(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return (first places, group of each element,
    sizes) of the groups of equal integers, by a table.
    """
    if x.dtype.kind not in "iu" or not x.size:
        return None
    low, high = int(x.min()), int(x.max())
    if high - low >= SPARSE * x.size:
        return None
    numbers = _above(x, low)
    first = np.empty(high - low + 1, np.int64)
    first[numbers[::-1]] = np.arange(x.size - 1, -1, -1)  # the last one written is the first
    counts = np.bincount(numbers)
    there = np.flatnonzero(counts)
    groups = np.empty(first.size, np.int64)
    groups[there] = np.arange(there.size)
    return first[there], groups[numbers], counts[there]


def _sort_groups(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (first places, group of each element,
    sizes) of the groups of equal elements, by sorting.
    """
    order = stable_order(x)
    ordered = x[order]
    begins = np.ones(x.size, bool)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    starts = np.flatnonzero(begins)
    group = np.empty(x.size, np.int64)
    group[order] = np.cumsum(begins) - 1
    return order[starts], group, np.diff(np.append(starts, x.size))
