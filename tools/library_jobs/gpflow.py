"""GPflow."""

from __future__ import annotations

import gpflow
import numpy as np
import tensorflow as tf

X = np.linspace(0, 1, 20)[:, None]
Y = np.sin(6 * X)


def job_regression():
    """Exact regression, fitted by SciPy's L-BFGS."""
    model = gpflow.models.GPR((X, Y), gpflow.kernels.SquaredExponential())
    optimizer = gpflow.optimizers.Scipy()
    optimizer.minimize(model.training_loss, model.trainable_variables, options={"maxiter": 10})
    return model.predict_f(X[:3])[0].numpy().round(3)


def job_sparse_variational():
    """Sparse variational inference, fitted by Adam."""
    likelihood = gpflow.likelihoods.Gaussian()
    model = gpflow.models.SVGP(
        gpflow.kernels.Matern32(), likelihood, X[::4].copy(), num_data=len(X)
    )
    loss = model.training_loss_closure((X, Y))
    optimizer = tf.keras.optimizers.Adam(0.1)
    for _ in range(5):
        optimizer.minimize(loss, model.trainable_variables)
    return loss().numpy()
