"""Products of matrices by BLAS, shared between threads, with what is computed from the result."""

from __future__ import annotations

import math
from typing import Any

from talweg.lower.index import ZERO, Axis, Index, flat, unflatten
from talweg.lower.loops import Call, Kernel, Pointer, const, load
from talweg.lower.nests import nested, wrapped
from talweg.lower.rewrite import merged_axes, substitute
from talweg.lower.views import MatrixView, is_product, matrix_view
from talweg.passes.straight import Equation, Value

SHARED_WORK = 1 << 17  # multiplications from which a product is shared between threads
CACHED_BYTES = 1 << 18  # of a result that is still in cache when it is finished
CACHED_ROWS = (128, 96, 64, 160, 80, 112, 48, 100, 72, 192, 50)


def matmul(builder: Any, equation: Equation, name: str) -> list | None:
    """Products by BLAS; rows of one product, or whole products, shared between threads."""
    if not is_product(equation):
        return None
    value = equation.output
    x, y = [_Operand(v, value) for v in equation.inputs]
    n, k = value.dims[-1], equation.inputs[0].dims[-1]
    batch = [Axis(f"n{i}", size) for i, size in enumerate(value.dims[:-2])]
    rows = value.dims[-2]
    if x.goes_on(rows) and y.is_single:  # matrices below each other are one tall matrix
        rows *= math.prod(value.dims[:-2])
        batch = []
    finishing = len(builder.current.members) > 1
    alone = math.prod([axis.extent for axis in batch]) == 1 and rows * n * k >= SHARED_WORK
    wide = n * value.dtype.size if finishing else 0
    parts = _parts(rows, wide, builder.threads) if alone else 1
    part, height = Axis("p", parts), rows // parts
    row = Index.of(part) * height
    number = flat(tuple(map(Index.of, batch)), tuple([axis.extent for axis in batch]))
    target = number * (rows * n) + row * n
    z, left, right = [builder.memory_of(value), *[builder.buffer_of(v.view.base) for v in (x, y)]]
    by_row = 1 if x.view.turned else x.view.stride
    turned = [Index(int(operand.view.turned)) for operand in (x, y)]
    arguments = [*turned, Index(height), Index(n), Index(k),
                 const(1.0, value.dtype), Pointer(left, x.start(batch) + row * by_row),
                 Index(x.view.stride), Pointer(right, y.start(batch)), Index(y.view.stride),
                 const(0.0, value.dtype), Pointer(z, target), Index(n)]  # fmt: skip
    body: list = [Call("gemm", arguments, (left, right), (z,))]
    i, j = Axis("i", height), Axis("j", n)
    place = target + Index.of(i) * n + j
    stores = builder.results(value, unflatten(place, value.dims), load(z, place))
    if stores:
        axes, values = merged_axes([i, j], stores)
        body += nested(axes, substitute(stores, values) if values else stores, "vector")
    kernel = Kernel(name, wrapped([*batch, part], body, "parallel"),
                    [v.maker.prim.name for v in builder.current.members])  # fmt: skip
    kernel.node = equation.node
    return [kernel]


class _Operand:
    """One operand of a product, and how its matrices go with those of the result."""

    def __init__(self, value: Value, result: Value):
        self.view: MatrixView = matrix_view(value)
        self.lead = len(result.dims) - len(value.dims)
        self.dims = value.dims[:-2]

    @property
    def is_single(self) -> bool:
        """Whether there is one matrix only."""
        return math.prod(self.dims) == 1

    def goes_on(self, rows: int) -> bool:
        """Whether each matrix begins where the rows of the one before end."""
        view, expected = self.view, rows * self.view.stride
        if view.turned or self.lead:
            return False
        for axis in reversed(view.axes):
            if axis.extent != 1 and view.start.coefficient(axis) != expected:
                return False
            expected *= axis.extent
        return True

    def start(self, batch: list[Axis]) -> Index:
        """Where the matrix begins, by the axes of the result's matrices."""
        values = {axis: batch[self.lead + i] if batch else ZERO
                  for i, axis in enumerate(self.view.axes) if axis.extent != 1}  # fmt: skip
        return self.view.start.replace(values)


def _parts(rows: int, row_bytes: int, threads: int) -> int:
    """Into how many equal parts the rows of a product go.

    Few, since BLAS packs the other matrix for each: one for each thread.  But if something is
    computed from a result that does not stay in cache (`row_bytes` a row), parts of it that do.
    """
    if rows * row_bytes > CACHED_BYTES:
        for part in CACHED_ROWS:
            if rows % part == 0 and rows > part:
                return rows // part
    for parts in (threads, 2 * threads, 3 * threads, 4 * threads):
        if threads > 1 and rows % parts == 0 and rows // parts >= 16:
            return parts
    return 1
