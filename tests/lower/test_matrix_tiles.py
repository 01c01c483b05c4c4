"""Products of 16-bit matrices by matrix registers give what NumPy gives, without float32 copies.

They are made for such registers on every machine: where there are none vectors stand in for them.
"""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core.dtypes import bfloat16, float16, float32
from talweg.core.primitive import later
from talweg.execute.llvm.runtime.executable import Executable
from talweg.execute.loop_interpreter import interpreter
from talweg.lower.build import build
from talweg.lower.fusion.views import FEWEST_SPLIT
from talweg.lower.ir.loops import Call
from talweg.lower.ir.verifier import check
from talweg.lower.ir.visitors import all_statements
from talweg.lower.matmul import matrix_tiles
from talweg.passes.optimize.pipeline import optimize
from talweg.passes.specialize.program import StaticProgram, Value

assert tf.matmul  # loads the declarations
SIZES = [(2, 8, 8), (33, 40, 70), (130, 17, 35), (64, 2100, 33), (40, 64, 300)]
ULP = {bfloat16: 2.0**-8, float16: 2.0**-11}
PRODUCT = {bfloat16: "tile_product", float16: "tile_split_product"}


@pytest.fixture(params=[bfloat16, float16], ids=lambda dtype: dtype.name)
def dtype(request):
    return request.param


def calls(lowered):
    """The routines that a program calls."""
    kernels = [block for block in lowered.program.blocks if hasattr(block, "body")]
    return [
        statement.routine
        for kernel in kernels
        for statement in all_statements(kernel.body)
        if type(statement) is Call
    ]


class Case:
    """tanh(x y / sqrt(k) + b) of 16-bit matrices, transposed or not."""

    def __init__(
        self, x_dims, y_dims, turned=(False, False), finish=True, computed=False, dtype=bfloat16
    ):
        self.static, self.arrays, self.computed = StaticProgram(), [], computed
        self.dtype = dtype
        rng = np.random.default_rng(0)
        self.values = [self.given(rng, dims, flip) for dims, flip in zip((x_dims, y_dims), turned)]
        apply = self.static.apply
        z = apply(later("matmul"), [value for value, _ in self.values], {})
        x, y = [array.astype(np.float64) for _, array in self.values]
        self.wanted = x @ y
        self.scale = np.sqrt(x_dims[-1])
        if finish:
            bias = self.given(rng, (y_dims[-1],), False)
            self.wanted = np.tanh(self.wanted + bias[1].astype(np.float64))
            self.scale = 1.0
            z = apply(later("tanh"), [apply(later("add"), [z, bias[0]], {})], {})
        self.static.outputs = [z]
        optimize(self.static)

    def given(self, rng, dims, turned):
        held = (*dims[:-2], *dims[:-3:-1]) if turned else dims
        array = rng.normal(size=held).astype(self.dtype.numpy_dtype)
        value = Value(array.shape, float32 if self.computed else self.dtype)
        self.static.inputs.append(value)
        self.arrays.append(array.astype(value.dtype.numpy_dtype))
        if self.computed:
            value = self.static.apply(later("cast"), [value], {"dtype": self.dtype})
        if not turned:
            return value, array
        perm = (*range(len(dims) - 2), len(dims) - 1, len(dims) - 2)
        value = self.static.apply(later("transpose"), [value], {"perm": perm})
        return value, array.transpose(perm)

    def lowered(self, threads=1, tiles=True):
        found = build(self.static, "product", threads, 32, tiles)
        check(found.program)
        return found

    def same(self, found):
        """What was found is right, if each of x y, the sum and the last result is rounded."""
        error = np.abs(found.astype(np.float64) - self.wanted)
        assert (error <= 3 * ULP[self.dtype] * np.maximum(np.abs(self.wanted), self.scale)).all()


def machine_code(case, threads):
    lowered = case.lowered(threads)
    made = Executable(lowered.program, lowered.inputs, [], lowered.outputs, threads)
    return made(case.arrays, [])[0]


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False)])
@pytest.mark.parametrize("m, k, n", SIZES)
def test_one_product(m, k, n, turned, threads, dtype):
    case = Case((m, k), (k, n), turned, dtype=dtype)
    split = dtype is float16 and m >= FEWEST_SPLIT
    assert (PRODUCT[dtype] in calls(case.lowered(threads))) == (split or dtype is bfloat16)
    case.same(machine_code(case, threads))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("x, y", [((3, 20), ()), ((), (4,)), ((3,), (3,)), ((2, 3), (1, 3))])
