"""tf.sparse: making sparse tensors, and changing their form.

Places are computed on arrays, as they have no derivative; values by primitives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.api.arguments import axis_argument, integer, integers, resolve_shape, tensor
from talweg.api.export import export
from talweg.core.dtypes import DType, as_dtype, bool_, float32, string
from talweg.core.errors import invalid, type_error, value_error
from talweg.core.value import OPERATIONS, IndexedSlices
from talweg.eager.composite import SparseTensor, SparseTensorSpec, row_numbers
from talweg.eager.tensor import array_of, wrap
from talweg.prims import indexing, layout

export("SparseTensor", "sparse.SparseTensor")(SparseTensor)
export("SparseTensorSpec")(SparseTensorSpec)


def sparse(value: Any, function: str, argument: str = "sp_input") -> SparseTensor:
    """`value` if it is a SparseTensor; TypeError otherwise."""
    if isinstance(value, SparseTensor):
        return value
    if all(hasattr(value, name) for name in ("indices", "values", "dense_shape")):
        return SparseTensor.from_value(value)
    raise type_error(
        "TW104", f"{function}: {argument} must be a SparseTensor, got {value!r}",
        hint="tf.sparse.from_dense(x)",
    )  # fmt: skip


def taken(values: Any, places: np.ndarray) -> Any:
    """values[places]."""
    if values.dtype.is_numeric:
        return indexing.gather(values, wrap(np.asarray(places, np.int64)), axis=0, batch_dims=0)
    return wrap(array_of(values)[places])


def made(indices: np.ndarray, values: Any, dims: Any) -> SparseTensor:
    """A SparseTensor of arrays of places and a tensor of values."""
    places = np.asarray(indices, np.int64).reshape(-1, len(dims))
    return SparseTensor(wrap(places), values, wrap(np.array(dims, np.int64)))


def dims_of(x: SparseTensor) -> tuple:
    """The shape of the whole as a tuple."""
    return x.shape.as_tuple()


@export("sparse.from_dense")
def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """The elements of a tensor that are not zero (false, empty), with their places.

    tensor: rank 1 or more, any dtype.  InvalidArgumentError for a scalar.

    >>> import talweg as tf
    >>> tf.sparse.from_dense([[0, 1], [2, 0]]).values.numpy()
    array([1, 2], dtype=int32)
    """
    x = _as_tensor(tensor)
    if x.ndim == 0:
        raise invalid("TW203", "sparse.from_dense: tensor is a scalar", "a rank of at least 1")
    array = array_of(x)
    present = array != b"" if x.dtype is string else array != 0
    indices = np.argwhere(present)
    if x.dtype.is_numeric:
        values = indexing.gather_nd(x, wrap(indices), sparse=False)
    else:
        values = wrap(array[present])
    return made(indices, values, x.dims)


_as_tensor = tensor


def _check_places(x: SparseTensor, ordered: bool) -> None:
    """InvalidArgumentError for places outside the shape, and out of order or repeated ones."""
    indices, dims = array_of(x.indices), np.array(dims_of(x))
    wrong = np.any((indices < 0) | (indices >= dims), axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise invalid(
            "TW206", f"indices[{row}] = {indices[row].tolist()} is out of bounds for shape {dims}"
        )
    steps = np.diff(row_numbers(x)) if ordered else np.array([])
    if np.any(steps <= 0):
        row = int(np.argmax(steps <= 0)) + 1
        what = "repeated" if steps[row - 1] == 0 else "out of order"
        raise invalid(
            "TW206", f"indices[{row}] = {indices[row].tolist()} is {what}", "sorted indices",
            "tf.sparse.reorder(x), or validate_indices=False",
        )  # fmt: skip


@export("sparse.to_dense")
def to_dense(
    sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: str | None = None
) -> Any:
    """The whole tensor; `default_value` (zero, or an empty string) where there is no value.

    InvalidArgumentError for places outside the shape and, if `validate_indices`, for places that
    are out of order or repeated.  TypeError if sp_input is not sparse.

    >>> import talweg as tf
    >>> tf.sparse.to_dense(tf.SparseTensor([[0, 1]], [5], [1, 3]), default_value=-1).numpy()
    array([[-1,  5, -1]], dtype=int32)
    """
    x = sparse(sp_input, "sparse.to_dense")
    _check_places(x, validate_indices)
    if x.dtype.is_numeric and default_value is None:
        if validate_indices:
            return indexing.scatter_nd(x.indices, x.values, shape=dims_of(x))
        default_value = 0
    empty = b"" if x.dtype is string else False
    default = tensor(empty if default_value is None else default_value, dtype=x.dtype)
    if default.ndim:
        raise invalid("TW203", f"default_value has shape {default.dims}", "a scalar")
    whole = np.full(dims_of(x), array_of(default)[()], x.dtype.numpy_dtype)
    if x.dtype.is_differentiable:
        background = default + wrap(np.zeros_like(whole))
        return OPERATIONS["tensor_scatter_nd_update"](background, x.indices, x.values)
    whole[tuple(array_of(x.indices).T)] = array_of(x.values)
    return wrap(whole)


@export("sparse.reorder")
def reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The same tensor with its places in row-major order.

    >>> import talweg as tf
    >>> tf.sparse.reorder(tf.SparseTensor([[1], [0]], [10, 20], [2])).values.numpy()
    array([20, 10], dtype=int32)
    """
    x = sparse(sp_input, "sparse.reorder")
    order = np.argsort(row_numbers(x), kind="stable")
    return made(array_of(x.indices)[order], taken(x.values, order), dims_of(x))


