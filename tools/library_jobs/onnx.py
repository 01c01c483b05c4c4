"""Keras's export to ONNX, which tf2onnx makes, and tf2onnx itself; ONNX Runtime runs the models."""

from __future__ import annotations

import tempfile

import keras
import numpy as np
import onnxruntime
import tensorflow as tf
import tf2onnx

L = keras.layers
RANDOM = np.random.RandomState(0)


def run(path, *inputs):
    """What ONNX Runtime computes from a model."""
    session = onnxruntime.InferenceSession(path)
    names = [each.name for each in session.get_inputs()]
    return names, session.run(None, dict(zip(names, inputs)))[0]


def exported(model, x):
    """The names of inputs and the outputs of an exported model."""
    model.predict(x, verbose=0)
    path = f"{tempfile.mkdtemp()}/model.onnx"
    model.export(path, format="onnx", verbose=False)
    names, outputs = run(path, x)
    return [len(names), outputs]


def job_images():
    """A network of images, with separable and transposed convolutions and normalization."""
    inputs = keras.Input((16, 16, 3))
    x = L.SeparableConv2D(8, 3, strides=2, padding="same")(inputs)
    x = L.LeakyReLU()(L.BatchNormalization()(x))
    x = L.Conv2DTranspose(4, 3, padding="same")(L.UpSampling2D()(x))
    outputs = L.Dense(10, "softmax")(L.GlobalAveragePooling2D()(x))
    return exported(keras.Model(inputs, outputs), RANDOM.rand(2, 16, 16, 3).astype("float32"))


def job_attention():
    """A block of a transformer."""
    inputs = keras.Input((9,), dtype="int32")
    x = L.Embedding(50, 16)(inputs)
    x = L.LayerNormalization()(x + L.MultiHeadAttention(2, 8)(x, x, use_causal_mask=True))
    return exported(keras.Model(inputs, L.Dense(5)(x)), RANDOM.randint(0, 50, (2, 9)).astype("i4"))


def job_mobilenet():
    """A whole model of Keras."""
    model = keras.applications.MobileNetV2((32, 32, 3), weights=None, classes=5)
    return exported(model, RANDOM.rand(1, 32, 32, 3).astype("float32"))


def job_unrolled_lstm():
    """A recurrent network without a loop."""
    inputs = keras.Input((7, 5))
    model = keras.Model(inputs, L.Dense(2)(L.LSTM(8, unroll=True)(inputs)))
    return exported(model, RANDOM.rand(2, 7, 5).astype("float32"))


def job_function():
    """A tf.function, given to tf2onnx."""
    w = tf.Variable(RANDOM.rand(40, 30).astype("float32"))

    @tf.function
    def f(x):
        return tf.nn.relu(x @ w - 3.0) + tf.reduce_max(x, 1, keepdims=True)

    path = f"{tempfile.mkdtemp()}/f.onnx"
    tf2onnx.convert.from_function(f, [tf.TensorSpec([None, 40], name="x")], output_path=path)
    return run(path, RANDOM.rand(3, 40).astype("float32"))
