"""Generated programs with control flow: eager, function, function under function agree.

A program is a small tree of statements over two float64 state variables; it is run as Python on
eager tensors, traced with AutoGraph, traced along paths (no AutoGraph), and called from a traced
function.  Values, first and second derivatives agree.
"""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import talweg as tf

UNARY = {
    "sin": tf.sin,
    "tanh": tf.tanh,
    "square": lambda v: v * v * 0.5,
    "shift": lambda v: v + 0.25,
}


def expressions():
    return st.recursive(
        st.sampled_from(["x", "y"]),
        lambda inner: st.one_of(
            st.tuples(st.sampled_from(sorted(UNARY)), inner),
            st.tuples(st.sampled_from(["+", "*", "-"]), inner, inner),
        ),
        max_leaves=4,
    )


def statements(depth):
    assign = st.tuples(st.just("set"), st.sampled_from(["x", "y"]), expressions())
    if not depth:
        return assign
    block = st.lists(statements(depth - 1), min_size=1, max_size=2)
    return st.one_of(
        assign,
        st.tuples(st.just("if"), expressions(), block, block),
        st.tuples(st.just("repeat"), st.integers(1, 3), block),
    )


def value(expression, state):
    if isinstance(expression, str):
        return state[expression]
    name, *parts = expression
    parts = [value(part, state) for part in parts]
    if name in UNARY:
        return UNARY[name](parts[0])
    a, b = parts
    return a + b if name == "+" else a * b if name == "*" else a - b


def run(program, state, graph):
    """The state after a program; with `graph`, tensors decide by tf.cond and tf.while_loop."""
    for kind, *rest in program:
        if kind == "set":
            name, expression = rest
            state = {**state, name: tf.clip_by_value(value(expression, state), -3.0, 3.0)}
        elif kind == "if":
            condition, then, other = rest
            decision = value(condition, state) > 0.1
            if graph:
                state = tf.cond(
                    decision,
                    lambda s=state, p=then: run(p, s, graph),
                    lambda s=state, p=other: run(p, s, graph),
                )
            elif decision:
                state = run(then, state, graph)
            else:
                state = run(other, state, graph)
        else:
            count, body = rest
            if graph:
                _, state = tf.while_loop(
                    lambda i, s, n=count: i < n,
                    lambda i, s, p=body: (i + 1, run(p, s, graph)),
                    (tf.constant(0), state),
                )
            else:
                for _ in range(count):
                    state = run(body, state, graph)
    return state


def derivatives(f, x, y):
    """Value, gradient and gradient of a weighted sum of the gradient."""
    with tf.GradientTape() as outer:
        outer.watch([x, y])
        with tf.GradientTape() as inner:
            inner.watch([x, y])
            result = f(x, y)
        first = inner.gradient(result, [x, y], unconnected_gradients="zero")
        mixed = first[0] * 0.7 + first[1] * 1.3
    second = outer.gradient(mixed, [x, y], unconnected_gradients="zero")
    return [float(v) for v in (result, *first, *second)]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(
    st.lists(statements(2), min_size=1, max_size=3),
    st.floats(-1.5, 1.5),
    st.floats(-1.5, 1.5),
)
def test_programs_agree(program, a, b):
    x, y = tf.constant(a, tf.float64), tf.constant(b, tf.float64)

    def result(graph):
        def f(x, y):
            state = run(program, {"x": x, "y": y}, graph)
            return state["x"] * 1.5 + state["y"] * state["x"]

        return f

    eager = derivatives(result(False), x, y)
    traced = tf.function(result(True), autograph=False)
    np.testing.assert_allclose(derivatives(traced, x, y), eager, rtol=1e-8, atol=1e-10)
    nested = tf.function(lambda x, y: traced(x, y) * 1.0, autograph=False)
    np.testing.assert_allclose(derivatives(nested, x, y), eager, rtol=1e-8, atol=1e-10)
    inside = tf.function(lambda x, y: tf.stack(_tensors(traced, x, y)), autograph=False)
    np.testing.assert_allclose(inside(x, y).numpy(), eager, rtol=1e-8, atol=1e-10)


def _tensors(f, x, y):
    with tf.GradientTape() as outer:
        outer.watch([x, y])
        with tf.GradientTape() as inner:
            inner.watch([x, y])
            result = f(x, y)
        first = inner.gradient(result, [x, y], unconnected_gradients="zero")
        mixed = first[0] * 0.7 + first[1] * 1.3
    second = outer.gradient(mixed, [x, y], unconnected_gradients="zero")
    return [result, *first, *second]


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(st.lists(statements(1), min_size=1, max_size=2), st.floats(-1.5, 1.5))
def test_paths_agree_with_branches(program, a):
    """Python's `if` on tensors, traced along every path, gives what eager Python gives."""
    x, y = tf.constant(a, tf.float64), tf.constant(0.3, tf.float64)

    def f(x, y):
        state = run(program, {"x": x, "y": y}, False)
        return state["x"] + state["y"]

    paths = tf.function(f, autograph=False)
    np.testing.assert_allclose(
        derivatives(paths, x, y), derivatives(f, x, y), rtol=1e-8, atol=1e-10
    )
