"""Costs of kernels: operations and bytes, counted by hand."""

from __future__ import annotations

import time

import pytest

from talweg.lower.ir.cost import NOTHING, Cost, cost, of_blocks, total
from talweg.lower.ir.loops import Kernel
from talweg.lower.ir.printer import parse
from talweg.lower.ir.scalars import SCALARS
from tests.lower.programs import random_case

HEAD = """\
program p
  x0: input float32[6, 8]
  v1: input float32[8]
  ids2: input int64[6]
  y3: output float32[6, 8]
  r4: output float32[6]
  s5: scratch float32[8]
  n6: temporary int32[1]
  f7: temporary bool[1]
  z8: output float32[4, 4]
  w9: state float32[48]
"""
TANH, EXP = SCALARS["tanh"].cost, SCALARS["exp"].cost


def cost_of(text: str) -> Cost:
    program = parse(HEAD + "kernel k:\n" + text)
    found = cost(program.blocks[0])
    assert total(program) == found
    return found


CASES = {
    "each place": (
        """
  for i in 6 parallel:
    for j in 8 vector:
      y3[i*8 + j] = add(tanh(x0[i*8 + j]), v1[j])
""",
        (48 * (TANH + 1), 48 * 4 + 8 * 4, 48 * 4),
    ),
    "what depends on the row is computed once a row, what is shared once": (
        """
  for i in 6:
    t0 = exp(x0[i*8])
    for j in 8:
      t1 = mul(t0, v1[j])
      y3[i*8 + j] = add(t1, t1)
""",
        (6 * EXP + 48 * 2, 6 * 4 + 8 * 4, 48 * 4),
    ),
    "a reduction and what follows": (
        """
  for i in 6:
    tile a: float32[] = 0.0:float32
    for j in 8 vector:
      a[] add= x0[i*8 + j]
    r4[i] = exp(a[])
""",
        (48 + 6 * EXP, 48 * 4, 6 * 4),
    ),
    "a stencil reads each element once": (
        """
  for j in 6:
    r4[j] = add(add(v1[j], v1[j + 1]), v1[j + 2])
""",
        (12, 8 * 4, 6 * 4),
    ),
    "scratch, and what was just written, is in cache": (
        """
  for i in 6:
    for j in 8:
      s5[j] = x0[i*8 + j]
      y3[i*8 + j] = neg(s5[j])
    r4[i] = y3[i*8]
""",
        (48, 48 * 4, 48 * 4 + 6 * 4),
    ),
    "in place": (
        """
  for i in 48 vector:
    w9[i] add= 1.0:float32
""",
        (48, 48 * 4, 48 * 4),
    ),
    "gathered rows": (
        """
  for i in 3:
    for j in 8 vector:
      y3[i*8 + j] = x0[{ids2[i]}*8 + j]
""",
        (0, 3 * 8 + 24 * 4, 24 * 4),
    ),
    "of a condition the arm that computes more": (
        """
  for i in 6:
    when greater(v1[i], 0.0:float32):
      r4[i] = exp(v1[i])
    otherwise:
      r4[i] = neg(v1[i])
""",
        (6 + 6 * EXP, 6 * 4, 6 * 4),
    ),
    "a routine": (
        """
  call gemm([0], [0], [4], [4], [6], 1.0:float32, &x0[0], [6], &x0[24], [4], 0.0:float32, &z8[0], [4]) reads x0 writes z8
""",  # noqa: E501
        (2 * 4 * 4 * 6, 48 * 4, 16 * 4),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_costs(name):
    text, wanted = CASES[name]
    assert tuple(cost_of(text)) == wanted


def test_blocks():
    program = parse(
        HEAD
        + """\
host f(x0, v1) -> r4
repeat i in 5 while f7:
  kernel b:
    n6[0] = add(n6[0], 1:int32)
  kernel t:
    f7[0] = less(n6[0], 3:int32)
if n6:
  case 0:
    kernel c:
      r4[0] = 1.0:float32
  case 1:
    kernel d:
      r4[0] = exp(v1[0])
"""
    )
    host, loop, choice = [of_blocks([block]) for block in program.blocks]
    assert host == (0, 56 * 4, 6 * 4)
    assert loop == (2, 8, 5)
    assert choice == (EXP, 4, 4)
    assert total(program) == host.plus(loop).plus(choice)
    assert of_blocks([]) == NOTHING
    assert loop.bytes_moved == 13 and loop.intensity == 2 / 13


def test_repeats():
    text = "    for j in 8 vector:\n      y3[i*8 + j] = neg(x0[i*8 + j])\n"
    whole, ended = [
        total(parse(f"{HEAD}repeat i in 6{flag}:\n  kernel k:\n{text}"))
        for flag in ("", " while f7")
    ]
    assert whole == (48, 48 * 4, 48 * 4)
    assert ended == (8, 8 * 4, 8 * 4)


@pytest.mark.parametrize("seed", range(30))
def test_bounds(seed):
    """Nobody reads or writes more than there is."""
    case = random_case(seed)
    most = sum(buffer.nbytes for buffer in case.program.buffers if buffer.part is None)
    for block in case.program.blocks:
        if type(block) is Kernel:
            found = cost(block)
            assert 0 <= found.bytes_read <= most and 0 <= found.bytes_written <= most
            assert found.flops >= 0


def test_quick():
    case = random_case(3)
    case.program.blocks = case.program.blocks * 50
    start = time.process_time()
    total(case.program)
    assert time.process_time() - start < 2
