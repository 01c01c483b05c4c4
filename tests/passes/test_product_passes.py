"""Products of matrices are found in sums of products, and chains of them run in a cheap order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import talweg as tf
from talweg.core.primitive import later
from talweg.core.settings import executor
from talweg.passes.optimize.contractions import find_products
from talweg.passes.optimize.matrix_chains import order_products
from talweg.passes.specialize.program import StaticProgram, Value
from tests.lower.static_numpy import evaluated

RANDOM = np.random.default_rng(0)


def numbers(*dims, dtype="float32"):
    return RANDOM.standard_normal(dims).astype(dtype)


def stages(function, *arrays):
    """What a function becomes, as operations and as loops; what it gives is NumPy's."""
    with executor("llvm"):
        traced = tf.function(function)
        found = traced(*arrays).numpy()
    with executor("interpret"):
        wanted = tf.function(function)(*arrays).numpy()
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    assert np.allclose(found, wanted, rtol=1e-4, atol=1e-4 * max(1.0, np.abs(wanted).max()))
    return traced.experimental_get_compiler_ir(*map(tf.constant, arrays))("optimized_hlo")


def is_product(loops):
    return "# matmul" in loops and "reduce_sum" not in loops


SUMS = {
    "plain": (lambda x, y: tf.reduce_sum(x[:, :, None] * y[None], 1), (20, 30), (30, 40)),
    "turned": (lambda x, y: tf.reduce_sum(x[None] * y[:, None], -1), (20, 30), (40, 30)),
    "stack": (lambda x, y: tf.reduce_sum(x[..., None] * y[:, None], 2), (3, 9, 8), (3, 8, 10)),
    "stack_inside": (
        lambda x, y: tf.reduce_sum(x[:, :, :, None] * y[:, :, None], 0),
        (16, 3, 8),
        (16, 3, 9),
    ),
    "two_summed": (
        lambda x, y: tf.reduce_sum(x[..., None] * y[None], (1, 2)),
        (9, 4, 5),
        (4, 5, 8),
    ),
    "interleaved": (
        lambda x, y: tf.reduce_sum(x[:, None, :, None] * y[None, :, None], 4),
        (4, 3, 9),
        (3, 4, 9),
    ),
    "mean": (lambda x, y: tf.reduce_mean(x[:, :, None] * y[None], 1), (20, 30), (30, 40)),
    "kept": (
        lambda x, y: tf.reduce_sum(x[:, :, None] * y[None], 1, keepdims=True),
        (8, 9),
        (9, 10),
    ),
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_products_are_products(name, dtype):
    function, *shapes = SUMS[name]
    assert is_product(stages(function, *[numbers(*dims, dtype=dtype) for dims in shapes]))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.reduce_sum(x * x, 1),  # no rows and columns
        lambda x: tf.reduce_sum(x[:, :, None] * x[:, None], 0)[:7, :7],  # few elements
        lambda x: tf.reduce_sum((x[:, :, None] + 1) * tf.abs(x[None] - x[:, :, None]), 1),
    ],
)
def test_other_sums_stay(function):
    assert "# matmul" not in stages(function, numbers(7, 7))


def test_a_product_that_is_used_stays():
    def both(x, y):
        product = x[:, :, None] * y[None]
        return tf.reduce_sum(product, 1) + tf.reduce_max(product, 1)

    assert "# matmul" not in stages(both, numbers(20, 30), numbers(30, 40))


@st.composite
def axes(draw):
    """Sizes, and for each axis whether x and y have it and whether it is summed over."""
    kinds = st.sampled_from(["batch", "rows", "columns", "inner", "none", "lone"])
    classes = draw(st.lists(kinds, min_size=3, max_size=6))
    return [(kind, draw(st.sampled_from([1, 2, 3, 8, 9, 16]))) for kind in classes]


