"""Circulant and Toeplitz operators: products are convolutions, done by Fourier transforms.

A circulant matrix is F^H diag(spectrum) F, with F the unitary Fourier matrix of one, two or three
block levels; its first column is the inverse transform of the spectrum (Gray 2006).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.api.tensors import cast, convert_to_tensor
from talweg.core.dtypes import as_dtype, complex64, complex128
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import TensorShape
from talweg.linear_operators.composite import CompositeOperator
from talweg.linear_operators.diagonal import conj
from talweg.linear_operators.hints import require_hint
from talweg.linear_operators.operator import adjoint_of, parameter

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike


def complex_of(x: TensorLike) -> Any:
    """Return x as complex numbers of its precision."""
    if x.dtype.is_complex:
        return x
    return cast(x, complex128 if x.dtype.size == 8 else complex64)


class _Circulant(CompositeOperator):
    """Circulant operators of `block_depth` levels; `spectrum` is [..., n] or [..., n1, n2] ..."""

    block_depth: int
    tensors = {"spectrum": 1}
    static_in = ("input_output_dtype",)

    def __init__(
        self,
        spectrum: object,
        input_output_dtype: object = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ):
        self._spectrum = parameter(spectrum)
        rank = self._spectrum.shape.rank
        if rank is not None and rank < self.block_depth:
            raise value_error(
                "TW203",
                f"spectrum has shape {self._spectrum.shape}",
                f"at least {self.block_depth} axes",
            )
        if is_square is not True:
            require_hint("is_square", False, True, "circulant operators are square")
        if not self._spectrum.dtype.is_complex:
            is_self_adjoint = require_hint(
                "is_self_adjoint", is_self_adjoint, True, "spectrum is real"
            )
        given = {"spectrum": spectrum, "input_output_dtype": as_dtype(input_output_dtype).name}
        super().__init__(
            as_dtype(input_output_dtype),
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name or type(self).__name__,
            given,
        )

    @property
    def spectrum(self) -> Any:
        """The eigenvalues, the Fourier transform of the first column."""
        return self._spectrum

    def _values(self, adjoint: bool = False) -> Any:
        spectrum = complex_of(convert_to_tensor(self._spectrum))
        return conj(spectrum) if adjoint else spectrum

    @property
    def block_shape(self) -> TensorShape:
        """The sizes of the levels."""
        return self._spectrum.shape[-self.block_depth :]

    def block_shape_tensor(self) -> Any:
        """Return the sizes of the levels as an int32 vector."""
        return look_up("shape")(convert_to_tensor(self._spectrum))[-self.block_depth :]

    def _blocks(self) -> Any:
        shape = self.block_shape
        return shape.as_list() if shape.is_fully_defined() else self.block_shape_tensor()

    def _shape(self) -> TensorShape:
        shape = self._spectrum.shape
        if shape.rank is None:
            return TensorShape(None)
        size = shape[-self.block_depth :].num_elements()
        return shape[: -self.block_depth].concatenate([size, size])

    def _shape_tensor(self) -> Any:
        sizes = look_up("shape")(convert_to_tensor(self._spectrum))
        size = look_up("reduce_prod")(sizes[-self.block_depth :])
        return look_up("concat")([sizes[: -self.block_depth], [size, size]], 0)

    def _transform(self, x: object, inverse: bool = False) -> Any:
        name = {1: "fft", 2: "fft2d", 3: "fft3d"}[self.block_depth]
        return look_up(f"signal.{'i' * inverse}{name}")(x)

    def _apply(self, factor: Any, x: Any) -> Any:
        """Return F^H diag(factor) F x for x [..., n, r]."""
        x = cast(x, factor.dtype)
        rows = look_up("linalg.matrix_transpose")(x)  # [..., r, n]
        outer = look_up("shape")(rows)[:-1]
        if self.block_depth > 1:
            rows = look_up("reshape")(rows, look_up("concat")([outer, self._blocks()], 0))
        spread = look_up("expand_dims")(factor, -self.block_depth - 1)
        found = self._transform(spread * self._transform(rows), inverse=True)
        if self.block_depth > 1:
            sizes = look_up("shape")(found)
            flat = look_up("concat")([sizes[: -self.block_depth], [-1]], 0)
            found = look_up("reshape")(found, flat)
        found = look_up("linalg.matrix_transpose")(found)
        return self._as_output(found)

    def _as_output(self, x: object) -> Any:
        return cast(x, self.dtype)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._apply(self._values(adjoint), adjoint_of(x) if adjoint_arg else x)

    def _solve(self, rhs: object, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return self._apply(1 / self._values(adjoint), rhs)

    def convolution_kernel(self, name: str = "convolution_kernel") -> Any:
        """Return the first column, in the levels' shape: the inverse transform of the spectrum."""
        return self._as_output(self._transform(self._values(), inverse=True))

    def _flat_spectrum(self) -> Any:
        values = self._values()
        if self.block_depth == 1:
            return values
        sizes = look_up("shape")(values)
        return look_up("reshape")(values, look_up("concat")([sizes[: -self.block_depth], [-1]], 0))

    def _diag_part(self) -> Any:
        mean = look_up("reduce_mean")(self._flat_spectrum(), axis=-1, keepdims=True)
        sizes = self.shape[:-1]
        wide = sizes.as_list() if sizes.is_fully_defined() else self.shape_tensor()[:-1]
        return look_up("broadcast_to")(self._as_output(mean), wide)

    def _trace(self) -> Any:
        return self._as_output(look_up("reduce_sum")(self._flat_spectrum(), axis=-1))

    def _determinant(self) -> Any:
        return self._as_output(look_up("reduce_prod")(self._flat_spectrum(), axis=-1))

    def _log_abs_determinant(self) -> Any:
        logs = look_up("math.log")(look_up("abs")(self._flat_spectrum()))
        return cast(look_up("reduce_sum")(logs, axis=-1), self.dtype)

    def _eigvals(self) -> Any:
        spectrum = convert_to_tensor(self._spectrum)
        return look_up("reshape")(spectrum, look_up("shape")(self._flat_spectrum()))

    def eigvals(self, name: str = "eigvals") -> Any:
        """Return the eigenvalues: the spectrum.  NotImplementedError unless said to be
        self-adjoint."""
        return super().eigvals()

    def _cond(self) -> Any:
        size = look_up("abs")(self._flat_spectrum())
        return look_up("reduce_max")(size, axis=-1) / look_up("reduce_min")(size, axis=-1)

    def _assert_non_singular(self) -> Any:
        return look_up("debugging.assert_positive")(
            look_up("abs")(self._flat_spectrum()),
            message="Singular operator:  Spectrum contained zero values.",
        )

    def _assert_positive_definite(self) -> Any:
        return look_up("debugging.assert_positive")(
            look_up("math.real")(self._flat_spectrum()),
            message="Not positive definite operator:  Real part of spectrum was not all positive.",
        )

    def _assert_self_adjoint(self) -> Any:
        part = look_up("math.imag")(self._flat_spectrum())
        return look_up("debugging.assert_near")(
            part, look_up("zeros_like")(part), message="Not self-adjoint: the spectrum is not real."
        )

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Any:
        """Raise InvalidArgumentError unless the spectrum is Hermitian, that is, the matrix real."""
        part = look_up("math.imag")(self._transform(self._values(), inverse=True))
        return look_up("debugging.assert_near")(
            part, look_up("zeros_like")(part), message="Spectrum was not Hermitian"
        )


