"""Random kernels for `tests/lower/programs.py`: each function makes one of a kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.core.dtypes import BY_NAME, DType, float32, float64, int32
from talweg.lower.ir.index import Element, Index
from talweg.lower.ir.loops import (
    Call,
    Expr,
    For,
    Pointer,
    Store,
    Tile,
    Update,
    When,
    const,
    load,
    number,
)
from tests.lower.expressions import Expressions, Number, Source, bounded, make
from tests.lower.maker import Maker

START = {"add": 0, "mul": 1, "maximum": -(2**7), "minimum": 2**7 - 1, "and": True, "or": False}


def elementwise(maker: Maker) -> None:
    """Each place by itself: one or two axes, one to three results."""
    n, m = maker.few(), maker.extent()
    i, j = maker.axis("i", n), maker.axis("j", m)
    here = maker.at([i, j])
    body: list[Any] = []
    made = []
    for _ in range(maker.choices.number(1, 3)):
        value = maker.value(here, maker.dtype())
        flipped = maker.choices.chance(20)
        target = maker.new(value.expr.dtype, (m, n) if flipped else (n, m))
        place = Index.of(j) * n + i if flipped else Index.of(i) * m + j
        body.append(Store(target, place, value.expr))
        made.append((target, value.exact))
    loops = [For(j, body, maker.kind("vector", "vector", "unroll", "serial"))]
    maker.add([For(i, loops, maker.kind("parallel", "serial", "unroll"))], "elementwise")
    for target, exact in made:
        maker.made(target, exact)


def rows(maker: Maker) -> None:
    """Reductions of each row, then a pass over the row that uses them."""
    n, m = maker.few(), maker.extent()
    i, j = maker.axis("i", n), maker.axis("j", m)
    at_row, here = maker.at([i]), maker.at([i, j])
    before: list[Any] = []
    inside: list[Any] = []
    after: list[Any] = []
    results = []
    for _ in range(maker.choices.number(1, 2)):
        tile, value, total = reduction(maker, here, m)
        before.append(tile)
        inside.append(Update(tile, (), value.expr, reduction_op(tile)))
        if maker.choices.chance(70):
            target = maker.new(tile.dtype, (n,))
            after.append(Store(target, i, total.expr))
            results.append((target, total.exact))
        at_row.pool.append(total)
    kind = maker.kind("vector", "vector", "serial", "unroll")
    body = [*before, For(j, inside, kind), *after]
    again = maker.at([i, j], at_row)
    value = maker.value(again, float32)
    target = maker.new(float32, (n, m))
    second = maker.kind("vector", "serial")
    body.append(For(j, [Store(target, Index.of(i) * m + j, value.expr)], second))
    maker.add([For(i, body, maker.kind("parallel", "serial"))], "rows")
    for buffer, exact in [*results, (target, value.exact)]:
        maker.made(buffer, exact)


def reduction_op(tile: Tile) -> str:
    """The operation that a tile's name tells."""
    return tile.name.rstrip("_")


def reduction(maker: Maker, here: Expressions, count: int) -> tuple[Tile, Number, Number]:
    """(tile, what it combines, what may be read from it when all is combined)."""
    dtype = BY_NAME[maker.choices.pick(("float32", "float32", "float64", "int32", "uint8", "bool"))]
    if dtype.is_bool:
        op = maker.choices.pick(("and", "or"))
    elif dtype.is_floating:
        op = maker.choices.pick(("add", "mul", "maximum", "minimum"))
    else:
        op = maker.choices.pick(("add", "mul", "maximum", "minimum", "and", "or"))
    start: Any = START[op]
    if dtype.is_unsigned:
        start = max(0, int(start))
    if op == "mul" and dtype.is_floating:
        x = here.any(dtype, 1)
        near = make("sigmoid", x.expr)
        near = make("add", near, const(0.5, dtype))
        value, most = Number(near, 1.5, False), 1.5 ** min(count, 40)
    else:
        value = here.any(dtype, 2)
        most = {"add": value.most * count}.get(op, max(value.most, 2.0**7))
    tile = Tile(op, dtype, (), const(start, dtype))
    if dtype.is_floating and maker.choices.chance(30):
        tile.start = here_start(maker, dtype, start)
        most += 4
    exact = not dtype.is_floating or (op in ("maximum", "minimum") and value.exact)
    total = Number(tile.at(), most, exact)
    if not dtype.is_floating:
        return tile, value, total
    limited = bounded(total) if not exact else total
    return tile, value, limited


def here_start(maker: Maker, dtype: DType, start: float) -> Expr:
    """A start that is computed."""
    x = maker.at([]).leaf(dtype, True).expr
    return make("add", make("mul", x, const(0.0, dtype)), const(float(start), dtype))


