"""Derivatives of decompositions where the generated tests cannot step: along Hermitian matrices,
for vectors that are determined up to a phase, for coinciding values, and for full matrices."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf

STEP = 1e-6


def arrays(shape, kind, seed=0):
    numbers = np.random.default_rng(seed)
    x = numbers.standard_normal(shape)
    return x + 1j * numbers.standard_normal(shape) if kind == "complex" else x


def check(function, x, direction, tolerance=1e-6):
    """Forward and reverse derivatives of a real function along `direction` against differences."""
    ahead, behind = (function(tf.constant(x + s * direction)) for s in (STEP, -STEP))
    numeric = (ahead.numpy() - behind.numpy()) / (2 * STEP)
    source = tf.constant(x)
    accumulator = tf.autodiff.ForwardAccumulator(source, tf.constant(direction))
    with accumulator as forward, tf.GradientTape() as tape:
        tape.watch(source)
        z = function(source)
    pulled = np.real(np.sum(np.conj(tape.gradient(z, source).numpy()) * direction))
    assert forward.jvp(z).numpy() == pytest.approx(numeric, rel=tolerance, abs=tolerance)
    assert pulled == pytest.approx(numeric, rel=tolerance, abs=tolerance)


def weighted(z):
    """A real number that depends on every element of a real tensor."""
    weights = np.cos(np.arange(z.numpy().size)).reshape(z.shape)
    return tf.reduce_sum(z * tf.constant(weights, z.dtype))


def hermitian(x):
    return x + np.swapaxes(x.conj(), -1, -2)


KINDS = pytest.mark.parametrize("kind", ["real", "complex"])


@KINDS
def test_cholesky(kind):
    x = arrays((2, 3, 3), kind)
    x = x @ np.swapaxes(x.conj(), -1, -2) + np.eye(3)
    d = hermitian(arrays((2, 3, 3), kind, 1))
    check(lambda x: weighted(tf.abs(tf.linalg.cholesky(x))), x, d)
    check(lambda x: weighted(tf.linalg.logdet(x)), x, d)


@KINDS
def test_eigh(kind):
    x, d = hermitian(arrays((3, 3), kind)), hermitian(arrays((3, 3), kind, 1))
    check(lambda x: weighted(tf.abs(tf.linalg.eigh(x)[1])), x, d)
    check(lambda x: weighted(tf.math.real(tf.linalg.eigvalsh(x))), x, d)


@KINDS
def test_eig(kind):
    x, d = arrays((3, 3), kind), arrays((3, 3), kind, 1)
    check(lambda x: weighted(tf.abs(tf.linalg.eig(x)[1])), x, d)
    check(lambda x: weighted(tf.math.real(tf.linalg.eigvals(x))), x, d)


@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)])
def test_svd(kind, shape):
    x, d = arrays(shape, kind), arrays(shape, kind, 1)
    check(lambda x: weighted(tf.linalg.svd(x)[0]), x, d)
    check(lambda x: weighted(tf.abs(tf.linalg.svd(x)[1])), x, d)
    check(lambda x: weighted(tf.abs(tf.linalg.svd(x)[2])), x, d)

    def both(x):  # the phases of u and v are not free of each other
        _, u, v = tf.linalg.svd(x)
        return weighted(tf.abs(tf.matmul(u, v, adjoint_b=True) + 1))

    check(both, x, d)


@pytest.mark.parametrize("shape", [(3, 2), (2, 3)])
def test_svd_full(shape):
    x, d = arrays(shape, "real"), arrays(shape, "real", 1)
    for place in (1, 2):
        check(lambda x, i=place: weighted(tf.abs(tf.linalg.svd(x, full_matrices=True)[i])), x, d)


@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_qr(kind, shape):
    x, d = arrays(shape, kind), arrays(shape, kind, 1)
    check(lambda x: weighted(tf.abs(tf.linalg.qr(x).q)), x, d)
    check(lambda x: weighted(tf.abs(tf.linalg.qr(x).r)), x, d)


def test_full_matrices_beyond_one_column_have_no_gradient():
    x = tf.constant(arrays((4, 2), "real"))
    for function in (tf.linalg.svd, tf.linalg.qr):
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = function(x, full_matrices=True)[1]
        with pytest.raises(NotImplementedError, match="full_matrices"):
            tape.gradient(z, x)


def test_coinciding_values_give_no_infinities():
    x = tf.eye(3, dtype=tf.float64)
    for function in (lambda x: tf.linalg.eigh(x)[1], lambda x: tf.linalg.svd(x)[1]):
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = function(x)
        assert np.all(tape.gradient(z, x).numpy() == 0)


@KINDS
def test_determinant_of_a_singular_matrix(kind):
    x = arrays((3, 2), kind) @ arrays((2, 3), kind, 2)
    check(lambda x: weighted(tf.math.real(tf.linalg.det(x) * 1)), x, arrays((3, 3), kind, 1))


def test_pseudo_inverse_where_singular_values_coincide():
    x, d = np.eye(3)[:, :2], arrays((3, 2), "real")
    b = tf.constant([[1.0], [2.0], [3.0]], tf.float64)
    check(lambda x: weighted(tf.linalg.pinv(x)), x, d)
    check(lambda x: weighted(tf.linalg.lstsq(x, b, fast=False)), x, d)


def test_truncated_pseudo_inverse():
    x, d = np.diag([3.0, 2.0, 0.5]), arrays((3, 3), "real")
    check(lambda x: weighted(tf.linalg.pinv(x, rcond=0.5)), x, d)


def test_second_derivative_of_logdet_is_the_inverse():
    x = np.array([[4.0, 1.0], [1.0, 3.0]])
    source = tf.constant(x)
    with tf.GradientTape() as outer:
        outer.watch(source)
        with tf.GradientTape() as tape:
            tape.watch(source)
            z = tf.linalg.slogdet(source)[1]
        first = tape.gradient(z, source)
    inverse = np.linalg.inv(x)
    np.testing.assert_allclose(first, inverse.T)
    wanted = -np.einsum("jk,li->ijkl", inverse, inverse)
    np.testing.assert_allclose(outer.jacobian(first, source), wanted, atol=1e-12)


@pytest.mark.parametrize("shape", [(300, 3, 3), (2, 3, 3), (3, 3)])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_triangular_solve_reads_one_triangle(shape, lower, adjoint):
    a = arrays(shape, "complex") + 3 * np.eye(3)
    b = arrays((*shape[:-1], 2), "complex", 1)
    half = np.tril(a) if lower else np.triu(a)
    half = np.swapaxes(half.conj(), -1, -2) if adjoint else half
    got = tf.linalg.triangular_solve(a, b, lower=lower, adjoint=adjoint)
    np.testing.assert_allclose(got, np.linalg.solve(half, b), rtol=1e-8)
