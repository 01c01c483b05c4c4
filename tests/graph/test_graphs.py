"""Graphs and sessions: what keeps a graph alive, what makes it grow, names, order, failures."""

import gc
import threading
import weakref

import numpy as np
import pytest

import talweg as T
import talweg.compat.v1 as tf
from talweg.core import dispatch, settings


@pytest.fixture(autouse=True)
def without_collector():
    """Everything must go by reference counts alone."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def held(build):
    """Weak references to a graph, its table and a session, after `build` has used them."""
    graph = tf.Graph()
    with graph.as_default(), tf.Session() as session:
        build(graph, session)
    return [weakref.ref(x) for x in (graph, graph.table, session)]


def check_gone(build):
    """Nothing is left of a graph and a session after `build` has used them."""
    assert [reference() for reference in held(build)] == [None, None, None]


# -- lifetimes


def test_a_plain_graph_goes():
    def build(graph, session):
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        y = tf.reduce_sum(tf.matmul(x, tf.ones([3, 2])), name="y")
        assert session.run(y, {x: np.ones((2, 3))}) == 12.0
        assert session.run("y:0", {"x:0": np.zeros((2, 3))}) == 0.0

    check_gone(build)


def test_a_graph_with_variables_and_collections_goes():
    def build(graph, session):
        v = tf.Variable([1.0, 2.0], name="v")
        step = tf.assign_add(v, [1.0, 1.0])
        loss = tf.reduce_sum(v * v)
        tf.add_to_collection("losses", loss)
        tf.add_to_collection("steps", step.op)
        tf.add_to_collection("nests", {"a": [loss, step.op], "b": 3})
        tf.add_to_collection("slices", T.IndexedSlices(v[:1], tf.constant([0])))
        session.run(tf.global_variables_initializer())
        session.run([step, tf.gradients(loss, v)])
        (found,) = tf.get_collection("nests")
        assert found["a"][0] is loss and found["a"][1] is step.op and found["b"] == 3
        assert tf.get_collection("losses") == [loss]

    check_gone(build)


def test_a_graph_with_host_functions_goes():
    def build(graph, session):
        x = tf.placeholder(tf.float32, [2])
        y = tf.py_function(lambda a: a * a, [tf.py_func(np.sin, [x], tf.float32)], tf.float32)
        check = tf.Assert(tf.reduce_all(x > 0.0), [x])
        with tf.control_dependencies([check, tf.assert_positive(x)]):
            z = tf.gradients(tf.identity(y), y)
        session.run([y, z], {x: [1.0, 2.0]})
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(z, {x: [-1.0, 2.0]})

    check_gone(build)


def test_a_graph_looked_at_goes():
    def build(graph, session):
        with tf.name_scope("scope"), tf.device("/cpu:0"):
            x = tf.placeholder_with_default(np.zeros(3, np.float32), [None])
            y = x + 1.0
        assert [op.name for op in graph.get_operations()][-1] == y.op.name
        assert y.device == "/device:CPU:0" and y.consumers() == []
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(y, options=options, run_metadata=metadata)
        assert metadata.step_stats.dev_stats[0].node_stats
        session.make_callable(y, [x])([1.0])

    check_gone(build)


def test_a_failed_run_keeps_nothing():
    def build(graph, session):
        x = tf.placeholder(tf.float32, [])
        y = tf.check_numerics(1.0 / x, "division", name="checked")
        try:
            session.run(y, {x: 0.0})
        except tf.errors.InvalidArgumentError as error:
            assert error.op.name == "checked"
            assert error.op.type == "CheckNumerics"
        else:
            raise AssertionError("it should have failed")

    check_gone(build)


def test_closing_a_session_frees_its_values():
    with tf.Graph().as_default():
        v = tf.Variable(np.zeros(10))
        session = tf.Session()
        session.run(v.initializer)
        session.run(tf.assign_add(v, np.ones(10)))
        reference = weakref.ref(session._state[v.handle])
        session.close()
        assert reference() is None


def test_a_tensor_keeps_its_graph():
    def make():
        with tf.Graph().as_default():
            return tf.placeholder(tf.float32, [2], name="x") * 2.0

    y = make()
    with tf.Session(graph=y.graph) as session:
        assert session.run(y, {"x:0": [1.0, 2.0]}).tolist() == [2.0, 4.0]


# -- the promises of growth


def test_initializers_asked_for_again_are_the_same():
    with tf.Graph().as_default() as graph, tf.Session() as session:
        a, b = tf.Variable(1.0), tf.Variable([2.0, 3.0])
        session.run(tf.global_variables_initializer())
        live = graph.stats()["live"]
        for _ in range(1000):
            session.run(tf.global_variables_initializer())
        assert graph.stats()["live"] == live
        c = tf.Variable(7.0)
        session.run(tf.global_variables_initializer())
        assert session.run([a, c]) == [1.0, 7.0]
        assert session.run(b).tolist() == [2.0, 3.0]


def test_a_cell_run_again_adds_nothing():
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.Variable(1.0)
        session.run(x.initializer)

        def cell():
            y = x + 1.0
            loss = tf.reduce_sum(tf.square(y) * 3.0)
            return session.run([loss, tf.gradients(loss, x)])

        cell()
        before = graph.stats()
        for _ in range(300):
            cell()
        after = graph.stats()
        assert after["live"] == before["live"]
        assert after["peak"] == before["peak"]
        assert len(graph._used) < 30


def test_equal_sums_are_one_node():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        first = x + 1.0
        live = graph.stats()["live"]
        second = x + 1.0
        assert first is second
        assert graph.stats()["live"] == live


def test_what_nobody_holds_is_gone():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        live = graph.stats()["live"]
        y = tf.sin(tf.cos(x) * 2.0)
        assert graph.stats()["live"] > live
        del y
        assert graph.stats()["live"] == live


def test_running_again_makes_no_node():
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.Variable(0.0)
        increment = tf.assign(x, x + 1.0)
        session.run(x.initializer)
        session.run(increment)
        built = graph.stats()["built"]
        for _ in range(100):
            session.run(increment)
        assert graph.stats()["built"] == built
        assert session.run(x) == 101.0


# -- what has an effect is never merged


def test_random_numbers_are_not_merged():
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.random_normal([3]), tf.random_normal([3])
        assert a is not b
        first, second = session.run([a, b])
        assert not np.array_equal(first, second)


def test_reads_around_a_write_differ():
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(1.0)
        before = v.read_value()
        with tf.control_dependencies([before, tf.assign(v, 5.0)]):
            after = v.read_value()
        session.run(v.initializer)
        assert before is not after
        assert session.run([before, after]) == [1.0, 5.0]


def test_placeholders_and_host_calls_are_not_merged():
    with tf.Graph().as_default():
        made = [tf.placeholder(tf.float32, []) for _ in range(2)]
        made += [tf.placeholder_with_default(1.0, []) for _ in range(2)]
        made += [tf.py_func(float, [1.0], tf.float64) for _ in range(2)]
        assert len({id(x) for x in made}) == 6


# -- names


def test_default_names_follow_the_order_of_making():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        made = [x + float(n) for n in range(1, 4)]
        assert made[2].name == "add_2:0"
        assert [y.name for y in made] == ["add:0", "add_1:0", "add_2:0"]


def test_a_node_has_all_names_it_was_given():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        a, b = tf.add(x, 1.0, name="first"), tf.add(x, 1.0, name="second")
        assert a is b and a.name == "first:0"
        assert graph.get_tensor_by_name("second:0") is a
        assert tf.add(x, 2.0, name="first").name == "first_1:0"


def test_names_hold_their_nodes():
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.add(tf.constant(1.0), 2.0, name="kept")
        assert session.run("kept:0") == 3.0
        assert graph.get_operation_by_name("kept").type == "AddV2"


# -- order, errors, threads


def test_blocks_left_in_the_wrong_order_are_reported():
    first, second = tf.Graph().as_default(), tf.Graph().as_default()
    first.__enter__()
    second.__enter__()
    with pytest.raises(AssertionError, match="Nesting violated"):
        first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    dispatch.context.base = None


def test_a_failure_keeps_the_writes_before_it():
    with tf.Graph().as_default(), tf.Session() as session:
        v, w = tf.Variable(1.0), tf.Variable(1.0)
        x = tf.placeholder(tf.float32, [])
        with tf.control_dependencies([tf.assign(v, 2.0)]):
            checked = tf.check_numerics(1.0 / x, "division")
        with tf.control_dependencies([checked]):
            last = tf.group(tf.assign(v, 3.0), tf.assign(w, 3.0))
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(last, {x: 0.0})
        assert session.run([v, w]) == [2.0, 1.0]


def test_finalized_graphs_still_run():
    with tf.Graph().as_default() as graph, tf.Session() as session:
        v = tf.Variable([1.0, 2.0])
        parts = tf.split(v * 2.0, 2)
        initializer = v.initializer
        graph.finalize()
        session.run(initializer)
        assert session.run(v).tolist() == [1.0, 2.0]
        assert [p.tolist() for p in session.run(parts)] == [[2.0], [4.0]]
        with pytest.raises(RuntimeError, match="finalized"):
            tf.sin(v)


def test_graphs_as_the_way_of_the_process():
    seen = []
    tf.disable_eager_execution()
    try:
        assert not T.executing_eagerly()
        thread = threading.Thread(
            target=lambda: seen.extend([tf.get_default_graph(), T.constant(1.0).graph])
        )
        thread.start()
        thread.join()
        x = T.constant([1.0, 2.0]) * 2.0
        assert x.graph is tf.get_default_graph() is not seen[0] is seen[1]
        with tf.Session() as session:
            assert session.run(x).tolist() == [2.0, 4.0]
        tf.reset_default_graph()
        assert tf.get_default_graph() is not x.graph
    finally:
        tf.reset_default_graph()
        tf.enable_eager_execution()
    assert T.executing_eagerly()
    assert T.constant(1.0).numpy() == 1.0


def test_names_of_v1_that_mean_what_v2_means():
    assert tf.matrix_band_part is T.linalg.band_part
    assert tf.math.sin is T.math.sin
    assert "matmul" in dir(tf) and "placeholder" in dir(tf)
    with pytest.raises(AttributeError):
        tf.Module_that_is_not_there  # noqa: B018


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
def test_a_graph_with_control_flow_and_kept_calls_goes(executor):
    def build(graph, session):
        x = tf.placeholder(tf.float32)
        n = tf.placeholder(tf.int32, [])
        total = tf.while_loop(
            lambda i, s: i < n, lambda i, s: (i + 1, s + tf.reduce_sum(x)), [0, 0.0]
        )[1]
        chosen = tf.cond(total > 3.0, lambda: total * 2.0, lambda: total)
        shaped = tf.reshape(x, [n, -1])
        rows = tf.map_fn(lambda row: row * 2.0, tf.placeholder_with_default([1.0, 2.0], [None]))
        gradient = tf.gradients(chosen, x)[0]
        feeds = {x: [[1.0, 2.0]], n: 2}
        assert session.run(chosen, feeds) == 12.0
        session.run([shaped, rows, gradient, tf.nn.softmax(x)], feeds)

    with settings.executor(executor):
        check_gone(build)


def test_names_given_by_position():
    """`tf.identity(x, "y")` names what it makes, as `name="y"` does."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], "x")
        made = [
            tf.identity(x * 2.0, "y"),
            tf.nn.relu(x, "r"),
            tf.add(x, x, "a"),
            tf.constant(1.0, tf.float32, [], "c"),
        ]
    assert [tensor.name for tensor in made] == ["y:0", "r:0", "a:0", "c:0"]
    assert {"y", "r", "a", "c"} <= {node.name for node in graph.as_graph_def().node}
    with tf.Session(graph=graph) as session:
        assert session.run("y:0", {"x:0": [1.0, 2.0]}).tolist() == [2.0, 4.0]
