"""Operators of blocks: block diagonal, and block lower triangular."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import TensorShape
from talweg.linear_operators.batches import common_batch, static_broadcast
from talweg.linear_operators.combined import _OfSeveral
from talweg.linear_operators.hints import all_true, of_all, require_hint
from talweg.linear_operators.operator import LinearOperator, adjoint_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    pass


def _concat_blocks(parts: list[Any], axis: int) -> Any:
    """Return parts along an axis, with their batch axes broadcast."""
    return look_up("concat")(common_batch(parts), axis)


def _sum_of(sizes: list[Any]) -> Any:
    return None if None in sizes else sum(sizes)


class _BlockOperators(_OfSeveral):
    """Base of block operators: arguments are cut into blocks, or given as a list of them."""

    def _diagonal_blocks(self) -> list[LinearOperator]:
        raise NotImplementedError

    def _all_blocks(self) -> list[LinearOperator]:
        raise NotImplementedError

    def _shape(self) -> TensorShape:
        blocks = self._all_blocks()
        batch = static_broadcast([block.batch_shape for block in blocks])
        own = self._diagonal_blocks()
        return batch.concatenate(
            [
                _sum_of([block.range_dimension for block in own]),
                _sum_of([block.domain_dimension for block in own]),
            ]
        )

    def _shape_tensor(self) -> Any:
        batch = reduce(
            look_up("broadcast_dynamic_shape"),
            [block.batch_shape_tensor() for block in self._all_blocks()],
        )
        ends = [block.shape_tensor()[-2:] for block in self._diagonal_blocks()]
        return look_up("concat")([batch, reduce(lambda a, b: a + b, ends)], 0)

    def _cut(self, x: Any, rows: bool) -> list[Any]:
        """Return x, cut along its axis -2 into the parts of the blocks' rows or columns."""
        blocks = self._diagonal_blocks()
        sizes = [block._rows() if rows else block._columns() for block in blocks]
        found, start = [], 0
        for size in sizes:
            found.append(x[..., start : start + size, :])
            start = start + size
        return found

    def _is_list(self, x: object) -> bool:
        return (
            isinstance(x, (list, tuple))
            and len(x) == len(self._diagonal_blocks())
            and all(hasattr(part, "shape") and part.shape.rank != 0 for part in x)
        )

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """Return a x.  Of a list of tensors, one for each block of columns, a list."""
        if self._is_list(x):
            parts = [adjoint_of(part) if adjoint_arg else part for part in x]
            return self._matmul_parts(parts, adjoint)
        return super().matmul(x, adjoint, adjoint_arg)

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """Return x with A x = rhs.  Of a list of tensors, one for each block of rows, a list."""
        if self._is_list(rhs):
            self._check_solvable()
            parts = [adjoint_of(part) if adjoint_arg else part for part in rhs]
            return self._solve_parts(parts, adjoint)
        return super().solve(rhs, adjoint, adjoint_arg)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """Return a x for vectors.  Of a list of tensors, one for each block of columns, a list."""
        if self._is_list(x):
            found = self._matmul_parts([part[..., None] for part in x], adjoint)
            return [part[..., 0] for part in found]
        return super().matvec(x, adjoint)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """Return x with A x = rhs for vectors.  Of a list of tensors, one for each block, a
        list."""
        if self._is_list(rhs):
            self._check_solvable()
            found = self._solve_parts([part[..., None] for part in rhs], adjoint)
            return [part[..., 0] for part in found]
        return super().solvevec(rhs, adjoint)

    def _matmul_parts(self, parts: list[Any], adjoint: bool) -> list[Any]:
        raise NotImplementedError

    def _solve_parts(self, parts: list[Any], adjoint: bool) -> list[Any]:
        raise NotImplementedError

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = adjoint_of(x) if adjoint_arg else x
        return _concat_blocks(self._matmul_parts(self._cut(x, rows=adjoint), adjoint), -2)

    def _solve(self, rhs: object, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return _concat_blocks(self._solve_parts(self._cut(rhs, rows=not adjoint), adjoint), -2)

    def _vectors(self, parts: list[Any]) -> Any:
        """Return vectors of the blocks, one after the other."""
        return look_up("squeeze")(_concat_blocks([part[..., None] for part in parts], -2), axis=-1)

    def _diag_part(self) -> Any:
        if not all(block.is_square for block in self._diagonal_blocks()):
            return look_up("linalg.diag_part")(self.to_dense())
        return self._vectors([block.diag_part() for block in self._diagonal_blocks()])

    def _determinant(self) -> Any:
        found = [block.determinant() for block in self._diagonal_blocks()]
        return reduce(lambda a, b: a * b, found)

    def _log_abs_determinant(self) -> Any:
        found = [block.log_abs_determinant() for block in self._diagonal_blocks()]
        return reduce(lambda a, b: a + b, found)

    def _trace(self) -> Any:
        if not all(block.is_square for block in self._diagonal_blocks()):
            return super()._trace()
        found = [block.trace() for block in self._diagonal_blocks()]
        return reduce(lambda a, b: a + b, found)

    def _eigvals(self) -> Any:
        return self._vectors([block.eigvals() for block in self._diagonal_blocks()])

    def _assert_non_singular(self) -> Any:
        for block in self._diagonal_blocks():
            block.assert_non_singular()
        return look_up("no_op")()


@export("linalg.LinearOperatorBlockDiag")
class LinearOperatorBlockDiag(_BlockOperators):
    """The operator of matrices with operators along the diagonal.

    Arguments may be lists, with a tensor for each block.  ValueError for no operators,
    TypeError for several dtypes.

    >>> import talweg as tf
    >>> one = tf.linalg.LinearOperatorDiag([2.0])
    >>> two = tf.linalg.LinearOperatorFullMatrix([[0.0, 1.0], [1.0, 0.0]])
    >>> tf.linalg.LinearOperatorBlockDiag([one, two]).matvec([1.0, 2.0, 3.0]).numpy()
    array([2., 3., 2.], dtype=float32)
    """

    def __init__(
        self,
        operators: Sequence[Any],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ):
        operators = self._take(operators)
        given = [is_non_singular, is_self_adjoint, is_positive_definite]
        names = ["is_non_singular", "is_self_adjoint", "is_positive_definite"]
        hints: dict[str, Any] = {
            hint: all_true(operators, hint) if value is None else value
            for hint, value in zip(names, given)
        }
        if all_true(operators, "is_non_singular"):
            require_hint("is_non_singular", is_non_singular, True, "all blocks have an inverse")
        square = is_square if all_true(operators, "is_square") else None
        super().__init__(
            operators[0].dtype,
            is_square=square,
            name=name or "_ds_".join(operator.name for operator in operators),
            parameters={"operators": operators},
            **hints,
        )

    def _diagonal_blocks(self) -> list[LinearOperator]:
        return self._operators

    _all_blocks = _diagonal_blocks

    def _matmul_parts(self, parts: list[Any], adjoint: bool) -> list[Any]:
        return [block.matmul(x, adjoint=adjoint) for block, x in zip(self._operators, parts)]

    def _solve_parts(self, parts: list[Any], adjoint: bool) -> list[Any]:
        return [block.solve(x, adjoint=adjoint) for block, x in zip(self._operators, parts)]

    def _to_dense(self) -> Any:
        rows, before = [], 0
        whole = self._columns()
        for block in self._operators:
            own = block._columns()
            after = whole - before - own
            margin = look_up("stack")([before, after])
            dense = block.to_dense()
            rank = dense.shape.rank
            axes = look_up("rank")(dense) if rank is None else rank
            paddings = look_up("concat")([look_up("zeros")([axes - 1, 2], "int32"), [margin]], 0)
            rows.append(look_up("pad")(dense, paddings))
            before = before + own
        return _concat_blocks(rows, -2)


@export("linalg.LinearOperatorBlockLowerTriangular")
class LinearOperatorBlockLowerTriangular(_BlockOperators):
    """The operator of block lower triangular matrices.

    operators: a list for each row of blocks, with one operator in the first, two in the second ...;
    those on the diagonal are square.  Equations are solved block by block.  ValueError for lists of
    other lengths or blocks that do not fit, TypeError for several dtypes.

    >>> import talweg as tf
    >>> block = tf.linalg.LinearOperatorFullMatrix
    >>> tf.linalg.LinearOperatorBlockLowerTriangular(
    ...     [[block([[2.0]])], [block([[1.0]]), block([[4.0]])]]).solvevec([2.0, 9.0]).numpy()
    array([1., 2.], dtype=float32)
    """

    def __init__(
        self,
        operators: Sequence[Any],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorBlockLowerTriangular",
    ):
        rows = [list(row) for row in operators]
        _check_rows(rows)
        self._operators = rows
        diagonal = self._diagonal_blocks()
        if is_non_singular is None:
            is_non_singular = of_all(diagonal, "is_non_singular")
        elif all_true(diagonal, "is_non_singular"):
            require_hint("is_non_singular", is_non_singular, True, "all blocks have an inverse")
        super().__init__(
            rows[0][0].dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            require_hint("is_square", is_square, True, "blocks on the diagonal are square"),
            name,
            {"operators": rows},
        )

    def _diagonal_blocks(self) -> list[LinearOperator]:
        return [row[-1] for row in self._operators]

    def _all_blocks(self) -> list[LinearOperator]:
        return [block for row in self._operators for block in row]

    def _matmul_parts(self, parts: list[Any], adjoint: bool) -> list[Any]:
        rows = self._operators
        found = []
        for place in range(len(rows)):
            if adjoint:
                terms = [
                    rows[n][place].matmul(parts[n], adjoint=True) for n in range(place, len(rows))
                ]
            else:
                terms = [block.matmul(x) for block, x in zip(rows[place], parts)]
            found.append(reduce(lambda a, b: a + b, terms))
        return found

    def _solve_parts(self, parts: list[Any], adjoint: bool) -> list[Any]:
        rows = self._operators
        found: dict[int, Any] = {}
        order = range(len(rows))
        for place in reversed(order) if adjoint else order:
            rest = parts[place]
            for other, x in found.items():
                block = rows[other][place] if adjoint else rows[place][other]
                rest = rest - block.matmul(x, adjoint=adjoint)
            found[place] = rows[place][-1].solve(rest, adjoint=adjoint)
        return [found[place] for place in order]

    def _to_dense(self) -> Any:
        lines = []
        columns = [block._columns() for block in self._diagonal_blocks()]
        for place, row in enumerate(self._operators):
            parts = [block.to_dense() for block in row]
            for width in columns[place + 1 :]:
                sizes = look_up("shape")(parts[-1])
                zeros = look_up("zeros")(look_up("concat")([sizes[:-1], [width]], 0), self.dtype)
                parts.append(zeros)
            lines.append(_concat_blocks(parts, -1))
        return _concat_blocks(lines, -2)

    def _slice(self, key: tuple) -> Any:
        rows = [[block[key] for block in row] for row in self._operators]
        return LinearOperatorBlockLowerTriangular(rows, **self._hints._asdict())


def _check_rows(rows: list[list[Any]]) -> None:
    if not rows:
        raise value_error("TW207", "operators is empty", "at least one row of blocks")
    for number, row in enumerate(rows):
        if len(row) != number + 1:
            raise value_error("TW204", f"row {number} has {len(row)} blocks", f"{number + 1}")
        if row[-1].is_square is False:
            raise value_error("TW204", f"the diagonal block {number} has shape {row[-1].shape}")
        for block in row:
            if block.dtype is not rows[0][0].dtype:
                raise type_error(
                    "TW102", f"blocks of {block.dtype.name}, {rows[0][0].dtype.name}", "one dtype"
                )
        heights = {block.range_dimension for block in row} - {None}
        if len(heights) > 1:
            raise value_error(
                "TW204", f"row {number} has blocks of {sorted(heights)} rows", "as many"
            )
        for column in range(len(row)):
            widths = {other[column].domain_dimension for other in rows[column:]} - {None}
            if len(widths) > 1:
                raise value_error(
                    "TW204", f"column {column} has blocks of {sorted(widths)} columns"
                )
