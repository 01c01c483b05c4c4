"""Products of two sparse matrices, under the names of TensorFlow's private CSR operations.

A matrix in compressed rows is a `SparseTensor` here.  The product is taken of the dense matrices,
and kept where the patterns of both say that it may differ from zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.array.gathering import gather_nd
from talweg.api.array.joining import concat
from talweg.api.array.operands import sizes_tensor
from talweg.api.export import export, look_up
from talweg.api.linalg.products import matmul
from talweg.api.math.reductions import reduce_sum
from talweg.api.sparse.form import to_dense
from talweg.api.tensors import cast
from talweg.core.dtypes import as_dtype, float32, int64
from talweg.eager.composite import SparseTensor
from talweg.prims import arithmetic, layout
from talweg.prims.search import nonzero

if TYPE_CHECKING:
    import numpy as np

    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike


def sparse_tensor_to_csr_sparse_matrix(
    indices: np.ndarray, values: object, dense_shape: ShapeLike
) -> SparseTensor:
    """Return a sparse matrix, or a batch of them, from its parts."""
    return SparseTensor(indices, values, dense_shape)


def csr_sparse_matrix_to_sparse_tensor(matrix: SparseTensor, dtype: DTypeLike) -> SparseTensor:
    """Return the matrix: it is a SparseTensor."""
    return matrix


def sparse_matrix_sparse_mat_mul(
    a: SparseTensor, b: SparseTensor, dtype: DTypeLike
) -> SparseTensor:
    """Multiply a [..., m, k] by b [..., k, n]; zeros that arise by chance stay in the pattern."""
    as_dtype(dtype)
    product = matmul(to_dense(a), to_dense(b))
    pattern = matmul(_pattern(a), _pattern(b))
    places = nonzero(arithmetic.greater(pattern, tensor(0.0)))
    places = arithmetic.cast(places, dtype=int64)
    shape = sizes_tensor(product.dims, int64)
    return SparseTensor(places, gather_nd(product, places), shape)


def _pattern(x: SparseTensor) -> Any:
    ones = layout.broadcast_to(tensor(1.0, float32), shape=x.values.dims)
    return to_dense(SparseTensor(x.indices, ones, x.dense_shape))


@export("sparse.sampled_addmm", "compat.v1.sparse.sampled_addmm")
def sampled_addmm(
    indices: TensorLike,
    values: TensorLike,
    dense_shape: ShapeLike,
    mat1: TensorLike,
    mat2: TensorLike,
    beta: TensorLike = 1.0,
    alpha: TensorLike = 1.0,
    output_type: DTypeLike = float32,
) -> tuple:
    """Return values · beta + (mat1 mat2) · alpha at the places `indices` of the product alone.

    indices: [n, 2], or [n, batch axes + 2]; values: [n]; mat1: [..., r, k]; mat2: [..., k, c].
    Gives (indices, values, dense_shape).

    >>> import talweg as tf
    >>> a, b = tf.constant([[1.0, 2.0]]), tf.constant([[3.0], [4.0]])
    >>> tf.sparse.sampled_addmm([[0, 0]], [1.0], [1, 1], a, b)[1].numpy()
    array([12.], dtype=float32)
    """
    dtype = as_dtype(output_type)
    places, own = tensor(indices), cast(tensor(values), dtype)
    x, y = cast(tensor(mat1), dtype), cast(tensor(mat2), dtype)
    rows, columns = places[:, :-1], concat([places[:, :-2], places[:, -1:]], axis=1)
    turned = look_up("linalg.matrix_transpose")(y)
    sampled = reduce_sum(gather_nd(x, rows) * gather_nd(turned, columns), axis=-1)
    scale, factor = cast(tensor(beta), dtype), cast(tensor(alpha), dtype)
    return places, own * scale + sampled * factor, tensor(dense_shape)
