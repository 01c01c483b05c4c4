"""The sparse operations among tf.raw_ops, which take and give a sparse tensor in its parts.

`table.py` calls them `parts.*`.  A sparse tensor is (indices [n, rank], values [n],
shape [rank]).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import integers, tensor
from talweg.api.array import gathering, scattering, shapes
from talweg.api.array.creating import fill
from talweg.api.sparse import arithmetic, form
from talweg.api.tensors import cast
from talweg.core.dtypes import int64
from talweg.core.errors import invalid
from talweg.eager.composite import SparseTensor

if TYPE_CHECKING:
    import numpy as np

    from talweg.core.annotations import AxisLike, ShapeLike
    from talweg.core.value import Tensor


def _parts(x: SparseTensor) -> tuple:
    return x.indices, x.values, x.dense_shape


def reorder(indices: Tensor, values: Tensor, shape: Tensor) -> tuple:
    """Sort (indices in row-major order, values)."""
    return _parts(form.reorder(SparseTensor(indices, values, shape)))[:2]


def reshape(indices: np.ndarray, shape: ShapeLike, new_shape: ShapeLike) -> tuple:
    """Compute (indices, shape) in another shape of as many elements."""
    count = len(tensor(indices))
    found = form.reshape(SparseTensor(indices, fill([count], 0), shape), new_shape)
    return found.indices, found.dense_shape


def softmax(indices: np.ndarray, values: object, shape: ShapeLike) -> Any:
    """Return the values of the softmax of each row over the elements that are there."""
    return arithmetic.softmax(SparseTensor(indices, values, shape)).values


def concat(indices: Any, values: Any, shapes: Any, axis: object) -> tuple:
    """Join several sparse tensors along an axis."""
    return _parts(form.concat(axis, [SparseTensor(*part) for part in zip(indices, values, shapes)]))


def cut(indices: np.ndarray, values: object, shape: ShapeLike, start: int, size: int) -> tuple:
    """Return the block of `size` at `start`."""
    return _parts(form.slice_(SparseTensor(indices, values, shape), start, size))


def split(axis: AxisLike, indices: np.ndarray, values: Any, shape: ShapeLike, count: int) -> tuple:
    """Split an axis into `count` blocks: three lists."""
    axis = integers(axis, "SparseSplit", "split_dim")[0]
    blocks = form.split(SparseTensor(indices, values, shape), count, axis)
    return tuple(list(part) for part in zip(*map(_parts, blocks)))


def add(
    a_indices: Any,
    a_values: Any,
    a_shape: ShapeLike,
    b_indices: Any,
    b_values: Any,
    b_shape: ShapeLike,
    threshold: float,
) -> tuple:
    """Return the sum of two sparse tensors; elements below the threshold are left out."""
    a, b = SparseTensor(a_indices, a_values, a_shape), SparseTensor(b_indices, b_values, b_shape)
    return _parts(arithmetic.add(a, b, threshold))


def maximum(
    a_indices: Any,
    a_values: Any,
    a_shape: ShapeLike,
    b_indices: Any,
    b_values: Any,
    b_shape: ShapeLike,
) -> tuple:
    """Compute (indices, values) of the larger elements of two sparse tensors."""
    a, b = SparseTensor(a_indices, a_values, a_shape), SparseTensor(b_indices, b_values, b_shape)
    return _parts(arithmetic.maximum(a, b))[:2]


def minimum(
    a_indices: object,
    a_values: object,
    a_shape: ShapeLike,
    b_indices: object,
    b_values: object,
    b_shape: ShapeLike,
) -> tuple:
    """Compute (indices, values) of the smaller elements of two sparse tensors."""
    a, b = SparseTensor(a_indices, a_values, a_shape), SparseTensor(b_indices, b_values, b_shape)
    return _parts(arithmetic.minimum(a, b))[:2]


def add_dense(indices: np.ndarray, values: object, shape: ShapeLike, b: object) -> Any:
    """Return the sum of a sparse tensor and a dense one of the same shape."""
    dims, b = integers(shape, "SparseTensorDenseAdd", "a_shape"), tensor(b)
    if dims != b.dims:
        raise invalid(
            "TW204", f"SparseTensorDenseAdd: a has shape {dims}, b {b.dims}", "equal shapes"
        )
    return scattering.tensor_scatter_nd_add(b, indices, values)


def _at(dense: object, indices: np.ndarray, shape: ShapeLike) -> Any:
    dims = integers(shape, "SparseDenseCwise", "sp_shape")
    return gathering.gather_nd(shapes.broadcast_to(tensor(dense), dims), indices)


def multiply_dense(indices: np.ndarray, values: object, shape: ShapeLike, dense: object) -> Any:
    """Return the values times the elements of a dense tensor, broadcast, at their places."""
    return tensor(values) * _at(dense, indices, shape)


def divide_dense(indices: np.ndarray, values: object, shape: ShapeLike, dense: object) -> Any:
    """Return the values over the elements of a dense tensor, broadcast, at their places."""
    return tensor(values) / _at(dense, indices, shape)


def increase_dense(indices: np.ndarray, values: object, shape: ShapeLike, dense: object) -> Any:
    """Return the values plus the elements of a dense tensor, broadcast, at their places."""
    return tensor(values) + _at(dense, indices, shape)


def reduce_sum(
    indices: np.ndarray, values: object, shape: ShapeLike, axes: AxisLike, keepdims: bool
) -> Any:
    """Return the sum over the axes, dense."""
    axes = list(integers(axes, "SparseReduceSum", "reduction_axes"))
    return arithmetic.reduce_sum_(SparseTensor(indices, values, shape), axes, keepdims)


def reduce_max(
    indices: np.ndarray, values: object, shape: ShapeLike, axes: AxisLike, keepdims: bool
) -> Any:
    """Return the largest element over the axes, dense."""
    axes = list(integers(axes, "SparseReduceMax", "reduction_axes"))
    return arithmetic.reduce_max(SparseTensor(indices, values, shape), axes, keepdims)


def matmul(
    indices: Any, values: Any, shape: ShapeLike, b: Any, adjoint_a: bool, adjoint_b: bool
) -> Any:
    """Return the product of a sparse and a dense matrix."""
    a = SparseTensor(indices, values, shape)
    return arithmetic.sparse_dense_matmul(a, b, adjoint_a, adjoint_b)


def to_dense(
    indices: object, shape: object, values: object, default: object, validate: bool
) -> Any:
    """Return a dense tensor with values at places;
    indices [n, rank], [n] for vectors, or one place.
    """
    indices, values = tensor(indices), tensor(values)
    rank = len(integers(shape, "SparseToDense", "output_shape"))
    places = cast(shapes.reshape(indices, [-1, rank]), int64)
    count = places.dims[0]
    spread = values if values.ndim else fill([count], values)
    return form.to_dense(SparseTensor(places, spread, cast(shape, int64)), default, validate)
