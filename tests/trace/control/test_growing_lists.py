"""Lists that loops of unknown length make longer now and then, compiled, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from tests.trace.control.compiling import assert_compiled

CALLS = [(np.int32(n),) for n in (7, 0, 3, 20, 1)]
F64 = tf.float64


def chaos(x):
    return 3.7 * x * (1 - x)


def growing(dtype=tf.float32):
    return tf.TensorArray(dtype, 0, dynamic_size=True, clear_after_read=False)


def where_accepted(n):
    found, k, x = growing(), 0, tf.constant(0.3)
    for _ in tf.range(n):
        x = chaos(x)
        if x > 0.5:
            found = found.write(k, x)
            k += 1
    return found.stack(), k


def until_there_are_enough(n):
    found, k, x, i = tf.TensorArray(tf.float32, n), 0, tf.constant(0.3), 0
    while k < n:
        x = chaos(x)
        if x > 0.5:
            found = found.write(k, x)
            k += 1
        i += 1
    return found.stack(), i


def behind_what_is_there(n):
    found, x, i = growing(), tf.constant(0.3), 0
    while i < n:
        x = chaos(x)
        if x > 0.5:
            found = found.write(found.size(), x)
        i += 1
    return found.stack()


def after_a_first_one(n):
    found, x, i = growing().write(0, 1.0), tf.constant(0.5), 1
    while x < tf.cast(n, tf.float32):
        x = found.read(i - 1) * 0.9 + x
        found = found.write(i, x)
        i += 1
    return found.stack(), x


def one_and_perhaps_another(n):
    found, x, i = growing(), tf.constant(0.5), 0
    while i < n:
        x = tf.sin(x) + 1
        found = found.write(2 * i, x)
        if x > 1.5:
            found = found.write(2 * i + 1, -x)
        i += 1
    return found.stack()


def in_inner_loops(n):
    found, k = growing(), 0
    for i in tf.range(n):
        x = tf.cast(i, tf.float32) + 1
        while x > 1.0:
            x = x * 0.5
            if x < 3.0:
                found = found.write(k, x)
                k += 1
        while x < 2.0:
            x = x * 1.5
            found = found.write(k, x)
            k += 1
    return found.stack()


def one_list_or_the_other(n):
    above, below, a, b, x = growing(), growing(), 0, 0, tf.constant(0.3)
    for _ in tf.range(n):
        x = chaos(x)
        if x > 0.5:
            above = above.write(a, x)
            a += 1
        else:
            below = below.write(b, x)
            b += 1
    return above.stack(), below.stack()


def rows_of_vectors(n):
    found, k, x = growing(), 0, tf.constant([0.3, 0.2, 0.1])
    while k < n:
        x = chaos(x)
        if tf.reduce_sum(x) > 1.5:
            found = found.write(k, x)
            k += 1
    return found.stack()


def numbers_of_collatz(n):
    found, x, i = tf.TensorArray(tf.int32, tf.maximum(n, 1)), n, 0
    while x > 1:
        if x % 2 == 0:
            found = found.write(i % n, x)
            x = x // 2
        else:
            x = 3 * x + 1
        i += 1
    return found.stack(), i


def skipped_and_stopped(n):
    found, x = growing(), tf.cast(n, tf.float32) * 0.04
    for _ in tf.range(100):
        x = chaos(x)
        if x > 0.92:
            break
        if x < 0.3:
            continue
        found = found.write(found.size(), x)
    return found.stack()


def samples(n):
    found, k = growing(), 0
    while k < n:
        x = tf.random.uniform([], -1.0, 1.0)
        if tf.random.uniform([]) < 1 - x * x:
            found = found.write(k, x)
            k += 1
    return found.stack()


FUNCTIONS = [
    where_accepted,
    until_there_are_enough,
    behind_what_is_there,
    after_a_first_one,
    one_and_perhaps_another,
    in_inner_loops,
    one_list_or_the_other,
    rows_of_vectors,
    numbers_of_collatz,
    skipped_and_stopped,
    samples,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_lists(function):
    assert_compiled(function, *CALLS)


def test_an_element_that_is_not_there():
    def read_too_far(n):
        found, i, x = growing(), 0, tf.constant(0.5)
        while x < 4.0:
            x = x + 1
            if x > 2.0:
                found = found.write(i, x)
                i += 1
        return found.read(n)

    assert_compiled(read_too_far, (np.int32(1),), (np.int32(5),), (np.int32(0),))


def test_thousands():
    found = assert_compiled(where_accepted, (np.int32(3000),))
    assert 1000 < found[0][1] < 3000


# -- derivatives


def kept_now_and_then(x, n):
    found, k, total = growing(F64), 0, tf.zeros([], F64)
    while k < n:
        x = chaos(x)
        if x > 0.5:
            found = found.write(k, x)
            k += 1
    for j in tf.range(k):
        total += tf.sin(found.read(j)) * tf.cast(j + 1, F64)
    return total


def kept_in_known_places(x, n):
    found, k = tf.TensorArray(F64, 6), 0
    while k < tf.minimum(n, 6):
        x = 0.99 * chaos(x)
        if x > 0.5:
            found = found.write(k, x * x)
            k += 1
    return tf.reduce_sum(tf.sin(found.stack()))


def kept_and_read(x, n):
    found, i = growing(F64).write(0, x), 1
    while i < n:
        x = tf.sin(found.read(i - 1)) + 0.5 * x
        found = found.write(i, x)
        i += 1
    return found.read(i // 2) * x


@pytest.mark.parametrize("function", [kept_now_and_then, kept_in_known_places, kept_and_read])
def test_derivatives(function):
    def all_of_them(x, n):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = function(x, n)
            slope = tape.gradient(y, x)
        return y, slope, outer.gradient(slope, x)

    calls = [(np.float64(0.31), np.int32(n)) for n in (4, 1, 9)]
    found = assert_compiled(all_of_them, *calls, tolerance=1e-8)
    traced = tf.function(function)
    with settings.executor("interpret"):
        for (x, n), (_, slope, _) in zip(calls, found):
            step = 1e-6
            more, less = [float(traced(tf.constant(x + s), tf.constant(n))) for s in (step, -step)]
            np.testing.assert_allclose(slope, (more - less) / (2 * step), 1e-4, 1e-6)
