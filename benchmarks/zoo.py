"""Models that people train, in Keras, the same text for every backend: `ZOO[name](keras, np)`.

Each gives what a step and a prediction need (`Work`).  Weights of matrices are drawn by NumPy, so
that all backends start from the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

RATE = 1e-3


@dataclass
class Work:
    """A model, a batch, and how it is trained; without a loss it only predicts."""

    model: Any
    x: Any
    y: Any = None
    loss: Any = None
    optimizer: Any = None
    step: Callable[[], Any] | None = None  # where a step is more than `train_on_batch`


def gpt(keras, np):
    """6 layers, width 256, 8 heads, 4x128 tokens, vocabulary 8192, Adam."""
    layers, width, length, vocabulary = keras.layers, 256, 128, 8192
    tokens = layers.Input((length,), dtype="int32")
    x = layers.Embedding(vocabulary, width)(tokens)
    x = x + layers.Embedding(length, width)(places(keras, tokens))
    for _ in range(6):
        x = transformer_block(layers, x, width, 8, causal=True)
    x = layers.Dense(vocabulary)(layers.LayerNormalization()(x))
    data = np.random.default_rng(1).integers(0, vocabulary, (4, length + 1)).astype("int32")
    return Work(keras.Model(tokens, x), data[:, :-1], data[:, 1:], crossed(keras), adam(keras))


def places(keras, x):
    """0, 1, 2, ... along the second axis.

    From a symbolic tensor: a layer called with numbers is computed at once, and its weights are no
    part of the model.
    """
    return keras.ops.cumsum(keras.ops.ones_like(x, dtype="int32"), axis=1) - 1


def transformer_block(layers, x, width, heads, causal=False):
    """Attention and a network of four times the width, each after a layer norm."""
    normal = layers.LayerNormalization()(x)
    attention = layers.MultiHeadAttention(heads, width // heads)
    x = x + attention(normal, normal, use_causal_mask=causal)
    inner = layers.Dense(4 * width, activation="gelu")(layers.LayerNormalization()(x))
    return x + layers.Dense(width)(inner)


def vit(keras, np):
    """ViT: 6 layers, width 192, patches of 4x4 of 16 images of 32x32, Adam."""
    layers, width = keras.layers, 192
    images = layers.Input((32, 32, 3))
    x = layers.Reshape((64, width))(layers.Conv2D(width, 4, strides=4)(images))
    x = x + layers.Embedding(64, width)(places(keras, x[:, :, 0]))
    for _ in range(6):
        x = transformer_block(layers, x, width, 6)
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(x))
    model = keras.Model(images, layers.Dense(10)(x))
    return Work(model, *labelled(np, (16, 32, 32, 3), 10), crossed(keras), adam(keras))


def bert(keras, np, batch):
    """BERT's base size, 12 layers of width 768 over 128 tokens; a prediction."""
    layers, width = keras.layers, 768
    tokens = layers.Input((128,), dtype="int32")
    x = layers.Embedding(30522, width)(tokens)
    x = layers.LayerNormalization()(x + layers.Embedding(128, width)(places(keras, tokens)))
    for _ in range(12):
        x = transformer_block(layers, x, width, 12)
    model = keras.Model(tokens, layers.Dense(2)(x[:, 0]))
    data = np.random.default_rng(1).integers(0, 30522, (batch, 128)).astype("int32")
    return Work(model, data)


def resnet20(keras, np):
    """ResNet-20 of CIFAR's size, 64 images of 32x32, SGD with momentum."""
    layers = keras.layers
    images = layers.Input((32, 32, 3))
    x = convolved(layers, images, 16, 3, 1)
    for stage, width in enumerate((16, 32, 64)):
        for block in range(3):
            stride = 2 if stage and not block else 1
            short = x
            if stride == 2:
                short = layers.Conv2D(width, 1, strides=2, use_bias=False)(x)
            y = convolved(layers, x, width, 3, stride)
            y = convolved(layers, y, width, 3, 1, activation=False)
            x = layers.ReLU()(layers.Add()([y, short]))
    model = keras.Model(images, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))
    return Work(model, *labelled(np, (64, 32, 32, 3), 10), crossed(keras), momentum(keras))


