"""Operators that a number of rows determines: the identity, its multiples, and zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.array.shapes import broadcast_dynamic_shape, broadcast_static_shape
from talweg.api.export import export, look_up
from talweg.api.tensors import cast, convert_to_tensor
from talweg.core.dtypes import as_dtype, float32, int32
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import TensorShape
from talweg.eager.convert import is_tensor_like
from talweg.linear_operators.composite import CompositeOperator
from talweg.linear_operators.diagonal import conj, log_abs
from talweg.linear_operators.hints import require_hint
from talweg.linear_operators.operator import adjoint_of, parameter, static_int

if TYPE_CHECKING:
    from talweg.core.annotations import ShapeLike, TensorLike
    from talweg.core.dtypes import DType


class _Sized(CompositeOperator):
    """Operators of a number of rows that is given: no tensor says it."""

    tensors = {"num_rows": 0, "batch_shape_arg": 0}
    sizes_in = ("num_rows", "batch_shape_arg")
    static_in = ("dtype",)

    def _set_size(self, num_rows: object, batch_shape: ShapeLike | None = None) -> None:
        self._num_rows = _size(num_rows, "num_rows")
        self._batch_shape_arg = None
        if batch_shape is not None:
            self._batch_shape_arg = convert_to_tensor(batch_shape, int32)
            if self._batch_shape_arg.shape.rank not in (None, 1):
                raise value_error("TW203", f"batch_shape is {batch_shape!r}", "a vector")

    @property
    def num_rows(self) -> Any:
        """The number of rows, an integer tensor."""
        return self._num_rows

    @property
    def batch_shape_arg(self) -> Any:
        """The batch shape as it was given: an int32 vector or None."""
        return self._batch_shape_arg

    def _infer_batch(self) -> TensorShape:
        if self._batch_shape_arg is None:
            return TensorShape([])
        found = look_up("get_static_value")(self._batch_shape_arg)
        if found is None:
            size = self._batch_shape_arg.shape
            count: Any = size[0] if size.is_fully_defined() else None
            return TensorShape(None if count is None else [None] * count)
        return TensorShape(found.tolist())

    def _second_size(self) -> Any:
        return self._num_rows

    def _shape(self) -> TensorShape:
        sizes = [static_int(self._num_rows), static_int(self._second_size())]
        return self._infer_batch().concatenate(sizes)

    def _shape_tensor(self) -> Any:
        sizes = [cast(convert_to_tensor(n), int32) for n in (self._num_rows, self._second_size())]
        matrix = look_up("stack")(sizes)
        if self._batch_shape_arg is None:
            return matrix
        return look_up("concat")([self._batch_shape_arg, matrix], 0)

    def _ones(self, vector: bool = True) -> Any:
        """Return ones, of the batch shape, and a row of them."""
        sizes = self.shape[:-1] if vector else self.batch_shape
        if not sizes.is_fully_defined():
            return look_up("ones")(self.shape_tensor()[: -1 if vector else -2], self.dtype)
        return look_up("ones")(sizes.as_list(), self.dtype)

    def _broadcast_to_batch(self, x: Any, axes: int = 2) -> Any:
        """Return a tensor, broadcast to the batch shape."""
        if self._batch_shape_arg is None:
            return x
        batch, own = self._infer_batch(), x.shape[:-axes]
        if batch.is_fully_defined() and own.is_fully_defined():
            whole = broadcast_static_shape(batch, own).as_list()
            if whole == own.as_list():
                return x
        else:
            whole = broadcast_dynamic_shape(self._batch_shape_arg, look_up("shape")(x)[:-axes])
        return look_up("broadcast_to")(
            x, look_up("concat")([whole, look_up("shape")(x)[-axes:]], 0)
        )


def _size(value: Any, name: str) -> Any:
    if isinstance(value, float) or (is_tensor_like(value) and not value.dtype.is_integer):
        raise type_error("TW102", f"{name} is {value!r}", "an integer")
    known = static_int(value)
    if known is not None and known < 0:
        raise value_error("TW207", f"{name} is {known}", "not a negative number")
    if is_tensor_like(value) and value.shape.rank not in (None, 0):
        raise value_error("TW203", f"{name} has shape {value.shape}", "a scalar")
    return convert_to_tensor(value, None if is_tensor_like(value) else int32)


@export("linalg.LinearOperatorIdentity")
class LinearOperatorIdentity(_Sized):
    """The identity of `num_rows` rows, with a batch shape if one is given.

    >>> import talweg as tf
    >>> tf.linalg.LinearOperatorIdentity(2).matmul([[1.0], [2.0]]).numpy().tolist()
    [[1.0], [2.0]]
    """

    def __init__(
        self,
        num_rows: TensorLike,
        batch_shape: ShapeLike | None = None,
        dtype: Any = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ):
        why = "this is the identity"
        for hint, value in (
            ("is_self_adjoint", is_self_adjoint),
            ("is_non_singular", is_non_singular),
            ("is_positive_definite", is_positive_definite),
            ("is_square", is_square),
        ):
            if value is not True:
                require_hint(hint, False, True, why)
        self._set_size(num_rows, batch_shape)
        given = {"num_rows": num_rows, "batch_shape": batch_shape, "dtype": dtype}
        super().__init__(as_dtype(dtype or float32), None, True, True, True, True, name, given)

    def _matmul(self, x: object, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._broadcast_to_batch(adjoint_of(x) if adjoint_arg else x)

    def _matvec(self, x: object, adjoint: bool) -> Any:
        return self._broadcast_to_batch(x, 1)

    def _solve(self, rhs: object, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _solvevec(self, rhs: object, adjoint: bool) -> Any:
        return self._matvec(rhs, adjoint)

    def _diag_part(self) -> Any:
        return self._ones()

    _eigvals = _diag_part

    def _to_dense(self) -> Any:
        return look_up("linalg.diag")(self._ones())

    def _trace(self) -> Any:
        return self._ones(vector=False) * cast(self.domain_dimension_tensor(), self.dtype)

    def _determinant(self) -> Any:
        return self._ones(vector=False)

    def _log_abs_determinant(self) -> Any:
        return look_up("zeros_like")(self._ones(vector=False))

    def _cond(self) -> Any:
        return self._ones(vector=False)

    def _add_to_tensor(self, x: object) -> Any:
        x = self._broadcast_to_batch(x)
        diagonal = look_up("linalg.diag_part")(x)
        return look_up("linalg.set_diag")(x, 1 + diagonal)

    def _nothing_to_assert(self) -> Any:
        return look_up("no_op")()

    _assert_non_singular = _assert_positive_definite = _assert_self_adjoint = _nothing_to_assert


@export("linalg.LinearOperatorScaledIdentity")
class LinearOperatorScaledIdentity(CompositeOperator):
    """The identity of `num_rows` rows, times a `multiplier` of the batch shape.

    >>> import talweg as tf
    >>> tf.linalg.LinearOperatorScaledIdentity(2, 3.0).diag_part().numpy()
    array([3., 3.], dtype=float32)
    """

    tensors = {"multiplier": 0, "num_rows": 0}
    sizes_in = ("num_rows",)

    def __init__(
        self,
        num_rows: TensorLike,
        multiplier: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ):
        self._num_rows = _size(num_rows, "num_rows")
        self._multiplier = parameter(multiplier)
        if not self._multiplier.dtype.is_complex:
            is_self_adjoint = require_hint("is_self_adjoint", is_self_adjoint, True, "it is real")
        if is_square is not True:
            require_hint("is_square", False, True, "scaled identities are square")
        super().__init__(
            self._multiplier.dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
            {"num_rows": num_rows, "multiplier": multiplier},
        )

    @property
    def multiplier(self) -> Any:
        """The numbers on the diagonals, of the batch shape."""
        return self._multiplier

    @property
    def num_rows(self) -> Any:
        """The number of rows, an integer tensor."""
        return self._num_rows

    def _number(self, axes: int = 2, adjoint: bool = False) -> Any:
        number = convert_to_tensor(self._multiplier)
        number = conj(number) if adjoint and number.dtype.is_complex else number
        return number[(..., *[None] * axes)]

    def _shape(self) -> TensorShape:
        size = static_int(self._num_rows)
        return self._multiplier.shape.concatenate([size, size])

    def _shape_tensor(self) -> Any:
        size = cast(self._num_rows, int32)
        batch = look_up("shape")(convert_to_tensor(self._multiplier))
        return look_up("concat")([batch, look_up("stack")([size, size])], 0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return (adjoint_of(x) if adjoint_arg else x) * self._number(2, adjoint)

    def _matvec(self, x: TensorLike, adjoint: bool) -> Any:
        return x * self._number(1, adjoint)

    def _solve(self, rhs: object, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return (adjoint_of(rhs) if adjoint_arg else rhs) / self._number(2, adjoint)

    def _solvevec(self, rhs: object, adjoint: bool) -> Any:
        return rhs / self._number(1, adjoint)

    def _rows_as(self, dtype: DType) -> Any:
        return cast(self._num_rows, dtype)

    def _diag_part(self) -> Any:
        ones = look_up("ones")(self._row_sizes(), self.dtype)
        return ones * self._number(1)

    _eigvals = _diag_part

    def _row_sizes(self) -> Any:
        sizes = self.shape[:-1]
        return sizes.as_list() if sizes.is_fully_defined() else self.shape_tensor()[:-1]

    def _to_dense(self) -> Any:
        return look_up("linalg.diag")(self._diag_part())

    def _trace(self) -> Any:
        return self._number(0) * self._rows_as(self.dtype)

    def _determinant(self) -> Any:
        return self._number(0) ** self._rows_as(self.dtype)

    def _log_abs_determinant(self) -> Any:
        return self._rows_as(self.dtype.real_dtype) * log_abs(self._number(0))

    def _cond(self) -> Any:
        number = self._number(0)
        zero = look_up("equal")(number, look_up("zeros_like")(number))
        one = look_up("ones_like")(number)
        nan = look_up("fill")(look_up("shape")(number), cast(float("nan"), number.dtype))
        return look_up("where")(zero, nan, one)

    def _add_to_tensor(self, x: object) -> Any:
        return x + self._to_dense()

    def _assert_non_singular(self) -> Any:
        return look_up("debugging.assert_positive")(
            look_up("abs")(self._number(0)), message="LinearOperator was singular"
        )

    def _assert_positive_definite(self) -> Any:
        return look_up("debugging.assert_positive")(
            look_up("math.real")(self._number(0)),
            message="LinearOperator was not positive definite.",
        )

    def _assert_self_adjoint(self) -> Any:
        part = look_up("math.imag")(self._number(0))
        return look_up("debugging.assert_equal")(
            part, look_up("zeros_like")(part), message="LinearOperator was not self-adjoint"
        )


@export("linalg.LinearOperatorZeros")
class LinearOperatorZeros(_Sized):
    """Zeros: `num_rows` rows and `num_columns` columns (as many, if None), with a batch shape.

    >>> import talweg as tf
    >>> tf.linalg.LinearOperatorZeros(2).matvec([1.0, 2.0]).numpy()
    array([0., 0.], dtype=float32)
    """

    tensors = {"num_rows": 0, "num_columns": 0, "batch_shape_arg": 0}
    sizes_in = ("num_rows", "num_columns", "batch_shape_arg")

    def __init__(
        self,
        num_rows: TensorLike,
        num_columns: TensorLike | None = None,
        batch_shape: ShapeLike | None = None,
        dtype: Any = None,
        is_non_singular: bool | None = False,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ):
        if is_non_singular is not False:
            require_hint("is_non_singular", True, False, "zeros have no inverse")
        if is_positive_definite is not False:
            require_hint("is_positive_definite", True, False, "zeros are not positive")
        self._set_size(num_rows, batch_shape)
        self._num_columns = None if num_columns is None else _size(num_columns, "num_columns")
        sizes = static_int(self._num_rows), static_int(self._num_columns)
        if is_square and None not in sizes and sizes[0] != sizes[1]:
            raise value_error("TW207", f"is_square=True with {sizes[0]} rows, {sizes[1]} columns")
        super().__init__(
            as_dtype(dtype or float32),
            None,
            False,
            is_self_adjoint,
            False,
            is_square,
            name,
            {"num_rows": num_rows, "num_columns": num_columns, "batch_shape": batch_shape},
        )

    @property
    def num_columns(self) -> Any:
        """The number of columns, an integer tensor, or None for as many as rows."""
        return self._num_columns

    def _second_size(self) -> Any:
        return self._num_rows if self._num_columns is None else self._num_columns

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = adjoint_of(x) if adjoint_arg else x
        rows = self._columns() if adjoint else self._rows()
        sizes = look_up("shape")(x)
        zero = look_up("zeros_like")(x[..., :1, :])
        found = look_up("broadcast_to")(
            zero, look_up("concat")([sizes[:-2], [rows], sizes[-1:]], 0)
        )
        return self._broadcast_to_batch(found)

    def _to_dense(self) -> Any:
        sizes = self.shape
        return look_up("zeros")(
            sizes.as_list() if sizes.is_fully_defined() else self.shape_tensor(), self.dtype
        )

    def _of_batch(self) -> Any:
        return look_up("zeros_like")(self._ones(vector=False))

    def _diag_part(self) -> Any:
        return look_up("linalg.diag_part")(self._to_dense())

    _eigvals = _diag_part
    _trace = _determinant = _of_batch

    def _log_abs_determinant(self) -> Any:
        return look_up("math.log")(self._of_batch())

    def _add_to_tensor(self, x: object) -> Any:
        return self._broadcast_to_batch(x)

    def _assert_non_singular(self) -> Any:
        raise look_up("errors.InvalidArgumentError")(
            None, None, "Zeros operators are always non-invertible."
        )

    def _assert_positive_definite(self) -> Any:
        raise look_up("errors.InvalidArgumentError")(
            None, None, "Zeros operators are always non-positive definite."
        )

    def _assert_self_adjoint(self) -> Any:
        return look_up("no_op")()