@export("linalg.LinearOperatorCirculant")
class LinearOperatorCirculant(_Circulant):
    """The operator of circulant matrices with eigenvalues `spectrum`, [..., n].

    input_output_dtype: the dtype of arguments and results; a real one wants a Hermitian spectrum.
    A real spectrum makes a self-adjoint operator.

    >>> import talweg as tf
    >>> operator = tf.linalg.LinearOperatorCirculant([6.0, 4.0, 2.0])
    >>> tf.math.real(operator.trace()).numpy().item()
    12.0
    """

    block_depth = 1
    tensors = {"spectrum": 1}

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant",
    ):
        super().__init__(
            spectrum,
            input_output_dtype,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )


@export("linalg.LinearOperatorCirculant2D")
class LinearOperatorCirculant2D(_Circulant):
    """The operator of block circulant matrices with circulant blocks; spectrum [..., n1, n2].

    >>> import talweg as tf
    >>> tf.linalg.LinearOperatorCirculant2D([[6.0, 4.0], [2.0, 1.0]]).shape
    TensorShape([4, 4])
    """

    block_depth = 2
    tensors = {"spectrum": 2}

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: object = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant2D",
    ):
        super().__init__(
            spectrum,
            input_output_dtype,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )


@export("linalg.LinearOperatorCirculant3D")
class LinearOperatorCirculant3D(_Circulant):
    """The operator of block circulant matrices of three levels; spectrum [..., n1, n2, n3].

    >>> import talweg as tf
    >>> tf.linalg.LinearOperatorCirculant3D([[[6.0, 4.0], [2.0, 1.0]]]).shape
    TensorShape([4, 4])
    """

    block_depth = 3
    tensors = {"spectrum": 3}

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: object = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant3D",
    ):
        super().__init__(
            spectrum,
            input_output_dtype,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )


