"""Derivatives through branches and loops: every order up to three, every mix of the two modes.

The programs run eagerly (as Python), in a graph of TensorFlow 1 and in a function; the slopes are
compared with differences of the next lower order, too.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings

from .programs import F64, PROGRAMS

VALUE = 0.7


def reverse(f):
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)

    return slope


def forward(f):
    def slope(x):
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            y = f(x)
        return accumulator.jvp(y, unconnected_gradients=tf.UnconnectedGradients.ZERO)

    return slope


MODES = {"reverse": reverse, "forward": forward}


def derived(f, modes):
    for mode in modes:
        f = MODES[mode](f)
    return f


def in_graph(f, values):
    """`f` at each value, in a graph of its own."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(F64, [])
        y = f(x)
    with tf.compat.v1.Session(graph=graph) as session:
        return [float(session.run(y, {x: value})) for value in values]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_orders_and_modes(program):
    step = 1e-5
    before = in_graph(program, (VALUE, VALUE - step, VALUE + step))
    assert before[0] == pytest.approx(float(program(tf.constant(VALUE, F64))), rel=1e-12)
    for order in (1, 2, 3):
        f = derived(program, ["reverse"] * order)
        wanted = float(f(tf.constant(VALUE, F64)))
        after = in_graph(f, (VALUE, VALUE - step, VALUE + step))
        assert after[0] == pytest.approx(wanted, rel=1e-9, abs=1e-12)
        estimated = (before[2] - before[1]) / (2 * step)
        assert wanted == pytest.approx(estimated, rel=1e-6, abs=1e-6)
        before = after
        for modes in itertools.product(MODES, repeat=order):
            if set(modes) == {"reverse"}:
                continue  # that is `after`
            found = in_graph(derived(program, modes), (VALUE,))[0]
            assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12), modes


