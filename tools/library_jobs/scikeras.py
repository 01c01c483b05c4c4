"""scikeras: Keras models as estimators of scikit-learn."""

from __future__ import annotations

import keras
import numpy as np
from scikeras.wrappers import KerasClassifier

DRAWN = np.random.RandomState(0)
X = DRAWN.randn(40, 4).astype("float32")
Y = (X[:, 0] > 0).astype(int)


def make(units=4):
    """The model of an estimator."""
    layers = keras.layers
    model = keras.Sequential(
        [keras.Input((4,)), layers.Dense(units, "relu"), layers.Dense(1, "sigmoid")]
    )
    model.compile("adam", "binary_crossentropy")
    return model


def job_random_state():
    """The same `random_state` gives the same losses."""
    estimator = KerasClassifier(make, epochs=2, random_state=0, verbose=0)
    runs = [list(estimator.fit(X, Y).history_["loss"]) for _ in range(2)]
    return runs, estimator.predict(X[:5])