@export("linalg.LinearOperatorToeplitz")
class LinearOperatorToeplitz(CompositeOperator):
    """The operator of Toeplitz matrices, constant along diagonals: first column and first row.

    col, row: [..., n]; row[..., 0] does not count.  ValueError for other ranks.

    >>> import talweg as tf
    >>> tf.linalg.LinearOperatorToeplitz([1.0, 2.0], [1.0, 3.0]).to_dense().numpy().tolist()
    [[1.0, 3.0], [2.0, 1.0]]
    """

    tensors = {"col": 1, "row": 1}

    def __init__(
        self,
        col: TensorLike,
        row: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ):
        self._col, self._row = parameter(col), parameter(row)
        for label, vector in (("col", self._col), ("row", self._row)):
            if vector.shape.rank == 0:
                raise value_error("TW203", f"{label} is a scalar", "at least one axis")
        if self._col.dtype is not self._row.dtype:
            raise type_error(
                "TW102", f"col is {self._col.dtype.name}, row {self._row.dtype.name}", "one dtype"
            )
        is_square = require_hint("is_square", is_square, True, "Toeplitz operators are square")
        super().__init__(
            self._col.dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
            {"col": col, "row": row},
        )

    @property
    def col(self) -> Any:
        """The first columns."""
        return self._col

    @property
    def row(self) -> Any:
        """The first rows."""
        return self._row

    def _vectors(self, adjoint: bool = False) -> tuple[Any, Any]:
        col, row = convert_to_tensor(self._col), convert_to_tensor(self._row)
        row = look_up("concat")(
            look_up("experimental.numpy.broadcast_arrays")(col[..., :1], row[..., :1])[:1]
            + [self._beside(row, col)[..., 1:]],
            -1,
        )
        if adjoint:
            col, row = (conj(row), conj(col)) if col.dtype.is_complex else (row, col)
        return col, row

    def _beside(self, x: object, other: object) -> Any:
        """Return x with the batch axes that another vector has, too."""
        return look_up("experimental.numpy.broadcast_arrays")(x, other)[0]

    def _shape(self) -> TensorShape:
        shape = look_up("broadcast_static_shape")(self._col.shape, self._row.shape)
        return TensorShape(None) if shape.rank is None else shape.concatenate(shape[-1:])

    def _shape_tensor(self) -> Any:
        sizes = look_up("broadcast_dynamic_shape")(
            *[look_up("shape")(convert_to_tensor(x)) for x in (self._col, self._row)]
        )
        return look_up("concat")([sizes, sizes[-1:]], 0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = adjoint_of(x) if adjoint_arg else x
        col, row = self._vectors(adjoint)
        col = self._beside(col, row)
        # a circulant matrix of twice the size has this one in its corner
        around = look_up("reverse")(row[..., 1:], [-1])
        spectrum = look_up("signal.fft")(
            complex_of(look_up("concat")([col, col[..., :1], around], -1))
        )
        longer = look_up("concat")([x, look_up("zeros_like")(x)], -2)
        whole = LinearOperatorCirculant(spectrum, spectrum.dtype)
        found = whole._matmul(cast(longer, spectrum.dtype))
        return cast(found[..., : self._rows(), :], self.dtype)

    def _diag_part(self) -> Any:
        sizes = self.shape[:-1]
        wide = sizes.as_list() if sizes.is_fully_defined() else self.shape_tensor()[:-1]
        return look_up("broadcast_to")(convert_to_tensor(self._col)[..., :1], wide)

    def _trace(self) -> Any:
        return self._diag_part()[..., 0] * cast(self.domain_dimension_tensor(), self.dtype)

    def _to_dense(self) -> Any:
        col, row = self._vectors()
        col = self._beside(col, row)
        size = self._rows()
        line = look_up("concat")([look_up("reverse")(row[..., 1:], [-1]), col], -1)
        numbers = look_up("range")(size)
        places = numbers[:, None] - numbers[None, :] + size - 1
        return look_up("gather")(line, places, axis=-1)
