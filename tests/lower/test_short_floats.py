"""Programs of 16-bit floats: products of loops and of transposes, copies without conversions."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.execute.llvm.codegen.program import emit
from talweg.execute.llvm.vector_math.library import VectorMathLibrary
from talweg.lower.build import build
from talweg.lower.ir.loops import Call, Kernel, Repeat
from talweg.lower.ir.printer import parse, to_text
from talweg.lower.ir.visitors import all_statements, buffers_written
from talweg.passes.optimize.pipeline import optimize
from tests.execute.emitted import same
from tests.lower.controlled import Case, agree, blocks_of

RNG = np.random.default_rng(0)
HALVES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
STEPS, ROWS, WIDTH = 12, 8, 32


def shorts(dtype, *dims, scale=1.0):
    return (RNG.standard_normal(dims) * scale).astype(HALVES[dtype])


def network(steps, x_weights, h_weights):
    """The sum of a recurrent network's states, by a loop."""
    x_weights, h_weights = [tf.cast(w, steps.dtype) for w in (x_weights, h_weights)]
    state = tf.zeros([ROWS, WIDTH], steps.dtype)
    total = tf.zeros([], tf.float32)
    for i in tf.range(STEPS):
        state = tf.tanh(steps[i] @ x_weights + state @ h_weights)
        total += tf.reduce_sum(tf.cast(state, tf.float32))
    return total


def gradients(steps, x_weights, h_weights):
    with tf.GradientTape() as tape:
        tape.watch([steps, x_weights, h_weights])
        total = network(steps, x_weights, h_weights)
    return [tf.cast(g, tf.float32) for g in tape.gradient(total, [steps, x_weights, h_weights])]


def products_within(lowered):
    """The products in each loop."""
    kernels = [[b for b in loop.body if type(b) is Kernel] for loop in blocks_of(lowered, Repeat)]
    return [sum("matmul" in kernel.names for kernel in own) for own in kernels]


@pytest.fixture
def given():
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal((WIDTH, WIDTH)).astype("float32") * 0.2 for _ in range(2)]
    return [rng.standard_normal((STEPS, ROWS, WIDTH)), *weights]


@pytest.mark.parametrize("dtype", HALVES)
def test_products_leave_loops(given, dtype):
    """As of float32: only the product with the state stays, forward and in the reverse."""
    steps, *weights = given
    tolerance = {"float16": 0.05, "bfloat16": 0.4}[dtype]  # of numbers up to 20
    lowered = agree(gradients, steps.astype(HALVES[dtype]), *weights, tolerance=tolerance)
    assert products_within(lowered) == [1, 1]


def test_gradients_of_weights_are_rounded_once(given):
    """Each trip's part was rounded to 8 bits; the sum is nearer to that of float32 now."""
    steps, *weights = given
    steps, weights[1] = steps.astype(HALVES["bfloat16"]), weights[1] * 0
    errors = []
    with settings.executor("interpret"):
        exact = map(tf.constant, (steps.astype("float32"), *weights))
        wanted = [g.numpy() for g in gradients(*exact)[1:]]
    for executor in ("interpret", "llvm"):
        with settings.executor(executor):
            found = tf.function(gradients)(*map(tf.constant, (steps, *weights)))[1:]
        errors.append([np.abs(g.numpy() - w).mean() for g, w in zip(found, wanted)])
    assert all(compiled <= interpreted for interpreted, compiled in zip(*errors))


def test_matrix_registers_read_what_a_loop_multiplies_by(given):
    """The weights' casts stood before the loop, where no product knew of them."""
    steps, *weights = given
    case = Case(gradients, steps.astype(HALVES["bfloat16"]), *weights)
    optimize(case.static)
    lowered = build(case.static, matrix_tiles=True)
    for loop in blocks_of(lowered, Repeat):
        calls = [
            statement.routine
            for block in loop.body
            for statement in all_statements(block.body)
            if type(statement) is Call
        ]
        assert calls.count("tile_product") == 1 and "tile_columns" not in calls, to_text(
            lowered.program
        )


