"""tf.TensorArray, in eager mode and in graphs."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf

OUT = tf.errors.OutOfRangeError
INVALID = tf.errors.InvalidArgumentError


def eager(f):
    return f()


def traced(f):
    return tf.function(f, autograph=False)()


both = pytest.mark.parametrize("run", [eager, traced])


def array(size=2, dtype=tf.float32, **options):
    return tf.TensorArray(dtype, size, **options)


@both
def test_writing_and_reading(run):
    def f():
        a = array(3, clear_after_read=False).write(2, [5.0, 6.0]).write(0, [1.0, 2.0])
        a = a.write(1, tf.constant([3.0, 4.0]))
        return a.stack(), a.concat(), a.read(1), a.gather([2, 0, 2]), a.size()

    stack, concat, one, some, size = run(f)
    np.testing.assert_array_equal(stack, [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(concat, [1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(one, [3, 4])
    np.testing.assert_array_equal(some, [[5, 6], [1, 2], [5, 6]])
    assert int(size) == 3


@both
def test_unstack_scatter_and_split(run):
    def f():
        options = {"clear_after_read": False}
        apart = array(3, **options).unstack([10.0, 20.0, 30.0])
        scattered = array(4, **options).scatter([3, 0, 1], [[1.0], [2.0], [3.0]]).write(2, [9.0])
        pieces = array(3, infer_shape=False, **options).split(tf.range(6.0), [1, 3, 2])
        return apart.read(1), scattered.stack(), pieces.read(1), pieces.concat()

    one, scattered, piece, whole = run(f)
    assert float(one) == 20.0
    np.testing.assert_array_equal(scattered, [[2], [3], [9], [1]])
    np.testing.assert_array_equal(piece, [1, 2, 3])
    np.testing.assert_array_equal(whole, np.arange(6))


@both
def test_growing(run):
    def f():
        a = array(0, dynamic_size=True)
        for number in range(4):
            a = a.write(number, float(number) ** 2)
        return a.stack(), a.size()

    stack, size = run(f)
    np.testing.assert_array_equal(stack, [0, 1, 4, 9])
    assert int(size) == 4


@both
def test_elements_that_were_not_written_are_zero(run):
    np.testing.assert_array_equal(
        run(lambda: array().write(0, [1.0, 2.0]).stack()), [[1, 2], [0, 0]]
    )
    np.testing.assert_array_equal(run(lambda: array(element_shape=[2]).read(1)), [0, 0])
    assert run(lambda: array(0, element_shape=[2]).stack()).shape == [0, 2]


@both
def test_python_values_take_the_dtype(run):
    assert run(lambda: array(1, tf.float64).write(0, 3).read(0)).dtype is tf.float64


def test_what_it_is():
    a = array(3, element_shape=[None, 2], dynamic_size=True)
    assert (a.dtype, a.dynamic_size, a.handle) == (tf.float32, True, None)
    assert a.element_shape.as_list() == [None, 2]
    assert array().write(0, [1.0, 2.0]).element_shape.as_list() == [2]
    assert a.identity() is a and a.close() is None and int(a.size()) == 0
    spec = tf.TensorArraySpec.from_value(array(element_shape=[3]))
    assert spec == tf.TensorArraySpec([3], tf.float32) and spec.value_type is tf.TensorArray
    with pytest.raises(NotImplementedError):
        a.grad("source")


def test_static_shapes_in_a_graph():
    found = {}

    @tf.function(input_signature=[tf.TensorSpec([None, 3])], autograph=False)
    def run(x):
        n = tf.shape(x)[0]
        a = tf.TensorArray(tf.float32, n).unstack(x)
        found["read"], found["stack"] = a.read(0).shape, a.stack().shape
        out = tf.TensorArray(tf.float32, n)
        _, out = tf.while_loop(
            lambda i, _: i < n, lambda i, o: (i + 1, o.write(i, a.read(i) * 2.0)), (0, out)
        )
        found["out"], found["loose"] = out.stack().shape, array(infer_shape=False).stack().shape
        return out.stack() + x

    np.testing.assert_array_equal(run(tf.ones([2, 3])), 3 * np.ones([2, 3]))
    assert {key: shape.rank and shape.as_list() for key, shape in found.items()} == {
        "read": [3],
        "stack": [None, 3],
        "out": [None, 3],
        "loose": None,
    }


def test_eager_errors():
    for kind, text, f in (
        (ValueError, "Size must be declared", lambda: tf.TensorArray(tf.float32)),
        (OUT, "index 5 but array size is: 2", lambda: array().read(5)),
        (OUT, "not resizeable", lambda: array().write(5, 1.0)),
        (OUT, "negative", lambda: array().write(-1, 1.0)),
        (OUT, "not resizeable", lambda: array().scatter([0, 5], [1.0, 2.0])),
        (ValueError, "partially known", lambda: array().read(0)),
        (ValueError, "expected", lambda: array().write(0, [1.0, 2.0]).write(1, [1.0])),
        (ValueError, "expected", lambda: array(element_shape=[3]).write(0, [1.0])),
        (INVALID, "write dtype int32", lambda: array().write(0, tf.constant(1))),
        (ValueError, "Cannot unstack 3", lambda: array().unstack([1.0, 2.0, 3.0])),
        (INVALID, "sum of lengths", lambda: array().split([1.0, 2.0, 3.0], [1, 1])),
        (INVALID, "2 vs. 3", lambda: array().split([1.0, 2.0, 3.0], [1, 1, 1])),
        (INVALID, "empty", lambda: array(0).concat()),
    ):
        with pytest.raises(kind, match=text):
            f()
    a = array().write(0, 1.0)
    a.read(0)
    with pytest.raises(INVALID, match="cleared"):
        a.read(0)


def test_errors_when_a_graph_runs():
    for text, f in (
        ("array size is: 2", lambda: array().read(5)),
        ("not written", lambda: array().read(0)),
        ("not resizeable", lambda: array().write(5, 1.0).stack()),
        ("not resizeable", lambda: array().write(-1, 1.0).stack()),
        ("not resizeable", lambda: array().scatter([0, 5], [1.0, 2.0]).stack()),
        ("no written element", lambda: array().stack()),
        ("sum of lengths", lambda: array().split([1.0, 2.0, 3.0], [1, 1]).concat()),
    ):
        with pytest.raises(INVALID, match=text):
            traced(f)


@both
def test_results_of_branches(run):
    def f():
        yes = lambda: array().write(0, 3.0)  # noqa: E731
        no = lambda: array().write(1, 4.0)  # noqa: E731
        x = tf.identity(tf.constant(1.0))
        return tf.cond(x > 0.0, yes, no).stack(), tf.cond(x < 0.0, yes, no).stack()

    first, second = run(f)
    np.testing.assert_array_equal(first, [3, 0])
    np.testing.assert_array_equal(second, [0, 4])


@both
def test_gradients(run):
    """Through every operation, the elements used twice, once and never."""
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], tf.float64)

    def f():
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                options = {"dtype": tf.float64, "clear_after_read": False}
                a = array(3, **options).unstack(x * x)
                b = array(3, **options).scatter([2, 0], a.gather([1, 1]) * x[:2])
                b = b.write(1, a.read(2) + a.read(0))
                lengths = tf.constant([1, 2])
                c = array(2, infer_shape=False, **options).split(b.concat()[:3] * x[0, 0], lengths)
                y = tf.reduce_sum(b.stack() ** 2) + tf.reduce_sum(c.concat() * c.read(0))
            first = inner.gradient(y, x)
            size = tf.reduce_sum(first**2)
        return y, first, outer.gradient(size, x)

    found = run(f)
    a = x.numpy() ** 2
    b = np.stack([a[1] * x.numpy()[1], a[2] + a[0], a[1] * x.numpy()[0]])
    c = b.reshape(-1)[:3] * x.numpy()[0, 0]
    assert float(found[0]) == pytest.approx((b**2).sum() + (c * c[0]).sum())
    wanted = eager(f)
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one, other, rtol=1e-12)
