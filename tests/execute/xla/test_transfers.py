"""The bytes that are copied between the host and a device: feeds and fetches, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax", reason="the third executor is an extra")

import talweg as tf
from talweg.core import settings
from talweg.core.transfers import transfers

X = np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)
Y = np.linspace(0, 1, 24, dtype=np.float32).reshape(8, 3)
FEEDS = X.nbytes + Y.nbytes


@pytest.fixture(autouse=True)
def through_xla():
    with settings.executor("xla"):
        yield


def copied(step, warm=3):
    """Bytes to the device and to the host, of a step that has run some times."""
    for _ in range(warm):
        step()
    before = transfers.to_device, transfers.to_host
    step()
    return transfers.to_device - before[0], transfers.to_host - before[1]


def parts_of_a_network():
    rng = np.random.default_rng(0)
    w = tf.Variable(rng.normal(size=(4, 3)).astype(np.float32))
    b = tf.Variable(np.zeros(3, np.float32))

    @tf.function
    def forward(x, y):
        return tf.reduce_mean((tf.tanh(x @ w + b) - y) ** 2)

    @tf.function
    def update(gradients):
        for variable, g in zip((w, b), gradients):
            variable.assign_sub(0.1 * g)

    return w, b, forward, update


def test_a_step_with_the_tape_inside():
    w, b, forward, update = parts_of_a_network()

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = forward(x, y)
        update(tape.gradient(loss, [w, b]))
        return loss

    assert copied(lambda: step(tf.constant(X), tf.constant(Y))) == (FEEDS, 0)
    assert copied(lambda: step(tf.constant(X), tf.constant(Y)).numpy()) == (FEEDS, 4)


@pytest.mark.parametrize("persistent", [False, True])
def test_a_step_with_the_tape_outside(persistent):
    w, b, forward, update = parts_of_a_network()
    losses = []

    def step():
        with tf.GradientTape(persistent=persistent) as tape:
            loss = forward(tf.constant(X), tf.constant(Y))
        update(tape.gradient(loss, [w, b]))
        losses.append(loss)

    assert copied(step) == (FEEDS, 0)
    assert np.all(np.diff([float(x) for x in losses]) < 0)


def test_calls_that_follow_one_another_under_a_tape():
    w = tf.Variable(X[0])
    first, second = tf.function(lambda x: tf.sin(x * w)), tf.function(lambda x: tf.reduce_sum(x**2))

    def step():
        with tf.GradientTape() as tape:
            loss = second(first(X[1]))
        return tape.gradient(loss, w)

    sent, fetched = copied(step)
    assert (sent, fetched) == (16, 0)
    wanted = 2 * np.sin(X[1] * X[0]) * np.cos(X[1] * X[0]) * X[1]
    np.testing.assert_allclose(step(), wanted, 1e-5, 1e-7)


def test_what_a_call_kept_is_fetched_when_somebody_else_looks():
    w = tf.Variable(0.7)
    f = tf.function(lambda x: tf.exp(tf.sin(x * w)))
    x = tf.constant(0.3)

    def by_two_tapes(f):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            dx, dw = inner.gradient(y, [x, w])
        return dx, dw, *outer.gradient(dx, [x, w])

    def by_jacobian(f):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(tf.stack([x, 2 * x]))
        return tape.jacobian(y, [x, w])

    def in_a_function(f):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tf.function(lambda: tape.gradient(y, [x, w]))()

    def forward(f):
        with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as accumulator:
            y = f(x)
        return y, accumulator.jvp(y)

    for derive in (by_two_tapes, by_jacobian, in_a_function, forward):
        for got, wanted in zip(derive(f), derive(f.python_function)):
            np.testing.assert_allclose(got, wanted, 1e-5, err_msg=derive.__name__)


def test_a_loop_under_a_tape_outside():
    w = tf.Variable(0.9)

    @tf.function
    def power(x, n):
        for _ in tf.range(n):
            x = tf.sin(x * w)
        return x

    def gradient(f):
        with tf.GradientTape() as tape:
            y = f(tf.constant(0.5), tf.constant(5))
        return tape.gradient(y, w)

    np.testing.assert_allclose(gradient(power), gradient(power.python_function), 1e-5)


def test_results_beside_a_step_in_python_stay():
    w = tf.Variable(X)

    @tf.function
    def step(x):
        w.assign_add(x)
        several = tf.boolean_mask(x, x > 0)
        return w * 2, tf.reduce_sum(several)

    result = step(X)[0]
    assert hasattr(result._resident, "devices")
    sent, fetched = copied(lambda: step(tf.constant(X)))
    assert fetched <= X.nbytes + X.size + 4  # what the mask needs; not `w * 2`
    assert sent <= X.nbytes + X.size * 5


def test_a_step_of_a_session():
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x, y = v1.placeholder(tf.float32, [8, 4]), v1.placeholder(tf.float32, [8, 3])
        w = v1.get_variable("w", initializer=X[:3].T.copy())
        b = v1.get_variable("b", [3], initializer=v1.zeros_initializer())
        loss = tf.reduce_mean((tf.tanh(x @ w + b) - y) ** 2)
        train = v1.train.AdamOptimizer(0.1).minimize(loss)
        with pytest.raises(tf.errors.FailedPreconditionError, match="w"):
            session.run(loss, {x: X, y: Y})
        session.run(v1.global_variables_initializer())
        flags = 1  # of a check
        sent, fetched = copied(lambda: session.run(train, {x: X, y: Y}))
        assert sent == FEEDS and fetched <= flags
        sent, fetched = copied(lambda: session.run([loss, train], {x: X, y: Y}))
        assert sent == FEEDS and fetched <= flags + 4

        seen = session.run(w)
        before = seen.copy()
        losses = [session.run([loss, train], {x: X, y: Y})[0] for _ in range(3)]
        np.testing.assert_array_equal(seen, before)  # what was fetched keeps what it had
        assert np.all(np.diff(losses) < 0)
        w.load(X[:3].T, session)
        np.testing.assert_array_equal(session.run(w), X[:3].T)
        kept = session.run(w)
        session.run(w.assign_add(tf.ones_like(w)))
        np.testing.assert_array_equal(session.run(w), kept + 1)


def test_a_session_and_an_interpreted_run_take_turns():
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        w = v1.get_variable("w", initializer=X)
        add = w.assign_add(X)
        session.run(w.initializer)
        for number in range(2, 6):
            with settings.executor("xla" if number % 2 else "interpret"):
                np.testing.assert_array_equal(session.run(add), X * number)
        with settings.executor("xla"), pytest.raises(tf.errors.InvalidArgumentError):
            session.run([add, tf.gather(w, 99)])


def test_what_is_only_read_is_copied_once():
    big, table = tf.Variable(np.ones((50, 50), np.float32)), tf.constant(np.ones((50, 50), "f4"))

    @tf.function
    def from_data(iterator):
        x = tf.cast(next(iterator), tf.float32)
        return tf.reduce_sum(big * x) + tf.reduce_sum(tf.sin(table) * x)

    iterator = iter(tf.data.Dataset.range(100))
    assert copied(lambda: from_data(iterator)) == (8, 0)

    @tf.function
    def masked(x):
        kept = tf.boolean_mask(x, x > 0)
        return tf.reduce_sum(big @ table) + tf.reduce_sum(kept)

    sent, fetched = copied(lambda: masked(tf.constant(X)))
    assert sent < 2 * X.nbytes and fetched < 2 * X.nbytes
    big.assign(2 * big)
    assert copied(lambda: masked(tf.constant(X)), warm=1)[0] < 2 * X.nbytes
    np.testing.assert_allclose(masked(tf.constant(X)), 250000 + X[X > 0].sum(), 1e-6)


def test_a_tensor_that_is_given_again_stays_on_the_device():
    held = tf.Variable(X)

    @tf.function
    def step(x, y):
        held.assign_add(x)
        return tf.reduce_sum(y @ held)

    x, y = tf.constant(X), tf.constant(Y.T)
    assert copied(lambda: step(x, y)) == (0, 0)
    assert copied(lambda: step(tf.constant(X), y)) == (X.nbytes, 0)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_allclose(held, 9 * X, 1e-6)


def test_weights_are_copied_once():
    w, b, forward, _ = parts_of_a_network()
    assert copied(lambda: forward(tf.constant(X), tf.constant(Y))) == (FEEDS, 0)
    w.assign(0 * w)
    np.testing.assert_allclose(forward(X, Y), np.mean((np.tanh(b) - Y) ** 2), 1e-6)
    w.assign_add(tf.ones_like(w))
    wanted = np.mean((np.tanh(X @ np.ones((4, 3)) + b.numpy()) - Y) ** 2)
    np.testing.assert_allclose(forward(X, Y), wanted, 1e-5)


def test_an_optional_keeps_what_a_device_has():
    held = tf.Variable(X)

    @tf.function
    def step(iterator):
        held.assign_add(tf.fill([8, 4], tf.cast(next(iterator), tf.float32)))
        return tf.experimental.Optional.from_value({"sum": tf.reduce_sum(held), "twice": held * 2})

    iterator = iter(tf.data.Dataset.range(100))
    assert copied(lambda: step(iterator).get_value()["sum"]) == (8, 0)
    optional = step(iterator)
    inside = tf.function(lambda given: given.get_value()["twice"] + 0.0)
    np.testing.assert_array_equal(optional.get_value()["twice"], held * 2)
    np.testing.assert_array_equal(inside(optional), held * 2)


def test_datasets_are_the_hosts_work():
    table = tf.constant(np.arange(3000.0).reshape(1000, 3))
    rows = iter(
        tf.data.Dataset.range(100).repeat().map(lambda i: tf.gather(table, tf.fill([100], i)))
    )
    assert copied(lambda: next(rows), warm=20) == (0, 0)


def test_jax_itself_sees_no_copy_of_a_step_whose_arguments_are_there():
    jax = pytest.importorskip("jax")
    w, b, forward, update = parts_of_a_network()
    x, y = tf.constant(X), tf.constant(Y)

    def step():
        with tf.GradientTape() as tape:
            loss = forward(x, y)
        update(tape.gradient(loss, [w, b]))

    for _ in range(3):
        step()
    with jax.transfer_guard("disallow"):
        step()
        with pytest.raises(Exception, match="Disallowed host-to-device transfer"):
            forward(tf.constant(X), y)
