"""Linear operators: derivatives against finite differences, unknown sizes, the compiler, nests."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf

L = tf.linalg
RANDOM = np.random.default_rng(5)


def values(*shape):
    return tf.constant(RANDOM.normal(size=shape))


def positive(n):
    x = RANDOM.normal(size=(n, n))
    return tf.constant(x @ x.T + n * np.eye(n))


KINDS = {
    "full": (lambda m: L.LinearOperatorFullMatrix(m), [positive(3)]),
    "definite": (
        lambda m: L.LinearOperatorFullMatrix(
            (m + tf.linalg.matrix_transpose(m)) / 2,
            is_self_adjoint=True,
            is_positive_definite=True,
        ),
        [positive(3)],
    ),
    "triangular": (lambda m: L.LinearOperatorLowerTriangular(m), [positive(3)]),
    "diag": (lambda d: L.LinearOperatorDiag(d), [values(3)]),
    "scaled": (lambda d: L.LinearOperatorScaledIdentity(3, d), [tf.constant(2.5, tf.float64)]),
    "circulant": (
        lambda s: L.LinearOperatorCirculant(s, input_output_dtype=tf.float64),
        [tf.constant([3.0, 2.0, 2.0], tf.float64)],
    ),
    "toeplitz": (lambda c, r: L.LinearOperatorToeplitz(c, r), [values(3) + 3, values(3)]),
    "householder": (lambda v: L.LinearOperatorHouseholder(v), [values(3)]),
    "tridiag": (lambda d: L.LinearOperatorTridiag(d), [values(3, 3)]),
    "update": (
        lambda d, u, e: L.LinearOperatorLowRankUpdate(L.LinearOperatorDiag(d), u, e),
        [tf.abs(values(3)) + 1, values(3, 2), tf.abs(values(2)) + 1],
    ),
    "composition": (
        lambda m, d: L.LinearOperatorComposition(
            [L.LinearOperatorFullMatrix(m), L.LinearOperatorDiag(d)]
        ),
        [positive(3), values(3)],
    ),
    "inversion": (lambda m: L.LinearOperatorFullMatrix(m).inverse(), [positive(3)]),
    "adjoint": (lambda m: L.LinearOperatorFullMatrix(m).adjoint(), [positive(3)]),
    "blocks": (
        lambda m, d: L.LinearOperatorBlockDiag(
            [L.LinearOperatorFullMatrix(m), L.LinearOperatorDiag(d)]
        ),
        [positive(2), values(1)],
    ),
    "triangular blocks": (
        lambda m, b, d: L.LinearOperatorBlockLowerTriangular(
            [
                [L.LinearOperatorFullMatrix(m)],
                [L.LinearOperatorFullMatrix(b), L.LinearOperatorDiag(d)],
            ]
        ),
        [positive(2), values(1, 2), values(1)],
    ),
    "kronecker": (
        lambda d, m: L.LinearOperatorKronecker(
            [L.LinearOperatorDiag(d), L.LinearOperatorFullMatrix(m)]
        ),
        [values(1), positive(3)],
    ),
}
X = values(3, 2)
QUESTIONS = {
    "matmul": lambda o: o.matmul(X),
    "matmul adjoint": lambda o: o.matmul(X, adjoint=True),
    "solve": lambda o: o.solve(X),
    "solve adjoint": lambda o: o.solve(X, adjoint=True),
    "to_dense": lambda o: o.to_dense(),
    "diag_part": lambda o: o.diag_part(),
    "trace": lambda o: o.trace(),
    "log_abs_determinant": lambda o: o.log_abs_determinant(),
    "determinant": lambda o: o.determinant(),
    "add_to_tensor": lambda o: o.add_to_tensor(tf.ones([3, 3], tf.float64)),
}


def dense_answer(question, m):
    eye = tf.eye(3, dtype=tf.float64)
    return {
        "matmul": lambda: m @ X,
        "matmul adjoint": lambda: tf.transpose(m) @ X,
        "solve": lambda: tf.linalg.solve(m, X),
        "solve adjoint": lambda: tf.linalg.solve(tf.transpose(m), X),
        "to_dense": lambda: m @ eye,
        "diag_part": lambda: tf.linalg.diag_part(m),
        "trace": lambda: tf.linalg.trace(m),
        "log_abs_determinant": lambda: tf.math.log(tf.abs(tf.linalg.det(m))),
        "determinant": lambda: tf.linalg.det(m),
        "add_to_tensor": lambda: m + 1,
    }[question]()


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_answers_and_derivatives(kind, question):
    make, given = KINDS[kind]
    ask = QUESTIONS[question]
    dense = make(*given).to_dense()
    np.testing.assert_allclose(ask(make(*given)), dense_answer(question, dense), atol=1e-9)
    theory, numbers = tf.test.compute_gradient(lambda *xs: ask(make(*xs)), given, delta=1e-6)
    for exact, near in zip(theory, numbers):
        np.testing.assert_allclose(exact, near, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_sizes_and_both_executors(kind):
    make, given = KINDS[kind]

    def ask(*xs):
        operator = make(*xs)
        return operator.solvevec(operator.matvec(X[:, 0])), operator.log_abs_determinant()

    wanted = ask(*given)
    loose = [tf.TensorSpec([None] * x.shape.rank, x.dtype) for x in given]
    functions = [tf.function(ask, input_signature=loose), tf.function(ask)]
    if kind not in ("circulant", "toeplitz"):
        functions.append(tf.function(ask, jit_compile=True))
    for function in functions:
        for got, number in zip(function(*given), wanted):
            np.testing.assert_allclose(got, number, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_operators_go_where_tensors_go(kind):
    make, given = KINDS[kind]
    operator = make(*given)
    traces = []

    @tf.function
    def double(operator, x):
        traces.append(1)
        return operator, operator.matmul(x)

    for _ in range(2):
        same, product = double(operator, X)
        assert type(same) is type(operator)
        np.testing.assert_allclose(product, operator.matmul(X), atol=1e-9)
        np.testing.assert_allclose(same.to_dense(), operator.to_dense(), atol=1e-9)
    assert len(traces) == 1
    flat = tf.nest.flatten(operator, expand_composites=True)
    wanted = [*given, given[1]] if kind == "update" else given  # v is u
    assert sorted(x.shape.as_list() for x in flat) == sorted(x.shape.as_list() for x in wanted)
    packed = tf.nest.pack_sequence_as(operator, flat, expand_composites=True)
    np.testing.assert_allclose(packed.to_dense(), operator.to_dense())
    with tf.GradientTape() as tape:
        tape.watch(flat)
        y = tf.reduce_sum(double(tf.nest.pack_sequence_as(operator, flat, True), X)[1])
    assert all(g is not None for g in tape.gradient(y, flat))


def test_a_loop_and_a_branch_carry_an_operator():
    start = L.LinearOperatorDiag([1.0, 2.0])

    @tf.function
    def grow(operator):
        for _ in tf.range(3):
            operator = L.LinearOperatorDiag(operator.diag * 2.0)
        return tf.cond(
            operator.trace() > 10.0, lambda: operator, lambda: L.LinearOperatorDiag([0.0, 0.0])
        )

    np.testing.assert_allclose(grow(start).diag_part(), [8.0, 16.0])


@pytest.mark.parametrize("kind", KINDS)
def test_functions_of_operators_are_saved(kind, tmp_path):
    make, given = KINDS[kind]
    module = tf.Module()
    module.solve = tf.function(lambda operator, x: operator.solvevec(x))
    wanted = module.solve(make(*given), X[:, 0])
    tf.saved_model.save(module, str(tmp_path / "m"))
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    np.testing.assert_allclose(loaded.solve(make(*given), X[:, 0]), wanted)


def test_a_class_of_the_users_own():
    class Shift(L.LinearOperator):
        def __init__(self, size):
            self._size = size
            super().__init__(tf.float32, is_square=True, parameters={"size": size})

        def _shape(self):
            return tf.TensorShape([self._size, self._size])

        def _shape_tensor(self):
            return tf.constant([self._size, self._size])

        def _matmul(self, x, adjoint=False, adjoint_arg=False):
            x = tf.linalg.adjoint(x) if adjoint_arg else x
            return tf.roll(x, -1 if adjoint else 1, -2)

    shift = Shift(3)
    np.testing.assert_allclose(shift.to_dense(), np.roll(np.eye(3), 1, 0))
    np.testing.assert_allclose(shift.solvevec([1.0, 2.0, 3.0]), [2.0, 3.0, 1.0], atol=1e-6)
    both = shift @ L.LinearOperatorDiag([1.0, 2.0, 3.0])
    assert isinstance(both, L.LinearOperatorComposition)
    np.testing.assert_allclose(both.matvec([1.0, 1.0, 1.0]), [3.0, 1.0, 2.0])


def test_saved_with_a_module(tmp_path):
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.scale = tf.Variable([2.0, 3.0])
            self.operator = L.LinearOperatorDiag(self.scale)

        @tf.function(input_signature=[tf.TensorSpec([2])])
        def __call__(self, x):
            return self.operator.matvec(x)

    model = Model()
    tf.saved_model.save(model, str(tmp_path / "m"))
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    np.testing.assert_allclose(loaded([1.0, 1.0]), [2.0, 3.0])
    loaded.scale.assign([5.0, 6.0])
    np.testing.assert_allclose(loaded([1.0, 1.0]), [5.0, 6.0])