def test_batches(x, y, threads, dtype):
    case = Case((*x, 24, 40), (*y, 40, 17), finish=False, dtype=dtype)
    case.same(machine_code(case, threads))


@pytest.mark.parametrize("count", [2, 5])
def test_several_panels_of_each_of_few_products_are_shared(count, dtype):
    """The loops that pack them are parallel as a whole, a panel's within a product's."""
    case = Case((count, 65, 100), (count, 100, 65), finish=False, dtype=dtype)
    case.same(machine_code(case, 3))


@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False)])
def test_operands_that_are_computed_are_stored_as_they_are_read(turned, dtype):
    """As those of mixed precision are, which are casts of float32 weights."""
    case = Case((40, 64), (64, 33), turned, finish=False, computed=True, dtype=dtype)
    case.same(machine_code(case, 2))
    wide = [buffer for buffer in case.lowered().program.buffers if buffer.kind == "temporary"]
    assert {buffer.dtype for buffer in wide if len(buffer.shape) == 2} == {dtype}


def test_parts_and_groups_of_every_kind(monkeypatch, dtype):
    monkeypatch.setattr(matrix_tiles, "PART", 64)
    monkeypatch.setattr(matrix_tiles, "GROUP_BYTES", 1 << 13)
    for k in (64, 65, 128, 150):
        for threads in (1, 2):
            case = Case((200, k), (k, 200), dtype=dtype)
            case.same(machine_code(case, threads))


def test_numpy_runs_the_loop_program(dtype):
    case = Case((40, 70), (70, 33), dtype=dtype)
    assert PRODUCT[dtype] in calls(case.lowered())
    lowered = case.lowered()
    given = {buffer.name: array for buffer, array in zip(lowered.inputs, case.arrays)}
    found = interpreter.run(lowered.program, given)
    case.same(found[lowered.outputs[0].name])


def test_nothing_is_stored_as_float32_but_blocks_of_sums(dtype):
    program = Case((256, 256), (256, 256), dtype=dtype).lowered(2).program
    wide = [buffer for buffer in program.buffers if buffer.dtype.name == "float32"]
    assert {buffer.kind for buffer in wide} == {"scratch"}


def test_other_processors_and_small_products_have_none():
    assert not calls(Case((64, 64), (64, 64)).lowered(tiles=False))
    assert not calls(Case((64, 64), (64, 64), dtype=float16).lowered(tiles=False))
    assert "tile_product" not in calls(Case((1, 64), (64, 4)).lowered())
    few = Case((FEWEST_SPLIT - 1, 64), (64, 64), dtype=float16)
    assert not calls(few.lowered())


def test_infinite_numbers_and_overflow_are_those_of_float32():
    """Of split numbers, infinity times a part of 0 would be NaN."""
    case = Case((20, 40), (40, 33), finish=False, dtype=float16)
    x, y = case.arrays
    x[0, 3], x[1, 5], x[2] = np.inf, -np.inf, 30000
    y[3, 7] = y[5, 8] = 0
    with np.errstate(all="ignore"):
        wanted = (x.astype(np.float32) @ y.astype(np.float32)).astype(np.float16)
    assert np.isnan(wanted).any() and np.isinf(wanted[:3]).any(1).all()
    found = machine_code(case, 1)
    same = np.isfinite(wanted) == np.isfinite(found)
    assert same.all() and (np.isnan(wanted) == np.isnan(found)).all()
    infinite = np.isinf(wanted)
    np.testing.assert_array_equal(found[infinite], wanted[infinite])


def test_weights_are_ordered_once_before_a_loop(dtype):
    w = tf.cast(tf.random.normal((64, 64), seed=1), dtype.name)

    @tf.function
    def run(x):
        for _ in tf.range(5):
            x = tf.tanh(tf.matmul(x, w))
        return x

    x = tf.cast(tf.ones((32, 64)), dtype.name)
    wanted = x
    for _ in range(5):
        wanted = tf.tanh(tf.matmul(wanted, w))
    for _ in range(4):
        found = run(x)
    np.testing.assert_allclose(
        tf.cast(found, tf.float64), tf.cast(wanted, tf.float64), atol=0.1, rtol=0.05
    )
