"""Saved models in graphs of TensorFlow 1: functions traced there, and loading there."""

import gc
import weakref

import numpy as np
import pytest

import talweg as tf

v1 = tf.compat.v1


class Scale(tf.Module):
    def __init__(self):
        super().__init__()
        self.factor = tf.Variable([2.0, 3.0], name="factor")
        self.hidden = tf.Variable(1.0, trainable=False)
        self.times = tf.function(lambda x: x * self.factor + self.hidden)
        self.get = tf.function(lambda: self.factor)


def saved_in_a_graph(folder):
    """Save with values of a session that are not the first ones."""
    with tf.Graph().as_default(), v1.Session() as session:
        module = Scale()
        module.times.get_concrete_function(tf.TensorSpec([None]))
        module.get.get_concrete_function()
        session.run(v1.global_variables_initializer())
        session.run(module.factor.assign_add([1.0, 1.0]))
        with session.as_default():
            tf.saved_model.save(module, folder)
    return folder


def test_functions_traced_in_a_graph_are_saved_with_the_values_of_the_session(tmp_path):
    loaded = tf.saved_model.load(saved_in_a_graph(str(tmp_path)))
    np.testing.assert_array_equal(loaded.get(), [3.0, 4.0])
    np.testing.assert_array_equal(loaded.times([1.0, 2.0]), [4.0, 9.0])


def test_loaded_variables_belong_to_the_graph_and_are_initialized_with_saved_values(tmp_path):
    """Recorded from TensorFlow 2.21."""
    folder = saved_in_a_graph(str(tmp_path))
    with tf.Graph().as_default(), v1.Session() as session:
        v1.get_variable("factor", [1])
        loaded = tf.saved_model.load(folder)
        assert {v.name for v in v1.global_variables()} == {"factor:0", "factor_1:0", "Variable:0"}
        assert [v.name for v in v1.trainable_variables()] == ["factor:0"]
        assert loaded.factor.trainable and not loaded.hidden.trainable
        times, got = loaded.times(tf.constant([1.0, 2.0])), loaded.get()
        with pytest.raises(tf.errors.FailedPreconditionError, match="factor_1"):
            session.run(times)
        session.run(v1.global_variables_initializer())
        assert session.run(times).tolist() == [4.0, 9.0]
        assert session.run(loaded.factor.assign_add([1.0, 1.0])).tolist() == [4.0, 5.0]
        assert session.run(got).tolist() == [4.0, 5.0]
        session.run(loaded.factor.initializer)
        assert session.run(got).tolist() == [3.0, 4.0]
    with tf.Graph().as_default(), v1.Session() as session:  # another one has values of its own
        loaded = tf.saved_model.load(folder)
        session.run(v1.variables_initializer([loaded.factor, loaded.hidden]))
        assert session.run(loaded.times([1.0, 2.0])).tolist() == [4.0, 9.0]


def test_a_loaded_model_does_not_keep_the_graph(tmp_path):
    folder = saved_in_a_graph(str(tmp_path))
    graph = tf.Graph()
    with graph.as_default():
        loaded = tf.saved_model.load(folder)
        loaded.get()
    seen = weakref.ref(graph)
    del graph
    gc.collect()
    assert seen() is None
    with pytest.raises(RuntimeError, match="is gone"):
        loaded.factor.graph  # noqa: B018


def test_a_trace_that_enters_the_default_graph_is_kept(tmp_path):
    """As layers of Keras 2 do: inside a function it is the function's."""
    with tf.Graph().as_default() as graph, v1.Session() as session:
        module = Scale()
        inside = []

        @tf.function(autograph=False)
        def times(x):
            inside.append(v1.get_default_graph())
            with inside[-1].as_default():
                return x * module.factor

        module.times = times
        concrete = times.get_concrete_function(tf.TensorSpec([2]))
        assert inside == [concrete.graph] and concrete.graph is not graph
        assert times(tf.ones([2])) is not None and len(inside) == 1
        session.run(v1.global_variables_initializer())
        with session.as_default():
            tf.saved_model.save(module, str(tmp_path))
    np.testing.assert_array_equal(tf.saved_model.load(str(tmp_path)).times([1.0, 1.0]), [2, 3])


def test_collections_in_a_function_are_those_of_the_graph():
    with tf.Graph().as_default() as graph:
        v = v1.get_variable("v", [])
        key = v1.GraphKeys.GLOBAL_VARIABLES
        seen = []
        tf.function(lambda: seen.extend(v1.get_default_graph().get_collection(key)))()
        assert [x is v for x in seen] == [True] and graph.get_collection(key) == seen
