"""Loop programs as text: exact round trips, readable, quick."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings

from talweg.core.dtypes import float32
from talweg.execute.loop_interpreter.interpreter import run
from talweg.lower.ir.index import Axis, Index
from talweg.lower.ir.loops import Expr, For, Kernel, LoopProgram, Store, load
from talweg.lower.ir.printer import kernel_key, parse, to_text
from tests.lower.programs import programs, random_case

WHOLE = """\
program everything
  x0: input float32[6, 8]
  ids1: input int32[6]
  c2: constant complex64[2]
  y3: output float32[6]
  w4: state bfloat16[8]
  t5: temporary float32[48] at 64
  p6: temporary float32[8] in t5 at 32
  p7: temporary float32[] in t5 at 0
  s8: scratch int64[7]
  f9: temporary bool[1]
  n10: temporary int32[]
kernel k0:  # reduce_sum, exp | it needs the whole row
  for i in 6 parallel:
    tile a: float32[2, 4] = 0.0:float32
    tile m: float32[] = -inf:float32
    for k in 3:
      for u in 2 unroll:
        for v in 4 vector:
          t0 = x0[i*8 + u*4 + v]
          a[u, v] add= mul(t0, t0)
          m[] maximum= t0
          a[1, v] = fma(a[0, 3], nan:float32, -0.0:float32)
    t1 = (x0[{ids1[i]}*8 - i//2*3 - 1] if is_nan(m[]) else 1.5:float32)
    t2 = select(less(ids1[i], -3:int32), t1, float32(bits int32(t1)))
    y3[i] = t2
    when logical_not(equal(t2, m[])):
      y3[i] = float32[-i + 5]
    otherwise:
      y3[((i*4 + 3)//4)%5 + 1] minimum= 0.1:float32
kernel empty:
host sort(x0, ids1) -> t5
host nothing() -> n10
kernel test:
  f9[0] = true
repeat w in 4 while f9:
  if n10:
    case 0:
      kernel one:
        for v in 2 vector:
          c2[v] = (1+2.5j):complex64
    case 1:
kernel product:
  call gemm([0], [1], [2], [3], [4], 1.0:float32, &x0[8], [8], &t5[0], [4], 0.0:float32, &y3[0], [3]) reads x0, t5 writes y3
"""  # noqa: E501


def test_text_of_everything():
    program = parse(WHOLE)
    assert to_text(program) == WHOLE
    assert [b.name for b in program.buffers if b.part is not None] == ["p6", "p7"]
    kernel = program.blocks[0]
    assert (kernel.names, kernel.reason) == (("reduce_sum", "exp"), "it needs the whole row")
    loop = kernel.body[0]
    assert (loop.kind, loop.axis.extent, loop.body[0].dims) == ("parallel", 6, (2, 4))
    assert program.blocks[2].function is None


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(programs())
def test_round_trip(case):
    for names in (True, False):
        text = to_text(case.program, names)
        again = parse(text)
        assert to_text(again, names) == text


@pytest.mark.parametrize("seed", range(12))
def test_what_is_parsed_does_the_same(seed):
    case = random_case(seed + 5000)
    again = parse(to_text(case.program))
    for buffer, old in zip(again.buffers, case.program.buffers):
        buffer.content = old.content
    case.agree(run(again, case.arrays), run(case.program, case.arrays))


def elementwise(axis: str, buffer: str, kernel: str, operation: str, index=None) -> LoopProgram:
    program = LoopProgram("any")
    x = program.buffer(buffer, float32, (8,), "input")
    y = program.buffer("y", float32, (8,), "output")
    i = Axis(axis, 8)
    value = load(x, Index.of(i) if index is None else index)
    program.blocks = [Kernel(kernel, [For(i, [Store(y, i, value * 2.0)], "vector")], [operation])]
    return program


def test_without_names_the_text_is_a_key():
    one, two = elementwise("i", "x", "k0", "mul"), elementwise("long", "w/b:0", "k7", "scale")
    assert to_text(one) != to_text(two)
    assert to_text(one, names=False) == to_text(two, names=False)
    other = elementwise("i", "x", "k0", "mul", index=0)
    assert to_text(one, names=False) != to_text(other, names=False)


def test_names_that_are_no_names():
    program = elementwise("for", "dense/kernel:0", "a b", "x, y")
    text = to_text(program)
    assert "dense_kernel_00: input" in text and "for for_ in 8 vector:" in text
    assert to_text(parse(text)) == text


def test_names_in_scope_differ():
    program = elementwise("i", "x", "k", "add")
    x, y = program.buffers
    outer, inner, clash = Axis("i", 2), Axis("i", 4), Axis("x0", 1)
    place = Index.of(outer) * 4 + inner
    body = For(outer, [For(inner, [For(clash, [Store(y, place, load(x, place))])])])
    program.blocks = [Kernel("k", [body, For(inner, [Store(y, inner, load(x, inner))])])]
    text = to_text(program)
    assert "y1[i*4 + i_1] = x0[i*4 + i_1]" in text and "y1[i] = x0[i]" in text
    assert "for x0_1 in 1:" in text
    assert to_text(parse(text)) == text


def test_shared_parts_have_names_where_they_are_computed():
    program = elementwise("i", "x", "k", "add")
    x, y = program.buffers
    i, j = Axis("i", 2), Axis("j", 4)
    common, inner = load(x, i), load(x, j)
    both = common + inner
    place = Index.of(i) * 4 + j
    body = [
        For(j, [Store(y, place, both), Store(y, place, both * common)], "vector"),
        For(j, [Store(y, place, both)]),
    ]
    program.blocks = [Kernel("k", [For(i, [Store(y, i, common), *body])])]
    assert to_text(program).splitlines()[3:] == [
        "kernel k:",
        "  for i in 2:",
        "    t0 = x0[i]",
        "    y1[i] = t0",
        "    for j in 4 vector:",
        "      t1 = add(t0, x0[j])",
        "      y1[i*4 + j] = t1",
        "      y1[i*4 + j] = mul(t1, t0)",
        "    for j in 4:",
        "      y1[i*4 + j] = add(t0, x0[j])",
    ]


def test_long_expressions_are_cut():
    program = elementwise("i", "x", "k", "add")
    x, y = program.buffers
    i = Axis("i", 8)
    value = load(x, i)
    for _ in range(3000):  # deeper than Python's stack
        value = Expr("sin", (value,), float32)
    program.blocks = [Kernel("k", [For(i, [Store(y, i, value)])])]
    text = to_text(program)
    assert max(map(len, text.splitlines())) < 100
    assert to_text(parse(text)) == text


BROKEN = [
    "",
    "kernel",
    "program p\n  x0: float32[2]",
    "program p\n  x0: input float33[2]",
    "program p\nkernel k:\n  y0[0] = 1.0:float32",
    "program p\n  y0: output float32[2]\nkernel k:\n  y0[i] = 1.0:float32",
    "program p\n  y0: output float32[2]\nkernel k:\n  y0[0] = foo(t0)",
    "program p\n  y0: output float32[2]\nkernel k:\n  y0[0] = 1.0:float32 2.0:float32",
    "program p\nkernel k:\n  for i in 3 sideways:",
    "program p\nrepeat x:",
]


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_no_program(text):
    with pytest.raises(ValueError, match="TW207"):
        parse(text)


def test_a_kernel_that_stands_twice_has_a_key_for_each_place():
    """As the test of a loop does; the key of the first made code with too few arguments."""
    program = elementwise("i", "x", "k0", "mul")
    (kernel,) = program.blocks
    first, turn = kernel_key(kernel, []), Axis("n", 3)
    assert kernel_key(kernel, [turn])[0].startswith("repeat ")
    assert kernel_key(kernel, [turn]) != first == kernel_key(kernel, [])


def test_time_grows_with_the_program():
    def program(kernels: int) -> LoopProgram:
        made = elementwise("i", "x", "k0", "mul")
        made.blocks = made.blocks * kernels
        return made

    def seconds(program: LoopProgram) -> float:
        found = []
        for _ in range(5):
            start = time.process_time()
            to_text(program)
            found.append(time.process_time() - start)
        return min(found)

    assert seconds(program(1000)) < 20 * seconds(program(100))
