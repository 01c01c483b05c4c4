"""The checker accepts what keeps the rules, and refuses what breaks one."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from talweg.core.dtypes import float32
from talweg.core.errors import InternalError
from talweg.lower.ir.index import Axis
from talweg.lower.ir.loops import Buffer, Expr, For, Kernel, Store, Update
from talweg.lower.ir.printer import parse
from talweg.lower.ir.verifier import check
from tests.lower.programs import programs


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(programs())
def test_programs_are_accepted(case):
    check(case.program)


HEAD = """\
program p
  x0: input float32[6, 8]
  ids1: input int64[6]
  y2: output float32[6, 8]
  r3: output float32[6]
  t4: temporary float32[8]
  s5: scratch float32[8]
  w6: state float32[8]
  b7: temporary bool[]
  n8: temporary int32[]
  p9: temporary float32[4] in t4 at 16
  h10: input float16[6]
  c11: constant int32[2]
  v12: private float32[8]
"""

GOOD = {
    "rows": """
kernel k:
  for i in 6 parallel:
    tile m: float32[] = 0.0:float32
    for j in 8 vector:
      m[] maximum= x0[i*8 + j]
      s5[j] = exp(x0[i*8 + j])
    for j in 8 vector:
      y2[i*8 + j] = mul(s5[j], m[])
""",
    "trips that write rows of their own": """
repeat t in 6 parallel:
  kernel k:
    for j in 8 parallel:
      v12[j] = exp(x0[t*8 + j])
  repeat u in 2:
    kernel l:
      for j in 8 vector:
        y2[t*8 + j] = add(v12[j], x0[j + u*8])
kernel m:
  for i in 6:
    r3[i] = y2[i*8]
""",
    "an index that only looks too large": """
