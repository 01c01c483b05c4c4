"""Python that a function calls sees what the function wrote, and the function what Python wrote."""

from threading import Thread

import numpy as np
import pytest

import talweg as tf


class Counter:
    def __init__(self):
        self.value = tf.Variable([1.0, 2.0])

    def look(self):
        return np.float32(self.value.numpy().sum())

    def reset(self):
        self.value.assign([0.0, 1.0])

    def add(self, x):
        self.value.assign_add(x)
        return x


@pytest.fixture
def counter():
    return Counter()


def test_python_reads_what_was_written_before(counter):
    @tf.function
    def step():
        counter.value.assign([5.0, 6.0])
        first = tf.py_function(lambda: tf.reduce_sum(counter.value), [], tf.float32)
        second = tf.numpy_function(counter.look, [], tf.float32)
        return first, second

    assert [float(x) for x in step()] == [11.0, 11.0]


def test_no_update_of_python_is_lost(counter):
    @tf.function
    def step():
        counter.value.assign([5.0, 5.0])
        tf.py_function(counter.add, [tf.constant([1.0, 0.0])], tf.float32)
        between = counter.value.read_value()
        counter.value.assign_add([10.0, 10.0])
        tf.py_function(counter.reset, [], [])
        return between, counter.value.read_value()

    for _ in range(3):
        between, after = step()
        assert between.numpy().tolist() == [6.0, 5.0]
        assert after.numpy().tolist() == counter.value.numpy().tolist() == [0.0, 1.0]


def test_in_loops_branches_and_calls(counter):
    @tf.function
    def inner():
        tf.py_function(counter.add, [tf.constant([1.0, 0.0])], tf.float32)
        return counter.value.read_value()

    @tf.function
    def step(n):
        total = tf.constant(0.0)
        counter.value.assign([1.0, 1.0])
        for _ in tf.range(n):
            seen = tf.py_function(lambda: tf.reduce_sum(counter.value), [], tf.float32)
            total += tf.ensure_shape(seen, [])
            counter.value.assign_add([1.0, 1.0])  # after the call: the next turn sees it
            if n > 1:
                tf.py_function(counter.add, [tf.constant([10.0, 0.0])], tf.float32)
        return total, inner()

    total, after = step(3)
    assert float(total) == 2 + 14 + 26
    assert after.numpy().tolist() == counter.value.numpy().tolist() == [35.0, 4.0]
    total, after = step(1)
    assert float(total) == 2
    assert after.numpy().tolist() == counter.value.numpy().tolist() == [3.0, 2.0]


def test_cotangents_pass_a_call_that_changes_nothing(counter):
    @tf.function
    def gradient(change):
        with tf.GradientTape() as tape:
            counter.value.assign([3.0, 4.0])
            before = tf.reduce_sum(counter.value**2)
            tf.py_function(counter.add, [change], tf.float32)
            y = before + tf.reduce_sum(counter.value**3)
        return y, tape.gradient(y, counter.value)

    y, found = gradient(tf.constant([0.0, 0.0]))
    assert float(y) == 25 + 27 + 64
    y, _ = gradient(tf.constant([1.0, 0.0]))
    assert float(y) == 25 + 64 + 64

    @tf.function
    def looked():
        with tf.GradientTape() as tape:
            counter.value.assign([3.0, 4.0])
            tf.numpy_function(counter.look, [], tf.float32)
            y = tf.reduce_sum(counter.value**2)
        return tape.gradient(y, counter.value)

    assert looked().numpy().tolist() == [6.0, 8.0]


def test_a_failure_keeps_what_was_written_before_it(counter):
    @tf.function
    def step():
        counter.value.assign([7.0, 7.0])
        tf.py_function(lambda: counter.missing, [], tf.float32)
        counter.value.assign([8.0, 8.0])

    with pytest.raises(tf.errors.OpError):
        step()
    assert counter.value.numpy().tolist() == [7.0, 7.0]


