"""Statements and blocks as machine code: conditions, tiles, routines, threads, host calls."""

from __future__ import annotations

import ctypes
import itertools
import re
import threading
import time

import numpy as np
import pytest

from talweg.core.dtypes import BY_NAME
from talweg.execute.llvm.codegen import kernel
from talweg.execute.llvm.codegen.program import emit
from talweg.execute.llvm.vector_math.library import VectorMathLibrary
from talweg.lower.ir.index import Axis, Index
from talweg.lower.ir.loops import Expr, For, Kernel, LoopProgram, Store, const, load
from talweg.lower.ir.printer import kernel_key, parse
from tests.execute.emitted import Machine, numbers, same


def test_threads_share_nested_parallel_loops():
    """5 x 7 iterations for 1, 2, 4 and 50 threads; each is done once."""
    same(
        """program p
  x: state float32[5, 7, 3]
kernel k:
  for a in 5 parallel:
    for b in 7 parallel:
      for i in 3 serial:
        x[a*21 + b*3 + i] add= 1.0:float32
""",
        threads=(1, 2, 4, 50),
    )


def test_several_parallel_loops_in_one_kernel_wait_for_each_other():
    same(
        """program p
  x: input float32[64]
  t: temporary float32[64]
  u: temporary float32[1]
  y: output float32[64]
kernel k:
  for a in 64 parallel:
    t[a] = mul(x[a], 2.0:float32)
  u[0] = add(t[63], t[0])
  for b in 64 parallel:
    y[b] = add(t[(b + 17)%64], u[0])
""",
        threads=(1, 3, 8),
    )


def heavy(loops: int) -> str:
    """A kernel of so many loops, the iterations of which are worth to be shared one by one."""
    states = "".join([f"  x{number}: state float32[37]\n" for number in range(loops)])
    bodies = "".join([_HEAVY.format(number) for number in range(loops)])
    return f"program p\n{states}kernel k:\n{bodies}"


_HEAVY = """  for a{0} in 37 parallel:
    for i{0} in 3000 serial:
      for j{0} in 100 serial:
        x{0}[a{0}] add= 1.0:float32
"""


def test_iterations_that_take_long_go_to_whoever_is_free(monkeypatch):
    """The second thread comes when the first one has done all, and does nothing twice."""
    machine = Machine(parse(heavy(2)))
    assert machine.text.count("@talweg_piece(ptr %context, i64 %threads, i64 1, ") == 1
    enter, taken = threading.Barrier.wait, []
    begun = threading.Event()

    def late(*arguments):
        if arguments[1] == 1:
            begun.wait(20)
        return function(*arguments)

    def wait(barrier, timeout=None):
        if not begun.is_set():
            taken.append(dict(machine.taken))
            begun.set()
        return enter(barrier, timeout)

    function, machine.function = machine.function, late
    monkeypatch.setattr(threading.Barrier, "wait", wait)
    found = machine.run({"x0": np.zeros(37), "x1": np.zeros(37)}, threads=2)
    np.testing.assert_array_equal([found["x0"], found["x1"]], np.full((2, 37), 3e5))
    assert taken[0] == {0: 38, 1: 38}  # it asked once more, and found none


def test_of_many_such_loops_the_first_are_shared_so():
    machine = Machine(parse(heavy(11)))
    assert machine.text.count("call i64 @talweg_piece(") == kernel.LOOPS
    for threads in (1, 3):
        found = machine.run({f"x{number}": np.zeros(37) for number in range(11)}, threads)
        np.testing.assert_array_equal(list(found.values()), np.full((11, 37), 3e5))


def test_a_kernel_without_parallel_loop_is_run_once():
    same(
        """program p
  x: state int32[1]
  y: output int32[64]
kernel k:
  x[0] add= 1:int32
kernel l:
  for a in 64 parallel:
    y[a] = x[0]
""",
        {"x": [7]},
        threads=(1, 4),
    )


def test_scratch_is_of_each_thread():
    same(
        """program p
  x: input float32[9, 30]
  s: scratch float32[30]
  y: output float32[9]
kernel k:
  for r in 9 parallel:
    for i in 30 vector:
      s[i] = mul(x[r*30 + i], 2.0:float32)
    tile a: float32[] = 0.0:float32
    for j in 30 vector:
      a[] add= mul(s[j], s[29 - j])
    y[r] = a[]
""",
        threads=(1, 3),
        tolerance=1e-5,
    )


