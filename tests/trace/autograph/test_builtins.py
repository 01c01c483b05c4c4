"""Python's own functions on tensors in traced functions."""

import pytest

import talweg as tf
from tests.trace.autograph.support import agree


def test_of_vectors():
    def run(x):
        y = abs(x)
        return max(y), min(x[0], x[1], 0), sum(x), len(x), sum(x, 10), max([x[0], 2, x[1]])

    agree(run, [3, 1, 2], [-1, 5, 7])
    agree(run, [3, 1, 2], [-1, 5], signature=[tf.TensorSpec([None], tf.int32)])


def test_truth():
    def run(x):
        positive = x > 0
        return (
            any(positive),
            all(positive),
            any([x[0] > 5, False]),
            all([x[0] > 5, True]),
            any([x[0] > 5, True]),
            bool(x[0]),
            all([x[0] > 0, x[1] > 0]),
        )

    agree(run, [3, 1], [-1, 7], [0, 0])


def test_numbers():
    @tf.function
    def run(x):
        return int(x), float(x) / 2.0, round(float(3)), int("12"), int("1f", 16), int(7.9)

    results = run(tf.constant(7.9))
    assert [float(t) for t in results] == pytest.approx([7, 3.95, 3, 12, 31, 7])


def test_sorted():
    @tf.function
    def run(x):
        return sorted(x), sorted(x, reverse=True), sorted([3, 1, 2])[0]

    up, down, first = run(tf.constant([2, 3, 1]))
    assert (up.numpy().tolist(), down.numpy().tolist(), int(first)) == ([1, 2, 3], [3, 2, 1], 1)


def test_locals_and_eval():
    @tf.function
    def run(x):
        k = 2
        return x * eval("k + 1") + len(locals()) * 0

    assert int(run(tf.constant(2))) == 6
