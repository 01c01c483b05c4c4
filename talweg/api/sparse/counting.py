"""tf.sparse.bincount: counts numbers in dense, sparse and ragged tensors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.operands import integer_scalar
from talweg.api.export import export
from talweg.api.sparse.arithmetic import columns_of, group_indices
from talweg.api.sparse.form import dims_of, make_sparse, take_rows
from talweg.core.dims import largest
from talweg.core.dtypes import DType, int32, int64
from talweg.eager.composite import SparseTensor
from talweg.eager.ragged import RaggedTensor
from talweg.eager.tensor import wrap
from talweg.prims import arithmetic, joining, layout, segment
from talweg.prims.counts import number_of_bins
from talweg.prims.search import nonzero
from talweg.prims.sequences import counting

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, TensorLike


@export("sparse.bincount")
def bincount(
    values: TensorLike,
    weights: TensorLike | None = None,
    axis: AxisLike = 0,
    minlength: TensorLike | None = None,
    maxlength: TensorLike | None = None,
    binary_output: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """Count each number in a tensor: the counts stand at the places of the numbers.

    values: non-negative integers, dense, sparse or ragged.  axis=0 counts all, axis=-1 the rows of
    a matrix one by one.  weights: what each counts instead of 1, of the same kind as the values.
    minlength, maxlength: limits of the last size (numbers of at least maxlength are left out).
    binary_output: 1 for every number that occurs.

    >>> import talweg as tf
    >>> tf.sparse.bincount([1, 1, 2]).values.numpy()
    array([2, 1], dtype=int32)
    """
    rows, keys, flat = _list_counts(values, axis)
    amounts = None if weights is None or binary_output else _flat(weights)
    if maxlength is not None:
        limit = arithmetic.cast(tensor(maxlength), dtype=int64)
        kept = nonzero(arithmetic.less(flat, limit))
        kept = layout.reshape(kept, shape=kept.dims[:1])
        keys, flat = take_rows(keys, kept), take_rows(flat, kept)
        amounts = None if amounts is None else take_rows(amounts, kept)
    needed = number_of_bins(flat, argument=("sparse.bincount", "values"))
    size = largest(integer_scalar(needed, "sparse.bincount", "values"), minlength or 0)
    if maxlength is not None:
        size = integer_scalar(tensor(maxlength), "sparse.bincount", "maxlength")
    single = rows is None
    places, groups = group_indices(joining.stack(keys, flat, axis=1), (1 if single else rows, size))
    distinct = places.dims[0]
    kind = _dtype(values)
    one = wrap(kind.numpy_dtype.type(1))
    if amounts is not None:
        counts = segment.segment_sum(amounts, groups, count=distinct)
    elif binary_output:
        counts = layout.broadcast_to(one, shape=(distinct,))
    else:
        ones = layout.broadcast_to(one, shape=groups.dims)
        counts = segment.segment_sum(ones, groups, count=distinct)
    if single:
        return make_sparse(columns_of(places, [1]), counts, (size,))
    return make_sparse(places, counts, (rows, size))


def _dtype(values: object) -> DType:
    """Return the dtype of counts, which is that of the numbers, int32 or int64."""
    dtype = _flat(values).dtype
    return dtype if dtype is int64 else int32


def _flat(values: object) -> Any:
    """Return the elements that are there, as a vector."""
    if isinstance(values, SparseTensor):
        return values.values
    x = values.flat_values if isinstance(values, RaggedTensor) else tensor(values)
    return layout.reshape(x, shape=(math.prod(x.dims),))


def _list_counts(values: object, axis: object) -> tuple:
    """List (the number of rows counted one by one, None for all as one; each number's row; the
    numbers).
    """
    flat = arithmetic.cast(_flat(values), dtype=int64)
    count = flat.dims[0]
    if isinstance(values, SparseTensor):
        dims = dims_of(values)
        rows, at = dims[0], values.indices
        keys = layout.reshape(columns_of(at, [0]), shape=(count,)) if len(dims) > 1 else None
    elif isinstance(values, RaggedTensor):
        rows, keys = values.row_splits.dims[0] - 1, values.value_rowids()
        keys = arithmetic.cast(keys, dtype=int64)
    else:
        dims = tensor(values).dims
        rows, keys = dims[0] if dims else 1, None
        if len(dims) > 1:
            column = layout.reshape(counting(size=rows, dtype=int64), shape=(rows, 1))
            spread = layout.broadcast_to(column, shape=(rows, math.prod(dims[1:])))
            keys = layout.reshape(spread, shape=(count,))
    if axis is None or axis == 0 or keys is None:
        return None, layout.broadcast_to(wrap(np.int64(0)), shape=(count,)), flat
    return rows, keys, flat
