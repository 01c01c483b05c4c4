"""Lowering of factorizations of small matrices: a matrix a lane, with all steps written out.

NumPy and LAPACK take a call for each matrix, which costs more than the arithmetic of 4x4 numbers.
Here the loop is over matrices, and goes through as many at a time as a vector has lanes, without
branches: rows are exchanged by choosing one of two numbers.  All is computed in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from talweg.core.dtypes import float64
from talweg.lower.fusion.inline import InlineOperand, Inliner
from talweg.lower.fusion.loop_nests import plain_loops
from talweg.lower.handler import s
from talweg.lower.ir.index import Axis, Index, flat, unflatten
from talweg.lower.ir.loops import Expr, Kernel, Store, const
from talweg.passes.specialize.program import Equation
from talweg.prims.linalg.systems import is_written_out

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder

Matrix = list[list[Expr]]


def invert(builder: LoweringBuilder, equation: Equation, name: str) -> list | None:
    """Lower the inverses of small matrices."""
    return _lower(builder, equation, name, _inverse)


def factor(builder: LoweringBuilder, equation: Equation, name: str) -> list | None:
    """Lower the Cholesky factors of small matrices."""
    return _lower(builder, equation, name, _cholesky)


def find_determinants(builder: LoweringBuilder, equation: Equation, name: str) -> list | None:
    """Lower the determinants of small matrices."""
    return _lower(builder, equation, name, lambda a: [[_determinant(a)]])


def _lower(
    builder: LoweringBuilder, equation: Equation, name: str, steps: Callable[[Matrix], Matrix]
) -> list | None:
    (x,), value = equation.inputs, equation.output
    if not is_written_out(x):
        return None
    lead, sizes = x.dims[:-2], range(x.dims[-1])
    matrix = Axis("m", math.prod(lead))
    index = unflatten(Index.of(matrix), lead)
    element = InlineOperand(Inliner(builder.load_stored), x)
    wide = [[s.cast(element(*index, i, j), float64) for j in sizes] for i in sizes]
    result, buffer = steps(wide), builder.buffer_of(value)
    offsets = [index] if value.dims == lead else [(*index, i, j) for i in sizes for j in sizes]
    stores = [
        Store(buffer, flat(offset, value.dims), s.cast(number, value.dtype))
        for offset, number in zip(offsets, chain(*result))
    ]
    kernel = Kernel(name, plain_loops([matrix], stores), [equation.prim.name])
    kernel.node = equation.node
    return [kernel, *builder.emit_epilogue()]


def _inverse(a: Matrix) -> Matrix:
    """Return a⁻¹ by Gauss and Jordan's steps with partial pivoting.

    Not all of it is finite where a is singular.
    """
    sizes, exchanges = range(len(a)), []
    for j in sizes:
        for i in sizes[j + 1 :]:
            larger = s.greater(s.abs(a[i][j]), s.abs(a[j][j]))
            a[i], a[j] = _exchanged(a[i], a[j], larger)
            exchanges.append((i, j, larger))
        scale = 1.0 / a[j][j]
        row = [scale if k == j else a[j][k] * scale for k in sizes]
        for i in sizes:
            factor, own = a[i][j], a[i]
            rest = [(0.0 if k == j else own[k]) - factor * row[k] for k in sizes]
            a[i] = row if i == j else rest
    columns = [[row[k] for row in a] for k in sizes]
    for i, j, larger in reversed(exchanges):
        columns[i], columns[j] = _exchanged(columns[i], columns[j], larger)
    return [[column[k] for column in columns] for k in sizes]


def _determinant(a: Matrix) -> Expr:
    """Return the product of the pivots of a, and of the signs of exchanges of rows."""
    sizes, product = range(len(a)), const(1.0, float64)
    for j in sizes:
        for i in sizes[j + 1 :]:
            larger = s.greater(s.abs(a[i][j]), s.abs(a[j][j]))
            a[i], a[j] = _exchanged(a[i], a[j], larger)
            product = s.select(larger, -product, product)
        pivot = a[j][j]
        product = product * pivot
        divisor = s.select(s.equal(pivot, 0.0), 1.0, pivot)  # below such a pivot all is 0
        for i in sizes[j + 1 :]:
            factor = a[i][j] / divisor
            a[i] = [p - factor * q if k > j else p for k, (p, q) in enumerate(zip(a[i], a[j]))]
    return product


def _exchanged(x: list, y: list, condition: Expr) -> tuple[list, list]:
    """Return (y, x) where the condition holds, (x, y) elsewhere."""
    pairs = [(s.select(condition, q, p), s.select(condition, p, q)) for p, q in zip(x, y)]
    return [p for p, _ in pairs], [q for _, q in pairs]


def _cholesky(a: Matrix) -> Matrix:
    """Return the lower factor of a, of whose lower triangle it is made, column by column.

    The lower triangle is NaN where a pivot is not positive.
    """
    sizes, positive = range(len(a)), []
    for j in sizes:
        positive.append(s.greater(a[j][j], 0.0))
        root = s.sqrt(a[j][j])
        a[j][j] = root
        for i in sizes[j + 1 :]:
            a[i][j] = a[i][j] / root
        for k in sizes[j + 1 :]:
            for i in sizes[k:]:
                a[i][k] = a[i][k] - a[i][j] * a[k][j]
    fits, zero = reduce(s.logical_and, positive), const(0.0, float64)
    return [[zero if j > i else s.select(fits, a[i][j], np.nan) for j in sizes] for i in sizes]