def test_what_python_cannot_reach_costs_nothing(counter):
    @tf.function
    def step():
        counter.value.assign([7.0, 7.0])
        return tf.numpy_function(lambda: np.float32(1), [], tf.float32)

    kinds = [op.type for op in step.get_concrete_function().graph.get_operations()]
    assert "SelectV2" not in kinds


def test_published_values_stay_when_the_run_goes_on(counter):
    """The memory of a value that Python was given may be used again by a compiled program."""
    seen = []

    @tf.function
    def step(x):
        counter.value.assign(x * 2.0)
        tf.py_function(lambda: seen.append(counter.value.value()), [], [])
        counter.value.assign(x * 3.0)
        return tf.reduce_sum(x * 5.0)

    for number in range(1, 20):
        step(tf.constant([1.0, 2.0]) * number)
    assert [x.numpy().tolist() for x in seen] == [[2.0 * n, 4.0 * n] for n in range(1, 20)]
    assert counter.value.numpy().tolist() == [57.0, 114.0]


def test_strings_and_variables_of_open_shape():
    text, rows = tf.Variable("a"), tf.Variable([1.0], shape=[None])
    seen = []

    def look():
        seen.append((text.numpy(), rows.numpy().tolist()))
        text.assign("c")

    @tf.function
    def step():
        text.assign("b")
        rows.assign([1.0, 2.0, 3.0])
        tf.py_function(look, [], [])
        return text.read_value()

    assert step().numpy() == text.numpy() == b"c"
    assert seen == [(b"b", [1.0, 2.0, 3.0])]


class TestDatasets:
    """A dataset's functions see variables in the order of the program."""

    @pytest.fixture
    def scale(self):
        return tf.Variable(1.0)

    @pytest.fixture
    def scaled(self, scale):
        return tf.data.Dataset.range(3).map(lambda i: tf.cast(i, tf.float32) * scale)

    def test_reduce(self, scale, scaled):
        @tf.function
        def step():
            scale.assign(10.0)
            return scaled.reduce(0.0, lambda a, b: a + b)

        assert float(step()) == 30.0

    def test_reduce_whose_function_reads_the_variable(self, scale):
        numbers = tf.data.Dataset.range(3)

        @tf.function
        def step():
            scale.assign(10.0)
            return numbers.reduce(0.0, lambda a, b: a + scale)

        assert float(step()) == 30.0

    def test_loops(self, scale, scaled):
        @tf.function
        def step():
            total = tf.constant(0.0)
            for x in scaled:
                total += x
            scale.assign(100.0)
            for x in scaled:
                total += x
            return total

        assert float(step()) == 303.0

    def test_next(self, scale, scaled):
        @tf.function
        def step():
            iterator, found = iter(scaled), []
            for value in (2.0, 3.0, 5.0):
                scale.assign(value)
                found.append(next(iterator))
            return found

        assert [float(x) for x in step()] == [0.0, 3.0, 10.0]

    def test_inside_a_loop_and_a_branch(self, scale, scaled):
        @tf.function
        def step(p):
            total = tf.constant(0.0)
            for i in tf.range(3):
                total += scaled.reduce(0.0, lambda a, b: a + b)
                scale.assign(tf.cast(i, tf.float32))
            if p:
                total += 100.0 * scaled.reduce(0.0, lambda a, b: a + b)
            return total

        assert float(step(tf.constant(True))) == 3.0 + 0.0 + 3.0 + 600.0

    def test_single_element(self, scale, scaled):
        @tf.function
        def step():
            scale.assign(4.0)
            return scaled.batch(3).get_single_element()

        assert step().numpy().tolist() == [0.0, 4.0, 8.0]


def test_no_update_of_eight_threads_is_lost():
    total = tf.Variable(0.0)

    def add():
        total.assign_add(1.0)

    @tf.function
    def step():
        total.assign_add(1.0)
        tf.py_function(add, [], [])
        total.assign_add(1.0)

    step()
    threads = [Thread(target=lambda: [step() for _ in range(50)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert float(total) == 3 * (1 + 8 * 50)
