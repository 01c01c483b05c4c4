"""Operators of stored matrices: any, and lower triangular ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.api.tensors import convert_to_tensor
from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape
from talweg.linear_operators.batches import common_batch
from talweg.linear_operators.composite import CompositeOperator
from talweg.linear_operators.operator import adjoint_of, parameter

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


class _Matrix(CompositeOperator):
    """Base of operators that hold a tensor [..., m, n]."""

    _stored: str

    def _matrix_tensor(self) -> Any:
        return convert_to_tensor(getattr(self, self._stored))

    def _shape(self) -> TensorShape:
        return getattr(self, self._stored).shape

    def _shape_tensor(self) -> Any:
        return look_up("shape")(self._matrix_tensor())

    def _diag_part(self) -> Any:
        return look_up("linalg.diag_part")(self._matrix_tensor())


def _check(matrix: Any, name: str) -> Any:
    if matrix.shape.rank is not None and matrix.shape.rank < 2:
        raise value_error("TW203", f"{name} has shape {matrix.shape}", "at least two axes")
    return matrix


@export("linalg.LinearOperatorFullMatrix")
class LinearOperatorFullMatrix(_Matrix):
    """The operator of a matrix [..., m, n].  ValueError for less than two axes.

    >>> import talweg as tf
    >>> tf.linalg.LinearOperatorFullMatrix([[2.0, 0.0], [0.0, 4.0]]).solvevec([2.0, 4.0]).numpy()
    array([1., 1.], dtype=float32)
    """

    tensors = {"matrix": 2}
    _stored = "matrix"

    def __init__(
        self,
        matrix: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ):
        self._matrix = _check(parameter(matrix), "matrix")
        super().__init__(
            self._matrix.dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
            {"matrix": matrix},
        )

    @property
    def matrix(self) -> Any:
        """The matrices."""
        return self._matrix

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return look_up("matmul")(self._matrix_tensor(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self) -> Any:
        return self._matrix_tensor()


@export("linalg.LinearOperatorLowerTriangular")
class LinearOperatorLowerTriangular(_Matrix):
    """The operator of the lower triangle of a matrix [..., n, n]; it ignores the elements above.

    Equations are solved by substitution.  ValueError for less than two axes.

    >>> import talweg as tf
    >>> tf.linalg.LinearOperatorLowerTriangular([[2.0, 9.0], [1.0, 1.0]]).to_dense().numpy()
    array([[2., 0.],
           [1., 1.]], dtype=float32)
    """

    tensors = {"tril": 2}
    _stored = "tril"

    def __init__(
        self,
        tril: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ):
        if is_square is False:
            raise value_error("TW207", "is_square=False", "only square lower triangular operators")
        self._tril = _check(parameter(tril), "tril")
        super().__init__(
            self._tril.dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
            {"tril": tril},
        )

    @property
    def tril(self) -> Any:
        """The matrices, whose upper parts do not count."""
        return self._tril

    def _triangle(self) -> Any:
        return look_up("linalg.band_part")(self._matrix_tensor(), -1, 0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return look_up("matmul")(self._triangle(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _solve(self, rhs: object, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        matrix, rhs = common_batch([self._matrix_tensor(), rhs])
        return look_up("linalg.triangular_solve")(matrix, rhs, lower=True, adjoint=adjoint)

    def _to_dense(self) -> Any:
        return self._triangle()

    def _determinant(self) -> Any:
        return look_up("reduce_prod")(self._diag_part(), axis=-1)

    def _log_abs_determinant(self) -> Any:
        return look_up("reduce_sum")(
            look_up("math.log")(look_up("abs")(self._diag_part())), axis=-1
        )

    def _eigvals(self) -> Any:
        return self._diag_part()

    def _assert_non_singular(self) -> Any:
        return look_up("debugging.assert_positive")(
            look_up("abs")(self._diag_part()),
            message="Singular operator:  Diagonal contained zero values.",
        )
