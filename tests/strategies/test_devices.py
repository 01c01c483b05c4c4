"""Logical devices of the CPU, and where results lie."""

from __future__ import annotations

import importlib

import pytest

import talweg as tf
from talweg.api.config import settings

FULL = "/job:localhost/replica:0/task:0/device:CPU:"


@pytest.fixture
def three():
    """Three logical devices, and one again afterwards."""
    before = settings.logical
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)
    yield cpu
    settings.logical = before


def places(*values):
    return [value.device.removeprefix(FULL) for value in values]


def test_logical_devices_are_listed(three):
    names = [device.name for device in tf.config.list_logical_devices()]
    assert names == ["/device:CPU:0", "/device:CPU:1", "/device:CPU:2"]
    assert len(tf.config.get_logical_device_configuration(three)) == 3
    tf.config.set_logical_device_configuration(three, [tf.config.LogicalDeviceConfiguration()])
    assert len(tf.config.list_logical_devices("CPU")) == 1  # TensorFlow: not once it has begun


def test_results_lie_where_a_block_says(three):
    with tf.device("CPU:1"):
        a = tf.constant(1.0)
        with tf.device(tf.config.list_logical_devices()[2].name):
            b = a + 1.0
        with tf.device(None):
            c = 2.0 * a
        d = tf.reshape(a, [1])
        e = tf.identity(b)
        f = tf.range(3)
        v = tf.Variable(b)
        g = v * 2.0
    assert places(a, b, c, d, e, f, v, g) == ["1", "2", "0", "1", "1", "1", "1", "1"]
    assert places(a + 1.0, v.read_value(), v * 2.0, a) == ["0", "1", "0", "1"]
    v.assign_add(1.0)
    assert places(v, v.read_value()) == ["1", "1"]
    assert a.backing_device == a.device


def test_results_of_functions_lie_where_they_are_called(three):
    seen = []

    @tf.function
    def run(x):
        with tf.device("CPU:2"):
            seen.append((x + 1.0).device)
        return x * 2.0

    x = tf.constant(1.0)
    with tf.device("CPU:1"):
        inside = run(x)
    assert places(inside, run(x), x) == ["1", "0", "0"]
    assert seen == ["/device:CPU:2"]


def test_gradients_and_errors_leave_the_block_in_order(three):
    x = tf.constant(3.0)
    with tf.GradientTape() as tape, tf.device("CPU:1"):
        tape.watch(x)
        y = x * x
    assert float(tape.gradient(y, x)) == 6.0
    with pytest.raises(tf.errors.InvalidArgumentError), tf.device("CPU:1"):
        tf.matmul(tf.ones([2]), tf.ones([3]))
    assert places(y, tf.constant(1.0)) == ["1", "0"]


def test_a_device_that_is_not_there(three):
    with tf.device("GPU:0"):
        assert places(tf.constant(1.0)) == ["0"]
    tf.config.set_soft_device_placement(False)
    try:
        with pytest.raises(tf.errors.InvalidArgumentError, match="CPU:7"), tf.device("CPU:7"):
            pass
    finally:
        tf.config.set_soft_device_placement(True)
    with pytest.raises(ValueError):
        tf.device("nothing:1")


def test_the_context_that_keras_resets_has_one_device(three):
    tf.as_tensorflow()
    context = importlib.import_module("tensorflow.python.eager.context")
    context._reset_context()
    assert len(tf.config.list_logical_devices()) == 1


def test_a_strategy_of_one_device_puts_things_there(three):
    strategy = tf.distribute.OneDeviceStrategy("CPU:2")
    with strategy.scope():
        v = tf.Variable(1.0)
    assert places(v, strategy.run(lambda: v + 1.0)) == ["2", "2"]
    assert strategy.extended.worker_devices == (f"{FULL}2",)


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("name", ["/job:worker/task:0", "/task:3", "/replica:1", "/job:ps/cpu:0"])
def test_tasks_that_are_not_there(name, soft):
    """As in TensorFlow with soft placement, too; a graph may name any task."""
    tf.config.set_soft_device_placement(soft)
    try:
        error = tf.errors.InvalidArgumentError
        with pytest.raises(error, match="unknown device"), tf.device(name):
            tf.constant(1.0)

        @tf.function
        def step(x):
            with tf.device(name):
                return x + 1

        with pytest.raises(error, match="/job:localhost/task:0"):
            step(tf.constant(1.0))
        with tf.Graph().as_default(), tf.device(name):
            assert tf.add(1.0, 2.0).device
        assert tf.constant(1.0).device == FULL + "0"  # the failed block is over
    finally:
        tf.config.set_soft_device_placement(True)
