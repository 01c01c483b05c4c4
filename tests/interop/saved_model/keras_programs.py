"""Keras models that are exported; see `programs.py`.  The calls are those of `serve`."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from interop.saved_model.programs import Program, floats
from keras import layers

PROGRAMS: dict[str, Program] = {}


def exported(name: str, model: Any, *inputs: Any) -> None:
    """Register a model that is exported, and called with these."""
    calls = [("serve", [x], {}) for x in inputs]
    PROGRAMS[f"keras_{name}"] = lambda tf, folder: (model(), "export", calls)


def images() -> Any:
    """Convolutions, batch normalization, dropout."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input([12, 12, 3]),
            layers.Rescaling(0.5),
            layers.Conv2D(8, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.MaxPooling2D(),
            layers.Dropout(0.5),
            layers.SeparableConv2D(4, 3, padding="same"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(5, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(floats(16, 12, 12, 3), np.arange(16) % 5, verbose=0)
    return model


def words() -> Any:
    """Embeddings, recurrent layers in both directions, masks."""
    keras.utils.set_random_seed(2)
    return keras.Sequential(
        [
            keras.Input([None], dtype="int32"),
            layers.Embedding(20, 6, mask_zero=True),
            layers.Bidirectional(layers.LSTM(5, return_sequences=True)),
            layers.GRU(4),
            layers.Dense(2),
        ]
    )


def attention() -> Any:
    """A block of a transformer."""
    keras.utils.set_random_seed(3)
    x = keras.Input([7, 8])
    y = layers.LayerNormalization()(x)
    y = layers.MultiHeadAttention(2, 4)(y, y) + x
    z = layers.Dense(16, activation="gelu")(layers.LayerNormalization()(y))
    return keras.Model(x, layers.Dense(8)(z) + y)


def texts() -> Any:
    """Words of strings looked up in a table."""
    keras.utils.set_random_seed(4)
    vectorize = layers.TextVectorization(output_sequence_length=4)
    vectorize.adapt(["one two", "three four", "five six one"])
    return keras.Sequential(
        [
            keras.Input([], dtype="string"),
            vectorize,
            layers.Embedding(10, 3),
            layers.Flatten(),
            layers.Dense(2),
        ]
    )


exported("images", images, floats(3, 12, 12, 3), floats(1, 12, 12, 3))
exported("words", words, np.int32([[1, 2, 3, 0], [5, 0, 0, 0]]))
exported("attention", attention, floats(2, 7, 8))
exported("texts", texts, np.array([b"one six", b"zero, three FOUR five"], object))
