"""Selection of the algorithm of matrix products: loops, matrix registers or BLAS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.lower.fusion.loop_nests import nest_in_loops, wrap_in_loops
from talweg.lower.fusion.views import LARGEST, is_product, short_operands
from talweg.lower.ir.index import Axis, Index, unflatten
from talweg.lower.ir.loops import Call, For, Kernel, Pointer, const, load
from talweg.lower.ir.rewrite import merge_axes, substitute
from talweg.lower.matmul.column_blocks import by_column_blocks
from talweg.lower.matmul.matrix_tiles import MatrixTileProduct
from talweg.lower.matmul.operands import Product
from talweg.lower.matmul.register_tiles import TiledProduct
from talweg.passes.specialize.program import Equation

if TYPE_CHECKING:
    from talweg.lower.build import LoweringBuilder

SHARED_WORK = 1 << 17  # multiplications from which a product is shared between threads
AT_ONCE = 1 << 32  # multiplications of one call of BLAS: signals wait for its end
FEWEST = 96  # rows of such a call
BIG_WORK = 1 << 30  # multiplications beyond which BLAS's blocks for all caches are better
CACHED_BYTES = 1 << 18  # of a result that is still in cache when it is finished
CACHED_ROWS = (128, 96, 64, 160, 80, 112, 48, 100, 72, 192, 50)


def matmul(builder: LoweringBuilder, equation: Equation, name: str) -> list | None:
    """Lower products by the faster algorithm; None if there is nothing to multiply."""
    if not is_product(equation):
        return None
    product = Product(builder, equation)
    if short_operands(equation) is not None:
        return MatrixTileProduct(builder, product).blocks_of(name)
    blocked = by_column_blocks(builder, product)
    if blocked is not None:
        return blocked.blocks_of(name)
    if is_direct(product) or product.y.view.casts:  # BLAS converts nothing
        return TiledProduct(builder, product).blocks_of(name)
    return [by_library(builder, product, name)]


def by_library(builder: LoweringBuilder, product: Product, name: str) -> Kernel:
    """Build the kernel that calls BLAS."""
    value, x, y = product.value, product.x, product.y
    rows, n, k, batch = product.rows, product.n, product.k, product.batch
    finishing = len(builder.current.members) > 1
    alone = product.count == 1 and rows * n * k >= SHARED_WORK
    wide = n * value.dtype.size if finishing else 0
    parts = _parts(rows, wide, builder.threads) if alone else 1
    part, height = Axis("p", parts), rows // parts
    row = Index.of(part) * height
    target = product.number() * (rows * n) + row * n
    z, left, right = builder.memory_of(value), x.buffer, y.buffer
    by_row, _ = x.strides
    turned = [Index(int(operand.view.turned)) for operand in (x, y)]

    def call(first: Index, count: int) -> Call:
        """Emit the call for some of the rows of a part."""
        arguments = [
            *turned,
            Index(count),
            Index(n),
            Index(k),
            const(1.0, value.dtype),
            Pointer(left, x.start(batch) + (row + first) * by_row),
            Index(x.view.stride),
            Pointer(right, y.start(batch)),
            Index(y.view.stride),
            const(0.0, value.dtype),
            Pointer(z, target + first * n),
            Index(n),
        ]
        return Call("gemm", arguments, (left, right), (z,))

    piece = _piece(height, n * k * value.dtype.size // 4)
    body: list = [call(Index(0), piece)]
    if piece < height:
        q = Axis("q", height // piece)
        body = [For(q, [call(Index.of(q) * piece, piece)])]
        if height % piece:
            body.append(call(Index(height - height % piece), height % piece))
    i, j = Axis("i", height), Axis("j", n)
    offset = target + Index.of(i) * n + j
    stores = builder.results(value, unflatten(offset, value.dims), load(z, offset))
    if stores:
        axes, values = merge_axes([i, j], stores)
        body += nest_in_loops(axes, substitute(stores, values) if values else stores, "vector")
    kernel = Kernel(
        name,
        wrap_in_loops([*batch, part], body, "parallel"),
        [v.maker.prim.name for v in builder.current.members],
    )
    kernel.node = product.node
    return kernel


def is_direct(product: Product) -> bool:
    """Return whether loops are faster than BLAS.

    Measured in GFLOP/s of float32 (best 103), one thread of an AMD processor with AVX2, y copied
    each time; `*` is an operand that is transposed:

        rows x k x n       BLAS loops       rows x k x n         BLAS loops
        16 x 16 x 16          7    12       128 x 784 x 256        77    94
        64 x 64 x 64         56    83       128 x 3200* x 512      74    82
        2 x 1024 x 1024       4    16       1024 x 256 x 1024      89    92
        8 x 1024 x 1024      21    51       1024 x 1024* x 256     88    94
        32 x 128 x 512       50    76       1024 x 1024 x 1024     87    92
        128 x 256 x 10       33    44       2048 x 2048 x 2048     73    63
        128 x 64* x 128      71    90       8 x 2048 x 2048*       17    11

    So BLAS has vectors, which it does not copy, and what is far bigger than the second cache and
    not for blocks of columns (`column_blocks.py`).
    """
    small = product.k * product.n * product.value.dtype.size <= LARGEST
    return small and product.rows > 1 and product.n >= 8


def _piece(rows: int, work: int) -> int:
    """Return the rows of each call, for rows of this much work: all, if that is short.

    BLAS copies all of y for each call: for fewer rows than `FEWEST` that would take as long.
    """
    pieces = -(-rows * work // AT_ONCE)
    return rows if pieces <= 1 else min(rows, max(FEWEST, -(-rows // pieces)))


def _parts(rows: int, row_bytes: int, threads: int) -> int:
    """Return the number of equal parts of a product's rows.

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
