"""Variables as VariableDef messages; the names that can be compared are TensorFlow's."""

import numpy as np
import pytest

import talweg as tf

v1 = tf.compat.v1


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_a_variable_is_found_again(graph):
    with v1.variable_scope("a"):
        v = v1.get_variable("v", initializer=[1.0, 2.0], trainable=False)
    message = v.to_proto()
    assert message.variable_name == "a/v:0"
    assert message.initializer_name == "a/v/Assign"
    assert message.initial_value_name == v.initial_value.name
    assert message.snapshot_name == "a/v/Read/ReadVariableOp:0"
    assert (message.is_resource, message.trainable) == (True, False)
    again = v1.Variable.from_proto(message)
    with v1.Session() as session:
        session.run(again.initializer)
        session.run(again.assign_add([1.0, 1.0]))
        np.testing.assert_array_equal(session.run(v), [2.0, 3.0])
    assert v1.Variable(variable_def=message).name == v.name


def test_scopes_are_taken_off_and_put_before(graph):
    with v1.variable_scope("a"):
        v = v1.get_variable("v", initializer=[1.0, 2.0])
    message = v.to_proto(export_scope="a")
    assert (message.variable_name, message.initializer_name) == ("v:0", "v/Assign")
    assert v.to_proto(export_scope="b") is None
    assert v1.Variable.from_proto(message, import_scope="a").name == "a/v:0"


def test_parts_say_which_they_are(graph):
    whole = v1.get_variable("e", [4, 2], partitioner=v1.fixed_size_partitioner(2))
    message = list(whole)[1].to_proto().save_slice_info_def
    assert message.full_name == "e"
    assert [list(message.full_shape), list(message.var_offset), list(message.var_shape)] == [
        [4, 2],
        [2, 0],
        [2, 2],
    ]
    meta_graph = v1.train.export_meta_graph()
    with tf.Graph().as_default():
        v1.train.import_meta_graph(meta_graph)
        specs = [variable._save_slice_info.spec for variable in v1.global_variables()]
    assert specs == ["4 2 0,2:0,2", "4 2 2,2:0,2"]
    assert v1.Variable.SaveSliceInfo("e", [4, 2], [2, 0], [2, 2]).spec == specs[1]


def test_parts_of_an_imported_graph_are_saved_as_the_whole(graph, tmp_path):
    whole = v1.get_variable("e", [4, 2], partitioner=v1.fixed_size_partitioner(2))
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        wanted = session.run(tf.convert_to_tensor(whole))
        v1.train.Saver().save(session, str(tmp_path / "m"))
    with tf.Graph().as_default(), v1.Session() as session:
        saver = v1.train.import_meta_graph(str(tmp_path / "m.meta"))
        saver.restore(session, str(tmp_path / "m"))
        found = session.run(v1.global_variables())
    np.testing.assert_array_equal(np.concatenate(found), wanted)


def test_what_is_no_definition_is_refused(graph):
    v = v1.get_variable("v", initializer=[1.0, 2.0])
    message = v.to_proto()
    message.initializer_name = "none"
    with pytest.raises(KeyError, match="none"):
        v1.Variable.from_proto(message)
    message.initializer_name = v.initial_value.op.name
    with pytest.raises(ValueError, match="initializes no variable"):
        v1.Variable.from_proto(message)
    with pytest.raises(TypeError, match="VariableDef"):
        v1.Variable.from_proto(None)
    with pytest.raises(ValueError, match="mutually exclusive"):
        v1.Variable(1.0, variable_def=v.to_proto())


def test_eager_variables_have_none():
    with pytest.raises(RuntimeError, match="eager"):
        tf.Variable(1.0).to_proto()
    with pytest.raises(RuntimeError, match="eager"):
        v1.Variable.from_proto(None)
