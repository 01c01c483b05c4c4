"""The memory layouts that eager tensors come in, for the tests that go over them.

A tensor holds a NumPy array, and what moves elements about gives views: `tf.transpose` of strides
in another order, `x[::2]` of larger ones, `tf.reverse` of negative ones, `tf.linalg.diag_part` one
that cannot be written, `tf.bitcast` of a slice of bytes one that is not aligned.  Stride 0 is what
NumPy's broadcasting gives; those change the values (one row stands for all).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def transposed(array: np.ndarray) -> np.ndarray:
    """Column-major."""
    return np.ascontiguousarray(array.T).T


def rotated(array: np.ndarray) -> np.ndarray:
    """The last axis is the outermost in memory, the others in order."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, -1, 0)), 0, -1)


def strided(array: np.ndarray) -> np.ndarray:
    """Every second element along each axis."""
    around = np.zeros([2 * size for size in array.shape], array.dtype)
    view = around[(slice(None, None, 2),) * array.ndim]
    view[...] = array
    return view


def reversed_(array: np.ndarray) -> np.ndarray:
    """Negative strides."""
    back = (slice(None, None, -1),) * array.ndim
    return np.ascontiguousarray(array[back])[back]


def read_only(array: np.ndarray) -> np.ndarray:
    """Memory that cannot be written."""
    found = np.array(array)
    found.flags.writeable = False
    return found


def unaligned(array: np.ndarray) -> np.ndarray:
    """Elements at odd addresses."""
    if array.dtype == object:
        return array
    memory = np.zeros(array.nbytes + 1, np.uint8)
    found = memory[1:].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def repeated_rows(array: np.ndarray) -> np.ndarray:
    """The first row for all, by stride 0."""
    return np.broadcast_to(np.array(array[:1]), array.shape)


def repeated_columns(array: np.ndarray) -> np.ndarray:
    """The first element of each row for the whole row, by stride 0."""
    return np.broadcast_to(np.array(array[..., :1]), array.shape)


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "transposed": transposed,
    "rotated": rotated,
    "strided": strided,
    "reversed": reversed_,
    "read only": read_only,
    "unaligned": unaligned,
    "repeated rows": repeated_rows,
    "repeated columns": repeated_columns,
}


def laid(array: np.ndarray, layout: str) -> np.ndarray:
    """An array in a layout; itself if it is too small to have that."""
    array = np.asarray(array)
    if array.ndim == 0 and layout not in ("read only", "unaligned"):
        return array[()] if array.dtype != object else array  # a NumPy scalar
    if layout == "rotated" and array.ndim < 3:
        return array
    return LAYOUTS[layout](array)


def plain(array: np.ndarray) -> np.ndarray:
    """The same values in row-major memory of their own."""
    return np.array(array, order="C")
