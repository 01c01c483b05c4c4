"""TensorFlow Model Optimization."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import tensorflow_model_optimization as tfmot

X = np.linspace(-1, 1, 96).reshape(32, 3).astype("float32")
Y = (X[:, :1] > 0).astype("float32")


def network():
    """A small model."""
    start = tf.keras.initializers.GlorotUniform(seed=1)
    return tf.keras.Sequential(
        [
            tf.keras.layers.Dense(8, "relu", input_shape=(3,), kernel_initializer=start),
            tf.keras.layers.Dense(1, "sigmoid", kernel_initializer=start),
        ]
    )


def fit(model, callbacks=()):
    """The losses of a short fit."""
    model.compile(tf.keras.optimizers.Adam(0.05), "binary_crossentropy")
    options = {"epochs": 3, "batch_size": 8, "shuffle": False, "verbose": 0}
    return model.fit(X, Y, callbacks=list(callbacks), **options).history["loss"]


def job_pruning():
    """Weights of small magnitude become zeros, by a schedule."""
    schedule = tfmot.sparsity.keras.PolynomialDecay(0.2, 0.6, 0, 10, frequency=2)
    model = tfmot.sparsity.keras.prune_low_magnitude(network(), schedule)
    losses = fit(model, [tfmot.sparsity.keras.UpdatePruningStep()])
    stripped = tfmot.sparsity.keras.strip_pruning(model)
    kernel = stripped.layers[0].kernel.numpy()
    return losses, float((kernel == 0).mean()), kernel


def job_quantization_aware_training():
    """Weights and activations rounded to 8 bits in the forward pass."""
    model = tfmot.quantization.keras.quantize_model(network())
    losses = fit(model)
    return losses, model.predict(X[:3], verbose=0), [v.name for v in model.variables][:6]


def job_clustering():
    """Weights shared among few centroids."""
    starts = tfmot.clustering.keras.CentroidInitialization
    model = tfmot.clustering.keras.cluster_weights(
        network(), number_of_clusters=4, cluster_centroids_init=starts.LINEAR
    )
    losses = fit(model)
    stripped = tfmot.clustering.keras.strip_clustering(model)
    return losses, len(np.unique(stripped.layers[0].kernel.numpy()))
