"""tf.train.Checkpoint with Keras models and optimizers: built before the restore, or after."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf

keras = tf.keras
X, Y = np.ones((4, 3), "float32"), np.zeros((4, 2), "float32")


class Listed(keras.Model):
    """A model whose layers are in lists and dictionaries, which TensorFlow's checkpoints forget."""

    def __init__(self):
        super().__init__()
        self.blocks = [keras.layers.Dense(3), keras.layers.Dense(3)]
        self.heads = {"a": keras.layers.Dense(2)}

    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return self.heads["a"](x)


def sequential():
    return keras.Sequential(
        [keras.layers.Dense(3), keras.layers.BatchNormalization(), keras.layers.Dense(2)]
    )


def functional():
    inputs = keras.Input((3,))
    return keras.Model(inputs, keras.layers.Dense(2)(keras.layers.Dense(3)(inputs)))


def trained(make):
    model = make()
    model.compile(keras.optimizers.Adam(0.1), "mse")
    model.fit(X, Y, epochs=2, verbose=0)
    return model


@pytest.mark.parametrize("make", [sequential, functional, Listed])
def test_training_goes_on(make, tmp_path):
    """Weights, the optimizer's state and its step come back; the next step is the same."""
    model = trained(make)
    path = tf.train.Checkpoint(model=model, optimizer=model.optimizer).save(tmp_path / "c")
    kept = model.get_weights()
    after = model.train_on_batch(X, Y), model.get_weights()
    status = tf.train.Checkpoint(model=model, optimizer=model.optimizer).restore(path)
    status.assert_consumed()
    assert int(model.optimizer.iterations.numpy()) == 2
    for mine, saved in zip(model.get_weights(), kept):
        np.testing.assert_array_equal(mine, saved)
    np.testing.assert_allclose(model.train_on_batch(X, Y), after[0], rtol=1e-6)
    for mine, saved in zip(model.get_weights(), after[1]):
        np.testing.assert_allclose(mine, saved, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("make", [sequential, functional, Listed])
def test_models_built_after_the_restore(make, tmp_path):
    """Layers that make their variables with the first batch begin with the saved ones."""
    model = trained(make)
    path = tf.train.Checkpoint(model=model, optimizer=model.optimizer).save(tmp_path / "c")
    later = make()
    later.compile(keras.optimizers.Adam(0.1), "mse")
    status = tf.train.Checkpoint(model=later, optimizer=later.optimizer).restore(path)
    np.testing.assert_allclose(later(X), model(X), rtol=1e-6)
    np.testing.assert_allclose(later.train_on_batch(X, Y), model.train_on_batch(X, Y), rtol=1e-5)
    status.assert_consumed()
    for mine, theirs in zip(later.get_weights(), model.get_weights()):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-7)
