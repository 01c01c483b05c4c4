"""MLflow's autologging of Keras models."""

from __future__ import annotations

import os
import tempfile

import keras
import mlflow
import numpy as np

X = np.linspace(-1, 1, 24).reshape(8, 3).astype("float32")


def job_autologging():
    """Parameters, metrics and the model of a fit, logged and loaded."""
    keras.utils.set_random_seed(1)
    os.chdir(tempfile.mkdtemp())
    mlflow.set_tracking_uri("sqlite:///runs.db")
    mlflow.tensorflow.autolog(log_models=False)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with mlflow.start_run() as run:
        model.fit(X, X[:, :1], epochs=3, batch_size=4, shuffle=False, verbose=0)
    logged = mlflow.get_run(run.info.run_id).data
    known = ("opt_learning_rate", "epochs", "batch_size", "opt_name")
    return logged.metrics, {key: logged.params.get(key) for key in known}
