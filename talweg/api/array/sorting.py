"""Sorting and searching: sort, argsort, top_k, searchsorted, unique."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.operands import axis_scalar, integer_scalar, numbers, set_rank
from talweg.api.export import export
from talweg.core.dtypes import as_dtype, float32, int32
from talweg.core.errors import invalid, value_error
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.prims import indexing, layout, search
from talweg.prims import sort as ordering

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, DTypeLike, TensorLike


class TopKV2(NamedTuple):
    values: Tensor
    indices: Tensor


class ApproxTopK(NamedTuple):
    values: Tensor
    indices: Tensor


class Unique(NamedTuple):
    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple):
    y: Tensor
    idx: Tensor
    count: Tensor


def _descending(direction: str, function: str) -> bool:
    if not isinstance(direction, str) or direction not in ("ASCENDING", "DESCENDING"):
        raise value_error(
            "TW207", f"{function}: direction={direction!r}", '"ASCENDING" or "DESCENDING"'
        )
    return direction == "DESCENDING"


def _to_last(x: Tensor, axis: int) -> Any:
    """Exchange `axis` of x and the last axis."""
    last = len(x.dims) - 1
    if axis == last:
        return x
    perm = list(range(last + 1))
    perm[axis], perm[last] = last, axis
    return layout.transpose(x, perm=tuple(perm))


@export("sort")
def sort(
    values: TensorLike, axis: AxisLike = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """Return `values` sorted along `axis`, "ASCENDING" or "DESCENDING".

    values: real numbers of rank at least 1; NaN counts as the largest.  The derivative follows the
    elements to their places.  InvalidArgumentError for other dtypes or an axis out of range,
    ValueError for another direction.

    >>> import talweg as tf
    >>> tf.sort([3, 1, 2]).numpy()
    array([1, 2, 3], dtype=int32)
    """
    descending = _descending(direction, "sort")
    x = tensor(values)
    along = axis_scalar(axis, len(x.dims), "sort")
    return _to_last(ordering.sort(_to_last(x, along), descending=descending), along)


@export("argsort")
def argsort(
    values: TensorLike,
    axis: AxisLike = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the int32 indices that sort `values` along `axis`; equal elements keep their order.

    Errors as `tf.sort`.

    >>> import talweg as tf
    >>> tf.argsort([3, 1, 2]).numpy()
    array([1, 2, 0], dtype=int32)
    """
    descending = _descending(direction, "argsort")
    x = tensor(values)
    along = axis_scalar(axis, len(x.dims), "argsort")
    return _to_last(ordering.argsort(_to_last(x, along), descending=descending), along)


@export("math.top_k", "nn.top_k")
def top_k(
    input: TensorLike,
    k: TensorLike = 1,
    sorted: bool = True,
    index_type: DTypeLike = int32,
    name: str | None = None,
) -> TopKV2:
    """Return (values, indices): the k largest elements along the last axis, largest first.

    input [..., n] of real numbers -> two tensors [..., k].  Of equal elements the first comes
    first.  InvalidArgumentError for k outside [0, n].  The result is sorted even without `sorted`.

    >>> import talweg as tf
    >>> values, indices = tf.math.top_k([1, 3, 2], 2)
    >>> values.numpy(), indices.numpy()
    (array([3, 2], dtype=int32), array([1, 2], dtype=int32))
    """
    x = tensor(input)
    if type(k) is not int and tensor(k).dims:
        raise invalid("TW203", f"top_k: k must be scalar, got shape {tensor(k).dims}")
    count = integer_scalar(k, "top_k", "k")
    top = ordering.top_k(x, k=count, smallest=False, dtype=as_dtype(index_type))
    return TopKV2(*top)


