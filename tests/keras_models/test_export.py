"""Keras models are exported, loaded as layers, and trained on."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf

keras = tf.keras


@pytest.fixture
def model():
    keras.utils.set_random_seed(1)
    return keras.Sequential(
        [
            keras.Input([6, 4]),
            keras.layers.Conv1D(5, 3),
            keras.layers.BatchNormalization(),
            keras.layers.LSTM(3),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(2),
        ]
    )


X = np.random.default_rng(0).normal(size=(3, 6, 4)).astype("float32")


def test_export(model, tmp_path):
    model.export(tmp_path / "model", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.serve(X), model(X), rtol=1e-6)
    found = loaded.signatures["serving_default"](tf.constant(X[:1]))
    np.testing.assert_allclose(found["output_0"], model(X[:1]), rtol=1e-5, atol=1e-6)
    assert len(loaded.trainable_variables) == len(model.trainable_variables)


def test_loaded_layers_are_trained(model, tmp_path):
    archive = keras.export.ExportArchive()
    archive.track(model)
    spec = [keras.InputSpec(shape=(None, 6, 4), dtype="float32")]
    archive.add_endpoint("serve", model.__call__, spec)
    archive.add_endpoint("train", lambda x: model(x, training=True), spec)
    archive.write_out(tmp_path / "model", verbose=False)
    layer = keras.layers.TFSMLayer(tmp_path / "model", call_training_endpoint="train")
    outer = keras.Sequential([keras.Input([6, 4]), layer])
    outer.compile(keras.optimizers.SGD(0.1), "mse")
    before = outer.evaluate(X, np.ones((3, 2)), verbose=0)
    outer.fit(X, np.ones((3, 2)), epochs=20, verbose=0)
    assert outer.evaluate(X, np.ones((3, 2)), verbose=0) < before / 2


def test_words(tmp_path):
    vectorize = keras.layers.TextVectorization(output_sequence_length=3)
    vectorize.adapt(["one two", "three four"])
    model = keras.Sequential(
        [keras.Input([], dtype="string"), vectorize, keras.layers.Embedding(8, 2)]
    )
    model.export(tmp_path / "model", verbose=False)
    texts = tf.constant(["One, four!", "nothing known"])
    found = tf.saved_model.load(tmp_path / "model").serve(texts)
    np.testing.assert_allclose(found, model(texts))


def test_quantized_layers(model, tmp_path):
    dense = keras.Sequential([keras.Input([4]), keras.layers.Dense(3)])
    dense.quantize("int8")
    dense.export(tmp_path / "model", verbose=False)
    x = np.ones((2, 4), "float32")
    np.testing.assert_allclose(tf.saved_model.load(tmp_path / "model").serve(x), dense(x))


def test_lite_says_how_to_go_on(model, tmp_path):
    with pytest.raises(Exception, match="convert .* with TensorFlow"):
        model.export(tmp_path / "model.tflite", format="litert", verbose=False)
