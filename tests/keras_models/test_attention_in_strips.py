"""Keras's layers of attention, whose scores are computed in strips: the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.passes.optimize import strip_mining
from talweg.trace import call_rules, rematerialization

LENGTH, WIDTH = 24, 32
RANDOM = np.random.default_rng(0)
SMALL = {"large": 1500, "again": 1500, "matrix": 1, "ratio": 1.2, "block": 64, "fewest": 5}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Small arrays count as large, and nothing comes from the disk, where sizes are not known."""
    with settings.cache("off"), settings.check(True):
        for name, value in SMALL.items():
            monkeypatch.setattr(strip_mining.limits, name, value)
        yield


INPUT = RANDOM.standard_normal((2, LENGTH, WIDTH)).astype("float32")
MASK = RANDOM.random((2, LENGTH, LENGTH)) > 0.3


def results(function, how, before=lambda: None):
    """The results of a function, in float32, and the loops if it is compiled."""
    before()
    traced: Any = tf.function(function)
    x = tf.constant(INPUT)
    with settings.executor(how):
        found = [tf.cast(y, tf.float32).numpy() for y in tf.nest.flatten(traced(x))]
        if how == "interpret":
            return found, ""
        return found, str(traced.experimental_get_compiler_ir(x)("optimized_hlo"))


def agree(function, before=lambda: None, fires=True, tolerance=1e-5):
    found, loops = results(function, "llvm", before)
    wanted, _ = results(function, "interpret", before)
    largest = max(np.abs(y).max() for y in wanted)
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, tolerance, tolerance * largest)
    assert ("repeat t in" in loops) == fires


def trained(layer, **options):
    """A function of a layer's derivatives, and what puts its variables back."""
    layer(INPUT, INPUT)
    before = [(variable, variable.numpy()) for variable in layer.variables]

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            result = layer(x, x, training=True, **options)
            result = result[0] if options.get("return_attention_scores") else result
            loss = tf.reduce_sum(tf.cast(result, tf.float32) ** 2)
        return tape.gradient(loss, [x, *layer.trainable_weights])

    def reset():
        for variable, value in before:
            variable.assign(value)

    return step, reset


@pytest.mark.parametrize(
    "options",
    [{}, {"use_causal_mask": True}, {"attention_mask": MASK}],
    ids=["all", "causal", "masked"],
)
@pytest.mark.parametrize("dropout", [0.0, 0.2])
@pytest.mark.parametrize("kind", ["heads", "groups"])
def test_training(kind, dropout, options):
    if kind == "heads":
        layer = tf.keras.layers.MultiHeadAttention(4, 8, dropout=dropout)
    else:
        layer = tf.keras.layers.GroupQueryAttention(8, 4, 2, dropout=dropout)
    agree(*trained(layer, **options))


@pytest.mark.parametrize("options", [{}, {"use_causal_mask": True}, {"attention_mask": MASK}])
@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_a_tape_outside_of_the_function(monkeypatch, dropout, options):
    """No scores go from the forward program to the reverse one, and dropout is the same."""
    for name in ("least", "unit"):
        monkeypatch.setattr(rematerialization.limits, name, 1)
    layer = tf.keras.layers.MultiHeadAttention(4, 8, dropout=dropout)
    inside, reset = trained(layer, **options)
    x = tf.constant(INPUT)
    with settings.executor("interpret"):
        reset()
        wanted = tf.function(inside)(x)
    for how in ("llvm", "interpret"):
        reset()
        traced: Any = tf.function(lambda x: layer(x, x, training=True, **options))
        with settings.executor(how):
            with tf.GradientTape() as tape:
                tape.watch(x)
                loss = tf.reduce_sum(traced(x) ** 2)
            found = tape.gradient(loss, [x, *layer.trainable_weights])
        largest = max(np.abs(y).max() for y in wanted)
        for y, z in zip(found, wanted, strict=True):
            np.testing.assert_allclose(y, z, 1e-5, 1e-5 * largest)
        reverse: Any = call_rules.usual_reverse(traced.get_concrete_function(x).body)
        scores = 2 * 4 * LENGTH * LENGTH
        assert all(np.prod(node.aval.dims) < scores for node in reverse.inner)


def test_inference():
    layer = tf.keras.layers.MultiHeadAttention(4, 8, dropout=0.2)
    layer(INPUT, INPUT)
    agree(lambda x: layer(x, x))


def test_scores_that_are_returned_are_stored():
    layer = tf.keras.layers.MultiHeadAttention(4, 8)
    layer(INPUT, INPUT)
    agree(lambda x: layer(x, x, return_attention_scores=True), fires=False)


def test_half_precision():
    layer = tf.keras.layers.MultiHeadAttention(4, 8, dtype="mixed_bfloat16")
    agree(*trained(layer), tolerance=0.02)


@pytest.mark.parametrize("options", [{"is_causal": True}, {"mask": MASK[:, None]}, {}])
def test_dot_product_attention(options):
    arrays = [RANDOM.standard_normal((2, LENGTH, 4, 8)).astype("float32") for _ in range(3)]

    def step(x):
        operands = [tf.constant(y) + 0.0 * x[0, 0, 0] for y in arrays]
        with tf.GradientTape() as tape:
            tape.watch(operands)
            result: Any = tf.keras.ops.dot_product_attention(*operands, **options)
            loss = tf.reduce_sum(tf.square(result))
        return tape.gradient(loss, operands)

    agree(step)


def test_a_training_step_of_a_model():
    def made():
        tf.keras.utils.set_random_seed(1)
        x = tf.keras.Input((LENGTH, WIDTH))
        y = tf.keras.layers.MultiHeadAttention(4, 8, dropout=0.1)(x, x, use_causal_mask=True)
        y = tf.keras.layers.LayerNormalization()(x + y)
        model = tf.keras.Model(x, tf.keras.layers.Dense(3)(y))
        model.compile("sgd", "mse")
        return model

    targets = RANDOM.standard_normal((2, LENGTH, 3)).astype("float32")
    losses = []
    for how in ("llvm", "interpret"):
        with settings.executor(how):
            model = made()
            losses.append([model.train_on_batch(INPUT, targets) for _ in range(3)])
    np.testing.assert_allclose(*losses, rtol=1e-4)
