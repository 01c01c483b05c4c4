"""Jacobians and vectorized_map over functions, branches, loops and lists; gradients across graphs.

What TensorFlow 2.21 gives is written down where it says more than the definition.
"""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.prims.calls import call

v1 = tf.compat.v1
MATRIX = tf.constant([[2.0, 0.5], [0.5, 1.0]], tf.float64)
ROWS = np.arange(24, dtype=np.float32).reshape(8, 3)


def spiral(x):
    for _ in tf.range(3):
        x = x * tf.sin(x)
    return tf.reduce_sum(x)


BODIES = {
    "cube": lambda x: tf.reduce_sum(x * x * x),
    "product": lambda x: x[0] * x[1],
    "exp": lambda x: tf.reduce_sum(tf.exp(x)),
    "softmax": lambda x: tf.nn.softmax(x)[0],
    "matvec": lambda x: tf.reduce_sum(tf.linalg.matvec(MATRIX, x) ** 2),
    "loop": spiral,
    "cholesky": lambda x: tf.reduce_sum(tf.linalg.cholesky(MATRIX + tf.linalg.diag(x))),
    "cond": lambda x: tf.cond(x[0] > 0.0, lambda: tf.reduce_sum(x**3), lambda: x[0] * x[1]),
    "scan": lambda x: tf.reduce_sum(tf.scan(lambda a, b: a * b, x)),
    "map": lambda x: tf.reduce_sum(tf.map_fn(lambda a: a**3, x)),
}


