"""TensorFlow Hub, with modules of one's own in local folders."""

from __future__ import annotations

import tempfile

import numpy as np
import tensorflow as tf
import tensorflow_hub as hub

X = np.linspace(-1, 1, 24).reshape(8, 3).astype("float32")


class Encoder(tf.__internal__.tracking.AutoTrackable):
    """Rows to numbers, as a module of Hub: `__call__`, variables, regularizers."""

    def __init__(self):
        super().__init__()
        self.kernel = tf.Variable(tf.fill([3, 2], 0.3), name="kernel")
        self.variables = [self.kernel]
        self.trainable_variables = [self.kernel]
        self.regularization_losses = [self.penalty]

    @tf.function(input_signature=[])
    def penalty(self):
        return 0.1 * tf.reduce_sum(self.kernel**2)

    @tf.function(input_signature=[tf.TensorSpec([None, 3]), tf.TensorSpec([], tf.bool)])
    def __call__(self, x, training=False):
        found = tf.tanh(x @ self.kernel)
        return tf.cond(training, lambda: found * 2.0, lambda: found)


def save():
    """A folder with an encoder."""
    folder = tempfile.mkdtemp()
    tf.saved_model.save(Encoder(), folder)
    return folder


def job_keras_layer():
    """A module as a layer, trained with what stands on it."""
    layer = hub.KerasLayer(save(), trainable=True, input_shape=(3,), dtype=tf.float32)
    model = tf.keras.Sequential([layer, tf.keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile("sgd", "mse")
    history = model.fit(X, X[:, :1], epochs=3, batch_size=4, shuffle=False, verbose=0)
    again = tf.keras.Sequential([hub.KerasLayer(save(), input_shape=(3,))])
    return history.history["loss"], model.predict(X[:2], verbose=0), again(X[:2]).numpy()


def job_load():
    """`hub.load`, and resolving a handle that is a folder."""
    folder = save()
    module = hub.load(folder)
    return module(tf.constant(X[:2]), False).numpy(), hub.resolve(folder) == folder


def job_text_columns():
    """A feature column's embedding by a module of text."""

    class Lengths(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def __call__(self, texts):
            size = tf.cast(tf.strings.length(texts), tf.float32)
            return tf.stack([size, size**2], 1)

    folder = tempfile.mkdtemp()
    tf.saved_model.save(Lengths(), folder)
    layer = hub.KerasLayer(folder, input_shape=[], dtype=tf.string, output_shape=[2])
    model = tf.keras.Sequential([layer, tf.keras.layers.Dense(1, kernel_initializer="ones")])
    return model(tf.constant(["a", "bc", ""])).numpy()
