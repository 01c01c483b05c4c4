"""Equations with a way of their own, by the name their declaration gives as `call`.

A way gets the builder and the equation, and gives the blocks that compute it, or None where it does
not apply: the NumPy kernel is called then.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from talweg.lower.index import Axis, Index, unflatten
from talweg.lower.loops import Call, For, Kernel, Pointer, const, load
from talweg.lower.nests import nested
from talweg.lower.rewrite import merged_axes, substitute
from talweg.lower.stored import untransposed
from talweg.passes.straight import Equation

SHARED_WORK = 1 << 17  # multiplications from which a product is shared between threads


def matmul(builder: Any, equation: Equation, name: str) -> list | None:
    """Products by BLAS; rows of one product, or whole products, shared between threads."""
    value = equation.output
    if value.dtype.name not in ("float32", "float64"):
        return None
    (x, turned_x), (y, turned_y) = [untransposed(v) for v in equation.inputs]
    a, b = equation.inputs
    m, k = a.dims[-2:]
    n = b.dims[-1]
    batch = value.dims[:-2]
    for operand in (a, b):
        if operand.dims[:-2] not in (batch, ()) and math.prod(operand.dims[:-2]) != 1:
            return None
    z, left, right = builder.memory_of(value), builder.buffer_of(x), builder.buffer_of(y)
    count = math.prod(batch)
    number = Axis("n", count)
    steps = [Index.of(number) * (p * q) if math.prod(v.dims[:-2]) > 1 else Index(0)
             for v, p, q in ((a, m, k), (b, k, n))]  # fmt: skip
    ldx, ldy = (m if turned_x else k), (k if turned_y else n)
    finishing = len(builder.current.members) > 1
    parts = 1 if count > 1 or m * n * k < SHARED_WORK else _parts(m, finishing)
    part, rows = Axis("p", parts), m // parts
    first = Index.of(part) * rows
    start = steps[0] + first * (1 if turned_x else ldx)
    target = Index.of(number) * (m * n) + first * n
    arguments = [Index(turned_x), Index(turned_y), Index(rows), Index(n), Index(k),
                 const(1.0, value.dtype), Pointer(left, start), Index(ldx),
                 Pointer(right, steps[1]), Index(ldy), const(0.0, value.dtype),
                 Pointer(z, target), Index(n)]  # fmt: skip
    body: list = [Call("gemm", arguments, (left, right), (z,))]
    i, j = Axis("i", rows), Axis("j", n)
    place = target + Index.of(i) * n + j
    stores = builder.results(value, unflatten(place, value.dims), load(z, place))
    if stores:
        axes, values = merged_axes([i, j], stores)
        body += nested(axes, substitute(stores, values) if values else stores, "vector")
    for axis in (part, number):
        if axis.extent != 1:
            body = [For(axis, body, "parallel")]
    names = [v.maker.prim.name for v in builder.current.members]
    kernel = Kernel(name, body, names)
    kernel.node = equation.node
    return [kernel]


def _parts(rows: int, finishing: bool) -> int:
    """Into how many equal parts the rows of a product go.

    Few, since BLAS packs the other matrix for each; but if something is computed from the result,
    so many that a part is still in cache then.
    """
    if finishing:
        for part in (128, 96, 64, 160, 80, 112, 48, 100, 72):
            if rows % part == 0 and rows > part:
                return rows // part
    for parts in (2, 4, 8, 3, 5, 6):
        if rows % parts == 0 and rows // parts >= 16:
            return parts
    return 1


BLOCKS: dict[str, Callable[..., list | None]] = {"matmul": matmul}
