"""Whole networks, trained for 20 steps."""

from __future__ import annotations

import numpy as np

from .support import classes, fit, generator, losses, program, regression, seeded


@program
def mlp(tf, keras):
    x, y = classes((8,))
    model = keras.Sequential(
        [
            keras.layers.Input((8,)),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.Dense(16, activation="gelu", kernel_regularizer="l2"),
            keras.layers.Dense(3, activation="softmax"),
        ]
    )
    return fit(seeded(model), x, y, optimizer="adam", metrics=["accuracy"])


@program
def mlp_evaluate_predict(tf, keras):
    x, y = classes((8,), rows=50)
    model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(3)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    result = fit(seeded(model), x, y, 3, "sgd", loss, metrics=["accuracy"])
    result += model.evaluate(x, y, batch_size=16, verbose=0)
    return result + [*model.predict(x, batch_size=16, verbose=0)[-1].tolist()]


@program
def cnn(tf, keras):
    x, y = classes((12, 12, 1))
    model = keras.Sequential(
        [
            keras.layers.Input((12, 12, 1)),
            keras.layers.Conv2D(4, 3, padding="same"),
            keras.layers.BatchNormalization(),
            keras.layers.Activation("relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(8, 3, activation="relu"),
            keras.layers.AveragePooling2D(2),
            keras.layers.Flatten(),
            keras.layers.Dense(3, activation="softmax"),
        ]
    )
    result = fit(seeded(model), x, y, optimizer=keras.optimizers.SGD(0.05, momentum=0.9))
    return result + [float(model.evaluate(x, y, verbose=0))]


@program
def cnn_dropout(tf, keras):
    keras.utils.set_random_seed(3)
    x, y = classes((8, 8, 2))
    model = keras.Sequential(
        [
            keras.layers.Input((8, 8, 2)),
            keras.layers.Conv2D(4, 3, activation="relu"),
            keras.layers.SpatialDropout2D(0.2, seed=4),
            keras.layers.Flatten(),
            keras.layers.Dropout(0.5, seed=5),
            keras.layers.GaussianNoise(0.1, seed=6),
            keras.layers.Dense(3, activation="softmax"),
        ]
    )
    return fit(seeded(model), x, y, optimizer="adam")


@program
def separable_cnn(tf, keras):
    x, y = classes((10, 10, 3))
    model = keras.Sequential(
        [
            keras.layers.Input((10, 10, 3)),
            keras.layers.SeparableConv2D(6, 3, activation="relu"),
            keras.layers.DepthwiseConv2D(3, depth_multiplier=2, activation="swish"),
            keras.layers.GroupNormalization(4),
            keras.layers.Conv2D(4, 3, dilation_rate=2, padding="same"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(3, activation="softmax"),
        ]
    )
    return fit(seeded(model), x, y, optimizer="rmsprop")


@program
def residual_network(tf, keras):
    x, y = classes((8, 8, 3))
    inputs = keras.Input((8, 8, 3))
    z = keras.layers.Conv2D(4, 3, padding="same")(inputs)
    for _ in range(2):
        branch = keras.layers.BatchNormalization()(z)
        branch = keras.layers.ReLU()(branch)
        branch = keras.layers.Conv2D(4, 3, padding="same")(branch)
        z = keras.layers.Add()([z, branch])
    z = keras.layers.GlobalMaxPooling2D()(z)
    model = keras.Model(inputs, keras.layers.Dense(3, activation="softmax")(z))
    return fit(seeded(model), x, y, optimizer="adam")


def recurrent(keras, layer, optimizer="adam"):
    """A recurrent classifier of sequences of word numbers."""
    random = generator(2)
    x, y = random.integers(0, 20, (32, 7)), random.integers(0, 3, 32)
    model = keras.Sequential(
        [
            keras.layers.Input((7,), dtype="int32"),
            keras.layers.Embedding(20, 6),
            layer,
            keras.layers.Dense(3, activation="softmax"),
        ]
    )
    return fit(seeded(model), x, y, optimizer=optimizer)


@program
def lstm(tf, keras):
    return recurrent(keras, keras.layers.LSTM(8))


@program
def gru(tf, keras):
    return recurrent(keras, keras.layers.GRU(8))


@program
def simple_rnn_unrolled(tf, keras):
    return recurrent(keras, keras.layers.SimpleRNN(8, unroll=True))


@program
def bidirectional(tf, keras):
    return recurrent(keras, keras.layers.Bidirectional(keras.layers.LSTM(5)))


@program
def stacked_masked_lstm(tf, keras):
    random = generator(2)
    x = random.integers(1, 20, (32, 7)) * (np.arange(7) < random.integers(2, 8, (32, 1)))
    y = random.integers(0, 2, 32)
    model = keras.Sequential(
        [
            keras.layers.Input((7,), dtype="int32"),
            keras.layers.Embedding(20, 6, mask_zero=True),
            keras.layers.LSTM(6, return_sequences=True),
            keras.layers.GRU(5, reset_after=False),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    return fit(seeded(model), x, y, optimizer="adam", loss="binary_crossentropy")


@program
def stacked_rnn_cells(tf, keras):
    x, y = regression((6, 4))
    cells = [keras.layers.LSTMCell(5), keras.layers.GRUCell(4)]
    model = keras.Sequential(
        [keras.layers.Input((6, 4)), keras.layers.RNN(cells), keras.layers.Dense(1)]
    )
    return fit(seeded(model), x, y, optimizer="adam", loss="mse")


@program
def convolutional_lstm(tf, keras):
    x, y = classes((4, 6, 6, 2), rows=8)
    model = keras.Sequential(
        [
            keras.layers.Input((4, 6, 6, 2)),
            keras.layers.ConvLSTM2D(3, 3),
            keras.layers.Flatten(),
            keras.layers.Dense(3, activation="softmax"),
        ]
    )
    return fit(seeded(model), x, y, optimizer="adam")


@program
def transformer(tf, keras):
    random = generator(2)
    x, y = random.integers(0, 20, (16, 9)), random.integers(0, 3, 16)
    inputs = keras.Input((9,), dtype="int32")
    places = keras.ops.arange(9)
    z = keras.layers.Embedding(20, 8)(inputs) + keras.layers.Embedding(9, 8)(places)
    for _ in range(2):
        attended = keras.layers.MultiHeadAttention(2, 4)(z, z, use_causal_mask=True)
        z = keras.layers.LayerNormalization()(z + attended)
        hidden = keras.layers.Dense(16, activation="gelu")(z)
        z = keras.layers.LayerNormalization()(z + keras.layers.Dense(8)(hidden))
    z = keras.layers.GlobalAveragePooling1D()(z)
    model = keras.Model(inputs, keras.layers.Dense(3, activation="softmax")(z))
    return fit(seeded(model), x, y, optimizer="adam")


@program
def attention(tf, keras):
    x, y = regression((5, 4))
    inputs = keras.Input((5, 4))
    query = keras.layers.Dense(4)(inputs)
    z = keras.layers.Attention(use_scale=True)([query, inputs])
    z = keras.layers.AdditiveAttention()([z, inputs])
    z = keras.layers.GroupQueryAttention(4, 4, 2)(z, inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.Flatten()(z)))
    return fit(seeded(model), x, y, optimizer="adam", loss="mse")


@program
def autoencoder(tf, keras):
    x, _ = classes((8, 8, 1))
    model = keras.Sequential(
        [
            keras.layers.Input((8, 8, 1)),
            keras.layers.Conv2D(4, 3, strides=2, padding="same", activation="elu"),
            keras.layers.Conv2DTranspose(4, 3, strides=2, padding="same", activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.UpSampling2D(),
            keras.layers.Conv2D(1, 3, padding="same"),
        ]
    )
    return fit(seeded(model), x, x, optimizer="adam", loss="mse")


@program
def variational_autoencoder(tf, keras):
    x, _ = regression((6,))

    class Sampling(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.generator = keras.random.SeedGenerator(7)

        def call(self, inputs):
            mean, log_variance = inputs
            noise = keras.random.normal(keras.ops.shape(mean), seed=self.generator)
            self.add_loss(
                -0.5
                * keras.ops.mean(
                    1 + log_variance - keras.ops.square(mean) - keras.ops.exp(log_variance)
                )
            )
            return mean + keras.ops.exp(0.5 * log_variance) * noise

    inputs = keras.Input((6,))
    hidden = keras.layers.Dense(8, activation="tanh")(inputs)
    code = Sampling()([keras.layers.Dense(2)(hidden), keras.layers.Dense(2)(hidden)])
    model = keras.Model(inputs, keras.layers.Dense(6)(code))
    return fit(seeded(model), x, x, optimizer="adam", loss="mse")


@program
def several_inputs_and_outputs(tf, keras):
    x, y = regression((6,), 2)
    words = generator(5).integers(0, 9, (32, 3))
    numbers = keras.Input((6,), name="numbers")
    text = keras.Input((3,), dtype="int32", name="text")
    z = keras.layers.Flatten()(keras.layers.Embedding(9, 4)(text))
    z = keras.layers.Concatenate()([z, keras.layers.Dense(5, activation="relu")(numbers)])
    outputs = {
        "value": keras.layers.Dense(2, name="value")(z),
        "label": keras.layers.Dense(1, activation="sigmoid", name="label")(z),
    }
    model = seeded(keras.Model({"numbers": numbers, "text": text}, outputs))
    criteria = {"value": "mse", "label": "binary_crossentropy"}
    weights = {"value": 2.0, "label": 0.5}
    model.compile("adam", criteria, loss_weights=weights, metrics={"label": "accuracy"})
    data = {"numbers": x, "text": words}
    targets = {"value": y, "label": (y[:, :1] > 0).astype("float32")}
    return losses(model.fit(data, targets, batch_size=32, epochs=10, verbose=0, shuffle=False))


@program
def one_dimensional_and_three_dimensional(tf, keras):
    x, y = classes((12, 3), rows=16)
    model = keras.Sequential(
        [
            keras.layers.Input((12, 3)),
            keras.layers.Conv1D(4, 3, padding="causal", activation="relu"),
            keras.layers.MaxPooling1D(2),
            keras.layers.Reshape((3, 2, 2, 2)),
            keras.layers.Conv3D(4, 2, padding="same"),
            keras.layers.UpSampling3D(2),
            keras.layers.AveragePooling3D(2),
            keras.layers.Flatten(),
            keras.layers.Dense(3, activation="softmax"),
        ]
    )
    return fit(seeded(model), x, y, optimizer="adam")
