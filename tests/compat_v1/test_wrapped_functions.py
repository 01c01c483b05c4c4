"""compat.v1.wrap_function and prune: frozen graphs and variables as eager functions."""

import pytest

import talweg as tf

v1 = tf.compat.v1


def frozen():
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        y = tf.matmul(x, tf.constant([[1.0], [2.0]]), name="y")
        tf.nn.relu(y, name="z")
    return graph.as_graph_def()


def test_a_frozen_graph_becomes_a_function():
    message = frozen()
    wrapped = v1.wrap_function(lambda: v1.import_graph_def(message, name=""), [])
    element = wrapped.graph.as_graph_element
    function = wrapped.prune(
        tf.nest.map_structure(element, ["x:0"]), tf.nest.map_structure(element, {"z": "z:0"})
    )
    x = tf.constant([[1.0, 2.0], [-3.0, 0.0]])
    assert function(x)["z"].numpy().tolist() == [[5.0], [0.0]]
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = function(x)["z"]
    assert tape.gradient(found, x).numpy().tolist() == [[1.0, 2.0], [0.0, 0.0]]
    assert tf.function(lambda x: function(x)["z"])(x).numpy().tolist() == [[5.0], [0.0]]


def test_inner_tensors_may_be_fed():
    message = frozen()
    wrapped = v1.wrap_function(lambda: tf.import_graph_def(message, name=""), [])
    relu = wrapped.prune("y:0", "z:0")
    assert relu(tf.constant([[-1.0], [4.0]])).numpy().tolist() == [[0.0], [4.0]]


def test_variables_are_kept_and_change():
    def step(x):
        v = v1.get_variable("v", initializer=3.0)
        with tf.control_dependencies([v.assign_add(1.0)]):
            return v * x

    wrapped = v1.wrap_function(step, [tf.TensorSpec([], tf.float32)])
    assert [float(wrapped(tf.constant(2.0))) for _ in range(2)] == [8.0, 10.0]
    (variable,) = wrapped.trainable_variables
    assert float(variable) == 5.0 and variable.name == "v:0"
    with tf.GradientTape() as tape:
        found = wrapped(tf.constant(7.0))
    assert float(tape.gradient(found, variable)) == 7.0


def test_what_is_not_fed_or_not_there_is_refused():
    message = frozen()
    wrapped = v1.wrap_function(lambda: v1.import_graph_def(message, name=""), [])
    with pytest.raises(ValueError, match="has no value here"):
        wrapped.prune([], "z:0")()
    with pytest.raises(KeyError, match="w:0"):
        wrapped.prune("w:0", "z:0")
    with pytest.raises(TypeError, match="takes 1 tensors"):
        wrapped.prune("x:0", "z:0")()
