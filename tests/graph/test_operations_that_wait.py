"""What Keras 2 asks graphs in which it trains: who waits for an operation, and where code is."""

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
