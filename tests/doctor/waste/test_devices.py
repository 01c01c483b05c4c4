"""Values that are fetched from a device again and again, and traces compiled for many sizes."""

from __future__ import annotations

import pytest

pytest.importorskip("jax", reason="the third executor is an extra")

import talweg as tf
from talweg.core import settings
from talweg.doctor import examine
from tests.devices import devices_forgotten


@pytest.fixture(autouse=True)
def through_xla():
    with devices_forgotten(), settings.executor("xla"):
        yield


def training(look):
    """A program of 12 steps, after each of which the loss is looked at, or not."""

    def program():
        w = tf.Variable([1.0, 2.0])

        @tf.function
        def step(x):
            w.assign_sub(0.1 * x)
            return tf.reduce_sum(w)

        for number in range(12):
            loss = step(tf.ones([2]) * float(number))
            if look(number):
                print(loss.numpy())

    return program


def test_values_that_are_fetched_at_each_step():
    report = examine(training(lambda number: True))
    assert report.codes == ["TW615"], str(report)
    (found,) = report
    assert "fetched from a device 12 times" in found.title
    assert "loss.numpy()" in found.places[0].source


def test_values_that_are_fetched_now_and_then():
    assert examine(training(lambda number: number % 4 == 0)).codes == []


def calls(sizes):
    """A program that calls a function of open size; the function, once it ran."""
    made = []

    def program():
        double = tf.function(lambda x: 2.0 * x, input_signature=[tf.TensorSpec([None])])
        made.append(double)
        for size in sizes:
            double(tf.ones([size]))

    return program, made


def test_a_trace_compiled_for_many_sizes():
    program, made = calls(range(1, 10))
    for report in (examine(program), made[0].report()):
        assert report.codes == ["TW606"], str(report)
        assert "was compiled 9 times" in next(iter(report)).title


def test_a_trace_compiled_for_few_sizes():
    program, made = calls([1, 2, 3] * 3)
    for report in (examine(program), made[0].report()):
        assert report.codes == [], str(report)
