"""`fit` of Keras models: the CNN of design.md section 4, and a network too small to compute.

One program, each peer as Keras's backend; Keras itself must be installed beside the peer.
"""

# pyright: reportSelfClsParameterName=false, reportAttributeAccessIssue=false

from __future__ import annotations

import importlib
import os

from benchmarks.declare import AtMost, Ratio, Unfit, benchmark

STEPS, BATCH = 20, 64
SMALL_STEPS, SMALL_BATCH = 100, 32


def keras_of(backend):
    """Keras on a backend; Unfit where it is not installed."""
    os.environ["KERAS_BACKEND"] = backend
    try:
        return importlib.import_module("keras")
    except ImportError as error:
        raise Unfit(f"Keras is not installed beside it: {error}") from None


@benchmark("keras.fit", aims=[Ratio(1 / 1.5)], scale=STEPS * BATCH)
class Fit:
    """An image of an epoch of `fit` (28x28x1, batch 64, 20 steps, SGD, accuracy)."""

    def tf(tf, np):
        return convolutional(tf.keras, np)

    def jax(jax, np):
        return convolutional(keras_of("jax"), np)

    def torch(torch, np):
        return convolutional(keras_of("torch"), np)


@benchmark("keras.step", aims=[AtMost(300e-6)], scale=SMALL_STEPS)
class Step:
    """A step of `fit` of a network of 99 numbers: what Python takes."""

    def tf(tf, np):
        return small(tf.keras, np)

    def jax(jax, np):
        return small(keras_of("jax"), np)

    def torch(torch, np):
        return small(keras_of("torch"), np)


@benchmark("keras.loop", scale=SMALL_STEPS)
class Loop:
    """A step of one's own loop: a tape and `apply_gradients` in a tf.function, that network."""

    def tf(tf, np):
        model, x, y = small_model(tf.keras, np)
        optimizer = tf.keras.optimizers.SGD(0.01)
        loss_of = tf.keras.losses.MeanSquaredError()

        @tf.function
        def step(x, y):
            with tf.GradientTape() as tape:
                loss = loss_of(y, model(x, training=True))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            return loss

        def steps():
            for _ in range(SMALL_STEPS):
                step(x, y)

        steps()
        return steps


@benchmark("keras.train_on_batch", scale=SMALL_STEPS)
class TrainOnBatch:
    """`train_on_batch` of that network."""

    def tf(tf, np):
        model, x, y = small_model(tf.keras, np)
        model.compile("sgd", "mse")

        def steps():
            for _ in range(SMALL_STEPS):
                model.train_on_batch(x, y)

        steps()
        return steps


def small_model(keras, np):
    """The small network, and a batch of inputs and targets."""
    random = np.random.default_rng(0)
    x, y = (random.normal(size=(SMALL_BATCH, n)).astype("float32") for n in (8, 3))
    model = keras.Sequential(
        [
            keras.layers.Input((8,)),
            keras.layers.Dense(8, activation="relu"),
            keras.layers.Dense(3),
        ]
    )
    return model, keras.ops.convert_to_tensor(x), keras.ops.convert_to_tensor(y)


def convolutional(keras, np):
    """The CNN's epoch, and the losses of two epochs from the same weights."""
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Input((28, 28, 1)),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dense(10),
        ]
    )
    return epochs(keras, np, model, (28, 28, 1), 10, BATCH, STEPS)


def small(keras, np):
    """The small network's epoch, and the losses of two epochs from the same weights."""
    model, _, _ = small_model(keras, np)
    return epochs(keras, np, model, (8,), 3, SMALL_BATCH, SMALL_STEPS)


def epochs(keras, np, model, shape, classes, batch, steps):
    """One epoch of `fit`, and what shows that it is the same in all peers."""
    random = np.random.default_rng(0)
    x = random.normal(size=(batch * steps, *shape)).astype("float32")
    y = random.integers(0, classes, batch * steps).astype("int32")
    weights = [
        random.normal(scale=(2 / max(1, np.prod(w.shape[:-1]))) ** 0.5, size=w.shape) * (w.ndim > 1)
        for w in model.get_weights()
    ]
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.01), loss, metrics=["accuracy"])

    def fit(count=1):
        return model.fit(x, y, batch_size=batch, epochs=count, shuffle=False, verbose=0)

    def evidence():
        model.set_weights(weights)
        return [float(value) for value in fit(2).history["loss"]]

    fit()
    return fit, evidence
