"""Functions that take from an iterator are compiled around it."""

import threading

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.execute import interpret
from talweg.passes.segments import split_segments

RNG = np.random.default_rng(0)
X = RNG.normal(size=[20, 3]).astype(np.float32)
Y = X.sum(axis=1, keepdims=True)
EXECUTORS = ("interpret", "llvm")


def batches(size=8, repeat=1):
    return tf.data.Dataset.from_tensor_slices((X, Y)).repeat(repeat).batch(size)


def train_on(weights, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.tanh(x @ weights) - y) ** 2)
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    return loss


@pytest.fixture
def interpreted(monkeypatch):
    """The operations of what the interpreter has run."""
    names: list = []
    run = interpret.run

    def noting(program, *others):
        names.extend([step.prim.name for step in program.steps])
        return run(program, *others)

    monkeypatch.setattr(interpret, "run", noting)
    return names


def test_a_step_is_compiled_behind_the_iterator(interpreted):
    """No function with an iterator was ever compiled: its argument has no shape."""
    weights = tf.Variable(tf.ones([3, 1]))

    @tf.function
    def step(iterator):
        return train_on(weights, *next(iterator))

    with settings.executor("llvm"):
        step(iter(batches()))
    assert "host_call" in interpreted
    assert not {"matmul", "tanh", "transpose"} & set(interpreted)


def test_a_loop_over_an_iterator_runs_compiled_steps(interpreted):
    weights = tf.Variable(tf.ones([3, 1]))

    @tf.function
    def steps(iterator, count):
        for _ in tf.range(count):
            train_on(weights, *next(iterator))

    with settings.executor("llvm"):
        steps(iter(batches()), tf.constant(2))
    assert "host_call" in interpreted
    assert not {"matmul", "tanh", "transpose"} & set(interpreted)