@settings(max_examples=150)
@given(axes())
def test_every_arrangement_of_axes(classes):
    dims = [size for _, size in classes]
    x = numbers(*[1 if kind in ("columns", "none") else size for kind, size in classes])
    y = numbers(*[1 if kind in ("rows", "none", "lone") else size for kind, size in classes])
    summed = [axis for axis, (kind, _) in enumerate(classes) if kind in ("inner", "lone")]
    static = StaticProgram()
    static.inputs = [Value(array.shape, tf.float32) for array in (x, y)]
    spread = [
        static.apply(later("broadcast_to"), [v], {"shape": tuple(dims)}) for v in static.inputs
    ]
    total = static.apply(later("mul"), spread, {})
    params = {"axes": tuple(summed), "keepdims": False}
    static.outputs = [static.apply(later("reduce_sum"), [total], params)]
    find_products(static)
    found = result_of(static, [x, y])
    wanted = np.multiply(np.broadcast_to(x, dims), y).sum(tuple(summed))
    assert found.shape == wanted.shape and np.allclose(found, wanted, atol=1e-3)


def result_of(static, arrays):
    (found,), _, _ = evaluated(static, arrays)
    return found


def chain(shapes, kept=()):
    """A chain from the left: the static program and its operands; products `kept` are results."""
    static, arrays = StaticProgram(), [numbers(*dims, dtype="float64") for dims in shapes]
    static.inputs = [Value(array.shape, tf.float64) for array in arrays]
    value, made = static.inputs[0], []
    for x in static.inputs[1:]:
        value = static.apply(later("matmul"), [value, x], {})
        made.append(value)
    static.outputs = [value, *[made[place] for place in kept]]
    return static, arrays


def multiplications(static):
    needed, pending = set(), [static.outputs[0]]
    while pending:
        maker = pending.pop().maker
        if maker is not None and maker not in needed:
            needed.add(maker)
            pending += maker.inputs
    return sum(each.output.size * each.inputs[0].dims[-1] for each in needed)


def test_a_chain_that_ends_in_a_vector_is_computed_from_the_right():
    static, arrays = chain([(60, 70), (70, 80), (80, 1)])
    wanted = arrays[0] @ (arrays[1] @ arrays[2])
    assert multiplications(static) == 60 * 70 * 80 + 60 * 80
    order_products(static)
    assert multiplications(static) == 70 * 80 + 60 * 70
    assert np.allclose(result_of(static, arrays), wanted)


def test_the_textbook_chain():
    sizes = [30, 35, 15, 5, 10, 20, 25]  # Cormen et al., "Introduction to Algorithms", 15.2
    static, arrays = chain([(4 * a, 4 * b) for a, b in zip(sizes, sizes[1:])])
    wanted = np.linalg.multi_dot(arrays)
    assert multiplications(static) == 4**3 * 40_500
    order_products(static)
    assert multiplications(static) == 4**3 * 15_125
    assert np.allclose(result_of(static, arrays), wanted)


def test_stacks_and_matrices():
    static, arrays = chain([(6, 50, 60), (60, 70), (6, 70, 2)])
    wanted = arrays[0] @ arrays[1] @ arrays[2]
    order_products(static)
    assert multiplications(static) == 6 * (60 * 70 * 2 + 50 * 60 * 2)
    assert np.allclose(result_of(static, arrays), wanted)


@pytest.mark.parametrize(
    ("shapes", "kept"),
    [
        ([(60, 70), (70, 80), (80, 1)], (0,)),  # the first product is a result
        ([(4, 5), (5, 6), (6, 1)], ()),  # nothing to gain
        ([(50, 50), (50, 50), (50, 40)], ()),  # little to gain
        ([(2, 50, 60), (60, 70), (3, 2, 70, 2)], ()),  # stacks of other lengths
    ],
)
def test_what_stays(shapes, kept):
    static, _ = chain(shapes, kept)
    before = list(static.equations)
    order_products(static)
    assert static.equations == before


def test_a_chain_in_a_program():
    loops = stages(lambda a, b, v: (a @ b) @ v, numbers(90, 90), numbers(90, 90), numbers(90, 1))
    assert "temporary float32[90, 90]" not in loops
