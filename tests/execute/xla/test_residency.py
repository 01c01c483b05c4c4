"""Values stay on the device between steps, and nobody sees memory that was given away."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax", reason="the third executor is an extra")

import talweg as tf
from talweg.core import settings
from talweg.eager.resident import nearest

X = np.array([0.5, -1.0, 2.0], np.float32)


@pytest.fixture(autouse=True)
def through_xla():
    with settings.executor("xla"):
        yield


def counter():
    held = tf.Variable(X)

    @tf.function
    def step(x, i):
        held.assign_add(x)
        return tf.gather(held, i)

    return held, step


def is_fetched(tensor):
    try:
        object.__getattribute__(tensor, "_array")
    except AttributeError:
        return False
    return True


def test_variables_are_donated_and_results_fetched_when_somebody_looks():
    held, step = counter()
    step(X, 0)
    before = held._tensor._resident
    result = step(X, 1)
    assert before.is_deleted() and not is_fetched(held._tensor)
    assert result.shape == () and result.dtype == tf.float32 and not is_fetched(result)
    assert result.numpy() == -3 and is_fetched(result)
    np.testing.assert_array_equal(held, X * 3)


def test_what_was_read_keeps_what_it_had():
    held, step = counter()
    step(X, 0)
    tensor, array, view = held.value(), held.numpy(), held.__array__(copy=False)
    step(X, 0)
    for was in (tensor, array, view):
        np.testing.assert_array_equal(was, X * 2)
    unread = held.value()
    step(X, 0)
    np.testing.assert_array_equal(unread, X * 3)
    np.testing.assert_array_equal(held, X * 4)


def test_a_failed_step_leaves_donated_variables_as_they_were():
    held, step = counter()
    for _ in range(3):
        step(X, 0)
        with pytest.raises(tf.errors.InvalidArgumentError):
            step(X, 7)
        before = held.numpy()
        step(X * 0, 0)
        np.testing.assert_array_equal(held, before)


def test_numbers_of_64_bits_that_are_copied_keep_them():
    held = tf.Variable(np.array([2**40, 3]))

    @tf.function
    def step():
        held.assign_add([1, 1])

    step()
    before = held.value()
    step()
    assert held.dtype == tf.int64
    np.testing.assert_array_equal(before, [2**40 + 1, 4])
    np.testing.assert_array_equal(held, [2**40 + 2, 5])


def test_a_variable_given_as_argument_too():
    held = tf.Variable(X)

    @tf.function
    def step(x):
        held.assign_add(x)

    step(X)
    step(held.value())
    step(held)
    np.testing.assert_array_equal(held, X * 8)


def test_eager_and_compiled_steps_take_turns():
    held, step = counter()
    for _ in range(3):
        step(X, 0)
        held.assign_sub(X)
        with settings.executor("interpret"):
            step(X, 0)
        held.assign(held * 0.5)
    np.testing.assert_allclose(held, X * 1.0 * (1 / 8 + 7 / 8), 1e-6)


def test_results_go_on_as_arguments():
    f = tf.function(lambda x: tf.sin(x) * 2)
    y = f(f(f(tf.constant(X))))
    wanted = X
    for _ in range(3):
        wanted = np.sin(wanted) * 2
    np.testing.assert_allclose(y, wanted, 1e-5)
    assert isinstance(hash(y.ref()), int) and float(y[0]) == y.numpy()[0]


def test_what_a_tensor_has_not_is_said_as_ever():
    y = tf.function(lambda x: x + 1)(X)
    with pytest.raises(AttributeError, match="undefined when eager"):
        _ = y.graph
    assert not hasattr(y, "no_such_thing")


def test_a_step_that_takes_an_iterator_leaves_variables_on_the_device():
    held = tf.Variable([1.0, 2.0])

    @tf.function
    def step(x):
        held.assign_add(x)
        return tf.reduce_sum(held)

    @tf.function
    def from_data(iterator):
        before = held.read_value()
        found = step(tf.fill([2], next(iterator))) + step(tf.fill([2], next(iterator)))
        return found, before

    iterator = iter(tf.data.Dataset.range(1, 9).map(lambda n: tf.cast(n, tf.float32)))
    for value in (1.0, 4.0):
        _, before = from_data(iterator)
        assert before.numpy()[0] == value  # what was read keeps what it had
    assert held.numpy().tolist() == [11.0, 12.0]

    @tf.function
    def one_step(iterator):
        return step(tf.fill([2], next(iterator)))

    one_step(iterator)
    assert hasattr(nearest(held._tensor), "devices")
    assert held.numpy().tolist() == [16.0, 17.0]
