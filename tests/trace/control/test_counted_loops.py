"""Loops that are as long as a counter around them says, and rows that an endless loop writes."""

from __future__ import annotations

import numpy as np

import talweg as tf
from tests.trace.control.compiling import assert_compiled


def as_long_as_the_counter(x, n):
    def body(i, a):
        b = tf.while_loop(lambda j, c: j < i, lambda j, c: (j + 1, tf.sin(c) * x), [0, a])[1]
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: b * 2.0, lambda: b + 1.0)

    return tf.while_loop(lambda i, a: i < n, body, [0, x])[1]


def down_from_the_counter(x, n):
    def body(i, a):
        b = tf.while_loop(lambda j, c: j > 0, lambda j, c: (j - 1, tf.cos(c) * x), [i, a])[1]
        return i + 1, b * 0.5

    return tf.while_loop(lambda i, a: i < n, body, [0, x])[1]


def one_row_again_and_again(x, n):
    array = tf.TensorArray(tf.float32, 3, element_shape=[3], clear_after_read=False)
    array = array.unstack(tf.stack([x, 2.0 * x, 3.0 * x]))

    def body(i, array):
        return i + 1, array.write(1, 0.5 * array.read(1) + tf.sin(array.read(2)))

    return tf.while_loop(lambda i, _: i < n, body, [0, array])[1].stack()


def test_lengths_by_counters():
    for function in (as_long_as_the_counter, down_from_the_counter, one_row_again_and_again):
        x = np.float32([1.0, 0.5, 0.2])
        assert_compiled(function, (x, np.int32(4)), (x, np.int32(0)), (x, np.int32(1)))