def test_when():
    """Tiles changed in one arm, in both, and in a loop within an arm."""
    same(
        """program p
  x: input float32[20]
  y: output float32[20, 3]
kernel k:
  for i in 20 serial:
    tile a: float32[] = 1.0:float32
    tile b: float32[3] = 0.5:float32
    when greater(x[i], 0.0:float32):
      a[] = x[i]
      for j in 4 serial:
        for u in 3 unroll:
          b[u] add= mul(a[], float32[j + u])
    otherwise:
      a[] = 7.0:float32
      when less(x[i], -1.0:float32):
        b[1] = x[i]
    for v in 3 unroll:
      y[i*3 + v] = add(a[], b[v])
""",
        threads=(1,),
        tolerance=1e-6,
    )


def test_nothing_is_read_where_a_condition_fails():
    """The rows say which elements there are; a load in the arm must not move out of it."""
    same(
        """program p
  rows: input int32[10]
  x: input float32[4]
  y: output float32[10]
kernel k:
  for i in 10 serial:
    t0 = rows[i]
    when less(t0, 4:int32):
      y[i] = x[{t0}]
    otherwise:
      y[i] = 0.0:float32
""",
        {"rows": [0, 3, 2**31 - 1, 4, 1, 2**30, 2, 3, 100000000, 0]},
        threads=(1,),
    )


def test_loads_do_not_move_over_stores():
    """Fibonacci: each turn of the loop reads what the one before has written."""
    found = same(
        """program p
  x: state int64[20]
kernel k:
  for i in 18 serial:
    x[i + 2] = add(x[i], x[i + 1])
""",
        {"x": [0, 1] + [0] * 18},
        threads=(1,),
    )
    assert found["x"][19] == 4181


def test_parts_of_a_buffer_are_the_same_memory():
    made = LoopProgram("p")
    whole = made.buffer("w", BY_NAME["float32"], (8,), "state")
    part = made.buffer("p", BY_NAME["float32"], (4,), "state")
    part.part, part.offset = whole, 8
    i = Axis("i", 3)
    dtype = BY_NAME["float32"]
    value = Expr("add", (load(part, i), const(1.0, dtype)), dtype)
    body = [For(i, [Store(whole, Index.of(i) + 3, value)], "serial")]
    made.blocks = [Kernel("k", body)]
    arrays = {whole.name: np.arange(8.0)}
    found = Machine(made).run(arrays)
    np.testing.assert_array_equal(found[whole.name], [0, 1, 2, 3, 4, 5, 6, 7])
    np.testing.assert_array_equal(found[part.name], [2, 3, 4, 5])


def test_big_unroll_loops_become_loops():
    text = """program p
  x: input float32[5000]
  y: output float32[5000]
kernel k:
  for i in 5000 unroll:
    y[i] = x[i]
"""
    same(text, threads=(1,))
    assert len(emit(parse(text), 32, VectorMathLibrary()).splitlines()) < 80


def test_repeat_and_if():
    """Collatz: If chooses a body, the last if there is none of that number."""
    found = same(
        """program p
  n: state int32[1]
  steps: state int32[1]
  go: temporary bool[1]
  which: temporary int32[1]
kernel t:
  go[0] = greater(n[0], 1:int32)
repeat i in 1000 while go:
  kernel w:
    which[0] = remainder(n[0], 2:int32)
    steps[0] add= 1:int32
  if which:
    case:
      kernel half:
        n[0] = floor_div(n[0], 2:int32)
    case:
      kernel more:
        n[0] = add(mul(n[0], 3:int32), 1:int32)
  kernel u:
    go[0] = greater(n[0], 1:int32)
""",
        {"n": [27], "steps": [0]},
        threads=(1, 3),
    )
    assert found["steps"][0] == 111


@pytest.mark.parametrize("choice, expected", [(0, 5.0), (1, 6.0), (2, 7.0), (-1, 7.0), (9, 7.0)])
def test_if_takes_the_last_for_other_numbers(choice: int, expected: float):
    text = """program p
  c: input int32[1]
  y: output float32[1]
if c:
"""
    for value in (5.0, 6.0, 7.0):
        text += f"  case:\n    kernel k:\n      y[0] = {value}:float32\n"
    found = same(text, {"c": [choice]}, threads=(1, 2))
    assert found["y"][0] == expected


def host_program() -> LoopProgram:
    return parse("""program p
  x: input float32[4]
  t: temporary float32[4]
  y: output float32[4]
  z: output float32[4]
kernel a:
  for i in 4 vector:
    t[i] = mul(x[i], 2.0:float32)
host sort(t) -> y
kernel b:
  for i in 4 parallel:
    z[i] = add(y[i], 1.0:float32)
""")


