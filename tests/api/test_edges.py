"""Edges of single functions: weights of sum 0, tables of numbers, NumPy scalars in lists, ..."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.api.nn import pooling

HALF = np.float16


def test_weighted_moments_of_no_weight_are_zero():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    for weights in (tf.zeros([2, 1]), tf.constant([[1.0, 0.0], [-1.0, 0.0]])):
        for moments in (tf.nn.weighted_moments, tf.compat.v1.nn.weighted_moments):
            mean, variance = moments(x, [0], weights)
            assert mean.numpy().tolist() == variance.numpy().tolist() == [0.0, 0.0]


def test_rows_of_a_table_of_numbers_are_clipped():
    table = tf.constant([2.0, -4.0, 0.5])
    assert tf.nn.embedding_lookup(table, 1, max_norm=1.0).numpy() == -1.0
    assert tf.nn.embedding_lookup(table, [0, 1, 2], max_norm=1.0).numpy().tolist() == [1, -1, 0.5]
    with tf.GradientTape() as tape:
        tape.watch(table)
        y = tf.nn.embedding_lookup(table, [0, 2], max_norm=1.0)
    found = tf.convert_to_tensor(tape.gradient(y, table))
    np.testing.assert_allclose(found, [0.0, 0.0, 1.0], atol=1e-6)
    parts = [[2.0, -4.0], [0.5, 3.0]]
    found = tf.compat.v1.nn.embedding_lookup(parts, [0, 1, 2], max_norm=1.0)
    assert found.numpy().tolist() == [1.0, 0.5, -1.0]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ([HALF(0)], "float16"),
        ([HALF(0), np.array(1.0, HALF)], "float16"),
        ([HALF(0), 1.0], "float16"),
        ([np.array(1.0, HALF)], "float16"),
        ([[HALF(0)], [HALF(1)]], "float16"),
        ((HALF(1),), "float16"),
        ([HALF(1), 1], "float16"),
        ([HALF(1), np.float32(2)], "float16"),
        ([1.0, HALF(0)], "float32"),
        ([np.float32(1), HALF(0)], "float32"),
        ([1, HALF(1)], "float32"),
        ([np.zeros(2, HALF), np.ones(2, np.float32)], "float16"),
        ([np.float64(1)], "float64"),
        ([np.uint64(1)], "int32"),
        ([np.uint64(2**40)], "int64"),
        ([np.ones(2, "u8")] * 2, "int32"),
        ([np.zeros(0, "i8")] * 2, "float32"),
        ([np.str_("a"), "b"], "string"),
        (["b", np.str_("a")], "string"),
        ([[np.bytes_(b"a")], [b"b"]], "string"),
        ([np.array("ab"), np.array("c")], "string"),
    ],
)
def test_lists_of_numpy_scalars(value, dtype):
    for made in (tf.constant(value), tf.convert_to_tensor(value), tf.Variable(value)):
        assert made.dtype.name == dtype
        assert made.shape == np.shape(value)


@pytest.mark.parametrize(
    "value", [[np.datetime64("2020")], [HALF(1), 1e6], [np.uint64(2**63)], [np.timedelta64(1)]]
)
def test_lists_of_numpy_scalars_that_no_tensor_holds(value):
    with pytest.raises(ValueError):
        tf.constant(value)


def test_isotonic_regression_of_integers():
    for dtype, wanted in {
        "int8": "float32",
        "int16": "float32",
        "int32": "float64",
        "int64": "float64",
        "float16": "float16",
    }.items():
        output, _ = tf.nn.isotonic_regression(tf.constant([3, 1, 2], dtype))
        assert output.dtype.name == wanted and output.numpy().tolist() == [3.0, 1.5, 1.5]


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "float16", "complex64"])
def test_mirror_pad_grad(dtype, mode):
    grad = tf.raw_ops.MirrorPadGrad
    wanted = [8, 9, 4] if mode == "REFLECT" else [3, 9, 9]
    found = grad(input=tf.cast(tf.range(7), dtype), paddings=[[2, 2]], mode=mode)
    assert found.dtype.name == dtype and found.numpy().tolist() == wanted
    x = tf.constant(np.arange(12.0).reshape(3, 4))
    pairs = [[1, 2], [2, 0]]
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.pad(x, pairs, mode)
    g = tf.constant(np.random.default_rng(0).standard_normal(y.shape))
    found = grad(input=g, paddings=pairs, mode=mode)
    np.testing.assert_allclose(found, tape.gradient(y, x, g), 1e-12)


@pytest.mark.parametrize(
    "paddings", [[[0x77F00000, 0xA000000], [1, 1]], [[-1, 1], [1, 1]], [[2, 2], [1, 1]], [[1, 1]]]
)
def test_mirror_pad_grad_refuses(paddings):
    with pytest.raises(tf.errors.InvalidArgumentError, match="MirrorPadGrad"):
        tf.raw_ops.MirrorPadGrad(input=tf.zeros([4, 6]), paddings=paddings, mode="REFLECT")


def test_saturate_cast_is_finite():
    big = tf.constant([1e300, -1e300, np.inf, -np.inf, 1.0], tf.float64)
    top = np.finfo(np.float32).max
    for dtype in (tf.float32, tf.complex64):
        found = tf.saturate_cast(big, dtype).numpy()
        assert np.real(found).tolist() == [top, -top, top, -top, 1.0]
    both = tf.saturate_cast(tf.complex(big, tf.reverse(big, [0])), tf.complex64).numpy()
    assert both.imag.tolist() == [1.0, -top, top, -top, top] and both.real[0] == top
    assert np.isfinite(tf.saturate_cast(big, tf.float64).numpy()).all()
    assert np.isfinite(
        tf.saturate_cast(tf.constant([np.inf], tf.float16), tf.float32).numpy()
    ).all()


POOLS = [
    tf.nn.avg_pool2d,
    tf.nn.max_pool2d,
    lambda *operands: tf.nn.max_pool_with_argmax(*operands)[0],
]


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("window", [(3, 20), (12, 15), (30, 16), (17, 2), (11, 40), (16, 31)])
def test_pooling_windows_beyond_the_image(window, pool, monkeypatch):
    x = tf.constant(np.random.default_rng(0).standard_normal((2, 5, 7, 3)), tf.float32)

    def run(strides):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = pool(x, window, strides, "SAME")
            z = y * y
        return [y, tape.gradient(z, x)]

    def whole(sizes, window, strides, padding, dilation):
        return window, padding

    steps = [(1, 1), (2, 3), (4, 9), (6, 2)]
    found = [run(step) for step in steps]
    monkeypatch.setattr(pooling, "within_reach", whole)
    for parts, step in zip(found, steps):
        for part, wanted in zip(parts, run(step)):
            np.testing.assert_allclose(part, wanted, 1e-5, 1e-6)


def test_pooling_of_very_large_windows_ends():
    x, size = tf.reshape(tf.range(16.0), [1, 4, 4, 1]), [1, 1 << 30, 1 << 30, 1]
    found = tf.raw_ops.AvgPool(value=x, ksize=size, strides=[1, 1, 1, 1], padding="SAME")
    np.testing.assert_allclose(found, np.full((1, 4, 4, 1), 7.5))
    found = tf.raw_ops.AvgPoolGrad(
        orig_input_shape=[1, 4, 4, 1], grad=x, ksize=size, strides=[1, 1, 1, 1], padding="SAME"
    )
    np.testing.assert_allclose(found, np.full((1, 4, 4, 1), 7.5))
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.raw_ops.AvgPool(value=x, ksize=size, strides=[1, 1, 1, 1], padding="VALID")


def test_top_k_takes_nan_for_the_largest():
    for values, k, places in [
        ([1, np.nan, 2], 1, [1]),
        ([1, np.nan, 2], 3, [1, 2, 0]),
        ([np.nan, 1, np.nan], 3, [0, 2, 1]),
    ]:
        assert tf.math.top_k(tf.constant(values, tf.float32), k).indices.numpy().tolist() == places


def test_zeta_at_its_edges():
    """NaN was taken for inf at the poles, and the order inf gave NaN; values are TensorFlow's."""
    inf, nan = float("inf"), float("nan")
    x = tf.constant([nan, 1.5, 2.0, 1.0, inf, inf, inf, 2.0, 1.0], tf.float64)
    q = tf.constant([0.0, -1.0, -1.0, -2.0, 2.0, 1.5, 0.0, nan, nan], tf.float64)
    wanted = [nan, nan, inf, inf, 0.0, 0.0, inf, nan, inf]
    np.testing.assert_array_equal(tf.math.zeta(x, q), wanted)