kernel k:
  for i in 48 vector:
    y2[i//8*8 + i%8] = x0[i]
""",
    "what is read is guarded": """
kernel k:
  for i in 6:
    r3[i] = (x0[i*9 - 1] if greater(int64[i], 0:int64) else 0.0:float32)
""",
    "a condition keeps the index inside": """
kernel k:
  for i in 10:
    when less(int64[i], 6:int64):
      r3[i] = x0[i*5]
""",
    "one place of two iterations, by an operation, in an unrolled loop": """
kernel k:
  for i in 6 unroll:
    w6[i//2] add= 1.0:float32
""",
    "in place": """
kernel k:
  for i in 8 vector:
    w6[i] = mul(w6[i], 2.0:float32)
""",
    "columns in one tile": """
kernel k:
  for o in 2 parallel:
    tile a: float32[4] = 0.0:float32
    for r in 6:
      for v in 4 vector:
        a[v] add= x0[r*8 + o*4 + v]
    for v in 4 vector:
      w6[o*4 + v] = a[v]
""",
    "parts": """
kernel k:
  for i in 8:
    t4[i] = 0.0:float32
kernel l:
  for i in 4 parallel:
    p9[i] = add(t4[i], p9[i])
""",
    "both branches write": """
kernel k:
  n8[0] = 1:int32
if n8:
  case 0:
    kernel a:
      b7[0] = true
  case 1:
    kernel b:
      b7[0] = false
repeat i in 6 while b7:
  kernel c:
    b7[0] = false
""",
    "what one branch writes is read: nobody knows when": """
kernel k:
  n8[0] = 1:int32
if n8:
  case 0:
    kernel a:
      b7[0] = true
  case 1:
    kernel b:
      n8[0] = 2:int32
kernel l:
  r3[0] = float32(b7[0])
""",
    "a repeat that perhaps does not run": """
kernel k:
  b7[0] = false
repeat i in 6 while b7:
  kernel l:
    t4[i] = 1.0:float32
kernel m:
  for i in 6:
    r3[i] = t4[i]
""",
    "statements beside a parallel loop": """
kernel k:
  tile a: float32[] = 1.0:float32
  for i in 6 parallel:
    r3[i] = a[]
  w6[0] = r3[0]
""",
}

BAD = {
    "index 55 is outside of y2": """
kernel k:
  for i in 7 parallel:
    for j in 8 vector:
      y2[i*8 + j] = 1.0:float32
""",
    "index -1 is outside of x0": "kernel k:\n  for i in 6:\n    r3[i] = x0[i*8 - 1]\n",
    "index 8 is outside of w6": "kernel k:\n  w6[8] add= 1.0:float32\n",
    "float32 where there should be float16": """
kernel k:
  for i in 6:
    r3[i] = float32(add(h10[i], x0[i]))
""",
    "float16 where there should be float32": "kernel k:\n  r3[0] = h10[0]\n",
    "add of bool": "kernel k:\n  b7[0] = add(true, false)\n",
    "floor_div of float32": "kernel k:\n  r3[0] = floor_div(x0[0], x0[1])\n",
    "exp of int64": "kernel k:\n  r3[0] = float32(exp(ids1[0]))\n",
    "add of 3 operands": "kernel k:\n  r3[0] = add(x0[0], x0[1], x0[2])\n",
    "float32 where there should be bool": "kernel k:\n  r3[0] = select(x0[0], x0[1], x0[2])\n",
    "int64 where there should be bool": """
kernel k:
  when ids1[0]:
    r3[0] = 1.0:float32
""",
    "and does not combine float32": "kernel k:\n  w6[0] and= 1.0:float32\n",
    "bits of float16 as float32": "kernel k:\n  r3[0] = bits float32(h10[0])\n",
    "an index of dtype float32": "kernel k:\n  r3[0] = x0[{x0[0]}]\n",
    "1 indices for tile a": """
kernel k:
  tile a: float32[2, 3] = 0.0:float32
  for i in 2 unroll:
    a[i] = 1.0:float32
""",
    "index 3 is outside of a": """
kernel k:
  tile a: float32[3] = 0.0:float32
  for i in 4 vector:
    a[i] = 1.0:float32
""",
    "only vector and unrolled loops within its list index a tile": """
kernel k:
  tile a: float32[4] = 0.0:float32
  for i in 4:
    a[i] = 1.0:float32
""",
    "writes? to one place|write to one place": """
kernel k:
  for i in 6 parallel:
    for j in 8 vector:
      w6[j] = x0[i*8 + j]
""",
    "all iterations of vector loop j write to one place": """
kernel k:
  for i in 6:
    for j in 8 vector:
      w6[i] add= x0[i*8 + j]
""",
    "writes where another iteration of vector loop i writes": """
kernel k:
  for i in 8 vector:
    w6[i//2] = 1.0:float32
""",
    "writes where another iteration of parallel loop i writes": """
kernel k:
  for i in 6 parallel:
    for j in 8 vector:
      y2[i*7 + j] = 1.0:float32
""",
    "reads where another iteration of vector loop i writes": """
kernel k:
  for i in 7 vector:
    w6[i] = w6[i + 1]
""",
    "reads where another iteration of parallel loop i": """
kernel k:
  for i in 8:
    t4[i] = 0.0:float32
kernel l:
  for i in 4 parallel:
    p9[i] = t4[i]
  for i in 4 parallel:
    p9[i] = t4[7 - i]
""",
    "all iterations set tile a": """
kernel k:
  tile a: float32[] = 0.0:float32
  for i in 4 vector:
    a[] = x0[i]
""",
    "tile a is read where iterations combine with it": """
kernel k:
  tile a: float32[] = 0.0:float32
  for i in 6 vector:
    a[] add= x0[i]
    r3[i] = a[]
""",
    "combine with tile a in more ways than one": """
kernel k:
  tile a: float32[] = 0.0:float32
  for i in 4 vector:
    a[] add= x0[i]
    a[] mul= x0[i]
""",
    "each thread has a tile of its own": """
kernel k:
  tile a: float32[] = 0.0:float32
  for i in 4 parallel:
    a[] add= x0[i]
""",
    "t4 is read before it was written": "kernel k:\n  r3[0] = t4[0]\n",
    "n8 is read before it was written": "if n8:\n  case 0:\n",
    "b7 is read before it was written: no branch": """
kernel k:
  n8[0] = 1:int32
if n8:
  case 0:
    kernel a:
      n8[0] = 0:int32
  case 1:
    kernel b:
      n8[0] = 2:int32
kernel l:
  r3[0] = float32(b7[0])
""",
    "r3 is read before it was written": "kernel k:\n  r3[0] add= 1.0:float32\n",
    "s5 is read before it was written": """
kernel k:
  for i in 8:
    s5[i] = 1.0:float32
kernel l:
  r3[0] = s5[0]
""",
    "x0 is written, and is input": "kernel k:\n  x0[0] = 1.0:float32\n",
    "c11 is written, and is constant": "host f(x0) -> c11\n",
    "a parallel loop that is not outermost": """
kernel k:
  for i in 6:
    for j in 8 parallel:
      y2[i*8 + j] = 1.0:float32
""",
    "a condition within a vector loop": """
kernel k:
  for i in 6 vector:
    when less(x0[i], 1.0:float32):
      r3[i] = 1.0:float32
""",
    "a routine is called in a vector": """
kernel k:
  for i in 6 vector:
    call gemm([0]) reads x0 writes y2
""",
    "gemm has 13 operands": "kernel k:\n  call gemm([0]) reads x0 writes y2\n",
    "x0 is too small": """
kernel k:
  call gemm([0], [0], [6], [1], [8], 1.0:float32, &x0[1], [8], &w6[0], [1], 0.0:float32, &r3[0], [1]) reads x0, w6 writes r3
""",  # noqa: E501
    "scratch s5 is written beside parallel loops": """
kernel k:
  s5[0] = 1.0:float32
  for i in 6 parallel:
    r3[i] = s5[0]
""",
    "a tile is updated where only one thread works": """
kernel k:
  tile a: float32[] = 0.0:float32
  for i in 8:
    a[] add= x0[i]
    w6[i] = a[]
  for i in 6 parallel:
    r3[i] = a[]
""",
    "is scratch": "host f(x0) -> s5\n",
    "all trips touch one element of t4": """
repeat t in 6 parallel:
  kernel k:
    for j in 8:
      t4[j] = x0[t*8 + j]
""",
    "all trips touch one element of y2": """
repeat t in 6 parallel:
  kernel k:
    y2[t*8] = x0[t*8]
  kernel l:
    for j in 8:
      y2[t*8 + j + 1] = y2[8]
""",
    "v12 is read before it was written": """
repeat t in 6 parallel:
  kernel k:
    for j in 8:
      v12[j] = x0[t*8 + j]
kernel l:
  for j in 8:
    t4[j] = v12[j]
""",
    "it has a flag": """
kernel k:
  b7[0] = true
repeat t in 6 parallel while b7:
  kernel l:
    r3[t] = 1.0:float32
""",
    "Host is in it": """
repeat t in 6 parallel:
  host f(x0) -> w6
""",
    "the flag of a repeat: w6": "repeat r in 4 while w6:\n",
}


@pytest.mark.parametrize("name", GOOD)
def test_good(name):
    check(parse(HEAD + GOOD[name].lstrip("\n")))


@pytest.mark.parametrize("name", BAD)
def test_bad(name):
    program = parse(HEAD + BAD[name].lstrip("\n"))
    with pytest.raises(InternalError, match=name.partition(": ")[0] if ": " in name else name):
        check(program)


def test_the_statement_is_named():
    program = parse(HEAD + "kernel sums:\n  for i in 9 vector:\n    w6[i] = exp(x0[i])\n")
    with pytest.raises(
        InternalError, match=r"kernel sums: w6\[i\] = exp\(load: float32\): index 8"
    ):
        check(program)


def test_scopes():
    """What text cannot say: axes and tiles used elsewhere, buffers of nobody."""
    program = parse(HEAD + GOOD["columns in one tile"].lstrip("\n"))
    kernel = program.blocks[0]
    loop = kernel.body[0]
    tile, sums, last = loop.body
    for body, what in (
        (
            [loop, For(Axis("i", 2), [Store(program.buffers[6], last.body[0].index, tile.start)])],
            "axis . is used outside of its loop",
        ),
        ([sums], "used outside of its l"),
        ([For(loop.axis, [sums, tile, last])], "tile a is used outside of its list"),
        ([tile, tile], "it is in scope already"),
        ([For(loop.axis, [For(loop.axis, [])])], "the axis is that of a loop around it"),
        ([Store(Buffer("z", float32, (), "output"), 0, tile.start)], "z is no buffer"),
        (
            [Store(program.buffers[3], 0, Expr("frobnicate", (tile.start,), float32))],
            "no scalar function frobnicate",
        ),
        ([kernel], "Kernel is no statement"),
        ([For(loop.axis, [], "sideways")], "'sideways' is no kind of loop"),
        ([Update(tile, (), tile.start, "sub")], "'sub' is no operation|outside of its list"),
    ):
        program.blocks = [Kernel("k", body)]
        with pytest.raises(InternalError, match=what):
            check(program)


def test_buffers():
    for change, what in (
        (lambda b: setattr(b[9], "offset", 20), "longer than t4"),
        (lambda b: setattr(b[9], "offset", 18), "its offset is 18"),
        (lambda b: setattr(b[4], "name", "x0"), "two of that name"),
        (lambda b: setattr(b[4], "kind", "local"), "'local' is no kind"),
        (lambda b: setattr(b[9], "part", Buffer("z", float32, (9,), "temporary")), "no buffer"),
    ):
        program = parse(HEAD)
        check(program)
        change(program.buffers)
        with pytest.raises(InternalError, match=what):
            check(program)
