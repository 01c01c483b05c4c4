"""Functions and sessions as machine code: the same results, variables in place, errors."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.execute import executor
from talweg.passes.functionalize import program_of

v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def compiled():
    """Everything is compiled from the first call on."""
    with settings.executor("llvm"):
        yield


def versions(function, *args):
    """What a function's program was compiled to."""
    concrete = function.get_concrete_function(*args)
    return program_of(concrete.body).tier.versions


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def layers(x, w, b):
    h = tf.nn.relu(x @ w + b)
    mean, variance = tf.nn.moments(h, [-1], keepdims=True)
    return tf.nn.softmax((h - mean) * tf.math.rsqrt(variance + 1e-5))


def test_both_executors_agree():
    arrays = normal(13, 7), normal(7, 21, seed=1), normal(21, seed=2)
    x, w, b = map(tf.constant, arrays)
    function = tf.function(layers)
    got = function(x, w, b)
    assert all(v is not executor.REFUSED for v in versions(function, x, w, b).values())
    with settings.executor("interpret"):
        wanted = tf.function(layers)(x, w, b)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_new_shapes_are_new_versions():
    function = tf.function(
        lambda x: tf.reduce_sum(x * 2, 0), input_signature=[tf.TensorSpec([None, 3], tf.float32)]
    )
    for rows in (1, 4, 0, 4, 100):
        x = normal(rows, 3)
        np.testing.assert_allclose(function(tf.constant(x)), x.sum(0) * 2, rtol=1e-5, atol=1e-5)
    assert len(program_of(function.get_concrete_function().body).tier.versions) == 4


@tf.function
def step(variable, x):
    variable.assign_sub(0.5 * x)
    return tf.reduce_sum(variable)


def test_nobody_sees_a_variable_change():
    start = normal(64)
    variable = tf.Variable(start)
    x = tf.constant(normal(64, seed=1))
    kept = start.copy()
    tensor, array = variable.read_value(), variable.numpy()
    step(variable, x)
    assert np.array_equal(start, kept) and np.array_equal(tensor, kept)
    assert np.array_equal(array, kept)
    before = variable.numpy().copy()
    view = variable.numpy()[3:5]
    step(variable, x)
    assert np.array_equal(view, before[3:5])
    np.testing.assert_allclose(variable, kept - x.numpy(), rtol=1e-6, atol=1e-6)


def test_a_variable_of_its_own_is_written_in_place():
    variable, x = tf.Variable(normal(64)), tf.constant(normal(64, seed=1))
    step(variable, x)
    place = variable._tensor._array.ctypes.data
    for _ in range(3):
        step(variable, x)
    assert variable._tensor._array.ctypes.data == place


def test_results_never_share_memory():
    x = tf.constant(normal(8))
    variable = tf.Variable(normal(8))
    function = tf.function(lambda x: (x, tf.reshape(x, [2, 4]), x, variable.read_value()))
    results = [result.numpy() for result in function(x)]
    arrays = [x.numpy(), variable.numpy(), *results]
    for i, a in enumerate(arrays):
        assert not any(np.may_share_memory(a, b) for b in arrays[i + 1 :])


def test_variables_that_depend_on_each_other():
    a, b = tf.Variable(normal(3, 3)), tf.Variable(normal(3, 3, seed=1))
    first, second = a.numpy(), b.numpy()

    @tf.function
    def swap():
        old = a.read_value()
        a.assign(tf.transpose(b))
        b.assign(old)

    swap()
    assert np.array_equal(a, second.T) and np.array_equal(b, first)


def test_a_wrong_label_raises_and_changes_nothing():
    weights = tf.Variable(normal(4, 3))
    before = weights.numpy()

    @tf.function
    def train(x, labels):
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, x @ weights)
            loss = tf.reduce_mean(losses)
        weights.assign_sub(tape.gradient(loss, weights))
        return loss

    x = tf.constant(normal(2, 4))
    train(x, tf.constant([0, 2]))
    after = weights.numpy()
    assert not np.array_equal(before, after)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Received a label value of 3"):
        train(x, tf.constant([0, 3]))
    assert np.array_equal(weights, after)


def test_a_wrong_index_raises():
    function = tf.function(lambda x, i: tf.gather(x, i))
    x = tf.constant(normal(5, 2))
    assert np.array_equal(function(x, tf.constant([4, 0])), x.numpy()[[4, 0]])
    with pytest.raises(tf.errors.InvalidArgumentError):
        function(x, tf.constant([5, 0]))


def test_what_has_no_loops_is_called():
    function = tf.function(lambda x: tf.linalg.cholesky(x @ tf.transpose(x) + tf.eye(4)) * 2)
    x = normal(4, 4)
    wanted = np.linalg.cholesky(x @ x.T + np.eye(4)) * 2
    np.testing.assert_allclose(function(tf.constant(x)), wanted, rtol=1e-4, atol=1e-5)


def test_a_session_keeps_its_variables_apart():
    with tf.Graph().as_default():
        variable = v1.get_variable("v", initializer=normal(16), use_resource=True)
        update = v1.assign_add(variable, variable)
        sessions = [v1.Session(), v1.Session()]
        for session in sessions:
            session.run(v1.global_variables_initializer())
        seen = sessions[0].run(variable)
        kept = seen.copy()
        for _ in range(3):
            sessions[0].run(update)
        assert np.array_equal(seen, kept)
        assert np.array_equal(sessions[0].run(variable), kept * 8)
        assert np.array_equal(sessions[1].run(variable), kept)


