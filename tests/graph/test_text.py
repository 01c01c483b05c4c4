"""Bodies print as text and parse back."""

import numpy as np
import pytest

import talweg as tf
from talweg.execute import interpret
from talweg.graph.text import parse, to_text
from talweg.passes.functionalize import program_of


def round_trip(function, *specs):
    concrete = tf.function(function).get_concrete_function(*specs)
    text = to_text(concrete.body)
    again = parse(text)
    assert to_text(again) == text
    return concrete, again


def run(body, *arrays):
    return interpret.run(program_of(body), list(arrays), {})


def test_a_network_comes_back():
    def network(x, w):
        return tf.nn.softmax(tf.matmul(tf.nn.relu(x), w) + 0.5), tf.reduce_mean(x, axis=0)

    spec = tf.TensorSpec([None, 3]), tf.TensorSpec([3, 2])
    concrete, again = round_trip(network, *spec)
    random = np.random.default_rng(0)
    x, w = random.normal(size=(4, 3)).astype("f"), random.normal(size=(3, 2)).astype("f")
    for a, b in zip(run(concrete.body, x, w), run(again, x, w)):
        np.testing.assert_array_equal(a, b)


def test_branches_and_loops_come_back():
    def program(x):
        y = tf.cond(x > 0.0, lambda: x * 2.0, lambda: x - 1.0)
        return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * y), (0, y))[1]

    concrete, again = round_trip(program, tf.TensorSpec([], tf.float64))
    for value in (0.5, -2.0):
        x = np.float64(value)
        assert run(concrete.body, x) == run(again, x)


def test_symbolic_sizes_come_back():
    def program(x):
        return tf.reshape(x, [tf.shape(x)[0] * 2, -1]), tf.zeros([tf.shape(x)[0]])

    concrete, again = round_trip(program, tf.TensorSpec([None, 4]))
    x = np.arange(12, dtype="f").reshape(3, 4)
    for a, b in zip(run(concrete.body, x), run(again, x)):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "body f(%0: float32[]) {\n  return %0\n",
        "body f(%0: float32[]) {\n  %1 = nothing(%0)\n  return %1\n}",
        "body f(%0: float32[]) {\n  %1 = exp(%7)\n  return %1\n}",
        "body f(%0: float32[]) {\n  %1 = constant() {value=open('x')}\n  return %1\n}",
        "body f(%0: float32[]) {\n  %1 = constant() {value=array('float32', [9999999], 'AAAA')}\n"
        "  return %1\n}",
    ],
)
def test_what_is_not_in_the_language_is_refused(text):
    with pytest.raises(ValueError, match="TW501"):
        parse(text)


def test_calls_of_python_are_shown():
    @tf.function
    def printing(x):
        tf.print("x is", x)
        return x + 1.0

    concrete = printing.get_concrete_function(tf.TensorSpec([], tf.float32))
    assert "python('PrintV2')" in concrete.to_text()
    with pytest.raises(ValueError, match="has no text form"):
        to_text(concrete.body)