@export("sparse.reshape")
def reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """The same elements, in row-major order, in another shape; one size may be -1.

    InvalidArgumentError where the number of elements differs.

    >>> import talweg as tf
    >>> tf.sparse.reshape(tf.SparseTensor([[1, 0]], [5], [2, 2]), [-1]).indices.numpy()
    array([[2]])
    """
    x = sparse(sp_input, "sparse.reshape")
    size = int(np.prod(dims_of(x), dtype=np.int64))
    dims = resolve_shape(shape, size, "sparse.reshape")
    if int(np.prod(dims, dtype=np.int64)) != size:
        raise invalid(
            "TW205", f"sparse.reshape: {size} dense values cannot be given the shape {dims}"
        )
    places = np.stack(np.unravel_index(row_numbers(x), dims or (1,)), axis=-1)
    return made(places[:, : len(dims)], x.values, dims)


@export("sparse.transpose")
def transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """The tensor with its axes permuted: axis perm[i] becomes axis i; reversed by default.

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
    turned = made(array_of(x.indices)[:, axes], x.values, [dims[axis] for axis in axes])
    return reorder(turned)


@export("sparse.expand_dims")
def expand_dims(sp_input: Any, axis: Any = None, name: str | None = None) -> SparseTensor:
    """The tensor with an axis of size 1 put in before `axis`; at the end by default.

    >>> import talweg as tf
    >>> tf.sparse.expand_dims(tf.SparseTensor([[1]], [5], [2]), 0).shape
    TensorShape([1, 2])
    """
    x = sparse(sp_input, "sparse.expand_dims")
    dims = dims_of(x)
    axis = axis_argument(-1 if axis is None else axis, len(dims) + 1, "sparse.expand_dims")
    places = np.insert(array_of(x.indices), axis, 0, axis=1)
    return made(places, x.values, (*dims[:axis], 1, *dims[axis:]))


@export("sparse.eye")
def eye(
    num_rows: Any, num_columns: Any = None, dtype: Any = float32, name: str | None = None
) -> SparseTensor:
    """Ones on the diagonal of a matrix [num_rows, num_columns], which is square by default.

    >>> import talweg as tf
    >>> tf.sparse.to_dense(tf.sparse.eye(2)).numpy()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    rows = integer(num_rows, "sparse.eye", "num_rows")
    columns = rows if num_columns is None else integer(num_columns, "sparse.eye", "num_columns")
    places = np.arange(min(rows, columns))
    kind: DType = as_dtype(dtype)
    values = wrap(np.ones(len(places), kind.numpy_dtype))
    return made(np.stack([places, places], axis=1), values, (rows, columns))


@export("sparse.retain")
def retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """The values, with their places, where `to_retain`, a vector of truth values, is true.

    >>> import talweg as tf
    >>> tf.sparse.retain(tf.SparseTensor([[0], [1]], [5, 6], [2]), [False, True]).values.numpy()
    array([6], dtype=int32)
    """
    x = sparse(sp_input, "sparse.retain")
    kept = array_of(tensor(to_retain, dtype=bool_))
    if kept.shape != x.values.dims:
        raise value_error(
            "TW204", f"sparse.retain: to_retain has shape {kept.shape}, values {x.values.dims}"
        )
    places = np.flatnonzero(kept)
    return made(array_of(x.indices)[places], taken(x.values, places), dims_of(x))