@export("approx_top_k")
def approx_top_k(
    input: object,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    is_max_k: bool = True,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> ApproxTopK:
    """Return (values, indices) of the k largest elements (smallest, without `is_max_k`) along a
    dimension.

    Exact here, whatever `recall_target` allows.

    >>> import talweg as tf
    >>> tf.approx_top_k([1.0, 3.0, 2.0], 2).values.numpy()
    array([3., 2.], dtype=float32)
    """
    x = tensor(input)
    along = axis_scalar(reduction_dimension, len(x.dims), "approx_top_k", "reduction_dimension")
    count = integer_scalar(k, "approx_top_k", "k")
    best = ordering.top_k(_to_last(x, along), k=count, smallest=not is_max_k, dtype=int32)
    return ApproxTopK(*(_to_last(part, along) for part in best))


def _approximate(largest: bool, word: str) -> Any:
    def approximate(
        operand: object,
        k: int,
        reduction_dimension: int = -1,
        recall_target: float = 0.95,
        reduction_input_size_override: int = -1,
        aggregate_to_topk: bool = True,
        name: str | None = None,
    ) -> ApproxTopK:
        return approx_top_k(operand, k, reduction_dimension, recall_target, largest)

    name = "approx_max_k" if largest else "approx_min_k"
    approximate.__name__ = approximate.__qualname__ = name
    approximate.__doc__ = f"""Return (values, indices) of the k {word} elements along one axis.

    The result is exact here, whatever `recall_target` is.

    >>> import talweg as tf
    >>> tf.math.{name}([1.0, 3.0, 2.0], 1).indices.numpy()
    array([{1 if largest else 0}], dtype=int32)
    """
    return export(f"math.{name}", f"nn.{name}")(approximate)


approx_max_k = _approximate(True, "largest")
approx_min_k = _approximate(False, "smallest")


@export("math.in_top_k", "nn.in_top_k")
def in_top_k(
    targets: TensorLike, predictions: TensorLike, k: TensorLike, name: str | None = None
) -> Tensor:
    """Return whether predictions[b, targets[b]] is among the k largest of predictions[b].

    targets [b] (int32 or int64), predictions [b, n] (float32) -> bool [b].  All elements that tie
    with the k-th count as inside.  InvalidArgumentError where shapes or dtypes do not fit.

    >>> import talweg as tf
    >>> tf.math.in_top_k([0, 1], [[0.1, 0.9], [0.3, 0.7]], 1).numpy()
    array([False,  True])
    """
    scores = convert_to_tensor(predictions, float32)
    count = integer_scalar(k, "in_top_k", "k")
    return search.in_top_k(scores, tensor(targets), k=count)


@export("searchsorted")
def searchsorted(
    sorted_sequence: TensorLike,
    values: TensorLike,
    side: str = "left",
    out_type: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Find the places of `values` in `sorted_sequence` at which it would stay sorted.

    sorted_sequence [..., n], values [..., m] of one dtype -> [..., m] of dtype `out_type`.  With
    side "left" before equal elements, with "right" behind them.  ValueError for another side.

    >>> import talweg as tf
    >>> tf.searchsorted([1, 3, 5], [3, 4]).numpy()
    array([1, 2], dtype=int32)
    """
    if not isinstance(side, str) or side not in ("left", "right"):
        raise value_error("TW207", f"searchsorted: side={side!r}", "'left' or 'right'")
    dtype = as_dtype(out_type)
    numbers(dtype, "searchsorted", "out_type")
    x, v = tensor(sorted_sequence), tensor(values)
    flat = [_rows(part) if part.dims else part for part in (x, v)]
    positions = search.searchsorted(*flat, right=side == "right", dtype=dtype)
    return layout.reshape(positions, shape=v.dims)


def _rows(x: Tensor) -> Any:
    """Reshape x [..., n] to a matrix [rows, n]."""
    return layout.reshape(x, shape=(math.prod(x.dims[:-1]), x.dims[-1]))


def _unique(x: object, out_idx: object, function: str) -> tuple:
    x = set_rank(tensor(x), 1)
    dtype = as_dtype(out_idx)
    numbers(dtype, function, "out_idx")
    first, number, count = search.unique(x, dtype=dtype)
    return indexing.gather(x, first, axis=0, batch_dims=0), number, count


@export("unique")
def unique(x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None) -> Unique:
    """Return (y, idx): the different elements of the vector `x` in the order in which they first
    appear.

    idx, of dtype `out_idx` (int32 or int64), says for each element of x its place in y: x = y[idx].
    InvalidArgumentError unless x is a vector.

    >>> import talweg as tf
    >>> y, idx = tf.unique([3, 1, 3])
    >>> y.numpy(), idx.numpy()
    (array([3, 1], dtype=int32), array([0, 1, 0], dtype=int32))
    """
    return Unique(*_unique(x, out_idx, "unique")[:2])


@export("unique_with_counts")
def unique_with_counts(
    x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None
) -> UniqueWithCounts:
    """Return (y, idx, count): as `tf.unique`, and how often each element of y appears in `x`.

    >>> import talweg as tf
    >>> tf.unique_with_counts([3, 1, 3]).count.numpy()
    array([2, 1], dtype=int32)
    """
    return UniqueWithCounts(*_unique(x, out_idx, "unique_with_counts"))


@export("math.invert_permutation")
def invert_permutation(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the permutation y with y[x[i]] = i.

    x [n]: int32 or int64, each of 0..n-1 once; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.math.invert_permutation([2, 0, 1]).numpy()
    array([1, 2, 0], dtype=int32)
    """
    if isinstance(x, (list, tuple)) and not x:
        x = np.zeros(0, np.int32)
    return search.invert_permutation(tensor(x))