def test_a_variable_without_a_value_is_named():
    with tf.Graph().as_default():
        variable = v1.get_variable("v", initializer=normal(16), use_resource=True)
        doubled, update = variable * 2, v1.assign_add(variable, variable)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            session.run([doubled, update])
        with v1.Session() as session:
            for fetch in (doubled, update):
                with pytest.raises(tf.errors.OpError, match="uninitialized value.*'v'"):
                    session.run(fetch)


def test_dropout_draws_anew_each_time():
    tf.random.set_seed(1)
    function = tf.function(lambda x: tf.nn.dropout(x, 0.5))
    x = tf.ones([1000])
    first, second = function(x).numpy(), function(x).numpy()
    assert 300 < (first == 0).sum() < 700 and not np.array_equal(first, second)
    tf.random.set_seed(1)
    with settings.executor("interpret"):
        other = tf.function(lambda x: tf.nn.dropout(x, 0.5))
        assert np.array_equal(other(x), first) and np.array_equal(other(x), second)


def test_many_threads_run_one_function():
    function = tf.function(layers)
    operands = [tf.constant(a) for a in (normal(40, 7), normal(7, 300), normal(300))]
    wanted = function(*operands).numpy()
    wrong = []

    def work():
        for _ in range(20):
            if not np.array_equal(function(*operands), wanted):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_a_fork():
    function = tf.function(lambda x: tf.reduce_sum(tf.exp(x)))
    x = tf.constant(normal(300, 300))
    wanted = float(function(x))
    child = os.fork()
    if not child:
        os._exit(0 if float(function(x)) == wanted else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert float(function(x)) == wanted


def test_short_programs_are_interpreted_until_it_pays():
    with settings.executor("auto"):
        function = tf.function(lambda x: x + 1)
        x = tf.constant(1.0)
        function(x)
        tier = program_of(function.get_concrete_function(x).body).tier
        tier.compile_after = 1e9  # seconds, that a busy machine may take: only calls count
        for _ in range(9):
            function(x)
        assert not tier.versions and [calls for calls, _ in tier.spent.values()] == [10]
        for _ in range(executor.MANY):
            function(x)
        assert len(tier.versions) == 1


def test_shapes_that_change_all_the_time_are_interpreted(monkeypatch):
    """Each has to earn its compilation, and after many compilations a longer time."""
    monkeypatch.setattr(executor, "MANY", 20)
    with settings.executor("auto"):
        function = tf.function(lambda x: x + 1, input_signature=[tf.TensorSpec([None])])
        function(tf.zeros([1]))
        tier = program_of(function.get_concrete_function().body).tier
        tier.compile_after = 1e9  # seconds: only calls count
        for size in range(2, 400):
            function(tf.zeros([size]))
        assert not tier.versions and len(tier.spent) <= executor.SHAPES
        for _ in range(executor.MANY + 1):
            function(tf.zeros([7]))
        assert [key[0] for key in tier.versions] == [(7,)] and tier.made == 1
        tier.compile_after, tier.made = 1e-9, 0
        function(tf.zeros([8]))
        function(tf.zeros([8]))  # what the first call took was enough
        assert len(tier.versions) == 2
        tier.compile_after, tier.made = 1e-9, int(1e18)
        function(tf.zeros([9]))
        function(tf.zeros([9]))
        assert len(tier.versions) == 2


@pytest.mark.parametrize("rule", ["scatter_add", "scatter_sub", "scatter_update", "scatter_mul"])
def test_rows_are_combined_in_place(rule):
    start, ids, rows = normal(6, 3), np.array([4, 0, 4, 1]), normal(4, 3, seed=1)
    if rule == "scatter_update":
        ids = np.array([4, 0, 3, 1])
    variable = tf.Variable(start)

    @tf.function
    def update(ids):
        seen = tf.gather(variable, ids)
        getattr(variable, rule)(tf.IndexedSlices(tf.constant(rows) + 0 * seen, ids))
        return seen

    with settings.executor("interpret"):
        wanted = tf.Variable(start)
        getattr(wanted, rule)(tf.IndexedSlices(tf.constant(rows), tf.constant(ids)))
    assert np.array_equal(update(tf.constant(ids)), start[ids])
    np.testing.assert_allclose(variable, wanted, rtol=1e-6)
    place, before = variable._tensor._array.ctypes.data, variable.numpy().copy()
    with pytest.raises(tf.errors.InvalidArgumentError):
        update(tf.constant([0, 1, 6, 2]))
    assert np.array_equal(variable, before)
    update(tf.constant(ids))
    assert variable._tensor._array.ctypes.data == place


def test_rows_taken_from_unsigned_numbers():
    variable = tf.Variable(np.array([5, 9, 250], np.uint8))

    @tf.function
    def update(rows, values):
        variable.scatter_sub(tf.IndexedSlices(values, rows))

    update(tf.constant([0, 2, 0]), tf.constant([1, 3, 7], tf.uint8))
    assert variable.numpy().tolist() == [253, 9, 247]


def test_a_scattered_value_that_is_read_again():
    variable = tf.Variable(normal(6, 3))
    start = variable.numpy()

    @tf.function
    def update(ids, rows):
        variable.scatter_add(tf.IndexedSlices(rows, ids))
        return variable * 2

    got = update(tf.constant([1, 1]), tf.ones([2, 3]))
    start[1] += 2
    np.testing.assert_allclose(got, start * 2, rtol=1e-6)
    np.testing.assert_allclose(variable, start, rtol=1e-6)
