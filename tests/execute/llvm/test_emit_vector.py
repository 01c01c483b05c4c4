"""Vector loops: extents that no vector divides, reductions, indices of all kinds."""

from __future__ import annotations

import numpy as np
import pytest

from talweg.core.dtypes import BY_NAME
from talweg.execute.llvm.codegen.program import emit
from talweg.execute.llvm.vector_math.library import VectorMathLibrary
from talweg.lower.ir.index import Axis, Index
from talweg.lower.ir.loops import (
    Expr,
    For,
    Kernel,
    LoopProgram,
    Store,
    Tile,
    Update,
    const,
    load,
    within,
)
from talweg.lower.ir.printer import parse
from tests.execute.emitted import same

EXTENTS = [0, 1, 2, 3, 5, 7, 8, 9, 13, 15, 16, 17, 26, 31, 33, 40, 47, 64, 65, 100, 257]


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
def test_extents(vector_bytes: int):
    """y = x² + 1.5, sums and maxima, of every extent."""
    made = LoopProgram("p")
    blocks = []
    for size in EXTENTS:
        text = f"""program p
  x: input float32[{max(size, 1)}]
  y: output float32[{max(size, 1)}]
  s: output float32[2]
kernel k:
  tile a: float32[] = 0.5:float32
  tile m: float32[] = -1000.0:float32
  for i in {size} vector:
    y[i] = add(mul(x[i], x[i]), 1.5:float32)
    a[] add= exp(x[i])
    m[] maximum= x[i]
  s[0] = a[]
  s[1] = m[]
kernel first:
  y[0] = 3.0:float32
"""
        part = parse(text)
        for buffer in part.buffers:
            buffer.name += f"_{size}"
        made.buffers += part.buffers
        blocks += part.blocks
    made.blocks = blocks
    same_except_unwritten(made, vector_bytes)


def same_except_unwritten(program: LoopProgram, vector_bytes: int) -> None:
    """Outputs of extent 0 are not written."""
    same(program, threads=(1,), tolerance=2e-5, vector_bytes=vector_bytes)


@pytest.mark.parametrize("name", ["int8", "uint16", "int32", "uint64", "float16", "float64"])
@pytest.mark.parametrize("op", ["add", "mul", "maximum", "minimum", "and", "or"])
def test_reductions(name: str, op: str):
    dtype = BY_NAME[name]
    if dtype.is_floating and op in ("and", "or"):
        dtype = BY_NAME["bool"]
    if dtype.is_floating and op == "mul":
        dtype = BY_NAME["float32"]
    made = LoopProgram("p")
    for size in (1, 3, 9, 31, 32, 70, 131):
        x = made.buffer("x", dtype, (size,), "input")
        y = made.buffer("y", dtype, (1,), "output")
        start = {"mul": 1, "and": 1}.get(op, 0) if not dtype.is_bool else op == "and"
        i, tile = Axis("i", size), Tile("t", dtype, (), start)
        loop = For(i, [Update(tile, (), load(x, i), op)], "vector")
        made.blocks.append(Kernel("k", [tile, loop, Store(y, 0, tile.at())]))
    same(made, threads=(1,), tolerance=1e-2 if name == "float16" else 1e-4)


def test_maximum_keeps_nan_wherever_it_is():
    size = 37
    made = LoopProgram("p")
    x = made.buffer("x", BY_NAME["float32"], (size, size), "input")
    for op in ("maximum", "minimum"):
        y = made.buffer("y", BY_NAME["float32"], (size,), "output")
        r, i, tile = Axis("r", size), Axis("i", size), Tile("t", BY_NAME["float32"], (), 0.0)
        update = Update(tile, (), load(x, Index.of(r) * size + i), op)
        body = [tile, For(i, [update], "vector"), Store(y, r, tile.at())]
        made.blocks.append(Kernel("k", [For(r, body, "parallel")]))
    values = np.where(np.eye(size) > 0, np.nan, 1.0)
    found = same(made, {"x0": values})
    assert all(np.isnan(value).all() for value in found.values())


def test_sum_is_collected_across_an_outer_loop():
    """The lanes are added up once, after both loops, not once a row."""
    text = """program p
  x: input float32[64, 48]
  y: output float32[1]
kernel k:
  tile s: float32[] = 0.0:float32
  for r in 64 serial:
    for i in 48 vector:
      s[] add= x[r*48 + i]
  y[0] = s[]
"""
    same(text, threads=(1,), tolerance=1e-5)
    made = emit(parse(text), 32, VectorMathLibrary())
    loop = made[made.index("loop") : made.index("after")]
    assert "shufflevector" not in loop and "extractelement" not in loop


