"""The seeds' programs that use Keras run unchanged: `import tensorflow as tf` gives talweg."""

from __future__ import annotations

import numpy as np
import pytest

import talweg

REGRESSION = """
import tensorflow as tf

# Define variables
W = tf.Variable(tf.random.normal([1]), name="weights")
b = tf.Variable(tf.zeros([1]), name="bias")

# Define the model
def model(x):
    return W * x + b

# Define the loss function
def loss(y_true, y_pred):
    return tf.reduce_mean(tf.square(y_true - y_pred))

# Gradient calculation using GradientTape
x_train = tf.constant([1.0, 2.0, 3.0])
y_train = tf.constant([2.0, 4.0, 6.0])

with tf.GradientTape() as tape:
    y_pred = model(x_train)
    l = loss(y_train, y_pred)

gradients = tape.gradient(l, [W, b])

#Training step (optional)
optimizer = tf.optimizers.SGD(learning_rate=0.01)
optimizer.apply_gradients(zip(gradients, [W, b]))
"""

CONVOLUTION = """
import tensorflow as tf

# Define a convolutional layer
model = tf.keras.models.Sequential([
  tf.keras.layers.Conv2D(32, (3, 3), activation='relu', input_shape=(28, 28, 1)),
  tf.keras.layers.Flatten(),
  tf.keras.layers.Dense(10)
])

# Dummy input
x = tf.random.normal((1, 28, 28, 1))

# Gradient calculation using GradientTape (simplified)
with tf.GradientTape() as tape:
    y = model(x)
    loss = tf.reduce_mean(y) # Dummy loss

gradients = tape.gradient(loss, model.trainable_variables)
"""

CUSTOM_LOSS = """
import tensorflow as tf

def custom_loss(y_true, y_pred):
  error = tf.abs(y_true - y_pred)
  if tf.reduce_mean(error) > 0.5:
    return tf.square(error)
  else:
    return error

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer='adam', loss=custom_loss)
"""


def run(program):
    """The names a program leaves behind."""
    talweg.as_tensorflow()
    names = {"__name__": "__main__"}
    exec(compile(program, "seed", "exec"), names)
    return names


def test_regression_with_an_optimizer():
    found = run(REGRESSION)
    w, b = (g.numpy() for g in found["gradients"])
    np.testing.assert_allclose(found["b"].numpy(), -0.01 * b, rtol=1e-6)
    assert w.shape == (1,) and found["tf"] is talweg


@pytest.mark.filterwarnings("ignore:Do not pass an `input_shape`")
def test_gradients_of_a_convolution():
    found = run(CONVOLUTION)
    kernel, bias, weights, last = found["gradients"]
    assert [tuple(g.shape) for g in found["gradients"]] == [
        tuple(v.shape) for v in found["model"].trainable_variables
    ]
    np.testing.assert_allclose(last.numpy(), np.full(10, 0.1), rtol=1e-5)
    assert np.all(np.isfinite(weights.numpy())) and np.any(kernel.numpy())


@pytest.mark.parametrize("eagerly", [True, False])
@pytest.mark.parametrize("scale", [0.05, 5.0])
def test_loss_with_an_if_on_tensors(eagerly, scale):
    """Both branches train, traced as well as eager, and give the same."""
    found = run(CUSTOM_LOSS)
    model, random = found["model"], np.random.default_rng(0)
    x = random.normal(size=(16, 3)).astype("float32")
    y = (scale * random.normal(size=(16, 1))).astype("float32")
    model.build((None, 3))
    model.set_weights([np.full((3, 1), 0.01, "float32"), np.zeros(1, "float32")])
    model.compile(optimizer="sgd", loss=found["custom_loss"], run_eagerly=eagerly)
    error = np.abs(y - model.predict(x, verbose=0))
    wanted = np.mean(error**2) if error.mean() > 0.5 else np.mean(error)
    assert (error.mean() > 0.5) == (scale > 1)
    history = model.fit(x, y, batch_size=16, epochs=4, verbose=0, shuffle=False)
    np.testing.assert_allclose(history.history["loss"][0], wanted, rtol=1e-5)
    assert history.history["loss"][-1] < history.history["loss"][0]
