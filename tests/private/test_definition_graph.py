"""What tf2onnx reads: the nodes of a GraphDef one by one, with all inputs and attributes."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.private import definition_graph

v1 = tf.compat.v1


@pytest.fixture
def message():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        y = tf.reshape(tf.nn.relu(x), [-1, 2], name="y")
        tf.concat([y, y], 1, name="z")
        tf.split(x, 2, axis=1, name="parts")
    return graph.as_graph_def(add_shapes=True)


def shown(message):
    graph = definition_graph.DefinitionGraph()
    with graph.as_default():
        definition_graph.import_definition(message, name="")
    return graph


def test_every_node_is_an_operation_with_all_its_inputs(message):
    graph = shown(message)
    operations = graph.get_operations()
    assert [op.name for op in operations] == [node.name for node in message.node]
    assert [op.type for op in operations] == [node.op for node in message.node]
    for op, node in zip(operations, message.node):
        assert [x.op.name for x in op.inputs] == [name.partition(":")[0] for name in node.input]
    y = graph.get_operation_by_name("y")
    assert y.inputs[1].op.type in ("Const", "Pack")
    assert y.get_attr("T") is tf.float32
    with pytest.raises(ValueError, match="has no attr named 'color'"):
        y.get_attr("color")


def test_outputs_have_dtypes_and_shapes(message):
    graph = shown(message)
    assert graph.get_tensor_by_name("x:0").shape.as_list() == [None, 4]
    assert graph.get_tensor_by_name("z:0").get_shape().as_list() == [None, 4]
    parts = graph.get_operation_by_name("parts").outputs
    assert [part.name for part in parts] == ["parts:0", "parts:1"]
    assert [part.dtype for part in parts] == [tf.float32, tf.float32]
    assert "_output_shapes" not in graph.get_operation_by_name("x").node_def.attr
    assert [op.name for op in graph.get_tensor_by_name("y:0").consumers()] == ["z"]


def test_the_definition_is_given_back(message):
    again = shown(shown(message).as_graph_def())
    assert [str(op.node_def) for op in again.get_operations()] == [
        str(op.node_def) for op in shown(message).get_operations()
    ]


def test_functions_are_graphs_of_their_own():
    @tf.function
    def f(x):
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, x), [0, x])

    message = f.get_concrete_function(tf.TensorSpec([2])).graph.as_graph_def()
    functions = {part.signature.name: part for part in message.library.function}
    body = definition_graph.function_def_to_graph(
        next(part for name, part in functions.items() if "body" in name)
    )
    assert "tensorflow.python.framework.func_graph.FuncGraph" in str(type(body))
    assert [x.op.type for x in body.inputs] == ["Placeholder"] * len(body.inputs)
    assert not set(body.inputs) & set(body.outputs)  # what is returned as it is, is copied


def test_copies_of_constants_are_constants():
    v = tf.Variable(np.ones((40, 30), np.float32))

    @tf.function
    def f(x):
        return x @ v

    from talweg.interop.graph_def.freezing import convert_variables_to_constants_v2

    frozen = convert_variables_to_constants_v2(f.get_concrete_function(tf.TensorSpec([1, 40])))
    message = v1.train.export_meta_graph(graph_def=frozen.graph.as_graph_def())
    optimized = definition_graph.OptimizeGraph(None, message)
    matmul = next(node for node in optimized.node if node.op == "MatMul")
    kinds = {node.name: node.op for node in optimized.node}
    assert [kinds[name] for name in matmul.input] == ["Placeholder", "Const"]


def optimized(function, *specs, fetched=()):
    from talweg.interop.graph_def.freezing import convert_variables_to_constants_v2

    frozen = convert_variables_to_constants_v2(tf.function(function).get_concrete_function(*specs))
    message = v1.train.export_meta_graph(graph_def=frozen.graph.as_graph_def(add_shapes=True))
    names = fetched or [x.name for x in frozen.outputs]
    message.collection_def["train_op"].node_list.value.extend(names)
    return definition_graph.OptimizeGraph(None, message), names


def both_ways(x):
    """Two loops with equal bodies."""
    steps = [tf.map_fn(tf.tanh, part) for part in (x, x[::-1])]
    return tf.concat(steps, 1)


def test_nothing_stands_between_a_loop_and_who_takes_its_results():
    def f(x):
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), [0, x])[1]

    message, _ = optimized(lambda x: f(x) + 1.0, tf.TensorSpec([2]))
    kinds = {node.name: node.op for node in message.node}
    assert "IdentityN" not in kinds.values()
    (addition,) = [node for node in message.node if node.op == "AddV2"]
    assert kinds[addition.input[0].partition(":")[0]] == "StatelessWhile"
    message, (name,) = optimized(f, tf.TensorSpec([2], name="x"))
    with tf.Graph().as_default(), v1.Session() as session:
        tf.graph_util.import_graph_def(message, name="")
        assert session.run(name, {"x:0": [1.0, 2.0]}).tolist() == [8.0, 16.0]
    (passing,) = [node for node in message.node if node.op == "IdentityN"]
    assert len(set(passing.input)) == 1  # only what is fetched


def test_names_in_functions_are_unique_in_the_model():
    message, _ = optimized(both_ways, tf.TensorSpec([4, 3]))
    graphs = [definition_graph.function_def_to_graph(f) for f in message.library.function]
    names = [op.name for graph in graphs for op in graph.get_operations()]
    assert len(names) == len(set(names))
    operations = [op for graph in graphs for op in graph.get_operations() if op.type == "Tanh"]
    assert [op.outputs[0].shape.as_list() for op in operations] == [[3], [3]]


def test_other_graphs_import_as_always(message):
    with tf.Graph().as_default() as graph:
        definition_graph.import_definition(message, name="")
        assert graph.get_tensor_by_name("z:0").shape.as_list() == [None, 4]
    assert definition_graph.Definitions("tensorflow").__version__ == tf.__version__
