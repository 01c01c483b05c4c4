"""Products of matrices, as loops and by BLAS, give what NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import talweg as tf
from talweg.core.dtypes import of_numpy
from talweg.core.primitive import later
from talweg.core.settings import executor
from talweg.execute.llvm.runtime.executable import Executable
from talweg.execute.loop_interpreter import interpreter
from talweg.lower.build import build
from talweg.lower.ir.loops import Kernel, Repeat
from talweg.lower.ir.verifier import check
from talweg.lower.matmul import column_blocks, products, register_tiles
from talweg.passes.functionalize import program_of
from talweg.passes.specialize.program import StaticProgram, Value

assert tf.matmul  # loads the declarations
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}
SIZES = (1, 2, 3, 5, 6, 7, 8, 12, 13, 16, 17, 24, 31, 33)
BATCHES = ((), (), (3,), (2, 3), (1, 2))
SEEN = ("plain", "turned", "part", "heads", "same", "single")


class Case:
    """act(x y + b) in one dtype; x and y transposed views, or parts of something wider."""

    def __init__(self, sizes, batch=(), seen=("plain", "plain"), dtype="float32", finish=False):
        self.static, self.arrays = StaticProgram(), []
        rows, k, n = sizes
        self.scale = max(k, 1) ** -0.25  # so that results are near 1
        self.rng = np.random.default_rng(0)
        x, x_array = self.operand(batch, (rows, k), seen[0], dtype)
        y, y_array = self.operand(batch, (k, n), seen[1], dtype)
        z = self.static.apply(later("matmul"), [x, y], {})
        self.wanted = x_array @ y_array
        self.static.outputs = [z]
        if finish:
            other = self.given(self.wanted.shape, dtype)
            total = self.static.apply(later("add"), [z, other], {})
            self.wanted = np.tanh(self.wanted + self.arrays[-1])
            self.static.outputs = [self.static.apply(later("tanh"), [total], {})]

    def given(self, dims, dtype) -> Value:
        """An input."""
        array = self.rng.normal(0, self.scale, dims).astype(dtype)
        value = Value(array.shape, of_numpy(array.dtype))
        self.static.inputs.append(value)
        self.arrays.append(array)
        return value

    def operand(self, batch, dims, seen, dtype) -> tuple:
        """Matrices seen in a way, and what NumPy sees."""
        apply, count = self.static.apply, len(batch)
        if seen == "turned":
            x = self.given((*batch, *dims[::-1]), dtype)
            perm = (*range(count), count + 1, count)
            value = apply(later("transpose"), [x], {"perm": perm})
            return value, self.arrays[-1].transpose(perm)
        if seen == "part":  # of wider rows
            x = self.given((*batch, dims[0], dims[1] + 5), dtype)
            ends, ones = (*batch, dims[0], dims[1] + 2), (1,) * (count + 2)
            params = {"begin": (*[0] * (count + 1), 2), "end": ends, "strides": ones}
            return apply(later("strided_slice"), [x], params), self.arrays[-1][..., 2:-3]
        if seen == "heads":  # rows of all matrices by turns
            x = self.given((*batch[:-1], dims[0], *batch[-1:], dims[1]), dtype)
            perm = tuple(range(count + 2))
            perm = (*perm[: count - 1], count, count - 1, count + 1) if count else perm
            value = apply(later("transpose"), [x], {"perm": perm})
            return value, self.arrays[-1].transpose(perm)
        batch = {"plain": batch, "same": (1,) * count, "single": ()}[seen]
        return self.given((*batch, *dims), dtype), self.arrays[-1]

    def lowered(self, way: str, threads: int = 1):
        """The loop program, one way or the other."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(products, "is_direct", lambda product: way == "direct")
            if way == "columns":
                patch.setattr(column_blocks, "LEAST_ROWS", 1)
                patch.setattr(column_blocks, "GROUP_BYTES", {32: 4096, 64: 8192})
                patch.setattr(register_tiles, "PART", 16)
                patch.setattr(register_tiles, "FAR", 8)
            else:
                patch.setattr(products, "by_column_blocks", lambda *_: None)
            found = build(self.static, threads=threads)
        check(found.program)
        return found

    def close(self, found) -> None:
        """Equal to rounding."""
        tolerance = 2e-5 if self.wanted.dtype == np.float32 else 1e-12
        scale = max(1.0, float(np.abs(self.wanted).max(initial=0)))
        np.testing.assert_allclose(found / scale, self.wanted / scale, 0, tolerance)

    def natively(self, way: str = "direct", threads: int = 1) -> None:
        """Machine code gives what NumPy gives."""
        lowered = self.lowered(way, threads)
        call = Executable(lowered.program, lowered.inputs, [], lowered.outputs, threads=threads)
        self.close(call(self.arrays)[0].reshape(self.wanted.shape))

    def slowly(self, way: str = "direct") -> None:
        """NumPy, statement by statement, gives the same."""
        lowered = self.lowered(way)
        given = {b.name: array for b, array in zip(lowered.inputs, self.arrays)}
        found = interpreter.run(lowered.program, given, True)
        self.close(found[lowered.outputs[0].name].reshape(self.wanted.shape))


