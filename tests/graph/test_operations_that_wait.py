"""What Keras 2 asks graphs in which it trains: who waits for an operation, and where code is."""

from types import SimpleNamespace

import pytest

import talweg as tf


def test_operations_that_wait_for_another():
    with tf.Graph().as_default():
        a = tf.compat.v1.placeholder(tf.float32, name="a")
        with tf.control_dependencies([a]):
            waiting = tf.no_op(name="waiting")
        assert [operation.name for operation in a.op._control_outputs] == ["waiting"]
        assert waiting._control_outputs == []


def test_inside_a_function():
    """It was true in any graph: Keras 2 then finds no session to train in."""
    seen = {}

    @tf.function
    def function():
        seen["function"] = tf.inside_function()
        with tf.init_scope():
            seen["outside"] = tf.inside_function()
        with tf.Graph().as_default():
            seen["graph in it"] = tf.inside_function()
        return 1

    function()
    with tf.Graph().as_default():
        seen["graph"] = tf.inside_function()

        def branch():
            seen["branch"] = tf.inside_function()
            return 1

        tf.cond(tf.constant(1.0) > 0.0, branch, lambda: 2)
    assert [name for name, inside in seen.items() if inside] == ["function", "branch"]
    assert not tf.inside_function()


def test_callables_from_options():
    """Keras 2 trains in graphs by them: feeds, fetches, targets, tensors that feed others."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, name="x")
        y = tf.compat.v1.placeholder(tf.float32, name="y")
        three = tf.constant(3.0, name="three")
        count = tf.compat.v1.Variable(0.0, use_resource=True)
        update = count.assign_add(1.0, read_value=False)
        product = tf.multiply(x, y, name="product")
        session.run(tf.compat.v1.global_variables_initializer())
        connection = SimpleNamespace(from_tensor=three.name, to_tensor=y.name)
        call = session._make_callable_from_options(
            SimpleNamespace(
                feed=[x.name],
                fetch=[product.name],
                target=[update.name],
                tensor_connection=[connection],
                run_options=None,
            )
        )
        assert [call(2.0), call(5.0)] == [[6.0], [15.0]]
        assert session.run(count) == 2.0
        with pytest.raises(ValueError, match="takes 2 values"):
            call(1.0, 2.0)
