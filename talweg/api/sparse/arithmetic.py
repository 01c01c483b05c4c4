"""tf.sparse: sums, products, reductions and functions of the values.

Values that fall on one place are found by sorting the places; they are then combined by segment
primitives, so derivatives follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import axes_argument, require_sizes, tensor
from talweg.api.array.operands import sizes_tensor
from talweg.api.export import export
from talweg.api.sparse.form import dims_of, make_sparse, reorder, select_where, sparse, to_dense
from talweg.core.dims import differ, dims_differ, is_symbolic
from talweg.core.dtypes import int64
from talweg.core.errors import invalid, value_error
from talweg.core.value import Tensor
from talweg.eager import operators
from talweg.eager.composite import SparseTensor
from talweg.eager.tensor import EagerTensor, array_of, wrap
from talweg.execute.compositions import as_one
from talweg.prims import arithmetic, contract, joining, layout, segment, sparse_places
from talweg.prims.complex import conj
from talweg.prims.indexing import gather
from talweg.prims.reduce import reduce_sum
from talweg.prims.search import nonzero
from talweg.prims.transcendental import exp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.annotations import AxisLike, TensorLike
    from talweg.core.primitive import Primitive


def group_indices(indices: object, dims: Sequence[Any]) -> tuple:
    """Return the distinct places, sorted, and for each place given the number of its group."""
    return sparse_places.grouped_places(indices, sizes_tensor(tuple(dims), int64))


def columns_of(indices: object, columns: list) -> Any:
    """Return some columns of a matrix of places; neighbours without a copy."""
    count = indices.dims[0]
    if columns and columns == [*range(columns[0], columns[-1] + 1)] and type(count) is int:
        begin, end = (0, columns[0]), (count, columns[-1] + 1)
        return layout.strided_slice(indices, begin=begin, end=end, strides=(1, 1))
    return gather(indices, wrap(np.array(columns, np.int64)), axis=1, batch_dims=0)


def _union(x: SparseTensor, y: SparseTensor, function: str, combine: Callable) -> SparseTensor:
    """Return a value at every place of x or y: `combine` of both, zero where one has none."""
    if dims_differ(dims_of(x), dims_of(y)):
        raise invalid(
            "TW204", f"{function}: the shapes are {dims_of(x)} and {dims_of(y)}", "one shape"
        )
    theirs = require_sizes(y.indices, dims_of(y), dims_of(x), f"{function}: one shape")
    places, groups = group_indices(layout.concat(x.indices, theirs, axis=0), dims_of(x))
    sizes = (x.values.dims[0], y.values.dims[0])
    parts = joining.split(groups, sizes=sizes, axis=0)
    spread = [
        segment.segment_sum(values, ids, count=places.dims[0])
        for values, ids in zip((x.values, y.values), parts)
    ]
    return make_sparse(places, combine(*spread), dims_of(x))


@export("sparse.add")
def add(a: SparseTensor, b: SparseTensor, threshold: TensorLike = 0) -> Any:
    """Return a + b; sparse if both are, without the sums of two whose modulus is below `threshold`.

    TypeError if neither is sparse, InvalidArgumentError where shapes differ.

    >>> import talweg as tf
    >>> x = tf.SparseTensor([[0]], [1.0], [2])
    >>> tf.sparse.add(x, x).values.numpy()
    array([2.], dtype=float32)
    """
    if not isinstance(a, SparseTensor):
        a, b = sparse(b, "sparse.add", "a or b"), a
    if not isinstance(b, SparseTensor):
        return tensor(b, hint=a.dtype) + to_dense(a, validate_indices=False)
    total = _union(a.narrow_indices(), b.narrow_indices(), "sparse.add", arithmetic.add)
    if isinstance(threshold, (int, float)) and not threshold:
        return total
    size = operators.absolute(total.values)
    limit = tensor(threshold, hint=size.dtype)
    limit = limit if limit.dtype is size.dtype else arithmetic.cast(limit, dtype=size.dtype)
    met = _union(
        _ones(a.narrow_indices()), _ones(b.narrow_indices()), "sparse.add", arithmetic.add
    ).values
    alone = arithmetic.less(met, wrap(np.int32(2)))
    return select_where(total, arithmetic.logical_or(alone, arithmetic.greater_equal(size, limit)))


def _ones(x: SparseTensor) -> SparseTensor:
    return x.with_values(layout.broadcast_to(wrap(np.int32(1)), shape=x.values.dims))


@export("sparse.maximum")
def maximum(sp_a: SparseTensor, sp_b: SparseTensor, name: str | None = None) -> SparseTensor:
    """Return the larger element of two sparse tensors of one shape, at the places of either.

    >>> import talweg as tf
    >>> x = tf.SparseTensor([[0]], [-1.0], [2])
    >>> y = tf.SparseTensor([[1]], [2.0], [2])
    >>> tf.sparse.maximum(x, y).values.numpy()
    array([0., 2.], dtype=float32)
    """
    a, b = sparse(sp_a, "sparse.maximum", "sp_a"), sparse(sp_b, "sparse.maximum", "sp_b")
    return _union(a, b, "sparse.maximum", arithmetic.maximum)


@export("sparse.minimum")
def minimum(sp_a: TensorLike, sp_b: TensorLike, name: str | None = None) -> SparseTensor:
    """Return the smaller element of two sparse tensors of one shape, at the places of either.

    >>> import talweg as tf
    >>> x = tf.SparseTensor([[0]], [-1.0], [2])
    >>> y = tf.SparseTensor([[1]], [2.0], [2])
    >>> tf.sparse.minimum(x, y).values.numpy()
    array([-1.,  0.], dtype=float32)
    """
    a, b = sparse(sp_a, "sparse.minimum", "sp_a"), sparse(sp_b, "sparse.minimum", "sp_b")
    return _union(a, b, "sparse.minimum", arithmetic.minimum)


def _reduce(
    sp_input: SparseTensor,
    axis: object,
    keepdims: bool | None,
    as_sparse: bool,
    function: str,
    combine: Primitive,
) -> Any:
    """Combine the values with equal places on the axes left."""
    x = sparse(sp_input, function)
    dims = dims_of(x)
    axes = axes_argument(axis, len(dims), function)
    left = [one for one in range(len(dims)) if one not in axes]
    sizes = [dims[one] for one in left]
    if combine is segment.segment_sum and not as_sparse and not is_symbolic(dims):
        total = _sum_at_places(x.values, x.indices, tuple(left), tuple(sizes))
        kept = [1 if one in axes else n for one, n in enumerate(dims)] if keepdims else sizes
        return total if len(kept) == 1 else layout.reshape(total, shape=tuple(kept))
    places, groups = group_indices(columns_of(x.indices, left), sizes)
    count = places.dims[0]
    values = combine(x.values, groups, count=count)
    if keepdims:
        columns = iter(joining.unstack(places, axis=1))
        zeros = layout.broadcast_to(wrap(np.int64(0)), shape=(count,))
        every = [zeros if one in axes else next(columns) for one in range(len(dims))]
        places = joining.stack(*every, axis=1)
        sizes = [1 if one in axes else n for one, n in enumerate(dims)]
    if as_sparse:
        return make_sparse(places, values, sizes)
    if not sizes:
        return reduce_sum(values, axes=(0,), keepdims=False)
    return to_dense(make_sparse(places, values, sizes))


@as_one(least=1)
def _sum_at_places(values: Any, indices: Any, left: tuple, sizes: tuple) -> Any:
    """Return the sums over all axes but `left` as a vector, without looking for places that are
    equal.
    """
    whole = sizes_tensor(sizes, int64)
    columns = columns_of(indices, [*left]) if len(left) < indices.dims[1] else indices
    places = sparse_places.checked_places(columns, whole, ordered=False)
    numbers = sparse_places.place_numbers(places, whole)
    return segment.segment_sum(values, numbers, count=math.prod(sizes))


@export("sparse.reduce_sum")
def reduce_sum_(
    sp_input: SparseTensor,
    axis: AxisLike | None = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Compute the sum of the values over `axis` (an int, a list, or None for all).

    >>> import talweg as tf
    >>> tf.sparse.reduce_sum(tf.SparseTensor([[0, 1], [0, 2]], [5, 7], [2, 3]), axis=1).numpy()
    array([12,  0], dtype=int32)
    """
    combine = segment.segment_sum
    return _reduce(sp_input, axis, keepdims, output_is_sparse, "sparse.reduce_sum", combine)


