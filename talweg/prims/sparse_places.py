"""Places of the values of sparse tensors: i [n, rank] in a whole of shape d [rank].

They have no derivative; values follow them by gathers and segment sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, primitive
from talweg.core.dims import differ
from talweg.core.dtypes import int64
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.kernels.scatter import are_inside

PLACES = NoGradient("places are integers")
SOME = np.array([[0, 1], [1, 0]])
SHAPE = np.array([2, 3])


def _check(name: object, i, d):
    if len(i.dims) != 2 or len(d.dims) != 1 or differ(i.dims[1], d.dims[0]):
        raise invalid(
            "TW204",
            f"{name}: indices of shape {i.dims} for a shape vector of shape {d.dims}",
            "[n, rank] and [rank]",
        )


def _row_numbers(i: np.ndarray, d: np.ndarray):
    if len(d) == 1:
        return i[:, 0].astype(np.int64, copy=False)
    numbers = np.zeros(len(i), np.int64)
    for axis, size in enumerate(d.tolist()):  # a product of integers with the weights takes longer
        numbers *= size
        numbers += i[:, axis]
    return numbers


def _are_inside(i: np.ndarray, d: np.ndarray) -> bool:
    """Return whether all places lie in a whole of shape d, axis by axis."""
    return all(are_inside(i[:, axis], size) for axis, size in enumerate(d.tolist()))


@primitive
class place_numbers:
    """y[k] = the place i[k] in the whole, flattened in row-major order.   y [n]."""

    operands = "i d"

    def infer(i, d):
        _check("place_numbers", i, d)
        return Aval(i.dims[:1], int64)

    numpy = _row_numbers

    def loops(s, index, i, d):
        found = s.number(0, i)
        for axis in range(d.dims[0]):
            size = s.cast(d(axis), i.dtype) if axis else 1
            found = found * size + i(*index, axis)
        return s.cast(found, int64)

    no_gradient = PLACES
    batch = LOOP
    memory = "map"
    samples = (Sample(SOME, SHAPE), Sample(np.zeros((0, 2), np.int64), SHAPE))
    rejects = (Reject(SOME, np.array([3]), code="TW204"),)


@primitive
class checked_places:
    """y = i, inside the whole; and if `ordered`, in row-major order without repetitions."""

    operands = "i d"

    def infer(i, d, *, ordered):
        _check("sparse.to_dense", i, d)
        return i

    def numpy(i: np.ndarray, d, *, ordered):
        if not _are_inside(i, d):
            row = int(np.argmax(np.any((i < 0) | (i >= d), axis=1)))
            raise invalid(
                "TW206", f"indices[{row}] = {i[row].tolist()} is out of bounds for shape {d}"
            )
        numbers = _row_numbers(i, d) if ordered else np.zeros(0)
        if np.any(numbers[1:] <= numbers[:-1]):
            steps = np.diff(numbers)
            row = int(np.argmax(steps <= 0)) + 1
            what = "repeated" if steps[row - 1] == 0 else "out of order"
            raise invalid(
                "TW206",
                f"indices[{row}] = {i[row].tolist()} is {what}",
                "sorted indices",
                "tf.sparse.reorder(x), or validate_indices=False",
            )
        return i

    def expand(t, i, d, *, ordered):
        count = i.dims[0]
        if count and d.dims[0]:
            t.require(t.greater_equal(i, 0))
            t.require(t.less(i, t.cast(d, dtype=i.dtype)))
        if ordered and count > 1:
            number = t.place_numbers(i, d)
            later = t.strided_slice(number, begin=(1,), end=(count,), strides=(1,))
            earlier = t.strided_slice(number, begin=(0,), end=(count - 1,), strides=(1,))
            t.require(t.greater(later, earlier))
        return i

    no_gradient = PLACES
    batch = LOOP
    memory = "view"
    samples = (Sample(SOME, SHAPE, ordered=True), Sample(SOME[::-1].copy(), SHAPE, ordered=False))
    rejects = (
        Reject(SOME, np.array([1, 3]), ordered=False, code="TW206"),
        Reject(SOME[::-1].copy(), SHAPE, ordered=True, code="TW206"),
    )


@primitive
class grouped_places:
    """The distinct places in order, [m, rank], and for each i[k] the number of its own among them.

    With rank 0 all are one.
    """

    operands = "i d"
    multiple = True

    def infer(i, d):
        _check("grouped_places", i, d)
        return [Aval((None, i.dims[1]), int64), Aval(i.dims[:1], int64)]

    def numpy(i: np.ndarray, d):
        if not len(d):
            return np.zeros((min(len(i), 1), 0), np.int64), np.zeros(len(i), np.int64)
        sizes = tuple(np.maximum(d, 1).tolist())
        try:
            rows: Any = np.ravel_multi_index(tuple(i.T), sizes)
        except ValueError:
            raise invalid("TW206", f"sparse indices are out of bounds of shape {sizes}") from None
        rises = rows[1:] > rows[:-1]
        if not np.count_nonzero(rows[1:] < rows[:-1]):
            starts = np.append(True, rises)[: len(rows)]  # in order, as most are
            distinct, groups = rows[starts], np.cumsum(starts) - 1
        else:
            distinct, groups = np.unique(rows, return_inverse=True)
        places = np.stack(np.unravel_index(distinct, sizes), axis=-1).astype(np.int64)
        return places, groups.reshape(-1).astype(np.int64)

    no_gradient = PLACES
    batch = LOOP
    memory = "library"
    samples = (
        Sample(SOME[[1, 0, 1]], SHAPE),
        Sample(np.zeros((2, 0), np.int64), np.zeros(0, np.int64)),
    )
