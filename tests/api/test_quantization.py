"""Quantization in functions, by both executors, and with unknown shapes."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf

X = tf.constant(np.linspace(-3, 3, 25, dtype=np.float32).reshape(5, 5))
Q = tf.quantization
CALLS = {
    "quantize": lambda x: tf.cast(Q.quantize(x, -1.0, 2.0, tf.qint8).output, tf.int32),
    "first": lambda x: Q.dequantize(*Q.quantize(x, -1.0, 2.0, tf.quint8, "MIN_FIRST"), "MIN_FIRST"),
    "channels": lambda x: Q.dequantize(
        *Q.quantize(x, [-1.0] * 5, [2.0, 1.0, 3.0, 1.0, 2.0], tf.qint8, "SCALED", axis=1),
        "SCALED",
        axis=1,
    ),
    "in place": lambda x: Q.quantize_and_dequantize_v2(x, -1.0, 2.0, range_given=True),
    "own range": lambda x: Q.quantize_and_dequantize_v2(x, 0.0, 0.0, num_bits=4),
    "columns": lambda x: Q.quantize_and_dequantize_v2(x, [0.0] * 5, [0.0] * 5, axis=1),
    "fake": lambda x: Q.fake_quant_with_min_max_vars_per_channel(
        x, [-1.0] * 5, [2.0, 1.0, 3.0, 1.0, 2.0], num_bits=4
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_give_what_eager_calls_give(name):
    call = CALLS[name]
    wanted = call(X)
    loose = [tf.TensorSpec([None, None] if name != "fake" else [None, 5])]
    for function in (tf.function(call, input_signature=loose), tf.function(call, jit_compile=True)):
        np.testing.assert_allclose(function(X), wanted, rtol=1e-6, atol=1e-7)


def test_training_through_the_rounding():
    w, low, high = tf.Variable([0.3, -5.0, 9.0]), tf.Variable(-1.0), tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(Q.fake_quant_with_min_max_vars(w, low, high) * [1.0, 2.0, 3.0])
    by_w, by_low, by_high = tape.gradient(y, [w, low, high])
    np.testing.assert_allclose(by_w, [1.0, 0.0, 0.0])
    assert (float(by_low), float(by_high)) == (2.0, 3.0)
    given = Q.fake_quant_with_min_max_vars_gradient([1.0, 2.0, 3.0], w, low, high)
    np.testing.assert_allclose(given.backprops_wrt_input, by_w)
