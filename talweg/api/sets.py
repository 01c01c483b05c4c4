"""tf.sets: unions, intersections and differences of the sets that the last axis holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.array.creating import ones_like
from talweg.api.array.joining import concat
from talweg.api.array.shapes import ensure_shape, reshape
from talweg.api.export import export
from talweg.api.host import numpy_function
from talweg.api.math.comparison import maximum
from talweg.api.sparse.form import from_dense
from talweg.core.dtypes import int8, int16, int32, int64, string, uint8, uint16
from talweg.core.errors import invalid, type_error
from talweg.eager.composite import SparseTensor
from talweg.kernels import sets as kernels

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.value import Tensor


KINDS = (int8, int16, int32, int64, uint8, uint16, string)  # what sets are of


def _sparse(x: TensorLike) -> SparseTensor:
    """Return a SparseTensor; of a dense one every element is kept, zeros too."""
    if isinstance(x, SparseTensor):
        return x
    x = tensor(x)
    places = from_dense(ones_like(x, dtype=int64))
    return SparseTensor(places.indices, reshape(x, [-1]), places.dense_shape)


def _combine(a: TensorLike, b: TensorLike, operation: Callable[[set, set], set]) -> SparseTensor:
    given = [v if isinstance(v, SparseTensor) else tensor(v) for v in (a, b)]
    kinds = [v.dtype for v in given]
    if kinds[0] not in KINDS or kinds[0] is not kinds[1]:
        raise type_error(
            "TW102",
            f"sets of dtypes {kinds[0].name} and {kinds[1].name}",
            "the same integers, or strings",
        )
    ranks = [v.shape.rank for v in given]
    if any(rank is not None and rank < 2 for rank in ranks):
        raise invalid("TW203", f"sets of ranks {ranks}", "rows of sets: a rank above 1")
    if None not in ranks and ranks[0] != ranks[1]:
        raise invalid("TW203", f"sets of ranks {ranks[0]} and {ranks[1]}", "one rank")
    x, y = map(_sparse, given)
    rank = x.indices.dims[1]
    indices, values, longest = numpy_function(
        kernels.combine(operation),
        [x.indices, x.values, x.dense_shape, y.indices, y.values, y.dense_shape],
        [int64, x.values.dtype, int64],
        stateful=False,
    )
    rows = maximum(x.dense_shape[:-1], y.dense_shape[:-1])
    shape = concat([rows, reshape(longest, [1])], axis=0)
    indices, values = ensure_shape(indices, [None, rank]), ensure_shape(values, [None])
    return SparseTensor(indices, values, ensure_shape(shape, [rank]))


@export("sets.intersection")
def intersection(a: TensorLike, b: TensorLike, validate_indices: bool = True) -> SparseTensor:
    """Intersect the sets in the rows of two tensors, in order.

    a, b: tensors or SparseTensors of one rank above 1, of integers or strings, that differ at most
    in the size of the last axis; InvalidArgumentError, TypeError for others.

    >>> import talweg as tf
    >>> tf.sets.intersection([[1, 2, 3]], [[3, 1, 1]]).values.numpy()
    array([1, 3], dtype=int32)
    """
    return _combine(a, b, set.intersection)


@export("sets.union")
def union(a: TensorLike, b: TensorLike, validate_indices: bool = True) -> SparseTensor:
    """Unite the sets in the rows of two tensors, in order.

    >>> import talweg as tf
    >>> tf.sets.union([[1, 2]], [[3, 1]]).values.numpy()
    array([1, 2, 3], dtype=int32)
    """
    return _combine(a, b, set.union)


@export("sets.difference")
def difference(
    a: TensorLike, b: TensorLike, aminusb: bool = True, validate_indices: bool = True
) -> SparseTensor:
    """Subtract the sets in the rows of `b` from those of `a`; the reverse without `aminusb`.

    >>> import talweg as tf
    >>> tf.sets.difference([[1, 2]], [[3, 1]]).values.numpy()
    array([2], dtype=int32)
    """
    return _combine(a, b, set.difference) if aminusb else _combine(b, a, set.difference)


@export("sets.size")
def size(a: Any, validate_indices: bool = True) -> Tensor:
    """Count the different elements of each row of a SparseTensor [..., n], int32 [...].

    validate_indices: whether the order of indices is checked, InvalidArgumentError if it is wrong.
    TypeError for what is not sparse.

    >>> import talweg as tf
    >>> tf.sets.size(tf.sparse.from_dense([[1, 2], [3, 3]])).numpy()
    array([2, 1], dtype=int32)
    """
    if not isinstance(a, SparseTensor):
        raise type_error("TW104", f"sets.size: {type(a).__name__}", "a SparseTensor")
    if a.shape.rank is not None and a.shape.rank < 2:
        raise invalid("TW203", f"sets.size: rank {a.shape.rank}", "a rank above 1")
    operands = [a.indices, a.values, a.dense_shape]
    sizes = numpy_function(
        lambda *parts: kernels.sizes(*parts, check=bool(validate_indices)), operands, int32
    )
    rows = a.shape[:-1] if a.shape.rank else None
    return ensure_shape(sizes, rows)
