"""DeepXDE on TensorFlow 2."""

from __future__ import annotations

import os

os.environ.setdefault("DDE_BACKEND", "tensorflow")
import random  # noqa: E402

import numpy as np  # noqa: E402

random.seed(1)  # DeepXDE makes its initializers, and Keras their seeds, when it is imported
import deepxde as dde  # noqa: E402

dde.config.set_default_float("float64")


def poisson():
    """-u'' = pi² sin(pi x) on [-1, 0.6], where no derivative is 0 by symmetry (Adam divides)."""

    def equation(x, y):
        return -dde.grad.hessian(y, x) - np.pi**2 * dde.backend.sin(np.pi * x)

    line = dde.geometry.Interval(-1, 0.6)
    ends = dde.icbc.DirichletBC(line, lambda x: np.sin(np.pi * x[:, :1]), lambda x, on: on)
    points = {"num_domain": 16, "num_boundary": 2, "train_distribution": "uniform"}
    return dde.data.PDE(
        line, equation, ends, solution=lambda x: np.sin(np.pi * x), num_test=50, **points
    )


def job_poisson():
    """Adam, then L-BFGS."""
    dde.config.set_random_seed(1)
    model = dde.Model(poisson(), dde.nn.FNN([1, 10, 10, 1], "tanh", "Glorot uniform"))
    model.compile("adam", lr=0.01, metrics=["l2 relative error"])
    history, _ = model.train(iterations=30, display_every=10, verbose=0)
    return np.array(history.loss_train), np.array(history.metrics_test)


def job_inverse():
    """An unknown coefficient, trained beside the network."""
    dde.config.set_random_seed(1)
    coefficient = dde.Variable(1.0, dtype="float64")

    def equation(x, y):
        return dde.grad.jacobian(y, x) + coefficient * y

    line = dde.geometry.TimeDomain(0, 1)
    seen = np.linspace(0, 1, 5)[:, None]
    known = dde.icbc.PointSetBC(seen, np.exp(-2 * seen))
    data = dde.data.PDE(line, equation, [known], 8, 2, train_distribution="uniform", anchors=seen)
    model = dde.Model(data, dde.nn.FNN([1, 8, 1], "tanh", "Glorot uniform"))
    model.compile("adam", lr=0.01, external_trainable_variables=coefficient)
    history, _ = model.train(iterations=20, display_every=10, verbose=0)
    return np.array(history.loss_train)
