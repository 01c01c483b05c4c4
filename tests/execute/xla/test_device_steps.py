"""Steps that come one after the other, between which variables are one tuple of a device."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

pytest.importorskip("jax", reason="the third executor is an extra")

import talweg as tf
from talweg.core import settings

X = np.array([0.5, -1.0, 2.0], np.float32)


@pytest.fixture(autouse=True)
def through_xla():
    with settings.executor("xla"):
        yield


def steps(count=4):
    """Variables, and a step that adds its number, plus one, to each."""
    held = [tf.Variable(X * 0) for _ in range(count)]

    @tf.function
    def step(x):
        for number, variable in enumerate(held):
            variable.assign_add(x * (number + 1.0))
        return tf.reduce_sum(held[0])

    return held, step


def has_own(variable):
    return "_tensor" in variable.__dict__


def check(held, factors):
    for number, variable in enumerate(held):
        np.testing.assert_allclose(variable, X * factors[number], 1e-6)


def test_nothing_is_done_for_each_variable():
    held, step = steps()
    for _ in range(3):
        result = step(X)
    trace = step.get_concrete_function(X)
    assert trace.step is not None and not any(map(has_own, held))
    assert result.numpy() == pytest.approx(4.5)
    check(held, [3, 6, 9, 12])
    assert all(map(has_own, held))
    step(X)
    assert not any(map(has_own, held))


def test_who_looks_at_one_keeps_what_it_had():
    held, step = steps()
    seen = []
    for number in range(6):
        step(X)
        seen.append(held[number % 4].value())
    for number, tensor in enumerate(seen):
        np.testing.assert_allclose(tensor, X * (number % 4 + 1) * (number + 1), 1e-6)


def test_what_is_assigned_between_two_steps_counts():
    held, step = steps()
    for _ in range(3):
        step(X)
        held[1].assign(X * 100)
        held[2].assign_add(X)
    step(X)
    check(held, [4, 102, 15, 16])


def test_a_failed_step_has_done_what_comes_before():
    held = tf.Variable(X)

    @tf.function
    def step(x, i):
        held.assign_add(x)
        return tf.gather(held, i)

    for number in range(4):
        step(X, 0)
        with pytest.raises(tf.errors.InvalidArgumentError, match="7"):
            step(X, 7)
        np.testing.assert_allclose(held, X * (2 * number + 3), 1e-6)


def test_functions_with_variables_in_common():
    held, step = steps()
    extra = tf.Variable(X)

    @tf.function
    def other(x):
        extra.assign_sub(x)
        held[2].assign_add(extra)
        return tf.add_n(held)

    for _ in range(3):
        step(X)
        found = other(X)
    check(held, [3, 6, 9 - 3, 12])
    np.testing.assert_allclose(found, X * 27, 1e-6)
    np.testing.assert_allclose(extra, X * -2, 1e-6)


def test_other_sizes_and_other_executors():
    total = tf.Variable(0.0)

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def step(x):
        total.assign_add(tf.reduce_sum(x))
        return x * 2

    for size in (3, 3, 4, 3, 4, 4):
        assert step(np.ones(size, np.float32)).shape == (size,)
    with settings.executor("interpret"):
        step(tf.ones([3]))
    assert float(total) == 24


def test_results_that_nobody_looks_at_are_not_fetched():
    f = tf.function(lambda x: x * 2)
    y = f(tf.constant(X))
    for _ in range(4):
        y = f(y)
        with pytest.raises(AttributeError):
            object.__getattribute__(y, "_array")
    np.testing.assert_array_equal(y, X * 32)


def test_random_numbers_go_on():
    def draws(executor):
        tf.random.set_seed(3)
        kept = tf.Variable(tf.zeros([4]))

        @tf.function
        def step():
            kept.assign_add(tf.random.uniform([4], seed=5))
            return tf.random.uniform([2])

        with settings.executor(executor):
            return [*[step().numpy() for _ in range(5)], kept.numpy()]

    for ours, wanted in zip(draws("xla"), draws("interpret")):
        np.testing.assert_allclose(ours, wanted, 1e-6)


def test_variables_of_64_bits_and_loops_of_unknown_length():
    count = tf.Variable(2**40, dtype=tf.int64)

    @tf.function
    def step(n):
        while count % 1000 < n:
            count.assign_add(1)
        return count + 0

    start = 2**40 % 1000
    for n in (start + 3, start + 5, start + 600 if start < 300 else start + 9):
        assert int(step(tf.constant(n, tf.int64))) == 2**40 + n - start


def test_a_variable_that_is_gone_is_not_kept():
    held, step = steps()
    others = [tf.Variable(X)]

    @tf.function
    def both():
        others[0].assign_add(held[0])

    for _ in range(2):
        step(X)
        both()
    gone = weakref.ref(others.pop())
    gc.collect()
    assert gone() is None
    step(X)
    step(X)
    check(held, [4, 8, 12, 16])


def test_threads_that_step_read_and_assign():
    held, step = steps(3)
    step(X)
    errors = []

    def work(run):
        try:
            for _ in range(60):
                run()
        except BaseException as error:  # noqa: BLE001 -- shown by the assertion
            errors.append(error)

    def assign():
        held[1].assign_add(X)

    runs = [lambda: step(X), lambda: step(X), assign, assign, lambda: held[0].numpy()]
    threads = [threading.Thread(target=work, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    check(held, [121, 2 * 121 + 120, 3 * 121])


def test_arguments_are_those_of_the_call_not_of_one_before():
    default = tf.constant(7.0)

    @tf.function
    def f(x, *rest, y=default):
        return x + 10 * y + (100 * rest[0] if rest and rest[0] is not None else 0.0)

    one, two = tf.constant(1.0), tf.constant(2.0)
    for _ in range(3):  # as many tensors in each call, in other places
        assert float(f(one)) == 71
        assert float(f(one, two)) == 271
        assert float(f(one, None)) == 71
        assert float(f(one, y=two)) == 21
