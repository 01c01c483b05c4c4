"""Variables as arguments of traced functions: one trace for those of one shape and dtype."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings


@pytest.fixture(params=["interpret", "llvm"])
def executor(request):
    with settings.executor(request.param):
        yield request.param


def values(*variables):
    return [float(v) for v in variables]


def test_one_trace_serves_variables_of_one_kind(executor):
    f = tf.function(lambda v: v.read_value())
    assert [float(f(tf.Variable(float(i)))) for i in range(5)] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert f.experimental_get_tracing_count() == 1
    f(tf.Variable(1)), f(tf.Variable([1.0])), f(tf.Variable(1.0, trainable=False))
    assert f.experimental_get_tracing_count() == 4


def test_which_arguments_are_the_same_variable_is_part_of_the_key(executor):
    @tf.function
    def f(a, b):
        a.assign_add(b)
        return a * b

    v, w = tf.Variable(1.0), tf.Variable(2.0)
    assert float(f(v, w)) == 6.0 and float(f(w, v)) == 15.0
    assert f.experimental_get_tracing_count() == 1
    assert float(f(v, v)) == 36.0 and float(f(w, w)) == 100.0
    assert f.experimental_get_tracing_count() == 2
    assert values(v, w) == [6.0, 10.0]


def test_updates_in_loops_and_branches_go_to_the_variable_that_is_given(executor):
    @tf.function
    def f(v, n):
        for _ in tf.range(n):
            v.assign_add(1.0)
        if v > 3.0:
            v.assign(0.0)
        return v

    v, w = tf.Variable(0.0), tf.Variable(0.0)
    for _ in range(3):
        f(v, tf.constant(1)), f(w, tf.constant(2))
    assert values(v, w) == [3.0, 2.0] and f.experimental_get_tracing_count() == 1


def test_variables_in_nests(executor):
    f = tf.function(lambda d: d["a"] - d["b"][0])
    v, w = tf.Variable(1.0), tf.Variable(3.0)
    assert float(f({"a": v, "b": [w]})) == -2.0 and float(f({"a": w, "b": [v]})) == 2.0
    assert f.experimental_get_tracing_count() == 1


def test_gradients_by_the_variable_that_is_given(executor):
    f = tf.function(lambda v, x: v * v * x)
    for value in (2.0, 5.0):
        v = tf.Variable(value)
        with tf.GradientTape(persistent=True) as tape:
            y = f(v, tf.constant(3.0))
            z = f(v, tf.constant(3.0)) * v
        assert float(tape.gradient(y, v)) == 6.0 * value
        assert float(tape.gradient(z, v)) == 9.0 * value**2
    assert f.experimental_get_tracing_count() == 1


def test_a_gradient_after_an_update_and_one_inside(executor):
    @tf.function
    def f(v):
        with tf.GradientTape() as tape:
            y = v * v
        v.assign_sub(0.5 * tape.gradient(y, v))
        return v * 3.0

    for value in (2.0, 5.0):
        v = tf.Variable(value)
        with tf.GradientTape() as tape:
            y = f(v)
        assert float(y) == 0.0 and float(v) == 0.0
        assert float(tape.gradient(y, v)) == 3.0


def test_a_variable_that_is_also_captured(executor):
    v = tf.Variable(1.0)

    @tf.function
    def f(a):
        a.assign_add(1.0)
        v.assign_add(10.0)
        return a + 0.0

    w, x = tf.Variable(2.0), tf.Variable(5.0)
    for _ in range(2):
        f(w), f(v), f(x)
    assert values(v, w, x) == [63.0, 4.0, 7.0]


def test_the_captured_one_first(executor):
    v = tf.Variable(1.0)

    @tf.function
    def f(a):
        return a.assign_add(v)

    f(v)
    w = tf.Variable(5.0)
    f(w)
    assert values(v, w) == [2.0, 7.0]


def test_a_function_that_asks_which_variable_it_is_given():
    special, slots = tf.Variable(1.0), {}

    @tf.function
    def f(v):
        if v is special:
            return v + slots[v.ref()]
        return -v

    slots[special.ref()] = 10.0
    assert float(f(special)) == 11.0
    assert float(f(tf.Variable(1.0))) == -1.0
    assert float(f(special)) == 11.0


def test_methods_and_what_they_see():
    class Owner(tf.Module):
        def __init__(self):
            super().__init__()
            self.parts = [tf.Variable(1.0), tf.Variable(2.0)]

        @tf.function
        def f(self, v):
            return v * self.parts[0]

    owner = Owner()
    assert [float(owner.f(v)) for v in owner.parts] == [1.0, 2.0]
    assert float(owner.f(tf.Variable(7.0))) == 7.0
    owner.parts[0].assign(3.0)
    assert [float(owner.f(v)) for v in owner.parts] == [9.0, 6.0]


def test_calls_inside_other_functions(executor):
    f = tf.function(lambda v: v.assign_add(1.0))
    v, w = tf.Variable(1.0), tf.Variable(10.0)
    f(v)

    @tf.function
    def outer():
        f(v), f(w), f(v)

    outer()
    assert values(v, w) == [4.0, 11.0]


def test_concrete_functions_take_variables():
    f = tf.function(lambda v, x: v * x)
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    concrete = f.get_concrete_function(v, tf.TensorSpec([], tf.float32))
    assert float(concrete(w, tf.constant(5.0))) == 15.0
    assert float(concrete(v, tf.constant(5.0))) == 10.0
    assert concrete.variables == () and concrete.captured_inputs == []
    (spec, _), _ = concrete.structured_input_signature
    assert repr(spec) == "VariableSpec(shape=(), dtype=tf.float32, trainable=True, alias_id=0)"
    with pytest.raises(TypeError):
        concrete(tf.Variable(1), tf.constant(5.0))
    outer = tf.function(lambda: concrete(w, tf.constant(7.0)))
    assert float(outer()) == 21.0


def test_a_trace_keeps_no_variable_alive():
    f = tf.function(lambda pair: pair[0] + pair[1])
    v = tf.Variable(1.0)
    gone = weakref.ref(v)
    f((v, tf.Variable(2.0)))
    del v
    gc.collect()
    assert gone() is None
    assert float(f((tf.Variable(3.0), tf.Variable(4.0)))) == 7.0
    assert f.experimental_get_tracing_count() == 1


def test_sizes_and_variables_are_relaxed_apart():
    f = tf.function(lambda v, x: tf.reduce_sum(x) * v)
    for size in range(1, 6):
        assert float(f(tf.Variable(2.0), tf.ones([size]))) == 2.0 * size
    assert f.experimental_get_tracing_count() == 3


def test_rows_are_written_in_place_in_the_variable_that_is_given(executor):
    f = tf.function(lambda v, i: v.scatter_nd_add(i, [[1.0, 1.0]]))
    variables = [tf.Variable(tf.zeros([3, 2])) for _ in range(3)]
    before = variables[2].read_value()
    for turn in range(2):
        for number, v in enumerate(variables):
            f(v, tf.constant([[number]]))
    for number, v in enumerate(variables):
        np.testing.assert_array_equal(v.numpy().sum(1), 4.0 * np.eye(3)[number])
    assert before.numpy().sum() == 0.0 and f.experimental_get_tracing_count() == 1