@export("sparse.slice")
def slice_(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """The part of the tensor from `start`, `size` long along each axis (or as far as there is).

    >>> import talweg as tf
    >>> tf.sparse.slice(tf.SparseTensor([[3]], [5], [4]), [2], [2]).indices.numpy()
    array([[1]])
    """
    x = sparse(sp_input, "sparse.slice")
    begin = np.array(integers(start, "sparse.slice", "start"))
    wanted = np.array(integers(size, "sparse.slice", "size"))
    dims = np.clip(np.array(dims_of(x)) - begin, 0, wanted)
    indices = array_of(x.indices) - begin
    places = np.flatnonzero(np.all((indices >= 0) & (indices < dims), axis=1))
    return made(indices[places], taken(x.values, places), dims.tolist())


@export("sparse.split")
def split(
    sp_input: Any = None, num_split: Any = None, axis: Any = None, name: str | None = None
) -> list:
    """The tensor cut into `num_split` parts along `axis`; the first ones are longer by up to 1.

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
    if not 1 <= count <= dims[axis]:
        raise invalid("TW207", f"sparse.split: num_split={count} for {dims[axis]} elements")
    short, longer = divmod(dims[axis], count)
    parts, begin = [], 0
    for position in range(count):
        size = short + (position < longer)
        starts = [begin if i == axis else 0 for i in range(len(dims))]
        parts.append(slice_(x, starts, [size if i == axis else n for i, n in enumerate(dims)]))
        begin += size
    return parts


@export("sparse.reset_shape")
def reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """The same places and values in another shape: the smallest that holds them, or `new_shape`.

    ValueError if `new_shape` is smaller than the shape.

    >>> import talweg as tf
    >>> tf.sparse.reset_shape(tf.SparseTensor([[0, 1]], [5], [4, 4])).shape
    TensorShape([1, 2])
    """
    x = sparse(sp_input, "sparse.reset_shape")
    indices = array_of(x.indices)
    if new_shape is None:
        dims = indices.max(axis=0) + 1 if len(indices) else np.zeros(len(dims_of(x)), np.int64)
        return made(indices, x.values, dims.tolist())
    dims = integers(new_shape, "sparse.reset_shape", "new_shape")
    if len(dims) != len(dims_of(x)) or any(a < b for a, b in zip(dims, dims_of(x))):
        raise value_error(
            "TW204", f"sparse.reset_shape: new_shape={dims} is smaller than {dims_of(x)}"
        )
    return made(indices, x.values, dims)


@export("sparse.concat")
def concat(
    axis: Any, sp_inputs: Any, expand_nonconcat_dims: bool = False, name: str | None = None
) -> SparseTensor:
    """The tensors one after the other along `axis`.

    expand_nonconcat_dims: other sizes may differ, the largest counts; otherwise
    InvalidArgumentError where they do.

    >>> import talweg as tf
    >>> x = tf.SparseTensor([[0]], [5], [2])
    >>> tf.sparse.concat(0, [x, x]).indices.numpy()
    array([[0],
           [2]])
    """
    inputs = [sparse(x, "sparse.concat", "sp_inputs") for x in sp_inputs]
    dims = [dims_of(x) for x in inputs]
    rank = len(dims[0])
    axis = axis_argument(axis, rank, "sparse.concat")
    for other in dims[1:]:
        same = len(other) == rank and (
            expand_nonconcat_dims or all(i == axis or a == b for i, (a, b) in
                                         enumerate(zip(dims[0], other)))
        )  # fmt: skip
        if not same:
            raise invalid("TW204", f"sparse.concat: shapes {dims} must match except on axis {axis}")
    whole = [max(column) for column in zip(*dims)]
    whole[axis] = sum(one[axis] for one in dims)
    places, begin = [], 0
    for x, one in zip(inputs, dims):
        shifted = array_of(x.indices).copy()
        shifted[:, axis] += begin
        places.append(shifted)
        begin += one[axis]
    values = layout.concat(*(x.values for x in inputs), axis=0)
    return reorder(made(np.concatenate(places), values, whole))


@export("sparse.to_indicator")
def to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Any:
    """Truth values, [..., vocab_size]: true where the last index is replaced by a value.

    >>> import talweg as tf
    >>> tf.sparse.to_indicator(tf.SparseTensor([[0, 0]], [2], [1, 1]), 3).numpy()
    array([[False, False,  True]])
    """
    x = sparse(sp_input, "sparse.to_indicator")
    size = integer(vocab_size, "sparse.to_indicator", "vocab_size")
    values = array_of(x.values)
    if np.any((values < 0) | (values >= size)):
        raise invalid("TW206", f"sparse.to_indicator: a value is outside [0, {size})")
    result = np.zeros((*dims_of(x)[:-1], size), bool)
    result[(*array_of(x.indices)[:, :-1].T, values)] = True
    return wrap(result)


@export("sparse.mask")
def mask(a: IndexedSlices, mask_indices: Any, name: str | None = None) -> IndexedSlices:
    """The slices of `a` whose indices are not among `mask_indices`.

    >>> import talweg as tf
    >>> a = tf.IndexedSlices(tf.constant([1.0, 2.0]), tf.constant([0, 3]))
    >>> tf.sparse.mask(a, [0]).indices.numpy()
    array([3], dtype=int32)
    """
    indices = array_of(a.indices)
    places = np.flatnonzero(~np.isin(indices, array_of(tensor(mask_indices))))
    return IndexedSlices(taken(a.values, places), wrap(indices[places]), a.dense_shape)
