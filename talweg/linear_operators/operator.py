"""LinearOperator: a matrix, or a batch of them, defined by its methods, and the operations on it.

A class gives `_shape`, `_shape_tensor`, `_matmul` and whatever it does better than the defaults
here, which go through the dense matrix.  What two operators make together (products, solutions)
and what one makes (adjoint, inverse, Cholesky factor) is looked up in `RULES` by their classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.array.passing import get_static_value
from talweg.api.export import export, look_up
from talweg.api.module import Module
from talweg.api.tensors import convert_to_tensor
from talweg.core.dtypes import DType, as_dtype, int32
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import TensorShape
from talweg.core.value import Tensor
from talweg.eager.convert import is_tensor_like
from talweg.linear_operators.batches import check_contraction, common_batch, sizes_of
from talweg.linear_operators.hints import Hints, consistent

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike

RULES: dict[str, list[tuple[tuple[type, ...], Callable[..., Any]]]] = {}


def rule(name: str, *classes: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register what operators of these classes make; later rules are asked first."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        RULES.setdefault(name, []).insert(0, (classes, function))
        return function

    return register


def apply_rule(name: str, *operators: object) -> Any:
    """Apply the nearest rule for operators: the one whose classes are closest to theirs."""
    best: Any = None
    for classes, function in RULES[name]:
        if all(isinstance(operator, kind) for operator, kind in zip(operators, classes)):
            distance = sum(
                type(operator).__mro__.index(kind) for operator, kind in zip(operators, classes)
            )
            if best is None or distance < best[0]:
                best = distance, function
    return best[1](*operators)


def parameter(value: object, dtype: DTypeLike | None = None, name: str = "value") -> Any:
    """Convert a constructor's argument to a tensor; variables stay variables."""
    if value is None:
        return None
    if is_tensor_like(value) and not isinstance(value, Tensor):
        return value
    return convert_to_tensor(value, dtype)


def adjoint_of(matrix: object) -> Any:
    """Return the conjugate transpose of matrices."""
    return look_up("linalg.adjoint")(matrix)


