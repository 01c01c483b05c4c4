"""KerasTuner."""

from __future__ import annotations

import tempfile

import keras
import keras_tuner
import numpy as np

X = np.linspace(-1, 1, 96).reshape(32, 3).astype("float32")
Y = (X[:, :1] > 0).astype("float32")


def build(hp):
    """A model of what is tuned."""
    units, rate = hp.Int("units", 2, 8, step=2), hp.Choice("rate", [0.1, 0.01])
    start = keras.initializers.GlorotUniform(seed=1)
    model = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(units, "tanh", kernel_initializer=start),
            keras.layers.Dense(1, "sigmoid", kernel_initializer=start),
        ]
    )
    model.compile(keras.optimizers.Adam(rate), "binary_crossentropy", metrics=["accuracy"])
    return model


def search(tuner):
    """What a search finds."""
    data = {"validation_data": (X, Y), "shuffle": False, "batch_size": 8, "verbose": 0}
    tuner.search(X, Y, epochs=2, **data)
    found = [tuner.oracle.get_trial(key) for key in sorted(tuner.oracle.trials)]
    return [[t.hyperparameters.values["units"], t.score] for t in found]


def job_random_search():
    """Random hyperparameters."""
    options = {"objective": "val_loss", "max_trials": 3, "seed": 1, "overwrite": True}
    return search(keras_tuner.RandomSearch(build, directory=tempfile.mkdtemp(), **options))


def job_bayesian_optimization():
    """Hyperparameters by a Gaussian process."""
    options = {"objective": "val_loss", "max_trials": 3, "seed": 1, "num_initial_points": 2}
    return search(keras_tuner.BayesianOptimization(build, directory=tempfile.mkdtemp(), **options))


def job_hyperband():
    """Successive halving."""
    options = {"objective": "val_loss", "max_epochs": 3, "seed": 1, "hyperband_iterations": 1}
    tuner = keras_tuner.Hyperband(build, directory=tempfile.mkdtemp(), **options)
    search(tuner)
    best = tuner.get_best_models(1)[0]
    return tuner.get_best_hyperparameters(1)[0].values["units"], best.predict(X[:2], verbose=0)
