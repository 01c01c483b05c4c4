"""Epilogue fusion: expressions computed from the numbers of a tile once they are final.

A short expression is computed from the registers of the tile, written out.  A long one (the
derivative of GELU, say) would find no registers left, and its chain of instructions would stand in
the code for every vector of the tile: such a tile is put aside in the first cache, and its rows are
read back in a loop like any other, two vectors at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.lower.ir.index import Axis, Index
from talweg.lower.ir.loops import Expr, For, Store, Tile, load, walk
from talweg.lower.ir.scalars import SCALARS

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder

LONG = 15.0  # operations of an expression from which a tile is put aside


def tile_results(
    builder: LoweringBuilder, tile: Tile, used: int, results: Callable[[Axis, Axis, Expr], list]
) -> list:
    """Emit the statements that consume a tile, of which `used` columns are real.

    `results(m, n, number)`: the stores for row m, column n.
    """
    m, n = Axis("m", tile.dims[0]), Axis("n", used)
    stores = results(m, n, tile.at(m, n))
    if effort(stores) < LONG:
        return [For(m, [For(n, stores, "vector")], "unroll")]
    aside = builder.new("tile", tile.dtype, tile.dims, "scratch")
    width = tile.dims[1]
    row, column = Axis("m", tile.dims[0]), Axis("n", width)
    put = Store(aside, Index.of(row) * width + column, tile.at(row, column))
    number = load(aside, Index.of(m) * width + n)
    return [
        For(row, [For(column, [put], "vector")], "unroll"),
        For(m, [For(n, results(m, n, number), "vector")], "serial"),
    ]


def all_shared(statements: list) -> list:
    """Return a kernel's statements, each in a shared loop if one of them is in one.

    A tile is put aside by the thread that computes it, so never beside such loops.
    """
    if not any([_is_shared(statement) for statement in statements]):
        return statements
    shared: list[Any] = []
    for statement in statements:
        if _is_shared(statement):
            shared.append(statement)
        elif shared and shared[-1].axis.extent == 1:
            shared[-1].body.append(statement)
        else:
            shared.append(For(Axis("p", 1), [statement], "parallel"))
    return shared


def _is_shared(statement: Any) -> bool:
    return type(statement) is For and statement.kind == "parallel"


def effort(stores: list) -> float:
    """Count the operations of the stored expressions, each part once."""
    roots = [store.value for store in stores]
    return sum([SCALARS[part.op].cost if part.op in SCALARS else 0.0 for part in walk(roots)], 0.0)
