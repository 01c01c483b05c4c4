"""Functions each of which calls the one before twice: what is made of them is linear in their text.

Forty of them are 2^40 calls, so whatever walks through all calls does not end.
"""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.passes.functionalize import count_inlined_steps
from talweg.passes.specialize import specializer

DEEP = 40
SPEC = tf.TensorSpec([], tf.float32)


def doubling(depth):
    """x -> the sum of 2^depth sines of what is x times a power of 0.9."""

    def over(f):
        return tf.function(lambda x: f(x) + f(x * 0.9))

    f = tf.function(lambda x: tf.sin(x) * 0.5)
    for _ in range(depth):
        f = over(f)
    return f


def value_and_slope(depth, x):
    counts = np.array([1.0])
    for _ in range(depth):
        counts = np.convolve(counts, [1.0, 1.0])
    factors = 0.9 ** np.arange(depth + 1)
    return (counts * np.sin(factors * x) / 2).sum(), (
        counts * factors * np.cos(factors * x)
    ).sum() / 2


def test_derivatives_are_made_in_linear_time():
    f = doubling(DEEP)

    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    @tf.function
    def second(x):
        return tf.gradients(tf.gradients(f(x), x), x)

    @tf.function
    def forward(x):
        with tf.autodiff.ForwardAccumulator(x, tf.ones([])) as accumulator:
            y = f(x)
        return accumulator.jvp(y)

    for g in (f, gradient, second, forward):
        assert len(g.get_concrete_function(SPEC).graph.get_operations()) < 10_000
    rows = tf.function(lambda x: tf.vectorized_map(f, x))
    rows.get_concrete_function(tf.TensorSpec([3], tf.float32))


def test_graphs_and_models_of_them_are_written_in_linear_time(tmp_path):
    sizes = []
    for depth in (DEEP // 2, DEEP):
        with tf.Graph().as_default() as graph:
            x = tf.compat.v1.placeholder(tf.float32, [], "x")
            tf.gradients(doubling(depth)(x), x)
        sizes.append(graph.as_graph_def().ByteSize())
    assert sizes[1] < 3 * sizes[0]
    module = tf.Module()
    module.f = doubling(DEEP)
    module.f.get_concrete_function(SPEC)
    tf.saved_model.save(module, str(tmp_path / "model"))
    assert tf.saved_model.load(str(tmp_path / "model")).f


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
def test_calls_that_are_too_many_are_not_put_in_place(executor, monkeypatch):
    monkeypatch.setattr(specializer, "MOST_INLINED", 60)
    f, depth = doubling(7), 7

    @tf.function
    def both(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return y, tape.gradient(y, x)

    with settings.executor(executor):
        np.testing.assert_allclose(both(tf.constant(0.3)), value_and_slope(depth, 0.3), rtol=1e-5)
        with tf.GradientTape() as tape:
            x = tf.constant(0.3)
            tape.watch(x)
            y = f(x)
        slope = tape.gradient(y, x)
        np.testing.assert_allclose((y, slope), value_and_slope(depth, 0.3), rtol=1e-5)


def test_how_long_compiling_takes_is_guessed_from_all_calls():
    program = doubling(20).get_concrete_function(SPEC)._only_program()
    assert count_inlined_steps(program) > 2**20 and len(program.steps) < 10
