"""Products of two sparse matrices, under the names of TensorFlow's private CSR operations.

A matrix in compressed rows is a `SparseTensor` here.  The product is taken of the dense matrices,
and kept where the patterns of both say that it may differ from zero.
"""

from __future__ import annotations

from typing import Any

from talweg.api.arguments import tensor
from talweg.api.array.gathering import gather_nd
from talweg.api.array.operands import sizes_tensor
from talweg.api.linalg.products import matmul
from talweg.api.sparse.form import to_dense
from talweg.core.dtypes import as_dtype, float32, int64
from talweg.eager.composite import SparseTensor
from talweg.prims import arithmetic, layout
from talweg.prims.search import nonzero


def sparse_tensor_to_csr_sparse_matrix(indices: Any, values: Any, dense_shape: Any) -> SparseTensor:
    """A sparse matrix, or a batch of them, from its parts."""
    return SparseTensor(indices, values, dense_shape)


def csr_sparse_matrix_to_sparse_tensor(matrix: SparseTensor, dtype: Any) -> SparseTensor:
    """The matrix: it is a SparseTensor."""
    return matrix


def sparse_matrix_sparse_mat_mul(a: SparseTensor, b: SparseTensor, dtype: Any) -> SparseTensor:
    """a [..., m, k] times b [..., k, n]; zeros that arise by chance stay in the pattern."""
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
