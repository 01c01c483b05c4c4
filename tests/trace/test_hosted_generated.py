"""Generated programs of what can be compiled and what cannot: compiled and interpreted alike.

A program is a list of statements over matrices [5, 5] and vectors, of which some have a length that
only a run tells.
"""

from __future__ import annotations

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import talweg as tf
from talweg.core import settings as executors

SIZE = 5


def positive(values, a, b):
    """The elements of one matrix where another is positive."""
    return tf.boolean_mask(values[a], values[b] > 0)


def set_static(values, target, a, b, kind):
    x, y = values[a], values[b]
    found = {
        "product": lambda: tf.tanh(x @ y),
        "sum": lambda: 0.5 * x + tf.sin(y),
        "rows": lambda: x - tf.reduce_mean(y, 0),
    }[kind]()
    return {**values, target: found}


def set_masked(values, target, a, b, kind):
    kept = positive(values, a, b)
    found = {
        "sum": lambda: tf.reduce_sum(kept),
        "count": lambda: tf.cast(tf.size(kept), tf.float64),
        "best": lambda: tf.reduce_max(tf.concat([kept, [0.0]], 0)),
    }[kind]()
    return {**values, target: tf.tanh(values[target] + 0.1 * found)}


def set_places(values, target, a, b, kind):
    places = tf.where(values[a] > values[b])
    picked = tf.gather_nd(values[b], places)
    spread = tf.scatter_nd(places, picked * picked, [SIZE, SIZE])
    return {**values, target: 0.5 * values[target] + spread}


def set_unique(values, target, a, b, kind):
    ids = tf.cast(tf.floor(values[a][0] * 2.0), tf.int32)
    found, places = tf.unique(ids)
    sums = tf.math.unsorted_segment_sum(values[b], places, tf.size(found))
    return {**values, target: tf.tanh(tf.gather(sums, places))}


def run_loop(values, target, a, b, kind):
    names = sorted(values)

    def body(i, *own):
        own = STATEMENTS[kind](dict(zip(names, own)), target, a, b, "sum")
        return (i + 1, *[own[name] for name in names])

    _, *found = tf.while_loop(lambda i, *_: i < 3, body, (0, *[values[n] for n in names]))
    return dict(zip(names, found))


def run_branch(values, target, a, b, kind):
    def changed():
        return STATEMENTS[kind](values, target, a, b, "sum")[target]

    # not at 0: what lacks its own mean sums to 0 and some rounding errors, with which it would turn
    x = tf.cond(tf.reduce_sum(values[a]) > 0.01, changed, lambda: tf.sin(values[target]))
    return {**values, target: x}


STATEMENTS = {
    "static": set_static,
    "masked": set_masked,
    "places": set_places,
    "unique": set_unique,
}
name = st.sampled_from("xyz")
inner = st.sampled_from(sorted(STATEMENTS))
statement = st.one_of(
    st.tuples(st.just(set_static), name, name, name, st.sampled_from(["product", "sum", "rows"])),
    st.tuples(st.just(set_masked), name, name, name, st.sampled_from(["sum", "count", "best"])),
    st.tuples(st.just(set_places), name, name, name, st.none()),
    st.tuples(st.just(set_unique), name, name, name, st.none()),
    st.tuples(st.just(run_loop), name, name, name, inner),
    st.tuples(st.just(run_branch), name, name, name, inner),
)


def made(program):
    """A function of three matrices: their values after the program, two derivatives, a part."""

    def values_after(x, y, z):
        values = {"x": x, "y": y, "z": z}
        for run, *arguments in program:
            values = run(values, *arguments)
        return values

    def function(x, y, z):
        with tf.GradientTape() as tape:
            tape.watch((x, y))
            values = values_after(x, y, z)
            total = tf.add_n([tf.reduce_sum(v * v) for v in values.values()])
        slopes = tape.gradient(total, (x, y), unconnected_gradients="zero")
        return (*values.values(), *slopes, positive(values, "x", "y"))

    return function


@settings(max_examples=15, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
@given(program=st.lists(statement, min_size=2, max_size=6), seed=st.integers(0, 5))
def test_compiled_programs_agree(program, seed):
    random = np.random.default_rng(seed)
    point = [tf.constant(random.uniform(-1, 1, (SIZE, SIZE))) for _ in range(3)]
    found = []
    for executor in ("interpret", "llvm"):
        with executors.executor(executor):
            found.append(tf.function(made(program), autograph=False)(*point))
    for one, other in zip(*found):
        assert one.shape == other.shape
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-12)
