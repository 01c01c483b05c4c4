"""SHAP's explainers of Keras models."""

from __future__ import annotations

import keras
import numpy as np
import shap
import tensorflow as tf

X = np.linspace(-1, 1, 40).reshape(10, 4).astype("float32") ** 3
IMAGES = np.random.default_rng(1).normal(size=(6, 8, 8, 1)).astype("float32")


def network():
    """A small classifier."""
    start = keras.initializers.GlorotUniform(seed=1)
    return keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(6, "relu", kernel_initializer=start),
            keras.layers.Dense(5, "tanh", kernel_initializer=start),
            keras.layers.Dense(2, kernel_initializer=start),
        ]
    )


def job_gradient_explainer():
    """Expected gradients."""
    return shap.GradientExplainer(network(), X[:5]).shap_values(X[5:7], nsamples=20, rseed=1)


def job_deep_explainer():
    """DeepLIFT's rules for dense layers."""
    found = shap.DeepExplainer(network(), X[:5])
    return found.shap_values(X[5:7]), np.asarray(found.expected_value)


def job_deep_explainer_of_images():
    """The same for convolutions, pooling and softmax."""
    start = keras.initializers.GlorotUniform(seed=1)
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Conv2D(3, 3, activation="relu", kernel_initializer=start),
            keras.layers.MaxPooling2D(2),
            keras.layers.Flatten(),
            keras.layers.Dense(2, "sigmoid", kernel_initializer=start),
        ]
    )
    return shap.DeepExplainer(model, IMAGES[:3]).shap_values(IMAGES[4:5]).sum((1, 2, 3))


def job_kernel_explainer():
    """A model as a function of arrays."""
    model = network()
    explainer = shap.KernelExplainer(lambda x: model(tf.constant(x, tf.float32)).numpy(), X[:5])
    return explainer.shap_values(X[5:6], nsamples=30, silent=True)