def test_negative_zero_and_signs():
    text = """program p
  x: input float32[19]
  y: output float32[1]
kernel k:
  tile s: float32[] = -0.0:float32
  for i in 19 vector:
    s[] add= x[i]
  y[0] = s[]
"""
    found = same(text, {"x": np.full(19, -0.0)}, threads=(1,))
    assert np.signbit(found["y"]).all()


@pytest.mark.parametrize("size", [1, 5, 8, 26, 50, 61])
def test_columns(size: int):
    """Sums of columns stay in registers while the rows go by."""
    same(
        f"""program p
  x: input float32[13, {size}]
  y: output float32[{size}]
  z: output float64[{size}]
kernel k:
  tile a: float32[{size}] = 0.0:float32
  tile b: float64[{size}] = 1.0:float64
  for r in 13 serial:
    for i in {size} vector:
      a[i] add= x[r*{size} + i]
      b[i] mul= float64(x[r*{size} + i])
  for j in {size} vector:
    y[j] = a[j]
  for j2 in {size} vector:
    z[j2] = add(b[j2], 1.0:float64)
""",
        threads=(1,),
        tolerance=1e-5,
    )


def product(rows: int, columns: int, depth: int, m: int, n: int) -> LoopProgram:
    """A matrix product whose result is computed in blocks of [m, n] registers."""
    made = LoopProgram("p")
    dtype = BY_NAME["float32"]
    x = made.buffer("x", dtype, (rows * m, depth), "input")
    y = made.buffer("y", dtype, (columns, depth, n), "input")
    z = made.buffer("z", dtype, (rows * m, columns * n), "output")
    r, c, k = Axis("r", rows), Axis("c", columns), Axis("k", depth)
    i, j, i2, j2 = Axis("i", m), Axis("j", n), Axis("i2", m), Axis("j2", n)
    acc = Tile("acc", dtype, (m, n))
    left = load(x, (Index.of(r) * m + i) * depth + k)
    right = load(y, (Index.of(c) * depth + k) * n + j)
    update = Update(acc, (i, j), Expr("mul", (left, right), dtype), "add")
    place = (Index.of(r) * m + i2) * (columns * n) + Index.of(c) * n + j2
    body = [
        acc,
        For(k, [For(i, [For(j, [update], "vector")], "unroll")]),
        For(i2, [For(j2, [Store(z, place, acc.at(i2, j2))], "vector")], "unroll"),
    ]
    made.blocks = [Kernel("mm", [For(c, [For(r, body, "parallel")], "parallel")])]
    return made


@pytest.mark.parametrize("m, n", [(6, 16), (4, 10), (1, 8), (3, 5)])
def test_product_in_registers(m: int, n: int):
    made = product(3, 2, 11, m, n)
    same(made, tolerance=1e-5)
    text = emit(made, 32, VectorMathLibrary())
    assert "alloca" not in text


INDICES = {
    "reversed": lambda i, r, n: Index.of(i) * -1 + (n - 1),
    "every second": lambda i, r, n: Index.of(i) * 2,
    "every third": lambda i, r, n: Index.of(i) * 3 + 1,
    "same": lambda i, r, n: Index.of(r),
    "quotient": lambda i, r, n: Index.of(i) // 4,
    "remainder": lambda i, r, n: (Index.of(i) + 3) % 7,
    "with row": lambda i, r, n: (Index.of(i) * 3 + Index.of(r) * 5) % 11 + Index.of(r),
    "power": lambda i, r, n: (Index.of(i) + Index.of(r) * n) % 8,
    "aligned": lambda i, r, n: (Index.of(i) + Index.of(r) * 64) % 32 + Index.of(r),
}


@pytest.mark.parametrize("name", INDICES)
def test_indices(name: str):
    made = LoopProgram("p")
    for size in (5, 16, 41, 64):
        for dtype in (BY_NAME["float32"], BY_NAME["int8"], BY_NAME["float64"]):
            x = made.buffer("x", dtype, (3 * size + 40,), "input")
            y = made.buffer("y", dtype, (3, size), "output")
            i, r = Axis("i", size), Axis("r", 3)
            value = load(x, INDICES[name](i, r, size))
            loop = For(i, [Store(y, Index.of(r) * size + i, value)], "vector")
            made.blocks.append(Kernel("k", [For(r, [loop], "parallel")]))
    same(made)


@pytest.mark.parametrize("stride", [-1, 2, 5])
def test_stores_with_steps(stride: int):
    made = LoopProgram("p")
    for size in (3, 8, 37):
        x = made.buffer("x", BY_NAME["int16"], (size,), "input")
        y = made.buffer("y", BY_NAME["int16"], (size * 5,), "state")
        for op in (None, "add"):
            i = Axis("i", size)
            index = Index.of(i) * stride + (size if stride < 0 else 0)
            made.blocks.append(Kernel("k", [For(i, [Store(y, index, load(x, i), op)], "vector")]))
    same(made, threads=(1,))


