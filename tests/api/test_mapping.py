"""tf.map_fn: what the dtypes of results may be."""

import numpy as np
import pytest

import talweg as tf

X = np.array([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("keyword", ["fn_output_signature", "dtype"])
@pytest.mark.parametrize("in_function", [False, True])
@pytest.mark.parametrize("of", [tuple, list])
def test_classes_of_numpy_are_dtypes(of, in_function, keyword):
    """`np.float64` has attributes `shape` and `dtype`, which are not those of a result."""

    def rows(x):
        one = tf.map_fn(lambda row: row[0], x, **{keyword: np.float64})
        return one, *tf.map_fn(lambda r: of([r[0], r[1]]), x, **{keyword: of([np.float64] * 2)})

    found = (tf.function(rows) if in_function else rows)(tf.constant(X))
    for got, wanted in zip(found, (X[:, 0], X[:, 0], X[:, 1])):
        np.testing.assert_array_equal(got, wanted)


def test_a_function_with_a_rule_tells_what_it_wraps():
    def square(x):
        return x * x, lambda upstream: 2.0 * x * upstream

    assert tf.custom_gradient(square).__original_wrapped__ is square


def test_things_that_say_they_are_tensors():
    class Like:
        is_tensor_like = True

    assert tf.is_tensor(Like()) and not tf.is_tensor(object())