def test_the_last_batch_may_be_smaller():
    totals = {}
    for executor in EXECUTORS:
        total = tf.Variable(0.0)

        @tf.function
        def add(iterator, total=total):
            x, y = next(iterator)
            products = tf.tanh(x @ tf.ones([3, 4])) @ tf.ones([4, 1]) - y
            total.assign_add(tf.reduce_sum(products * products))
            return tf.shape(products)

        with settings.executor(executor):
            iterator = iter(batches())
            assert [add(iterator)[0].numpy() for _ in range(3)] == [8, 8, 4]
            with pytest.raises(tf.errors.OutOfRangeError):
                add(iterator)
        totals[executor] = float(total)
    products = np.tanh(X @ np.ones([3, 4])) @ np.ones([4, 1]) - Y
    np.testing.assert_allclose(list(totals.values()), (products**2).sum(), rtol=1e-5)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_the_end_leaves_what_was_done_before_it(executor):
    """The steps before the end count, in a loop and in one step with several iterators."""
    weights, count = tf.Variable(tf.ones([3, 1])), tf.Variable(0)

    @tf.function
    def steps(iterator, number):
        for _ in tf.range(number):
            train_on(weights, *next(iterator))
            count.assign_add(1)

    by_hand = tf.Variable(tf.ones([3, 1]))
    for x, y in batches():
        train_on(by_hand, x, y)
    with settings.executor(executor), pytest.raises(tf.errors.OutOfRangeError):
        steps(iter(batches()), tf.constant(5))
    assert int(count) == 3
    np.testing.assert_allclose(weights.numpy(), by_hand.numpy(), rtol=1e-5)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_values_of_a_variable_are_those_of_their_time(executor):
    """A segment that writes lies between two iterators, and others read before and after it."""
    variable, count = tf.Variable([1.0, 2.0]), tf.Variable(0)

    @tf.function
    def both(first, second):
        before = variable.read_value()
        x, _ = next(first)
        variable.assign_add(tf.reduce_sum(x, 0)[:2])
        between = variable.read_value()
        count.assign_add(1)
        z, _ = next(second)
        variable.assign(variable * 2 + tf.reduce_mean(z))
        count.assign_add(1)
        return before, between, variable.read_value(), before + between

    expected = np.array([1.0, 2.0])
    first, second = iter(batches()), iter(batches(4))
    with settings.executor(executor):
        for number in range(2):
            before, between, after, total = both(first, second)
            np.testing.assert_allclose(before, expected, rtol=1e-5)
            expected = expected + X[number * 8 : number * 8 + 8].sum(0)[:2]
            np.testing.assert_allclose(between, expected, rtol=1e-5)
            np.testing.assert_allclose(total, before + between, rtol=1e-6)
            expected = 2 * expected + X[number * 4 : number * 4 + 4].mean()
            np.testing.assert_allclose(after, expected, rtol=1e-5)
        for _ in range(3):
            next(second)
        with pytest.raises(tf.errors.OutOfRangeError):
            both(first, second)
    assert int(count) == 5
    np.testing.assert_allclose(variable, expected + X[16:].sum(0)[:2], rtol=1e-5)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_random_numbers_and_branches_stand_in_segments(executor):
    def numbers():
        tf.random.set_seed(5)
        variable = tf.Variable(1.0)

        @tf.function
        def draw(iterator):
            noise = tf.random.normal([3])
            x, _ = next(iterator)
            more = tf.random.normal([3])
            if tf.reduce_sum(x) > 0:
                variable.assign_add(tf.reduce_sum(more))
            else:
                variable.assign_sub(1.0)
            y, _ = next(iterator)
            return noise, more, tf.random.normal([2]) + tf.reduce_sum(x + y), variable

        iterator = iter(batches(4, repeat=4))
        return [[x.numpy() for x in draw(iterator)] for _ in range(4)]

    with settings.executor("interpret"):
        expected = numbers()
    with settings.executor(executor):
        found = numbers()
    for one, other in zip(expected, found):
        for x, y in zip(one, other):
            np.testing.assert_allclose(x, y, rtol=1e-5)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_threads_share_an_iterator_and_lose_nothing(executor):
    """Each element is taken once, and no update is lost."""
    total, count = tf.Variable(np.zeros(3)), tf.Variable(0)
    values = np.arange(600.0).reshape(200, 3)
    iterator = iter(tf.data.Dataset.from_tensor_slices(values))
    errors = []

    @tf.function
    def take(iterator):
        row = next(iterator)
        total.assign_add(tf.tanh(row) - tf.tanh(row) + row)
        count.assign_add(1)

    def run():
        while True:
            try:
                take(iterator)
            except tf.errors.OutOfRangeError:
                return
            except Exception as error:
                errors.append(error)
                return

    with settings.executor(executor):
        threads = [threading.Thread(target=run) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors
    assert int(count) == 200
    np.testing.assert_allclose(total, values.sum(0))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_results_may_be_arguments_and_constants(executor):
    """What no segment makes is among the results: the argument itself, a constant, a start."""
    variable = tf.Variable(3.0)

    @tf.function
    def mixed(iterator, factor):
        start = variable.read_value()
        x, _ = next(iterator)
        for _ in range(6):
            x = tf.tanh(x * factor)
        return factor, tf.constant([7, 8]), start, tf.reduce_sum(x)

    with settings.executor(executor):
        factor, constant, start, total = mixed(iter(batches()), tf.constant(0.5))
    expected = X[:8]
    for _ in range(6):
        expected = np.tanh(expected * 0.5)
    np.testing.assert_allclose([factor, start, total], [0.5, 3.0, expected.sum()], rtol=1e-4)
    assert constant.numpy().tolist() == [7, 8]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_loop_over_a_dataset_in_a_function(executor):
    weights = tf.Variable(tf.ones([3, 1]))

    @tf.function
    def epoch(dataset):
        count = 0
        for x, y in dataset:
            train_on(weights, x, y)
            count += 1
        return count

    by_hand = tf.Variable(tf.ones([3, 1]))
    for x, y in batches():
        train_on(by_hand, x, y)
    with settings.executor(executor):
        assert int(epoch(batches())) == 3
    np.testing.assert_allclose(weights.numpy(), by_hand.numpy(), rtol=1e-5)


def test_parts_of_an_element_are_taken_at_once():
    """They stand where they are first used: the labels behind the whole forward pass."""

    @tf.function
    def loss(iterator):
        x, y = next(iterator)
        return tf.reduce_mean((tf.tanh(tf.tanh(tf.tanh(x) + 1) * 2) - tf.exp(x) - y) ** 2)

    program = loss.get_concrete_function(iter(batches()))._only_program()
    parts = split_segments(program, (0,)).parts
    assert [part.opaque for part in parts] == [True, False]
    names = [step.prim.name for step in parts[0].program.steps]
    assert names == ["host_call", "item", "item"]


def test_nothing_is_cut_where_nothing_is_left():
    take = tf.function(lambda iterator: next(iterator)[0] + 1)
    program = take.get_concrete_function(iter(batches()))._only_program()
    assert split_segments(program, (0,)) is None
