"""How the programs are written: a function of (tf, keras) that returns lists of numbers.

Weights and data come from NumPy, so that both systems start from the same numbers.
"""

from __future__ import annotations

import numpy as np

PROGRAMS = {}


def program(function):
    """Register a program under its name."""
    assert function.__name__ not in PROGRAMS, function.__name__
    PROGRAMS[function.__name__] = function
    return function


def generator(seed=0):
    """NumPy's generator of a seed."""
    return np.random.default_rng(seed)


def seeded(model, seed=1):
    """`model` with random matrices for weights; vectors keep what they begin with."""
    random = generator(seed)
    for weight in model.weights:
        if len(weight.shape) > 1:
            scale = 1 / np.sqrt(np.prod(weight.shape[:-1]))
            weight.assign(random.normal(scale=scale, size=weight.shape).astype("float32"))
    return model


def classes(shape, count=3, rows=32, seed=0):
    """Inputs of `shape` and integer labels."""
    random = generator(seed)
    x = random.normal(size=(rows, *shape)).astype("float32")
    return x, random.integers(0, count, rows)


def regression(shape=(6,), outputs=1, rows=32, seed=0):
    """Inputs of `shape` and real targets that depend on them."""
    random = generator(seed)
    x = random.normal(size=(rows, *shape)).astype("float32")
    flat = x.reshape(rows, -1)
    w = random.normal(size=(flat.shape[1], outputs)) / np.sqrt(flat.shape[1])
    return x, np.tanh(flat @ w).astype("float32")


def losses(history):
    """The numbers of a History, each metric in order of names."""
    return [float(v) for name in sorted(history.history) for v in history.history[name]]


def fit(model, x, y, steps=20, optimizer="sgd", loss="sparse_categorical_crossentropy", **options):
    """Losses of `steps` steps on the same batch."""
    model.compile(optimizer=optimizer, loss=loss, **options)
    return losses(model.fit(x, y, batch_size=len(x), epochs=steps, verbose=0, shuffle=False))
