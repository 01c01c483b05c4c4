"""Inverses, solutions and determinants of larger matrices by LAPACK's own steps."""

import numpy as np
import pytest

import talweg as tf
from talweg.kernels import inverses, linalg
from talweg.kernels.inverses import MANY, SMALL, cofactors, matrix_inverse
from talweg.kernels.linalg import BLOCKED, LARGE, determinant, matrix_solve


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


@pytest.mark.parametrize("kind", ("f4", "c8"))
@pytest.mark.parametrize("lead", ((), (2,), (2, 0), (1, 3)))
def test_inverses_in_their_own_dtype(kind, lead):
    x = _matrices(kind, *lead, LARGE, LARGE) + 40 * np.eye(LARGE, dtype=kind)
    z = matrix_inverse(x)
    assert z.dtype == x.dtype and z.shape == x.shape and z.flags.c_contiguous
    wanted = np.linalg.inv(x.astype("c16" if kind == "c8" else "f8"))
    np.testing.assert_allclose(z, wanted, atol=1e-5 * abs(wanted).max(initial=0))


@pytest.mark.parametrize(
    "kind, tensorflow",
    (("positive definite", 1.6e-7), ("columns", 6.8e-6), ("orthogonal", 1.6e-6), ("rows", 1.6e-5)),
)
def test_inverses_are_as_exact_as_tensorflows(kind, tensorflow):
    """In the median over 380 matrices of 19 kinds, the error is 0.89 of TensorFlow's.

    The numbers here are the median errors of TensorFlow for each kind.
    """
    errors = []
    for seed in range(32):
        x = _kind(kind, np.random.default_rng(seed), 128).astype("f4")
        wanted = np.linalg.inv(x.astype("f8"))
        errors.append(np.linalg.norm(matrix_inverse(x) - wanted) / np.linalg.norm(wanted))
    assert np.median(errors) < 1.2 * tensorflow


def _kind(kind, random, size):
    x = random.normal(size=(size, size))
    if kind == "positive definite":
        return x @ x.T / size + np.eye(size)
    if kind == "orthogonal":
        return np.linalg.qr(x)[0]
    scale = np.exp(3 * random.normal(size=size))
    return x * (scale if kind == "columns" else scale[:, None])


@pytest.mark.parametrize("size", range(1, SMALL + 1))
@pytest.mark.parametrize("lead", ((MANY,), (3, MANY)))
def test_small_inverses_are_computed_in_float64(size, lead, monkeypatch):
    """In several chunks; zeros on the diagonal need exchanges of rows."""
    monkeypatch.setattr(inverses, "CHUNK", MANY // 2 + 3)
    x = _matrices("f4", *lead, size, size)
    x[..., ::2, 0, 0] = 0 if size > 1 else 1
    x[..., 1::3, :, :] += np.float32(1e3)
    wanted = np.linalg.inv(x.astype("f8"))
    monkeypatch.setattr(linalg.np.linalg, "inv", None)  # which takes twice as long
    z = matrix_inverse(x)
    assert z.dtype == x.dtype and z.shape == x.shape
    scale = np.abs(wanted).max((-2, -1), keepdims=True)
    np.testing.assert_allclose(z / scale, wanted / scale, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("size, count", ((3, MANY), (LARGE, 2), (BLOCKED, 1)))
@pytest.mark.parametrize("fill", (0.0, np.nan))
def test_one_matrix_without_inverse_among_others(size, count, fill):
    x = _matrices("f4", count, size, size)
    x[-1] = fill
    with np.errstate(all="ignore"), pytest.raises(tf.errors.InvalidArgumentError, match="not inv"):
        matrix_inverse(x)


@pytest.mark.parametrize("kind", ("f4", "f8", "c8"))
@pytest.mark.parametrize("size", (BLOCKED, LARGE))
def test_cofactors_of_larger_matrices(kind, size, monkeypatch):
    x = (_matrices(kind, 2, size, size) / size**0.5).astype(kind)
    wide = x.astype("c16" if kind == "c8" else "f8")
    wanted = np.linalg.det(wide)[:, None, None] * np.swapaxes(np.linalg.inv(wide), 1, 2)
    monkeypatch.setattr(linalg.np.linalg, "inv", None)  # which takes three times as long
    z = cofactors(x)
    assert z.dtype == x.dtype and z.shape == x.shape
    tolerance = 1e-10 if kind == "f8" else 2e-4
    np.testing.assert_allclose(z, wanted, atol=tolerance * np.abs(wanted).max())


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


@pytest.mark.parametrize(
    "size, kind", ((BLOCKED, "f4"), (LARGE, "f4"), (BLOCKED, "c16"), (64, "f8"))
)
def test_cofactors_of_large_matrices_from_one_factorization(size, kind, monkeypatch):
    """Determinant and inverse are of the same factors; the determinant may be negative."""
    x = _matrices(kind, 3, size, size) / np.sqrt(size).astype("f4")
    x[1] = x[1][::-1]
    wide = x.astype("c16" if kind == "c16" else "f8")
    wanted = np.linalg.det(wide)[:, None, None] * np.swapaxes(np.linalg.inv(wide), 1, 2)
    monkeypatch.setattr(inverses, "determinant", None)  # which factors once more
    z = cofactors(x.astype(kind))
    assert z.dtype == np.dtype(kind)
    scale = np.abs(wanted).max((-2, -1), keepdims=True)
    np.testing.assert_allclose(
        z / scale, wanted / scale, rtol=0, atol=2e-4 if kind == "f4" else 1e-10
    )
