"""The same waste in other clothes: graphs instead of eager code, methods, threads, libraries."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np

import talweg as tf
import talweg.compat.v1 as tf1
from talweg.doctor import examine


def codes(program) -> list[str]:
    return examine(program).codes


def test_the_seed_about_graphs():
    """Initializers in the arguments, a chain that nothing runs, a large constant."""

    def program():
        with tf1.Graph().as_default(), tf1.Session() as session:
            x = tf1.Variable(1.0)
            session.run(tf1.global_variables_initializer())
            session.run(tf1.global_variables_initializer())
            y = x
            for _ in range(1000):
                y = y + 1.0
            session.run(tf1.reduce_sum(np.ones((1000, 1000))))
            session.run(x)

    report = examine(program)
    assert report.codes == ["TW602", "TW604", "TW605"], str(report)
    assert {finding.code: finding.count for finding in report}["TW605"] == 1000


def test_float64_in_a_function_and_in_a_graph():
    data = np.random.default_rng(0).random((64, 3))

    def in_a_function():
        w = tf.Variable(tf.ones([3, 1]))

        @tf.function
        def step():
            z = tf.constant(data) * 2.0 + 1.0
            return tf.reduce_sum(tf.cast(z, tf.float32) @ w)

        for _ in range(12):
            step()

    def in_a_graph():
        with tf1.Graph().as_default(), tf1.Session() as session:
            w = tf1.Variable(tf1.ones([3, 1]))
            z = tf1.constant(data) * 2.0 + 1.0
            total = tf1.reduce_sum(tf1.cast(z, tf1.float32) @ w)
            init = tf1.global_variables_initializer()
            session.run(init)
            for _ in range(12):
                session.run(total)

    assert codes(in_a_function) == codes(in_a_graph) == ["TW614"]


def test_a_number_that_comes_back_as_a_tensor():
    def program():
        w = tf.Variable(1.0)
        for _ in range(15):
            value = float(w * 2.0) / 3.0
            w.assign(tf.constant(value))

    assert codes(program) == ["TW615"]


def test_what_is_looked_at_and_what_comes_in_is_no_round_trip():
    def program():
        w = tf.Variable(tf.ones([16]))
        for step in range(15):
            shown = (w * 2.0).numpy()
            batch = np.full(16, step, np.float32)
            w.assign_sub(tf.constant(batch) * 0.1)
            print(shown.mean())

    assert codes(program) == []


def test_python_called_from_a_function():
    def program():
        @tf.function
        def step(x):
            return tf.numpy_function(lambda v: v * 0.9, [x], tf.float32) + 1.0

        for _ in range(15):
            step(tf.ones([3]))

    assert codes(program) == ["TW615"]


def test_a_name_that_is_never_read_and_one_that_says_so():
    def forgotten(x):
        y = tf.square(x)  # noqa: F841
        return x

    def deliberate(x):
        _ = tf.square(x)
        return x

    assert codes(lambda: forgotten(tf.ones([3]))) == ["TW616"]
    assert codes(lambda: deliberate(tf.ones([3]))) == []


def test_checks_and_prints_are_no_unused_results():
    def program():
        x = tf.ones([3])
        tf.debugging.assert_equal(x, x)
        tf.debugging.check_numerics(x, "x")
        tf.print(x)
        tf.Variable(x).assign(x * 2.0).read_value()

    assert codes(program) == []


def test_unused_results_inside_a_function():
    def program():
        @tf.function
        def step(x):
            tf.stop_gradient(x)
            return x * 2.0

        step(tf.ones([3]))

    assert codes(program) == ["TW616"]


def test_methods_models_and_folds_are_clean():
    class Net:
        def __init__(self):
            self.w = tf.Variable(tf.ones([3, 3]))

        @tf.function
        def __call__(self, x):
            return tf.nn.relu(x @ self.w)

    def program():
        for net in [Net() for _ in range(12)]:
            net(tf.ones([2, 3]))
        for _ in range(12):
            w = tf.Variable(tf.zeros([3, 1]))
            for _ in range(5):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(tf.square(tf.ones([4, 3]) @ w - 1.0))
                w.assign_sub(0.1 * tape.gradient(loss, w))

    assert codes(program) == []


def test_data_that_is_prepared_first_is_no_leak():
    def program():
        data = [tf.constant(np.full((64, 64), i, np.float32)) for i in range(300)]
        flipped = [tf.reverse(x, [0]) for x in data]
        total = tf.zeros([])
        for x in flipped * 3:
            total = total + tf.reduce_mean(tf.square(x)) - 0.1 * tf.reduce_sum(x)
        return float(total)

    assert codes(program) == []


def test_a_tape_around_the_whole_loop_keeps_everything():
    def program():
        w = tf.Variable(tf.ones([64, 64]))
        with tf.GradientTape() as tape:
            for _ in range(300):
                x = tf.nn.relu(tf.ones([16, 64]) @ w)
                loss = tf.reduce_mean(x)
        return tape.gradient(loss, w)

    report = examine(program)
    assert report.codes == ["TW617"], str(report)
    assert "tape" in report.findings[0].cause


def test_other_threads_are_seen():
    def program():
        def work():
            tf.square(tf.ones([3]))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    report = examine(program)
    assert report.codes == ["TW616"]
    assert report.findings[0].count == 3


def test_a_zero_that_was_asked_for_is_no_missing_gradient():
    def program():
        w, unused = tf.Variable(1.0), tf.Variable(2.0)
        print(float(unused))
        with tf.GradientTape() as tape:
            loss = w * w
        return tape.gradient(loss, [w, unused], unconnected_gradients="zero")

    assert codes(program) == []


def test_variables_of_a_graph_that_the_loss_does_not_reach():
    def program():
        with tf1.Graph().as_default(), tf1.Session() as session:
            w, v = tf1.Variable(1.0, name="w"), tf1.Variable(1.0, name="v")
            loss, other = tf1.square(w), tf1.square(v)
            train = tf1.train.GradientDescentOptimizer(0.1).minimize(loss)
            init = tf1.global_variables_initializer()
            session.run(init)
            session.run([train, other])

    report = examine(program)
    assert report.codes == ["TW612"], str(report)
    assert "v:0" in report.findings[0].title


def test_a_gradient_that_is_none_is_explained_in_the_finding():
    def program():
        w, v = tf.Variable(1.4, name="w"), tf.Variable(2.0, name="v")
        with tf.GradientTape() as tape:
            loss = tf.round(w) * v
        return tape.gradient(loss, [w, v])

    report = examine(program)
    assert report.codes == ["TW612"], str(report)
    assert "tf.round(w)" in report.findings[0].cause and "TW324" in report.findings[0].cause


def test_what_has_a_name_in_a_graph_may_be_run_by_it():
    def program():
        with tf1.Graph().as_default() as graph, tf1.Session() as session:
            x = tf1.placeholder(tf1.float32, [3], name="x")
            tf1.identity(x * 2.0, name="output")
            session.run("output:0", {"x:0": np.ones(3)})
            return graph

    assert codes(program) == []


def test_layers_of_several_graphs_are_not_made_again():
    def program():
        for _ in range(5):
            with tf1.Graph().as_default(), tf1.Session() as session:
                w = tf1.Variable(tf1.ones([3]), name="w")
                y = w * 2.0
                init = tf1.global_variables_initializer()
                session.run(init)
                session.run(y)
                session.run(w)

    assert codes(program) == []


def test_nothing_of_the_program_is_kept_alive():
    with examine() as seen:
        graph = tf1.Graph()
        with graph.as_default(), tf1.Session() as session:
            w = tf1.Variable(tf1.ones([3]))
            x = tf1.placeholder(tf1.float32, [3])
            y = tf1.reduce_sum(x * w)
            init = tf1.global_variables_initializer()
            session.run(init)
            session.run(y, {x: np.ones(3)})
        tensor = tf.square(tf.ones([3]))
        function = tf.function(lambda x: x + 1.0)
        function(tensor)
        held = [weakref.ref(x) for x in (graph, session, tensor, function, y.node)]
        del graph, session, w, x, y, init, tensor, function
        gc.collect()
        assert [ref() for ref in held] == [None] * 5
    assert seen.report.codes == []


def test_batches_taken_from_one_tensor_are_not_the_same_again():
    def program():
        data = tf.random.normal([640, 64])
        w = tf.Variable(tf.zeros([64, 1]))
        for _ in range(5):
            for start in range(0, 640, 32):
                batch = tf.gather(data, tf.range(start, start + 32))
                other = data[start : start + 32]
                error = tf.roll(batch, start, axis=0) @ w - tf.reduce_mean(other)
                w.assign_sub(0.01 * tf.reduce_mean(error) * tf.ones([64, 1]))

    assert codes(program) == []


def test_large_first_values_of_variables_are_no_captured_arrays():
    table = np.ones((2000, 200), np.float32)

    def program():
        with tf1.Graph().as_default(), tf1.Session() as session:
            a = tf1.Variable(table, name="a")
            b = tf1.get_variable("b", initializer=table * 2.0)
            c = tf1.get_variable("c", [2000, 200], initializer=tf1.constant_initializer(table + 1))
            total = tf1.reduce_sum(a + b + c)
            init = tf1.global_variables_initializer()
            session.run(init)
            session.run(total)

    assert codes(program) == []


def test_eval_of_what_is_built_on_the_spot():
    def program():
        with tf1.Graph().as_default(), tf1.Session():
            x = tf1.constant(1.0)
            for step in range(5):
                (x * float(step)).eval()

    assert codes(program) == ["TW602"]


def test_a_new_state_of_zeros_for_each_batch_is_no_waste():
    def program():
        w = tf.Variable(tf.random.normal([64, 64]))
        for _ in range(60):
            state = tf.zeros([128, 64])
            for _ in range(3):
                state = tf.tanh(state @ w + tf.random.normal([128, 64]))

    assert codes(program) == []


def test_redundant_work_in_a_function():
    def program():
        @tf.function
        def step(x, a, b):
            return x @ a + x @ b

        step(tf.ones([8, 8]), tf.ones([8, 8]), tf.ones([8, 8]))

    report = examine(program)
    assert report.codes == ["TW608"], str(report)
    assert report.findings[0].places[0].source == "return x @ a + x @ b"


def test_a_graph_and_a_session_for_every_run():
    def program():
        for step in range(25):
            with tf1.Graph().as_default(), tf1.Session() as session:
                y = tf1.constant(1.0) + float(step)
                session.run(y)

    assert codes(program) == ["TW621"]


def test_functions_that_are_asked_for_ragged_tensors_first():
    """From the first ragged tensor on there is a function between the user's and the library's."""
    tf.ragged.constant([[1.0], [2.0, 3.0]])
    x = tf.Variable([4.0, 9.0])

    def forgetful():
        for _ in range(3):
            tf.sqrt(x)

    assert examine(forgetful).codes == ["TW616"]
