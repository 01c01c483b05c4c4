"""Models are saved and loaded, callbacks write their files, and summaries say what there is."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import talweg as tf

keras = tf.keras


def model_of_many_layers():
    inputs = keras.Input((8, 8, 1))
    z = keras.layers.Conv2D(3, 3, activation="relu")(inputs)
    z = keras.layers.BatchNormalization()(z)
    z = keras.layers.Reshape((6, 18))(z)
    z = keras.layers.Bidirectional(keras.layers.LSTM(4))(z)
    model = keras.Model(inputs, keras.layers.Dense(2, activation="softmax")(z))
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    return random.normal(size=(20, 8, 8, 1)).astype("float32"), random.integers(0, 2, 20)


def test_whole_models(tmp_path, data):
    model = model_of_many_layers()
    model.fit(*data, epochs=2, verbose=0)
    model.save(tmp_path / "model.keras")
    found = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(
        found.predict(data[0], verbose=0), model.predict(data[0], verbose=0), rtol=1e-6
    )
    one, other = (m.fit(*data, epochs=2, verbose=0, shuffle=False) for m in (model, found))
    np.testing.assert_allclose(one.history["loss"], other.history["loss"], rtol=1e-5)


def test_weights(tmp_path, data):
    model, other = model_of_many_layers(), model_of_many_layers()
    model.save_weights(tmp_path / "w.weights.h5")
    other.load_weights(tmp_path / "w.weights.h5")
    for a, b in zip(model.get_weights(), other.get_weights()):
        np.testing.assert_array_equal(a, b)


def test_configuration_and_clone(data):
    model = model_of_many_layers()
    again = keras.models.model_from_json(model.to_json())
    assert [w.shape for w in again.weights] == [w.shape for w in model.weights]
    assert keras.models.clone_model(model).count_params() == model.count_params()


def test_summary():
    lines: list = []
    model_of_many_layers().summary(print_fn=lambda line, **_: lines.append(line))
    assert "Total params" in "\n".join(lines) and "bidirectional" in "\n".join(lines)


def test_callbacks(tmp_path, data):
    model = model_of_many_layers()
    made = keras.callbacks
    rates: list = []
    history = model.fit(
        *data,
        epochs=8,
        verbose=0,
        validation_split=0.25,
        callbacks=[
            made.EarlyStopping(monitor="val_loss", patience=0, min_delta=10.0, start_from_epoch=2),
            made.ModelCheckpoint(tmp_path / "best.keras", save_best_only=True),
            made.CSVLogger(tmp_path / "log.csv"),
            made.TensorBoard(tmp_path / "board", histogram_freq=1),
            made.LearningRateScheduler(lambda epoch, rate: rate * 0.5),
            made.ReduceLROnPlateau(patience=1),
            made.LambdaCallback(
                on_epoch_end=lambda e, logs: rates.append(float(logs["learning_rate"]))
            ),
            made.TerminateOnNaN(),
        ],
    )
    assert 2 <= len(history.history["loss"]) < 8
    assert rates[1] == pytest.approx(rates[0] / 2)
    rows = list(csv.DictReader((tmp_path / "log.csv").read_text().splitlines()))
    assert len(rows) == len(history.history["loss"])
    assert list((tmp_path / "board").rglob("events*"))
    assert keras.models.load_model(tmp_path / "best.keras").count_params() == model.count_params()


def test_nothing_of_keras_runs_on_numpy(data):
    """A model's step is one traced function, and its values are talweg's tensors."""
    model = model_of_many_layers()
    outputs = model(data[0][:2])
    assert isinstance(outputs, tf.Tensor) and isinstance(model.weights[0].value, tf.Variable)
    assert keras.backend.backend() == "tensorflow"