@pytest.mark.parametrize("name", ["float32", "int8", "float16", "bool", "int64"])
def test_guarded_loads(name: str):
    """Shifted rows with zeros at both ends; nothing outside of the buffer is read."""
    dtype = BY_NAME[name]
    made = LoopProgram("p")
    other = const(True if dtype.is_bool else 1, dtype)
    for size in (4, 9, 16, 35):
        x = made.buffer("x", dtype, (size,), "input")
        for shift, step in ((-2, 1), (3, 1), (-3, 2), (5, -1), (0, 1)):
            y = made.buffer("y", dtype, (3, size), "output")
            i, r = Axis("i", size), Axis("r", 3)
            index = Index.of(i) * step + Index.of(r) + shift
            guard = within(index, 0, size)
            value = load(x, index, guard, other if guard is not None else None)
            loop = For(i, [Store(y, Index.of(r) * size + i, value)], "vector")
            made.blocks.append(Kernel("k", [For(r, [loop], "parallel")]))
            y = made.buffer("y", dtype, (3, size), "output")  # a guard that the row decides
            place = Index.of(r) * 2 - 2
            value = load(x, Index.of(r) * 2 - 2 + Index.of(i) * 0, within(place, 0, 1), other)
            loop = For(i, [Store(y, Index.of(r) * size + i, value)], "vector")
            made.blocks.append(Kernel("k", [For(r, [loop], "parallel")]))
    same(made, threads=(1,))


@pytest.mark.parametrize("name", ["int32", "int64", "uint8"])
def test_gathers_and_scatters(name: str):
    same(
        f"""program p
  x: input float32[40, 19]
  rows: input {name}[23]
  y: output float32[23, 19]
  g: output float32[23]
  z: state float32[40]
kernel k:
  for r in 23 parallel:
    for i in 19 vector:
      y[r*19 + i] = x[{{rows[r]}}*19 + i]
kernel g:
  for r in 23 vector:
    g[r] = x[{{rows[r]}}*19 + 7]
kernel s:
  for r in 23 serial:
    z[{{rows[r]}}] add= 1.5:float32
""",
        {"rows": np.arange(23) * 7 % 40},
    )


def test_guarded_gather_of_wild_numbers():
    """Numbers from data that are no places: the guard says so."""
    same(
        """program p
  x: input float32[40]
  rows: input int64[23]
  y: output float32[23]
kernel k:
  for r in 23 vector:
    t0 = rows[r]
    t1 = logical_and(greater_equal(t0, 0:int64), less(t0, 9:int64))
    y[r] = (x[{t0}*4 + 1] if t1 else 7.0:float32)
""",
        {"rows": np.array([0, 1, -1, 2**62, -(2**63), 8, 9, 2**63 - 1, 5] * 2 + [3] * 5)},
        threads=(1,),
    )


def test_loops_and_tiles_within_vector_loops():
    """Each lane has its own tile; the serial loop is inside."""
    same(
        """program p
  x: input float32[12, 21]
  y: output float32[21]
kernel k:
  for i in 21 vector:
    tile a: float32[] = x[i]
    tile b: float32[2] = 0.0:float32
    for r in 12 serial:
      a[] add= mul(x[r*21 + i], 2.0:float32)
      for u in 2 unroll:
        b[u] maximum= sub(a[], float32[r + u])
    y[i] = add(a[], mul(b[0], b[1]))
""",
        threads=(1,),
        tolerance=1e-5,
    )


def test_in_place():
    """What is read is written: nothing is done twice."""
    same(
        """program p
  x: state float32[43]
  m: state bool[43]
kernel k:
  for i in 43 vector:
    x[i] = mul(x[i], 1.5:float32)
    m[i] = logical_not(m[i])
""",
        threads=(1,),
    )


@pytest.mark.parametrize(
    "index", ["i//2", "i//4*8 + i%4", "o*64 + i//8", "(o*64 + i)%4", "(i + 4)//4"]
)
def test_places_that_repeat_along_the_lanes_are_known(index):
    """Parts of an index are divided when the code is made: no lane looks for its own number."""
    text = f"""program p
  x: input float32[600]
  y: output float32[4, 64]
kernel k:
  for o in 4 serial:
    for i in 64 vector:
      y[o*64 + i] = add(x[{index}], 1.0:float32)
"""
    assert "gather" not in emit(parse(text), 32, VectorMathLibrary())
    same(text, threads=(1,))
