"""Long products are calls of BLAS for some rows each, between which signals are seen to."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.kernels import products as kernels
from talweg.lower.matmul import products as lowering

SHAPES = [
    ((37, 29), (29, 41)),
    ((4, 17, 9), (4, 9, 13)),
    ((4, 17, 9), (9, 13)),
    ((1, 3, 17, 9), (2, 1, 9, 13)),
    ((1, 200), (200, 50)),
    ((200, 50), (50, 1)),
    ((503, 2), (2, 3)),
    ((2, 3, 1, 1), (1, 1)),
]


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(kernels, "AT_ONCE", 1 << 10)
    monkeypatch.setattr(lowering, "AT_ONCE", 1 << 10)
    monkeypatch.setattr(lowering, "LARGEST", 0)  # all by BLAS


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("shapes", SHAPES)
def test_values(shapes, turned, executor):
    rng = np.random.default_rng(0)
    x, y = [rng.random(shape) for shape in shapes]
    operands = [np.ascontiguousarray(each.swapaxes(-1, -2)) if turned else each for each in (x, y)]

    @tf.function
    def product(a, b):
        return tf.linalg.matmul(a, b, transpose_a=turned, transpose_b=turned)

    for dtype, digits in (("float32", 1e-5), ("float64", 1e-13)):
        a, b = [tf.constant(each.astype(dtype)) for each in operands]
        with settings.executor(executor), settings.threads(2):
            found = product(a, b)
        np.testing.assert_allclose(found, np.matmul(x, y), rtol=digits)


def test_integers_and_halves():
    rng = np.random.default_rng(0)
    x, y = rng.integers(-9, 9, (30, 20)), rng.integers(-9, 9, (20, 40))
    for dtype in ("int32", "int64", "float16", "complex64"):
        found = tf.constant(x.astype(dtype)) @ tf.constant(y.astype(dtype))
        assert found.dtype.name == dtype
        np.testing.assert_array_equal(found.numpy().astype("complex128").real, x @ y)
