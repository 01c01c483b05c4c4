"""Inverses, Cholesky factors and determinants of small matrices, with all steps written out."""

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.core.primitive import REGISTRY
from talweg.execute import compilation

KINDS = {
    "random": lambda random, n: random.normal(size=(n, n)),
    "far columns": lambda random, n: random.normal(size=(n, n)) * 10.0 ** np.arange(n),
    "far rows": lambda random, n: random.normal(size=(n, n)) * 10.0 ** np.arange(n)[:, None],
    "nearly singular": lambda random, n: (
        random.normal(size=(n, 1)) * random.normal(size=n) + 1e-3 * random.normal(size=(n, n))
    ),
    "zeros on the diagonal": lambda random, n: np.roll(np.diag(1 + random.uniform(size=n)), 1, 0),
}


def compiled(name, x):
    """The operation as machine code: its result, and whether it holds."""
    code = compilation.alone(REGISTRY[name], [x], {}, threads=1)
    assert code, "the NumPy kernel would be called"
    result, *holds = code([x], [])
    return result, all(holds)


def stack(kind, n, *lead):
    random = np.random.default_rng(len(kind) + n)
    count = int(np.prod(lead))
    x = np.stack([KINDS[kind](random, n) for _ in range(count)]).astype("f4")
    return x.reshape(*lead, n, n)


@pytest.mark.parametrize("n", (1, 2, 3, 4))
@pytest.mark.parametrize("kind", KINDS)
def test_inverses(kind, n):
    """They are computed in float64: nothing but the last rounding differs."""
    x = stack(kind, n, 3, 13)
    z, holds = compiled("inverse", x)
    wanted = np.linalg.inv(x.astype("f8"))
    assert holds and z.dtype == np.float32
    size = np.linalg.norm(wanted, axis=(-2, -1), keepdims=True)
    np.testing.assert_allclose(z / size, wanted / size, rtol=0, atol=1e-6)


@pytest.mark.parametrize("n", (1, 2, 3, 4))
@pytest.mark.parametrize("kind", KINDS)
def test_determinants(kind, n):
    x = stack(kind, n, 3, 13)
    z, _ = compiled("det", x)
    np.testing.assert_allclose(z, np.linalg.det(x.astype("f8")), rtol=1e-6)


@pytest.mark.parametrize("n", (1, 2, 3, 4))
@pytest.mark.parametrize("kind", KINDS)
def test_cholesky_factors(kind, n):
    x = stack(kind, n, 3, 13)
    x = np.matmul(x, x.swapaxes(-1, -2)) + 1e-3 * np.eye(n, dtype="f4")
    x += np.triu(np.ones((n, n), "f4"), 1)  # what is above the diagonal is not read
    x = np.concatenate([x, np.broadcast_to(np.eye(n, dtype="f4"), (1, 13, n, n))])
    z, _ = compiled("cholesky", x)
    lower = np.tril(x.astype("f8"))
    hermitian = lower + np.tril(lower, -1).swapaxes(-1, -2)
    fits = np.linalg.eigvalsh(hermitian)[..., 0] > 1e-6 * abs(hermitian).max((-2, -1))
    wanted = np.linalg.cholesky(hermitian[fits])
    np.testing.assert_allclose(z[fits], wanted, rtol=1e-5, atol=1e-6 * abs(wanted).max())


def test_matrices_that_are_not_positive_definite():
    """As by LAPACK: NaN in the lower triangle of those, zeros above."""
    x = np.stack([np.eye(3), -np.eye(3), np.diag([1.0, 0, 1]), np.ones((3, 3)), np.eye(3)])
    x[4, 2, 0] = np.nan
    z, _ = compiled("cholesky", x.astype("f4"))
    lower = np.tri(3, dtype=bool)
    np.testing.assert_array_equal(np.isnan(z), np.array([0, 1, 1, 1, 1])[:, None, None] * lower)
    np.testing.assert_array_equal(z[:, ~lower], 0)
    np.testing.assert_array_equal(z[0], np.eye(3))


SINGULAR = {
    "zeros": np.zeros((2, 2)),
    "one row of zeros": np.diag([1.0, 0, 2, 3]),
    "equal rows": np.ones((3, 3)),
    "a multiple": np.array([[1.0, 2], [2, 4]]),
    "NaN": np.array([[1.0, np.nan], [0, 1]]),
    "nothing": np.zeros((1, 1)),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_singular_matrices(name):
    """The code says that it does not hold; then the kernel says why."""
    x = SINGULAR[name].astype("f4")
    assert not compiled("inverse", x)[1]
    with settings.executor("llvm"):
        inverse = tf.function(tf.linalg.inv)
        np.testing.assert_array_equal(inverse(tf.eye(len(x)) * 2), np.eye(len(x)) / 2)
        with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
            inverse(tf.constant(x))
    if name != "NaN":
        assert compiled("det", x)[0] == 0


def test_infinite_numbers():
    """As in TensorFlow, which gives the same numbers."""
    np.testing.assert_array_equal(
        compiled("inverse", np.diag([np.inf, 1.0]).astype("f4"))[0], np.diag([0.0, 1.0])
    )
    assert np.isnan(compiled("det", np.array([[1, np.nan], [0, 1]], "f4"))[0])


def test_no_zero_is_negative_where_numpys_is_not():
    z, _ = compiled("inverse", 2 * np.eye(3, dtype="f4"))
    assert not np.signbit(z).any()


def test_others_call_the_kernel():
    """Other dtypes and larger matrices; there is nothing to do for none."""
    for x in (np.eye(4), np.eye(5, dtype="f4"), np.eye(2, dtype="c8")):
        for name in ("inverse", "cholesky", "det"):
            assert compilation.alone(REGISTRY[name], [x], {}, threads=1) is False


def test_gradients():
    """Of a function, against differences in float64."""
    x = stack("random", 3, 5)
    x = np.matmul(x, x.swapaxes(-1, -2)) + np.eye(3, dtype="f4")
    with settings.executor("llvm"):
        for name in ("inv", "cholesky", "det"):
            function = getattr(tf.linalg, name)

            @tf.function
            def gradient(x):
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = tf.reduce_sum(tf.sin(function(x)))  # noqa: B023 -- called at once
                return tape.gradient(y, x)

            narrow = gradient(tf.constant(x)).numpy()
            wide = gradient(tf.constant(x, tf.float64)).numpy()
            np.testing.assert_allclose(narrow, wide, rtol=1e-4, atol=1e-5 * abs(wide).max())
