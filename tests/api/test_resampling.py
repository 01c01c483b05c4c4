"""Images resized by taps are images times the matrix of weights."""

import numpy as np
import pytest

import talweg as tf
from talweg.api.image import weights
from talweg.api.image.resampling import resample, taps, weights_of
from talweg.kernels.resampling import sum_taps
from talweg.passes.specialize.program import StaticProgram
from talweg.prims import resampling
from tests.lower import declared

METHODS = [*weights.KERNELS, "area"]


def matrix_of(method, old, new):
    if method == "area":
        return weights.area_weights(old, new)
    return weights.kernel_weights(old, new, method, False)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("old, new", [(40, 30), (30, 70), (64, 64), (5, 9), (1, 4), (90, 7)])
def test_taps_hold_all_weights(method, old, new):
    matrix = matrix_of(method, old, new)
    places, found = taps(matrix)
    again = np.zeros_like(matrix)
    np.add.at(again, (np.arange(new)[:, None], places), found)
    np.testing.assert_array_equal(again, matrix)


@pytest.mark.parametrize("axis", (1, 2))
@pytest.mark.parametrize("compiled", (False, True))
def test_sum_of_taps_is_the_product_and_so_is_its_gradient(axis, compiled):
    matrix = matrix_of("bicubic", 40, 30)
    assert taps(matrix)[0].shape[1] == 4  # few enough for taps
    shape = (2, 40, 3, 2) if axis == 1 else (2, 3, 40, 2)
    x = tf.constant(np.random.default_rng(0).normal(size=shape).astype("float32"))

    def value_and_gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = resample(x, axis, 40, 30, "bicubic", False)
            loss = tf.reduce_sum(y * y)
        return y, tape.gradient(loss, x)

    if compiled:
        value_and_gradient = tf.function(value_and_gradient)
    y, gradient = value_and_gradient(x)
    wanted = np.moveaxis(np.tensordot(matrix, x.numpy(), ((1,), (axis,))), 0, axis)
    back = 2 * np.moveaxis(np.tensordot(matrix.T, wanted, ((1,), (axis,))), 0, axis)
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(gradient, back, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "shape, axis", [((2, 9, 5, 3), 1), ((2, 5, 9, 3), 2), ((9, 40), 0), ((3, 9), 1)]
)
def test_kernel_gives_the_product_with_the_matrix(shape, axis):
    matrix = matrix_of("bicubic", 9, 14)
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    found = sum_taps(x, *taps(matrix), axis)
    wanted = np.moveaxis(np.tensordot(matrix, x, ((1,), (axis,))), 0, axis)
    assert found.shape == wanted.shape and found.dtype == x.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_weights_are_made_once_and_each_axis_is_one_operation(monkeypatch):
    x = tf.constant(np.random.default_rng(0).normal(size=(2, 40, 30, 3)).astype("float32"))
    first = tf.image.resize(x, [55, 61])
    made, applied = weights_of.cache_info().misses, []
    again = resampling.resample

    def counted(*operands, **params):
        applied.append(params)
        return again(*operands, **params)

    monkeypatch.setattr(resampling, "resample", counted)
    np.testing.assert_array_equal(tf.image.resize(x, [55, 61]), first)
    assert weights_of.cache_info().misses == made
    assert len(applied) == 2


def test_written_for_tensorflow_as_operations_of_its_own():
    @tf.function(input_signature=[tf.TensorSpec([None, 20, 30, 3])])
    def f(x):
        return tf.image.resize(x, [37, 14])

    graph = f.get_concrete_function().graph.as_graph_def()
    assert {"GatherV2", "Mul", "Sum"} <= {node.op for node in graph.node}
    assert not [node.op for node in graph.node if node.op.startswith("Talweg")]


@pytest.mark.parametrize("new", (128, 40))
@pytest.mark.parametrize("channels, more", ((4, 0), (3, 2)))
def test_columns_read_the_rows_that_were_stored(channels, more, new):
    """Compiled, the second axis does not make the rows again for each tap.

    Of few channels the places and weights of each are made, which whole programs fold.
    """
    x, static = np.zeros((8, 64, 64, channels), np.float32), StaticProgram()
    arrays = [x, *weights_of(64, new, "bilinear", False)[:2]]
    rows = declared.add(static, resampling.resample, arrays, {"axis": 1})
    operands = [*rows, *static.inputs[1:]]
    static.outputs = [static.apply(resampling.resample, operands, {"axis": 2})]
    blocks = declared.lower(static).program.blocks
    assert len(blocks) == 3 + more  # whether places are within x, rows, columns


@pytest.mark.parametrize("dtype", ("float32", "uint8", "float16"))
@pytest.mark.parametrize("channels", (1, 2, 3, 4))
@pytest.mark.parametrize("size", ((20, 15), (50, 40), (20, 60)))
def test_few_channels_are_one_row(size, channels, dtype):
    """In a function, scaled afterwards; bilinear, whose two taps read the row."""
    x = np.random.default_rng(0).uniform(0, 255, (2, 30, 24, channels)).astype(dtype)
    wanted = x.astype("float64")
    for axis, (old, new) in enumerate(zip(x.shape[1:3], size), 1):
        matrix = matrix_of("bilinear", old, new)
        wanted = np.moveaxis(np.tensordot(matrix, wanted, ((1,), (axis,))), 0, axis)

    @tf.function
    def resized(x):
        return tf.image.resize(x, size) / 255.0

    for _ in range(2):
        np.testing.assert_allclose(resized(x), wanted / 255, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(tf.image.resize(x, size), wanted, rtol=1e-5, atol=1e-3)
