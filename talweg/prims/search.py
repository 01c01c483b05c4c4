"""From values to places and back: nonzero, one_hot, searchsorted, in_top_k, unique."""

from __future__ import annotations

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, check_dtype, primitive
from talweg.core.dims import below, differ, dims_differ
from talweg.core.dtypes import bool_, int8, int32, int64, uint8
from talweg.core.errors import invalid
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.core.roles import Trait
from talweg.kernels.sorting import distinct

POSITIONS = NoGradient("positions are integers")


@primitive
class nonzero:
    """z = the indices [n, rank] of the elements of x that are not zero, in row-major order."""

    operands = "x"
    tf_type = "Where"

    def infer(x):
        if x.dims is None:
            return Aval((None, None), int64)
        if x.ndim == 0:
            raise invalid("TW203", "where: condition is a scalar", "a rank of at least 1")
        return Aval((None, x.ndim), int64)

    def numpy(x: np.ndarray):
        numbers = x.dtype.kind in "iufc"
        flat = np.flatnonzero(x != 0 if numbers else x)  # of a vector of truths the fastest
        places = np.empty((flat.size, x.ndim), np.int64)
        for axis in range(x.ndim - 1, 0, -1):
            rows = flat // x.shape[axis]
            np.subtract(flat, rows * x.shape[axis], out=places[:, axis])
            flat = rows
        places[:, 0] = flat
        return places

    no_gradient = NoGradient("places are integers, and a condition only chooses")
    batch = LOOP
    memory = "library"
    samples = (
        Sample(np.array([[True, False], [True, True]])),
        Sample(np.array([0.0, 2.0])),
        Sample(np.zeros((0, 2))),
    )
    rejects = (Reject([], code="TW203"),)


@primitive
class one_hot:
    """z[..., j, ...] = 1 where j = i, 0 elsewhere, the new axis of size `depth` at `axis`."""

    operands = "i"
    tf_name = "one_hot"
    tf_attributes = "one_hot"

    def infer(i, *, depth, axis, dtype):
        if i.dtype not in {uint8, int8, int32, int64}:
            raise invalid(
                "TW102",
                f"one_hot: indices have dtype {i.dtype.name}",
                "uint8, int8, int32 or int64",
                "tf.cast(indices, tf.int32)" if i.dtype.is_floating else "",
            )
        if below(depth, 0):
            raise invalid("TW207", f"one_hot: depth must be non-negative, got {depth}")
        return Aval((*i.dims[:axis], depth, *i.dims[axis:]), dtype)

    def numpy(i, *, depth, axis, dtype):
        i = np.asarray(i)
        result = np.zeros((i.size, depth), dtype.numpy_dtype)
        flat = i.reshape(-1)
        inside = np.flatnonzero((flat >= 0) & (flat < depth))
        result[inside, flat[inside]] = 1
        return np.moveaxis(result.reshape(*i.shape, depth), -1, axis)

    no_gradient = POSITIONS

    def batch(size, batched, i, *, depth, axis, dtype):
        return one_hot(i, depth=depth, axis=axis + 1, dtype=dtype)

    def loops(s, index, i, *, depth, axis, dtype):
        label = i(*index[:axis], *index[axis + 1 :])
        if depth > i.dtype.max:
            label = s.cast(label, int64)
        return s.convert(s.equal(label, s.index(index[axis], label.dtype)), dtype)

    memory = "map"
    traits = {Trait.MOVES_ROWS}
    samples = (
        Sample(np.array([0, 2, -1, 5], np.int32), depth=3, axis=1, dtype_=int32),
        Sample(np.array([[0], [1]], np.int64), depth=2, axis=0, dtype_=int64),
    )
    rejects = (Reject([2], depth=2, axis=0, dtype_=int32, code="TW102"),)


@primitive
class searchsorted:
    """z = where v would go into the sorted x.   x [..., n], v [..., m] -> z [..., m].

    `right` counts the elements of x that are at most v, otherwise those below it.
    """

    operands = "x v"

    def tf_type(x, v, *, right, dtype):
        return "UpperBound" if right else "LowerBound"

    def infer(x, v, *, right, dtype):
        if x.dtype is not v.dtype:
            raise invalid(
                "TW102",
                f"searchsorted: values has dtype {v.dtype.name} and sorted_sequence has dtype "
                f"{x.dtype.name}",
                "one dtype",
            )
        if x.ndim == 0 or v.ndim == 0:
            raise invalid(
                "TW203",
                f"searchsorted: sorted_sequence has shape {x.dims} and values has shape {v.dims}",
                "ranks of at least 1",
            )
        if dims_differ(x.dims[:-1], v.dims[:-1]):
            raise invalid(
                "TW204",
                f"searchsorted: leading dimensions differ: sorted_sequence has shape {x.dims} and "
                f"values has shape {v.dims}",
                "shapes that are equal but for the last dimension",
            )
        return Aval(v.dims, dtype)

    def numpy(x, v, *, right, dtype):
        if not x.size or not v.size:
            return np.zeros(v.shape, dtype.numpy_dtype)
        side = "right" if right else "left"
        rows, parts = x.reshape(-1, x.shape[-1]), v.reshape(-1, v.shape[-1])
        found = [np.searchsorted(row, part, side) for row, part in zip(rows, parts)]
        result = np.array(found, dtype.numpy_dtype).reshape(v.shape)
        if v.dtype.kind == "f":
            result[np.isnan(v)] = x.shape[-1] if right else 0  # no comparison with NaN holds
        return result

    no_gradient = POSITIONS

    def batch(size, batched, x, v, *, right, dtype):
        return NotImplemented if not all(batched) else searchsorted(x, v, right=right, dtype=dtype)

    memory = "library"
    xla = "searchsorted"
    samples = (
        Sample(np.array([1.0, 3, 5]), np.array([0.0, 1, 6]), right=False, dtype_=int32),
        Sample(np.array([[1, 3], [2, 4]]), np.array([[2], [2]]), right=True, dtype_=int64),
        Sample(np.zeros((2, 0)), np.zeros((2, 1)), right=True, dtype_=int64),
    )
    rejects = (
        Reject([2], [], right=True, dtype_=int32, code="TW203"),
        Reject([2, 2], [3, 2], right=True, dtype_=int32, code="TW204"),
        Reject([2], np.array([1]), right=True, dtype_=int32, code="TW102"),
    )


