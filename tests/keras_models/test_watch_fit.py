"""The callback that watches `fit` stops a training that cannot go well, and says why."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf

keras = tf.keras
x = np.random.default_rng(0).random((64, 3)).astype("float32")
y = np.random.default_rng(1).random((64, 1)).astype("float32")


class LogOfDifference(keras.layers.Layer):
    def call(self, inputs):
        return tf.math.log(inputs - tf.reduce_mean(inputs))  # HERE


def trained(layers, rate=0.1, scale=1.0, **options):
    keras.utils.set_random_seed(0)
    model = keras.Sequential(layers)
    model.compile(keras.optimizers.SGD(rate), "mse")
    callback = tf.doctor.watch_fit(**options)
    model.fit(scale * x, y, batch_size=8, epochs=2, verbose=0, callbacks=[callback])
    return model, callback


def test_nan_stops_at_once_and_names_the_line(capsys):
    dense = keras.layers.Dense(4, activation="sigmoid")
    model, callback = trained([dense, LogOfDifference(), keras.layers.Dense(1)])
    assert model.stop_training and callback.report.verdict == "not finite"
    assert callback.reason[0].code == "TW341" and "HERE" in str(callback.reason)
    printed = capsys.readouterr().out
    assert "training stopped at step 1" in printed and "HERE" in printed
    assert all(np.isfinite(w).all() for w in model.get_weights())  # those from before the step


def test_weights_that_explode():
    model, callback = trained([keras.layers.Dense(4), keras.layers.Dense(1)], 10.0, 100.0)
    assert model.stop_training and callback.reason[0].code == "TW342"
    assert all(np.isfinite(w).all() for w in model.get_weights())


def test_dead_units():
    dead = keras.layers.Dense(
        4, activation="relu", bias_initializer=keras.initializers.Constant(-100.0)
    )
    model, callback = trained([dead, keras.layers.Dense(1, use_bias=False)], every=4)
    assert model.stop_training
    assert {each.kind for each in callback.reason} == {"zero"}
    assert callback.reason[0].code == "TW350"
    told = str(callback.reason[0])  # the line is that of `fit`: the layer says more
    layer = model.layers[0].path if hasattr(model.layers[0], "path") else model.layers[0].name
    assert f"relu is in {layer}" in told and "in compile_loss/mse" in told


def test_a_healthy_training_is_left_alone():
    layers = [keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)]
    model, callback = trained(layers, 0.001)
    assert not model.stop_training and callback.reason is None
    assert callback.report.steps == 16 and callback.report.verdict in ("fine", "large steps")
    before = model.get_weights()[0]
    model.fit(x, y, verbose=0)  # without it again
    assert callback.report.steps == 16 and not np.array_equal(before, model.get_weights()[0])


def test_wrong_verdicts_are_refused():
    with pytest.raises(ValueError, match="stop_on has 'nan'"):
        tf.doctor.watch_fit(stop_on=["nan"])
