"""Compiling a network takes work that grows as its layers do: from its trace to its machine code.

What is counted are calls of Python's functions, which are the same on every machine, and the blocks
and buffers of the program; times are not.
"""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.passes.functionalize import program_of

LAYERS = (6, 12, 24, 48)
SLACK = 1.15  # tables that grow, and what is looked at once more


class Counted:
    """The training step of so many layers, compiled: calls, blocks, buffers."""

    def __init__(self, layers, layer):
        rng = np.random.default_rng(0)
        self.variables = [
            tf.Variable(rng.normal(0, 0.2, (8, 8)).astype("f")) for _ in range(layers)
        ]
        self.layer, self.calls = layer, 0
        function = tf.function(self.step)
        x = tf.constant(rng.normal(size=(4, 8)).astype("f"))
        threading.setprofile(self.count)
        sys.setprofile(self.count)
        try:
            with settings.executor("llvm"), settings.cache("off"), settings.threads(1):
                function(x)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
        concrete = function.get_concrete_function(x)
        (version,) = program_of(concrete.body).tier.versions.values()
        self.program = version.lowered.program

    def count(self, frame, event, argument):
        self.calls += event == "call"

    def step(self, x):
        with tf.GradientTape() as tape:
            for variable in self.variables:
                x = self.layer(x, variable)
            loss = tf.reduce_mean(x * x)
        for variable, gradient in zip(self.variables, tape.gradient(loss, self.variables)):
            variable.assign_sub(0.01 * gradient)
        return loss


def plain(x, w):
    return tf.tanh(x @ w)


def residual(x, w):
    return x + 0.1 * tf.nn.relu(x @ w)


def normalized(x, w):
    mean, variance = tf.nn.moments(x, [0], keepdims=True)
    return tf.nn.softmax((x - mean) * tf.math.rsqrt(variance + 1e-3) @ w)


@pytest.mark.parametrize("layer", [plain, residual, normalized])
def test_linear(layer):
    Counted(2, layer)  # what is made once in a process
    seen = [Counted(layers, layer) for layers in LAYERS]
    for what in ("calls", "blocks", "buffers"):
        counts = [
            each.calls if what == "calls" else len(getattr(each.program, what)) for each in seen
        ]
        steps = [(b - a) / (m - n) for a, b, n, m in zip(counts, counts[1:], LAYERS, LAYERS[1:])]
        assert steps[-1] <= SLACK * steps[0], f"{what} a layer: {steps}"