PLACES = [[0, 1, 2], [0, 2, 0], [1, 0, 1], [1, 2, 2], [1, 2, 3]]


@pytest.mark.parametrize("keepdims", (False, True))
@pytest.mark.parametrize("axis", (None, 0, 1, -1, [0, 1], [2, 0], [0, 1, 2], []))
def test_sparse_sums_are_those_of_the_dense_tensor(axis, keepdims):
    x = tf.SparseTensor(PLACES, [1.0, 2.0, 3.0, 4.0, -5.0], [2, 3, 4])
    dense = tf.sparse.to_dense(x)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x.values)
        found = tf.sparse.reduce_sum(x, axis, keepdims)
    wanted = tf.reduce_sum(dense, axis, keepdims)
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(tape.gradient(found, x.values), np.ones(5, np.float32))
    in_function = tf.function(tf.sparse.reduce_sum)(x, axis, keepdims)
    np.testing.assert_array_equal(in_function, wanted)
    assert tf.sparse.reduce_sum(tf.sparse.from_dense(tf.zeros([2, 0])), 1).numpy().tolist() == [
        0,
        0,
    ]


@pytest.mark.parametrize("place", ([0, 1, 4], [2, 0, 0], [0, -1, 0], [0, 3, 0]))
def test_sparse_sums_refuse_places_outside(place):
    outside = [
        axis for axis, (one, size) in enumerate(zip(place, (2, 3, 4))) if not 0 <= one < size
    ]
    for axis in {0, 1, 2} - set(outside):
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of bounds"):
            tf.sparse.reduce_sum(tf.SparseTensor([place], [1.0], [2, 3, 4]), axis)


@pytest.mark.parametrize("dtype", ("float32", "float64", "int32", "int64", "float16"))
@pytest.mark.parametrize("shape", ((5,), (5, 3), (5, 2, 2)))
def test_means_of_segments(dtype, shape):
    x = tf.cast(tf.reshape(tf.range(np.prod(shape)), shape), dtype)
    ids = np.array([0, 0, 0, 2, 2])
    wanted = np.stack([np.mean(x[:3], 0), np.zeros(shape[1:]), np.mean(x[3:], 0)]).astype(dtype)
    eager = tf.math.segment_mean(x, ids)
    in_function = tf.function(tf.math.segment_mean)(x, ids)
    for found in (eager, in_function):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-3 if dtype == "float16" else 1e-6)
