"""tf.sparse: making sparse tensors, and changing their form.

Places have no derivative; values follow them by gathers.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import (
    axis_argument,
    integer,
    integers,
    require_sizes,
    resolve_shape,
    tensor,
)
from talweg.api.array.operands import integer_vector, sizes_tensor
from talweg.api.export import export
from talweg.api.tensors import cast
from talweg.core.dims import below, differ, dims_differ, largest, smallest
from talweg.core.dtypes import as_dtype, bool_, float32, int64, string
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.value import IndexedSlices, Tensor
from talweg.eager.composite import SparseTensor, SparseTensorSpec
from talweg.eager.tensor import wrap
from talweg.graph.symbol import Symbol
from talweg.prims import (
    arithmetic,
    counts,
    indexing,
    joining,
    layout,
    reduce,
    scattering,
    search,
    sequences,
    sort,
    sparse_places,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.annotations import AxisLike, DTypeLike, ShapeLike, TensorLike

export("SparseTensor", "sparse.SparseTensor")(SparseTensor)
export("SparseTensorSpec")(SparseTensorSpec)


def sparse(value: object, function: str, argument: str = "sp_input") -> SparseTensor:
    """Return `value` if it is a SparseTensor; TypeError otherwise."""
    if isinstance(value, SparseTensor):
        return value.narrow_indices()
    if all(hasattr(value, name) for name in ("indices", "values", "dense_shape")):
        return SparseTensor.from_value(value)
    raise type_error(
        "TW104",
        f"{function}: {argument} must be a SparseTensor, got {value!r}",
        hint="tf.sparse.from_dense(x)",
    )


def take_rows(values: object, places: object) -> Any:
    """Return values[places] for an array or tensor of places."""
    places = wrap(np.asarray(places, np.int64)) if isinstance(places, np.ndarray) else places
    return indexing.gather(values, places, axis=0, batch_dims=0)


def make_sparse(indices: object, values: object, dims: Sequence[Any]) -> SparseTensor:
    """Return a SparseTensor of places (an array or a tensor), a tensor of values, and sizes."""
    if isinstance(indices, np.ndarray):
        indices = wrap(np.asarray(indices, np.int64).reshape(-1, len(dims)))
    return SparseTensor(indices, values, sizes_tensor(tuple(dims), int64))


def dims_of(x: SparseTensor) -> tuple:
    """Return the sizes of the whole; symbolic where a graph does not know them."""
    if type(x.dense_shape) is not Symbol:
        return x.shape.as_tuple()
    return integer_vector(x.dense_shape, "sparse", "dense_shape")


def select_where(x: SparseTensor, chosen: object, dims: list[Any] | None = None) -> SparseTensor:
    """Return the values, and their places, where the truth values `chosen` [n] are true."""
    places = search.nonzero(chosen)
    places = layout.reshape(places, shape=places.dims[:1])
    whole = x.dense_shape if dims is None else sizes_tensor(tuple(dims), int64)
    return SparseTensor(take_rows(x.indices, places), take_rows(x.values, places), whole)


@export("sparse.from_dense")
def from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """Return the elements of a tensor that are not zero (false, empty), with their places.

    tensor: rank 1 or more, any dtype.  InvalidArgumentError for a scalar.

    >>> import talweg as tf
    >>> tf.sparse.from_dense([[0, 1], [2, 0]]).values.numpy()
    array([1, 2], dtype=int32)
    """
    x = _as_tensor(tensor)
    if x.ndim == 0:
        raise invalid("TW203", "sparse.from_dense: tensor is a scalar", "a rank of at least 1")
    indices = search.nonzero(x)
    return make_sparse(indices, indexing.gather_nd(x, indices, sparse=False), x.dims)


_as_tensor = tensor


@export("sparse.to_dense")
def to_dense(
    sp_input: SparseTensor,
    default_value: object = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Return the whole tensor; `default_value` (zero, or an empty string) where there is no value.

    InvalidArgumentError for places outside the shape and, if `validate_indices`, for places that
    are out of order or repeated.  TypeError if sp_input is not sparse.

    >>> import talweg as tf
    >>> tf.sparse.to_dense(tf.SparseTensor([[0, 1]], [5], [1, 3]), default_value=-1).numpy()
    array([[-1,  5, -1]], dtype=int32)
    """
    x = sparse(sp_input, "sparse.to_dense")
    ordered = bool(validate_indices)
    places = sparse_places.checked_places(x.indices, x.dense_shape, ordered=ordered)
    if x.dtype.is_numeric and default_value is None:
        if validate_indices:
            return indexing.scatter_nd(places, x.values, shape=dims_of(x))
        default_value = 0
    empty = b"" if x.dtype is string else False
    default = tensor(empty if default_value is None else default_value, dtype=x.dtype)
    if default.ndim:
        raise invalid("TW203", f"default_value has shape {default.dims}", "a scalar")
    whole = layout.broadcast_to(default, shape=dims_of(x))
    return scattering.scatter_update(whole, places, x.values)


