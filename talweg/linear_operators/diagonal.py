"""The operator of a diagonal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.api.tensors import cast, convert_to_tensor
from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape
from talweg.linear_operators.composite import CompositeOperator
from talweg.linear_operators.hints import require_hint
from talweg.linear_operators.operator import adjoint_of, parameter

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


def conj(x: object) -> Any:
    """Return the conjugate."""
    return look_up("math.conj")(x)


def log_abs(x: object) -> Any:
    """Return log |x|."""
    return look_up("math.log")(look_up("abs")(x))


@export("linalg.LinearOperatorDiag")
class LinearOperatorDiag(CompositeOperator):
    """The operator of a diagonal matrix: x is multiplied by `diag`, [..., n], element by element.

    A real one is self-adjoint (ValueError for is_self_adjoint=False).

    >>> import talweg as tf
    >>> tf.linalg.LinearOperatorDiag([2.0, 4.0]).solvevec([2.0, 8.0]).numpy()
    array([1., 2.], dtype=float32)
    """

    tensors = {"diag": 1}

    def __init__(
        self,
        diag: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ):
        self._diag = parameter(diag)
        if self._diag.shape.rank == 0:
            raise value_error("TW203", "diag is a scalar", "at least one axis")
        if not self._diag.dtype.is_complex:
            is_self_adjoint = require_hint("is_self_adjoint", is_self_adjoint, True, "diag is real")
        is_square = require_hint("is_square", is_square, True, "diagonal operators are square")
        super().__init__(
            self._diag.dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
            {"diag": diag},
        )

    @property
    def diag(self) -> Any:
        """The diagonals."""
        return self._diag

    def _diagonal(self, adjoint: bool = False) -> Any:
        diag = convert_to_tensor(self._diag)
        return conj(diag) if adjoint and diag.dtype.is_complex else diag

    def _shape(self) -> TensorShape:
        shape = self._diag.shape
        return TensorShape(None) if shape.rank is None else shape.concatenate(shape[-1:])

    def _shape_tensor(self) -> Any:
        sizes = look_up("shape")(self._diagonal())
        return look_up("concat")([sizes, sizes[-1:]], 0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = adjoint_of(x) if adjoint_arg else x
        return self._diagonal(adjoint)[..., None] * x

    def _matvec(self, x: TensorLike, adjoint: bool) -> Any:
        return self._diagonal(adjoint) * x

    def _solve(self, rhs: object, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return rhs / self._diagonal(adjoint)[..., None]

    def _solvevec(self, rhs: object, adjoint: bool) -> Any:
        return rhs / self._diagonal(adjoint)

    def _to_dense(self) -> Any:
        return look_up("linalg.diag")(self._diagonal())

    def _diag_part(self) -> Any:
        return self._diagonal()

    def _determinant(self) -> Any:
        return look_up("reduce_prod")(self._diagonal(), axis=-1)

    def _log_abs_determinant(self) -> Any:
        logs = log_abs(self._diagonal())
        return cast(look_up("reduce_sum")(logs, axis=-1), self.dtype)

    def _add_to_tensor(self, x: TensorLike) -> Any:
        diagonal = look_up("linalg.diag_part")(x) + self._diagonal()
        if diagonal.shape.rank is not None and diagonal.shape.rank + 1 == x.shape.rank:
            return look_up("linalg.set_diag")(x, diagonal)
        return self._to_dense() + x

    def _eigvals(self) -> Any:
        return self._diagonal()

    def _cond(self) -> Any:
        size = look_up("abs")(self._diagonal())
        return look_up("reduce_max")(size, axis=-1) / look_up("reduce_min")(size, axis=-1)

    def _assert_non_singular(self) -> Any:
        return look_up("debugging.assert_positive")(
            look_up("abs")(self._diagonal()),
            message="Singular operator:  Diagonal contained zero values.",
        )

    def _assert_positive_definite(self) -> Any:
        return look_up("debugging.assert_positive")(
            look_up("math.real")(self._diagonal()),
            message="Operator was not positive definite:  "
            "the diagonal contained non-positive values.",
        )

    def _assert_self_adjoint(self) -> Any:
        diagonal = self._diagonal()
        part = look_up("math.imag")(diagonal) if diagonal.dtype.is_complex else diagonal * 0
        return look_up("debugging.assert_equal")(
            part, look_up("zeros_like")(part), message="Diagonal was not real."
        )
