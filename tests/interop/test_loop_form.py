"""Loops are written as TensorFlow writes them: a counter and a limit are the first variables.

TensorFlow's gradient of a While takes them for that, whatever they are: with other variables in
their places it fails, or is wrong.
"""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.interop.graph_def.freezing import convert_variables_to_constants_v2

SPEC = tf.TensorSpec([None, 3], name="x")
X = np.linspace(-1.0, 1.0, 6, dtype=np.float32).reshape(2, 3)


def plain(x):
    return tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, tf.tanh(y + x)), [0, x])[1]


def counted(x):
    again = lambda y: tf.reduce_sum(y) < 100.0  # noqa: E731
    return tf.while_loop(again, lambda y: (y * 2.0 + x,), [x], maximum_iterations=4)[0]


def measured(x):
    """The limit is computed, and the body uses it, too."""
    n = tf.shape(x)[0] + 1
    body = lambda y: (y * tf.cast(n, tf.float32),)  # noqa: E731
    return tf.while_loop(lambda y: True, body, [x], maximum_iterations=n)[0]


def by_hand(x):
    """The variables are a counter and its limit already."""
    start = [0, tf.shape(x)[0], x]
    loop = tf.while_loop(lambda i, n, y: i < n, lambda i, n, y: (i + 1, n, y * 2.0), start)
    return loop[2]


def read(x):
    i, y = tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * 2.0), [0, x])
    return y * tf.cast(i, tf.float32)


def over_elements(x):
    for i in tf.range(3):
        for j in tf.range(2):
            x = tf.tanh(x) + tf.cast(i * j, tf.float32)
    return x


def of_lists(x):
    return tf.map_fn(lambda row: row * tf.reduce_sum(row), x)


LOOPS = [plain, counted, measured, by_hand, read, over_elements, of_lists]


def loops_in(message):
    functions = {part.signature.name: part for part in message.library.function}
    nodes = [*message.node, *[node for part in functions.values() for node in part.node_def]]
    return functions, [node for node in nodes if node.op in ("While", "StatelessWhile")]


def counter_of(body):
    """What a function adds 1 to for its first result."""
    nodes = {node.name: node for node in body.node_def}
    first = body.ret[body.signature.output_arg[0].name].partition(":")[0]
    addition = nodes[first]
    assert addition.op == "AddV2"
    one = nodes[addition.input[1].partition(":")[0]]
    assert one.op == "Const" and tf.make_ndarray(one.attr["value"].tensor) == 1
    return addition.input[0]


@pytest.mark.parametrize("function", LOOPS)
def test_a_loop_begins_with_its_counter_and_its_limit(function):
    trace = tf.function(function).get_concrete_function(SPEC)
    functions, loops = loops_in(trace.graph.as_graph_def())
    assert loops
    for node in loops:
        body = functions[node.attr["body"].func.name]
        arguments = [part.name for part in body.signature.input_arg]
        results = [body.ret[part.name] for part in body.signature.output_arg]
        assert len(arguments) == len(results) == len(node.input)
        assert counter_of(body) == arguments[0] and results[1] == arguments[1]
        assert list(node.attr["T"].list.type[:2]) == [tf.int32.as_datatype_enum] * 2


@pytest.mark.parametrize("function", LOOPS)
def test_a_loop_is_read_as_it_was_written(function):
    frozen = convert_variables_to_constants_v2(tf.function(function).get_concrete_function(SPEC))
    expected = tf.function(function)(X)
    np.testing.assert_allclose(frozen(X)[0], expected, rtol=1e-6)
    message = frozen.graph.as_graph_def()
    sizes = sorted(len(node.input) for node in loops_in(message)[1])
    for _ in range(2):
        with tf.Graph().as_default() as graph:
            tf.graph_util.import_graph_def(message, name="")
        again = graph.as_graph_def()
        assert sorted(len(node.input) for node in loops_in(again)[1]) == sizes
        message = again
    with graph.as_default(), tf.compat.v1.Session() as session:
        got = session.run(frozen.outputs[0].name, {"x:0": X})
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_the_limit_is_that_of_the_loop():
    for function, limit in ((plain, 5), (counted, 4), (read, -1)):
        message = tf.function(function).get_concrete_function(SPEC).graph.as_graph_def()
        (node,) = loops_in(message)[1]
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            names = [f"{name}:0" for name in node.input[:2]]
            found = tf.graph_util.import_graph_def(message, return_elements=names, name="")
            assert session.run(found) == [0, limit]


