"""Places that are computed and lie outside: the interpreter's error, and nothing is read there.

Memory is looked at before a compiled program has found out that a place is outside: far outside,
the process would end.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import talweg as tf
from tests.trace.control.compiling import assert_compiled

ROWS = tf.constant(np.random.default_rng(0).normal(size=(20, 4, 8)), tf.float32)
PLACES = [(np.int32(n),) for n in (3, 18, 20, 10**8, 10**9, -5 * 10**8, -1, -21)]


def element(n):
    return tf.reduce_sum(ROWS[n] ** 2)


def run_of_rows(n):
    return tf.reduce_sum(ROWS[n : n + 2] ** 2)


def never_negative(n):
    return tf.reduce_sum(ROWS[tf.abs(n)] ** 2)


def element_of_list(n):
    found = tf.TensorArray(tf.float32, 3, element_shape=[4, 8])
    for i in range(3):
        found = found.write(i, ROWS[i])
    return tf.reduce_sum(found.read(n))


def changed_element_of_list(n):
    found = tf.TensorArray(tf.float32, 3, element_shape=[])
    for i in range(3):
        found = found.write(i, 1.0)
    return tf.reduce_sum(found.write(n, 2.0).stack())


def gathered(n):
    return tf.reduce_sum(tf.gather(ROWS, n) ** 2)


def alone(function: Callable) -> Callable:
    return function


def in_loop_of_unknown_length(function: Callable) -> Callable:
    def looped(n):
        def body(i, k, total):
            return i * 2 + 1, k + 1, total + function(i)

        def goes_on(i, k, total):
            return tf.logical_and(total < 70.0, k < n % 8 + 1)

        return tf.while_loop(goes_on, body, (n, 0, 0.0))

    return looped


def in_counted_loop(function: Callable) -> Callable:
    def looped(n):
        def body(i, total):
            return i + 1, total + function(n * i)

        return tf.while_loop(lambda i, _: i < 5, body, (0, 0.0))

    return looped


def in_branch(function: Callable) -> Callable:
    return lambda n: tf.cond(n > 2, lambda: function(n), lambda: 0.0)


@pytest.mark.parametrize("around", [alone, in_loop_of_unknown_length, in_counted_loop, in_branch])
@pytest.mark.parametrize(
    "function",
    [element, run_of_rows, never_negative, element_of_list, changed_element_of_list, gathered],
    ids=lambda function: function.__name__,
)
def test_places_outside_are_errors(function, around):
    assert_compiled(around(function), *PLACES)


def test_rows_of_an_array_beside_a_list_that_grows():
    """The list makes the loop one without end, whose counter may then be anything."""

    def function(n):
        rows = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[4, 8])
        x = tf.zeros([4, 8])
        for i in tf.range(n):
            x = tf.tanh(x + ROWS[i])
            rows = rows.write(i, x)
        total = tf.constant(0.0)
        for i in tf.range(n):
            total += tf.reduce_sum(rows.read(i) ** 2)
        return total

    found = assert_compiled(function, (np.int32(3),), (np.int32(20),), (np.int32(21),))
    assert found[2] == "InvalidArgumentError"