@pytest.mark.parametrize(
    "modes", [("forward", "reverse", "reverse"), ("reverse", "forward", "reverse")], ids=" ".join
)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_compiled_derivatives_of_third_order(program, modes):
    """What two loops add to the cotangents of a history belongs to the same values of it."""
    f = derived(program, modes)
    with settings.executor("interpret"):
        wanted = in_graph(f, (VALUE,))[0]
    with settings.executor("llvm"):
        assert in_graph(f, (VALUE,))[0] == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_tf_gradients_to_third_order(program):
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(F64, [])
        ys = [program(x)]
        for _ in range(3):
            slope = tf.gradients(ys[-1], x, unconnected_gradients="zero")[0]
            ys.append(slope)
    with tf.compat.v1.Session(graph=graph) as session:
        found = session.run(ys, {x: VALUE})
    for order, value in enumerate(found):
        wanted = derived(program, ["reverse"] * order)(tf.constant(VALUE, F64))
        assert float(value) == pytest.approx(float(wanted), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_in_a_function(program):
    x = tf.constant(VALUE, F64)
    for modes in [(), ("reverse",), ("reverse", "reverse"), ("reverse", "forward")]:
        wanted = float(derived(program, modes)(x))
        inside = tf.function(derived(program, modes), autograph=False)
        outside = derived(tf.function(program, autograph=False), modes)
        assert float(inside(x)) == pytest.approx(wanted, rel=1e-9, abs=1e-12)
        assert float(outside(x)) == pytest.approx(wanted, rel=1e-9, abs=1e-12)


def recurrent(xs, state, inputs, inner):
    """A recurrent network over [batch, time, 2], both sizes unknown."""
    length = tf.shape(xs)[1]
    steps = tf.TensorArray(F64, length).unstack(tf.transpose(xs, [1, 0, 2]))
    outputs = tf.TensorArray(F64, length)

    def body(i, state, outputs):
        state = tf.tanh(steps.read(i) @ inputs + state @ inner)
        return i + 1, state, outputs.write(i, state)

    _, _, outputs = tf.while_loop(lambda i, *_: i < length, body, (0, state, outputs))
    return tf.reduce_sum(outputs.stack() ** 2)


def test_unknown_sizes():
    random = np.random.default_rng(0)
    arrays = [random.normal(size=shape) for shape in ((4, 5, 2), (4, 3), (2, 3), (3, 3))]
    graph = tf.Graph()
    with graph.as_default():
        shapes = ([None, None, 2], [None, 3], [2, 3], [3, 3])
        xs = [tf.compat.v1.placeholder(F64, shape) for shape in shapes]
        first = tf.gradients(recurrent(*xs), xs)
        second = tf.gradients(tf.add_n([tf.reduce_sum(g * g) for g in first]), xs)
    assert [g.shape.as_list() for g in first] == [list(shape) for shape in shapes]
    eager = [tf.constant(array) for array in arrays]
    with tf.GradientTape() as outer:
        outer.watch(eager)
        with tf.GradientTape() as inner:
            inner.watch(eager)
            y = recurrent(*eager)
        wanted = inner.gradient(y, eager)
        total = tf.add_n([tf.reduce_sum(g * g) for g in wanted])
    wanted += outer.gradient(total, eager)
    with tf.compat.v1.Session(graph=graph) as session:
        found = session.run([*first, *second], dict(zip(xs, arrays)))
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_captured_variables():
    v = tf.Variable(1.3, dtype=F64)

    def power(n):
        return tf.while_loop(lambda i, _: i < n, lambda i, a: (i + 1, a * v), (0, v * 1.0))[1]

    @tf.function(autograph=False)
    def slopes(n):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = power(n)
            first = inner.gradient(y, v)
        return y, first, outer.gradient(first, v)

    for n in (0, 1, 4):
        found = [float(x) for x in slopes(tf.constant(n))]
        k = n + 1
        wanted = [1.3**k, k * 1.3 ** (k - 1), k * (k - 1) * 1.3 ** (k - 2)]
        assert found == pytest.approx(wanted, rel=1e-12)


def test_only_the_branch_taken_counts():
    """The infinite slope of the root at 0 does not reach the other branch."""

    @tf.function(autograph=False)
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.cond(x > 0.0, lambda: tf.sqrt(x), lambda: 2.0 * x)
        return tape.gradient(y, x)

    assert float(slope(tf.constant(0.0))) == 2.0
    assert float(slope(tf.constant(4.0))) == 0.25


def test_back_prop_off():
    @tf.function(autograph=False)
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.while_loop(lambda a: a < 9.0, lambda a: (a * x,), (x,), back_prop=False)[0]
        return tape.gradient(y, x)

    assert slope(tf.constant(2.0)) is None


def with_checkpoints(x):
    """A loop with a loop, a branch and an array inside, its segments run again."""

    def body(i, v, array):
        inner = lambda j, w: (j + 1, tf.sin(w * x) + w)  # noqa: E731
        _, w = tf.while_loop(lambda j, _: j < i % 3, inner, (0, v), swap_memory=True)
        w = tf.cond(i % 2 > 0, lambda: w * 0.5, lambda: tf.tanh(w) + x)
        return i + 1, w, array.write(i, w * x)

    array = tf.TensorArray(F64, 9, element_shape=[])
    found = tf.while_loop(lambda i, *_: i < 9, body, (0, x, array), swap_memory=True)
    xs = tf.scan(lambda a, v: tf.sin(a) * v, found[2].stack(), swap_memory=True)
    return found[1] + tf.reduce_sum(xs**2)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_checkpoints(order):
    for modes in itertools.product(MODES, repeat=order):
        f = derived(with_checkpoints, modes)
        wanted = float(f(tf.constant(VALUE, F64)))
        assert in_graph(f, (VALUE,))[0] == pytest.approx(wanted, rel=1e-9)
        assert float(tf.function(f, autograph=False)(tf.constant(VALUE, F64))) == pytest.approx(
            wanted, rel=1e-9
        )


def test_effects_are_not_run_again_for_checkpoints():
    v = tf.Variable(0.0, dtype=F64)

    @tf.function(autograph=False)
    def slope(x):
        def body(i, a):
            v.assign_add(1.0)
            return i + 1, a * x

        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.while_loop(lambda i, _: i < 5, body, (0, x), swap_memory=True)[1]
        return tape.gradient(y, x)

    assert float(slope(tf.constant(2.0, F64))) == 6 * 2**5 and float(v) == 5.0
