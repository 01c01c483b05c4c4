"""Weights & Biases without a network."""

from __future__ import annotations

import os
import tempfile

import keras
import numpy as np

os.environ.update(WANDB_MODE="offline", WANDB_SILENT="true", WANDB_DIR=tempfile.mkdtemp())
import wandb  # noqa: E402
from wandb.integration.keras import WandbMetricsLogger, WandbModelCheckpoint  # noqa: E402

X = np.linspace(-1, 1, 24).reshape(8, 3).astype("float32")


def job_callbacks():
    """Metrics and checkpoints of a fit."""
    keras.utils.set_random_seed(1)
    run = wandb.init(project="jobs", mode="offline")
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile(
        keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)), "mse"
    )
    path = os.path.join(tempfile.mkdtemp(), "best.keras")
    callbacks = [WandbMetricsLogger(log_freq="batch"), WandbModelCheckpoint(path, monitor="loss")]
    model.fit(X, X[:, :1], epochs=3, batch_size=4, shuffle=False, verbose=0, callbacks=callbacks)
    found = dict(run.summary)
    run.finish()
    return {key: value for key, value in found.items() if key.startswith(("epoch/", "batch/"))}
