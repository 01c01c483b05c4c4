"""Operators with a structure of their own: reflections, permutations, three diagonals, and updates
of low rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import export, graph_aware, look_up
from talweg.api.tensors import cast, convert_to_tensor
from talweg.core.dtypes import as_dtype, float32
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import TensorShape
from talweg.linear_operators.batches import common_batch
from talweg.linear_operators.composite import CompositeOperator
from talweg.linear_operators.diagonal import LinearOperatorDiag, conj
from talweg.linear_operators.hints import require_hint
from talweg.linear_operators.identities import LinearOperatorIdentity
from talweg.linear_operators.operator import LinearOperator, adjoint_of, parameter

if TYPE_CHECKING:
    from talweg.core.annotations import AxisLike, TensorLike


class _OfVector(CompositeOperator):
    """Square operators of a vector [..., n]."""

    _stored: str

    def _vector(self) -> Any:
        return convert_to_tensor(getattr(self, self._stored))

    def _shape(self) -> TensorShape:
        shape = getattr(self, self._stored).shape
        return TensorShape(None) if shape.rank is None else shape.concatenate(shape[-1:])

    def _shape_tensor(self) -> Any:
        sizes = look_up("shape")(self._vector())
        return look_up("concat")([sizes, sizes[-1:]], 0)

    def _ones(self) -> Any:
        return look_up("ones_like")(self._vector()[..., 0], dtype=self.dtype)


def _not_denied(name: str, given: bool | None, why: str) -> bool | None:
    """Return a hint that is always true, as it was given; ValueError for False."""
    return require_hint(name, given, True, why) if given is False else given


@export("linalg.LinearOperatorHouseholder")
class LinearOperatorHouseholder(_OfVector):
    """The reflection at the plane orthogonal to `reflection_axis`, [..., n]: I - 2 v v^H, |v| = 1.

    It is its own inverse, self-adjoint, and not positive definite (ValueError for other hints).

    >>> import talweg as tf
    >>> tf.linalg.LinearOperatorHouseholder([0.0, 3.0]).matvec([1.0, 2.0]).numpy()
    array([ 1., -2.], dtype=float32)
    """

    tensors = {"reflection_axis": 1}
    _stored = "reflection_axis"

    def __init__(
        self,
        reflection_axis: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ):
        self._reflection_axis = parameter(reflection_axis)
        if self._reflection_axis.shape.rank == 0:
            raise value_error("TW203", "reflection_axis is a scalar", "at least one axis")
        why = "this is a reflection"
        super().__init__(
            self._reflection_axis.dtype,
            None,
            _not_denied("is_non_singular", is_non_singular, why),
            require_hint("is_self_adjoint", is_self_adjoint, True, why),
            require_hint("is_positive_definite", is_positive_definite, False, why),
            require_hint("is_square", is_square, True, why),
            name,
            {"reflection_axis": reflection_axis},
        )

    @property
    def reflection_axis(self) -> Any:
        """The vectors that are turned round."""
        return self._reflection_axis

    def _unit(self) -> Any:
        axis = self._vector()
        length = look_up("sqrt")(look_up("reduce_sum")(axis * conj(axis), axis=-1, keepdims=True))
        return axis / length

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = adjoint_of(x) if adjoint_arg else x
        unit = self._unit()[..., None]
        along = look_up("reduce_sum")(conj(unit) * x, axis=-2, keepdims=True)
        return x - 2 * unit * along

    def _solve(self, rhs: object, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _to_dense(self) -> Any:
        unit = self._unit()[..., None]
        matrix = -2 * look_up("matmul")(unit, unit, adjoint_b=True)
        return look_up("linalg.set_diag")(matrix, 1 + look_up("linalg.diag_part")(matrix))

    def _diag_part(self) -> Any:
        unit = self._unit()
        return 1 - 2 * unit * conj(unit)

    def _trace(self) -> Any:
        return self._ones() * cast(self.domain_dimension_tensor(), self.dtype) - 2

    def _determinant(self) -> Any:
        return -self._ones()

    def _log_abs_determinant(self) -> Any:
        return look_up("zeros_like")(self._ones())

    def _eigvals(self) -> Any:
        ones = look_up("ones_like")(self._vector())
        return look_up("concat")([-ones[..., :1], ones[..., 1:]], -1)

    def _cond(self) -> Any:
        return self._ones()


@export("linalg.LinearOperatorPermutation")
class LinearOperatorPermutation(_OfVector):
    """The operator that moves rows: row i of A x is row perm[i] of x.  perm: [..., n], integers.

    TypeError for other dtypes, ValueError for is_positive_definite=True unless it is the identity.

    >>> import talweg as tf
    >>> tf.linalg.LinearOperatorPermutation([2, 0, 1]).matvec([1.0, 2.0, 3.0]).numpy()
    array([3., 1., 2.], dtype=float32)
    """

    tensors = {"perm": 1}
    static_in = ("dtype",)
    _stored = "perm"

    def __init__(
        self,
        perm: AxisLike,
        dtype: Any = float32,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorPermutation",
    ):
        self._perm = parameter(perm)
        if not self._perm.dtype.is_integer:
            raise type_error("TW102", f"perm is {self._perm.dtype.name}", "integers")
        if self._perm.shape.rank == 0:
            raise value_error("TW203", "perm is a scalar", "at least one axis")
        known = look_up("get_static_value")(self._perm)
        if known is not None and not (np.sort(known, -1) == np.arange(known.shape[-1])).all():
            raise value_error("TW207", f"perm is {known.tolist()}", "each number below n once")
        why = "this is a permutation"
        super().__init__(
            as_dtype(dtype),
            None,
            _not_denied("is_non_singular", is_non_singular, why),
            is_self_adjoint,
            is_positive_definite,
            require_hint("is_square", is_square, True, why),
            name,
            {"perm": perm, "dtype": as_dtype(dtype).name},
        )

    @property
    def perm(self) -> Any:
        """The source of each row."""
        return self._perm

    def _places(self, inverse: bool) -> Any:
        return look_up("argsort")(self._vector(), axis=-1) if inverse else self._vector()

    def _matmul(self, x: object, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = adjoint_of(x) if adjoint_arg else x
        return _rows_at(x, self._places(adjoint))

    def _solve(self, rhs: object, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, not adjoint, adjoint_arg)

    def _to_dense(self) -> Any:
        numbers = look_up("range")(cast(self._rows(), self.perm.dtype))
        same = look_up("equal")(self._vector()[..., None], numbers)
        return cast(same, self.dtype)

    def _diag_part(self) -> Any:
        numbers = look_up("range")(cast(self._rows(), self.perm.dtype))
        return cast(look_up("equal")(self._vector(), numbers), self.dtype)

    def _log_abs_determinant(self) -> Any:
        return look_up("zeros_like")(self._ones())

    def _cond(self) -> Any:
        return self._ones()


def _rows_at(x: Any, places: Any) -> Any:
    """Return the rows of matrices [..., n, r] at places [..., n];
    kept whole where ranks are unknown.
    """
    if places.ndim == 1:
        return look_up("gather")(x, places, axis=-2)
    x, places = common_batch([x, places[..., None]])
    count = places.ndim - 2
    return look_up("gather")(x, places[..., 0], batch_dims=count, axis=count)


_rows_at = graph_aware(_rows_at)

FORMATS = ("compact", "matrix", "sequence")


@export("linalg.LinearOperatorTridiag")
class LinearOperatorTridiag(CompositeOperator):
    """The operator of tridiagonal matrices.

    diagonals: "compact": [..., 3, n], above, on and below the diagonal; "sequence": a list of these
    three; "matrix": [..., n, n].  ValueError for other formats.

    >>> import talweg as tf
    >>> tf.linalg.LinearOperatorTridiag([[3.0, 0.0], [1.0, 1.0], [0.0, 4.0]]).to_dense().numpy()
    array([[1., 3.],
           [4., 1.]], dtype=float32)
    """

    tensors = {"diagonals": 2}
    static_in = ("diagonals_format",)

    def __init__(
        self,
        diagonals: Any,
        diagonals_format: str = "compact",
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorTridiag",
    ):
        if diagonals_format not in FORMATS:
            raise value_error("TW207", f"diagonals_format is {diagonals_format!r}", f"{FORMATS}")
        self._diagonals_format = diagonals_format
        made = diagonals
        if diagonals_format == "sequence":
            parts = [parameter(diagonal) for diagonal in diagonals]
            made = look_up("stack")(look_up("experimental.numpy.broadcast_arrays")(*parts), axis=-2)
        self._diagonals = parameter(made)
        super().__init__(
            self._diagonals.dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            require_hint("is_square", is_square, True, "tridiagonal operators are square"),
            name,
            {"diagonals": diagonals, "diagonals_format": diagonals_format},
        )

    @property
    def diagonals(self) -> Any:
        """The three diagonals, in the format given ("sequence" as "compact")."""
        return self._diagonals

    @property
    def diagonals_format(self) -> str:
        """The storage format of `diagonals`."""
        return self._diagonals_format

    def _compact(self) -> Any:
        diagonals = convert_to_tensor(self._diagonals)
        if self._diagonals_format != "matrix":
            return diagonals
        return look_up("linalg.diag_part")(diagonals, k=(-1, 1), align="LEFT_RIGHT")

    def _shape(self) -> TensorShape:
        shape = self._diagonals.shape
        if self._diagonals_format == "matrix" or shape.rank is None:
            return shape
        return shape[:-2].concatenate([shape[-1], shape[-1]])

    def _shape_tensor(self) -> Any:
        sizes = look_up("shape")(convert_to_tensor(self._diagonals))
        if self._diagonals_format == "matrix":
            return sizes
        return look_up("concat")([sizes[:-2], sizes[-1:], sizes[-1:]], 0)

    def _collect_diagonals(self, adjoint: bool) -> Any:
        """Return the three diagonals, of the adjoint if asked."""
        compact = self._compact()
        if not adjoint:
            return compact
        above, on, below = (compact[..., n, :] for n in range(3))
        roll = look_up("roll")
        parts = [conj(roll(below, -1, -1)), conj(on), conj(roll(above, 1, -1))]
        return look_up("stack")(parts, axis=-2)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = adjoint_of(x) if adjoint_arg else x
        return look_up("linalg.tridiagonal_matmul")(
            *common_batch([self._collect_diagonals(adjoint), x]), diagonals_format="compact"
        )

    def _solve(self, rhs: object, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return look_up("linalg.tridiagonal_solve")(
            *common_batch([self._collect_diagonals(adjoint), rhs]), diagonals_format="compact"
        )

    def _to_dense(self) -> Any:
        if self._diagonals_format == "matrix":
            return convert_to_tensor(self._diagonals)
        return look_up("linalg.diag")(self._compact(), k=(-1, 1), align="LEFT_RIGHT")

    def _diag_part(self) -> Any:
        return self._compact()[..., 1, :]


@export("linalg.LinearOperatorLowRankUpdate")
class LinearOperatorLowRankUpdate(CompositeOperator):
    """L + U D V^H: a base operator and an update of low rank.

    u, v: [..., m, k] (v as u if None); diag_update: [..., k], the identity if None.
    Determinants and solutions go through the base operator (Woodbury's formula), which must have an
    inverse for them.

    >>> import talweg as tf
    >>> base = tf.linalg.LinearOperatorDiag([1.0, 2.0])
    >>> tf.linalg.LinearOperatorLowRankUpdate(base, [[1.0], [1.0]]).to_dense().numpy()
    array([[2., 1.],
           [1., 3.]], dtype=float32)
    """

    tensors = {"u": 2, "diag_update": 1, "v": 2}
    static_in = ("is_diag_update_positive",)
    operators_in = ("base_operator",)

    def __init__(
        self,
        base_operator: LinearOperator,
        u: TensorLike,
        diag_update: TensorLike | None = None,
        v: TensorLike | None = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ):
        given = {"base_operator": base_operator, "u": u, "diag_update": diag_update, "v": v}
        given["is_diag_update_positive"] = is_diag_update_positive
        self._base_operator = base_operator
        dtype = base_operator.dtype
        self._u, self._v = parameter(u, dtype), parameter(v, dtype)
        self._diag_update = parameter(diag_update)
        if diag_update is None:
            is_diag_update_positive = require_hint(
                "is_diag_update_positive", is_diag_update_positive, True, "it is the identity"
            )
        self._is_diag_update_positive = is_diag_update_positive
        if v is None and base_operator.is_self_adjoint and self._real_update():
            is_self_adjoint = True if is_self_adjoint is None else is_self_adjoint
            if base_operator.is_positive_definite and is_diag_update_positive:
                is_positive_definite = (
                    True if is_positive_definite is None else is_positive_definite
                )
        if is_square is None:
            is_square = base_operator.is_square
        super().__init__(
            dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
            given,
        )

    def _real_update(self) -> bool:
        return self._diag_update is None or not self._diag_update.dtype.is_complex

    @property
    def base_operator(self) -> LinearOperator:
        """L."""
        return self._base_operator

    @property
    def u(self) -> Any:
        """U."""
        return self._u

    @property
    def v(self) -> Any:
        """V: U if it was not given."""
        return self._u if self._v is None else self._v

    @property
    def diag_update(self) -> Any:
        """The diagonal of D, None for the identity."""
        return self._diag_update

    @property
    def diag_operator(self) -> LinearOperator:
        """D as an operator."""
        if self._diag_update is None:
            u = convert_to_tensor(self._u)
            count = u.shape[-1]
            rank = look_up("shape")(u)[-1] if count is None else count
            return LinearOperatorIdentity(rank, dtype=self.dtype)
        return LinearOperatorDiag(
            self._diag_update, is_positive_definite=self._is_diag_update_positive
        )

    @property
    def is_diag_update_positive(self) -> bool | None:
        """Whether D is positive definite, if that was said."""
        return self._is_diag_update_positive

    def _shape(self) -> TensorShape:
        batch = look_up("broadcast_static_shape")(self.base_operator.batch_shape, self.u.shape[:-2])
        batch = look_up("broadcast_static_shape")(batch, self.v.shape[:-2])
        if self._diag_update is not None:
            batch = look_up("broadcast_static_shape")(batch, self._diag_update.shape[:-1])
        return batch.concatenate(self.base_operator.shape[-2:])

    def _shape_tensor(self) -> Any:
        widest = look_up("broadcast_dynamic_shape")
        batch = self.base_operator.batch_shape_tensor()
        for factor in (self.u, self.v):
            batch = widest(batch, look_up("shape")(convert_to_tensor(factor))[:-2])
        if self._diag_update is not None:
            batch = widest(batch, look_up("shape")(convert_to_tensor(self._diag_update))[:-1])
        return look_up("concat")([batch, self.base_operator.shape_tensor()[-2:]], 0)

    def _factors(self, adjoint: bool = False) -> tuple[Any, Any]:
        u, v = convert_to_tensor(self.u), convert_to_tensor(self.v)
        return (v, u) if adjoint else (u, v)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = adjoint_of(x) if adjoint_arg else x
        u, v = self._factors(adjoint)
        inner = look_up("matmul")(v, x, adjoint_a=True)
        update = look_up("matmul")(u, self.diag_operator.matmul(inner, adjoint=adjoint))
        return self.base_operator.matmul(x, adjoint=adjoint) + update

    def _capacitance(self, adjoint: bool = False) -> Any:
        """Return D^-1 + V^H L^-1 U."""
        u, v = self._factors(adjoint)
        inner = look_up("matmul")(v, self.base_operator.solve(u, adjoint=adjoint), adjoint_a=True)
        inverse = self.diag_operator.inverse()
        inverse = inverse.adjoint() if adjoint else inverse
        return inverse.add_to_tensor(inner)

    def _solve(self, rhs: object, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        u, v = self._factors(adjoint)
        base = self.base_operator
        plain = base.solve(rhs, adjoint=adjoint)
        inner = look_up("matmul")(v, plain, adjoint_a=True)
        small = look_up("linalg.solve")(*common_batch([self._capacitance(adjoint), inner]))
        return plain - base.solve(look_up("matmul")(u, small), adjoint=adjoint)

    def _determinant(self) -> Any:
        return (
            look_up("linalg.det")(self._capacitance())
            * self.diag_operator.determinant()
            * self.base_operator.determinant()
        )

    def _log_abs_determinant(self) -> Any:
        return (
            look_up("linalg.slogdet")(self._capacitance())[1]
            + self.diag_operator.log_abs_determinant()
            + self.base_operator.log_abs_determinant()
        )

    def _diag_part(self) -> Any:
        u, v = self._factors()
        product = look_up("reduce_sum")(
            u * self.diag_operator.diag_part()[..., None, :] * conj(v), axis=-1
        )
        return product + self.base_operator.diag_part()
