"""Operators of other operators: adjoint, inverse, product, Kronecker product."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.api.tensors import cast
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import TensorShape
from talweg.linear_operators.batches import check_contraction, static_broadcast
from talweg.linear_operators.composite import CompositeOperator
from talweg.linear_operators.diagonal import conj
from talweg.linear_operators.hints import all_true, require_hint
from talweg.linear_operators.operator import LinearOperator, adjoint_of

if TYPE_CHECKING:
    from collections.abc import Callable


class _OfOne(CompositeOperator):
    """Operators of one other, with its hints unless others are given."""

    operators_in = ("operator",)
    _word: str

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ):
        self._operator = operator
        given = {
            "is_non_singular": is_non_singular,
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
            "is_square": is_square,
        }
        hints = {}
        for hint, value in given.items():
            own = getattr(operator, hint)
            if value is not None and own is not None and value is not own:
                raise value_error("TW207", f"{hint}={value}", f"{hint}={own}, as the operator's")
            hints[hint] = own if value is None else value
        super().__init__(
            operator.dtype,
            name=name or f"{operator.name}_{self._word}",
            parameters={"operator": operator},
            **hints,
        )

    @property
    def operator(self) -> LinearOperator:
        """The operator that this is made of."""
        return self._operator


@export("linalg.LinearOperatorAdjoint")
class LinearOperatorAdjoint(_OfOne):
    """The adjoint of an operator, its conjugate transpose.

    >>> import talweg as tf
    >>> operator = tf.linalg.LinearOperatorFullMatrix([[1.0 + 1j, 2.0], [3.0, 4.0]])
    >>> tf.linalg.LinearOperatorAdjoint(operator).to_dense().numpy()[0].tolist()
    [(1-1j), (3-0j)]
    """

    _word = "adjoint"

    def _shape(self) -> TensorShape:
        shape = self.operator.shape
        if shape.rank is None:
            return shape
        return shape[:-2].concatenate([shape[-1], shape[-2]])

    def _shape_tensor(self) -> Any:
        sizes = self.operator.shape_tensor()
        return look_up("concat")([sizes[:-2], sizes[-1:], sizes[-2:-1]], 0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self.operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: object, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self.operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _conjugate(self, x: object) -> Any:
        return conj(x) if self.dtype.is_complex else x

    def _determinant(self) -> Any:
        return self._conjugate(self.operator.determinant())

    def _log_abs_determinant(self) -> Any:
        return self.operator.log_abs_determinant()

    def _trace(self) -> Any:
        return self._conjugate(self.operator.trace())

    def _diag_part(self) -> Any:
        return self._conjugate(self.operator.diag_part())

    def _to_dense(self) -> Any:
        return adjoint_of(self.operator.to_dense())

    def _add_to_tensor(self, x: object) -> Any:
        return adjoint_of(self.operator.add_to_tensor(adjoint_of(x)))

    def _eigvals(self) -> Any:
        return self._conjugate(self.operator.eigvals())

    def _cond(self) -> Any:
        return self.operator.cond()

    def _assert_non_singular(self) -> Any:
        return self.operator.assert_non_singular()


@export("linalg.LinearOperatorInversion")
class LinearOperatorInversion(_OfOne):
    """The inverse of an operator: products solve, solutions multiply.

    ValueError if the operator is said to be singular or not square.

    >>> import talweg as tf
    >>> operator = tf.linalg.LinearOperatorFullMatrix([[2.0, 0.0], [1.0, 2.0]])
    >>> tf.linalg.LinearOperatorInversion(operator).to_dense().numpy().tolist()
    [[0.5, 0.0], [-0.25, 0.5]]
    """

    _word = "inv"

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ):
        if operator.is_square is False:
            raise value_error("TW204", f"operator has shape {operator.shape}", "a square one")
        if operator.is_non_singular is False:
            raise value_error("TW207", "operator has is_non_singular=False", "one with an inverse")
        if is_non_singular is False:
            require_hint("is_non_singular", False, True, "an inverse has an inverse")
        super().__init__(
            operator, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    def _shape(self) -> TensorShape:
        return self.operator.shape

    def _shape_tensor(self) -> Any:
        return self.operator.shape_tensor()

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self.operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: object, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self.operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Any:
        return 1 / self.operator.determinant()

    def _log_abs_determinant(self) -> Any:
        return -self.operator.log_abs_determinant()

    def _eigvals(self) -> Any:
        return 1 / self.operator.eigvals()

    def _cond(self) -> Any:
        return self.operator.cond()


class _OfSeveral(CompositeOperator):
    """Operators of a list of others, of one dtype."""

    sequences_in = ("operators",)

    def _take(self, operators: Any) -> list[Any]:
        operators = list(operators)
        if not operators:
            raise value_error("TW207", "operators is empty", "at least one operator")
        for operator in operators:
            if operator.dtype is not operators[0].dtype:
                raise type_error(
                    "TW102",
                    f"operators of dtypes {[one.dtype.name for one in operators]}",
                    "one dtype",
                )
        self._operators = operators
        return operators

    @property
    def operators(self) -> list[Any]:
        """The operators that this is made of."""
        return self._operators


@export("linalg.LinearOperatorComposition")
class LinearOperatorComposition(_OfSeveral):
    """The product of operators: the last one is applied first.

    ValueError for no operators, or sizes that do not fit; TypeError for several dtypes.

    >>> import talweg as tf
    >>> double = tf.linalg.LinearOperatorScaledIdentity(2, 2.0)
    >>> swap = tf.linalg.LinearOperatorPermutation([1, 0])
    >>> tf.linalg.LinearOperatorComposition([double, swap]).matvec([1.0, 2.0]).numpy()
    array([4., 2.], dtype=float32)
    """

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ):
        operators = self._take(operators)
        for left, right in zip(operators, operators[1:]):
            check_contraction(left, "composition", left.domain_dimension, right.range_dimension)
        if all_true(operators, "is_non_singular"):
            why = "all operators have an inverse"
            is_non_singular = require_hint("is_non_singular", is_non_singular, True, why)
        super().__init__(
            operators[0].dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name or "_o_".join(operator.name for operator in operators),
            {"operators": operators},
        )

    def _shape(self) -> TensorShape:
        batch = static_broadcast([operator.batch_shape for operator in self._operators])
        ends = [self._operators[0].range_dimension, self._operators[-1].domain_dimension]
        return batch.concatenate(ends)

    def _shape_tensor(self) -> Any:
        batch = reduce(
            look_up("broadcast_dynamic_shape"),
            [operator.batch_shape_tensor() for operator in self._operators],
        )
        rows = self._operators[0].range_dimension_tensor()
        columns = self._operators[-1].domain_dimension_tensor()
        return look_up("concat")([batch, look_up("stack")([rows, columns])], 0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = adjoint_of(x) if adjoint_arg else x
        for operator in self._operators if adjoint else self._operators[::-1]:
            x = operator.matmul(x, adjoint=adjoint)
        return x

    def _solve(self, rhs: object, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        for operator in self._operators[::-1] if adjoint else self._operators:
            rhs = operator.solve(rhs, adjoint=adjoint)
        return rhs

    def _determinant(self) -> Any:
        found = [operator.determinant() for operator in self._operators]
        return reduce(lambda a, b: a * b, found)

    def _log_abs_determinant(self) -> Any:
        found = [operator.log_abs_determinant() for operator in self._operators]
        return reduce(lambda a, b: a + b, found)


@export("linalg.LinearOperatorKronecker")
class LinearOperatorKronecker(_OfSeveral):
    """The Kronecker product of operators, A1 x A2 x ...

    ValueError for no operators, TypeError for several dtypes.

    >>> import talweg as tf
    >>> one = tf.linalg.LinearOperatorDiag([1.0, 2.0])
    >>> two = tf.linalg.LinearOperatorDiag([1.0, 10.0])
    >>> tf.linalg.LinearOperatorKronecker([one, two]).diag_part().numpy()
    array([ 1., 10.,  2., 20.], dtype=float32)
    """

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ):
        operators = self._take(operators)
        hints = {
            "is_non_singular": is_non_singular,
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
            "is_square": is_square,
        }
        for hint, value in hints.items():
            follows = all_true(operators, hint)
            if follows and hint in ("is_non_singular", "is_square"):
                require_hint(hint, value, True, "all operators are so")
            hints[hint] = follows if value is None else value
        super().__init__(
            operators[0].dtype,
            name=name or "_x_".join(operator.name for operator in operators),
            parameters={"operators": operators},
            **hints,
        )

    def _shape(self) -> TensorShape:
        batch = static_broadcast([operator.batch_shape for operator in self._operators])
        rows = _product([operator.range_dimension for operator in self._operators])
        columns = _product([operator.domain_dimension for operator in self._operators])
        return batch.concatenate([rows, columns])

    def _shape_tensor(self) -> Any:
        batch = reduce(
            look_up("broadcast_dynamic_shape"),
            [operator.batch_shape_tensor() for operator in self._operators],
        )
        ends = [operator.shape_tensor()[-2:] for operator in self._operators]
        return look_up("concat")([batch, reduce(lambda a, b: a * b, ends)], 0)

    def _factor_by_factor(
        self, x: object, function: Callable[..., Any], sizes_in: list, sizes_out: list
    ) -> Any:
        """Return a function of each factor along its own axis of x [..., n1 * n2 ..., r]."""
        whole = look_up("shape")(x)
        r = whole[-1]
        before: Any = 1
        for number, operator in enumerate(self._operators):
            after = _product(sizes_in[number + 1 :])
            grouped = look_up("reshape")(
                x, look_up("concat")([look_up("shape")(x)[:-2], [before, sizes_in[number], -1]], 0)
            )
            # the factor's batch axes stand in front of the axis of what came before
            moved = _swap(grouped, -3, -2)
            flat_sizes = look_up("shape")(moved)
            flat = look_up("reshape")(moved, look_up("concat")([flat_sizes[:-2], [-1]], 0))
            product = function(operator, flat)
            sizes = look_up("shape")(product)
            product = look_up("reshape")(
                product, look_up("concat")([sizes[:-2], [sizes_out[number], before, after * r]], 0)
            )
            product = _swap(product, -3, -2)
            sizes = look_up("shape")(product)
            before = before * sizes_out[number]
            x = look_up("reshape")(product, look_up("concat")([sizes[:-3], [before * after, r]], 0))
        return x

    def _sizes(self, adjoint: bool) -> tuple[list, list]:
        rows = [operator._rows() for operator in self._operators]
        columns = [operator._columns() for operator in self._operators]
        return (rows, columns) if adjoint else (columns, rows)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = adjoint_of(x) if adjoint_arg else x
        sizes_in, sizes_out = self._sizes(adjoint)
        return self._factor_by_factor(
            x, lambda operator, part: operator.matmul(part, adjoint=adjoint), sizes_in, sizes_out
        )

    def _solve(self, rhs: object, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        sizes_out, sizes_in = self._sizes(adjoint)
        return self._factor_by_factor(
            rhs, lambda operator, part: operator.solve(part, adjoint=adjoint), sizes_in, sizes_out
        )

    def _powers(self) -> list[Any]:
        """Return the power of each factor's determinant: the size of the others together."""
        whole = self.domain_dimension_tensor()
        return [
            cast(whole // operator.domain_dimension_tensor(), self.dtype)
            for operator in self._operators
        ]

    def _determinant(self) -> Any:
        found = [o.determinant() ** power for o, power in zip(self._operators, self._powers())]
        return reduce(lambda a, b: a * b, found)

    def _log_abs_determinant(self) -> Any:
        found = [
            cast(power, self.dtype.real_dtype)
            * cast(o.log_abs_determinant(), self.dtype.real_dtype)
            for o, power in zip(self._operators, self._powers())
        ]
        return cast(reduce(lambda a, b: a + b, found), self.dtype)

    def _trace(self) -> Any:
        return reduce(lambda a, b: a * b, [operator.trace() for operator in self._operators])

    def _diag_part(self) -> Any:
        return reduce(_outer_vectors, [operator.diag_part() for operator in self._operators])

    def _eigvals(self) -> Any:
        return reduce(_outer_vectors, [operator.eigvals() for operator in self._operators])

    def _to_dense(self) -> Any:
        return reduce(_kronecker, [operator.to_dense() for operator in self._operators])

    def _assert_non_singular(self) -> Any:
        if all(operator.is_square for operator in self._operators):
            for operator in self._operators:
                operator.assert_non_singular()
            return look_up("no_op")()
        raise look_up("errors.InvalidArgumentError")(
            None, None, "All Kronecker factors must be square for the product to be invertible."
        )


def _product(sizes: list) -> Any:
    found: Any = 1
    for size in sizes:
        if size is None:
            return None
        found = found * size
    return found


def _swap(x: object, first: int, second: int) -> Any:
    return look_up("experimental.numpy.swapaxes")(x, first, second)


def _outer_vectors(a: Any, b: Any) -> Any:
    """Return all products of elements of two vectors, [..., m n]."""
    found = a[..., :, None] * b[..., None, :]
    sizes = look_up("shape")(found)
    static = found.shape
    if static.is_fully_defined():
        return look_up("reshape")(found, [*static.as_list()[:-2], static[-2] * static[-1]])
    return look_up("reshape")(found, look_up("concat")([sizes[:-2], [-1]], 0))


def _kronecker(a: Any, b: Any) -> Any:
    """Return kronecker products of matrices, [..., m p, n q]."""
    found = a[..., :, None, :, None] * b[..., None, :, None, :]
    static = found.shape
    if static.is_fully_defined():
        m, p, n, q = static.as_list()[-4:]
        return look_up("reshape")(found, [*static.as_list()[:-4], m * p, n * q])
    sizes = look_up("shape")(found)
    ends = look_up("stack")([sizes[-4] * sizes[-3], sizes[-2] * sizes[-1]])
    return look_up("reshape")(found, look_up("concat")([sizes[:-4], ends], 0))
