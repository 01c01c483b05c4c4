"""Lists and histories that compiled programs hand to each other, and to their users.

Under a tape a function's forward run is one program and its reverse another: what loops have kept
goes from one to the other.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from tests.trace.control.compiling import refusals

RNG = np.random.default_rng(1)
STEPS = tf.constant(RNG.normal(size=(12, 3, 4)), tf.float32)
START = RNG.normal(size=(4, 4)).astype(np.float32) * 0.5
TIMES = (3, 12, 0, 7)


def known_length(w, n):
    x = tf.zeros([3, 4])
    for i in tf.range(6):
        x = tf.tanh(x @ w + STEPS[i])
    return tf.reduce_sum(x * tf.cast(n, tf.float32))


def unknown_length(w, n):
    x = tf.zeros([3, 4])
    for i in tf.range(n):
        x = tf.tanh(x @ w + STEPS[i])
    return tf.reduce_sum(x)


def in_each_other(w, n):
    x = tf.zeros([3, 4])
    for i in tf.range(n):
        tried = 0
        while tf.reduce_sum(x) + tf.cast(tried, tf.float32) < 3.0 and tried < 5:
            x = tf.tanh(x @ w + STEPS[i] + 0.3)
            tried += 1
        x = x * 0.9
    return tf.reduce_sum(x * x)


def three_deep(w, n):
    x = tf.zeros([3, 4])
    for i in tf.range(n):
        outer = 0
        while tf.reduce_sum(x) < 3.0 and outer < 5:
            inner = 0
            while tf.reduce_max(x) < 0.5 and inner < 3:
                x = tf.tanh(x @ w + STEPS[i] + 0.3)
                inner += 1
            x = x * 1.1 + 0.1
            outer += 1
        if tf.reduce_sum(x) > 1.0:
            x = x * 0.9
        else:
            x = tf.sin(x)
    return tf.reduce_sum(x * x)


def in_known_loop(w, n):
    x = tf.zeros([3, 4]) + 0.01 * tf.cast(n, tf.float32)
    for i in tf.range(4):
        tried = 0
        while tf.reduce_sum(x) < 3.0 and tried < 5:
            x = tf.tanh(x @ w + STEPS[i] + 0.3)
            tried += 1
    return tf.reduce_sum(x * x)


def in_a_branch(w, n):
    def looped():
        return unknown_length(w, n)

    return tf.cond(n > 5, looped, lambda: tf.reduce_sum(tf.sin(w)))


def growing_list(w, n):
    found = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[3, 4])
    x = tf.zeros([3, 4])
    for i in tf.range(n):
        x = tf.tanh(x @ w + STEPS[i])
        found = found.write(i, x)
    total = tf.constant(0.0)
    for i in tf.range(n):
        total += tf.reduce_sum(found.read(i) ** 2)
    return total


def calls_of_calls(w, n):
    inner = tf.function(unknown_length)
    return inner(w, n) * 2 + inner(w, n // 2)


FUNCTIONS = [
    known_length,
    unknown_length,
    in_each_other,
    three_deep,
    in_known_loop,
    in_a_branch,
    growing_list,
    calls_of_calls,
]


def gradients(function, executor, reverse=None):
    """Values and gradients by a tape around calls; the gradients by the executor `reverse`."""
    made, found = tf.function(function), []
    for n in TIMES:
        w = tf.Variable(START)
        with tf.GradientTape(persistent=True) as tape, settings.executor(executor):
            found.append(made(w, tf.constant(n)))
        with settings.executor(reverse or executor):
            found += [tape.gradient(found[-1], w), tape.gradient(found[-1], w)]
    return found


def second_derivatives(function, executor):
    """Gradients of gradients, by tapes around calls."""
    made, found = tf.function(function), []
    with settings.executor(executor):
        for n in (3, 7):
            w = tf.Variable(START)
            with tf.GradientTape() as outer:
                with tf.GradientTape() as tape:
                    value = made(w, tf.constant(n))
                first = tape.gradient(value, w)
                size = tf.reduce_sum(first * first)
            found.append(outer.gradient(size, w, unconnected_gradients="zero"))
    return found


def assert_close(found, wanted, tolerance=1e-4):
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, tolerance, 0.1 * tolerance)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_gradients_of_calls_are_compiled(function):
    with refusals() as refused:
        found = gradients(function, "llvm")
    assert not refused
    assert_close(found, gradients(function, "interpret"))


@pytest.mark.parametrize("function", [known_length, unknown_length, growing_list, in_each_other])
def test_second_derivatives_by_tapes_around_calls(function):
    wanted = second_derivatives(function, "interpret")
    assert_close(second_derivatives(function, "llvm"), wanted, 1e-3)


@pytest.mark.parametrize("function", [in_each_other, in_a_branch, in_known_loop])
def test_the_interpreter_takes_what_was_compiled(function):
    wanted = gradients(function, "interpret")
    assert_close(gradients(function, "llvm", "interpret"), wanted)
    assert_close(gradients(function, "interpret", "llvm"), wanted)


@tf.function
def squares(n):
    found = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[])
    for i in tf.range(n):
        found = found.write(i, tf.cast(i, tf.float32) ** 2)
    return found


@tf.function
def total(values):
    found = tf.constant(0.0)
    for i in tf.range(values.size()):
        found += values.read(i)
    return found


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
def test_lists_are_results_and_arguments(executor):
    with settings.executor(executor):
        for n in (5, 1, 0, 9):
            values = squares(tf.constant(n))
            wanted = np.arange(n, dtype=np.float32) ** 2
            assert int(values.size()) == n
            np.testing.assert_array_equal(values.stack(), wanted)
            assert float(total(values)) == wanted.sum()
            longer = values.write(n, 7.0)
            assert float(total(longer)) == wanted.sum() + 7
            assert float(total(values)) == wanted.sum()  # the old one is what it was


def test_threads_hand_on_their_own():
    made = tf.function(unknown_length)
    w = tf.constant(START)
    found: dict = {}

    def run(n):
        for _ in range(20):
            with tf.GradientTape() as tape:
                tape.watch(w)
                value = made(w, tf.constant(n))
            found.setdefault(n, []).append(tape.gradient(value, w).numpy())

    with settings.executor("llvm"):
        run(1)
        threads = [threading.Thread(target=run, args=(n,)) for n in (3, 12, 7)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for several in found.values():
        for each in several:
            np.testing.assert_array_equal(each, several[0])
