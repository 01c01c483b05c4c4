"""jax2tf: functions of JAX in TensorFlow, and of TensorFlow in JAX."""

from __future__ import annotations

import tempfile

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf
from jax.experimental import jax2tf

X = np.linspace(-1, 1, 12).reshape(4, 3).astype("float32")


def network(params, x):
    """Two layers."""
    for w, b in params:
        x = jnp.tanh(x @ w + b)
    return x


PARAMS = [
    (np.full((3, 5), 0.1, "float32") * np.arange(5, dtype="float32"), np.zeros(5, "float32")),
    (np.full((5, 2), 0.2, "float32"), np.ones(2, "float32")),
]


def job_convert():
    """A function of JAX at once, in tf.function, and its derivative."""
    converted = jax2tf.convert(lambda x: network(PARAMS, x))
    x = tf.Variable(X)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(converted(x) ** 2)
    compiled = tf.function(converted, autograph=False)
    return converted(X), compiled(tf.constant(X)), tape.gradient(loss, x)


def job_train_converted():
    """A model of JAX whose weights are variables, trained by Keras."""
    variables = tf.nest.map_structure(tf.Variable, PARAMS)
    predict = tf.function(jax2tf.convert(network), autograph=False)
    optimizer, losses = tf.keras.optimizers.SGD(0.1), []
    flat = tf.nest.flatten(variables)
    for _ in range(5):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((predict(variables, X) - 0.5) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, flat), flat))
        losses.append(loss.numpy())
    return losses


def job_open_sizes():
    """A batch of any size, saved and loaded."""
    converted = jax2tf.convert(lambda x: network(PARAMS, x), polymorphic_shapes=["(b, 3)"])
    module = tf.Module()
    spec = tf.TensorSpec([None, 3], tf.float32)
    module.f = tf.function(converted, autograph=False, input_signature=[spec])
    folder = tempfile.mkdtemp()
    tf.saved_model.save(module, folder)
    loaded = tf.saved_model.load(folder)
    return loaded.f(X), loaded.f(X[:2]), loaded.f(X[:1]).shape.as_list()


def job_integers_and_structures():
    """Several results of several dtypes, in a dictionary."""

    def both(x, n):
        return {"sum": x.sum() + n, "best": jnp.argmax(x, 1), "more": (x > 0, jnp.sort(x, 0))}

    found = jax2tf.convert(both)(X, np.int32(3))
    return tf.nest.map_structure(lambda t: (t.dtype.name, t.numpy()), found)


def job_call_tf():
    """A function of TensorFlow in JAX: at once, compiled, and differentiated."""

    @tf.function
    def square(x):
        return tf.math.sin(x) * x + tf.reduce_sum(x)

    called = jax2tf.call_tf(square)

    def loss(x):
        return called(x).sum()

    value, grad = jax.value_and_grad(loss)(X)
    return called(X), jax.jit(called)(X), value, grad, jax.jit(jax.grad(loss))(X)


def job_call_tf_with_variables():
    """A layer of Keras, whose variables stay TensorFlow's."""
    layer = tf.keras.layers.Dense(2, "tanh")
    layer.build((None, 3))
    layer.set_weights([PARAMS[0][0][:, :2], np.ones(2)])
    called = jax2tf.call_tf(lambda x: layer(x))
    return called(X), jax.jit(lambda x: called(x) * 2)(X)
