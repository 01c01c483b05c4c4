"""Where derivatives are in a graph that is shown: in a scope, behind the names of operations."""

from __future__ import annotations

import gc

import pytest

import talweg as tf

v1 = tf.compat.v1


def written(graph):
    """The nodes of a graph by name, and those of its functions by the name of the function."""
    message = graph.as_graph_def(add_shapes=True)
    functions = {
        function.signature.name: [node.name for node in function.node_def]
        for function in message.library.function
    }
    return {node.name: node for node in message.node}, functions


def shapes(node):
    parts = node.attr["_output_shapes"].list.shape
    return [None if part.unknown_rank else [size.size for size in part.dim] for part in parts]


def test_gradients_are_behind_what_they_derive():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        with v1.name_scope("layer"):
            y = tf.tanh(x, name="act")
        (first,) = tf.gradients(y, x)
        with v1.name_scope("outer"):
            (second,) = tf.gradients(first, x, name="again")
    assert first.name == "gradients/layer/act_grad/mul_1:0"
    assert second.op.name.startswith("outer/again/layer/act_grad/")
    nodes, _ = written(graph)
    assert shapes(nodes["gradients/layer/act_grad/mul"]) == [[-1, 4]]
    roots = {name.partition("/")[0] for name in nodes}
    assert roots == {"x", "layer", "gradients", "outer"}  # sizes and numbers are inside, too


def test_names_are_given_only_when_somebody_looks():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [])
        kept = [tf.gradients(tf.sin(x), x)[0] for _ in range(50)]
        for _ in range(50):
            tf.gradients(tf.cos(x), x)
        assert kept[0].name == "gradients/mul:0"  # tf.sin(x) is there no more
        y = tf.gradients(tf.exp(x) * x, x)[0]
        assert y.op.name.startswith("gradients_1/")
        assert len(graph._used) < 20


def test_a_node_keeps_the_scope_it_was_made_in():
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [2], name="x")
        y = tf.tanh(x)
        with tf.name_scope("scope"):
            assert tf.tanh(x) is y
            constant, z = tf.constant(2.0), tf.cos(x)
        (g,) = tf.gradients(z * constant, x)
        assert [t.op.name for t in (y, z, constant)] == ["Tanh", "scope/Cos", "scope/Const"]
        assert g.op.name.startswith("gradients/scope/Cos_grad/")


def test_steps_of_optimizers():
    with tf.Graph().as_default() as graph:
        with v1.variable_scope("layer"):
            w = v1.get_variable("w", [2])
        step = v1.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(w * w), name="step")
        again = v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(w * w))
    assert (step.name, again.name) == ("step", "GradientDescent")
    nodes, _ = written(graph)
    assert any(name.startswith("step/update_layer/w/") for name in nodes)
    assert any(name.startswith("gradients/") for name in nodes)
    assert nodes["layer/w"].op == "VarHandleOp" and shapes(nodes["layer/w"]) == [[]]
    assert shapes(nodes["layer/w/Read/ReadVariableOp"]) == [[2]]


def test_graphs_of_functions_show_variables_and_tapes():
    w = tf.Variable(tf.ones([4, 3]), name="w")

    @tf.function
    def dense(x, w):
        with tf.name_scope("dense"):
            return tf.tanh(tf.matmul(x, w))

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            h = dense(x, w)
            for _ in tf.range(3):
                with tf.name_scope("inner"):
                    h = tf.tanh(h)
            with tf.name_scope("loss"):
                loss = tf.reduce_sum(h)
        w.assign_sub(tape.gradient(loss, w))
        return loss * 2.0 if loss > 1.0 else loss

    graph = step.get_concrete_function(tf.TensorSpec([None, 4], name="input")).graph
    nodes, functions = written(graph)
    assert nodes["w"].op == "VarHandleOp" and nodes["w/Read/ReadVariableOp"].input == ["w"]
    assert nodes["AssignSubVariableOp"].input[0] == "w"
    assert any(name.startswith("gradient_tape/loss/Sum/") for name in nodes)
    assert "dense/MatMul" in next(v for k, v in functions.items() if k.startswith("dense_0"))
    reverse = next(v for k, v in functions.items() if k.startswith("dense_reverse"))
    assert any(name.startswith("gradients/dense/MatMul_grad/") for name in reverse)
    bodies = [name for name in functions if name.startswith("while_body")]
    assert "inner/Tanh" in functions[bodies[0]]
    assert any(name.startswith("gradients/inner/Tanh_grad/") for name in functions[bodies[1]])
    assert {"PartitionedCall", "gradient_tape/PartitionedCall/PartitionedCall"} <= set(nodes)
    assert shapes(nodes["PartitionedCall"]) == [[-1, 3]]
    assert shapes(nodes["while"])[0] == [-1, 3]
    kinds = sorted(name.rstrip("0123456789_") for name in functions if name.startswith("cond"))
    assert kinds == ["cond_false", "cond_true"]


def test_scopes_inside_custom_gradients():
    @tf.custom_gradient
    def double(x):
        def back(g):
            with tf.name_scope("mine"):
                return tf.multiply(g, 2.0, name="twice") + tf.exp(x)

        return x * 2.0, back

    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [2], name="x")
        (g,) = tf.gradients(double(x), x)
        names = [g.op.name, *[part.op.name for part in g.op.inputs]]
    assert all(name.startswith("gradients/") and "/mine/" in name for name in names), names
    assert any(name.endswith("/mine/twice") for name in names)


def test_wrong_names_are_refused():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="is not a valid scope name"):
        x = v1.placeholder(tf.float32, [])
        tf.gradients(x * x, x, name="no name")


def test_scopes_hold_nothing():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [])
        y = tf.sin(tf.exp(x))
        (g,) = tf.gradients(y, x)
        live = graph.stats()["live"]
        del y, g
        gc.collect()
        assert graph.stats()["live"] < live - 3