def columns(maker: Maker) -> None:
    """Sums along the rows, a block of columns at a time, in a tile of one or two dims."""
    blocks, width, n = maker.choices.number(1, 3), maker.extent(), maker.few()
    unrolled = maker.choices.number(1, 3)
    o, u, v = maker.axis("o", blocks), maker.axis("u", unrolled), maker.axis("v", width)
    r = maker.axis("r", n)
    m = blocks * unrolled * width
    column = Index.of(o) * (unrolled * width) + Index.of(u) * width + v
    x = maker.give(float32, (n, m), "input", numbers(maker, (n, m)))
    op = maker.choices.pick(("add", "maximum", "minimum"))
    two = maker.choices.chance(60)
    tile = Tile("sums", float32, (unrolled, width) if two else (width,), const(START[op], float32))
    value = make("mul", load(x, Index.of(r) * m + column), const(0.5, float32))
    target = maker.new(float32, (m,))
    if two:
        add = Update(tile, (u, v), value, op)
        inner = [For(u, [For(v, [add], "vector")], "unroll")]
        out = Store(target, column, make("mul", tile.at(u, v), const(1 / 64, float32)))
        last: list[Any] = [For(u, [For(v, [out], "vector")], "unroll")]
        body = [tile, For(r, inner), *last]
    else:
        add = Update(tile, (v,), value, op)
        out = Store(target, column, make("mul", tile.at(v), const(1 / 64, float32)))
        part = [tile, For(r, [For(v, [add], "vector")]), For(v, [out], "vector")]
        body = [For(u, part, maker.kind("serial", "unroll"))]
    maker.add([For(o, body, maker.kind("parallel", "serial"))], "columns")
    maker.made(target, False)


def numbers(maker: Maker, shape: tuple) -> Any:
    """Small multiples of 1/8."""
    rng = np.random.default_rng(maker.choices.number(0, 99))
    return (rng.integers(-32, 33, shape) / 8).astype(np.float32)


def product(maker: Maker) -> None:
    """A product of matrices, a block of the result at a time in registers."""
    rows_, lanes = maker.choices.number(1, 4), maker.choices.pick((1, 4, 8, 16))
    a, b, k = maker.choices.number(1, 3), maker.choices.number(1, 2), maker.few()
    n, m = rows_ * a, lanes * b
    dtype = maker.choices.pick((float32, float64))
    x = maker.give(dtype, (n, k), "input", numbers(maker, (n, k)).astype(dtype.numpy_dtype))
    y = maker.give(dtype, (k, m), "input", numbers(maker, (k, m)).astype(dtype.numpy_dtype))
    i, j, r = maker.axis("i", a), maker.axis("j", b), maker.axis("r", k)
    u, v = maker.axis("u", rows_), maker.axis("v", lanes)
    tile = Tile("c", dtype, (rows_, lanes), 0.0)
    row, column = Index.of(i) * rows_ + u, Index.of(j) * lanes + v
    one = make("mul", load(x, row * k + r), load(y, Index.of(r) * m + column))
    if maker.choices.chance(50):
        fused = make("fma", load(x, row * k + r), load(y, Index.of(r) * m + column), tile.at(u, v))
        update = Update(tile, (u, v), fused)
    else:
        update = Update(tile, (u, v), one, "add")
    target = maker.new(dtype, (n, m))
    scaled = make("mul", tile.at(u, v), const(1 / 256, dtype))
    out = Store(target, row * m + column, scaled)
    body = [
        tile,
        For(r, [For(u, [For(v, [update], "vector")], "unroll")]),
        For(u, [For(v, [out], "vector")], "unroll"),
    ]
    inner = For(j, body, maker.kind("parallel", "serial"))
    outer = "parallel" if inner.kind == "parallel" else maker.kind("parallel", "serial")
    maker.add([For(i, [inner], outer)], "matmul")
    maker.made(target, False)


def scatter(maker: Maker) -> None:
    """Rows added to rows that data chooses."""
    n, m, k = maker.choices.number(1, 6), maker.extent(), maker.few()
    target = maker.new(float32, (n, m))
    i, j, r, c = maker.axis("i", n), maker.axis("j", m), maker.axis("r", k), maker.axis("c", m)
    zero = Store(target, Index.of(i) * m + j, const(0.0, float32))
    maker.add([For(i, [For(j, [zero], "vector")], "parallel")], "fill")
    here = maker.at([r])
    row = Index(0, ((Element(here.row(n)), m),))
    value = maker.at([r, c]).any(float32, 1)
    scaled = make("mul", value.expr, const(1 / 64, float32))
    op = maker.choices.pick(("add", "maximum"))
    inner = For(c, [Store(target, row + c, scaled, op)], maker.kind("vector", "serial"))
    maker.add([For(r, [inner])], "scatter")
    maker.made(target, False)