@primitive
class in_top_k:
    """z = whether fewer than k of x[b, :] exceed x[b, i[b]].   x [b, n], i [b] -> z [b].

    False where i is no column, and where x[b, i[b]] or a larger element is not finite.
    """

    operands = "x i"
    tf_type = "InTopKV2"

    def infer(x, i, *, k):
        check_dtype("in_top_k", "targets", i.dtype, {int32, int64})
        if x.ndim != 2 or i.ndim != 1:
            raise invalid(
                "TW203",
                f"in_top_k: predictions has shape {x.dims} and targets has shape {i.dims}",
                "predictions of rank 2 and targets of rank 1",
            )
        if differ(x.dims[0], i.dims[0]):
            raise invalid(
                "TW204",
                f"in_top_k: {x.dims[0]} rows of predictions, but {i.dims[0]} targets",
            )
        return Aval(i.dims, bool_)

    def numpy(x: np.ndarray, i, *, k):
        rows, columns = x.shape
        inside = (i >= 0) & (i < columns)
        if not columns:
            return np.zeros(rows, bool)
        own = x[np.arange(rows), np.where(inside, i, 0)]
        larger = (x > own[:, None]).sum(1)
        return inside & np.isfinite(x).all(1) & (larger < k)

    def expand(t, x, i, *, k):
        if not x.dtype.is_floating:
            return NotImplemented
        columns = x.dims[1]
        inside = t.logical_and(t.greater_equal(i, 0), t.less(i, columns))
        own = t.apply(one_hot, i, depth=columns, axis=1, dtype=bool_)
        own = t.reduce_sum(t.select(own, x, t.zeros_of(x)), axes=(1,), keepdims=True)
        larger = t.cast(t.greater(x, own), dtype=int32)
        larger = t.less(t.reduce_sum(larger, axes=(1,), keepdims=False), k)
        finite = t.reduce_all(t.is_finite(x), axes=(1,), keepdims=False)
        return t.logical_and(t.logical_and(inside, larger), finite)

    no_gradient = NoGradient("truth values have no derivative")
    batch = LOOP
    memory = "reduce"
    samples = (Sample([3, 4], np.array([0, 5, 2]), k=2),)
    rejects = (
        Reject([4], np.array([0]), k=1, code="TW203"),
        Reject([3, 4], np.array([0]), k=1, code="TW204"),
    )


@primitive
class unique:
    """The different elements of x [n], in the order of their first appearance.

    Three results: the place of each one's first appearance, for every element of x the number of
    its value, and how often each value appears.  NaN differs from NaN.
    """

    operands = "x"
    multiple = True

    def infer(x, *, dtype):
        if x.ndim != 1:
            raise invalid("TW203", f"unique: x has shape {x.dims}", "a vector")
        return [Aval((None,), dtype), Aval(x.dims, dtype), Aval((None,), dtype)]

    def numpy(x: np.ndarray, *, dtype):
        results = distinct(x)
        return tuple(part.astype(dtype.numpy_dtype) for part in results)

    no_gradient = POSITIONS
    batch = LOOP
    memory = "library"
    samples = (Sample(np.array([3, 1, 3, 2, 1]), dtype_=int32), Sample(np.zeros(0), dtype_=int64))
    rejects = (Reject([2, 2], dtype_=int32, code="TW203"),)


@primitive
class invert_permutation:
    """z[x[i]] = i.   x [n] holds each of 0..n-1 once."""

    operands = "x"

    def infer(x):
        check_dtype("invert_permutation", "x", x.dtype, {int32, int64})
        if x.ndim != 1:
            raise invalid("TW203", f"invert_permutation: x has shape {x.dims}", "a vector")
        return x

    def numpy(x: np.ndarray):
        if x.size and (x.min() < 0 or x.max() >= x.size):
            bad = x[(x < 0) | (x >= x.size)][0]
            raise invalid("TW206", f"invert_permutation: {bad} is not between 0 and {x.size}")
        if np.unique(x).size < x.size:
            bad = x[np.bincount(x)[x] > 1][0]
            raise invalid("TW207", f"invert_permutation: {bad} is duplicated in the input")
        result = np.empty_like(x)
        result[x] = np.arange(x.size, dtype=x.dtype)
        return result

    no_gradient = POSITIONS
    batch = LOOP
    memory = "scatter"
    samples = (Sample(np.array([3, 0, 2, 1])), Sample(np.zeros(0, np.int32)))
    rejects = (
        Reject(np.array([0, 0]), code="TW207"),
        Reject(np.array([0, 5]), code="TW206"),
        Reject([2], code="TW102"),
    )
