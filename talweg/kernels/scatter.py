"""Rows of one array combined into rows of another, where rows may be named more than once.

`numpy.ufunc.at` is fast for vectors of numbers, but takes rows element by element; there it is
faster to take turns, in each of which no row is named twice and a plain indexed assignment does
(`in_turns`).  Where few rows are named very often, sums sort the rows by their target and sum each
run at once (`reduceat`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from talweg.kernels.sorting import stable_order

NARROW = 8  # elements of a row that is worth it
PART = 1 << 18  # bytes of rows that are taken at a time, and stay in cache
FEWEST = 32  # rows of a turn that is worth it
MANY, LONG_RUN = 1 << 12, 8  # rows, and those of a run on average, that in order are worth a look
OWN_CALL = 256  # numbers of a run that are worth a call of NumPy
TURNS = 8  # after which sums are made in another way
FEW = 1 << 11  # numbers that `ufunc.at` combines before anything else has begun

KERNELS = {"max": np.fmax, "min": np.fmin}  # an update that is NaN changes nothing


_UNSIGNED = {np.dtype(f"i{n}"): np.dtype(f"u{n}") for n in (1, 2, 4, 8)}


def are_inside(indices: np.ndarray, size: int) -> bool:
    """Return whether all indices are in [0, size); in one pass, as negative ones look large."""
    if not indices.size:
        return True
    unsigned = _UNSIGNED.get(indices.dtype)
    if unsigned is not None:
        return bool(np.maximum.reduce(indices.view(unsigned), None) < size)
    return bool(indices.min() >= 0 and indices.max() < size)  # of another order of bytes


def zeros(shape: tuple, dtype: np.dtype) -> np.ndarray:
    """Return zeros; empty strings for strings."""
    return np.full(shape, b"", object) if dtype.kind == "O" else np.zeros(shape, dtype)


def combine_rows(kind: str, target: np.ndarray, rows: np.ndarray, updates: np.ndarray) -> None:
    """Combine updates [k, m] into `target` [n, m], in place, at rows [k].

    `kind` is "add", "max", "min", or "update": the last update of a row wins.
    """
    if not rows.size or not updates.size:
        return
    if kind == "update":
        target[rows] = updates
    elif kind == "add":
        _add(target, rows, updates)
    else:
        KERNELS[kind].at(target, rows, updates)


def _add(target: np.ndarray, rows: np.ndarray, updates: np.ndarray) -> None:
    if rows.size == 1:
        target[rows] += updates
        return
    if _is_vector(target, updates):
        np.add.at(target.reshape(-1), rows, updates.reshape(-1))
        return
    small = updates.dtype.itemsize == 2 and updates.dtype.kind not in "iub"
    if updates.size <= FEW and not small:
        np.add.at(target, rows, updates)
        return
    runs = EqualRowRuns(rows)
    if runs.longest == 1 or (runs.longest <= TURNS and not small):
        in_turns(np.add, target, rows, updates, runs)
        return
    target[rows[runs.order[runs.starts]]] += _sums(updates[runs.order], runs.starts)


def _is_vector(target: np.ndarray, updates: np.ndarray) -> bool:
    """Return whether the updates are numbers, one a row, for which `ufunc.at` has a fast loop."""
    plain = target.dtype.kind in "iuf" and target.dtype.itemsize >= 4
    plain = plain and updates.dtype == target.dtype
    return plain and updates.size == len(updates) and target.flags.c_contiguous


def reduce_rows(
    kernel: np.ufunc,
    target: np.ndarray,
    rows: np.ndarray,
    updates: np.ndarray,
    *,
    blank: bool = False,
) -> None:
    """Set each of the rows [k] of `target` [n, ...] to all its updates [k, ...] reduced.

    blank: `target` holds the kernel's identity, which need not be written once more.
    """
    if _is_vector(target, updates):
        flat, numbers = target.reshape(-1), updates.reshape(-1)
        starts = _starts_in_order(rows) if rows.size >= MANY else None
        if starts is not None:
            flat[rows[starts]] = kernel.reduceat(numbers, starts, 0, updates.dtype)
            return
        if not blank:
            flat[rows] = numbers if kernel.identity is None else kernel.identity
        kernel.at(flat, rows, numbers)  # without an identity it is a maximum, or minimum
        return
    if updates.size <= FEW:
        if not blank:
            target[rows] = updates if kernel.identity is None else kernel.identity
        kernel.at(target, rows, updates)
        return
    runs = EqualRowRuns(rows)
    firsts = runs.order[runs.starts]
    width = math.prod(updates.shape[1:])
    if runs.longest > TURNS or width < NARROW:
        in_order = bool((rows[1:] >= rows[:-1]).all())
        ordered = updates if in_order else updates[runs.order]
        target[rows[firsts]] = _reduce_runs(kernel, ordered, runs.starts)
        return
    target[rows[firsts]] = updates[firsts]
    if runs.longest > 1:
        others = np.ones(rows.size, bool)
        others[firsts] = False
        left, more = rows[others], updates[others].reshape(-1, width)
        in_turns(kernel, target.reshape(len(target), width), left, more, EqualRowRuns(left))


def _reduce_runs(kernel: np.ufunc, updates: np.ndarray, starts: np.ndarray) -> Any:
    """Return the reduction of each run of rows; `reduceat` is slow where a run is long or wide."""
    if updates.ndim == 1 or updates.size < OWN_CALL * starts.size:
        return kernel.reduceat(updates, starts, 0, updates.dtype)
    reduced = np.empty((starts.size, *updates.shape[1:]), updates.dtype)
    bounds = [*starts.tolist(), len(updates)]
    for run, result in enumerate(reduced):
        part = updates[bounds[run] : bounds[run + 1]]
        kernel.reduce(part, 0, updates.dtype, result)
    return reduced


def _starts_in_order(rows: np.ndarray) -> np.ndarray | None:
    """Locate the start of each run of equal rows; None if they are not in order, or runs short."""
    if rows[-1] < rows[0]:
        return None
    first = np.empty(rows.shape, bool)
    first[0] = True
    np.not_equal(rows[1:], rows[:-1], out=first[1:])
    if np.count_nonzero(first) * LONG_RUN > rows.size:
        return None
    starts = first.nonzero()[0]
    named = rows[starts]
    return None if (named[1:] < named[:-1]).any() else starts


class EqualRowRuns:
    """Rows in order of their number: `order` of equal ones, where each `starts`, and `lengths`."""

    def __init__(self, rows: np.ndarray):
        self.order = stable_order(rows)
        ordered = rows[self.order]
        first = np.empty(ordered.shape, bool)
        first[:1] = True
        np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
        self.starts = np.flatnonzero(first)
        self.lengths = np.diff(np.append(self.starts, rows.size))
        self.longest = int(self.lengths.max(initial=0))


def in_turns(
    kernel: np.ufunc, target: np.ndarray, rows: np.ndarray, updates: np.ndarray, runs: EqualRowRuns
) -> None:
    """Compute `kernel.at(target, rows, updates)` for target [n, m], rows [k], and updates [k, m] or
    ().

    Whatever interrupts it, a lack of memory or the user, leaves `target` as it was.
    """
    before: list[tuple[np.ndarray, np.ndarray]] = []  # rows, what they were
    try:
        starts, lengths = runs.starts, runs.lengths
        turn = 0
        while starts.size >= FEWEST or (turn == 0 and runs.longest == 1):
            chosen = runs.order[starts + turn]
            chosen.sort()
            _turn(kernel, target, rows, updates, chosen, before)
            turn += 1
            more = lengths > turn
            starts, lengths = starts[more], lengths[more]
        if starts.size:
            ends = zip(starts, lengths)
            left = [np.arange(start + turn, start + length) for start, length in ends]
            chosen = runs.order[np.concatenate(left)]
            kernel.at(target, rows[chosen], updates[chosen] if updates.ndim else updates)
    except BaseException:
        for there, old in reversed(before):
            target[there] = old
        raise


def _turn(
    kernel: np.ufunc,
    target: np.ndarray,
    rows: np.ndarray,
    updates: np.ndarray,
    chosen: np.ndarray,
    before: list,
) -> None:
    """Update each of some rows, none of them named twice, a part of them at a time."""
    columns, count = target.shape[1], chosen.size
    size = min(count, max(1, PART // max(1, columns * target.itemsize)))
    old = np.empty((count, columns), target.dtype)
    taken, updated = [np.empty((size, columns), x.dtype) for x in (updates, target)]
    everywhere = rows[chosen]
    before.append((everywhere[:0], old[:0]))
    for start in range(0, count, size):
        part = slice(start, start + size)
        places, there = chosen[part], everywhere[part]
        here, new = old[part], updated[: places.size]
        target.take(there, 0, here, "clip")
        update = updates
        if updates.ndim:
            update = updates.take(places, 0, taken[: places.size], "clip")
        kernel(here, update, out=new)
        before[-1] = everywhere[: part.stop], old[: part.stop]
        target[there] = new


def _sums(updates: np.ndarray, starts: np.ndarray) -> Any:
    """Return the sum of each run of rows;
    16-bit floats are summed in float32, truth values by `or`.
    """
    if updates.dtype == bool:
        return np.logical_or.reduceat(updates, starts, axis=0)
    if updates.dtype.itemsize == 2 and updates.dtype.kind not in "iu":
        return _reduce_runs(np.add, updates.astype(np.float32), starts).astype(updates.dtype)
    return _reduce_runs(np.add, updates, starts)


def scatter_rows(kind: str, array: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> None:
    """Combine `updates` [*indices.shape, ...] into rows of `array`, in place."""
    if kind == "update":
        array[indices] = updates
        return
    kernel = {
        "add": np.add,
        "sub": np.subtract,
        "max": np.maximum,
        "min": np.minimum,
        "mul": np.multiply,
        "div": np.divide,
    }[kind]
    row = array.shape[1:]
    plain = array.flags.c_contiguous and updates.shape in (indices.shape + row, ())
    if math.prod(row) < NARROW or indices.size < FEWEST or not plain:
        kernel.at(array, indices, updates)
        return
    rows = indices.reshape(-1)
    parts = updates.reshape(rows.size, -1) if updates.ndim else updates
    in_turns(kernel, array.reshape(len(array), -1), rows, parts, EqualRowRuns(rows))
