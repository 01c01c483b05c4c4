"""What tf.nn does with windows beyond single recorded calls: formats, ties, NaN, equivalences."""

import json

import numpy as np
import pytest

import talweg as tf
from tests.kernels import window_cases as cases

RECORDED = json.loads(cases.VALUES.read_text(encoding="utf-8"))


def constant(*shape, salt=1):
    return tf.constant(cases.operand(shape, salt))


def gradients(function, *operands):
    """The value, and the gradients for a cotangent by formula."""
    with tf.GradientTape() as tape:
        tape.watch(operands)
        y = function(*operands)
    seed = constant(*y.shape, salt=3)
    return [y, *tape.gradient(y, operands, output_gradients=seed)]


def first(x):
    """A channels-last array with the channels in front."""
    return np.moveaxis(np.asarray(x), -1, 1)


FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}
POOLS = {
    1: (tf.nn.max_pool1d, tf.nn.avg_pool1d),
    2: (tf.nn.max_pool2d, tf.nn.avg_pool2d),
    3: (tf.nn.max_pool3d, tf.nn.avg_pool3d),
}
CONVOLUTIONS = {1: tf.nn.conv1d, 2: tf.nn.conv2d, 3: tf.nn.conv3d}


def check_formats(function, ndim, x, *others):
    """`function` gives with channels in front what it gives with channels last, and so back."""
    last, front = FORMATS[ndim]
    wanted = gradients(lambda x, *w: function(x, *w, data_format=last), x, *others)
    moved = tf.constant(first(x))
    with tf.GradientTape() as tape:
        tape.watch([moved, *others])
        y = function(moved, *others, data_format=front)
    seed = tf.constant(first(constant(*wanted[0].shape, salt=3)))
    gx, *rest = tape.gradient(y, [moved, *others], output_gradients=seed)
    np.testing.assert_allclose(y, first(wanted[0]), rtol=1e-6)
    np.testing.assert_allclose(gx, first(wanted[1]), rtol=1e-6)
    for got, expected in zip(rest, wanted[2:], strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_pooling_with_channels_first(ndim, padding):
    x = constant(2, *range(4, 4 + ndim), 3)
    for function in POOLS[ndim]:
        check_formats(lambda x, f=function, **kw: f(x, 3, 2, padding, **kw), ndim, x)


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_convolution_with_channels_first(ndim, padding):
    x, w = constant(2, *range(4, 4 + ndim), 3), constant(*[2] * ndim, 3, 4, salt=2)
    strides = [1] * (ndim + 2)
    check_formats(lambda x, w, **kw: CONVOLUTIONS[ndim](x, w, strides, padding, **kw), ndim, x, w)


def test_depthwise_and_transposed_with_channels_first():
    x, w = constant(2, 4, 5, 3), constant(2, 2, 3, 2, salt=2)
    check_formats(
        lambda x, w, **kw: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME", **kw), 2, x, w
    )
    w = constant(2, 3, 2, 3, salt=2)

    def transposed(x, w, data_format):
        shape = [2, 8, 10, 2] if data_format == "NHWC" else [2, 2, 8, 10]
        return tf.nn.conv2d_transpose(x, w, shape, 2, data_format=data_format)

    check_formats(transposed, 2, x, w)


def test_explicit_padding_follows_the_data_format():
    x, w = constant(1, 4, 4, 2), constant(2, 2, 2, 1, salt=2)
    rows, columns = [1, 0], [0, 2]
    last = tf.nn.conv2d(x, w, 1, [[0, 0], rows, columns, [0, 0]])
    front = tf.nn.conv2d(
        tf.constant(first(x)), w, 1, [[0, 0], [0, 0], rows, columns], data_format="NCHW"
    )
    np.testing.assert_array_equal(front, first(last))


def test_groups_are_separate_convolutions():
    x, w = constant(2, 4, 4, 6), constant(3, 3, 2, 3, salt=2)
    y, gx, gw = gradients(lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"), x, w)
    seed = cases.operand(y.shape, 3)
    for group in range(3):
        read, write = np.s_[..., 2 * group : 2 * group + 2], np.s_[..., group : group + 1]
        part, weights = tf.constant(x.numpy()[read]), tf.constant(w.numpy()[write])
        with tf.GradientTape() as tape:
            tape.watch([part, weights])
            alone = tf.nn.conv2d(part, weights, 1, "SAME")
        gradient = tape.gradient(alone, [part, weights], tf.constant(seed[write]))
        np.testing.assert_allclose(alone, y.numpy()[write])
        np.testing.assert_allclose(gradient[0], gx.numpy()[read])
        np.testing.assert_allclose(gradient[1], gw.numpy()[write])


@pytest.mark.parametrize("number", range(len(cases.MORPHOLOGY)))
def test_dilation2d_as_recorded(number):
    case = cases.MORPHOLOGY[number]
    x, w = constant(*case["input"]), constant(*case["filter"], salt=2)
    strides, rates = [1, *case["strides"], 1], [1, *case["rates"], 1]
    found = gradients(
        lambda x, w: tf.nn.dilation2d(x, w, strides, case["padding"], "NHWC", rates), x, w
    )
    for got, recorded in zip(found, RECORDED["morphology"][number], strict=True):
        assert list(got.shape) == recorded["shape"]
        np.testing.assert_array_equal(got.numpy().ravel(), recorded["elements"])


def test_erosion_is_the_dual_of_dilation():
    x, w = constant(1, 5, 4, 2), constant(2, 3, 2, salt=2)
    rest = [1, 1, 1, 1], "SAME", "NHWC", [1, 2, 1, 1]
    turned = tf.constant(w.numpy()[::-1, ::-1].copy())
    np.testing.assert_array_equal(
        tf.nn.erosion2d(x, w, *rest), -tf.nn.dilation2d(-x, turned, *rest).numpy()
    )


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_the_first_of_equal_maxima_has_the_gradient(ndim):
    """In every rank; TensorFlow's three-dimensional gradient gives it to all of them."""
    x = tf.constant(np.ones([1, *[2] * ndim, 1], np.float32))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.max_pool(x, 2, 2, "VALID")
    assert tape.gradient(y, x).numpy().ravel().tolist() == [1.0] + [0.0] * (2**ndim - 1)


def test_nan_is_a_maximum_and_has_the_gradient():
    x = tf.constant(np.array([1, np.nan, 2, np.nan], np.float32).reshape(1, 4, 1))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.max_pool1d(x, 4, 4, "VALID")
    assert np.isnan(y.numpy()).all()
    assert tape.gradient(y, x).numpy().ravel().tolist() == [0, 1, 0, 0]
    assert tf.nn.max_pool_with_argmax(x[:, :, None], (4, 1), 4, "VALID").argmax.numpy().item() == 1


def test_minus_infinity_stays():
    x = tf.constant(np.full((1, 2, 2, 1), -np.inf, np.float32))
    assert np.all(tf.nn.max_pool2d(x, 2, 1, "SAME").numpy() == -np.inf)


def test_second_derivative_of_max_pool():
    x = tf.constant(np.array([1, 1, 3, 2], np.float32).reshape(1, 2, 2, 1))
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.nn.max_pool2d(x, 2, 2, "VALID") ** 3
        g = inner.gradient(y, x)
    assert outer.gradient(g, x).numpy().ravel().tolist() == [0, 0, 18, 0]


def test_maxima_over_channels():
    x = constant(2, 3, 3, 6)
    y = tf.nn.max_pool2d(x, [1, 1, 1, 3], [1, 1, 1, 3], "VALID")
    np.testing.assert_array_equal(y, x.numpy().reshape(2, 3, 3, 2, 3).max(-1))


@pytest.mark.parametrize("padding", ["VALID", "SAME"])
def test_holes_by_rearranging_are_dilation(padding):
    x, w = constant(1, 5, 6, 2), constant(2, 3, 2, 2, salt=2)
    rearranged = tf.nn.with_space_to_batch(
        x, [2, 3], padding, lambda x, ndim, p: tf.nn.conv2d(x, w, 1, p), [2, 3]
    )
    dilated = tf.nn.conv2d(x, w, 1, padding, dilations=[2, 3])
    np.testing.assert_allclose(rearranged, dilated)


@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("pseudo_random", [False, True])
def test_fractional_pooling(overlapping, pseudo_random):
    x = constant(2, 7, 9, 2)
    ratio, rest = [1.0, 1.4, 1.9, 1.0], (pseudo_random, overlapping, 5)
    largest, rows, columns = tf.nn.fractional_max_pool(x, ratio, *rest)
    mean = tf.nn.fractional_avg_pool(x, ratio, *rest)
    assert largest.shape == mean.output.shape == [2, 5, 4, 2]
    for borders, size in ((rows, 7), (columns, 9)):
        widths = np.diff(borders.numpy())
        assert borders.numpy()[0] == 0 and borders.numpy()[-1] == size
        assert widths.max() - widths.min() <= 1
    np.testing.assert_array_equal(mean.row_pooling_sequence, rows)
    for i, j in np.ndindex(5, 4):
        high = rows.numpy()[i + 1] + overlapping, columns.numpy()[j + 1] + overlapping
        window = x.numpy()[:, rows.numpy()[i] : high[0], columns.numpy()[j] : high[1]]
        np.testing.assert_array_equal(largest.numpy()[:, i, j], window.max((1, 2)))
        average = mean.output.numpy()[:, i, j]
        np.testing.assert_allclose(average, window.mean((1, 2)), rtol=1e-5, atol=1e-6)
