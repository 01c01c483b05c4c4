"""KerasHub, with small models whose weights start at random."""

from __future__ import annotations

import keras
import keras_hub
import numpy as np

TEXTS = ["the quick brown fox", "jumped over the lazy dog"]
WORDS = sorted({word for text in TEXTS for word in text.split()})
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]


def job_bert():
    """A BERT classifier of token numbers, fitted."""
    keras.utils.set_random_seed(1)
    tokenizer = keras_hub.tokenizers.WordPieceTokenizer(VOCABULARY, sequence_length=8)
    tokens = np.asarray(tokenizer(TEXTS))
    inputs = {
        "token_ids": tokens,
        "segment_ids": np.zeros_like(tokens),
        "padding_mask": (tokens > 0).astype("int32"),
    }
    backbone = keras_hub.models.BertBackbone(
        len(VOCABULARY), 1, 2, 8, 16, dropout=0.0, max_sequence_length=8
    )
    model = keras_hub.models.BertTextClassifier(backbone, num_classes=2, dropout=0.0)
    model.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(True))
    history = model.fit(inputs, np.array([0, 1]), batch_size=2, epochs=3, verbose=0, shuffle=False)
    return history.history["loss"], model.predict(inputs, verbose=0)


def job_generate():
    """Tokens by a small GPT-2, greedily."""
    keras.utils.set_random_seed(1)
    backbone = keras_hub.models.GPT2Backbone(20, 1, 2, 8, 16, max_sequence_length=10)
    model = keras_hub.models.GPT2CausalLM(backbone, preprocessor=None)
    model.compile(sampler="greedy")
    prompt = {
        "token_ids": np.array([[1, 2, 3, 0, 0, 0, 0, 0]]),
        "padding_mask": np.array([[1, 1, 1, 0, 0, 0, 0, 0]]),
    }
    return model.generate(prompt, stop_token_ids=None)["token_ids"]


def job_images():
    """Features of images by a small ResNet."""
    keras.utils.set_random_seed(1)
    backbone = keras_hub.models.ResNetBackbone(
        [64], [3], [64, 64], [1, 1], [1, 2], "basic_block", image_shape=(16, 16, 3)
    )
    images = np.linspace(0, 1, 2 * 16 * 16 * 3, dtype="float32").reshape(2, 16, 16, 3)
    return backbone(images)[:, 0, 0]


def job_tokenizers():
    """WordPiece, bytes, packing and masking."""
    pieces = keras_hub.tokenizers.WordPieceTokenizer(VOCABULARY, sequence_length=6)(TEXTS)
    octets = keras_hub.tokenizers.ByteTokenizer(sequence_length=6)(["ab", "xyz"])
    packer = keras_hub.layers.StartEndPacker(6, start_value=2, end_value=3)
    points = keras_hub.tokenizers.UnicodeCodepointTokenizer(sequence_length=3)(["aé"])
    return pieces, octets, packer(np.array([[5, 6, 7]])), points
