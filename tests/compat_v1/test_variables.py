"""Variables of TensorFlow 1 graphs: lifetimes, order of reads and writes, random streams."""

import gc
import weakref
from contextlib import contextmanager

import numpy as np
import pytest

import talweg
import talweg.compat.v1 as tf


@pytest.fixture
def graph():
    """A graph that is the default one."""
    with tf.Graph().as_default() as graph:
        yield graph


@contextmanager
def no_collector():
    """The block without the garbage collector."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


# -- lifetimes


def _plain():
    v = tf.get_variable("v", [2, 3], regularizer=lambda x: tf.reduce_sum(x * x))
    tf.Variable(v * 2.0)
    tf.train.get_or_create_global_step()
    return v.assign_add(tf.ones([2, 3]))


def _scoped():
    with tf.variable_scope("a", initializer=tf.ones_initializer(), reuse=tf.AUTO_REUSE):
        tf.get_variable("v", [2])
    template = tf.make_template("t", lambda x: x * tf.get_variable("w", []))
    return template(1.0) + template(2.0)


def _layers():
    x = tf.layers.dense(tf.ones([2, 5]), 3, activation=tf.nn.relu)
    y = tf.layers.batch_normalization(x, training=True)
    return tf.layers.dropout(y, 0.5, training=tf.placeholder_with_default(True, []))


def _recurrent():
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.LSTMCell(3), tf.nn.rnn_cell.GRUCell(2)])
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.ones([2, 4, 3]), [2, 3], dtype=tf.float32)
    return tf.gradients(outputs, tf.trainable_variables())


def _branches():
    v = tf.get_variable("v", [], initializer=tf.ones_initializer())
    changed = tf.cond(v > 0, lambda: v.assign_add(1.0), lambda: v * 2.0)
    _, looped = tf.while_loop(
        lambda i, x: i < 3, lambda i, x: (i + 1, x * v + tf.random_uniform([])), [0, 1.0]
    )
    return [changed, looped, *tf.gradients(looped, v)]


@pytest.mark.parametrize("build", [_plain, _scoped, _layers, _recurrent, _branches])
def test_a_graph_of_variables_goes_without_the_collector(build):
    with no_collector():
        graph = tf.Graph()
        with graph.as_default():
            fetches = build()
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                session.run([fetches, tf.get_collection(tf.GraphKeys.UPDATE_OPS)])
        gone = weakref.ref(graph), weakref.ref(graph.table)
        variable = weakref.ref((*tf.global_variables(), *graph.get_collection("variables"))[0])
        del graph, fetches, session
        assert [ref() for ref in (*gone, variable)] == [None, None, None]


def test_a_variable_does_not_keep_its_graph(graph):
    with tf.Graph().as_default():
        v = tf.Variable(1.0, name="orphan")
    with pytest.raises(RuntimeError, match="orphan"):
        v.value()


def test_a_variable_of_a_kept_graph_can_be_run_outside_of_it():
    graph = tf.Graph()
    with graph.as_default():
        v = tf.Variable([1.0, 2.0])
    for misuse in (lambda: v * 2.0, lambda: v.assign([3.0, 4.0])):
        with pytest.raises(TypeError, match="out of scope"):
            misuse()
    session = tf.Session(graph=graph)
    session.run(v.initializer)
    assert session.run(v).tolist() == [1.0, 2.0]


# -- promise 7: what has state is never merged


def test_reads_before_and_after_a_write_differ(graph):
    v = tf.get_variable("v", initializer=1.0)
    before = v.read_value()
    write = tf.assign(v, 5.0)
    with tf.control_dependencies([write]):
        after = v.read_value()
    assert before is not after
    with tf.Session() as session:
        session.run(v.initializer)
        assert [float(x) for x in session.run([before, after])] == [1.0, 5.0]


def test_equal_writes_are_two(graph):
    v = tf.get_variable("v", initializer=0.0)
    first, second = v.assign_add(1.0), v.assign_add(1.0)
    assert first is not second
    with tf.Session() as session:
        session.run(v.initializer)
        session.run([first, second])
        assert session.run(v) == 2.0


def test_random_operations_are_not_merged_and_have_their_own_streams(graph):
    tf.set_random_seed(1)
    a, b = tf.random_normal([4], seed=3), tf.random_normal([4], seed=3)
    c, d = tf.random_normal([4]), tf.random_normal([4])
    with tf.Session() as session:
        first = session.run([a, b, c, d])
        second = session.run([a, b, c, d])
    assert a is not b
    np.testing.assert_array_equal(first[0], first[1])  # the same seeds: the same stream, twice
    assert not np.array_equal(first[2], first[3])
    assert not np.array_equal(first[0], second[0])
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run([a, b, c, d]), first)
        np.testing.assert_array_equal(session.run(a), second[0])
        np.testing.assert_array_equal(session.run(b), second[1])


def test_a_stream_goes_on_inside_loops_and_branches(graph):
    _, total = tf.while_loop(
        lambda i, x: i < 4,
        lambda i, x: (i + 1, tf.concat([x, tf.random_uniform([1], seed=1)], 0)),
        [0, tf.zeros([0])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )
    flag = tf.placeholder(tf.bool, [])
    drawn = tf.cond(flag, lambda: tf.random_uniform([], seed=2), lambda: tf.constant(-1.0))
    with tf.Session() as session:
        one, two = session.run(total), session.run(total)
        assert len(set(one.tolist() + two.tolist())) == 8
        values = [float(session.run(drawn, {flag: f})) for f in (True, False, True)]
    with tf.Session() as session:
        again = [float(session.run(drawn, {flag: True})) for _ in range(2)]
        np.testing.assert_array_equal(session.run(total), one)
    assert values[1] == -1.0
    assert again == [values[0], values[2]]


def test_random_numbers_of_a_rank_nobody_knows(graph):
    x = tf.placeholder(tf.float32)
    noise = tf.random_uniform(tf.shape(x), seed=1)
    dropped = tf.nn.dropout(x, rate=0.5, seed=1)
    fixed = tf.random_uniform([6], seed=1)
    with tf.Session() as session:
        got, thin, flat = session.run([noise, dropped, fixed], {x: np.ones((2, 3))})
        assert session.run(noise, {x: 1.0}).shape == ()
    np.testing.assert_array_equal(got.reshape(-1), flat)
    np.testing.assert_array_equal(thin, np.where(got >= 0.5, 2.0, 0.0))


# -- first values


def test_variables_made_of_others_initialize_in_any_order(graph):
    v = tf.Variable([1.0, 2.0], name="v")
    w = tf.Variable(v * 2.0 + 1.0, name="w")
    u = tf.Variable(lambda: w.value() + v, name="u")
    with tf.Session() as session:
        session.run(u.initializer)
        assert session.run(u).tolist() == [4.0, 7.0]
        session.run(v.assign([10.0, 10.0]))
        session.run(w.initializer)
        assert session.run(w).tolist() == [21.0, 21.0]
        session.run(tf.global_variables_initializer())
        assert session.run([v, w])[0].tolist() == [1.0, 2.0]


def test_variables_made_inside_a_loop_belong_to_the_graph(graph):
    def body(i, x):
        with tf.variable_scope("inner", reuse=tf.AUTO_REUSE):
            w = tf.get_variable("w", [], initializer=tf.constant_initializer(2.0))
        return i + 1, x * w

    _, y = tf.while_loop(lambda i, x: i < 3, body, [0, 1.0])
    (w,) = tf.global_variables()
    assert w.name == "inner/w:0"
    with tf.Session() as session:
        session.run(w.initializer)
        assert [float(x) for x in session.run([y, *tf.gradients(y, w)])] == [8.0, 12.0]


def test_writes_inside_branches_reach_the_session(graph):
    v = tf.get_variable("v", initializer=1.0)
    flag = tf.placeholder(tf.bool, [])
    y = tf.cond(flag, lambda: v.assign_add(10.0), lambda: v.assign_sub(1.0))
    with tf.Session() as session:
        session.run(v.initializer)
        found = [float(session.run(y, {flag: f})) for f in (True, False, False)]
        assert found == [11.0, 10.0, 9.0]
        assert session.run(v) == 9.0


def test_uninitialized_variables_are_named(graph):
    v, w = tf.get_variable("first", [1]), tf.get_variable("second", [1])
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="'first', 'second'"):
            session.run(v + w)
        with pytest.raises(tf.errors.NotFoundError, match="second"):
            session.run(w.assign_add([1.0]))
        session.run(w.assign([1.0]))
        with pytest.raises(tf.errors.FailedPreconditionError, match="'first'"):
            session.run(v + w)


# -- writes


def test_scattered_writes_are_checked(graph):
    v = tf.Variable(np.arange(6.0).reshape(3, 2))
    bad = [
        tf.scatter_update(v, [3], [[0.0, 0.0]]),
        tf.scatter_add(v, [-1], [[0.0, 0.0]]),
        tf.scatter_nd_add(v, [[0, 2]], [1.0]),
        v.scatter_nd_update([[3, 0]], [1.0]),
    ]
    with tf.Session() as session:
        session.run(v.initializer)
        for write in bad:
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[0, [23]\)"):
                session.run(write)
        assert session.run(v).tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_scattered_writes_see_the_writes_before_them(graph):
    v = tf.Variable(np.zeros(3))
    first = v.scatter_nd_add([[0]], [1.0])
    with tf.control_dependencies([first]):
        second = v.scatter_nd_max([[0], [1]], [0.5, 7.0])
    with tf.control_dependencies([second]):
        third = v[2:].assign([9.0])
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(third).tolist() == [1.0, 7.0, 9.0]


def test_a_failing_write_leaves_the_variable(graph):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    x = tf.placeholder(tf.float32)
    put = v[1:].assign(x)
    with tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(put, {x: [1.0, 2.0, 3.0]})
        assert session.run(v).tolist() == [1.0, 2.0]
        session.run(put, {x: [5.0]})
        assert session.run(v).tolist() == [1.0, 5.0]


def test_changes_of_a_changed_variable(graph):
    v = tf.get_variable("v", initializer=1.0)
    y = tf.assign_add(tf.assign(v, 10.0), 5.0)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run([y, v]) == [15.0, 1.0]
        assert session.run(v) == 15.0


def test_streams_of_forgotten_operations_are_forgotten(graph):
    with tf.Session() as session:
        for _ in range(300):
            session.run(tf.random_uniform([2]))
        assert len(session._state) < 100


# -- scopes and getters


def test_scope_of_another_thread_of_names(graph):
    with tf.variable_scope("a") as a, tf.variable_scope("b"):
        assert tf.get_variable("v", [1]).name == "a/b/v:0"
        with tf.variable_scope(a):
            assert tf.get_variable("v", [1]).name == "a/v:0"
            assert graph.get_name_scope() == "a/b/a"
    assert tf.get_variable_scope().name == ""


def test_variables_outside_of_graphs_are_eager():
    v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
    assert v.numpy().tolist() == [1.0, 1.0]
    assert tf.get_variable("v", [2]) is not v
    assert isinstance(v, tf.Variable)
    assert tf.layers.dense(tf.ones([1, 2]), 3).shape == (1, 3)


def test_kinds_of_variables(graph):
    v = tf.Variable(1.0)
    assert isinstance(v, tf.Variable)
    assert isinstance(v, talweg.Variable)
    assert not isinstance(v.value(), tf.Variable)
    with pytest.raises(ValueError, match="initial_value"):
        tf.Variable()


def test_partitioners_give_parts():
    shape = tf.TensorShape([10, 4])
    assert tf.fixed_size_partitioner(3, axis=1)(shape=shape, dtype=tf.float32) == [1, 3]
    assert tf.variable_axis_size_partitioner(64)(shape, tf.float32) == [3, 1]
    assert tf.min_max_variable_partitioner(8, min_slice_size=16)(shape, tf.float32) == [8, 1]


# -- layers and cells beyond the recorded programs


def test_channels_first_is_channels_last_turned(graph):
    x = tf.constant(np.random.RandomState(0).rand(2, 5, 6, 3).astype(np.float32))
    first = tf.transpose(x, [0, 3, 1, 2])
    for function, options in [
        (tf.layers.conv2d, {"filters": 4, "kernel_size": 3, "name": "c"}),
        (tf.layers.conv2d_transpose, {"filters": 4, "kernel_size": 3, "strides": 2, "name": "t"}),
        (tf.layers.separable_conv2d, {"filters": 4, "kernel_size": 3, "name": "s"}),
        (tf.layers.max_pooling2d, {"pool_size": 2, "strides": 2}),
    ]:
        y = function(x, **options)
        if "name" in options:
            options["reuse"] = True
        z = function(first, data_format="channels_first", **options)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            got, turned = session.run([y, tf.transpose(z, [0, 2, 3, 1])])
        np.testing.assert_allclose(got, turned, rtol=1e-5, atol=1e-6)


def test_state_that_is_no_tuple(graph):
    kinds = tf.nn.rnn_cell
    x = tf.constant(np.random.RandomState(0).rand(2, 4, 3).astype(np.float32))
    found = []
    for is_tuple in (True, False):
        with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
            cell = kinds.MultiRNNCell(
                [
                    kinds.LSTMCell(3, num_proj=2, state_is_tuple=is_tuple),
                    kinds.BasicLSTMCell(2, state_is_tuple=is_tuple),
                ],
                is_tuple,
            )
            found.append(tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)[0])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first, second = session.run(found)
    np.testing.assert_allclose(first, second, rtol=1e-6)


def test_variational_dropout_is_the_same_at_every_step(graph):
    kinds = tf.nn.rnn_cell
    cell = kinds.DropoutWrapper(
        kinds.BasicRNNCell(40),
        output_keep_prob=0.5,
        variational_recurrent=True,
        dtype=tf.float32,
        seed=1,
    )
    outputs, _ = tf.nn.static_rnn(cell, [tf.ones([1, 3])] * 3, dtype=tf.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        masks = [value == 0 for value in session.run(outputs)]
    assert masks[0].any()
    np.testing.assert_array_equal(masks[0], masks[1])
    np.testing.assert_array_equal(masks[0], masks[2])


def test_saved_states(graph):
    class Saver:
        """Keeps states in a variable."""

        kept = None

        def state(self, name):
            self.kept = tf.get_variable(name, [2, 3], initializer=tf.ones_initializer())
            return self.kept.read_value()

        def save_state(self, name, value):
            return self.kept.assign(value)

    saver, cell = Saver(), tf.nn.rnn_cell.BasicRNNCell(3)
    outputs, state = tf.nn.static_state_saving_rnn(cell, [tf.ones([2, 4])] * 2, saver, "h")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        last, final = session.run([outputs[-1], state])
        np.testing.assert_array_equal(last, final)
        np.testing.assert_array_equal(session.run(saver.kept), final)


def test_the_initializer_of_all_variables_has_a_name_to_be_run_by(graph):
    tf.get_variable("v", [])
    with tf.control_dependencies([tf.no_op()]):
        name = tf.global_variables_initializer().name
    assert name == "init" and not graph.get_operation_by_name(name).control_inputs[1:]
    with tf.Session() as session:
        assert session.run(name) is None
