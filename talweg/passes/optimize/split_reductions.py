"""Reduction splitting: long reductions to few results run in two steps, on all threads.

Sums over all of a big array, or along the rows of a tall one, become sums of parts and the sum of
the parts.  The parts are few and equal; where the size has no fitting divisor nothing is done.
This changes the order of additions, and makes it better: errors grow with the length of a part.
"""

from __future__ import annotations

import math

from talweg.passes.specialize.program import Equation, StaticProgram, Value
from talweg.prims import layout

SMALLEST = 1 << 15  # elements from which a reduction is split
PARTS = (16, 32, 8, 24, 12, 20, 10, 48, 4, 6, 2, 3, 5, 7)  # numbers of parts, the best first
NARROWEST = 16  # columns of rows that stay as they are
FEWEST = 16  # results from which there is enough to do for every thread


def split(static: StaticProgram) -> None:
    """Rewrite the long reductions of a program in place."""

    def in_parts(equation: Equation) -> Value | None:
        parts = _parts(equation)
        return _in_parts(static, equation, *parts) if parts else None

    static.rewrite(in_parts)


def _parts(equation: Equation) -> tuple | None:
    """Return (rows before, parts, rows of a part, columns) of a profitable split."""
    if "fold" not in equation.prim.lowering:
        return None
    x, axes = equation.inputs[0], equation.params["axes"]
    if x.size < SMALLEST:
        return None
    axes = range(len(x.dims)) if axes is None else axes
    kept_sizes = [size for k, size in enumerate(x.dims) if k not in axes]
    runs = [k in axes for k, size in enumerate(x.dims) if size != 1]
    if runs == sorted(runs, reverse=True) and len(runs):  # reduced axes first, kept ones last
        columns = math.prod(kept_sizes)
        rows = x.size // columns
        if columns >= 8 * FEWEST and rows < 8 * columns:
            return None
        for parts in PARTS:
            if rows % parts == 0 and rows // parts >= 64 // max(1, min(columns, 64)) + 4:
                return parts, rows // parts, columns
    return None


def _in_parts(
    static: StaticProgram, equation: Equation, parts: int, rows: int, columns: int
) -> Value:
    x, prim = equation.inputs[0], equation.prim
    shape: tuple = (parts, rows, columns)
    axes: tuple = (1,)
    if columns == 1:
        row = x.dims[-1]  # rows that data names stay rows
        split_rows = row >= NARROWEST and rows % row == 0 and rows != row
        shape, axes = ((parts, rows // row, row), (1, 2)) if split_rows else ((parts, rows), (1,))
    reshape = layout.reshape
    in_parts = static.apply(reshape, [x], {"shape": shape}, equation.node)
    some = static.apply(prim, [in_parts], {"axes": axes, "keepdims": False}, equation.node)
    total = static.apply(prim, [some], {"axes": (0,), "keepdims": False}, equation.node)
    dims = equation.output.dims
    if total.dims == dims:
        return total
    return static.apply(reshape, [total], {"shape": dims}, equation.node)
