"""Random numbers in loops and branches, compiled: the same numbers as the interpreter's."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from tests.trace.control.compiling import assert_compiled

CALLS = [(np.int32(n),) for n in (7, 3, 20, 1)]


def rejected(n):
    x, accepted, tried = tf.constant(0.0), tf.constant(False), 0
    while not accepted:
        x = tf.random.uniform([], -1.0, 1.0)
        accepted = tf.random.uniform([]) < 1 - x * x
        tried += 1
    return x, tried


def rejected_often(n):
    found = tf.TensorArray(tf.float32, size=n)
    for i in tf.range(n):
        x = tf.constant(1.0)
        while tf.abs(x) > 0.5:
            x = tf.random.normal([])
        found = found.write(i, x)
    return found.stack()


def rejected_in_known_loop(n):
    total = tf.constant(0.0)
    for _ in tf.range(6):
        x = tf.constant(2.0)
        while x > 0.4:
            x = tf.random.uniform([])
        total += x
    return total


def rejected_by_element(n):
    x, done = tf.zeros([8]), tf.zeros([8], tf.bool)
    while not tf.reduce_all(done):
        tried = tf.random.uniform([8], -1, 1)
        accepted = tf.random.uniform([8]) < 1 - tried * tried
        x = tf.where(accepted & ~done, tried, x)
        done |= accepted
    return x


def metropolis(n):
    x, moved = tf.constant([0.5, 0.5]), 0
    for _ in tf.range(n):
        to = x + 0.5 * tf.random.normal([2])
        gain = 0.5 * (tf.reduce_sum(x**2) - tf.reduce_sum(to**2))
        if tf.math.log(tf.random.uniform([])) < gain:
            x = to
            moved += 1
    return x, moved


def in_branches(n):
    if n > 5:
        x = tf.random.normal([3])
    else:
        x = tf.random.uniform([3])
    return x


def in_branches_of_loops(n):
    total = tf.constant(0.0)
    for _ in tf.range(n):
        if tf.random.uniform([]) > 0.9:
            break
        if total > 0:
            total -= tf.abs(tf.random.normal([]))
        else:
            total += tf.random.uniform([3])[1]
    return total


def in_one_of_three(n):
    bodies = [lambda: tf.random.normal([2]), lambda: tf.random.uniform([2]), lambda: tf.zeros([2])]
    return tf.switch_case(n % 3, bodies)


def in_the_condition(n):
    tried = tf.constant(0)
    while tf.random.uniform([]) < 0.8:
        tried += 1
    return tried


def in_both(n):
    def goes_on(i, total):
        return tf.logical_and(i < n, tf.random.normal([]) < 1.5)

    return tf.while_loop(goes_on, lambda i, x: (i + 1, x + tf.random.normal([])), (0, 0.0))


def condition_of_known_length(n):
    def goes_on(i, total):
        tf.random.normal([])
        return i < 5

    return tf.while_loop(goes_on, lambda i, x: (i + 1, x + tf.random.normal([])), (0, 0.0))


def one_operation_in_two_places(n):
    @tf.function
    def drawn():
        x = tf.constant(2.0)
        while x > 0.5:
            x = tf.random.uniform([], seed=3)
        return x

    first = drawn()
    return first + drawn(), 2 * drawn(), tf.random.uniform([], seed=3)


def known_loops_in_each_other(n):
    total = tf.constant(0.0)
    for i in tf.range(4):
        for _ in tf.range(3):
            total += tf.random.normal([]) * tf.cast(i, tf.float32)
    return total


def longer_known_loop(n):
    total = tf.constant(0.0)
    for _ in tf.range(70):
        total = 0.5 * total + tf.random.normal([])
    return total


def mapped(n):
    def one(i):
        x = tf.constant(2.0)
        while x > 0.5:
            x = tf.random.uniform([])
        return x

    return tf.map_fn(one, tf.range(5), fn_output_signature=tf.float32)


def stopped_by_an_index(n):
    values, total, i = tf.range(10.0), tf.constant(0.0), tf.constant(0)
    while total < 3.0:
        total += tf.random.uniform([]) * 0.2 * tf.gather(values, i)
        i += 1
    return total, i


def gradient_of_draws(n):
    scale = tf.cast(n, tf.float32)
    with tf.GradientTape() as outer:
        outer.watch(scale)
        with tf.GradientTape() as tape:
            tape.watch(scale)
            x = scale
            while x > 1.0:
                noise = tf.random.uniform([])
                x = x * (0.3 + 0.5 * noise)
                if noise > 0.7:
                    x = x + 0.1 * tf.sin(scale) * tf.random.normal([])
        slope = tape.gradient(x, scale)
    return x, slope, outer.gradient(slope, scale)


FUNCTIONS = [
    value
    for value in list(globals().values())
    if getattr(value, "__code__", None) and value.__module__ == __name__
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_same_numbers(function):
    assert_compiled(function, *CALLS)


def test_sessions_go_on():
    def numbers(executor):
        with tf.Graph().as_default(), settings.executor(executor):
            tf.compat.v1.set_random_seed(5)

            def body(x):
                return tf.random.uniform([], -1.0, 1.0)

            x = tf.while_loop(lambda x: tf.abs(x) > 0.3, body, (tf.constant(1.0),))
            more = tf.random.normal([2], seed=2)
            with tf.compat.v1.Session() as session:
                return [np.hstack(session.run([x, more])) for _ in range(4)]

    np.testing.assert_allclose(numbers("llvm"), numbers("interpret"), 1e-6)


def test_vectors_that_are_counted_up():
    """An integer vector is not what counts the trips."""

    def counted(n):
        found, x = tf.zeros([3], tf.int32), tf.cast(n, tf.float32)
        while x > 1.0:
            x, found = x * 0.5, found + 2
        return found, x

    assert_compiled(counted, *CALLS)


@pytest.mark.parametrize("step", [-3, -1, 1, 2])
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint64"])
def test_what_grows_evenly(step, dtype):
    def counted(n):
        known, unknown = tf.constant(100, dtype), tf.cast(n, dtype)
        x, total = tf.cast(n, tf.float32), tf.constant(0, dtype)
        for _ in tf.range(5):
            unknown += tf.constant(abs(step), dtype)
            total += unknown
        while x > 1.0:
            x = x * 0.75
            if step > 0:
                known, unknown = known + tf.constant(step, dtype), unknown + 1
            else:
                known, unknown = known - tf.constant(-step, dtype), unknown - 1
            total += known * unknown
        return known, unknown, total

    assert_compiled(counted, *CALLS)
