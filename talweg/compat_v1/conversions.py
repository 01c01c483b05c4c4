"""tf.compat.v1: conversions, values kept between runs, sparse sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import export, look_up
from talweg.compat_v1.adapters import adapt
from talweg.core.dtypes import int64
from talweg.core.value import IndexedSlices
from talweg.eager.composite import SparseTensor

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, DTypeLike


# -- conversions


@export("compat.v1.convert_to_tensor_or_indexed_slices")
def convert_to_tensor_or_indexed_slices(
    value: Any, dtype: DTypeLike | None = None, name: str | None = None
) -> Any:
    """Return `value` as a tensor; IndexedSlices as they are."""
    return value if isinstance(value, IndexedSlices) else look_up("convert_to_tensor")(value, dtype)


@export("compat.v1.convert_to_tensor_or_sparse_tensor")
def convert_to_tensor_or_sparse_tensor(
    value: Any, dtype: DTypeLike | None = None, name: str | None = None
) -> Any:
    """Return `value` as a tensor; a SparseTensor as it is, RuntimeError if it has another dtype."""
    if isinstance(value, SparseTensor):
        if dtype is not None and value.dtype != dtype:
            raise RuntimeError(
                f"Sparse dtype: requested = {dtype}, actual = {value.dtype}  [TW102]"
            )
        return value
    return look_up("convert_to_tensor")(value, dtype)


@export("compat.v1.floor_div")
def floor_div(x: Any, y: Any, name: str | None = None) -> Any:
    """Return x / y, rounded down."""
    return look_up("math.floordiv")(x, y)


@export("compat.v1.user_ops.my_fact")
def my_fact() -> Any:
    """Return a truth.

    >>> import talweg.compat.v1 as tf
    >>> tf.user_ops.my_fact().numpy()
    b'0! = 1'
    """
    return look_up("raw_ops.Fact")()


adapt(
    "sparse_matmul",
    "raw_ops.SparseMatMul",
    "a, b, transpose_a=False, transpose_b=False, a_is_sparse=False, b_is_sparse=False, name=None",
)

# -- values kept between runs


@export("compat.v1.get_session_handle")
def get_session_handle(data: Any, name: str | None = None) -> Any:
    """Return a handle of a tensor, whose value later runs can use.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     handle = session.run(tf.get_session_handle(tf.constant(3.0)))
    ...     holder, x = tf.get_session_tensor(handle, tf.float32)
    ...     float(session.run(x * 2, {holder: handle}))
    6.0
    """
    x = look_up("convert_to_tensor")(data)
    py_func = look_up("compat.v1.py_func")
    keep = lambda value: look_up("raw_ops.GetSessionHandle")(value=value).numpy()  # noqa: E731
    handle = py_func(keep, [x], look_up("string"))
    handle.set_shape([])
    return handle


@export("compat.v1.get_session_tensor")
def get_session_tensor(handle: Any, dtype: DTypeLike, name: str | None = None) -> tuple:
    """Return (a placeholder for the handle, the tensor)."""
    holder = look_up("compat.v1.placeholder")(look_up("string"), [])
    dtype = look_up("as_dtype")(dtype)

    def get(key: Any) -> Any:
        key = key if isinstance(key, bytes) else np.asarray(key)[()]
        return look_up("raw_ops.GetSessionTensor")(handle=key, dtype=dtype).numpy()

    return holder, look_up("compat.v1.py_func")(get, [holder], dtype)


@export("compat.v1.delete_session_tensor")
def delete_session_tensor(handle: Any, name: str | None = None) -> tuple:
    """Return (a placeholder for the handle, the operation that forgets its value)."""
    holder = look_up("compat.v1.placeholder")(look_up("string"), [])

    def forget(key: Any) -> Any:
        key = key if isinstance(key, bytes) else np.asarray(key)[()]
        look_up("raw_ops.DeleteSessionTensor")(handle=key)
        return np.int32(0)

    return holder, look_up("compat.v1.py_func")(forget, [holder], look_up("int32")).op


# -- sparse tensors


def _sparse_sum(kind: str, x: Any, axis: Any, keepdims: Any) -> Any:
    function = look_up(f"sparse.reduce_{kind}")
    return function(x, axis, bool(keepdims), output_is_sparse=True)


@export("compat.v1.sparse_reduce_max_sparse", "compat.v1.sparse.reduce_max_sparse")
def sparse_reduce_max_sparse(
    sp_input: Any,
    axis: AxisLike | None = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> Any:
    """Compute the maxima along axes, as a sparse tensor."""
    along = axis if reduction_axes is None else reduction_axes
    return _sparse_sum("max", sp_input, along, keepdims or keep_dims)


@export("compat.v1.sparse_reduce_sum_sparse", "compat.v1.sparse.reduce_sum_sparse")
def sparse_reduce_sum_sparse(
    sp_input: Any,
    axis: AxisLike | None = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> Any:
    """Compute the sums along axes, as a sparse tensor."""
    along = axis if reduction_axes is None else reduction_axes
    return _sparse_sum("sum", sp_input, along, keepdims or keep_dims)


@export("compat.v1.sparse_merge", "compat.v1.sparse.merge")
def sparse_merge(
    sp_ids: Any, sp_values: Any, vocab_size: Any, name: str | None = None, already_sorted=False
) -> Any:
    """Return the values of a sparse tensor in the columns that another one names.

    sp_ids and vocab_size may be lists, for several axes.
    """
    several = isinstance(sp_ids, (list, tuple))
    columns = list(sp_ids) if several else [sp_ids]
    sizes = list(vocab_size) if several else [vocab_size]
    cast, concat = look_up("cast"), look_up("concat")
    own = [look_up("expand_dims")(cast(part.values, int64), 1) for part in columns]
    indices = concat([columns[0].indices[:, :-1], *own], 1)
    tail = look_up("stack")([cast(size, int64) for size in sizes])
    shape = concat([cast(columns[0].dense_shape[:-1], int64), tail], 0)
    merged = SparseTensor(indices, sp_values.values, shape)
    return merged if already_sorted else look_up("sparse.reorder")(merged)