def hessian(f, x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        slope = inner.gradient(y, x)
    return outer.jacobian(slope, x).numpy()


@pytest.mark.parametrize("name", BODIES)
def test_hessian_of_a_function_called_eagerly(name):
    x = tf.constant([1.0, 2.0], tf.float64)
    f = BODIES[name]
    wanted = [
        (g(x.numpy() + 1e-5 * d) - g(x.numpy() - 1e-5 * d)) / 2e-5
        for g in [lambda at: slope_of(f, at)]
        for d in np.eye(2)
    ]
    np.testing.assert_allclose(hessian(tf.function(f), x), np.stack(wanted, -1), 1e-6, 1e-8)


def slope_of(f, at):
    x = tf.constant(at)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.function(f)(x)
    return tape.gradient(y, x).numpy()


JACOBIANS = {
    "scan": (
        lambda x: tf.scan(lambda a, b: a * b, x),
        [1.0, 2.0, 3.0],
        [[1, 0, 0], [2, 1, 0], [6, 3, 2]],
    ),
    "foldl": (lambda x: tf.foldl(lambda a, b: a * b, x), [2.0, 3.0], [3, 2]),
    "array": (
        lambda x: tf.TensorArray(tf.float32, 2).unstack(x).write(0, x[1] * x[1]).stack(),
        [2.0, 3.0],
        [[0, 6], [0, 1]],
    ),
}


@pytest.mark.parametrize("name", JACOBIANS)
@pytest.mark.parametrize("shape", [None, [None]], ids=["known", "unknown"])
def test_jacobian_inside_a_function(name, shape):
    f, at, wanted = JACOBIANS[name]

    def slopes(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.jacobian(y, x)

    signature = None if shape is None else [tf.TensorSpec(shape, tf.float32)]
    found = tf.function(slopes, input_signature=signature)(tf.constant(at))
    np.testing.assert_allclose(found, wanted)


def test_batch_jacobian_of_a_scan():
    @tf.function
    def slopes(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.scan(lambda a, b: a * b, x)
        return tape.batch_jacobian(y, x)

    found = slopes(tf.constant([[1.0, 2.0], [3.0, 4.0]]))
    np.testing.assert_allclose(found, [[[4, 0], [0, 5]], [[1, 0], [0, 2]]])  # as TensorFlow


def test_the_rows_of_a_jacobian_are_one_run(monkeypatch):
    """A function called eagerly is not gone through once for each row."""
    f = tf.function(lambda x: tf.sin(x) * x)
    x = tf.constant(np.linspace(0.0, 1.0, 1000))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    runs = []
    kernel = call.numpy
    monkeypatch.setattr(call, "numpy", lambda *a, **k: runs.append(1) or kernel(*a, **k))
    found = tape.jacobian(y, x).numpy()
    np.testing.assert_allclose(np.diag(found), np.cos(x) * x + np.sin(x))
    assert len(runs) == 1


def written(i):
    array = tf.TensorArray(tf.int32, 2)
    return array.write(0, i).write(1, i * i).stack()


def written_in_loop(i):
    array = tf.TensorArray(tf.int32, 3)
    return tf.while_loop(lambda j, a: j < 3, lambda j, a: (j + 1, a.write(j, i * j)), (0, array))[
        1
    ].stack()


def pooled(i):
    image = tf.reshape(tf.range(16, dtype=tf.float32), [1, 4, 4, 1]) * tf.cast(i + 1, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(image)
        y = tf.nn.max_pool2d(image, 2, 2, "VALID")
    return tape.gradient(y, image)


MAPS = {
    "cond": (
        lambda i: tf.cond(i > 1, lambda: i * 2, lambda: i),
        lambda i: i * 2 if i > 1 else i,
    ),
    "cond_in_function": (
        lambda i: tf.function(lambda k: tf.cond(k > 1, lambda: k * 2, lambda: k))(i),
        lambda i: i * 2 if i > 1 else i,
    ),
    "case": (
        lambda i: tf.case([(i < 1, lambda: i), (i < 3, lambda: i * 7)], default=lambda: i * 100),
        lambda i: i if i < 1 else i * 7 if i < 3 else i * 100,
    ),
    "switch": (
        lambda i: tf.switch_case(i, [lambda: i * 10, lambda: i + 5, lambda: i * i]),
        lambda i: (i * 10, i + 5, i * i, i * i)[i],
    ),
    "while": (
        lambda i: tf.while_loop(lambda j, s: j < i, lambda j, s: (j + 1, s + j * i), (0, 1))[1],
        lambda i: 1 + i * sum(range(i)),
    ),
    "while_at_most": (
        lambda i: tf.while_loop(lambda j: j < i, lambda j: (j + 1,), (0,), maximum_iterations=2)[0],
        lambda i: min(i, 2),
    ),
    "roll": (lambda i: tf.roll(ROWS, i, 0), lambda i: np.roll(ROWS, i, 0)),
    "slice": (lambda i: tf.slice(ROWS, [i, 0], [2, 3]), lambda i: ROWS[i : i + 2]),
    "getitem": (lambda i: tf.constant(ROWS)[i : i + 3, ..., 1], lambda i: ROWS[i : i + 3, 1]),
    "array": (written, lambda i: [i, i * i]),
    "array_in_loop": (written_in_loop, lambda i: [0, i, 2 * i]),
    "pool": (pooled, lambda i: np.kron(np.ones((2, 2)), [[0, 0], [0, 1]]).reshape(1, 4, 4, 1)),
    "scan": (lambda i: tf.scan(lambda a, b: a + b * i, tf.range(3)), lambda i: [0, i, 3 * i]),
    "map": (lambda i: tf.map_fn(lambda a: a * i, tf.range(3)), lambda i: [0, i, 2 * i]),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("how", ["eager", "function", "unknown"])
def test_vectorized_map(name, how):
    f, wanted = MAPS[name]

    def mapped(elements):
        return tf.vectorized_map(f, elements)

    if how != "eager":
        signature = [tf.TensorSpec([None], tf.int32)] if how == "unknown" else None
        mapped = tf.function(mapped, input_signature=signature)
    found = mapped(tf.range(4))
    np.testing.assert_allclose(found, np.stack([np.asarray(wanted(i)) for i in range(4)]))


@pytest.mark.parametrize("traced", [False, True])
def test_vectorized_map_of_composites(traced):
    def sparse(i):
        return tf.SparseTensor(np.array([[0, 1], [1, 2]]), tf.stack([i, i * i]), [2, 3])

    def ragged(i):
        return tf.RaggedTensor.from_row_lengths(tf.stack([i, i + 1, i + 2]), [1, 2])

    def both(elements):
        return tf.vectorized_map(lambda i: (sparse(i), ragged(i)), elements)

    rows, lists = (tf.function(both) if traced else both)(tf.range(3))
    assert rows.dense_shape.numpy().tolist() == [3, 2, 3]
    np.testing.assert_array_equal(
        tf.sparse.to_dense(rows), [[[0, i, 0], [0, 0, i * i]] for i in range(3)]
    )
    assert lists.to_list() == [[[i], [i + 1, i + 2]] for i in range(3)]


@pytest.mark.parametrize("traced", [False, True])
def test_printing_each_slice(traced, capsys):
    def shown(elements):
        return tf.vectorized_map(lambda i: (tf.print("slice", i), i)[1], elements)

    found = (tf.function(shown) if traced else shown)(tf.range(3))
    assert found.numpy().tolist() == [0, 1, 2]
    assert capsys.readouterr().err.split("\n")[:3] == ["slice 0", "slice 1", "slice 2"]


@pytest.mark.parametrize("traced", [False, True])
def test_assertions_hold_for_each_slice(traced):
    def checked(elements):
        def one(i):
            with tf.control_dependencies([tf.debugging.assert_less(i, 3)] if traced else []):
                if not traced:
                    tf.debugging.assert_less(i, 3)
                return i * 2

        return tf.vectorized_map(one, elements)

    run = tf.function(checked) if traced else checked
    assert run(tf.range(3)).numpy().tolist() == [0, 2, 4]
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(tf.range(4))


def test_gradients_of_slices_inside_a_map():
    @tf.function
    def slopes(x):
        y = tf.reshape(x * x * x[::-1], [-1])
        rows = tf.range(tf.size(y))
        shared = tf.vectorized_map(lambda i: tf.gradients(tf.gather(y, i), x)[0], rows)
        own = tf.vectorized_map(lambda e: tf.gradients(e**3, e)[0], x)
        return shared, own

    shared, own = slopes(tf.constant([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(shared, [[6, 0, 1], [0, 12, 0], [9, 0, 6]])
    np.testing.assert_allclose(own, [3, 12, 27])


def test_a_slice_computes_only_what_it_takes():
    """The branch a slice does not take has no NaN to give to its gradient."""
    x = tf.constant([0.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.vectorized_map(lambda e: tf.cond(e > 0.0, lambda: tf.sqrt(e), lambda: e * 3.0), x)
    np.testing.assert_allclose(tape.gradient(y, x), [3.0, 0.25])


@pytest.mark.parametrize("traced", [False, True])
def test_a_rule_of_its_own_in_a_map(traced):
    @tf.custom_gradient
    def square(y):
        return y * y, lambda g: g * 10.0 * y

    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = tf.vectorized_map(square, x)
        return tape.gradient(z, x)

    found = (tf.function(slope) if traced else slope)(tf.constant([1.0, 2.0]))
    np.testing.assert_allclose(found, [10.0, 20.0])


# -- results that nobody used


def parts(x):
    return tf.dynamic_partition(x, [1, 0], 2)


def unused_of_branch(x):
    return tf.cond(x[0, 0] > 0.0, lambda: tuple(parts(x * 2.0)), lambda: tuple(parts(x)))


@pytest.mark.parametrize("f", [parts, unused_of_branch], ids=["call", "branch"])
@pytest.mark.parametrize("used", [0, 1])
def test_unused_results_of_unknown_shape(f, used):
    x = tf.constant([[1.0], [2.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(tf.function(f)(x)[used])
    factor = 1.0 if f is parts else 2.0
    wanted = [[0.0], [factor]] if used == 0 else [[factor], [0.0]]
    np.testing.assert_allclose(tape.gradient(loss, x), wanted)


# -- gradients of what graphs around have made


def test_gradients_by_a_tensor_of_the_function_around():
    @tf.function
    def outer(a):
        doubled = a * 2.0
        inner = tf.function(lambda: tf.gradients(doubled * doubled, [a, doubled]))

        def body(i, total):
            return i + 1, total + tf.gradients(doubled * doubled, a)[0]

        return inner(), tf.while_loop(lambda i, _: i < 3, body, (0, 0.0))[1]

    (by_a, by_doubled), total = outer(tf.constant(3.0))
    assert (float(by_a), float(by_doubled), float(total)) == (24.0, 12.0, 72.0)


# -- rules that users write


@pytest.mark.parametrize("kind", [tf.Variable, tf.constant])
def test_recompute_grad_counts_an_argument_given_twice_once_each(kind):
    x = kind(np.array([3.0, 4.0]))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.recompute_grad(lambda a, b: a * b)(x, x)
    np.testing.assert_allclose(tape.gradient(y, x), [6.0, 8.0])


def test_a_rule_behind_stop_gradient_is_not_called():
    called = []

    @tf.custom_gradient
    def exp(y):
        def grad(g):
            called.append(1)
            return g

        return tf.exp(y), grad

    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = exp(tf.stop_gradient(x))
    assert tape.gradient(z, x) is None
    assert not called


@pytest.mark.parametrize("nested", [False, True])
def test_tangent_of_a_recomputed_loop_in_a_function(nested):
    def product(a, b):
        return tf.while_loop(lambda i, s: i < 2, lambda i, s: (i + 1, s * a), (0, b))[1]

    def branched(a, b):
        return tf.cond(a > 0.0, lambda: a * b, lambda: b)

    def f(x):
        return tf.recompute_grad(product)(x[0], x[1]) + tf.recompute_grad(branched)(x[0], x[1])

    def pushed(x, t):
        with tf.autodiff.ForwardAccumulator(x, t) as accumulator:
            y = tf.function(f)(x)
        return accumulator.jvp(y)

    run = tf.function(pushed) if nested else pushed
    found = run(tf.constant([1.5, 1.2], tf.float64), tf.constant([1.0, 0.5], tf.float64))
    np.testing.assert_allclose(found, 4.725 + 1.95)
