"""What the graph promises about size: counts of nodes and bytes, never times."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import talweg
import talweg.compat.v1 as tf


@pytest.fixture
def graph():
    """A graph that is the default one."""
    with tf.Graph().as_default() as graph:
        yield graph


def test_a_thousand_initializations_add_no_node(graph):
    variables = [tf.Variable(float(i)) for i in range(5)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = graph.stats()["live"]
        for _ in range(1000):
            session.run(tf.global_variables_initializer())
    assert graph.stats()["live"] == before
    assert variables


def test_more_variables_give_an_initializer_of_all(graph):
    a = tf.Variable(1.0)
    first = tf.global_variables_initializer()
    assert tf.global_variables_initializer() == first
    b = tf.Variable(2.0)
    second = tf.global_variables_initializer()
    assert second != first
    with tf.Session() as session:
        session.run(second)
        assert session.run([a, b]) == [1.0, 2.0]


def test_an_equal_operation_is_the_same(graph):
    x = tf.Variable(1.0)
    y = x + 1.0
    before = graph.stats()["live"]
    for _ in range(10_000):
        y = x + 1.0
    assert graph.stats()["live"] == before
    assert y.op.outputs[0] is y


def test_a_cell_run_again_and_again_stays_flat(graph):
    x = tf.placeholder(tf.float32, [None, 4])

    def cell():
        w = tf.constant(np.eye(4, dtype=np.float32))
        hidden = tf.nn.relu(tf.matmul(x, w) + 1.0)
        return tf.reduce_mean(hidden * hidden)

    loss = cell()
    before = graph.stats()["live"]
    tracemalloc.start()
    for _ in range(200):
        loss = cell()
    start = tracemalloc.get_traced_memory()[0]
    for _ in range(800):
        loss = cell()
    grown = tracemalloc.get_traced_memory()[0] - start
    tracemalloc.stop()
    assert graph.stats()["live"] == before
    assert grown < 20_000
    assert loss is not None


def test_abandoned_operations_are_forgotten(graph):
    x = tf.placeholder(tf.float32, [])
    before = graph.stats()["live"]
    for step in range(1000):
        y = x * (1.0 + step)
    assert graph.stats()["live"] == before + 2
    del y
    assert graph.stats()["live"] == before
    assert graph.stats()["collected"] >= 2000


def test_an_assignment_run_again_makes_no_node(graph):
    x = tf.Variable(0.0)
    increment = tf.assign(x, x + 1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        built = graph.stats()["built"]
        for _ in range(1000):
            session.run(increment)
        assert session.run(x) == 1000.0
        assert graph.stats()["built"] == built


def test_a_new_assignment_in_every_run_leaves_nothing(graph):
    x = tf.Variable(0.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.assign(x, x + 1))
        before = graph.stats()["live"]
        for _ in range(300):
            session.run(tf.assign(x, x + 1))
        assert graph.stats()["live"] <= before + 2


def test_arrays_are_captured_once_and_not_embedded(graph):
    many = np.ones((1000, 1000))
    total, rows = tf.reduce_sum(many), tf.reduce_sum(many, axis=0)
    stats = graph.stats()
    assert stats["captured_bytes"] == many.nbytes
    assert stats["literal_bytes"] < 1000
    with tf.Session() as session:
        assert session.run(total) == 1e6
        assert session.run(rows).shape == (1000,)


def test_a_chain_costs_the_same_per_node_at_any_length(graph):
    def grown(length):
        tracemalloc.start()
        x = tf.Variable(1.0) + 1.0
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(length):
            x = x + 1.0
        size = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        return size / length

    short, long = grown(20_000), grown(200_000)
    assert long < 300
    assert long < 1.5 * short


def test_a_long_chain_runs_differentiates_and_dies(graph):
    start = tf.placeholder(tf.float64, [])
    x = start
    for _ in range(50_000):
        x = x + 1.0
    gradient = tf.gradients(x, [start])[0]
    with tf.Session() as session:
        assert session.run([x, gradient], {start: 1.0}) == [50_001.0, 1.0]
    session.close()
    before = graph.stats()["live"]
    del x, gradient
    assert graph.stats()["live"] < before - 49_000


def test_a_dropped_graph_is_gone_without_the_collector():
    gc.collect()
    gc.disable()
    try:
        graph = tf.Graph()
        with graph.as_default():
            w = tf.Variable(np.ones((3, 3), np.float32), name="w")
            x = tf.placeholder(tf.float32, [None, 3], name="x")
            y = tf.nn.relu(tf.matmul(x, w), name="y")
            tf.add_to_collection("results", y)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                session.run(y, {x: np.ones((2, 3))})
        table = weakref.ref(graph.table.nodes[next(iter(graph.table.nodes))])
        held = weakref.ref(graph)
        del graph, w, x, y, session
        assert held() is None
        assert table() is None
    finally:
        gc.enable()


def test_stateful_operations_are_never_merged(graph):
    a, b = tf.random_normal([2]), tf.random_normal([2])
    assert a is not b
    x = tf.Variable(1.0)
    before = x.read_value()
    with tf.control_dependencies([before.op]):
        change = tf.assign(x, 5.0)
    with tf.control_dependencies([change]):
        after = x.read_value()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([before, after]) == [1.0, 5.0]
        first, second = session.run([a, b])
        assert not np.array_equal(first, second)


def test_products_with_a_shared_operand_are_factored(graph):
    x = tf.placeholder(tf.float32, [None, 3])
    a, b = tf.placeholder(tf.float32, [3, 4]), tf.placeholder(tf.float32, [3, 4])
    z = tf.matmul(x, a) + tf.matmul(x, b)
    random = np.random.default_rng(0)
    values = {
        t: random.normal(size=s).astype("f") for t, s in ((x, (5, 3)), (a, (3, 4)), (b, (3, 4)))
    }
    with tf.Session() as session:
        found = session.run(z, values)
        np.testing.assert_allclose(found, values[x] @ values[a] + values[x] @ values[b], rtol=1e-5)
        assert "x @ (A + B)" in session.report(z, [x, a, b])[0]
        products = [s for s in next(iter(session._plans.values())).steps if s.prim.name == "matmul"]
        assert len(products) == 1


def test_a_product_that_is_a_result_is_not_factored(graph):
    x = tf.placeholder(tf.float32, [2, 3])
    a, b = tf.placeholder(tf.float32, [3, 4]), tf.placeholder(tf.float32, [3, 4])
    first = tf.matmul(x, a)
    z = first + tf.matmul(x, b)
    with tf.Session() as session:
        assert session.report([z, first], [x, a, b]) == []


def test_shared_work_is_named(graph):
    x = tf.placeholder(tf.float32, [])
    y = tf.exp(x) + tf.exp(x)
    assert any("asked for 2 times" in line for line in graph.shared_work())
    with tf.Session() as session:
        assert any("runs once" in line for line in session.report(y, [x]))


def test_traces_die_with_their_function():
    gc.collect()
    gc.disable()
    try:

        def make():
            @talweg.function
            def f(x):
                return talweg.reduce_sum(x * x)

            return f

        f = make()
        for size in range(1, 100):
            f(talweg.zeros([size] * (1 + size % 3)))
        concrete = weakref.ref(f.get_concrete_function(talweg.zeros([2, 2])))
        graph = weakref.ref(concrete().graph)
        del f
        assert concrete() is None
        assert graph() is None
    finally:
        gc.enable()


def test_what_is_known_of_a_node_is_its_own(graph):
    """Shapes do not come from nodes that are gone, whatever memory they were at."""
    random = np.random.default_rng(0)
    for _ in range(3000):
        shape = [None if n == 1 else int(n) for n in random.integers(1, 5, random.integers(1, 4))]
        x = tf.placeholder(tf.float32, shape)
        assert tf.nn.relu(x).shape.as_list() == shape
        assert tf.concat([x, x], 0).shape.as_list()[1:] == shape[1:]


def test_inputs_of_unknown_size_leave_nothing(graph):
    def cell():
        x = tf.placeholder(tf.float32, [None, 3])
        return tf.reduce_sum(tf.nn.relu(x) * 2.0 + x)

    def held_after(cells):
        for _ in range(cells):
            cell()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    before = held_after(2000)  # until free lists are full
    grown = held_after(2000) - before
    tracemalloc.stop()
    assert grown < 2000 * 48  # less than the smallest object for a cell


def test_states_of_zeros_are_fed_apart():
    """The last state of a batch is fed in place of the zeros of the first: c and h are not one."""
    with tf.Graph().as_default(), tf.Session() as session:
        cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(2) for _ in range(2)])
        state = cell.zero_state(1, tf.float32)
        flat = [part for layer in state for part in layer]
        values = [[[float(n), -float(n)]] for n in range(4)]
        found = session.run([x + 0.0 for x in flat], dict(zip(flat, values)))
        assert [x.tolist() for x in found] == values
        found = session.run([x + 0.0 for x in flat], {flat[1]: [[5.0, 6.0]]})
        assert [x.sum() for x in found] == [0.0, 11.0, 0.0, 0.0]


def test_a_tensor_that_stands_for_several_cannot_be_fed():
    """Nobody knows any more who uses which of them; TensorFlow feeds one."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        once, twice = x + 1.0, x * 2.0
        again = x * 2.0
        assert again is twice
        y = tf.gradients(tf.reduce_sum(tf.sigmoid(once)), x)[0] + once
        assert session.run(y, {once: [0.0, 0.0]}).tolist() == [0.25, 0.25]
        with pytest.raises(ValueError, match="more than once"):
            session.run(twice, {twice: [1.0, 1.0]})
        parts = tf.unstack(twice)
        assert session.run(parts[0] + parts[1], {parts[0]: 1.0, x: [0.0, 3.0]}) == 7.0
        v = tf.Variable(1.0)
        assert session.run([v + 1.0, v.read_value()], {v: 5.0}) == [6.0, 5.0]
