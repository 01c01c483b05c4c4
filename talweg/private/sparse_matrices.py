"""Matrices in compressed rows, as TensorFlow's private `CSRSparseMatrix`.

One is a `tf.SparseTensor` of rank 2, or of rank 3 for a batch, with the methods of a matrix.
"""

from __future__ import annotations

from typing import Any

from talweg.api.arguments import tensor
from talweg.api.array.operands import sizes_tensor
from talweg.api.export import look_up
from talweg.api.linalg.products import matmul as dense_matmul
from talweg.api.sparse.form import reorder, to_dense, transpose
from talweg.api.sparse.products import sparse_matrix_sparse_mat_mul
from talweg.core.dtypes import int64
from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape
from talweg.eager.composite import SparseTensor
from talweg.prims import arithmetic
from talweg.prims.search import nonzero


class SparseMatrix:
    """Base of sparse matrices."""


class CSRSparseMatrix(SparseMatrix):
    """A sparse matrix [r, c], or a batch of them [batch, r, c].

    value: a SparseTensor, a CSRSparseMatrix, or a dense tensor of which `indices` [n, rank] are
    kept (those that differ from zero if None).  ValueError for other ranks.
    """

    def __init__(self, value: Any, indices: Any = None, name: str | None = None):
        if isinstance(value, CSRSparseMatrix):
            self._sparse = value._sparse
        elif isinstance(value, SparseTensor):
            self._sparse = value
        else:
            self._sparse = _sparse_of(tensor(value), indices)
        if self.shape.rank not in (2, 3, None):
            raise value_error(
                "TW202", f"a sparse matrix has rank 2 or 3, but got the shape {self.shape}"
            )

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return self._sparse.shape

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self._sparse.dtype

    def to_dense(self) -> Any:
        """Return the matrix as a dense tensor."""
        return to_dense(self._sparse, validate_indices=False)

    def to_sparse_tensor(self) -> SparseTensor:
        """Return the matrix as a SparseTensor, its places in order."""
        return reorder(self._sparse)

    def nnz(self) -> Any:
        """Count the stored elements; for a batch, of each matrix."""
        if self.shape.rank == 2:
            return look_up("shape")(self._sparse.values)[0]
        rows = self._sparse.indices[:, 0]
        return look_up("math.bincount")(rows, minlength=self.shape[0], maxlength=self.shape[0])

    def transpose(self) -> CSRSparseMatrix:
        """Return the matrices with rows and columns exchanged."""
        rank = self.shape.rank or 2
        return CSRSparseMatrix(transpose(self._sparse, [*range(rank - 2), rank - 1, rank - 2]))

    def conj(self) -> CSRSparseMatrix:
        """Return the matrix of the conjugates."""
        parts = self._sparse
        values = look_up("math.conj")(parts.values)
        return CSRSparseMatrix(SparseTensor(parts.indices, values, parts.dense_shape))

    def hermitian_transpose(self) -> CSRSparseMatrix:
        """Return the conjugates, with rows and columns exchanged."""
        return self.conj().transpose()


def _sparse_of(value: Any, indices: Any) -> SparseTensor:
    if indices is None:
        indices = arithmetic.cast(
            nonzero(arithmetic.not_equal(value, tensor(0, value.dtype))), dtype=int64
        )
    indices = tensor(indices, int64)
    return SparseTensor(
        indices, look_up("gather_nd")(value, indices), sizes_tensor(value.dims, int64)
    )


def _orient(x: Any, transpose: bool, adjoint: bool) -> Any:
    """Return a matrix, transposed or conjugated and transposed if that is asked for."""
    is_sparse = isinstance(x, SparseMatrix)
    if adjoint:
        return x.hermitian_transpose() if is_sparse else look_up("linalg.adjoint")(x)
    if transpose:
        return x.transpose() if is_sparse else look_up("linalg.matrix_transpose")(x)
    return x


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Any:
    """Multiply a [..., m, k] by b [..., k, n]; a CSRSparseMatrix if both are, else a dense
    tensor.
    """
    a, b = [x if isinstance(x, SparseMatrix) else tensor(x) for x in (a, b)]
    a, b = _orient(a, transpose_a, adjoint_a), _orient(b, transpose_b, adjoint_b)
    if isinstance(a, CSRSparseMatrix) and isinstance(b, CSRSparseMatrix):
        return CSRSparseMatrix(sparse_matrix_sparse_mat_mul(a._sparse, b._sparse, a.dtype))
    if isinstance(a, CSRSparseMatrix) and a.shape.rank == 2:
        return look_up("sparse.sparse_dense_matmul")(a._sparse, b)
    a, b = [x.to_dense() if isinstance(x, SparseMatrix) else x for x in (a, b)]
    return dense_matmul(a, b)