@st.composite
def cases(draw, sizes=SIZES) -> Case:
    """Any product."""
    three = tuple([draw(st.sampled_from(sizes)) for _ in range(3)])
    seen = draw(st.sampled_from(SEEN)), draw(st.sampled_from(SEEN))
    dtype = draw(st.sampled_from(["float32", "float64"]))
    return Case(three, draw(st.sampled_from(BATCHES)), seen, dtype, draw(st.booleans()))


@settings(max_examples=40, **QUIET)
@given(cases(SIZES[:10]))
def test_meaning(case):
    case.slowly()


@settings(max_examples=40, **QUIET)
@given(cases(), st.sampled_from([1, 2]))
def test_machine_code(case, threads):
    case.natively("direct", threads)


@settings(max_examples=40, **QUIET)
@given(cases(), st.sampled_from([1, 2]))
def test_blocks_of_columns(case, threads):
    case.natively("columns", threads)


@pytest.mark.parametrize("finish", [False, True])
@pytest.mark.parametrize("seen", [("plain", "plain"), ("turned", "turned")], ids=str)
@pytest.mark.parametrize("sizes", [(30, 83, 150), (13, 16, 400), (50, 33, 97)], ids=str)
def test_many_blocks_of_columns(sizes, seen, finish):
    case = Case(sizes, (), seen, "float32", finish)
    case.slowly("columns")
    case.natively("columns", 2)
    made = [buffer for buffer in case.lowered("columns").program.buffers if "panels" in buffer.name]
    assert "scratch" in {buffer.kind for buffer in made}  # of y, each thread has its own


@settings(max_examples=10, **QUIET)
@given(cases())
def test_library(case):
    case.natively("library")


LARGER = [
    (32, 128, 512),  # one block, rows of equal tiles
    (97, 61, 53),  # primes
    (600, 300, 40),  # blocks of rows
    (6, 1500, 17),  # parts of k
    (40, 3100, 16),
    (1, 2000, 33),
]


@pytest.mark.parametrize("finish", [False, True])
@pytest.mark.parametrize("seen", [("plain", "plain"), ("turned", "turned")], ids=str)
@pytest.mark.parametrize("sizes", LARGER, ids=str)
def test_larger(sizes, seen, finish):
    Case(sizes, (), seen, "float32", finish).natively("direct", 2)


@pytest.mark.parametrize("sizes", [(0, 3, 4), (3, 0, 4), (3, 4, 0)], ids=str)
def test_nothing_to_multiply(sizes):
    Case(sizes).natively("direct")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seen", ["single", "same"])
def test_one_copy_of_a_matrix_for_many_products(seen, dtype):
    case = Case((40, 50, 64), (2, 3), ("turned", seen), dtype, True)
    case.slowly()
    for threads in (1, 2):
        case.natively("direct", threads)
    made = [kernel.name for kernel in case.lowered("direct").program.blocks]
    assert made == ["k0panels", "k0"]
    buffers = case.lowered("direct").program.buffers
    (panels,) = [buffer for buffer in buffers if "panels" in buffer.name]
    assert (panels.kind, panels.size) == ("temporary", 50 * 64)


def test_double_parts():
    Case((40, 1100, 33), (2,), ("turned", "turned"), "float64", True).natively("direct", 2)


def loops(x, w):
    """Products with one matrix in a loop, and in two loops within it."""

    def inner(y):
        return tf.while_loop(
            lambda i, _: i < 3, lambda i, y: (i + 1, tf.tanh(y @ w)), (0, y), maximum_iterations=3
        )[1]

    def outer(i, y):
        return i + 1, inner(inner(y @ w) + y) @ tf.transpose(w)

    return tf.while_loop(lambda i, _: i < 30, outer, (0, x), maximum_iterations=30)[1]


def test_panels_are_made_before_loops():
    rng = np.random.default_rng(0)
    x = tf.constant(rng.normal(size=(24, 40)).astype("f"))
    w = tf.constant(rng.normal(0, 0.1, (40, 40)).astype("f"))
    with executor("llvm"):
        function = tf.function(loops)
        found = function(x, w)
        concrete = function.get_concrete_function(x, w)
        (version,) = program_of(concrete.body).tier.versions.values()
    with executor("interpret"):
        np.testing.assert_allclose(found, loops(x, w), 1e-4, 1e-5)
    blocks = version.lowered.program.blocks
    kernels = [block.name for block in blocks if type(block) is Kernel]
    assert len([name for name in kernels if name.endswith("panels")]) == 2  # w and its transpose
    assert any(type(block) is Repeat for block in blocks)