@pytest.mark.parametrize("threads", [1, 3])
def test_host_calls(threads: int):
    made = host_program()
    machine = Machine(made)
    t, y = made.buffers[1:3]

    def sort() -> None:
        machine.array(y)[:] = np.sort(machine.array(t))

    machine.hosts = [sort]
    found = machine.run({"x": [3.0, 1.0, 2.0, 0.0]}, threads)
    np.testing.assert_array_equal(found["z"], [1, 3, 5, 7])


@pytest.mark.parametrize("threads", [1, 3])
def test_all_threads_leave_when_a_host_call_fails(threads: int):
    machine = Machine(host_program())

    def fail() -> None:
        raise ArithmeticError

    machine.hosts = [fail]
    found = machine.run({"x": numbers(machine.program.buffers[0])}, threads)
    assert (found["z"].view(np.uint8) == 0xF5).all()  # as it was


def test_calls_of_routines():
    """A routine gets numbers as int64, scalars of their dtype, and places."""
    seen = []
    kind = ctypes.CFUNCTYPE(
        None, ctypes.c_int64, ctypes.c_int64, ctypes.c_float, ctypes.c_void_p, ctypes.c_void_p
    )

    def routine(m: int, n: int, alpha: float, x: int, z: int) -> None:
        seen.append((m, n, alpha))
        source, target = (ctypes.cast(p, ctypes.POINTER(ctypes.c_float)) for p in (x, z))
        for i in range(n):
            target[i] = alpha * source[i]

    text = """program p
  x: input float32[3, 4]
  y: output float32[3, 4]
  s: output float32[1]
kernel k:
  for r in 3 serial:
    call scale([r*2], [4], mul(x[r], 0.5:float32), &x[r*4], &y[r*4]) reads x writes y
  s[0] = y[11]
"""
    program = parse(text)
    machine = Machine(program, symbols={"talweg_scale_float32": kind(routine)})
    x = np.arange(1.0, 13.0, dtype=np.float32).reshape(3, 4)
    found = machine.run({"x": x})
    np.testing.assert_allclose(found["y"], x * x[0, :3, None] * 0.5)
    assert found["s"][0] == found["y"][2, 3]
    assert [(m, n) for m, n, _ in seen] == [(0, 4), (2, 4), (4, 4)]


def test_halves_are_rounded_when_stored_or_cast_only():
    same(
        """program p
  x: input float16[33]
  b: input bfloat16[33]
  y: output float16[33]
  z: output bfloat16[33]
  s: output float16[1]
kernel k:
  tile a: float32[] = 0.0:float32
  for i in 33 vector:
    t0 = mul(x[i], x[i])
    y[i] = sub(mul(t0, t0), t0)
    z[i] = add(b[i], bfloat16(float32(x[i])))
    a[] add= float32(x[i])
  s[0] = float16(a[])
""",
        threads=(1,),
        tolerance=1e-2,
    )


def test_an_expression_has_the_value_of_its_first_use():
    """Shared parts are computed once: here `x` is read before it is overwritten by a copy."""
    made = LoopProgram("p")
    dtype = BY_NAME["float32"]
    x = made.buffer("x", dtype, (8,), "input")
    y = made.buffer("y", dtype, (8,), "output")
    z = made.buffer("z", dtype, (8,), "output")
    i = Axis("i", 8)
    shared = Expr("exp", (load(x, i),), dtype)
    body = [Store(y, i, shared), Store(z, i, Expr("neg", (shared,), dtype))]
    made.blocks = [Kernel("k", [For(i, body, "vector")])]
    same(made, threads=(1,), tolerance=1e-5)
    text = emit(made, 32, VectorMathLibrary())
    assert text.count("call <8 x float> @talweg_exp") == 1


def test_equal_kernels_are_one_function():
    text = "program p\n  x: input float32[64]\n"
    for number in range(5):
        text += f"  y{number}: output float32[64]\n"
    for number in range(5):
        text += f"kernel k{number}:\n  for i in 64 vector:\n    y{number}[i] = exp(x[i])\n"
    same(text, threads=(1,), tolerance=1e-6)
    assert emit(parse(text), 32, VectorMathLibrary()).count("define internal void @kernel") == 1