@export("sparse.reduce_max")
def reduce_max(
    sp_input: SparseTensor,
    axis: AxisLike | None = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the largest of the values over `axis`, and 0 where there is none.

    Only values that are kept count: zeros that are not kept are no candidates.

    >>> import talweg as tf
    >>> tf.sparse.reduce_max(tf.SparseTensor([[0, 1], [0, 2]], [-5, -7], [2, 3]), axis=1).numpy()
    array([-5,  0], dtype=int32)
    """
    combine = segment.segment_max
    return _reduce(sp_input, axis, keepdims, output_is_sparse, "sparse.reduce_max", combine)


@export("sparse.softmax")
def softmax(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Return softmax over the values of each row (along the last axis); what is not kept does not
    count.

    sp_input: floats, rank 2 or more.  InvalidArgumentError for a smaller rank.

    >>> import talweg as tf
    >>> tf.sparse.softmax(tf.SparseTensor([[0, 1], [0, 2]], [3.0, 3.0], [1, 3])).values.numpy()
    array([0.5, 0.5], dtype=float32)
    """
    x = sparse(sp_input, "sparse.softmax")
    if len(dims_of(x)) < 2:
        raise invalid("TW203", f"sparse.softmax: shape {dims_of(x)}", "a rank of at least 2")
    leading = columns_of(x.indices, list(range(len(dims_of(x)) - 1)))
    places, ids = group_indices(leading, dims_of(x)[:-1])
    count = places.dims[0]
    top = arithmetic.stop_gradient(segment.segment_max(x.values, ids, count=count))
    powers = exp(x.values - segment.segment_rows(top, ids))
    sums = segment.segment_sum(powers, ids, count=count)
    return x.with_values(powers / segment.segment_rows(sums, ids))


def _matrix(x: Any) -> Any:
    if x.ndim != 2:
        raise invalid("TW203", f"sparse_dense_matmul: an operand has shape {x.shape}", "a matrix")
    return x


def _adjoint(x: SparseTensor) -> Any:
    """Return the conjugate transpose of a sparse or dense matrix."""
    if isinstance(x, SparseTensor):
        values = conj(x.values) if x.dtype.is_complex else x.values
        return make_sparse(layout.reverse(x.indices, axes=(1,)), values, dims_of(x)[::-1])
    return contract.adjoint(x)


@export("sparse.sparse_dense_matmul")
def sparse_dense_matmul(
    sp_a: SparseTensor,
    b: object,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """Compute the product of two matrices of which one is sparse; a dense matrix.

    adjoint_a, adjoint_b: use the conjugate transpose.  Both have gradients: of the sparse one, its
    values.  InvalidArgumentError where inner sizes, dtypes or ranks do not fit.

    >>> import talweg as tf
    >>> a = tf.SparseTensor([[0, 1]], [5.0], [2, 2])
    >>> tf.sparse.sparse_dense_matmul(a, [[1.0], [2.0]]).numpy()
    array([[10.],
           [ 0.]], dtype=float32)
    """
    if not isinstance(sp_a, SparseTensor):
        if not isinstance(b, SparseTensor):
            sp_a = sparse(sp_a, "sparse_dense_matmul", "sp_a")
        else:
            a = contract.adjoint(_matrix(tensor(sp_a))) if not adjoint_a else tensor(sp_a)
            product = sparse_dense_matmul(b if adjoint_b else _adjoint(b), a)
            return contract.adjoint(product)
    sp_a, dense = sp_a.narrow_indices(), _matrix(tensor(b, hint=sp_a.dtype))
    if len(dims_of(sp_a)) != 2:
        raise invalid("TW203", f"sparse_dense_matmul: sp_a has shape {dims_of(sp_a)}", "a matrix")
    dims, values = dims_of(sp_a), sp_a.values
    if adjoint_a:
        dims, values = dims[::-1], conj(values) if values.dtype.is_complex else values
    dense = contract.adjoint(dense) if adjoint_b else dense
    rows, inner = dims
    if differ(inner, dense.dims[0]):
        raise invalid(
            "TW204",
            "sparse_dense_matmul: cannot multiply, the inner dimensions do not match: "
            f"{inner} and {dense.dims[0]}",
        )
    dense = require_sizes(dense, dense.dims[:1], (inner,), "sparse_dense_matmul: inner dimensions")
    return _sum_chosen_rows(dense, values, sp_a.indices, rows, bool(adjoint_a))


@as_one(least=1)
def _sum_chosen_rows(dense: Any, values: Any, places: Any, rows: Any, turned: bool) -> Any:
    """Return the product of a sparse matrix, by the places of its values, and a dense one.

    turned: the places are those of the transpose.
    """
    at_row, at_column = joining.unstack(places, axis=1)[:: -1 if turned else 1]
    chosen = gather(dense, at_column, axis=0, batch_dims=0)
    terms = chosen * layout.reshape(values, shape=(values.dims[0], 1))
    return segment.segment_sum(terms, at_row, count=rows)


@export("sparse.map_values")
def map_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return `op` of the values of the sparse arguments, as a sparse tensor with their places.

    ValueError where the places of the sparse arguments differ.

    >>> import talweg as tf
    >>> tf.sparse.map_values(tf.add, tf.SparseTensor([[0]], [1], [2]), 10).values.numpy()
    array([11], dtype=int32)
    """
    sparse_arguments = [x for x in (*args, *kwargs.values()) if isinstance(x, SparseTensor)]
    if not sparse_arguments:
        return op(*args, **kwargs)
    first = sparse_arguments[0]
    for other in sparse_arguments[1:]:
        pair = [x.indices for x in (first, other)]
        if type(pair[0]) is type(pair[1]) is EagerTensor and not np.array_equal(
            *map(array_of, pair)
        ):
            raise value_error("TW204", "sparse.map_values: the places of the arguments differ")

    def plain(x: Tensor) -> Any:
        return x.values if isinstance(x, SparseTensor) else x

    values = op(*map(plain, args), **{name: plain(x) for name, x in kwargs.items()})
    return first.with_values(values)


@export("sparse.fill_empty_rows")
def fill_empty_rows(
    sp_input: SparseTensor, default_value: TensorLike, name: str | None = None
) -> tuple[Any, ...]:
    """Return the tensor with `default_value` first in each row without values; which rows these
    are.

    default_value: a scalar.

    >>> import talweg as tf
    >>> x, empty = tf.sparse.fill_empty_rows(tf.SparseTensor([[1, 0]], [5], [2, 2]), 9)
    >>> x.values.numpy(), empty.numpy()
    (array([9, 5], dtype=int32), array([ True, False]))
    """
    x = sparse(sp_input, "sparse.fill_empty_rows")
    dims = dims_of(x)
    at_row = joining.unstack(x.indices, axis=1)[0]
    per_row = segment.segment_sum(arithmetic.one_like(at_row), at_row, count=dims[0])
    empty = arithmetic.equal(per_row, arithmetic.zeros_of(per_row))
    rows = nonzero(empty)
    default = tensor(default_value, dtype=x.dtype)
    if default.ndim:
        raise invalid("TW203", f"default_value has shape {default.dims}", "a scalar")
    added = layout.broadcast_to(default, shape=rows.dims[:1])
    if len(dims) > 1:
        zeros = (arithmetic.zeros_of(rows),) * (len(dims) - 1)
        first = layout.concat(rows, *zeros, axis=1)
    else:
        first = rows
    places = layout.concat(x.indices, first, axis=0)
    values = layout.concat(x.values, added, axis=0)
    return reorder(make_sparse(places, values, dims)), empty
