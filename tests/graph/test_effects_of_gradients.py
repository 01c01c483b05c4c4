"""What a session does besides when it fetches nothing but the gradient of a call.

As TensorFlow 2.21: Python functions and assertions of the call happen, once; assignments do not,
unless the gradient needs what follows them.
"""

import numpy as np
import pytest

import talweg as tf

V1 = tf.compat.v1


def fetched(build):
    """Per fetch (the gradient, the result, both), what happened."""
    log, found = [], []
    with tf.Graph().as_default(), V1.Session() as session:
        x = V1.placeholder_with_default(np.float32(2.0), [])
        y = build(log)(x)
        g = tf.gradients(y, x)[0]
        session.run(V1.global_variables_initializer())
        for fetch in (g, y, [g, y]):
            log.clear()
            session.run(fetch)
            found.append(list(log))
    return found


def noting(factor):
    def build(log):
        @tf.function
        def f(x):
            tf.py_function(lambda: log.append("f"), [], [])
            return factor(x) * x

        return f

    return build


def in_a_loop(log):
    @tf.function
    def f(x):
        y = tf.constant(1.0)
        for _ in tf.range(2):
            tf.py_function(lambda: log.append("f"), [], [])
            y = y * x
        return y

    return f


@pytest.mark.parametrize("build", [noting(lambda x: x), noting(lambda x: 3.0), in_a_loop])
def test_python_is_called_once_by_each_run(build):
    first, *others = fetched(build)
    assert first and all(found == first for found in others)


def test_an_assertion_fails_in_the_gradient_alone():
    @tf.function
    def f(x):
        tf.debugging.assert_less(x, 1.0)
        return 3.0 * x

    with tf.Graph().as_default(), V1.Session() as session:
        x = V1.placeholder_with_default(np.float32(2.0), [])
        g = tf.gradients(f(x), x)[0]
        assert session.run(g, {x: 0.5}) == 3.0
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(g)


def test_an_assignment_is_not_made_for_the_gradient_alone():
    with tf.Graph().as_default(), V1.Session() as session:
        v = V1.get_variable("v", initializer=0.0, use_resource=True)

        @tf.function
        def f(x):
            v.assign_add(1.0)
            return x * x

        x = V1.placeholder_with_default(np.float32(2.0), [])
        y = f(x)
        g = tf.gradients(y, x)[0]
        session.run(V1.global_variables_initializer())
        assert (session.run(g), session.run(v)) == (4.0, 0.0)
        assert (session.run(y), session.run(v)) == (4.0, 1.0)
