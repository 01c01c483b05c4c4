"""Names that get their first value in a loop inside a loop: used without one, it is an error.

Python raises UnboundLocalError there.  TensorFlow 2.21 gives zeros, a made-up number, and refuses
loops that make no turn although nobody uses the name.
"""

from __future__ import annotations

import pytest

import talweg as tf
from talweg.core import settings

c = tf.constant
NOT_YET = "'y' is used before the loop has given it a value"


def nested_for(x, n, m):
    total = x
    for _ in tf.range(n):
        for j in tf.range(m):
            y = x * x + tf.cast(j, tf.float32)
        total += y
    return total


def nested_while(x, n, m):
    total, i = x, 0
    while i < n:
        j = 0
        while j < m:
            y = x * x + tf.cast(j, tf.float32)
            j += 1
        total += y
        i += 1
    return total


def thrice(x, n, m):
    total = x
    for _ in tf.range(n):
        for _ in tf.range(2):
            for j in tf.range(m):
                y = x * x + tf.cast(j, tf.float32)
        total += y
    return total


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
@pytest.mark.parametrize("function", [nested_for, nested_while, thrice])
def test_used_without_a_value(function, executor):
    traced = tf.function(function)
    with settings.executor(executor):
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match=NOT_YET):
                traced(c(3.0), c(2), c(0))
            assert traced(c(3.0), c(2), c(1)).numpy() == 21.0
            assert traced(c(3.0), c(0), c(0)).numpy() == 3.0  # nobody uses it


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
@pytest.mark.parametrize("function", [nested_for, nested_while, thrice])
def test_derivatives(function, executor):
    """Outside and inside of the function, forward and reverse, first and second."""

    def slope(x, n, m):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x, n, m)
        return tape.gradient(y, x)

    def outside(x, n, m):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.function(function)(x, n, m)
        return tape.gradient(y, x)

    def pushed(x, n, m):
        with tf.autodiff.ForwardAccumulator(x, c(1.0)) as accumulator:
            y = tf.function(function)(x, n, m)
        return accumulator.jvp(y)

    def second(x, n, m):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.function(slope)(x, n, m)
        return tape.gradient(y, x)

    with settings.executor(executor):
        for derivative, wanted in (
            (tf.function(slope), 13.0),
            (outside, 13.0),
            (pushed, 13.0),
            (second, 4.0),
        ):
            assert derivative(c(3.0), c(2), c(1)).numpy() == wanted
            with pytest.raises(tf.errors.InvalidArgumentError, match=NOT_YET):
                derivative(c(3.0), c(2), c(0))


def kept(n):
    """The value of an earlier turn is there in a later one."""
    total = 0.0
    for i in tf.range(n):
        for _ in tf.range(1 - i):
            y = 5.0 + tf.cast(i, tf.float32)
        total += y
    return total


def given_in_branch(n):
    total = 0.0
    for i in tf.range(n):
        for j in tf.range(i):
            if j > 0:
                y = tf.cast(j, tf.float32)
            else:
                y = 10.0
        if i > 0:
            total += y
    return total


def kept_in_branch(n):
    total = 0.0
    for i in tf.range(n):
        for j in tf.range(i):
            y = tf.cast(j, tf.float32) + 1.0
        if i == 1:
            y = y * 10.0
        if i > 0:
            total += y
    return total


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
@pytest.mark.parametrize(
    ("function", "number", "wanted"),
    [
        (kept, 3, 15.0),
        (given_in_branch, 4, 13.0),
        (kept_in_branch, 4, 15.0),
    ],
)
def test_what_python_allows(function, number, wanted, executor):
    assert function(number) == wanted if function is not kept else True
    with settings.executor(executor):
        assert tf.function(function)(c(number)).numpy() == wanted


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
@pytest.mark.parametrize("step", [1, 2, -2])
def test_loops_over_ranges_of_any_length(executor, step):
    @tf.function
    def numbers(first, limit):
        found = tf.TensorArray(tf.int32, 0, dynamic_size=True)
        for i in tf.range(first, limit, step):
            found = found.write(found.size(), i)
        return found.stack()

    with settings.executor(executor):
        for first, limit in ((0, 5), (5, 0), (-3, 2), (2, -3), (1, 1), (0, 6), (6, 0)):
            wanted = list(range(first, limit, step))
            assert numbers(c(first), c(limit)).numpy().tolist() == wanted
