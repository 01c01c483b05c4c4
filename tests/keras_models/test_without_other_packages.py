"""Keras needs no package beside those that `pip install talweg[keras]` installs."""

from __future__ import annotations

import pytest

from tests.absent_packages import run_without

PROGRAM = """
import logging, os, sys
import numpy as np
{first}
import keras

os.chdir({path!r})
logging.disable(logging.WARNING)  # Keras's, of H5
model = keras.Sequential([keras.layers.Dense(4, "relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
x = np.ones((8, 3), "float32")
saving = keras.callbacks.ModelCheckpoint("best.keras", "loss", save_best_only=True)
history = model.fit(x, x[:, :1], epochs=2, verbose=0, callbacks=[saving])
for name in ("model.keras", "model.h5"):
    model.save(name)
    again = keras.models.load_model(name, compile=False)
    np.testing.assert_array_equal(again.predict(x, verbose=0), model.predict(x, verbose=0))
words = keras.layers.TextVectorization(4)
words.adapt(["some words"])
keras.layers.Resizing(2, 2)(np.ones((1, 4, 4, 3), "float32"))

def needs(use, *arguments, **options):
    try:
        use(*arguments, **options)
    except ImportError as error:
        assert "pip install talweg[graphdef]" in str(error), error
    else:
        raise AssertionError(f"{{use}} needed no package")

needs(model.export, "exported", verbose=False)
needs(model.fit, x, x[:, :1], verbose=0, callbacks=[keras.callbacks.TensorBoard("logs")])
needs(keras.layers.TFSMLayer, "exported")
print(keras.backend.backend())
"""


@pytest.mark.parametrize(
    "first", ["import talweg as tf; tf.keras", "import talweg; talweg.as_tensorflow()"]
)
def test_keras_without_other_packages(first, tmp_path):
    printed = run_without(PROGRAM.format(first=first, path=str(tmp_path)), "keras")
    assert printed == "tensorflow\n"
