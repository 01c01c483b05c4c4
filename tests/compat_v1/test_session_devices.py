"""Operations of a session's graph on devices that are not there; the answers are TensorFlow's."""

from __future__ import annotations

import pytest

import talweg as tf

v1 = tf.compat.v1
ELSEWHERE = ["/job:ps/task:7", "/job:worker", "/job:localhost/task:1", "/task:3", "/replica:2"]
ELSEWHERE += ["/job:ps/task:0/device:GPU:0"]
ABSENT = ["/gpu:0", "/GPU:3", "/cpu:1", "/TPU:0", "/device:XYZ:0"]
THERE = ["/job:localhost", "/cpu:0", "/job:localhost/replica:0/task:0/device:CPU:0"]
SOFT = [None, False, True]  # `allow_soft_placement`; None: no configuration


def run_on(device, soft, make=lambda: tf.constant(1.0), fetch_it=True):
    config = None if soft is None else v1.ConfigProto(allow_soft_placement=soft)
    with tf.Graph().as_default():
        with tf.device(device):
            made = make()
        other = tf.constant(3.0)
        with v1.Session(config=config) as session:
            return session.run(made if fetch_it else other)


def add():
    return tf.add(tf.constant(1.0), 2.0, name="sum")


def initialize():
    return v1.get_variable("v", [2], initializer=v1.zeros_initializer()).initializer


@pytest.mark.parametrize("soft", SOFT)
@pytest.mark.parametrize("device", ELSEWHERE)
def test_no_task_stands_for_another_one(device, soft):
    for make in (add, initialize, lambda: tf.constant(1.0)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device") as told:
            run_on(device, soft, make)
        assert device in str(told.value) and "one of /job:localhost/task:0" in str(told.value)
    with pytest.raises(tf.errors.InvalidArgumentError):  # the whole graph is placed
        run_on(device, soft, fetch_it=False)


@pytest.mark.parametrize("soft", SOFT)
@pytest.mark.parametrize("device", ABSENT)
def test_a_device_stands_for_another_one_if_that_is_allowed(device, soft):
    if soft:
        assert run_on(device, soft, add) == 3.0
        return
    with pytest.raises(tf.errors.InvalidArgumentError, match="(?s)operation Const.*allow_soft"):
        run_on(device, soft, add)


@pytest.mark.parametrize("soft", SOFT)
@pytest.mark.parametrize("device", THERE)
def test_devices_that_are_there(device, soft):
    assert run_on(device, soft, add) == 3.0


def test_cpus_that_the_session_asks_for():
    config = v1.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), tf.device("/cpu:1"):
        assert v1.Session(config=config).run(add()) == 3.0


def test_constants_lie_where_they_were_made():
    with tf.Graph().as_default(), tf.device("/gpu:0"):
        assert tf.constant(1.0).device == "/device:GPU:0"
