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


def job_recurrent_layers():
    """Recurrent layers as loops; tf2onnx knows LSTMs, and writes the others as loops."""
    inputs = keras.Input((7, 5))
    x = L.LSTM(8, return_sequences=True)(inputs)
    x = L.GRU(6, return_sequences=True)(x) + L.SimpleRNN(6, return_sequences=True)(x)
    outputs = L.RNN([L.LSTMCell(4), L.GRUCell(3)])(x)
    return exported(keras.Model(inputs, outputs), RANDOM.rand(2, 7, 5).astype("float32"))


def job_both_directions():
    """Bidirectional layers, with a mask."""
    inputs = keras.Input((7,), dtype="int32")
    x = L.Embedding(20, 6, mask_zero=True)(inputs)
    x = L.Bidirectional(L.LSTM(4, return_sequences=True))(x)
    x = L.Bidirectional(L.GRU(4))(x)
    return exported(keras.Model(inputs, L.Dense(2)(x)), RANDOM.randint(0, 9, (3, 7)).astype("i4"))


def job_convolutional_lstm():
    """Convolutions inside a loop."""
    inputs = keras.Input((4, 6, 3))
    model = keras.Model(inputs, L.ConvLSTM1D(2, 3, padding="same")(inputs))
    return exported(model, RANDOM.rand(2, 4, 6, 3).astype("float32"))


def converted(function, *inputs):
    """What ONNX Runtime computes from a tf.function, and what that computes itself."""
    function = tf.function(function)
    specs = [tf.TensorSpec(x.shape, x.dtype, name=f"x{n}") for n, x in enumerate(inputs)]
    path = f"{tempfile.mkdtemp()}/f.onnx"
    tf2onnx.convert.from_function(function, specs, output_path=path)
    return run(path, *inputs)[1], function(*inputs)


def job_loops():
    """Loops over tensors: with a counter, with data that decide, nested, over lists."""
    x = RANDOM.rand(4, 3).astype("float32")

    def counted(x):
        return tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * 2.0 + 1.0), [0, x])[1]

    def limited(x):
        go_on = lambda y: tf.reduce_sum(y) < 100.0  # noqa: E731
        return tf.while_loop(go_on, lambda y: (y * 2.0,), [x], maximum_iterations=9)[0]

    def nested(x):
        for i in tf.range(2):
            for j in tf.range(3):
                x = x * 1.5 + tf.cast(i * j, tf.float32)
        return x

    def mapped(x):
        return tf.map_fn(lambda row: row * tf.reduce_sum(row), x)

    def written(x):
        values = tf.TensorArray(tf.float32, size=4)
        for i in tf.range(4):
            values = values.write(i, x[:, 0] * tf.cast(i, tf.float32))
        return values.stack()

    return [converted(function, x) for function in (counted, limited, nested, mapped, written)]


def job_branches():
    """Branches, also in loops."""

    def branch(x):
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x + 1.0, lambda: x * 2.0)

    def branch_in_loop(x):
        for _ in tf.range(3):
            x = x * 0.5 if tf.reduce_sum(x) > 4.0 else x * 3.0
        return x

    inputs = [sign * RANDOM.rand(4, 3).astype("float32") for sign in (1.0, -1.0)]
    return [converted(function, x) for function in (branch, branch_in_loop) for x in inputs]


def job_function():
    """A tf.function, given to tf2onnx."""
    w = tf.Variable(RANDOM.rand(40, 30).astype("float32"))

    @tf.function
    def f(x):
        return tf.nn.relu(x @ w - 3.0) + tf.reduce_max(x, 1, keepdims=True)

    path = f"{tempfile.mkdtemp()}/f.onnx"
    tf2onnx.convert.from_function(f, [tf.TensorSpec([None, 40], name="x")], output_path=path)
    return run(path, RANDOM.rand(3, 40).astype("float32"))
