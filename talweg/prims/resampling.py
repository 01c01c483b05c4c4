"""Resampling along an axis: each element is a weighted sum of a few old ones, its taps."""

from __future__ import annotations

import math

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import check_dtype, primitive
from talweg.core.dims import dims_differ, same
from talweg.core.dtypes import float32, float64, int32, int64
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.kernels.resampling import sum_taps
from talweg.prims.indexing import POSITIONS, check_index, check_range, gather, scatter_rows
from talweg.prims.layout import batch_to_front, reshape
from talweg.prims.reduce import reduce_sum

WIDE = frozenset({float32, float64})
FEW = 3  # channels that a register would hold alone
STORED = 128.0  # the cost of an element that is not computed again
TAPS = np.array([[0, 1], [1, 2], [2, 1], [2, 0]], np.int32)
THREE = np.array([[0], [2], [0]], np.int32)


@primitive
class resample:
    """z[o, i, r] = Σₖ weights[i, k] x[o, places[i, k], r]: `axis` follows o.

    places, weights: [new size, taps].  A tap is read where the sum is made, so the cost does not
    grow with the old size.
    """

    operands = "x places weights"

    def infer(x, places, weights, *, axis):
        check_index("resample", places.dtype)
        check_dtype("resample", "x", x.dtype, WIDE)
        check_dtype("resample", "weights", weights.dtype, {x.dtype})
        if len(places.dims) != 2 or dims_differ(places.dims, weights.dims):
            raise invalid(
                "TW204",
                f"resample: places have shape {places.dims}, weights {weights.dims}",
                "[new size, taps] for both",
            )
        if len(x.dims) <= axis:
            raise invalid("TW203", f"resample: axis {axis} of shape {x.dims}")
        if same(x.dims[axis], 0) and not same(places.dims[0], 0):
            raise invalid("TW206", f"resample: nothing to take from along axis {axis} of {x.dims}")
        return Aval((*x.dims[:axis], places.dims[0], *x.dims[axis + 1 :]), x.dtype)

    def numpy(x: np.ndarray, places, weights, *, axis):
        check_range("resample", places, x.shape[axis])
        return sum_taps(x, places, weights, axis)

    def transpose_x(g, x, places, weights, *, axis):
        new, taps = places.dims
        lead, behind = g.dims[:axis], g.dims[axis + 1 :]
        column = reshape(weights, shape=(new, taps, *(1 for _ in behind)))
        parts = reshape(g, shape=(*lead, new, 1, *behind)) * column
        return scatter_rows(parts, places, axis=axis, batch_dims=0, rows=x.dims[axis])

    def requires(t, x, places, weights, *, axis):
        t.require_below(places, x.dims[axis])

    def expand(t, x, places, weights, *, axis):
        """Resample a few channels as one row, in which neighbours fill a register."""
        depth, (new, taps) = math.prod(x.dims[axis + 1 :]), places.dims
        if not 1 < depth <= FEW or taps > 2:
            return NotImplemented
        spread, each = (new, depth, taps), (new * depth, taps)
        if x.dims[axis] * depth > int32.max:
            places = t.cast(places, dtype=int64)
        columns = t.stack(*[t.add(t.mul(places, depth), n) for n in range(depth)], axis=1)
        weights = t.broadcast_to(t.reshape(weights, shape=(new, 1, taps)), shape=spread)
        row = t.reshape(x, shape=(*x.dims[:axis], x.dims[axis] * depth))
        z = t.resample(
            row, t.reshape(columns, shape=each), t.reshape(weights, shape=each), axis=axis
        )
        return t.reshape(z, shape=(*x.dims[:axis], new, *x.dims[axis + 1 :]))

    def loops(s, index, x, places, weights, *, axis):
        total = s.zero(x)
        for k in range(places.dims[1]):
            place = s.clamp(places(index[axis], k), x.dims[axis])
            tap = x(*index[:axis], place, *index[axis + 1 :]) * weights(index[axis], k)
            total = total + tap if k else tap
        return total

    def cost(x, places, weights, *, axis):
        """Return what has rows stored before columns are made of them.

        Fewer rows, too, of which each element would be computed twice, in another order.
        """
        new, taps = places.dims
        return STORED if new <= x.dims[axis] and axis + 1 < len(x.dims) else 8.0 * taps

    def batch(size, batched, x, places, weights, *, axis):
        if not batched[1] and not batched[2]:
            return resample(x, places, weights, axis=axis + 1)
        x, places, weights = (
            batch_to_front(size, v, b) for v, b in zip((x, places, weights), batched)
        )
        taps = gather(x, places, axis=axis + 1, batch_dims=1)
        ones = [1 for _ in taps.dims]
        shape = (size, *ones[1 : axis + 1], *places.dims[1:], *ones[axis + 3 :])
        parts = taps * reshape(weights, shape=shape)
        return reduce_sum(parts, axes=(axis + 2,), keepdims=False)

    no_gradient = {
        "places": POSITIONS,
        "weights": NoGradient("weights of a resampling follow from its sizes"),
    }
    memory = "map"
    samples = (
        Sample([3, 2], TAPS, [4, 2], axis=0),
        Sample([2, 3], TAPS, [4, 2], axis=1),
        Sample([2, 3, 2], THREE, [3, 1], axis=1),
        Sample([0, 3, 2], THREE, [3, 1], axis=1),
    )
    rejects = (
        Reject([3, 2], np.array([[3]]), [1, 1], axis=0, code="TW206"),
        Reject([3, 2], TAPS, [2, 4], axis=0, code="TW204"),
        Reject([3], TAPS, [4, 2], axis=1, code="TW203"),
        Reject([0], TAPS, [4, 2], axis=0, code="TW206"),
    )