def test_equal_kernels_are_emitted_once(monkeypatch):
    """GPT's 492 kernels have 74 functions: emitting the others took a second for nothing."""
    emitted = []
    function = kernel.KernelEmitter.function
    monkeypatch.setattr(
        kernel.KernelEmitter, "function", lambda *given: emitted.append(1) or function(*given)
    )
    text = "program p\n  x: state float32[64]\n  z: state float32[64]\n"
    text += "  part: state float32[32] in x at 128\n  half: state float32[32]\n"
    for kind in ("x z", "z x", "half x", "part x"):  # x and a part of it may not be `noalias`
        a, b = kind.split()
        text += f"kernel k:\n  for i in 32 vector:\n    {a}[i] = add({a}[i], {b}[i + 8])\n"
    program = parse(text)
    once = emit(program, 32, VectorMathLibrary())
    assert len(emitted) == 3
    count = itertools.count()
    monkeypatch.setattr(
        "talweg.execute.llvm.codegen.program.kernel_key",
        lambda *given: (str(next(count)), kernel_key(*given)[1]),
    )
    assert emit(program, 32, VectorMathLibrary()) == once
    assert len(emitted) == 3 + 4


def test_counters_are_opaque_to_llvm():
    """Loop strength reduction took a quarter of LLVM's time; it helps sums in registers alone."""
    text = "program p\n  x: state float32[640]\nkernel k:\n  for j in 10 parallel:\n"
    text += "    for i in 64:\n      x[j*64 + i] add= 1.0:float32\n"
    emitted = emit(parse(text), 32, VectorMathLibrary())
    counters = re.findall(r"%i(\d+) = phi i64 \[[^,]*, %before\1\], \[%n\1, %latch\1\]", emitted)
    assert len(counters) == 2
    for number in counters:
        assert f"%n{number} = call i64 @llvm.expect.i64(i64 %m{number}, i64 0)" in emitted
    text = "program p\n  x: input float32[640]\n  y: output float32[1]\nkernel k:\n"
    text += "  tile s: float32[] = 0.0:float32\n  for i in 640:\n    s[] add= x[i]\n  y[0] = s[]\n"
    assert "llvm.expect" not in emit(parse(text), 32, VectorMathLibrary())


def test_what_hardly_ever_runs_is_written_once():
    """A vector loop is written out elsewhere; in the arm for a NaN each copy is for nothing."""
    text = """program p
  x: input float32[64]
  y: state float32[64]
kernel k:
  tile s: float32[] = 0.0:float32
  for e in 64 vector:
    s[] add= mul(x[e], 0.0:float32)
  when {}(s[]{}):
    for i in 32 vector:
      tile z: float32[] = 0.0:float32
      for j in 2:
        z[] add= mul(x[i + j], x[j*32 + i])
      y[i] = z[]
  otherwise:
    y[0] = 1.0:float32
"""
    loops = []
    for condition in (("is_nan", ""), ("greater", ", 0.0:float32")):
        program = parse(text.format(*condition))
        loops.append(emit(program, 32, VectorMathLibrary()).count("icmp slt i64 %n"))
        same(text.format(*condition), tolerance=1e-6)
    assert loops[0] < loops[1]
    x = np.linspace(-1, 1, 64).astype(np.float32)
    for number in (1.0, np.nan):
        x[5] = number
        same(text.format("is_nan", ""), {"x": x}, tolerance=1e-6)


def test_chains_of_a_thousand_functions():
    """No recursion on expressions."""
    made = LoopProgram("p")
    dtype = BY_NAME["float32"]
    x = made.buffer("x", dtype, (9,), "input")
    y = made.buffer("y", dtype, (9,), "output")
    i = Axis("i", 9)
    value = load(x, i)
    for _ in range(3000):
        value = Expr("add", (value, const(1.0, dtype)), dtype)
    made.blocks = [Kernel("k", [For(i, [Store(y, i, value)], "vector")])]
    emit(made, 32, VectorMathLibrary())


def test_emission_takes_linear_time():
    """Ten times as many kernels take no more than twenty times as long."""

    def seconds(count: int) -> float:
        text = "program p\n  x: input float32[64, 100]\n  y: output float32[64, 100]\n"
        for number in range(count):
            text += f"""kernel k{number}:
  for r in 64 parallel:
    tile a: float32[] = 0.0:float32
    for i in 100 vector:
      a[] add= x[r*100 + i]
    for j in 100 vector:
      y[r*100 + j] = mul(sub(x[r*100 + j], a[]), 0.5:float32)
"""
        program = parse(text)
        best = 9.0
        for _ in range(3):
            start = time.process_time()
            emit(program, 32, VectorMathLibrary())
            best = min(best, time.process_time() - start)
        return best

    assert seconds(100) < 20 * seconds(10) + 0.01
