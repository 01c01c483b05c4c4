"""Rows of one array combined into rows of another, where rows may be named more than once.

`numpy.ufunc.at` takes the rows one after the other; for sums it is faster to sort the rows by
their target and to sum each run at once (`reduceat`), and where no row is named twice a plain
indexed assignment does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

KERNELS = {"max": np.fmax, "min": np.fmin}  # an update that is NaN changes nothing


def zeros(shape: tuple, dtype: np.dtype) -> np.ndarray:
    """Zeros; empty strings for strings."""
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
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    first = np.empty(ordered.shape, bool)
    first[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    if first.all():
        target[rows] += updates
        return
    starts = np.flatnonzero(first)
    target[ordered[starts]] += _sums(updates[order], starts)


def _sums(updates: np.ndarray, starts: np.ndarray) -> Any:
    """The sum of each run of rows; 16-bit floats are summed in float32, truth values by `or`."""
    if updates.dtype == bool:
        return np.logical_or.reduceat(updates, starts, axis=0)
    if updates.dtype.itemsize == 2 and updates.dtype.kind not in "iu":
        return np.add.reduceat(updates.astype(np.float32), starts, axis=0).astype(updates.dtype)
    return np.add.reduceat(updates, starts, axis=0)


def scatter_rows(kind: str, array: np.ndarray, indices: np.ndarray, updates: Any) -> None:
    """Combine `updates` [*indices.shape, ...] into rows of `array`, in place."""
    if kind == "update":
        array[indices] = updates
        return
    kernel = {"add": np.add, "sub": np.subtract, "max": np.maximum, "min": np.minimum,
              "mul": np.multiply, "div": np.divide}[kind]  # fmt: skip
    kernel.at(array, indices, updates)