@export("sparse.reorder")
def reorder(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Return the same tensor with its places in row-major order.

    >>> import talweg as tf
    >>> tf.sparse.reorder(tf.SparseTensor([[1], [0]], [10, 20], [2])).values.numpy()
    array([20, 10], dtype=int32)
    """
    x = sparse(sp_input, "sparse.reorder")
    numbers = sparse_places.place_numbers(x.indices, x.dense_shape)
    order = sort.argsort(numbers, descending=False)
    return SparseTensor(take_rows(x.indices, order), take_rows(x.values, order), x.dense_shape)


@export("sparse.reshape")
def reshape(sp_input: TensorLike, shape: ShapeLike, name: str | None = None) -> SparseTensor:
    """Return the same elements, in row-major order, in another shape; one size may be -1.

    InvalidArgumentError where the number of elements differs.

    >>> import talweg as tf
    >>> tf.sparse.reshape(tf.SparseTensor([[1, 0]], [5], [2, 2]), [-1]).indices.numpy()
    array([[2]])
    """
    x = sparse(sp_input, "sparse.reshape")
    size = math.prod(dims_of(x))
    dims = resolve_shape(shape, size, "sparse.reshape")
    if differ(math.prod(dims), size):
        raise invalid(
            "TW205", f"sparse.reshape: {size} dense values cannot be given the shape {dims}"
        )
    indices = require_sizes(x.indices, (size,), (math.prod(dims),), "sparse.reshape: elements")
    numbers = sparse_places.place_numbers(indices, x.dense_shape)
    whole = sizes_tensor(dims, int64)
    some = arithmetic.maximum(whole, 1)  # where a size is 0 there are no places
    places = layout.transpose(counts.unravel(numbers, some), perm=(1, 0))
    return SparseTensor(places, x.values, whole)


@export("sparse.transpose")
def transpose(
    sp_input: SparseTensor, perm: AxisLike | None = None, name: str | None = None
) -> SparseTensor:
    """Return the tensor with its axes permuted: axis perm[i] becomes axis i; reversed by default.

    ValueError if perm is no permutation.

    >>> import talweg as tf
    >>> tf.sparse.transpose(tf.SparseTensor([[0, 2]], [5], [1, 3])).indices.numpy()
    array([[2, 0]])
    """
    x = sparse(sp_input, "sparse.transpose")
    dims = dims_of(x)
    axes = range(len(dims) - 1, -1, -1) if perm is None else integers(perm, "transpose", "perm")
    axes = list(axes)
    if sorted(axes) != list(range(len(dims))):
        raise value_error("TW202", f"sparse.transpose: perm={axes} for rank {len(dims)}")
    places = indexing.gather(x.indices, wrap(np.array(axes, np.int64)), axis=1, batch_dims=0)
    return reorder(make_sparse(places, x.values, [dims[axis] for axis in axes]))


@export("sparse.expand_dims")
def expand_dims(
    sp_input: SparseTensor, axis: AxisLike | None = None, name: str | None = None
) -> SparseTensor:
    """Return the tensor with an axis of size 1 put in before `axis`; at the end by default.

    >>> import talweg as tf
    >>> tf.sparse.expand_dims(tf.SparseTensor([[1]], [5], [2]), 0).shape
    TensorShape([1, 2])
    """
    x = sparse(sp_input, "sparse.expand_dims")
    dims = dims_of(x)
    axis = axis_argument(-1 if axis is None else axis, len(dims) + 1, "sparse.expand_dims")
    zeros = layout.broadcast_to(wrap(np.int64(0)), shape=(x.indices.dims[0], 1))
    columns = joining.split(x.indices, sizes=(axis, len(dims) - axis), axis=1)
    places = layout.concat(columns[0], zeros, columns[1], axis=1)
    return make_sparse(places, x.values, (*dims[:axis], 1, *dims[axis:]))


@export("sparse.eye")
def eye(
    num_rows: TensorLike,
    num_columns: TensorLike | None = None,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> SparseTensor:
    """Return ones on the diagonal of a matrix [num_rows, num_columns], which is square by default.

    >>> import talweg as tf
    >>> tf.sparse.to_dense(tf.sparse.eye(2)).numpy()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    rows = integer(num_rows, "sparse.eye", "num_rows")
    columns = rows if num_columns is None else integer(num_columns, "sparse.eye", "num_columns")
    count, kind = smallest(rows, columns), as_dtype(dtype)
    steps = sequences.counting(size=count, dtype=int64)
    values = layout.broadcast_to(wrap(kind.numpy_dtype.type(1)), shape=(count,))
    return make_sparse(joining.stack(steps, steps, axis=1), values, (rows, columns))


@export("sparse.retain")
def retain(sp_input: SparseTensor, to_retain: TensorLike) -> SparseTensor:
    """Return the values, with their places, where `to_retain`, a vector of truth values, is true.

    ValueError for another number of truth values than of values; InvalidArgumentError where only
    the run knows these numbers (TensorFlow leaves values out, then).

    >>> import talweg as tf
    >>> tf.sparse.retain(tf.SparseTensor([[0], [1]], [5, 6], [2]), [False, True]).values.numpy()
    array([6], dtype=int32)
    """
    x = sparse(sp_input, "sparse.retain")
    kept = cast(tensor(to_retain), bool_)
    if dims_differ(kept.dims, x.values.dims):
        raise value_error(
            "TW204", f"sparse.retain: to_retain has shape {kept.dims}, values {x.values.dims}"
        )
    text = "sparse.retain: to_retain needs one truth value for each value"
    kept = require_sizes(kept, kept.dims, x.values.dims, text)
    return select_where(x, kept)


@export("sparse.slice")
def slice_(
    sp_input: SparseTensor, start: TensorLike, size: TensorLike, name: str | None = None
) -> SparseTensor:
    """Return the part of the tensor from `start`, `size` long along each axis (or as far as there
    is).

    >>> import talweg as tf
    >>> tf.sparse.slice(tf.SparseTensor([[3]], [5], [4]), [2], [2]).indices.numpy()
    array([[1]])
    """
    x = sparse(sp_input, "sparse.slice")
    begin = integers(start, "sparse.slice", "start")
    wanted = integers(size, "sparse.slice", "size")
    if not len(begin) == len(wanted) == len(dims_of(x)):
        text = f"sparse.slice: start {list(begin)}, size {list(wanted)} for shape {dims_of(x)}"
        raise invalid("TW204", text, "a number for each dimension")
    dims = [
        smallest(largest(have - first, 0), count)
        for have, first, count in zip(dims_of(x), begin, wanted)
    ]
    moved = arithmetic.sub(x.indices, sizes_tensor(begin, int64))
    inside = arithmetic.logical_and(
        arithmetic.greater_equal(moved, wrap(np.int64(0))),
        arithmetic.less(moved, sizes_tensor(tuple(dims), int64)),
    )
    chosen = reduce.reduce_all(inside, axes=(1,), keepdims=False)
    return select_where(SparseTensor(moved, x.values, x.dense_shape), chosen, dims)


@export("sparse.split")
def split(
    sp_input: SparseTensor | None = None,
    num_split: TensorLike | None = None,
    axis: AxisLike | None = None,
    name: str | None = None,
) -> list[Any]:
    """Return the tensor cut into `num_split` parts along `axis`; the first ones are longer by up to
    1.

    >>> import talweg as tf
    >>> parts = tf.sparse.split(tf.SparseTensor([[0], [2]], [5, 6], [3]), 2, axis=0)
    >>> [part.shape for part in parts]
    [TensorShape([2]), TensorShape([1])]
    """
    x = sparse(sp_input, "sparse.split")
    if num_split is None or axis is None:
        raise value_error("TW207", "sparse.split: num_split and axis must be given")
    dims = dims_of(x)
    axis = axis_argument(axis, len(dims), "sparse.split")
    count = integer(num_split, "sparse.split", "num_split")
    if count < 1 or below(dims[axis], count):
        raise invalid("TW207", f"sparse.split: num_split={count} for {dims[axis]} elements")
    enough = largest(dims[axis], count)
    indices = require_sizes(x.indices, (dims[axis],), (enough,), "sparse.split: too few elements")
    x = SparseTensor(indices, x.values, x.dense_shape)
    parts, begin = [], 0
    for position in range(count):
        size = (dims[axis] + count - 1 - position) // count
        starts = [begin if i == axis else 0 for i in range(len(dims))]
        parts.append(slice_(x, starts, [size if i == axis else n for i, n in enumerate(dims)]))
        begin += size
    return parts


@export("sparse.reset_shape")
def reset_shape(sp_input: SparseTensor, new_shape: ShapeLike | None = None) -> SparseTensor:
    """Return the same places and values in another shape: the smallest that holds them, or
    `new_shape`.

    ValueError if `new_shape` is smaller than the shape.

    >>> import talweg as tf
    >>> tf.sparse.reset_shape(tf.SparseTensor([[0, 1]], [5], [4, 4])).shape
    TensorShape([1, 2])
    """
    x = sparse(sp_input, "sparse.reset_shape")
    if new_shape is None:
        top = reduce.reduce_max(x.indices, axes=(0,), keepdims=False)
        dims = arithmetic.maximum(top, wrap(np.int64(-1))) + wrap(np.int64(1))
        return SparseTensor(x.indices, x.values, dims)
    dims = integers(new_shape, "sparse.reset_shape", "new_shape")
    if len(dims) != len(dims_of(x)) or any(map(below, dims, dims_of(x))):
        raise value_error(
            "TW204", f"sparse.reset_shape: new_shape={dims} is smaller than {dims_of(x)}"
        )
    enough = tuple(map(largest, dims, dims_of(x)))
    indices = require_sizes(x.indices, dims, enough, "sparse.reset_shape: too small")
    return make_sparse(indices, x.values, dims)


@export("sparse.concat")
def concat(
    axis: object,
    sp_inputs: Sequence[Any],
    expand_nonconcat_dims: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """Return the tensors one after the other along `axis`.

    expand_nonconcat_dims: other sizes may differ, the largest counts; otherwise
    InvalidArgumentError where they do.

    >>> import talweg as tf
    >>> x = tf.SparseTensor([[0]], [5], [2])
    >>> tf.sparse.concat(0, [x, x]).indices.numpy()
    array([[0],
           [2]])
    """
    inputs = [sparse(x, "sparse.concat", "sp_inputs") for x in sp_inputs]
    if not inputs:
        raise invalid("TW205", "sparse.concat: sp_inputs is empty", "a sparse tensor or more")
    dims = [dims_of(x) for x in inputs]
    rank = len(dims[0])
    axis = axis_argument(axis, rank, "sparse.concat")
    for other in dims[1:]:
        same = len(other) == rank and (
            expand_nonconcat_dims
            or not any(i != axis and differ(a, b) for i, (a, b) in enumerate(zip(dims[0], other)))
        )
        if not same:
            raise invalid("TW204", f"sparse.concat: shapes {dims} must match except on axis {axis}")
    whole = [functools.reduce(largest, column) for column in zip(*dims)]
    whole[axis] = sum(one[axis] for one in dims)
    places, begin = [], 0
    for x, one in zip(inputs, dims):
        shift = sizes_tensor(tuple(begin if i == axis else 0 for i in range(rank)), int64)
        indices = x.indices
        if not expand_nonconcat_dims:
            rest = [(*d[:axis], *d[axis + 1 :]) for d in (one, dims[0])]
            indices = require_sizes(indices, rest[0], rest[1], "sparse.concat: other sizes")
        places.append(indices + shift)
        begin += one[axis]
    values = layout.concat(*(x.values for x in inputs), axis=0)
    return reorder(make_sparse(layout.concat(*places, axis=0), values, whole))


@export("sparse.to_indicator")
def to_indicator(sp_input: TensorLike, vocab_size: TensorLike, name: str | None = None) -> Tensor:
    """Return truth values, [..., vocab_size]: true where the last index is replaced by a value.

    >>> import talweg as tf
    >>> tf.sparse.to_indicator(tf.SparseTensor([[0, 0]], [2], [1, 1]), 3).numpy()
    array([[False, False,  True]])
    """
    x = sparse(sp_input, "sparse.to_indicator")
    size = integer(vocab_size, "sparse.to_indicator", "vocab_size")
    last = len(dims_of(x)) - 1
    values = layout.reshape(arithmetic.cast(x.values, dtype=int64), shape=(x.values.dims[0], 1))
    leading = joining.split(x.indices, sizes=(last, 1), axis=1)[0]
    places = layout.concat(leading, values, axis=1)
    nowhere = layout.broadcast_to(wrap(np.False_), shape=(*dims_of(x)[:-1], size))
    here = layout.broadcast_to(wrap(np.True_), shape=x.values.dims)
    return scattering.scatter_update(nowhere, places, here)


@export("sparse.mask")
def mask(a: IndexedSlices, mask_indices: TensorLike, name: str | None = None) -> IndexedSlices:
    """Return the slices of `a` whose indices are not among `mask_indices`.

    >>> import talweg as tf
    >>> a = tf.IndexedSlices(tf.constant([1.0, 2.0]), tf.constant([0, 3]))
    >>> tf.sparse.mask(a, [0]).indices.numpy()
    array([3], dtype=int32)
    """
    masked, count = tensor(mask_indices, hint=a.indices.dtype), a.indices.dims[0]
    masked = layout.reshape(masked, shape=(1, math.prod(masked.dims)))
    equal = arithmetic.equal(layout.reshape(a.indices, shape=(count, 1)), masked)
    kept = arithmetic.logical_not(reduce.reduce_any(equal, axes=(1,), keepdims=False))
    places = search.nonzero(kept)
    places = layout.reshape(places, shape=places.dims[:1])
    return IndexedSlices(take_rows(a.values, places), take_rows(a.indices, places), a.dense_shape)