def histogram(maker: Maker) -> None:
    """Numbers counted: one place written by many."""
    n, k = maker.choices.number(1, 6), maker.extent()
    target = maker.new(int32, (n,))
    i, r = maker.axis("i", n), maker.axis("r", k)
    maker.add([For(i, [Store(target, i, number(Index.of(i), int32))], "vector")], "start")
    index = Index(0, ((Element(maker.at([r]).row(n)), 1),))
    store = Store(target, index, const(1, int32), "add")
    kinds = ("serial", "vector") if r in index.axes() else ("serial",)
    maker.add([For(r, [store], maker.kind(*kinds))], "histogram")
    maker.made(target, True)


def staged(maker: Maker) -> None:
    """A row in scratch, read again in another order."""
    n, m = maker.few(), maker.extent()
    i, j, k = maker.axis("i", n), maker.axis("j", m), maker.axis("k", m)
    row = maker.new(float32, (m,), "scratch")
    value = maker.at([i, j]).any(float32, 2)
    target = maker.new(float32, (n, m))
    back = make("add", load(row, Index(m - 1) - k), load(row, (Index.of(k) * 3) % m))
    halved = make("mul", back, const(0.5, float32))
    body = [
        For(j, [Store(row, j, value.expr)], maker.kind("vector", "serial")),
        For(k, [Store(target, Index.of(i) * m + k, halved)], "vector"),
    ]
    maker.add([For(i, body, maker.kind("parallel", "serial"))], "staged")
    maker.made(target, False)


def conditional(maker: Maker) -> None:
    """Statements where a condition holds, others elsewhere."""
    n, m = maker.few(), maker.extent()
    i, j = maker.axis("i", n), maker.axis("j", m)
    target, total = maker.new(float32, (n, m)), maker.new(float32, (n,))
    at_row = maker.at([i])
    condition = at_row.logical(2).expr
    tile = Tile("total", float32, (), const(1.0, float32))
    value, other = maker.at([i, j]).any(float32, 2), maker.at([i, j]).any(float32, 1)
    place = Index.of(i) * m + j
    kind = maker.kind("vector", "serial")
    body = [For(j, [Store(target, place, value.expr)], kind)]
    body.append(Update(tile, (), load(target, Index.of(i) * m)))
    otherwise = [For(j, [Store(target, place, other.expr)], kind)]
    if maker.choices.chance(50):
        otherwise = [Update(tile, (), const(2.0, float32), "mul"), *otherwise]
    statements = [tile, When(condition, body, otherwise), Store(total, i, tile.at())]
    maker.add([For(i, statements, maker.kind("parallel", "serial", "unroll"))], "conditional")
    maker.made(target, False)
    maker.made(total, False)


def in_place(maker: Maker) -> None:
    """Two states changed, each by the old values of both: shared parts keep their value."""
    n = maker.extent()
    i = maker.axis("i", n)
    x = maker.give(float32, (n,), "state", numbers(maker, (n,)))
    y = maker.give(float32, (n,), "state", numbers(maker, (n,)))
    a, b = load(x, i), load(y, i)
    new_x = make("add", make("mul", a, const(0.5, float32)), make("mul", b, const(0.25, float32)))
    new_y = make("sub", make("mul", b, const(0.5, float32)), make("mul", new_x, a))
    half = make("mul", new_y, const(1 / 16, float32))
    body = [Store(x, i, new_x), Store(y, i, half)]
    if maker.choices.chance(50):
        body.append(Store(x, i, make("add", load(x, i), make("mul", a, const(0.25, float32)))))
    maker.add([For(i, body, maker.kind("vector", "parallel", "serial", "unroll"))], "in_place")
    maker.sources = [Source(s.buffer, s.exact and s.buffer not in (x, y)) for s in maker.sources]


