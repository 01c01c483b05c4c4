"""Evaluation of scalar expressions of the loop language over whole arrays.

`loops`, `scalar`, `scan` and `scatter` rules say what one element is; here they are evaluated for
all elements at once: an axis is an array that counts along it, what is read at computed places is
gathered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from talweg.core.dtypes import DType
from talweg.execute.xla.engine import lax
from talweg.execute.xla.engine import numpy as jnp
from talweg.execute.xla.scalars import SCALARS, cast, compute_dtype, exact
from talweg.lower.fusion.inline import InlineOperand, Inliner
from talweg.lower.ir.index import Axis, Index, Quotient, Remainder
from talweg.lower.ir.loops import Expr
from talweg.passes.specialize.program import Value

LOST_DIGITS = 2.0**22  # numbers from here on are taken from others to round those


def leaf(array: Any, dtype: DType, index: tuple | None = None) -> Expr:
    """Make an element of an array; without an index, the one at the present position."""
    return Expr("leaf", (), dtype, (array, index))


def axes_of(dims: tuple) -> tuple[tuple[Index, ...], dict[Axis, Any]]:
    """Return indices into an array of these sizes, and the range of each axis."""
    axes = [Axis(f"i{k}", size) for k, size in enumerate(dims)]
    counted = {}
    for k, axis in enumerate(axes):
        sizes = tuple([size if j == k else 1 for j, size in enumerate(dims)])
        counted[axis] = lax.broadcasted_iota(jnp.int64, sizes, k)
    return tuple(map(Index.of, axes)), counted


def operands_of(values: Sequence[Value], arrays: Sequence[Any]) -> list[InlineOperand]:
    """Wrap operands in the form that rules take."""
    known = dict(zip(values, arrays))
    inliner = Inliner(lambda value, index, guard: leaf(known[value], value.dtype, index))
    return [InlineOperand(inliner, value) for value in values]


class ElementEvaluator:
    """The evaluator of expressions; `axes` holds the range of each axis.

    Equal parts are made once.
    """

    def __init__(self, axes: dict[Axis, Any]):
        self.axes = axes
        self.made: dict[int, tuple] = {}

    def index(self, index: Index) -> Any:
        """Evaluate an index."""
        total = jnp.int64(index.constant)
        for atom, factor in index.terms:
            total = total + self._atom(atom) * factor
        return total

    def _atom(self, atom: Any) -> Any:
        if type(atom) is Axis:
            return self.axes[atom]
        if type(atom) is Quotient:
            return self.index(atom.index) // atom.divisor
        if type(atom) is Remainder:
            return self.index(atom.index) % atom.divisor
        return self.of(atom.value).astype(jnp.int64)

    def of(self, expr: Expr) -> Any:
        """Evaluate an expression."""
        found = self.made.get(id(expr))
        if found is None:
            found = self.made[id(expr)] = (self._evaluate(expr), expr)
        return found[0]

    def spread(self, expr: Expr, dims: tuple, dtype: DType) -> Any:
        """Broadcast a value to an array of these sizes."""
        return jnp.broadcast_to(self.of(expr), dims).astype(dtype.numpy_dtype)

    def _evaluate(self, expr: Expr) -> Any:
        if expr.op == "leaf":
            return self._read(expr)
        if expr.op == "const":
            return jnp.asarray(expr.data, compute_dtype(expr.dtype))
        if expr.op == "index":
            return self.index(expr.data).astype(compute_dtype(expr.dtype))
        parts = [self.of(part) for part in expr.args]
        if expr.op == "cast":
            return cast(parts[0], expr.args[0].dtype, expr.dtype)
        if expr.op == "bits":
            same = parts[0].astype(expr.args[0].dtype.numpy_dtype)
            converted = lax.bitcast_convert_type(same, expr.dtype.numpy_dtype)
            return converted.astype(compute_dtype(expr.dtype))
        if expr.op == "sub" and _rounds(expr.args[1]):
            parts[0] = exact(parts[0])
        return SCALARS[expr.op](*parts)

    def _read(self, expr: Expr) -> Any:
        array, index = expr.data
        array = array.astype(compute_dtype(expr.dtype))
        if not index:
            return array
        if not array.size:  # nothing is read there, in the end
            return jnp.zeros((), array.dtype)
        return array.at[tuple(map(self.index, index))].get(mode="clip")


def _rounds(expr: Expr) -> bool:
    """Return whether a constant is subtracted to obtain a sum's rounding error."""
    return expr.op == "const" and expr.dtype.is_floating and abs(expr.data) >= LOST_DIGITS
