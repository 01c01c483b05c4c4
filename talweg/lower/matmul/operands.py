"""Operands of a matrix product as its lowerings see them: strides of rows and columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from talweg.lower.fusion.views import MatrixView, product_views
from talweg.lower.handler import s
from talweg.lower.ir.index import ZERO, Axis, Index, flat
from talweg.lower.ir.loops import Expr, load
from talweg.passes.specialize.program import Equation, Value

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder


class MatrixOperand:
    """One operand of a product, with the batch axes that index its matrices."""

    def __init__(
        self, builder: LoweringBuilder, view: MatrixView, dims: tuple[int, ...], result: Value
    ):
        self.view = view
        self.buffer = builder.buffer_of(self.view.base)
        self.lead = len(result.dims) - len(dims)
        self.dims = dims[:-2]

    @property
    def is_single(self) -> bool:
        """Whether the operand is one matrix."""
        return math.prod(self.dims) == 1

    @property
    def strides(self) -> tuple[int, int]:
        """The strides from a row to the next, and from a column to the next."""
        return (1, self.view.stride) if self.view.turned else (self.view.stride, 1)

    def goes_on(self, rows: int) -> bool:
        """Return whether each matrix begins where the rows of the one before end."""
        view, expected = self.view, rows * self.view.stride
        if view.turned or self.lead:
            return False
        for axis in reversed(view.axes):
            if axis.extent != 1 and view.start.coefficient(axis) != expected:
                return False
            expected *= axis.extent
        return True

    def start(self, batch: list[Axis]) -> Index:
        """Return the offset at which a matrix begins, by the batch axes of the result."""
        values = {
            axis: batch[self.lead + i] if batch else ZERO
            for i, axis in enumerate(self.view.axes)
            if axis.extent != 1
        }
        return self.view.start.replace(values)

    def element(self, offset: Index) -> Expr:
        """Return the number at an offset, as the product takes it."""
        found: Expr = load(self.buffer, offset)
        for dtype in self.view.casts:
            found = s.cast(found, dtype)
        return found

    def own(self, batch: list[Axis]) -> list[Axis]:
        """Return the batch axes of the result that number the operand's matrices."""
        return [batch[self.lead + i] for i, size in enumerate(self.dims) if size != 1 and batch]


class Product:
    """The product z [batch, rows, n] = x [.., rows, k] y [.., k, n]; `batch` are axes.

    Matrices of x that lie below each other, with one y, are one tall matrix.
    """

    def __init__(self, builder: LoweringBuilder, equation: Equation):
        self.value = value = equation.output
        self.node = equation.node
        self.x, self.y = [
            MatrixOperand(builder, view, x.dims, value)
            for view, x in zip(product_views(equation), equation.inputs)
        ]
        self.rows, self.n = value.dims[-2:]
        self.k = equation.inputs[0].dims[-1]
        self.batch = [Axis(f"n{i}", size) for i, size in enumerate(value.dims[:-2])]
        if self.x.goes_on(self.rows) and self.y.is_single:
            self.rows *= self.count
            self.batch = []

    @property
    def count(self) -> int:
        """The number of products."""
        return math.prod([axis.extent for axis in self.batch])

    def number(self) -> Index:
        """Return the number of the product, by the axes."""
        sizes = tuple([axis.extent for axis in self.batch])
        return flat(tuple(map(Index.of, self.batch)), sizes)