def reshaped(maker: Maker) -> None:
    """Elements of another shape: quotients and remainders in indices."""
    a, b, c = [maker.choices.number(1, 6) for _ in range(3)]
    n = a * b * c
    x = maker.give(float32, (n,), "input", numbers(maker, (n,)))
    i = maker.axis("i", n)
    parts = [Index.of(i) // (b * c), Index.of(i) // c % b, Index.of(i) % c]
    order = maker.choices.pick(((0, 2, 1), (1, 0, 2), (2, 1, 0), (2, 0, 1)))
    sizes = (a, b, c)
    place = Index()
    for axis in order:
        place = place * sizes[axis] + parts[axis]
    target = maker.new(float32, (n,))
    store = Store(target, i, load(x, place))
    maker.add([For(i, [store], maker.kind("vector", "parallel", "serial"))], "transpose")
    maker.made(target, True)


def whole(maker: Maker) -> None:
    """Everything reduced to one number, then used beside parallel loops."""
    n, m = maker.few(), maker.extent()
    i, j = maker.axis("i", n), maker.axis("j", m)
    tile, value, total = reduction(maker, maker.at([i, j]), n * m)
    inner = For(
        j, [Update(tile, (), value.expr, reduction_op(tile))], maker.kind("vector", "serial")
    )
    target = maker.new(tile.dtype, ())
    body: list[Any] = [tile, For(i, [inner]), Store(target, 0, total.expr)]
    maker.add(body, "whole")
    maker.made(target, total.exact)


def lanewise(maker: Maker) -> None:
    """Reductions in each lane of a vector loop, along a serial or unrolled axis."""
    n, m = maker.few(), maker.extent()
    v, r = maker.axis("v", m), maker.axis("r", n)
    tile, value, total = reduction(maker, maker.at([r, v]), n)
    update = Update(tile, (), value.expr, reduction_op(tile))
    target = maker.new(tile.dtype, (m,))
    body = [tile, For(r, [update], maker.kind("serial", "unroll")), Store(target, v, total.expr)]
    maker.add([For(v, body, maker.kind("vector", "parallel", "serial"))], "lanewise")
    maker.made(target, total.exact)


def beside(maker: Maker) -> None:
    """Parallel loops of one kernel, and statements between them that see what they wrote."""
    n, m = maker.few(), maker.extent()
    i, j, k, o = maker.axis("i", n), maker.axis("j", m), maker.axis("k", n), maker.axis("o", n * m)
    first, last = maker.new(float32, (n, m)), maker.new(float32, (n, m))
    total, one = maker.new(float32, ()), Tile("one", float32, (), const(0.0, float32))
    value = maker.at([i, j]).any(float32, 1)
    store = Store(first, Index.of(i) * m + j, value.expr)
    body: list[Any] = [For(i, [For(j, [store], "vector")], "parallel")]
    again = Tile("again", float32, (), load(first, 0))
    if maker.choices.chance(50):
        body.append(again)
    body += [one, For(k, [Update(one, (), load(first, Index.of(k) * m), "maximum")])]
    body.append(Store(total, 0, one.at()))
    parts = [load(total, 0), load(first, Index(n * m - 1) - o)]
    parts += [one.at()] if maker.choices.chance(50) else []
    parts += [again.at()] if again in body else []
    expr = parts[0]
    for part in parts[1:]:
        expr = make("sub", part, make("mul", expr, const(0.5, float32)))
    body.append(For(o, [Store(last, o, expr)], "parallel"))
    maker.add(body, "beside")
    for buffer in (first, last, total):
        maker.made(buffer, False)


def part_of(maker: Maker) -> None:
    """A buffer made in two parts."""
    n, m = maker.few(), maker.extent()
    both = maker.new(float32, (n + m,))
    for start, size in ((0, n), (n, m)):
        part = maker.new(float32, (size,))
        part.part, part.offset = both, 4 * start
        i = maker.axis("i", size)
        value = maker.at([i]).any(float32, 1)
        maker.add([For(i, [Store(part, i, value.expr)], maker.kind("vector", "parallel"))], "part")
    maker.made(both, False)


def gemm(maker: Maker) -> None:
    """A product by a routine, one for each matrix of a batch."""
    count, n, m, k = [maker.choices.number(1, 5) for _ in range(4)]
    tx, ty = maker.choices.number(0, 1), maker.choices.number(0, 1)
    x = maker.give(float32, (count, n, k), "input", numbers(maker, (count, n, k)))
    y = maker.give(float32, (k, m), "input", numbers(maker, (k, m)))
    target = maker.new(float32, (count, n, m))
    i, z = maker.axis("i", count), maker.axis("z", count * n * m)
    beta = maker.choices.pick((0.0, 0.5))
    if beta:
        zero = Store(target, z, const(1.0, float32))
        maker.add([For(z, [zero], "vector")], "fill")
    at = Index.of(i)
    arguments = [
        Index(tx),
        Index(ty),
        Index(n),
        Index(m),
        Index(k),
        const(1 / 64, float32),
        Pointer(x, at * (n * k)),
        Index(n if tx else k),
        Pointer(y),
        Index(k if ty else m),
        const(beta, float32),
        Pointer(target, at * (n * m)),
        Index(m),
    ]
    call = Call("gemm", arguments, [x, y], [target])
    maker.add([For(i, [call], maker.kind("serial", "parallel"))], "gemm")
    maker.made(target, False)


KERNELS: dict[str, Callable[[Maker], None]] = {
    kernel.__name__: kernel
    for kernel in (
        elementwise,
        rows,
        columns,
        product,
        scatter,
        histogram,
        staged,
        conditional,
        in_place,
        reshaped,
        whole,
        lanewise,
        beside,
        part_of,
        gemm,
    )
}
