"""Generated programs with branches and loops: eager as Python, in a graph and in a function alike.

A program is data: a list of statements over a few registers, in which branches and loops nest.
"""

from __future__ import annotations

import numpy as np
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

import talweg as tf
from talweg.core import settings as executors

F64 = tf.float64
REGISTERS = 3
OPERATIONS = {
    "sine": lambda a, b: tf.sin(a + b),
    "product": lambda a, b: tf.tanh(a * b),
    "mean": lambda a, b: 0.5 * a + 0.3 * b,
    "bell": lambda a, b: tf.exp(-a * a) * b,
    "whole": lambda a, b: tf.floor(2.0 * a) * b,
    "step": lambda a, b: tf.floor(2.0 * tf.tanh(a)) * tf.tanh(b),
}
# Not "whole", which overflows in loops: the derivatives of infinite values are infinite or NaN, as
# the order of the sums has it.  Programs that were written down have it.
DRAWN = sorted(set(OPERATIONS) - {"whole"})

register = st.integers(0, REGISTERS - 1)
plain = st.tuples(st.just("set"), st.sampled_from(DRAWN), register, register, register)


def blocks(depth, drawing=False):
    """Lists of statements, with branches and loops up to `depth` deep; `drawing`: random ones."""
    simple = st.one_of(plain, st.tuples(st.just("draw"), register)) if drawing else plain
    if depth == 0:
        return st.lists(simple, min_size=1, max_size=3)
    deeper = blocks(depth - 1, drawing)
    statement = st.one_of(
        simple,
        st.tuples(st.just("branch"), register, register, deeper, deeper),
        st.tuples(st.just("loop"), st.integers(0, 3), deeper),
        st.tuples(st.just("bounded"), register, deeper),
        st.tuples(st.just("array"), register, register, deeper),
        st.tuples(st.just("kept"), register, register, deeper),
    )
    return st.lists(statement, min_size=1, max_size=3)


def run_block(block, values):
    """The registers after the statements."""
    for statement in block:
        values = STATEMENTS[statement[0]](values, *statement[1:])
    return values


def run_set(values, name, target, a, b):
    found = list(values)
    found[target] = OPERATIONS[name](values[a], values[b])
    return tuple(found)


def run_branch(values, a, b, yes, no):
    return tf.cond(
        values[a] > values[b], lambda: run_block(yes, values), lambda: run_block(no, values)
    )


def run_loop(values, trips, block):
    _, *found = tf.while_loop(
        lambda i, *_: i < trips, lambda i, *v: (i + 1, *run_block(block, tuple(v))), (0, *values)
    )
    return tuple(found)


def run_bounded(values, a, block):
    """A loop whose length depends on a value."""
    _, *found = tf.while_loop(
        lambda i, *v: tf.logical_and(i < 4, v[a] < 0.6),
        lambda i, *v: (i + 1, *run_block(block, tuple(v))),
        (0, *values),
    )
    return tuple(found)


def run_array(values, a, target, block):
    """A loop that collects a register in an array."""
    array = tf.TensorArray(F64, 3, element_shape=[])

    def body(i, array, *own):
        own = run_block(block, tuple(own))
        return (i + 1, array.write(i, own[a]), *own)

    _, array, *found = tf.while_loop(lambda i, *_: i < 3, body, (0, array, *values))
    found[target] = tf.reduce_sum(array.stack() * [1.0, 0.5, 0.25])
    return tuple(found)


def run_kept(values, a, target, block):
    """A loop of unknown length that collects a register now and then, and one that reads these."""
    array = tf.TensorArray(F64, 0, dynamic_size=True, element_shape=[])

    def body(i, k, array, *own):
        own = run_block(block, tuple(own))
        array, k = tf.cond(
            own[a] > 0.0, lambda: (array.write(k, own[a]), k + 1), lambda: (array, k)
        )
        return (i + 1, k, array, *own)

    _, k, array, *found = tf.while_loop(
        lambda i, k, array, *v: tf.logical_and(i < 4, v[target] < 0.7), body, (0, 0, array, *values)
    )
    _, _, total = tf.while_loop(
        lambda j, *_: j < k,
        lambda j, array, total: (j + 1, array, 0.5 * total + tf.sin(array.read(j))),
        (0, array, tf.zeros([], F64)),
    )
    found[target] = total
    return tuple(found)


def run_draw(values, a):
    """Another register, and a random number."""
    found = list(values)
    found[a] = values[a] * 0.5 + tf.random.uniform([], dtype=F64)
    return tuple(found)


STATEMENTS = {
    "draw": run_draw,
    "kept": run_kept,
    "set": run_set,
    "branch": run_branch,
    "loop": run_loop,
    "bounded": run_bounded,
    "array": run_array,
}


def derivatives(program):
    """A function of x [3]: the value, the gradient, and the gradient of the gradient's square."""

    def value(x):
        found = run_block(program, tuple([x[i] for i in range(REGISTERS)]))
        return found[0] + 0.5 * found[1] * found[2]

    def all_three(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = value(x)
            first = inner.gradient(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)
            size = tf.reduce_sum(first * first)
        zero = tf.UnconnectedGradients.ZERO
        return y, first, outer.gradient(size, x, unconnected_gradients=zero)

    def pushed(x):
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as forward:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = value(x)
            first = tape.gradient(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        return forward.jvp(first, unconnected_gradients=tf.UnconnectedGradients.ZERO)

    return lambda x: (*all_three(x), pushed(x))


@settings(max_examples=40)
@given(program=blocks(2), seed=st.integers(0, 5))
def test_eager_graph_and_function_agree(program, seed):
    point = np.random.default_rng(seed).uniform(-1, 1, REGISTERS)
    f = derivatives(program)
    wanted = [x.numpy() for x in f(tf.constant(point))]
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(F64, [REGISTERS])
        fetches = f(x)
    with tf.compat.v1.Session(graph=graph) as session:
        in_graph = session.run(list(fetches), {x: point})
    in_function = tf.function(f, autograph=False)(tf.constant(point))
    for one, other, third in zip(wanted, in_graph, in_function):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(third, one, rtol=1e-9, atol=1e-12)


NESTED_ARRAYS = [("array", 0, 0, [("array", 0, 0, [("set", "product", 0, 0, 0)])])]
KEPT_BY_NOBODY = [("loop", 0, [("bounded", 0, [("set", "mean", 1, 2, 0)])])]


@settings(max_examples=12, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
@example(program=NESTED_ARRAYS, seed=0)
@example(program=KEPT_BY_NOBODY, seed=1)
@given(program=blocks(2), seed=st.integers(0, 5))
def test_compiled_programs_agree(program, seed):
    point = tf.constant(np.random.default_rng(seed).uniform(-1, 1, REGISTERS))
    f = derivatives(program)
    with executors.executor("llvm"):
        found = tf.function(f, autograph=False)(point)
    for one, other in zip(f(point), found):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-12)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(program=blocks(2, drawing=True), seed=st.integers(0, 5))
def test_compiled_programs_draw_the_same(program, seed):
    point = tf.constant(np.random.default_rng(seed).uniform(-1, 1, REGISTERS))
    results = []
    for executor in ("interpret", "llvm"):
        f = tf.function(derivatives(program), autograph=False)
        tf.random.set_seed(seed)
        with executors.executor(executor):
            results.append([x for _ in range(2) for x in f(point)])
    for one, other in zip(*results):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-12)
