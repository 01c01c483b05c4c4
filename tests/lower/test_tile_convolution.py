"""Convolutions of bfloat16 by matrix registers, and their gradients, give what NumPy gives."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.core.primitive import REGISTRY
from talweg.execute import compilation
from talweg.execute.llvm.runtime.executable import Executable
from talweg.lower.convolution import convolution, matrix_tiles, matrix_tiles_filters

assert tf.nn.conv2d  # loads the declarations
ULP = 2.0**-8
random = np.random.default_rng(0)
# images [n, *sizes, channels], filters, strides, dilation
SHAPES = [
    ((2, 9, 7, 20), (3, 3, 20, 33), (1, 1), (1, 1)),
    ((1, 12, 12, 64), (3, 3, 64, 40), (2, 2), (1, 1)),
    ((3, 8, 8, 3), (5, 4, 3, 16), (2, 3), (1, 1)),
    ((2, 6, 5, 40), (1, 1, 40, 70), (1, 1), (1, 1)),
    ((2, 11, 9, 16), (3, 3, 16, 8), (1, 1), (2, 3)),
    ((2, 17, 9), (4, 9, 24), (1,), (1,)),
    ((2, 4, 5, 6, 8), (2, 3, 2, 8, 17), (1, 2, 1), (1, 1, 1)),
]


@pytest.fixture(autouse=True)
def registers(monkeypatch):
    """Code is for matrix registers, also where vectors do their work."""
    monkeypatch.setattr(compilation, "matrix_tiles", lambda: True)


def short(*dims):
    return random.normal(size=dims).astype(ml_dtypes.bfloat16)


def close(name, arrays, params, threads=2):
    """The machine code of one operation is right to rounding, and has no float32 images."""
    prim = REGISTRY[name]
    made = compilation.alone(prim, arrays, params, threads=threads)
    assert type(made) is Executable
    wide = [array.astype(np.float64) for array in arrays]
    wanted = prim.numpy(*wide, **params)
    scale = np.sqrt(prim.numpy(*[x * x for x in wide], **params))  # of sums of random signs
    error = np.abs(made(arrays, [])[0].astype(np.float64) - wanted)
    assert (error <= ULP * np.abs(wanted) + 1e-5 * scale).all()


def outputs(x, w, params):
    return REGISTRY["convolution"].numpy(x, w, **params).shape


@pytest.mark.parametrize("threads", [1, 2, 9])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("x, w, strides, dilation", SHAPES, ids=str)
def test_convolutions_and_their_gradients(x, w, strides, dilation, padding, threads):
    params = {"strides": strides, "padding": padding, "dilation": dilation, "groups": 1}
    images, filters = short(*x), short(*w)
    g = short(*outputs(images, filters, params))
    close("convolution", [images, filters], params, threads)
    close("convolution_input_gradient", [g, filters], {**params, "sizes": x[1:-1]}, threads)
    close("convolution_filter_gradient", [images, g], {**params, "kernel": w[:-2]}, threads)


def test_the_ways_that_large_ones_go(monkeypatch):
    """Groups of panels, taps one after the other, parts of images, many images at a time."""
    params = {"strides": (1, 1), "padding": "SAME", "dilation": (1, 1), "groups": 1}
    x, w, g = short(4, 9, 10, 32), short(3, 3, 32, 100), short(4, 9, 10, 100)
    monkeypatch.setattr(convolution, "reads_windows", lambda windows: False)
    monkeypatch.setattr(convolution, "turns_rows", lambda windows: None)
    for bytes_ in (1 << 11, 1 << 14, 1 << 18):
        monkeypatch.setattr(matrix_tiles, "GROUP_BYTES", bytes_)
        monkeypatch.setattr(matrix_tiles, "GATHERED_BYTES", bytes_)
        monkeypatch.setattr(matrix_tiles_filters, "GATHERED_BYTES", bytes_)
        for longest in (100, 2048):
            monkeypatch.setattr(matrix_tiles_filters, "LONGEST", longest)
            close("convolution", [x, w], params)
            close("convolution_input_gradient", [g, w], {**params, "sizes": (9, 10)})
            close("convolution_filter_gradient", [x, g], {**params, "kernel": (3, 3)})


def test_groups_and_narrow_results_go_another_way():
    params = {"strides": (1, 1), "padding": "SAME", "dilation": (1, 1), "groups": 2}
    close("convolution", [short(2, 6, 6, 8), short(3, 3, 4, 16)], params)
    params["groups"] = 1
    close("convolution", [short(2, 6, 6, 8), short(3, 3, 8, 3)], params)


def test_mixed_precision_trains_as_the_interpreter_does(monkeypatch):
    """Images and weights are casts of float32 variables; results and gradients are cast back."""
    images, labels = random.normal(size=(4, 12, 12, 8)).astype("f4"), random.integers(0, 10, 4)
    starts = [(3, 3, 8, 32), (3, 3, 32, 32), (2, 2, 16, 32), (12 * 12 * 16, 10)]
    starts = [random.normal(size=dims).astype("f4") * 0.1 for dims in starts]

    def trained(how):
        weights = [tf.Variable(start) for start in starts]

        @tf.function
        def step():
            with tf.GradientTape() as tape:
                first, second, back, dense = [tf.cast(w, "bfloat16") for w in weights]
                x = tf.nn.relu(tf.nn.conv2d(tf.cast(images, "bfloat16"), first, 1, "SAME"))
                x = tf.nn.relu(tf.nn.conv2d(x, second, 2, "SAME"))
                x = tf.nn.conv2d_transpose(x, back, (4, 12, 12, 16), 2, "SAME")
                logits = tf.matmul(tf.reshape(x, (4, -1)), dense)
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                    labels, tf.cast(logits, tf.float32)
                )
                loss = tf.reduce_mean(losses)
            for weight, gradient in zip(weights, tape.gradient(loss, weights)):
                weight.assign_sub(0.1 * gradient)
            return loss

        with settings.executor(how):
            return [float(step()) for _ in range(6)]

    found, wanted = trained("llvm"), trained("interpret")
    assert wanted[-1] < 0.8 * wanted[0]
    np.testing.assert_allclose(found, wanted, rtol=0.03, atol=0.02)


def test_what_follows_is_computed_from_the_sums():
    x, w, b = short(2, 8, 8, 16), short(3, 3, 16, 32), short(32)

    @tf.function(jit_compile=True)
    def layer(x, w, b):
        return tf.nn.relu(tf.nn.conv2d(x, w, 1, "SAME") + b)

    found = tf.cast(layer(x, w, b), tf.float64)
    wide = [tf.cast(value, tf.float64) for value in (x, w, b)]
    wanted = tf.nn.relu(tf.nn.conv2d(wide[0], wide[1], 1, "SAME") + wide[2])
    np.testing.assert_allclose(found, wanted, rtol=2 * ULP, atol=ULP * 12)