def test_names_of_results_are_those_of_the_graph():
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
        i, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), [0, x])
    names = [i.name, y.name]
    with tf.Graph().as_default() as other, tf.compat.v1.Session() as session:
        found = tf.graph_util.import_graph_def(graph.as_graph_def(), name="", return_elements=names)
        assert [part.name for part in found] == names
        values = session.run(found, {other.get_tensor_by_name("x:0"): [1.0, 2.0]})
    assert values[0] == 3 and values[1].tolist() == [8.0, 16.0]


@pytest.mark.parametrize("function", LOOPS)
def test_a_loaded_model_has_its_loops_and_their_derivatives(function, tmp_path):
    module = tf.Module()
    module.f = tf.function(function, input_signature=[SPEC])
    tf.saved_model.save(module, str(tmp_path / "model"))
    loaded, derivatives = tf.saved_model.load(str(tmp_path / "model")), []
    for f in (module.f, loaded.f):
        with tf.GradientTape() as tape:
            x = tf.constant(X)
            tape.watch(x)
            y = tf.reduce_sum(f(x) ** 2)
        derivatives.append(tape.gradient(y, x))
    np.testing.assert_allclose(*derivatives, rtol=1e-5)


def test_a_loop_that_is_read_into_a_function_counts_only_if_asked(tmp_path):
    """The counter and what an iteration gives back as it is are no variables of the loop."""
    module = tf.Module()
    module.v = tf.Variable(2.0)
    module.f = tf.function(lambda x: plain(x) * module.v, input_signature=[SPEC])
    tf.saved_model.save(module, str(tmp_path / "model"))
    trace = tf.saved_model.load(str(tmp_path / "model")).f.get_concrete_function(SPEC)
    counts = [
        node.params["count"]
        for node in trace.graph.table.nodes.values()
        if node.prim.name == "loop"
    ]
    assert counts == [2]


def test_equal_pieces_are_a_split():
    """Converters look for it in recurrent layers."""
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [2, 6])
        equal, unequal = tf.split(x, 3, axis=1), tf.split(x, [4, 2], axis=1)
    assert [parts[0].op.type for parts in (equal, unequal)] == ["Split", "SplitV"]
    kinds = {node.name: node for node in graph.as_graph_def().node}
    assert kinds[equal[0].op.name].op == "Split"
    assert kinds[equal[0].op.name].attr["num_split"].i == 3
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        names = [part.name for part in (*equal, *unequal)]
        found = tf.graph_util.import_graph_def(graph.as_graph_def(), {}, names, name="")
        values = session.run(found, {"Placeholder:0": np.ones([2, 6])})
    assert [part.shape for part in values] == [(2, 2)] * 3 + [(2, 4), (2, 2)]


def element_shapes(function, *specs):
    message = tf.function(function).get_concrete_function(*specs).graph.as_graph_def()
    nodes = {node.name: node for node in message.node}
    return [
        tf.make_ndarray(nodes[node.input[0]].attr["value"].tensor).tolist()
        for node in message.node
        if node.op == "TensorListReserve"
    ]


def test_lists_say_the_shape_of_what_is_written_into_them():
    """TensorFlow Lite takes only lists whose elements have a known shape."""

    def written(shapes):
        values = tf.TensorArray(tf.float32, size=2, infer_shape=False)
        for number, shape in enumerate(shapes):
            values = values.write(number, tf.ones(shape))
        return values.read(0)

    assert element_shapes(of_lists, tf.TensorSpec([4, 3])) == [[3]]
    assert element_shapes(of_lists, tf.TensorSpec([None, None])) == [[-1]]
    assert element_shapes(lambda: written([(2, 3), (4, 3)])) == [[-1, 3]]
    assert element_shapes(lambda: written([(2, 3), (4,)])) == [-1]


def test_each_loop_has_functions_and_lists_of_its_own():
    """Converters change them together with the loop."""

    def twice(x):
        return of_lists(x) + of_lists(x[::-1])

    message = tf.function(twice).get_concrete_function(SPEC).graph.as_graph_def()
    functions, loops = loops_in(message)
    called = [node.attr[key].func.name for node in loops for key in ("cond", "body")]
    assert len(called) == len(set(called)) == 4 and set(called) <= set(functions)
    lists = {node.name for node in message.node if node.op == "TensorListReserve"}
    taken = [name for node in loops for name in node.input if name in lists]
    assert len(taken) == len(set(taken)) == 2


def test_calls_of_a_function_share_it():
    step = tf.function(lambda x: tf.tanh(x) * 2.0)
    message = tf.function(lambda x: step(step(x))).get_concrete_function(SPEC).graph.as_graph_def()
    called = [node.attr["f"].func.name for node in message.node if node.op == "PartitionedCall"]
    assert len(called) == 2 and len(set(called)) == 1
