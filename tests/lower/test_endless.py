"""Loops whose number of trips depends on values, and their derivatives, against the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.lower.ir.loops import Fill, Grow, Host
from tests.lower.controlled import agree, blocks_of, gradient

R = np.random.default_rng(3)
A = np.float64(7.0)
Y = R.normal(size=(5, 1))
M = R.normal(size=(5, 5))
S = M @ M.T
N = np.int32(5)


def root(a):
    x = tf.constant(1.0, tf.float64)
    while tf.abs(x * x - a) > 1e-9:
        x = x - (x * x - a) / (2 * x)
    return x


def power_iteration(m):
    v, change = tf.ones([5, 1], tf.float64), tf.constant(1.0, tf.float64)
    while change > 1e-4:
        w = m @ v
        w = w / tf.norm(w)
        v, change = w, tf.norm(w - v)
    return tf.reduce_sum(v * (m @ v))


def adaptive_steps(y):
    t, h = tf.constant(0.0, tf.float64), tf.constant(0.1, tf.float64)
    while t < 1.0:
        first = tf.sin(y) + t
        error = tf.reduce_max(tf.abs(tf.sin(y + h * first) + h - tf.sin(y))) * h / 2
        if error < 1e-2:
            y, t = y + h * first, t + h
        h = tf.minimum(h * tf.clip_by_value(0.9 * tf.sqrt(1e-2 / error), 0.3, 2.0), 1.0 - t + 1e-9)
    return y


def one_or_the_other(y, m):
    n = tf.constant(0)
    while tf.reduce_sum(y * y) > 1e-2:
        if n % 2 == 0:
            y = tf.tanh(m @ y * 0.05)
        else:
            y = y * 0.7 + 0.01 * tf.reduce_sum(m @ y)
        n += 1
    return y


def known_loop_inside(x):
    while tf.reduce_sum(x * x) > 0.1:
        for _ in tf.range(3):
            x = tf.sin(x) * 0.8
    return x


def in_a_branch(y, m):
    def run(y):
        while tf.reduce_sum(y * y) > 1e-2:
            y = tf.tanh(m @ y * 0.05) + 0.5 * y
        return y

    return tf.cond(tf.reduce_sum(y) > -1e3, lambda: run(y), lambda: m @ tf.sin(y))


def no_trip_at_all(y):
    while tf.reduce_sum(y * y) > 1e9:
        y = tf.sin(y)
    return y * 2.0


def several_dtypes(y):
    n, half = tf.constant(0), tf.cast(y, tf.float16)
    flag, few = tf.constant(True), tf.zeros([0, 3], tf.float64)
    while flag:
        y = tf.where(n % 2 == 0, tf.sin(y), tf.cos(y)) + tf.reduce_sum(few)
        half = half * tf.cast(y, tf.float16)
        few = few * 2.0
        n += 1
        flag = tf.reduce_sum(tf.abs(half)) > 1e-3
    return y, tf.cast(half, tf.float64), few


def complex_numbers(y):
    z = tf.complex(y, y + 1.0)
    while tf.reduce_max(tf.abs(z)) > 0.1:
        z = z * z * 0.1 + z * tf.complex(tf.constant(0.3, tf.float64), tf.reduce_sum(y) * 0.1)
    return tf.math.real(z) + tf.abs(z)


def two_after_each_other(y):
    while tf.reduce_sum(y * y) > 1.0:
        y = tf.sin(y) * 0.9
    while tf.reduce_sum(y * y) < 2.0:
        y = y * (1.2 + 0.1 * tf.cos(y))
    return y


def reads_itself(y):
    a, b = y, tf.cos(y)
    while tf.reduce_sum(a * a) > 1e-1:
        a, b = 0.5 * b, a * tf.sin(b)
    return a + b


def newton_for_each(y):
    total = tf.zeros([], tf.float64)
    for i in tf.range(4):
        x, a = tf.constant(1.0, tf.float64), tf.abs(y[i, 0]) + 1.0 + tf.sin(total)
        while tf.abs(x * x - a) > 1e-8:
            x = x - (x * x - a) / (2 * x)
        total += x * x * x
    return total


def newton_until(y):
    total = tf.constant(2.0, tf.float64)
    while total < 30.0:
        x, a = tf.constant(1.0, tf.float64), total + tf.reduce_sum(y * y)
        while tf.abs(x * x - a) > 1e-8:
            x = x - (x * x - a) / (2 * x)
        total = total + x
    return total


def sometimes_a_loop_inside(y, m):
    z, n = y, tf.constant(0)
    while tf.reduce_sum(z * z) > 1.0:
        if n % 2 == 0:
            u = z
            while tf.reduce_sum(u * u) > 0.05:
                u = tf.tanh(m @ u * 0.05) + 0.4 * u
        else:
            u = tf.sin(z) @ tf.ones([1, 1], tf.float64) * 0.1
        z = (z * 0.5 + u * tf.cos(z)) * 0.8
        n += 1
    return z


def three_loops(y):
    z = y
    while tf.reduce_sum(z * z) > 0.1:
        u = z
        while tf.reduce_sum(u * u) > 0.05:
            v = u
            while tf.reduce_sum(v * v) > 0.02:
                v = tf.sin(v) * 0.7
            u = 0.5 * u + v * tf.cos(u) * 0.1
        z = (z * 0.5 + u * tf.cos(z)) * 0.8
    return z


def known_loop_between(y):
    z = y
    while tf.reduce_sum(z * z) > 0.1:
        for i in tf.range(4):
            u = z * (1.0 + tf.cast(i, tf.float64))
            while tf.reduce_sum(u * u) > 0.05:
                u = tf.sin(u) * 0.7
            z = 0.7 * z + 0.1 * u * tf.cos(z)
    return z


def read_back(y):
    values = tf.TensorArray(tf.float64, 0, dynamic_size=True, clear_after_read=False)
    z, i, values = y, tf.constant(0), values.write(0, y)
    while tf.reduce_sum(z * z) > 0.5:
        z = tf.sin(z) * 0.8 + 0.05 * values.read(i // 2)
        i += 1
        values = values.write(i, z)
    last = values.read(values.size() - 1)
    return last + values.read(0) * tf.reduce_sum(values.read(i - 1))


def read_backwards(y):
    values = tf.TensorArray(tf.float64, 0, dynamic_size=True)
    z, i = y, 0
    while tf.reduce_sum(z * z) > 0.5:
        z = tf.sin(z) * 0.8
        values = values.write(i, z * z)
        i += 1
    total = tf.zeros_like(y)
    for j in tf.range(values.size()):
        total = total * 0.5 + values.read(values.size() - 1 - j)
    return total


def of_given_size(y, n):
    values = tf.TensorArray(tf.float64, n)
    for i in tf.range(n):
        values = values.write(i, tf.sin(y) * tf.cast(i, tf.float64))
    total = tf.zeros_like(y)
    for i in tf.range(n):
        total = tf.cos(total) + values.read(i)
    return total


def until_or_at_most(y):
    values = tf.TensorArray(tf.float64, 0, dynamic_size=True)
    z, i = y, 0
    while tf.reduce_sum(z * z) > 0.5 and i < 50:
        z = tf.sin(z) * 0.8
        values = values.write(i, z * z)
        i += 1
    total = tf.zeros_like(y)
    for j in tf.range(values.size()):
        total = total * 0.5 + values.read(j)
    return total


def written_now_and_then(y):
    values = tf.TensorArray(tf.float64, 0, dynamic_size=True)
    z, i, n = y, 0, 0
    while tf.reduce_sum(z * z) > 0.5:
        z = tf.sin(z) * 0.9
        if i % 3 == 0:
            values = values.write(n, z * z)
            n += 1
        i += 1
    return values.read(n - 1) + values.read(0)


FUNCTIONS = [
    (root, A),
    (power_iteration, S),
    (adaptive_steps, Y),
    (one_or_the_other, Y, M),
    (known_loop_inside, Y),
    (in_a_branch, Y, M),
    (no_trip_at_all, Y),
    (several_dtypes, Y),
    (complex_numbers, Y),
    (two_after_each_other, Y),
    (reads_itself, Y),
    (newton_for_each, Y),
    (newton_until, Y),
    (sometimes_a_loop_inside, Y, M),
    (three_loops, Y),
    (known_loop_between, Y),
    (read_back, Y),
    (read_backwards, Y),
    (of_given_size, Y, N),
    (until_or_at_most, Y),
    (written_now_and_then, Y),
]
NESTED = (
    newton_for_each,
    newton_until,
    sometimes_a_loop_inside,
    three_loops,
    known_loop_between,
)
ONCE = (several_dtypes, complex_numbers, written_now_and_then, *NESTED)
NAMES = [function.__name__ for function, *_ in FUNCTIONS]


@pytest.mark.parametrize("function, arguments", [(f, a) for f, *a in FUNCTIONS], ids=NAMES)
def test_derivatives(function, arguments):
    lowered = agree(gradient(function), *arguments, machine=True, tolerance=1e-6)
    assert not blocks_of(lowered, Host) or function is complex_numbers
    assert blocks_of(lowered, Grow) or function is known_loop_inside
    agree(gradient(function), *arguments, tolerance=1e-6)


@pytest.mark.parametrize("function, arguments", [(f, a) for f, *a in FUNCTIONS if f not in ONCE])
def test_second_derivatives(function, arguments):
    lowered = agree(gradient(gradient(function)), *arguments, machine=True, tolerance=1e-6)
    assert blocks_of(lowered, Fill)  # stacks of which nobody knows that every row is written
    agree(gradient(gradient(function)), *arguments, tolerance=1e-6)


def test_what_is_known_beforehand_is_used():
    """Small loops within a known one are written out, if nothing else is known of them."""

    def function(x):
        for i in tf.range(6):
            for _ in tf.range(i % 3):
                x = tf.sin(x) + x
        return x

    for derived in (gradient(function), gradient(gradient(function))):
        assert not blocks_of(agree(derived, Y), Grow)
