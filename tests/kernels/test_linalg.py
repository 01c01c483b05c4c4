"""Inverses of larger matrices by LAPACK's own steps."""

import numpy as np
import pytest

import talweg as tf
from talweg.kernels import linalg
from talweg.kernels.linalg import BLOCKED, matrix_inverse


@pytest.mark.parametrize("kind", ("f4", "f8", "c8", "c16"))
@pytest.mark.parametrize("lead", ((), (2,), (2, 0), (1, 3)))
def test_inverse(kind, lead):
    random = np.random.default_rng(0)
    x = random.normal(size=(*lead, BLOCKED, BLOCKED)) + 8 * np.eye(BLOCKED)
    if kind[0] == "c":
        x = x + 1j * random.normal(size=x.shape)
    x = x.astype(kind)
    z = matrix_inverse(x)
    assert z.dtype == x.dtype and z.shape == x.shape
    wanted = np.linalg.inv(x.astype("c16" if kind[0] == "c" else "f8"))
    np.testing.assert_allclose(z, wanted, rtol=1e-12 if kind in ("f8", "c16") else 1e-6, atol=1e-8)


def test_larger_matrices_need_no_identity(monkeypatch):
    monkeypatch.setattr(linalg.np.linalg, "inv", None)  # which solves with the identity
    matrix_inverse(np.eye(BLOCKED))


@pytest.mark.parametrize("fill", (0.0, np.nan))
def test_matrices_without_inverse(fill):
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        matrix_inverse(np.full((BLOCKED, BLOCKED), fill))
