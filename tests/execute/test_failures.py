"""What fails as machine code fails as it does in the interpreter: class, text, line, variables."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings

ROWS, NUMBER = tf.TensorSpec([None, None]), tf.TensorSpec([], tf.int32)
X = np.arange(12, dtype=np.float32).reshape(3, 4)


class Holder:
    """Variables that a step has written before it fails."""

    def __init__(self):
        self.total = tf.Variable(tf.zeros([3]))
        self.table = tf.Variable(np.ones((3, 2), np.float32))


def fixed_index_too_large(own, x, n):
    return x[n, 7]


def fixed_index_too_small(own, x, n):
    return x[n, -5]


def first_index_too_large(own, x, n):
    return x[4, n]


def index_on_an_empty_axis(own, x, n):
    return x[:, :0][n, 0]


def computed_index(own, x, n):
    return x[n + 2]


def computed_index_too_small(own, x, n):
    return x[n - 5]


def gradient_of_a_computed_index(own, x, n):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x[n, 6] * 2.0
    return tape.gradient(y, x)


def slice_too_long(own, x, n):
    return tf.slice(x, [n, 0], [3, 2])


def slice_of_computed_length(own, x, n):
    return tf.slice(x, [2, 0], [n + 1, 2])


def rows_after_a_write(own, x, n):
    own.total.assign_add(tf.reshape(x[:, 0], [3]))
    return tf.gather(x, [0, n + 2])


def rows_of_a_variable(own, x, n):
    own.total.assign_add([1.0, 2.0, 3.0])
    own.table.scatter_add(tf.IndexedSlices(tf.ones([2, 2]), tf.stack([0, n + 2])))
    return x


def labels(own, x, n):
    own.total.assign_add([1.0, 2.0, 3.0])
    return tf.nn.sparse_softmax_cross_entropy_with_logits([0, 1, n + 3], x)


def in_a_late_trip(own, x, n):
    for i in tf.range(6):
        own.total.assign_add([1.0, 2.0, 3.0])
        x += tf.gather(x, i)
    return x


def in_an_endless_loop(own, x, n):
    i = 0
    while tf.reduce_sum(own.total) < 100.0:
        own.total.assign_add(tf.gather(x, [i, 0, 0])[:, 1])
        i += 1
    return i


def in_a_branch(own, x, n):
    own.total.assign_add([1.0, 2.0, 3.0])
    if n > 0:
        x = tf.gather(x, n + 3)
    return x


def in_another_function(own, x, n):
    return inner(x, n) + 1.0


@tf.function
def inner(x, n):
    return tf.gather(x, n + 2, axis=0)


def an_assertion(own, x, n):
    own.total.assign_add([1.0, 2.0, 3.0])
    tf.debugging.assert_less(n, 1, "n is too large")
    return x


def a_wrong_shape(own, x, n):
    own.total.assign_add([1.0, 2.0, 3.0])
    return tf.ensure_shape(x, [None, 5])


def sizes_that_differ(own, x, n):
    return x + x[:, :3]


def a_product(own, x, n):
    return x @ x


def a_reshape(own, x, n):
    return tf.reshape(x, [5, -1])


def a_number_that_is_none(own, x, n):
    return tf.debugging.check_numerics(x / 0.0, "x")


def an_element_of_an_array(own, x, n):
    array = tf.TensorArray(tf.float32, 3, element_shape=[4]).unstack(x)
    return array.read(n + 2)


def an_element_written_too_far(own, x, n):
    array = tf.TensorArray(tf.float32, 3, element_shape=[4])
    for i in tf.range(n + 3):
        array = array.write(i, x[0])
    return array.stack()


def a_division(own, x, n):
    return tf.range(4) // (n - 1)


def a_power(own, x, n):
    return tf.range(4) ** (n - 3)


def a_function_in_python(own, x, n):
    own.total.assign_add([1.0, 2.0, 3.0])
    return tf.numpy_function(_refuse, [x], tf.float32) + 1.0


def _refuse(x):
    raise ValueError("not this")


def an_assertion_in_a_loop(own, x, n):
    for i in tf.range(n + 4):
        tf.debugging.assert_less(i, 3, "i is too large")
        x = tf.sin(x)
    return x


def an_inverse(own, x, n):
    return tf.linalg.inv(tf.reshape(x[:2, :2], [2, 2]) * 0.0) + 1.0


def an_equation(own, x, n):
    return tf.linalg.solve(tf.zeros([2, 2]) * x[0, 0], tf.ones([2, 1]))


def columns_sorted_by_a_wrong_axis(own, x, n):
    return tf.math.top_k(x[0], n + 7).values


FAILING = [
    fixed_index_too_large,
    fixed_index_too_small,
    first_index_too_large,
    index_on_an_empty_axis,
    computed_index,
    computed_index_too_small,
    gradient_of_a_computed_index,
    slice_too_long,
    slice_of_computed_length,
    rows_after_a_write,
    rows_of_a_variable,
    labels,
    in_a_late_trip,
    in_an_endless_loop,
    in_a_branch,
    in_another_function,
    an_assertion,
    a_wrong_shape,
    sizes_that_differ,
    a_product,
    a_reshape,
    a_number_that_is_none,
    an_element_of_an_array,
    an_element_written_too_far,
    a_division,
    a_power,
    a_function_in_python,
    an_assertion_in_a_loop,
    an_inverse,
    an_equation,
    columns_sorted_by_a_wrong_axis,
]


def outcome(program, executor):
    """The error, without where it was called, and what variables are after it."""
    own = Holder()
    step = tf.function(lambda x, n: program(own, x, n), input_signature=[ROWS, NUMBER])
    with settings.executor(executor), pytest.raises(Exception) as caught:
        step(X, 1)
    return type(caught.value), str(caught.value), own.total.numpy(), own.table.numpy()


@pytest.mark.filterwarnings("error")
def test_called_kernels_do_not_warn():
    """NumPy's, for complex numbers, are as quiet as in the interpreter."""
    x = tf.constant([3e38 + 3e38j, 0j], tf.complex64)
    with settings.executor("llvm"):
        found = tf.function(lambda x: x * x / x[1])(x)
    assert not np.isfinite(found).any()


@pytest.mark.parametrize("program", FAILING, ids=lambda program: program.__name__)
def test_failures(program):
    wanted, found = outcome(program, "interpret"), outcome(program, "llvm")
    assert found[:2] == wanted[:2]
    same = all(np.array_equal(x, y) for x, y in zip(found[2:], wanted[2:]))
    assert same or (not found[2].any() and (found[3] == 1).all())  # nothing: where Python says so
