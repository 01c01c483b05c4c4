"""Factors of large matrices in their own dtype, and of many small ones together."""

import numpy as np
import pytest

from talweg.kernels import factorizations
from talweg.kernels.factorizations import (
    LARGE,
    MANY,
    SMALL,
    cholesky_factor,
    eigen_hermitian,
    orthogonal_triangular,
)

KINDS = ("f4", "f8", "c8", "c16")
LEADS = ((), (2,), (2, 0), (1, 3))


def _matrices(kind, *shape):
    random = np.random.default_rng(1)
    x = random.normal(size=shape) + (1j * random.normal(size=shape) if kind[0] == "c" else 0)
    return x.astype(kind)


def _positive(kind, *shape):
    x = _matrices(kind, *shape)
    return (x @ np.conj(np.swapaxes(x, -1, -2)) / shape[-1] + np.eye(shape[-1])).astype(kind)


def _wide(x):
    return x.astype(np.result_type(x, np.float64))


def _unit(x):
    return np.finfo(x.dtype).eps


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [*((*lead, LARGE) for lead in LEADS), (MANY, 4), (3, MANY, 1)])
def test_cholesky(kind, shape):
    x = _positive(kind, *shape, shape[-1])
    z = cholesky_factor(np.tril(x) + np.triu(np.full_like(x, 7), 1))  # the upper triangle is unread
    assert z.dtype == x.dtype and z.shape == x.shape and z.flags.c_contiguous
    np.testing.assert_array_equal(np.triu(z, 1), 0)
    np.testing.assert_allclose(z, np.linalg.cholesky(_wide(x)), atol=8 * _unit(x))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", range(1, SMALL + 1))
def test_small_factors_are_exact(kind, size, monkeypatch):
    """As NumPy's, computed in float64; in several chunks."""
    monkeypatch.setattr(factorizations, "CHUNK", MANY // 2 + 3)
    x = _positive(kind, MANY, size, size)
    z = cholesky_factor(x)
    wanted = np.linalg.cholesky(_wide(x))
    narrow = kind in ("f4", "c8")
    np.testing.assert_allclose(z, wanted, rtol=0.51 * _unit(x) if narrow else 0, atol=1e-15)


@pytest.mark.parametrize("size, count", ((4, MANY), (LARGE, 2)))
@pytest.mark.parametrize("pivot", (-1.0, 0.0, np.nan))
def test_only_what_is_not_positive_definite_has_no_factor(size, count, pivot):
    x = _positive("f4", count, size, size)
    x[1, 1, 1] = pivot
    z = cholesky_factor(x)
    np.testing.assert_array_equal(np.isnan(z[1]), np.tri(size, dtype=bool))
    np.testing.assert_allclose(np.delete(z, 1, 0), cholesky_factor(np.delete(x, 1, 0)), atol=1e-6)


def test_what_rounding_makes_indefinite_is_factored_in_float64(monkeypatch):
    def fail(x):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(factorizations, "_factor_narrow", fail)
    x = _positive("f4", 2, LARGE, LARGE)
    np.testing.assert_array_equal(cholesky_factor(x), np.linalg.cholesky(x))


@pytest.mark.parametrize("full", (False, True))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lead", LEADS)
def test_orthogonal_triangular(kind, lead, full):
    x = _matrices(kind, *lead, LARGE + 5, LARGE)
    q, r = orthogonal_triangular(x, full=full)
    inner = LARGE + 5 if full else LARGE
    assert q.dtype == r.dtype == x.dtype
    assert q.shape == (*lead, LARGE + 5, inner) and r.shape == (*lead, inner, LARGE)
    np.testing.assert_array_equal(np.tril(r, -1), 0)
    unit = 200 * _unit(x)
    np.testing.assert_allclose(q @ r, x, atol=unit)
    adjoint = np.conj(np.swapaxes(q, -1, -2))
    np.testing.assert_allclose(
        adjoint @ q, np.broadcast_to(np.eye(inner), (*lead, inner, inner)), atol=unit
    )
    wanted = np.linalg.qr(_wide(x), mode="complete" if full else "reduced")[1]
    np.testing.assert_allclose(r, wanted, atol=unit)  # signs, too


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lead", LEADS)
def test_eigenvectors(kind, lead):
    x = _positive(kind, *lead, LARGE, LARGE)
    w, v = eigen_hermitian(np.tril(x) + np.triu(np.full_like(x, 7), 1))
    assert w.dtype == x.real.dtype and v.dtype == x.dtype
    assert w.shape == (*lead, LARGE) and v.shape == x.shape
    np.testing.assert_allclose(w, np.linalg.eigvalsh(_wide(x)), atol=200 * _unit(x))
    np.testing.assert_allclose(x @ v, v * w[..., None, :], atol=200 * _unit(x))
