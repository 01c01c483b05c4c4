"""What tapes promise beyond single values: memory, length, threads, reasons of absence."""

from __future__ import annotations

import functools
import gc
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

import talweg as tf
from talweg.core import dispatch, settings
from talweg.transform import reverse
from talweg.transform.batch import for_each_slice


def chain(length, x):
    """The gradient of x + 1 + 1 + ... by tape."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(length):
            y = y + 1.0
    gradient = tape.gradient(y, x)
    return float(gradient)


def test_a_long_chain_does_not_recurse():
    assert chain(100_000, tf.constant(1.0)) == 1.0


def test_records_are_linear_in_length():
    """Ten times the operations make ten times the records and visits, no more."""
    counts = []
    for length in (100, 1000):
        with tf.GradientTape(persistent=True) as tape:
            x = tf.constant(1.0)
            tape.watch(x)
            y = x
            for _ in range(length):
                y = y * 1.0
        counts.append(len(tape._records))
        del tape
    assert counts == [100, 1000]


def test_a_dropped_tape_frees_its_tensors_at_once():
    gc.disable()
    try:
        x = tf.constant(np.ones(10))
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tf.exp(x)
        dead = weakref.ref(y)
        tape.gradient(y, x)
        del y
        assert dead() is not None
        del tape
        assert dead() is None
    finally:
        gc.enable()


def test_a_used_tape_lets_go():
    gc.disable()
    try:
        x = tf.Variable(np.ones(10))
        with tf.GradientTape() as tape:
            y = tf.exp(x)
            z = tf.reduce_sum(y)
        dead = weakref.ref(y)
        del y
        tape.gradient(z, x)
        assert dead() is None
    finally:
        gc.enable()


def test_a_training_loop_is_flat():
    w = tf.Variable(np.ones((20, 20), np.float32))
    x = tf.constant(np.ones((4, 20), np.float32))

    def steps(count):
        for _ in range(count):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
            w.assign_sub(0.01 * tape.gradient(loss, w))

    steps(3000)  # fills the free lists of the Python interpreter, which count as allocated
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    steps(1000)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 20_000, f"{grown} bytes in 1000 steps"


def test_nothing_stays_busy():
    before = dispatch.state.busy
    with pytest.raises(ZeroDivisionError), tf.GradientTape():
        raise ZeroDivisionError
    assert dispatch.state.busy == before
    assert dispatch.context.recorders == ()


def test_tapes_of_two_threads_do_not_meet():
    results = {}

    def work(number):
        x = tf.Variable(float(number))
        for _ in range(200):
            with tf.GradientTape() as tape:
                y = x * x * x
            results[number] = float(tape.gradient(y, x))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: 3.0 * n * n for n in range(4)}


def test_large_operations_in_two_threads():
    """One thread inside a kernel does not stop another."""
    x = tf.constant(np.ones(200_000))
    failures = []

    def work():
        try:
            for _ in range(30):
                assert float(tf.reduce_sum(tf.exp(x) / x)) > 0
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def absence(target, tape, source):
    with pytest.raises(ValueError, match="TW301") as caught:
        tape.gradient(target, source, unconnected_gradients="error")
    return str(caught.value)


def test_reason_not_watched():
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        y = x * 2.0
    assert "TW310" in absence(y, tape, x)


def test_reason_no_derivative_names_operation_line_and_cure():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.round(x))  # the line to be named
    text = absence(y, tape, x)
    assert "round" in text and "the line to be named" in text and "straight-through" in text


def test_reason_stop_gradient():
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = tf.stop_gradient(x) * 2.0
    assert "stop_gradient" in absence(y, tape, x)


def test_reason_integers():
    x = tf.Variable(1.5)
    with tf.GradientTape() as tape:
        y = tf.cast(tf.cast(x, tf.int32), tf.float32)
    assert "integer" in absence(y, tape, x)


def test_reason_left_through_numpy():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.constant(np.sum((x * 2.0).numpy()))  # left here
    text = absence(y, tape, x)
    assert "NumPy" in text and "left here" in text


def test_reason_computed_before():
    x = tf.Variable(3.0)
    y = x * x
    with tf.GradientTape() as tape:
        z = y
    assert "TW316" in absence(z, tape, x)


def test_errors_name_the_users_line():
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.constant([1.0]) + tf.constant([1])  # this very line
    assert "this very line" in str(caught.value) and "TW102" in str(caught.value)


def test_second_use_is_an_error():
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="persistent=True"):
        tape.gradient(y, x)


def test_third_order():
    x = tf.constant(2.0)
    with tf.GradientTape() as a:
        a.watch(x)
        with tf.GradientTape() as b:
            b.watch(x)
            with tf.GradientTape() as c:
                c.watch(x)
                y = tf.sin(x) * x**4
            first = c.gradient(y, x)
        second = b.gradient(first, x)
    third = a.gradient(second, x)
    sin, cos, v = np.sin(2.0), np.cos(2.0), 2.0
    expected = -cos * v**4 - 3 * sin * 4 * v**3 + 3 * cos * 12 * v**2 + sin * 24 * v
    np.testing.assert_allclose(float(third), expected, rtol=1e-5)


def test_nested_accumulators_do_not_confuse_perturbations():
    """d/dx (x d/dy (x + y)) = 1: Siskind and Pearlmutter 2005."""
    x, one = tf.constant(1.0), tf.constant(1.0)
    with tf.autodiff.ForwardAccumulator(x, one) as outer:
        y = tf.constant(1.0)
        with tf.autodiff.ForwardAccumulator(y, one) as inner:
            total = x + y
        z = x * inner.jvp(total)
    assert float(outer.jvp(z)) == 1.0


def test_a_sum_over_reads_of_a_variable():
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        a = v * 3.0
        v.assign(5.0)
        b = v * v
    assert float(tape.gradient([a, b], v)) == 3.0 + 10.0


def test_forward_over_reverse_equals_reverse_over_reverse():
    x = tf.constant([0.3, -0.7, 1.1])
    direction = tf.constant([1.0, 2.0, -1.0])

    def f(x):
        return tf.reduce_sum(tf.exp(x) * tf.sin(x * tf.reduce_sum(x)))

    with tf.autodiff.ForwardAccumulator(x, direction) as accumulator:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        g = tape.gradient(y, x)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        g2 = tape.gradient(y, x)
    back = outer.gradient(g2, x, output_gradients=direction)
    np.testing.assert_allclose(accumulator.jvp(g), back, rtol=1e-4)


def held_after_forward(function):
    """Bytes that stay between the forward and the backward pass."""
    x = tf.Variable(np.ones(100_000))
    tracemalloc.start()
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(function(x.value()))
        held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held, tape.gradient(y, x).numpy()


def test_recompute_grad_keeps_no_intermediate_results():
    def deep(x):
        for _ in range(10):
            x = tf.tanh(x)
        return x

    with settings.deterministic(True):  # no operation becomes machine code meanwhile
        plain, g = held_after_forward(deep)
        little, h = held_after_forward(tf.recompute_grad(deep))
    np.testing.assert_allclose(g, h, rtol=1e-12)
    assert plain > 8e6 and little < 2e6, (plain, little)


def test_custom_gradient_with_variables():
    w = tf.Variable(3.0)

    @tf.custom_gradient
    def scaled(x):
        def backward(upstream, variables=None):
            assert [v.name for v in variables] == [w.name]
            return 10.0 * upstream, [100.0 * upstream]

        return w * x, backward

    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = scaled(x)
    assert [float(g) for g in tape.gradient(y, [x, w])] == [10.0, 100.0]


def test_each_slice_of_a_vectorized_map_draws_its_own_numbers():
    tf.random.set_seed(3)
    rows = tf.vectorized_map(lambda x: x + tf.random.uniform([2]), tf.zeros([4, 2])).numpy()
    assert len({tuple(row) for row in rows}) == 4
    nested = tf.vectorized_map(
        lambda row: tf.vectorized_map(lambda x: x + tf.random.normal([]), row), tf.zeros([2, 3])
    ).numpy()
    assert len(set(nested.reshape(-1).tolist())) == 6
    constant = tf.vectorized_map(lambda x: tf.random.uniform([2]), tf.zeros([3]))
    assert constant.shape == (3, 2)


def test_drawing_for_each_slice_leaves_nothing_to_the_collector():
    def draw():
        make = functools.partial(tf.constant, 1.0)
        return weakref.ref(make), for_each_slice(make)

    gc.collect()
    gc.disable()
    try:
        made, drawn = draw()
        assert made() is None
        assert float(drawn) == 1.0
        held = []
        rows = tf.vectorized_map(lambda x: held.append(draw()[0]) or x, tf.zeros([2]))
        assert held[0]() is None
        assert rows.shape == (2,)
    finally:
        gc.enable()


def test_gradients_of_rows_stay_sparse_through_identity():
    """As in TensorFlow, where an optimizer then changes these rows alone."""
    x = tf.Variable(np.arange(6.0).reshape(3, 2))

    def gradient():
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(tf.identity(x), [1, 1]) ** 2)
        return tape.gradient(y, x)

    for found in (gradient(), tf.function(gradient)()):
        assert isinstance(found, tf.IndexedSlices)
        assert tf.convert_to_tensor(found).numpy().tolist() == [[0, 0], [8, 12], [0, 0]]
    with tf.GradientTape() as tape:
        copy = tf.identity(x)
        y = tf.reduce_sum(tf.gather(copy, [0])) + tf.reduce_sum(copy)
    assert tape.gradient(y, x).numpy().tolist() == [[2, 2], [1, 1], [1, 1]]


def test_the_seed_of_a_large_target_takes_no_memory():
    x = tf.zeros([1024, 1024])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reshape(x, [1024, 32, 32])
    tracemalloc.start()
    try:
        gradient = tape.gradient(y, x)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20  # of 4 MB
    finally:
        tracemalloc.stop()
    assert gradient.shape == x.shape and np.all(gradient == 1.0)


def test_gradients_of_large_targets_can_be_assigned_and_changed():
    """They share the memory of one number, which nobody may write."""
    variable = tf.Variable(tf.zeros([300, 300]))
    with tf.GradientTape() as tape:
        y = tf.concat([variable, variable * 2.0], 0)
    gradient = tape.gradient(y, variable)
    np.testing.assert_array_equal(gradient, np.full((300, 300), 3.0))
    with tf.GradientTape() as tape:
        y = tf.transpose(variable)
    ones = tape.gradient(y, variable)
    variable.assign(ones)
    variable.assign_add(ones)
    variable[3, 4].assign(7.0)
    tf.function(lambda: variable.scatter_nd_add([[3, 4]], [1.0]))()
    assert variable.numpy()[3, 4] == 8.0 and variable.numpy()[3, 5] == 2.0
    assert np.all(ones == 1.0) and ones.numpy().flags.owndata


def test_absent_cotangents_of_equal_parts_are_one_tensor(monkeypatch):
    x = tf.constant(np.arange(60.0).reshape(20, 3))
    with tf.GradientTape() as tape:
        tape.watch(x)
        parts = tf.unstack(x)
        y = parts[2] * parts[5]
    made = []
    zeros_of = reverse.zeros_of
    monkeypatch.setattr(reverse, "zeros_of", lambda z: made.append(z) or zeros_of(z))
    gradient = tape.gradient(y, x).numpy()
    assert len(made) == 1
    wanted = np.zeros((20, 3))
    wanted[2], wanted[5] = x[5], x[2]
    np.testing.assert_array_equal(gradient, wanted)


def test_absent_cotangents_of_unequal_parts():
    x = tf.constant(np.arange(12.0).reshape(2, 6))
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            parts = tf.split(x, [1, 2, 3], axis=1)
            y = parts[1] ** 3
        gradient = tape.gradient(y, x)
    again = outer.gradient(gradient, x)
    inside = np.array([0, 1, 1, 0, 0, 0])
    np.testing.assert_allclose(gradient, 3 * x.numpy() ** 2 * inside)
    np.testing.assert_allclose(again, 6 * x.numpy() * inside)
