"""The NumPy executor of loop programs against formulas; what is poisoned, what is refused."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from talweg.core.errors import InternalError
from talweg.execute.loop_interpreter.interpreter import run
from talweg.lower.ir.printer import parse
from talweg.lower.ir.scalars import SCALARS
from talweg.lower.ir.verifier import check

RNG = np.random.default_rng(7)
X = RNG.standard_normal((6, 8)).astype(np.float32)
V = RNG.standard_normal(8).astype(np.float32)
IDS = np.array([3, -1, 5, 0, 6, 2], np.int64)

HEAD = """\
program p
  x: input float32[6, 8]
  v: input float32[8]
  ids: input int64[6]
  y: output float32[6, 8]
  r: output float32[6]
  c: output float32[8]
  t: temporary float32[6, 8]
  s: scratch float32[8]
  w: state float32[8]
"""


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


CASES = {
    "softmax": (
        """
  for i in 6 parallel:
    tile m: float32[] = -inf:float32
    for j in 8 vector:
      m[] maximum= x[i*8 + j]
    tile a: float32[] = 0.0:float32
    for j in 8 vector:
      t0 = exp(sub(x[i*8 + j], m[]))
      s[j] = t0
      a[] add= t0
    for j in 8 vector:
      y[i*8 + j] = div(s[j], a[])
""",
        lambda: {"y": softmax(X)},
    ),
    "columns": (
        """
  for o in 2 parallel:
    tile a: float32[2, 2] = 0.0:float32
    for q in 6:
      for u in 2 unroll:
        for l in 2 vector:
          a[u, l] add= x[q*8 + o*4 + u*2 + l]
    for u in 2 unroll:
      for l in 2 vector:
        c[o*4 + u*2 + l] = a[u, l]
""",
        lambda: {"c": X.sum(0)},
    ),
    "gather": (
        """
  for i in 6 parallel:
    t0 = ids[i]
    t1 = logical_and(greater_equal(t0, 0:int64), less(t0, 6:int64))
    for j in 8 vector:
      y[i*8 + j] = (x[{t0}*8 + j] if t1 else -1.0:float32)
""",
        lambda: {"y": np.where(((IDS >= 0) & (IDS < 6))[:, None], X[np.clip(IDS, 0, 5)], -1)},
    ),
    "scatter": (
        """
  for i in 48 vector:
    y[i] = 0.0:float32
  for i in 6:
    for j in 8 vector:
      y[{remainder(ids[i], 2:int64)}*8 + j] add= x[i*8 + j]
