"""Images resized by taps are images times the matrix of weights."""

import numpy as np
import pytest

import talweg as tf
from talweg.api.image import weights
from talweg.api.image.resampling import resample, taps

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
            y = resample(x, axis, matrix)
            loss = tf.reduce_sum(y * y)
        return y, tape.gradient(loss, x)

    if compiled:
        value_and_gradient = tf.function(value_and_gradient)
    y, gradient = value_and_gradient(x)
    wanted = np.moveaxis(np.tensordot(matrix, x.numpy(), ((1,), (axis,))), 0, axis)
    back = 2 * np.moveaxis(np.tensordot(matrix.T, wanted, ((1,), (axis,))), 0, axis)
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(gradient, back, rtol=1e-4, atol=1e-4)