def convolved(layers, x, width, size, stride, activation=True):
    """A convolution, its norm over the batch and relu."""
    x = layers.Conv2D(width, size, strides=stride, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.ReLU()(x) if activation else x


def resnet50(keras, np):
    """ResNet-50, 8 images of 96x96, SGD with momentum."""
    model = keras.applications.ResNet50(
        weights=None, input_shape=(96, 96, 3), classes=100, classifier_activation=None
    )
    return Work(model, *labelled(np, (8, 96, 96, 3), 100), crossed(keras), momentum(keras))


def mobilenet(keras, np):
    """MobileNetV2, 8 images of 96x96, SGD with momentum."""
    model = keras.applications.MobileNetV2(
        weights=None, input_shape=(96, 96, 3), classes=100, classifier_activation=None
    )
    return Work(model, *labelled(np, (8, 96, 96, 3), 100), crossed(keras), momentum(keras))


def unet(keras, np):
    """U-Net of three levels, 16 to 64 channels, 8 images of 64x64, Adam."""
    layers = keras.layers
    images = layers.Input((64, 64, 3))
    x, kept = images, []
    for width in (16, 32):
        x = convolved(layers, convolved(layers, x, width, 3, 1), width, 3, 1)
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    x = convolved(layers, convolved(layers, x, 64, 3, 1), 64, 3, 1)
    for width in (32, 16):
        x = layers.Conv2DTranspose(width, 2, strides=2, padding="same")(x)
        x = layers.Concatenate()([x, kept.pop()])
        x = convolved(layers, convolved(layers, x, width, 3, 1), width, 3, 1)
    model = keras.Model(images, layers.Conv2D(4, 1)(x))
    labels = np.random.default_rng(2).integers(0, 4, (8, 64, 64)).astype("int32")
    return Work(model, labelled(np, (8, 64, 64, 3), 4)[0], labels, crossed(keras), adam(keras))


def lstm(keras, np):
    """Two bidirectional LSTMs of width 64 over 80 tokens, batch 32, Adam."""
    layers = keras.layers
    tokens = layers.Input((80,), dtype="int32")
    x = layers.Embedding(5000, 64)(tokens)
    x = layers.Bidirectional(layers.LSTM(64, return_sequences=True))(x)
    x = layers.Bidirectional(layers.LSTM(64))(x)
    random = np.random.default_rng(1)
    data, labels = random.integers(0, 5000, (32, 80)), random.integers(0, 2, 32)
    model = keras.Model(tokens, layers.Dense(2)(x))
    return Work(model, data.astype("int32"), labels.astype("int32"), crossed(keras), adam(keras))


def gan(keras, np):
    """A DCGAN's two steps, 32 images of 28x28: the discriminator's, then the generator's."""
    layers = keras.layers
    judge = keras.Sequential(
        [
            layers.Input((28, 28, 1)),
            layers.Conv2D(32, 4, strides=2, padding="same"),
            layers.LeakyReLU(0.2),
            layers.Conv2D(64, 4, strides=2, padding="same"),
            layers.LeakyReLU(0.2),
            layers.Flatten(),
            layers.Dense(1),
        ]
    )
    maker = keras.Sequential(
        [
            layers.Input((64,)),
            layers.Dense(7 * 7 * 64, activation="relu"),
            layers.Reshape((7, 7, 64)),
            layers.Conv2DTranspose(32, 4, strides=2, padding="same", activation="relu"),
            layers.Conv2DTranspose(1, 4, strides=2, padding="same", activation="tanh"),
        ]
    )
    judge.compile(adam(keras), keras.losses.BinaryCrossentropy(from_logits=True))
    judge.trainable = False
    noise = layers.Input((64,))
    both = keras.Model(noise, judge(maker(noise)))
    random = np.random.default_rng(1)
    drawn = random.standard_normal((32, 64), dtype="float32")
    real = random.standard_normal((32, 28, 28, 1), dtype="float32")
    labels = np.concatenate([np.ones((32, 1)), np.zeros((32, 1))]).astype("float32")
    ones = np.ones((32, 1), "float32")

    def step():
        images = maker.predict_on_batch(drawn)
        judge.train_on_batch(np.concatenate([real, images]), labels)
        return both.train_on_batch(drawn, ones)

    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    return Work(both, drawn, ones, loss, adam(keras), step)


def recommender(keras, np):
    """Two towers over a table of 10,000,000 rows of 16, batch 1024 of 8 features, SGD."""
    layers, rows = keras.layers, 10_000_000
    features = layers.Input((8,), dtype="int32")
    x = layers.Flatten()(layers.Embedding(rows, 16)(features))
    x = layers.Dense(64, activation="relu")(layers.Dense(128, activation="relu")(x))
    model = keras.Model(features, layers.Dense(1)(x))
    random = np.random.default_rng(1)
    data = random.integers(0, rows, (1024, 8)).astype("int32")
    labels = random.integers(0, 2, (1024, 1)).astype("float32")
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    return Work(model, data, labels, loss, keras.optimizers.SGD(RATE))


def bert1(keras, np):
    """A prediction of BERT's base size for one sentence."""
    return bert(keras, np, 1)


def bert8(keras, np):
    """A prediction of BERT's base size for eight sentences."""
    return bert(keras, np, 8)


def labelled(np, shape, classes):
    """Images and their classes."""
    random = np.random.default_rng(1)
    images = random.standard_normal(shape, dtype="float32")
    return images, random.integers(0, classes, shape[0]).astype("int32")


def crossed(keras):
    """The loss of classes."""
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def adam(keras):
    """Adam."""
    return keras.optimizers.Adam(RATE)


def momentum(keras):
    """SGD with momentum."""
    return keras.optimizers.SGD(RATE, momentum=0.9)


TRAINED = {
    made.__name__: made
    for made in (gpt, resnet20, resnet50, unet, lstm, mobilenet, vit, gan, recommender)
}
ZOO = TRAINED | {"bert1": bert1, "bert8": bert8}


def built(name, keras, np, jit_compile="auto"):
    """The work of a model, compiled, with weights that are the same everywhere."""
    work = ZOO[name](keras, np)
    random = np.random.default_rng(0)
    for variable in work.model.weights:
        shape = tuple(variable.shape)
        if len(shape) > 1:
            scale = np.float32(0.05 if shape[0] > 2000 else np.prod(shape[:-1]) ** -0.5)
            variable.assign(random.standard_normal(shape, dtype="float32") * scale)
    if work.loss is not None:
        work.model.compile(work.optimizer, work.loss, jit_compile=jit_compile)
    else:
        work.model.compile(jit_compile=jit_compile)
    return work


def step_of(name, keras, np, jit_compile="auto", policy="float32"):
    """A callable: one training step of a model, which gives the loss; `policy`: of its dtypes."""
    keras.mixed_precision.set_global_policy(policy)
    try:
        work = built(name, keras, np, jit_compile)
    finally:
        keras.mixed_precision.set_global_policy("float32")
    if work.step is not None:
        return lambda: float(work.step())
    return lambda: float(work.model.train_on_batch(work.x, work.y))


def prediction_of(name, keras, np, jit_compile="auto"):
    """A callable: one prediction of a model for its batch."""
    work = built(name, keras, np, jit_compile)
    return lambda: np.asarray(work.model.predict_on_batch(work.x))
