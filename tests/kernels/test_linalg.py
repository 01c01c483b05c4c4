"""Inverses, solutions and determinants of larger matrices by LAPACK's own steps."""

import numpy as np
import pytest

import talweg as tf
from talweg.kernels import linalg
from talweg.kernels.linalg import BLOCKED, determinant, matrix_inverse, matrix_solve


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


def _matrices(kind, *shape):
    random = np.random.default_rng(1)
    x = random.normal(size=shape) + (1j * random.normal(size=shape) if kind[0] == "c" else 0)
    return x.astype(kind)


@pytest.mark.parametrize("adjoint", (False, True))
@pytest.mark.parametrize("kind", ("f4", "f8", "c8", "c16"))
@pytest.mark.parametrize("lead", ((), (2,), (2, 0), (1, 3)))
@pytest.mark.parametrize("columns", (0, 1, 50))
def test_solution(kind, lead, columns, adjoint, monkeypatch):
    wide = "c16" if kind[0] == "c" else "f8"
    a = _matrices(kind, *lead, BLOCKED, BLOCKED) + 8 * np.eye(BLOCKED, dtype=kind)
    b = _matrices(kind, *lead, BLOCKED, columns)
    turned = np.conj(np.swapaxes(a, -1, -2)) if adjoint else a
    wanted = np.linalg.solve(turned.astype(wide), b.astype(wide))
    if b.size:
        monkeypatch.setattr(linalg.np.linalg, "solve", None)  # which takes three times as long
    z = matrix_solve(a, b, adjoint=adjoint)
    assert z.dtype == a.dtype and z.shape == b.shape and z.flags.c_contiguous
    tolerance = 1e-12 if kind in ("f8", "c16") else 2e-5
    np.testing.assert_allclose(z, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("fill", (0.0, 1.0, np.nan))
def test_systems_without_solution(fill):
    a = np.full((BLOCKED, BLOCKED), fill, np.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        matrix_solve(a, np.ones((BLOCKED, 1), np.float32), adjoint=False)


def test_solution_is_as_exact_as_float32_allows():
    x = _matrices("f4", 200, 200).astype("f8")
    a = (x @ x.T / 200 + np.eye(200)).astype("f4")
    b = _matrices("f4", 200, 3)
    wanted = np.linalg.solve(a.astype("f8"), b.astype("f8"))
    error = np.linalg.norm(matrix_solve(a, b, adjoint=False) - wanted) / np.linalg.norm(wanted)
    assert error < 3e-7  # TensorFlow's is 1.5e-7 to 1.7e-7 for such matrices


@pytest.mark.parametrize("kind", ("f4", "f8", "c8", "c16"))
@pytest.mark.parametrize("lead", ((), (2,), (2, 0)))
def test_determinant(kind, lead):
    x = _matrices(kind, *lead, 60, 60) / np.array(4, kind)
    z = determinant(x)
    wanted = np.linalg.det(x.astype("c16" if kind[0] == "c" else "f8"))
    assert np.asarray(z).dtype == x.dtype
    np.testing.assert_allclose(z, wanted, rtol=1e-12 if kind in ("f8", "c16") else 2e-4)


def test_determinant_of_an_order_is_its_sign():
    order = np.random.default_rng(0).permutation(BLOCKED)
    x = np.eye(BLOCKED, dtype=np.float32)
    y = x.copy()
    y[[0, 7]] = y[[7, 0]]
    assert determinant(x) == 1 and determinant(y) == -1
    assert determinant(x[order]) == round(np.linalg.det(np.eye(BLOCKED)[order]))


def test_determinants_that_are_not_finite_numbers():
    x = np.eye(BLOCKED, dtype=np.float32)
    with np.errstate(all="ignore"):
        assert determinant(x * 100) == np.inf and np.isnan(determinant(x * np.nan))
    assert determinant(np.ones((BLOCKED, BLOCKED), np.float32)) == 0
    y = x.copy()
    y[0, 0], y[1, 1] = 1e30, 1e-30
    assert determinant(y * np.float32(1.2)) == pytest.approx(1.2**BLOCKED, rel=1e-4)
