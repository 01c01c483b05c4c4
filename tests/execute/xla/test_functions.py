"""Functions through XLA: variables, failures, control flow, regions, prints, random numbers."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax", reason="the third executor is an extra")

import talweg as tf
from talweg.core import settings
from tests.trace.control import programs
from tests.trace.control.compiling import assert_agrees, assert_compiled, refusals

X = np.array([0.5, -1.0, 2.0], np.float32)
PROGRAMS = [
    value
    for name, value in vars(programs).items()
    if callable(value) and getattr(value, "__module__", "") == programs.__name__ and name[0] != "_"
]


@pytest.fixture(autouse=True)
def through_xla():
    with settings.executor("xla"):
        yield


# -- variables


def test_variables_change_and_keep_what_was_read():
    held = tf.Variable(X)

    @tf.function
    def step(x):
        held.assign_add(x * 2)
        return tf.reduce_sum(tf.sin(held))

    before = held.numpy()
    with refusals() as refused:
        assert abs(step(X).numpy() - np.sin(X * 3).sum()) < 1e-5
        step(X)
    assert not refused
    np.testing.assert_allclose(held.numpy(), X * 5)
    np.testing.assert_array_equal(before, X)


def test_rows_of_variables_are_updated():
    held = tf.Variable(np.zeros((4, 2), np.float32))

    @tf.function
    def step(places):
        held.scatter_nd_add(places[:, tf.newaxis], tf.ones([3, 2]))

    step(np.array([1, 3, 1]))
    np.testing.assert_array_equal(held.numpy(), [[0, 0], [2, 2], [0, 0], [1, 1]])


def test_a_failed_step_changes_nothing_and_names_the_line():
    held = tf.Variable(X)

    @tf.function
    def step(i):
        held.assign_add(X)
        return tf.gather(held, i)

    step(np.array(1))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"indices.*= 9[^$]*tf.gather\(held, i"
    ):
        step(np.array(9))
    with settings.executor("interpret"):
        wanted = held.numpy()
    np.testing.assert_array_equal(wanted[1], X[1] * (wanted[0] / X[0]))
    assert step(np.array(0)).numpy() == held.numpy()[0]


def test_what_cannot_be_inverted_is_refused():
    good = np.array([[4.0, 2], [2, 3]])
    np.testing.assert_allclose(tf.function(tf.linalg.inv)(good), np.linalg.inv(good))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        tf.function(tf.linalg.inv)(good * 0)

    @tf.function
    def within(x, n):
        for i in tf.range(n):
            x = tf.linalg.inv(x) * tf.cast(2 - i, tf.float64)
        return x

    assert np.isfinite(within(good, 1)).all()
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        within(good, 4)


# -- control flow


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_and_their_derivatives(program):
    def with_gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = program(x)
        return y, tape.gradient(y, x)

    numbers = [(np.array(x),) for x in (0.7, 1.3)]  # of others a loop has no end
    assert_agrees(with_gradient, *numbers, executor="xla", tolerance=1e-10)


def test_the_gradient_of_a_loop_of_unknown_length():
    def derivative(x, n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in tf.range(n):
                y = tf.sin(y) + 0.1 * x
        return tape.gradient(y, x)

    calls = [(np.array(0.3), np.array(n)) for n in (0, 3, 255, 256, 257, 1500)]
    assert_compiled(derivative, *calls, executor="xla", tolerance=1e-12)


def test_lists_of_unknown_length():
    def grown(n):
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in tf.range(n):
            array = array.write(i, tf.cast(i, tf.float32) ** 2)
        return array.stack()

    assert_agrees(grown, *[(np.array(n),) for n in (0, 5, 700)], executor="xla")


def test_a_tape_outside_of_the_function():
    @tf.function
    def grown(x, n):
        for _ in tf.range(n):
            x = tf.tanh(x) * 1.5
        return x

    for n in (3, 400):
        found = []
        for executor in ("interpret", "xla"):
            with settings.executor(executor), tf.GradientTape() as tape:
                x = tf.constant([0.5, 0.2])
                tape.watch(x)
                y = grown(x, tf.constant(n))
                found.append(tape.gradient(y, x))
        np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-30)  # XLA has no smaller ones


# -- what needs Python


def test_masks_and_unique():
    def positive(x):
        kept = tf.boolean_mask(x, x > 0)
        values, places = tf.unique(tf.round(x))
        return tf.reduce_sum(kept) * tf.sin(x), values, places

    assert_agrees(positive, (X,), (-X,), (np.tile(X, 4),), executor="xla")


def test_strings_and_python():
    held = tf.Variable(1.0)

    @tf.function
    def step(x, name):
        y = tf.numpy_function(lambda a: a * 2, [tf.sin(x)], tf.float32)
        held.assign_add(tf.reduce_sum(tf.ensure_shape(y, [3])))
        return tf.strings.join([name, tf.strings.as_string(tf.size(x))]), y + 1

    text, y = step(X, "n=")
    assert text.numpy() == b"n=3"
    np.testing.assert_allclose(y, np.sin(X) * 2 + 1, 1e-6)
    np.testing.assert_allclose(held, 1 + 2 * np.sin(X).sum(), 1e-6)


def test_prints_and_asserts_come_in_their_order(capfd):
    @tf.function
    def step(x):
        tf.print("first", x)
        y = tf.sin(x)
        tf.debugging.assert_less(y, 2.0)
        for i in tf.range(3):
            tf.print("turn", i)
            y = y + 1.0
        tf.debugging.assert_less(y, 3.0, message="too large")
        tf.print("last")
        return y

    step(tf.constant(-1.0))
    words = capfd.readouterr().err.split()
    assert words == ["first", "-1", *[w for i in "012" for w in ("turn", i)], "last"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
        step(tf.constant(1.0))
    assert "last" not in capfd.readouterr().err


def test_tables():
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant([1, 2], tf.int64), tf.constant([10.0, 20])),
        -1.0,
    )

    @tf.function
    def look(x):
        return table.lookup(x) * 2

    np.testing.assert_array_equal(look(tf.constant([2, 3, 1], tf.int64)), [40, -2, 20])


# -- random numbers


def test_random_numbers_are_tensorflows():
    def draw(n):
        numbers = [
            tf.random.uniform([7, 3], dtype=dtype, seed=1) for dtype in (tf.float32, tf.float64)
        ]
        whole = tf.random.uniform([9], 0, 1000, tf.int32, seed=3)
        bits = tf.random.stateless_uniform([5], [1, 2], None, None, tf.int64)
        total = tf.constant(0.0)
        for _ in tf.range(n):
            total += tf.random.uniform([], seed=5)
        return *numbers, whole, bits, total

    calls = [(np.array(n),) for n in (3, 2, 5)]
    assert_compiled(draw, *calls, executor="xla", tolerance=0)


def test_normal_and_truncated_numbers():
    def draw(x):
        return (
            tf.random.normal([33], seed=1) + x,
            tf.random.truncated_normal([50, 3], seed=2, dtype=tf.float64),
            tf.random.truncated_normal([1000], seed=2),
            tf.nn.dropout(tf.ones([40]), 0.3, seed=4),
        )

    assert_compiled(draw, (np.float32(0),), (np.float32(1),), executor="xla", tolerance=1e-6)


# -- looking at it


def test_the_text_of_a_function():
    step = tf.function(lambda x: tf.nn.softmax(x @ x))
    text_of = step.experimental_get_compiler_ir(tf.ones([4, 4]))
    assert "stablehlo.dot_general" in text_of("hlo") and "HloModule" in text_of("optimized_hlo")


def test_numbers_that_must_be_finite_are_looked_at_by_the_interpreter():
    logarithm = tf.function(lambda x: tf.math.log(x) * 0.0)
    logarithm(X)
    tf.debugging.enable_check_numerics()
    try:
        with pytest.raises(tf.errors.InvalidArgumentError):
            logarithm(X)
    finally:
        tf.debugging.disable_check_numerics()