@pytest.mark.parametrize("given", ["float32", "float16"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dims, columns", [((48, 70), 40), ((3, 5, 24), 8), ((50, 300), 1100)])
def test_products_round_weights_as_they_copy_them(dims, columns, turned, given):
    """All weights went through memory as float32 once more, rounded to 16 bits."""
    x = shorts("float16", *dims)
    shape = (columns, dims[-1]) if turned else (dims[-1], columns)
    weights = shorts("float16", *shape).astype(given) + RNG.choice([0, 2.0**-13], shape)

    def product(x, w):
        w = tf.cast(w, tf.float16)
        return tf.cast(tf.matmul(x, w, transpose_b=turned), tf.float32)

    large = columns > 1000  # for the loop interpreter
    lowered = agree(product, x, weights.astype(given), machine=large, tolerance=0.02)
    written = [
        one
        for kernel in blocks_of(lowered, Kernel)
        if "cast" in kernel.names and "matmul" not in kernel.names
        for statement in all_statements(kernel.body)
        for one in buffers_written(statement)
    ]
    copied = turned and given == "float16"  # which vectors do not gather
    assert any(one.size == weights.size for one in written) == copied


def test_weights_of_products_round_to_16_bits():
    """The product of ones with a number just above a half of the last place."""
    x = np.ones((2, 8), "float16")
    weights = np.full((8, 16), 1 + 2.0**-11 + 2.0**-20, "float32")
    with settings.executor("llvm"):
        found = tf.function(lambda x, w: x @ tf.cast(w, tf.float16))(x, weights)
    np.testing.assert_array_equal(found, np.full((2, 16), 8 * (1 + 2.0**-10), "float16"))


@pytest.mark.parametrize("turned", [(True, False), (False, True), (True, True)])
def test_transposed_operands_are_converted_as_they_lie(turned):
    """They were transposed in memory, element by element, as they were converted."""
    x, y = shorts("float16", 64, 64), shorts("float16", 64, 64)
    lowered = agree(lambda x, y: tf.matmul(x, y, *turned), x, y, tolerance=0.01)
    operations = [kernel.names for kernel in blocks_of(lowered, Kernel)]
    assert not any("transpose" in names for names in operations)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("multiplier", [1, 2])
@pytest.mark.parametrize("stride, padding", [(1, "SAME"), (2, "SAME"), (1, "VALID"), (3, "VALID")])
def test_depthwise_convolutions_read_short_images(dtype, multiplier, stride, padding):
    """Copies in float32 of all images took as long as the convolution."""
    images, filters = shorts(dtype, 2, 9, 8, 32), shorts(dtype, 3, 2, 32, multiplier)

    def convolved(x, w):
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            z = tf.nn.depthwise_conv2d(x, w, [1, stride, stride, 1], padding)
        gradients = tape.gradient(z, [x, w], 0.5 * z)
        return [tf.cast(value, tf.float32) for value in (z, *gradients)]

    lowered = agree(convolved, images, filters, tolerance=0.2 if dtype == "bfloat16" else 0.02)
    casts = [kernel for kernel in blocks_of(lowered, Kernel) if kernel.names == ("cast",)]
    written = [
        one
        for kernel in casts
        for statement in all_statements(kernel.body)
        for one in buffers_written(statement)
    ]
    assert all(one.size < images.size for one in written)


COPY = """program p
  x: input {dtype}[70]
  y: input {dtype}[70]
  z: output {dtype}[140]
kernel k:
  for i in 140 vector:
    t0 = less(int64[i], 70:int64)
    t1 = (y[i - 70] if greater_equal(int64[i], 70:int64) else 0.0:{dtype})
    z[i] = select(t0, (x[i] if t0 else 0.0:{dtype}), t1)
"""


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
def test_copies_keep_all_bits(dtype, vector_bytes):
    """Numbers below the normal range, and NaNs with what they carry, too."""
    bits = RNG.integers(0, 1 << 16, 140, dtype=np.uint16)
    bits[::7] |= 0x7F80
    bits[3::7] &= 0x801F
    x, y = bits.view(HALVES[dtype]).reshape(2, 70)
    program = parse(COPY.format(dtype=dtype))
    found = same(program, {"x": x, "y": y}, (1,), vector_bytes=vector_bytes)["z"]
    np.testing.assert_array_equal(found.view(np.uint16), bits)
    text = emit(program, 64, VectorMathLibrary())
    assert "call <16 x i16> @llvm.masked.gather" not in text


CONVOLUTIONS = [  # depth, width, filters, strides, padding, whether by Winograd's algorithm
    (16, 16, 3, 1, "SAME", True),
    (32, 48, 3, 1, "VALID", True),
    (3, 16, 3, 2, "SAME", False),
    (16, 32, 1, 2, "SAME", False),
    (8, 8, 3, 2, "SAME", False),
    (32, 8, 5, 1, "SAME", False),
]


@pytest.mark.parametrize("infinite", [False, True])
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("depth, width, size, stride, padding, winograd", CONVOLUTIONS)
def test_convolutions_read_short_images(
    dtype, depth, width, size, stride, padding, winograd, infinite
):
    """All images and gradients were stored in float32, of which only convolutions made use."""
    images, filters = shorts(dtype, 8, 14, 12, depth), shorts(dtype, size, size, depth, width)
    if infinite:
        images[0, 3, 3, 1] = np.inf

    def convolved(x, w):
        x, w = tf.tanh(x) if not infinite else x, 0.1 * w
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            z = tf.nn.conv2d(x, w, stride, padding)
        gradients = tape.gradient(z, [x, w], 0.1 * tf.ones_like(z))
        return [tf.cast(value, tf.float32) for value in (z, *gradients)]

    tolerance = 0.4 if dtype == "bfloat16" else 0.05
    lowered = agree(convolved, images, filters, machine=True, tolerance=tolerance)
    made = [kernel.name for kernel in blocks_of(lowered, Kernel)]
    assert any(name.endswith("filters") for name in made) == winograd, made
    stored = [
        (one.kind, one.size)
        for one in lowered.program.buffers
        if one.dtype.name == "float32" and one.kind == "temporary"
    ]
    assert ("temporary", images.size) not in stored, to_text(lowered.program)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("exclusive, reverse", [(False, False), (False, True), (True, False)])
@pytest.mark.parametrize(
    "dims", [(3, 1), (7,), (6, 4, 256), (5, 257), (2, 3, 600), (7, 7, 70), (12, 300)]
)
def test_scans_of_rows_convert_pieces_by_vectors(dtype, exclusive, reverse, dims):
    """Each number was converted by itself, which took longer than its sum."""
    x = shorts(dtype, *dims, scale=0.25)

    def scanned(x):
        total = tf.cumsum(2 * x, -1, exclusive, reverse)
        product = tf.math.cumprod(1 + x / 16, -1, exclusive, reverse)
        return [tf.cast(value, tf.float32) for value in (total + 1, product)]

    tolerance = 0.1 if dtype == "bfloat16" else 0.02
    lowered = agree(scanned, x, machine=len(dims) == 2, tolerance=tolerance)
    text = to_text(lowered.program)
    assert text.count("scratch float32") == 4, text
