"""Every scalar function on every dtype, in vectors and one by one, at the edges of its domain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from talweg.core.dtypes import BY_NAME, DType, bool_, float32
from talweg.execute.llvm.vector_math.library import FUNCTIONS
from talweg.lower.handler import s
from talweg.lower.ir.index import Axis, Index
from talweg.lower.ir.loops import Expr, For, Kernel, LoopProgram, Store, const, load, number
from talweg.lower.ir.scalars import SCALARS, Scalar
from tests.execute.emitted import Machine, same

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
NAMES = {"f": FLOATS, "i": INTEGERS[::2], "u": INTEGERS[1::2], "b": ["bool"]}
LIBRARY = set(FUNCTIONS)
DIRECT = [name for name, scalar in SCALARS.items() if scalar.cost < 12 or name[0] in "fr"]


def edges(dtype: DType) -> np.ndarray:
    """Numbers where functions change their mind."""
    if dtype.is_bool:
        return np.array([False, True, True, False, True])
    if dtype.is_floating:
        values = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1.0, -1.0, 3.25, 100.7, -7.1]
        return np.array([*values, np.inf, -np.inf, np.nan]).astype(dtype.numpy_dtype)
    info = np.iinfo(dtype.numpy_dtype)
    values = [info.min, info.max, info.max - 1, 0, 1, 2, 3, 7, 100, 31, 64, 8]
    values += [-1, -2, -7] if info.min else []
    return np.array(values, dtype.numpy_dtype)


def columns(dtype: DType, count: int) -> list[np.ndarray]:
    """All combinations of edges, as `count` arrays."""
    some = edges(dtype) if count < 3 else edges(dtype)[::2]
    return [part.reshape(-1) for part in np.meshgrid(*[some] * count, indexing="ij")]


def add(
    made: LoopProgram,
    arrays: list,
    given: dict,
    make: Any,
    result: DType,
    dtype: DType,
    serial: str = "serial",
):
    """y = make(x...) in a vector loop, one by one, and with the second operand from element 5."""
    size = arrays[0].size
    operands = [made.buffer("x", dtype, (size,), "input") for _ in arrays]
    given.update({buffer.name: array for buffer, array in zip(operands, arrays)})
    for kind in ("vector", "serial", "splat"):
        output = made.buffer(kind, result, (size,), "output")
        i = Axis("i", size)
        values = [load(x, i) for x in operands]
        if kind == "splat" and len(values) > 1:
            values[1] = load(operands[1], 5)
        loop = For(i, [Store(output, i, make(*values))], serial if kind == "serial" else "vector")
        made.blocks.append(Kernel(kind, [loop]))


def arity(scalar: Scalar) -> int:
    """How many operands a function has."""
    if scalar.name == "fma":
        return 3
    found = getattr(scalar.numpy, "nin", None)
    return found or 1


@pytest.mark.parametrize("name", DIRECT)
def test_direct(name: str):
    scalar = SCALARS[name]
    made, given = LoopProgram("p"), {}
    for dtype in [BY_NAME[one] for kind in scalar.kinds for one in NAMES[kind]]:
        arrays = columns(dtype, arity(scalar))
        result = bool_ if scalar.result == "bool" else dtype
        if name in ("floor_div", "remainder") and not dtype.is_unsigned:
            low = np.iinfo(dtype.numpy_dtype).min  # NumPy's result there is not defined
            arrays[0][(arrays[0] == low) & (arrays[1] == -1)] = 5
        if name == "exp_below":
            arrays[0] = -np.abs(arrays[0])
        add(made, arrays, given, function(name, result), result, dtype)
    same(made, given, threads=(1,), tolerance=1e-6)


def function(name: str, result: DType) -> Any:
    """Makes expressions of a function."""

    def make(*operands: Expr) -> Expr:
        return Expr(name, operands, result)

    return make


def test_smallest_divided_by_minus_one():
    """It does not trap, and wraps."""
    made, given = LoopProgram("p"), {}
    for one in INTEGERS[::2]:
        dtype = BY_NAME[one]
        low = np.iinfo(dtype.numpy_dtype).min
        arrays = [np.full(11, low), np.full(11, -1)]
        add(made, arrays, given, function("floor_div", dtype), dtype, dtype)
        add(made, arrays, given, function("remainder", dtype), dtype, dtype)
    for name, value in Machine(made).run(given).items():
        dtype = next(buffer.dtype for buffer in made.buffers if buffer.name == name)
        assert set(value.tolist()) <= {np.iinfo(dtype.numpy_dtype).min, 0}


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_library(name: str):
    for one, tolerance in (("float32", 2e-6), ("float64", 1e-13), ("float16", 1e-3)):
        dtype = BY_NAME[one]
        made, given = LoopProgram("p"), {}
        x = np.linspace(1.05, 1.95, 23) - (name not in ("acosh",))
        add(made, [x] * arity(SCALARS[name]), given, function(name, dtype), dtype, dtype)
        same(made, given, threads=(1,), tolerance=tolerance)


@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS, "bool"])
def test_casts(source: str):
    dtype = BY_NAME[source]
    x = edges(dtype)
    if dtype.is_floating:
        more = np.array([1e30, -1e30, 3e9, -3e9, 1e19, 70000.0, 255.5, 65519.9, 65520, 2.0**-25])
        with np.errstate(over="ignore"):
            x = np.concatenate([x, more.astype(dtype.numpy_dtype)])
    made = LoopProgram("p")
    given = made.buffer("x", dtype, (x.size,), "input")
    for target in [*FLOATS, *INTEGERS, "bool"]:
        for kind in ("vector", "serial"):
            output = made.buffer(f"{kind}_{target}_", BY_NAME[target], (x.size,), "output")
            i = Axis("i", x.size)
            value = Expr("cast", (load(given, i),), BY_NAME[target])
            made.blocks.append(Kernel("k", [For(i, [Store(output, i, value)], kind)]))
    same(made, {given.name: x}, threads=(1,))


def test_rounding_of_doubles_to_halves():
    """float64 to float16 is rounded once: 1 + 2^-11 + 2^-40 is more than half way."""
    ties = np.array([1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-40, 1 + 3 * 2.0**-11 - 2.0**-40, -7.1])
    made = LoopProgram("p")
    given = made.buffer("x", BY_NAME["float64"], (4,), "input")
    output = made.buffer("y", BY_NAME["float16"], (4,), "output")
    i = Axis("i", 4)
    value = Expr("cast", (load(given, i),), BY_NAME["float16"])
    made.blocks.append(Kernel("k", [For(i, [Store(output, i, value)], "vector")]))
    same(made, {given.name: ties}, threads=(1,))


@pytest.mark.parametrize(
    "source, target",
    [
        ("float32", "int32"),
        ("int32", "float32"),
        ("float64", "uint64"),
        ("uint16", "float16"),
        ("bfloat16", "int16"),
        ("float16", "uint16"),
        ("int8", "uint8"),
    ],
)
def test_bits(source: str, target: str):
    size = 19
    made = LoopProgram("p")
    given = made.buffer("x", BY_NAME[source], (size,), "input")
    output = made.buffer("y", BY_NAME[target], (size,), "output")
    i = Axis("i", size)
    value = Expr("bits", (load(given, i),), BY_NAME[target])
    made.blocks.append(Kernel("k", [For(i, [Store(output, i, value)], "vector")]))
    same(made, {given.name: np.arange(1, size + 1)}, threads=(1,))


def test_constants_are_exact():
    values = {
        "float32": [0.1, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3.4e38, 1e39],
        "float64": [0.1, 5e-324, np.nan, -np.inf],
        "float16": [0.1, 65504.0, 1e9, 6e-8],
        "bfloat16": [0.1, 1e38],
        "uint64": [2**64 - 1, 2**63, 7],
        "int8": [-128, 127],
        "uint8": [255],
        "int64": [-(2**63), 2**63 - 1],
        "bool": [True, False],
    }
    made = LoopProgram("p")
    for name, list_ in values.items():
        dtype = BY_NAME[name]
        for value in list_:
            output = made.buffer("y", dtype, (9,), "output")
            i = Axis("i", 9)
            loop = For(i, [Store(output, i, const(value, dtype))], "vector")
            made.blocks.append(Kernel("k", [loop]))
    same(made, threads=(1,))


@pytest.mark.parametrize("name", ["int8", "int32", "uint8", "int64", "float32", "float64"])
def test_index_as_number(name: str):
    dtype = BY_NAME[name]
    made = LoopProgram("p")
    i, r = Axis("i", 13), Axis("r", 3)
    for index in (
        Index.of(i),
        Index.of(r) * 13 + i,
        Index.of(i) * -3 + 40,
        Index.of(i) // 4,
        (Index.of(i) * 3 + r) % 7,
        Index.of(r),
        Index.of(5),
    ):
        output = made.buffer("y", dtype, (3, 13), "output")
        store = Store(output, Index.of(r) * 13 + i, number(index, dtype))
        made.blocks.append(Kernel("k", [For(r, [For(i, [store], "vector")], "parallel")]))
    same(made)


def test_select_by_scalar_and_by_lane():
    size = 21
    dtype = BY_NAME["float32"]
    made = LoopProgram("p")
    x = made.buffer("x", dtype, (size,), "input")
    flags = made.buffer("c", bool_, (size,), "input")
    i = Axis("i", size)
    for condition in (load(flags, i), load(flags, 3)):
        output = made.buffer("y", dtype, (size,), "output")
        value = Expr("select", (condition, load(x, i), const(2.5, dtype)), dtype)
        made.blocks.append(Kernel("k", [For(i, [Store(output, i, value)], "vector")]))
    same(made)


@pytest.mark.parametrize("name", ["floor_div", "remainder"])
def test_division_of_vectors(name: str):
    """All pairs of 8-bit numbers; wider ones at random and next to multiples of the divisor.

    What NumPy gives for all at once is wanted of the loop that goes one by one, too.
    """
    made, at_once, given = LoopProgram("p"), LoopProgram("p"), {}
    random = np.random.default_rng(0)
    for one in INTEGERS[:6]:
        dtype = BY_NAME[one]
        info = np.iinfo(dtype.numpy_dtype)
        if dtype.size == 1:
            every = np.arange(info.min, info.max + 1)
            x, y = [part.reshape(-1) for part in np.meshgrid(every, every, indexing="ij")]
        else:
            y = random.integers(info.min, info.max, 4000, endpoint=True)
            y[::2] = random.integers(max(info.min, -300), 300, 2000)
            x = random.integers(info.min, info.max, 4000, endpoint=True)
            near = x // np.where(y == 0, 1, y) * y + random.integers(-1, 2, 4000)
            x[::3] = np.clip(near, info.min, info.max)[::3]
        x = np.where((x == info.min) & (y == -1), 5, x)  # NumPy's result there is not defined
        add(made, [x, y], given, function(name, dtype), dtype, dtype)
        add(at_once, [x, y], given, function(name, dtype), dtype, dtype, serial="vector")
    assert [buffer.name for buffer in made.buffers] == [buffer.name for buffer in at_once.buffers]
    same(made, given, threads=(1,), meaning=at_once)


def test_a_choice_between_equal_numbers_is_none():
    positive = s.greater(number(Axis("i", 3), float32), 0.0)
    zero, nan = const(0.0, float32), const(float("nan"), float32)
    assert s.select(positive, zero, const(0.0, float32)).op == "const"
    assert s.select(positive, nan, const(float("nan"), float32)).op == "const"
    for other in (-0.0, 1.0, float("nan")):
        assert s.select(positive, zero, const(other, float32)).op == "select"