""",
        lambda: {"y": np.stack([X[IDS % 2 == 0].sum(0), X[IDS % 2 == 1].sum(0), *[V * 0] * 4])},
    ),
    "transpose": (
        """
  for i in 48 vector:
    y[i] = x[i%6*8 + i//6]
""",
        lambda: {"y": X.T.reshape(6, 8)},
    ),
    "conditions": (
        """
  for i in 6 parallel:
    r[i] = 5.0:float32
    when less(x[i*8], 0.0:float32):
      r[i] = x[i*8 + 1]
    otherwise:
      when greater(x[i*8], 1.0:float32):
        r[i] = float32[i*2 - 3]
""",
        lambda: {
            "r": np.where(X[:, 0] < 0, X[:, 1], np.where(X[:, 0] > 1, np.arange(6) * 2 - 3, 5))
        },
    ),
    "in place, by the old values": (
        """
  for i in 8 vector:
    t0 = w[i]
    t1 = add(mul(t0, 0.5:float32), v[i])
    w[i] = t1
    c[i] = sub(t1, t0)
    w[i] add= w[i]
""",
        lambda: {"w": 2 * (V * 3 * 0.5 + V), "c": V * 3 * -0.5 + V},
    ),
    "windows": (
        """
  for i in 8:
    tile a: float32[] = 0.0:float32
    for k in 3:
      t0 = int64[i + k - 1]
      t1 = logical_and(greater_equal(t0, 0:int64), less(t0, 8:int64))
      a[] add= (v[i + k - 1] if t1 else 0.0:float32)
    c[i] = a[]
""",
        lambda: {"c": np.convolve(V, [1, 1, 1], "same")},
    ),
}


@pytest.mark.parametrize("lanes", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_formulas(name, lanes):
    text, formula = CASES[name]
    program = parse(HEAD + "kernel k:\n" + text.lstrip("\n"))
    check(program)
    found = run(program, {"x": X, 1: V, "ids": IDS, "w": V * 3}, lanes)
    for key, wanted in formula().items():
        np.testing.assert_allclose(found[key], wanted, 1e-5, 1e-6)


def one(expression: str, result: str = "float32", **arrays) -> np.ndarray:
    """An expression of arrays x, y and so on, place by place."""
    size = len(next(iter(arrays.values())))
    kinds = "".join(f"  {n}: input {a.dtype.name}[{size}]\n" for n, a in arrays.items())
    text = f"program p\n{kinds}  out: output {result}[{size}]\nkernel k:\n"
    program = parse(f"{text}  for i in {size} vector:\n    out[i] = {expression}\n")
    check(program)
    return run(program, arrays)["out"]


F = np.array([0, -0.5, 2.5, 3.99, -129.7, 300, 1e30, -1e30, np.inf, -np.inf, np.nan], np.float32)


@pytest.mark.parametrize(
    "dtype, wanted",
    [
        ("int8", [0, 0, 2, 3, -128, 127, 127, -128, 127, -128, 0]),
        ("uint8", [0, 0, 2, 3, 0, 255, 255, 0, 255, 0, 0]),
        ("int32", [0, 0, 2, 3, -129, 300, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 0]),
        ("int64", [0, 0, 2, 3, -129, 300, 2**63 - 1, -(2**63), 2**63 - 1, -(2**63), 0]),
        ("uint64", [0, 0, 2, 3, 0, 300, 2**64 - 1, 0, 2**64 - 1, 0, 0]),
    ],
)
def test_floats_to_integers_saturate(dtype, wanted):
    for name in ("float32", "float64"):
        assert one(f"{dtype}(x[i])", dtype, x=F.astype(name)).tolist() == wanted


def test_other_casts():
    wide = np.array([300, -1, 2**31, 5], np.int64)
    assert one("uint8(x[i])", "uint8", x=wide).tolist() == [44, 255, 0, 5]
    assert one("int32(x[i])", "int32", x=wide).tolist() == [300, -1, -(2**31), 5]
    assert one("bool(x[i])", "bool", x=F).tolist() == [False] + [True] * 10
    assert one("float32(x[i])", x=np.array([True, False])).tolist() == [1, 0]
    found = one("bits int32(x[i])", "int32", x=F)
    assert found.tolist() == F.view(np.int32).tolist()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_is_rounded_when_it_is_stored(dtype):
    x = RNG.standard_normal(40).astype(dtype)
    y = x.astype(np.float32)
    name = np.dtype(dtype).name
    found = one("mul(add(x[i], x[i]), exp(x[i]))", name, x=x)
    assert found.tolist() == ((y + y) * np.exp(y)).astype(dtype).tolist()
    third = one("float32(mul(x[i], 0.1:" + name + "))", x=x)
    assert third.tolist() == (y * np.float32(dtype(0.1))).tolist()
    third = one(f"float32({name}(mul(float32(x[i]), 0.1:float32)))", x=x)
    assert third.tolist() == (y * np.float32(0.1)).astype(dtype).astype(np.float32).tolist()


def test_integers():
    x = np.array([7, -7, 5, -(2**31), 2**31 - 1, 3], np.int32)
    y = np.array([2, 2, 0, -1, 1, 40], np.int32)
    assert one("floor_div(x[i], y[i])", "int32", x=x, y=y).tolist()[:3] == [3, -4, 0]
    assert one("remainder(x[i], y[i])", "int32", x=x, y=y).tolist() == [1, 1, 0, 0, 0, 3]
    assert one("add(x[i], y[i])", "int32", x=x, y=y).tolist()[3:5] == [2**31 - 1, -(2**31)]
    assert one("shift_left(x[i], y[i])", "int32", x=x, y=y).tolist()[5] == 0
    assert one("shift_right(x[i], y[i])", "int32", x=x, y=np.full(6, 40, np.int32)).tolist() == [
        0,
        -1,
        0,
        -1,
        0,
        0,
    ]


@pytest.mark.parametrize("name", sorted({*SCALARS} - {"philox32", "philox64"}))
def test_scalar_functions(name):
    scalar = SCALARS[name]
    dtype = {"f": "float32", "i": "int32", "b": "bool"}[scalar.kinds[0]]
    positive = np.array([1.5, 2.25, 1.125]) if dtype == "float32" else np.array([1, 3, 2])
    for names in ("x", "xy", "xyz"):
        arrays = {n: (positive + k).astype(dtype) for k, n in enumerate(names)}
        if name in ("asin", "acos", "atanh"):
            arrays = {n: a / 4 for n, a in arrays.items()}
        try:
            wanted = scalar.numpy(*arrays.values())
        except TypeError:  # another number of operands
            continue
        result = "bool" if scalar.result == "bool" else dtype
        found = one(f"{name}({', '.join(f'{n}[i]' for n in names)})", result, **arrays)
        np.testing.assert_array_equal(found, wanted)
        assert not np.isnan(found.astype(float)).any()
        return
    raise AssertionError("no number of operands fits")


# -- memory


def test_what_nobody_wrote_is_poison():
    program = parse(
        "program p\n  x: output float32[3]\n  h: output float16[2]\n  s: scratch float64[2]\n"
        "  d: output float64[2]\n  n: temporary int32[]\n  k: output int32[]\n"
        "kernel a:\n  s[0] = 1.0:float64\n  d[0] = s[0]\nkernel b:\n  d[1] = s[0]\n  k[0] = n[0]\n"
    )
    found = run(program, {})
    assert np.isnan(found["x"]).all() and np.isnan(found["h"]).all()
    assert found["d"][0] == 1 and np.isnan(found["d"][1])
    assert found["k"] < 0


SHARED = """\
program p
  x: input float32[4]
  a: temporary float32[4]
  b: temporary float32[4] at {place}
  y: output float32[4]
kernel one:
  for i in 4 vector:
    a[i] = x[i]
kernel two:
  for i in 4 vector:
    b[i] = neg(x[i])
kernel three:
  for i in 4 vector:
    y[i] = sub(a[i], b[i])
"""


def test_temporaries_lie_where_they_are_planned():
    x = np.arange(1, 5, dtype=np.float32)
    for place, wanted in ((0, x * 2), (64, x * 2), (16, x * 2)):
        assert run(parse(SHARED.format(place=place)), {"x": x})["y"].tolist() == wanted.tolist()
    assert run(parse(SHARED.format(place=8)), {"x": x})["y"].tolist() != (x * 2).tolist()


def test_parts():
    program = parse(
        "program p\n  x: input float32[6]\n  y: output float32[6]\n"
        "  b: temporary float32[3] in y at 12\n  a: temporary float32[2] in b at 4\n"
        "kernel k:\n  for i in 6:\n    y[i] = x[i]\n  for i in 2:\n    a[i] = neg(b[i])\n"
    )
    found = run(program, {"x": np.arange(6, dtype=np.float32)})["y"]
    assert found.tolist() == [0, 1, 2, 3, -3, 3]


@pytest.mark.parametrize("lanes", [True, False])
@pytest.mark.parametrize(
    "statement", ["y[i + 1] = 0.0:float32", "y[0] = x[i + 1]", "y[0] = x[{n[i]}]"]
)
def test_indices_outside_are_errors(statement, lanes):
    text = "program p\n  x: input float32[4]\n  n: input int32[4]\n  y: output float32[4]\n"
    program = parse(f"{text}kernel k:\n  for i in 4 vector:\n    {statement}\n")
    arrays = {"x": np.zeros(4, np.float32), "n": np.array([0, -1, 2, 3], np.int32)}
    with pytest.raises(InternalError, match="outside of"):
        run(program, arrays, lanes)


def test_arrays_that_do_not_fit():
    program = parse("program p\n  x: input float32[4]\n")
    for arrays in ({}, {"x": np.zeros(5, np.float32)}, {"x": np.zeros(4)}):
        with pytest.raises(InternalError, match="x"):
            run(program, arrays)


def test_states_are_not_changed_in_the_callers_array():
    program = parse("program p\n  w: state float32[2]\nkernel k:\n  w[0] = 5.0:float32\n")
    w = np.zeros(2, np.float32)
    assert run(program, {"w": w})["w"].tolist() == [5, 0]
    assert w.tolist() == [0, 0]


# -- blocks

CONTROL = """\
program p
  n: input int32[]
  count: output int32[]
  total: output int32[]
  go: temporary bool[1]
  kind: output int32[]
kernel start:
  count[0] = 0:int32
  total[0] = 0:int32
kernel test:
  go[0] = less(count[0], n[0])
repeat t in 1000 while go:
  kernel step:
    count[0] add= 1:int32
  host square(count) -> kind
  kernel sum:
    total[0] = add(total[0], kind[0])
  kernel again:
    go[0] = less(count[0], n[0])
if n:
  case 0:
    kernel zero:
      kind[0] = 100:int32
  case 1:
    kernel one:
      kind[0] = 101:int32
  case 2:
    kernel more:
      kind[0] = 102:int32
"""


@pytest.mark.parametrize("n, kind", [(0, 100), (1, 101), (2, 102), (5, 102), (-3, 102)])
def test_control_flow(n, kind):
    program = parse(CONTROL)
    with pytest.raises(InternalError, match="has no function"):
        run(program, {"n": np.int32(1)})
    program.blocks[2].body[1].function = lambda x: [x * x]
    found = run(program, {"n": np.int32(n)})
    steps = max(n, 0)
    assert found["count"] == steps
    assert found["total"] == sum(k * k for k in range(steps + 1))
    assert found["kind"] == kind


@pytest.mark.parametrize("transpose_x", [0, 1])
@pytest.mark.parametrize("transpose_y", [0, 1])
@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_gemm(transpose_x, transpose_y, beta):
    m, n, k, x_step, y_step, z_step = 3, 4, 5, 7, 8, 6
    x, y = RNG.standard_normal(100), RNG.standard_normal(100)
    z = np.where(np.arange(60) % 2, np.nan if beta == 0 else 2.0, 1.0)
    text = (
        "program p\n  x: input float64[100]\n  y: input float64[100]\n  z: state float64[60]\n"
        f"kernel k:\n  for i in 2:\n    call gemm([{transpose_x}], [{transpose_y}], [{m}], [{n}], "
        f"[{k}], 2.0:float64, &x[i*40 + 2], [{x_step}], &y[i*42 + 1], [{y_step}], "
        f"{beta}:float64, &z[i*30], [{z_step}]) reads x, y writes z\n"
    )
    program = parse(text)
    check(program)
    found = run(program, {"x": x, "y": y, "z": z})["z"]
    wanted = z.copy()
    for i in range(2):
        for row in range(m):
            for column in range(n):
                place, total = i * 30 + row * z_step + column, 0.0
                for r in range(k):
                    a = r * x_step + row if transpose_x else row * x_step + r
                    b = column * y_step + r if transpose_y else r * y_step + column
                    total += x[i * 40 + 2 + a] * y[i * 42 + 1 + b]
                wanted[place] = 2 * total + (beta * z[place] if beta else 0)
    np.testing.assert_allclose(found, wanted, 1e-12)


def test_clock():
    program = parse(
        "program p\n  t: output int64[2]\nkernel k:\n  call clock(&t[0]) reads writes t\n"
        "  call clock(&t[1]) reads writes t\n"
    )
    check(program)
    first, second = run(program, {})["t"].tolist()
    assert first < second
