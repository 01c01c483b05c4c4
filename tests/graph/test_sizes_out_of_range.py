"""Sizes that no tensor has: the error class is TensorFlow's, wherever the size becomes known."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings

INVALID, EXHAUSTED = tf.errors.InvalidArgumentError, tf.errors.ResourceExhaustedError


def _far(s):
    return tf.cast(s, tf.int64) * 2**61


# name: the call, the size, what TensorFlow 2.21 raises (those of 65 axes: what arrays cannot have)
CASES = {
    "reshape to none": (lambda s: tf.reshape(tf.range(6), [s, -1]), 0, INVALID),
    "reshape to two rests": (lambda s: tf.reshape(tf.range(6), [s, -1]), -1, INVALID),
    "reshape to less": (lambda s: tf.reshape(tf.range(6), [s, 3]), -2, INVALID),
    "reshape, no divisor": (lambda s: tf.reshape(tf.range(6), [s, -1]), 4, INVALID),
    "reshape to others": (lambda s: tf.reshape(tf.range(6), [s, 2]), 5, INVALID),
    "reshape to many": (lambda s: tf.reshape(tf.range(6), [s, s]), 2**31 - 1, INVALID),
    "reshape to 65 axes": (
        lambda s: tf.reshape(tf.zeros([1]), tf.ones([65], tf.int32) * s),
        1,
        INVALID,
    ),
    "segments far away": (
        lambda s: tf.math.segment_sum(tf.ones([2]), [0 * _far(s), _far(s)]),
        2,
        EXHAUSTED,
    ),
    "means far away": (
        lambda s: tf.math.segment_mean(tf.ones([2]), [0 * _far(s), _far(s)]),
        2,
        EXHAUSTED,
    ),
    "negative ids": (lambda s: tf.math.segment_sum(tf.ones([3]), tf.stack([s, 0, 0])), -1, INVALID),
    "fewer than none": (
        lambda s: tf.math.unsorted_segment_sum(tf.ones([3]), [0, 0, 0], s),
        -1,
        INVALID,
    ),
    "no maximum": (lambda s: tf.math.unsorted_segment_max(tf.ones([3]), [0, 0, 0], s), -1, INVALID),
    "zeros": (lambda s: tf.zeros([s]), -1, INVALID),
    "zeros, too many": (lambda s: tf.zeros([s, s, s, s]), 2**30, INVALID),
    "zeros of 65 axes": (lambda s: tf.zeros(tf.ones([65], tf.int32) * s), 1, INVALID),
    "fill": (lambda s: tf.fill([s], 1.0), -1, INVALID),
    "fill, too many": (lambda s: tf.fill([s, s, s], 1.0), 2**30, INVALID),
    "broadcast": (lambda s: tf.broadcast_to(tf.zeros([1]), [s]), -1, INVALID),
    "broadcast, too many": (lambda s: tf.broadcast_to(tf.zeros([1]), [s, s, s]), 2**30, INVALID),
    "tile": (lambda s: tf.tile(tf.zeros([1]), [s]), -1, INVALID),
    "tile, too many": (lambda s: tf.tile(tf.zeros([1, 1, 1]), [s, s, s]), 2**30, INVALID),
    "range": (lambda s: tf.range(_far(s)), 2, EXHAUSTED),
    "eye": (lambda s: tf.eye(s), -1, INVALID),
    "one_hot": (lambda s: tf.one_hot([0], s), -1, INVALID),
    "linspace": (lambda s: tf.linspace(0.0, 1.0, s), -1, INVALID),
    "pad": (lambda s: tf.pad([1.0], [[s, 0]]), -1, INVALID),
    "pad, too many": (lambda s: tf.pad([[1.0]], [[s, s], [s, s]]), 2**31 - 1, INVALID),
    "scatter_nd": (lambda s: tf.scatter_nd([[0]], [1.0], [s]), -1, INVALID),
    "scatter_nd, too many": (lambda s: tf.scatter_nd([[0, 0, 0]], [1.0], [s] * 3), 2**30, INVALID),
    "normal": (lambda s: tf.random.normal([s]), -1, INVALID),
    "normal, too many": (lambda s: tf.random.normal([s, s]), 2**31 - 1, EXHAUSTED),
    "uniform, too many": (lambda s: tf.random.uniform([s, s, s]), 2**30, INVALID),
    "gamma": (lambda s: tf.random.gamma([s], 1.0), -1, INVALID),
    "poisson": (lambda s: tf.random.poisson([s], 1.0), -1, INVALID),
    "stateless": (lambda s: tf.random.stateless_normal([s], [1, 2]), -1, INVALID),
    "repeat": (lambda s: tf.repeat([1, 2], s), -1, INVALID),
    "slice": (lambda s: tf.slice(tf.range(6), [0], [s]), 9, INVALID),
    "split": (lambda s: tf.split(tf.range(6), [s, 3], num=2), -3, INVALID),
    "top_k of none": (lambda s: tf.math.top_k([1.0, 2.0], s), -1, INVALID),
    "top_k of more": (lambda s: tf.math.top_k([1.0, 2.0], s), 3, INVALID),
    "divided by 0": (lambda s: tf.zeros([6 // s]), 0, INVALID),
    "rest by 0": (lambda s: tf.zeros([6 % s]), 0, INVALID),
    "size by 0": (lambda s: tf.zeros([tf.shape(tf.ones([6]))[0] // s]), 0, INVALID),
    "blocks": (
        lambda s: tf.space_to_batch(tf.zeros([1, 4, 4, 1]), [s, 2], [[0, 0], [0, 0]]),
        -1,
        INVALID,
    ),
    "histogram": (lambda s: tf.histogram_fixed_width([1.0], [0.0, 2.0], nbins=s), -1, INVALID),
    "frames": (lambda s: tf.signal.frame(tf.range(6.0), s, 1), -1, INVALID),
    "sparse, too many": (
        lambda s: tf.sparse.to_dense(tf.SparseTensor([[0, 0]], [1.0], tf.stack([_far(s)] * 2))),
        1,
        INVALID,
    ),
}


@pytest.mark.parametrize("mode", ["eager", "interpreter", "llvm"])
@pytest.mark.parametrize("name", CASES)
def test_error_classes_of_sizes(name, mode):
    function, size, kind = CASES[name]
    with settings.executor("auto" if mode == "eager" else mode):
        if mode != "eager":
            function = tf.function(function, input_signature=[tf.TensorSpec([], tf.int32)])
        with pytest.raises(kind):
            function(tf.constant(size))


def test_a_reshape_of_nothing_leaves_what_other_sizes_leave():
    def function(x, s):
        return tf.reshape(x, [s, -1])

    for executor in ("interpreter", "llvm"):
        with settings.executor(executor):
            for dims in ([0], [0, 3], [2, 0, 5]):
                traced = tf.function(
                    function,
                    input_signature=[
                        tf.TensorSpec([None] * len(dims)),
                        tf.TensorSpec([], tf.int32),
                    ],
                )
                for size in (0, 1, 5):
                    wanted = function(tf.zeros(dims), tf.constant(size)).shape
                    assert traced(tf.zeros(dims), tf.constant(size)).shape == wanted, (dims, size)


def test_a_failed_size_names_the_operation_and_leaves_variables_as_they_were():
    v = tf.Variable(1.0)

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def function(s):
        v.assign_add(tf.reduce_sum(tf.zeros([6 // s])) + 1.0)
        return v.read_value()

    for executor in ("interpreter", "llvm"):
        with settings.executor(executor):
            with pytest.raises(INVALID, match="zeros"):
                function(tf.constant(0))
            assert float(v) == 1.0
    np.testing.assert_equal(float(function(tf.constant(2))), 2.0)