@export("linalg.LinearOperator")
class LinearOperator(Module):
    """The base of all linear operators: [..., m, n] matrices that need not be stored.

    A subclass gives `_shape()`, `_matmul(x, adjoint, adjoint_arg)`, and where it can
    `_shape_tensor()`, `_solve`, `_diag_part`, `_to_dense` and so on.  Hints (`is_self_adjoint`
    ...) are True, False or None; ValueError where they contradict each other.

    >>> import talweg as tf
    >>> operator = tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])
    >>> (operator @ [[1.0], [1.0]]).numpy().tolist()
    [[3.0], [7.0]]
    """

    def __init__(
        self,
        dtype: object,
        graph_parents: Any = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
        parameters: dict | None = None,
    ):
        super().__init__(name=(name or type(self).__name__).replace("-", "_"))
        given = Hints(is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        self._hints = consistent(given)
        self._dtype = as_dtype(dtype) if dtype is not None else None
        self._graph_parents = list(graph_parents or [])
        self._parameters = {**(parameters or {}), **given._asdict(), "name": name}

    # -- what it is

    @property
    def dtype(self) -> DType:
        """The type of the matrix's elements."""
        return self._dtype  # type: ignore[return-value]

    @property
    def name(self) -> str:
        """The name given, or the class's."""
        return self._name

    @property
    def parameters(self) -> dict:
        """The constructor's arguments."""
        return dict(self._parameters)

    @property
    def graph_parents(self) -> list:
        """The tensors given to the constructor as such."""
        return self._graph_parents

    @property
    def is_non_singular(self) -> bool | None:
        """Whether the inverse exists, if that was said."""
        return self._hints.is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """Whether the matrix equals its adjoint, if that was said."""
        return self._hints.is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """Whether x^H A x has a positive real part for x other than 0, if that was said."""
        return self._hints.is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """Whether there are as many rows as columns, by the hint or by the shape."""
        automatic = self._square_by_shape()
        hint = self._hints.is_square
        if automatic is None:
            return hint
        if hint is not None and hint is not automatic:
            raise value_error("TW207", f"is_square={hint}, for an operator of shape {self.shape}")
        return automatic

    def _square_by_shape(self) -> bool | None:
        shape = self._shape()
        if shape.rank is None or None in shape[-2:].as_list():
            return None
        return shape[-1] == shape[-2]

    @property
    def H(self) -> LinearOperator:  # noqa: N802
        """The adjoint."""
        return self.adjoint()

    # -- shapes

    def _shape(self) -> TensorShape:
        raise NotImplementedError("_shape is not implemented.")

    def _shape_tensor(self) -> Any:
        raise NotImplementedError("_shape_tensor is not implemented.")

    @property
    def shape(self) -> TensorShape:
        """The static shape, [..., m, n]."""
        return self._shape()

    @property
    def batch_shape(self) -> TensorShape:
        """The static shape without the last two axes."""
        return TensorShape(self.shape[:-2])

    @property
    def tensor_rank(self) -> int | None:
        """The number of axes of the dense matrices, if it is known."""
        return self.shape.rank

    @property
    def domain_dimension(self) -> int | None:
        """The number of columns, if it is known."""
        return None if self.shape.rank is None else self.shape.as_list()[-1]

    @property
    def range_dimension(self) -> int | None:
        """The number of rows, if it is known."""
        return None if self.shape.rank is None else self.shape.as_list()[-2]

    def shape_tensor(self, name: str = "shape_tensor") -> Any:
        """Return the shape as an int32 vector."""
        if self.shape.is_fully_defined():
            return convert_to_tensor(np.array(self.shape.as_list(), np.int32))
        return self._shape_tensor()

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Any:
        """Return the batch shape as an int32 vector."""
        return self.shape_tensor()[:-2]

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Any:
        """Return the number of axes as an int32 tensor."""
        rank = self.tensor_rank
        if rank is not None:
            return convert_to_tensor(rank, int32)
        return look_up("size")(self.shape_tensor())

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Any:
        """Return the number of columns as an int32 tensor."""
        return self.shape_tensor()[-1]

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Any:
        """Return the number of rows as an int32 tensor."""
        return self.shape_tensor()[-2]

    def _batch_sizes(self) -> Any:
        """Return the batch shape as a list of ints where it is known, else as a tensor."""
        return sizes_of(self.batch_shape, self.batch_shape_tensor)

    def _columns(self) -> Any:
        found = self.domain_dimension
        return self.domain_dimension_tensor() if found is None else found

    def _rows(self) -> Any:
        found = self.range_dimension
        return self.range_dimension_tensor() if found is None else found

    # -- products

    def _matmul(self, x: object, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        raise NotImplementedError("_matmul is not implemented.")

    def _argument(self, x: Any, name: str, adjoint: bool, adjoint_arg: bool) -> Any:
        """Return the argument of a product or equation as a tensor that fits."""
        x = convert_to_tensor(x, None if is_tensor_like(x) else self.dtype)
        if x.dtype is not self.dtype:
            raise type_error(
                "TW102",
                f"{name}: an operator of dtype {self.dtype.name}, an argument of {x.dtype.name}",
                "one dtype",
            )
        if x.shape.rank is not None:
            inner = self.range_dimension if adjoint else self.domain_dimension
            check_contraction(self, name, inner, x.shape[-1 if adjoint_arg else -2])
        return x

    def matmul(
        self, x: object, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """Return a x, with A or x conjugated and transposed if asked.

        x: a tensor [..., n, r] (ValueError for other sizes), or an operator; of two operators, an
        operator.
        """
        if isinstance(x, LinearOperator):
            left = self.adjoint() if adjoint else self
            right = x.adjoint() if adjoint_arg else x
            check_contraction(left, name, left.domain_dimension, right.range_dimension)
            return apply_rule("matmul", left, right)
        return self._matmul(self._argument(x, name, adjoint, adjoint_arg), adjoint, adjoint_arg)

    def __matmul__(self, other: TensorLike) -> Any:
        return self.matmul(other)

    def matvec(self, x: object, adjoint: bool = False, name: str = "matvec") -> Any:
        """Return a x for vectors [..., n]."""
        x = convert_to_tensor(x, None if is_tensor_like(x) else self.dtype)
        return self._matvec(x, adjoint)

    def _matvec(self, x: Any, adjoint: bool) -> Any:
        column = self._argument(x[..., None], "matvec", adjoint, False)
        return look_up("squeeze")(self._matmul(column, adjoint=adjoint), axis=-1)

    # -- equations

    def solve(
        self, rhs: object, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """Return x with A x = rhs; of an operator on the right, an operator.

        NotImplementedError if the operator is said to be singular, or not square.
        """
        self._check_solvable()
        if isinstance(rhs, LinearOperator):
            left = self.adjoint() if adjoint else self
            right = rhs.adjoint() if adjoint_arg else rhs
            check_contraction(left, name, left.range_dimension, right.range_dimension)
            return apply_rule("solve", left, right)
        rhs = self._argument(rhs, name, not adjoint, adjoint_arg)
        return self._solve(rhs, adjoint, adjoint_arg)

    def _check_solvable(self) -> None:
        if self.is_non_singular is False:
            raise NotImplementedError(
                "Exact solve not implemented for an operator that is expected to be singular."
            )
        if self.is_square is False:
            raise NotImplementedError(
                "Exact solve not implemented for an operator that is expected to not be square."
            )

    def _solve(self, rhs: object, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        matrix, rhs = common_batch([self.to_dense(), rhs])
        if self.is_positive_definite and self.is_self_adjoint:
            return look_up("linalg.cholesky_solve")(look_up("linalg.cholesky")(matrix), rhs)
        return look_up("linalg.solve")(matrix, rhs, adjoint=adjoint)

    def solvevec(self, rhs: object, adjoint: bool = False, name: str = "solve") -> Any:
        """Return x with A x = rhs for vectors [..., m]."""
        self._check_solvable()
        rhs = convert_to_tensor(rhs, None if is_tensor_like(rhs) else self.dtype)
        return self._solvevec(rhs, adjoint)

    def _solvevec(self, rhs: Any, adjoint: bool) -> Any:
        column = self._argument(rhs[..., None], "solvevec", not adjoint, False)
        return look_up("squeeze")(self._solve(column, adjoint=adjoint), axis=-1)

    # -- operators made of this one

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """Return the operator of the conjugate transpose: this one if it is self-adjoint."""
        if self.is_self_adjoint is True:
            return self
        return apply_rule("adjoint", self)

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Return the operator of the inverse.  ValueError unless it is square and not singular."""
        if self.is_square is False:
            raise value_error(
                "TW204", f"inverse: an operator of shape {self.shape}", "a square one"
            )
        if self.is_non_singular is False:
            raise value_error("TW207", "inverse: the operator is_non_singular=False")
        return apply_rule("inverse", self)

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """Return the operator of the Cholesky factor, lower triangular.

        ValueError unless it is said to be positive definite and self-adjoint.
        """
        if self.is_positive_definite is not True or self.is_self_adjoint is not True:
            raise value_error(
                "TW207",
                "cholesky: the operator is not known to be positive definite and self-adjoint",
                "is_positive_definite=True and is_self_adjoint=True",
            )
        return apply_rule("cholesky", self)

    # -- numbers

    def to_dense(self, name: str = "to_dense") -> Any:
        """Return the matrices, [..., m, n]."""
        return self._to_dense()

    def _to_dense(self) -> Any:
        batch = self._batch_sizes()
        eye = look_up("eye")(self._columns(), batch_shape=batch, dtype=self.dtype)
        return self._matmul(eye)

    def diag_part(self, name: str = "diag_part") -> Any:
        """Return the diagonals, [..., min(m, n)]."""
        return self._diag_part()

    def _diag_part(self) -> Any:
        return look_up("linalg.diag_part")(self.to_dense())

    def trace(self, name: str = "trace") -> Any:
        """Return the sums of the diagonals."""
        return self._trace()

    def _trace(self) -> Any:
        return look_up("reduce_sum")(self.diag_part(), axis=-1)

    def add_to_tensor(self, x: TensorLike, name: str = "add_to_tensor") -> Any:
        """Return a + x for a tensor."""
        x = convert_to_tensor(x, None if is_tensor_like(x) else self.dtype)
        return self._add_to_tensor(x)

    def _add_to_tensor(self, x: object) -> Any:
        return self.to_dense() + x

    def determinant(self, name: str = "det") -> Any:
        """Return the determinants.  NotImplementedError for an operator that is not square."""
        self._check_square("Determinant")
        return self._determinant()

    def _determinant(self) -> Any:
        if self._has_cholesky():
            return look_up("exp")(self.log_abs_determinant())
        return look_up("linalg.det")(self.to_dense())

    def log_abs_determinant(self, name: str = "log_abs_det") -> Any:
        """Return the logarithms of |determinants|; NotImplementedError if not square."""
        self._check_square("Determinant")
        return self._log_abs_determinant()

    def _log_abs_determinant(self) -> Any:
        if self._has_cholesky():
            diagonal = look_up("linalg.diag_part")(look_up("linalg.cholesky")(self.to_dense()))
            return 2 * look_up("reduce_sum")(look_up("math.log")(diagonal), axis=-1)
        return look_up("linalg.slogdet")(self.to_dense())[1]

    def _has_cholesky(self) -> bool:
        return bool(self.is_self_adjoint and self.is_positive_definite)

    def _check_square(self, what: str) -> None:
        if self.is_square is False:
            raise NotImplementedError(
                f"{what} not implemented for an operator that is expected to not be square."
            )

    def eigvals(self, name: str = "eigvals") -> Any:
        """Return the eigenvalues.  NotImplementedError unless it is said to be self-adjoint."""
        if self.is_self_adjoint is not True:
            raise NotImplementedError("Only self-adjoint matrices are supported.")
        return self._eigvals()

    def _eigvals(self) -> Any:
        return look_up("linalg.eigvalsh")(self.to_dense())

    def cond(self, name: str = "cond") -> Any:
        """Return the condition numbers: the quotients of the largest and the smallest singular
        value."""
        return self._cond()

    def _cond(self) -> Any:
        if self.is_self_adjoint:
            values = look_up("abs")(self._eigvals())
        else:
            values = look_up("linalg.svd")(self.to_dense(), compute_uv=False)
        return look_up("reduce_max")(values, axis=-1) / look_up("reduce_min")(values, axis=-1)

    # -- assertions

    def assert_non_singular(self, name: str = "assert_non_singular") -> Any:
        """Raise InvalidArgumentError if a matrix has no inverse: a condition number beyond 1 /
        eps."""
        return self._assert_non_singular()

    def _assert_non_singular(self) -> Any:
        limit = 1 / np.finfo(self.dtype.real_dtype.numpy_dtype).eps
        cond = self.cond()
        return look_up("debugging.assert_less")(
            cond, look_up("cast")(float(limit), cond.dtype), message="Singular matrix"
        )

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Any:
        """Raise InvalidArgumentError if a matrix is not positive definite."""
        return self._assert_positive_definite()

    def _assert_positive_definite(self) -> Any:
        if self.is_self_adjoint:
            diagonal = look_up("linalg.diag_part")(look_up("linalg.cholesky")(self.to_dense()))
            return look_up("debugging.assert_positive")(
                look_up("math.real")(diagonal), message="Matrix was not positive definite"
            )
        raise NotImplementedError("assert_positive_definite is not implemented.")

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Any:
        """Raise InvalidArgumentError if a matrix is not its own adjoint."""
        return self._assert_self_adjoint()

    def _assert_self_adjoint(self) -> Any:
        dense = self.to_dense()
        return look_up("debugging.assert_equal")(
            dense, adjoint_of(dense), message="Matrix was not equal to its adjoint."
        )

    # -- slices of the batch

    def __getitem__(self, slices: TensorLike) -> Any:
        key = slices if type(slices) is tuple else (slices,)
        return self._slice(key)

    def _slice(self, key: tuple) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be sliced.")

    def __repr__(self) -> str:
        dtype = None if self.dtype is None else self.dtype.name
        return (
            f"<tf.linalg.{type(self).__name__} name={self.name!r} shape={self.shape} dtype={dtype}>"
        )


def static_int(value: object) -> int | None:
    """Return the value of an integer, a tensor or a number, if it is known."""
    if value is None:
        return None
    if isinstance(value, (int, np.integer)):
        return int(value)
    found = get_static_value(value)
    return None if found is None else int(found)
