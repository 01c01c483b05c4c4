"""Imports that fail leave the graph as it was: names, collections, variables, tables, numbers."""

import gc
import os

import pytest

import talweg as tf

v1 = tf.compat.v1


def a_training():
    """A meta graph with variables of both kinds, a table, a loop, random numbers, a collection."""
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [2, 3], name="x")
        w = v1.placeholder(tf.float32, [3, 2], name="w")
        v = v1.get_variable("v", [3])
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer([1, 2], [3.0, 4.0], tf.int64, tf.float32), 0.0
        )
        tf.identity(table.lookup(tf.constant([1], tf.int64)), name="found")
        tf.while_loop(lambda i: i < 3.0, lambda i: i + v[0], [tf.reduce_sum(x)], name="turns")
        tf.cond(v[0] > 0, lambda: x * 2.0, lambda: x, name="either")
        tf.random.uniform([2], seed=3, name="drawn")
        z = tf.matmul(x, w, name="z")
        v1.add_to_collection("results", z)
        v1.train.Saver()
        message = v1.train.export_meta_graph()
    message.graph_def.node.sort(key=lambda node: node.name == "z")  # which comes last
    return message


def misfitting(message):
    """The same with sizes that do not fit, which shows at the last node."""
    for node in message.graph_def.node:
        if node.name == "w":
            node.attr["shape"].shape.dim[0].size = 5
    return message


def without_type(message):
    message.graph_def.node.add(name="none", op="NoSuchOperation", input=["z"])
    return message


def kept_in_a_gradient(message):
    node = message.graph_def.node.add(name="bad", op="TensorArrayCloseV9", input=["z"])
    node.attr["T"].type = 1
    return message


def state(graph):
    """What can be asked of a graph; the names of those operations that it had before stay."""
    return (
        [operation.name for operation in graph.get_operations()],
        {key: graph.get_collection(key) for key in graph.get_all_collection_keys()},
        {key: len(value) for key, value in graph.extras.items() if isinstance(value, dict)},
        graph.extras.get("random_operations"),
        graph.seed,
        dict(graph._used),
    )


@pytest.fixture
def present():
    """A graph that has a part of what is imported already."""
    with tf.Graph().as_default() as graph:
        v1.set_random_seed(7)
        x = v1.placeholder(tf.float32, [2, 3], name="before")
        square = tf.square(x)
        v1.get_variable("mine", [2])
        v1.add_to_collection("results", square)
        tf.random.uniform([2])
        state(graph)  # names are given now
        held = [operation for operation in graph.get_operations()]
        gc.disable()
        yield graph
        gc.enable()
        del held


@pytest.mark.parametrize("damage", [misfitting, without_type, kept_in_a_gradient])
@pytest.mark.parametrize("scope", ["", None])
def test_a_graph_def_that_cannot_be_imported_changes_nothing(present, damage, scope):
    message = damage(a_training())
    before = state(present)
    with pytest.raises((ValueError, tf.errors.NotFoundError), match="node '(z|none|bad)'"):
        tf.import_graph_def(message.graph_def, name=scope)
    assert state(present) == before
    tf.import_graph_def(a_training().graph_def, name=scope)  # the names are free


@pytest.mark.parametrize("damage", [misfitting, without_type])
def test_a_meta_graph_that_cannot_be_imported_changes_nothing(present, damage):
    message = damage(a_training())
    before = state(present)
    with pytest.raises((ValueError, tf.errors.NotFoundError)):
        v1.train.import_meta_graph(message)
    assert state(present) == before
    v1.train.import_meta_graph(a_training())
    assert {variable.name for variable in v1.global_variables()} == {"mine:0", "v:0"}


def test_a_meta_graph_whose_collections_do_not_fit_changes_nothing(present):
    message = a_training()
    for collection in message.collection_def.values():
        values = [value.replace(b"v/Assign", b"v/Absent") for value in collection.bytes_list.value]
        collection.bytes_list.value[:] = values
    before = state(present)
    with pytest.raises((KeyError, ValueError)):
        v1.train.import_meta_graph(message)
    assert state(present) == before


def test_a_saved_model_without_its_values_changes_nothing(present, tmp_path):
    folder = os.fspath(tmp_path / "model")
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [2], name="x")
        v = v1.get_variable("v", initializer=[1.0, 2.0])
        session.run(v.initializer)
        v1.saved_model.simple_save(session, folder, {"x": x}, {"y": tf.multiply(x, v, name="y")})
    (data,) = (tmp_path / "model" / "variables").glob("*.data-*")
    data.write_bytes(b"")
    before = state(present)
    with v1.Session(graph=present) as session, pytest.raises(tf.errors.OpError):
        v1.saved_model.load(session, ["serve"], folder)
    assert state(present) == before


def test_names_that_an_import_gave_to_what_was_there_are_taken_away_again():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2, 3], name="before")
        y = tf.square(x)
        assert y.name == "Square:0"
        with tf.Graph().as_default() as other:
            z = tf.square(v1.placeholder(tf.float32, [2, 3], name="x"), name="y")
            tf.matmul(z, v1.placeholder(tf.float32, [3, 2], name="w"), name="z")
            message = v1.MetaGraphDef(graph_def=other.as_graph_def())
        with pytest.raises(ValueError, match="node 'z'"):
            tf.import_graph_def(misfitting(message).graph_def, {"x": x})
        assert y.op.name == "Square"
        assert graph.names_of(y.node) == ["Square"]
        assert v1.global_variables() == []


def test_an_import_of_random_numbers_leaves_the_seed_of_the_graph():
    with tf.Graph().as_default() as other:
        tf.random.uniform([2], seed=3)
    with tf.Graph().as_default() as graph:
        v1.set_random_seed(7)
        tf.import_graph_def(other.as_graph_def())
        assert graph.seed == 7
