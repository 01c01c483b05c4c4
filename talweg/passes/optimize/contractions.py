"""Contraction recognition: sums of products of broadcast arrays become products of matrices.

`reduce_sum(x[:, :, None] * y[None, :, :], 1)` is x @ y: each element is the same sum.  As a product
of matrices it is computed at the speed of those, which is ten times that of a sum in loops.  An
axis of the sum belongs to one of four classes:

batch    in both operands, kept
rows     in x alone, kept
columns  in y alone, kept
inner    in both, summed over

With no other axes, and enough rows, columns and inner ones, the operands become stacks of matrices
(batch, rows, inner) and (batch, inner, columns); what is a view of them stays one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from talweg.core.dtypes import float32, float64
from talweg.passes.specialize.program import Equation, StaticProgram, Value
from talweg.prims import arithmetic, contract, layout, reduce

LEAST = 8  # rows, columns and inner elements from which it pays
BATCH, ROWS, COLUMNS, INNER = range(4)


def find_products(static: StaticProgram) -> None:
    """Rewrite the sums of a program to products of matrices, in place."""
    uses = static.uses()

    def product(equation: Equation) -> Value | None:
        found = _sum_of_products(equation, uses)
        return None if found is None else found.emit(static, equation)

    static.rewrite(product)


class _Product:
    """A recognized product: x and y without broadcasting, and the class of each axis."""

    def __init__(self, x: Value, y: Value, dims: tuple, classes: list):
        self.operands, self.dims, self.classes = (x, y), dims, classes

    def sizes(self, kind: int) -> list[int]:
        """Return the lengths of the axes of a class."""
        return [size for size, own in zip(self.dims, self.classes) if own == kind]

    def pays(self) -> bool:
        """Return whether the matrices are large enough in every direction."""
        return all(math.prod(self.sizes(kind)) >= LEAST for kind in (ROWS, COLUMNS, INNER))

    def emit(self, static: StaticProgram, equation: Equation) -> Value:
        """Return the product, in the shape of the sum."""
        node = equation.node
        x = self._matrices(static, self.operands[0], (BATCH, ROWS, INNER), node)
        y = self._matrices(static, self.operands[1], (BATCH, INNER, COLUMNS), node)
        z = static.apply(contract.matmul, [x, y], {}, node)
        axes = [
            axis
            for kind in (BATCH, ROWS, COLUMNS)
            for axis, own in enumerate(self.classes)
            if own == kind
        ]
        z = _reshape(static, z, [self.dims[axis] for axis in axes], node)
        z = _transpose(static, z, _ranks(axes), node)
        return _reshape(static, z, equation.output.dims, node)

    def _matrices(self, static: StaticProgram, x: Value, order: tuple, node: object) -> Value:
        """Return an operand with one axis for each class, in this order."""
        own_axes = [axis for axis, kind in enumerate(self.classes) if kind in order]
        runs: list[list[int]] = []  # neighbours of one class are one axis
        for axis in own_axes:
            if runs and self.classes[runs[-1][-1]] == self.classes[axis]:
                runs[-1].append(axis)
            else:
                runs.append([axis])
        sizes = [math.prod([self.dims[axis] for axis in run]) for run in runs]
        x = _reshape(static, x, sizes, node)
        places = sorted(range(len(runs)), key=lambda i: (order.index(self.classes[runs[i][0]]), i))
        x = _transpose(static, x, places, node)
        batch = [math.prod(self.sizes(BATCH))] if self.sizes(BATCH) else []
        matrix = [math.prod(self.sizes(kind)) for kind in order[1:]]
        return _reshape(static, x, [*batch, *matrix], node)


def _sum_of_products(equation: Equation, uses: dict[Value, int]) -> _Product | None:
    if equation.prim is not reduce.reduce_sum or equation.params.get("keepdims"):
        return None
    total = equation.inputs[0]
    maker = total.maker
    if maker is None or maker.prim is not arithmetic.mul or uses.get(total, 0) != 1:
        return None
    if total.dtype not in (float32, float64):
        return None
    dims, axes = total.dims, equation.params["axes"]
    summed = range(len(dims)) if axes is None else axes
    x, y = [_narrow(operand) for operand in maker.inputs]
    classes: list[int | None] = []
    for axis, (size, in_x, in_y) in enumerate(zip(dims, _long(x, dims), _long(y, dims))):
        if size == 1:
            classes.append(None)
        elif in_x and in_y:
            classes.append(INNER if axis in summed else BATCH)
        elif axis in summed or not (in_x or in_y):
            return None
        else:
            classes.append(ROWS if in_x else COLUMNS)
    if next((kind for kind in classes if kind in (ROWS, COLUMNS)), ROWS) == COLUMNS:
        x, y = y, x  # so that the result is the right way round
        other = {ROWS: COLUMNS, COLUMNS: ROWS}
        classes = [other.get(kind, kind) for kind in classes]  # type: ignore[arg-type]
    product = _Product(x, y, dims, classes)
    return product if product.pays() else None


def _narrow(value: Value) -> Value:
    """Return the operand that a value is broadcast from."""
    while value.maker is not None and value.maker.prim is layout.broadcast_to:
        value = value.maker.inputs[0]
    return value


def _long(value: Value, dims: tuple) -> list[bool]:
    """Return for each axis whether a value varies along it."""
    missing = len(dims) - len(value.dims)
    return [False] * missing + [size != 1 for size in value.dims]


def _ranks(axes: list[int]) -> list[int]:
    """Return the permutation that sorts axes, which lie in this order."""
    return sorted(range(len(axes)), key=lambda place: axes[place])


def _reshape(static: StaticProgram, x: Value, dims: Iterable[int], node: object) -> Value:
    shape = tuple(dims)
    return x if x.dims == shape else static.apply(layout.reshape, [x], {"shape": shape}, node)


def _transpose(static: StaticProgram, x: Value, perm: list[int], node: object) -> Value:
    if perm == sorted(perm):
        return x
    return static.apply(layout.transpose, [x], {"perm": tuple(perm)}, node)
