"""Eager calls of elementwise functions: the short way of most calls, and what does not go there."""

import threading

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings

NUMBERS = np.array([[-1.5, 0.0, 2.0]])
ODD = np.array([np.nan, np.inf, -np.inf, -0.0])


@pytest.mark.parametrize("dtype", (tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.complex64))
@pytest.mark.parametrize("shape", ((3,), (1, 3), (3, 1), ()))
def test_functions_of_one_tensor(dtype, shape):
    """The second call of a dtype takes the short way; it gives what the first one gave."""
    x = tf.cast(NUMBERS.reshape(-1)[: int(np.prod(shape))].reshape(shape), dtype)
    first, again = tf.exp(x), tf.exp(x)
    assert first.dtype is again.dtype is dtype and again.shape == shape
    np.testing.assert_array_equal(first.numpy(), again.numpy())
    wide = np.exp(x.numpy().astype("c16" if dtype.is_complex else "f8"))
    np.testing.assert_allclose(
        again.numpy().astype(wide.dtype), wide, rtol=1e-2 if dtype.size == 2 else 1e-6
    )


def test_numbers_that_are_not_finite():
    for _ in range(2):
        with np.errstate(all="raise"):  # of NumPy's conditions nothing is seen
            result = tf.exp(tf.constant(ODD)).numpy()
        np.testing.assert_array_equal(result, [np.nan, np.inf, 0, 1])


def test_no_elements():
    for _ in range(2):
        assert tf.exp(tf.zeros([0, 2])).shape == (0, 2)


def test_a_dtype_is_refused_after_another_was_accepted():
    """Accepted are dtypes, not functions."""
    assert tf.exp(tf.constant(0.0)).numpy() == 1
    assert tf.exp(tf.constant(0.0)).numpy() == 1
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match="int32"):
            tf.exp(tf.constant([1]))
    for refused in (tf.constant(True), tf.constant("text")):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.exp(refused)


def test_results_are_checked_where_that_is_asked_for():
    x = tf.constant([1.0])
    tf.exp(x)
    with settings.check(1):
        np.testing.assert_allclose(tf.exp(x), np.exp([1.0]), rtol=1e-6)


def test_tapes_and_threads():
    x = tf.constant([1.0, 2.0])
    tf.exp(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.exp(x)
    np.testing.assert_allclose(tape.gradient(y, x), np.exp([1.0, 2.0]), rtol=1e-6)
    wrong = []

    def work():
        for _ in range(300):
            if not np.array_equal(tf.exp(x), y):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("dtype", ("int8", "uint8", "int32", "int64", "uint64", "float32"))
@pytest.mark.parametrize("count", (3, 5000))
def test_whole_quotients_and_remainders(dtype, count):
    """Of integers below some size they take the short way of operators, with the same zeros."""
    x = np.resize(np.array([7, 100, 3], dtype), count)
    y = np.resize(np.array([2, 7, 5], dtype), count)
    if np.dtype(dtype).kind != "u":
        x, y = x * np.resize(np.array([1, -1, 1, -1], dtype), count), y.copy()
        y[::3] *= -1
    a, b = tf.constant(x), tf.constant(y)
    for result, wanted in (
        (a // b, x // y),
        (a % b, x % y),
        (a // 3, x // 3),
        (a % 3, x % 3),
        (100 // b, 100 // y),
        (100 % b, 100 % y),
        (a // b[0], x // y[0]),
    ):
        np.testing.assert_array_equal(result, wanted)
        assert result.dtype == dtype
    if dtype != "float32":
        for wrong in (lambda: a // 0, lambda: a % 0, lambda: 1 % (b * 0), lambda: a // (b * 0)):
            with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
                wrong()
    assert (a[:0] // 0).shape == (0,)


def test_remainders_under_a_tape_and_in_a_function():
    x = tf.constant([7, -7])
    with tf.GradientTape() as tape:
        y = tf.constant([1.0, 2.0])
        tape.watch(y)
        z = y * tf.cast(x % 4, tf.float32)
    np.testing.assert_array_equal(tape.gradient(z, y), [3, 1])
    np.testing.assert_array_equal(tf.function(lambda x: x // 2 + 5 % x)(x), [8, -6])
