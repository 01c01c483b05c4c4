"""Keras needs no package beside those that `pip install talweg[keras]` installs."""

from __future__ import annotations

import subprocess
import sys

import pytest

# What other extras and libraries install; Keras and talweg take them where they are there.
OTHERS = ("google", "jax", "matplotlib", "pandas", "PIL", "re2", "sklearn", "tensorboard", "torch")

PROGRAM = """
import sys
sys.modules.update(dict.fromkeys({others}))  # importing one of these raises ImportError
import numpy as np
{first}
import keras
model = keras.Sequential([keras.layers.Dense(4, "relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
x = np.ones((8, 3), "float32")
model.fit(x, x[:, :1], epochs=2, verbose=0)
model.save({path!r} + "/model.keras")
again = keras.models.load_model({path!r} + "/model.keras")
np.testing.assert_array_equal(again.predict(x, verbose=0), model.predict(x, verbose=0))
print(keras.backend.backend())
"""


@pytest.mark.parametrize(
    "first", ["import talweg as tf; tf.keras", "import talweg; talweg.as_tensorflow()"]
)
def test_keras_without_other_packages(first, tmp_path):
    program = PROGRAM.format(others=OTHERS, first=first, path=str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "tensorflow\n", "")
