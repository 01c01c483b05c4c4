"""tf.test.TestCase and compute_gradient, used as a program's own tests use them."""

import os

import numpy as np
import pytest

import talweg as tf
import talweg.compat.v1 as tf1


class TestAssertions(tf.test.TestCase):
    def test_close(self):
        self.assertAllClose(tf.constant([1.0, 2.0]), [1.0, 2.0 + 1e-7])
        self.assertAllClose({"a": [1.0], "b": (2.0, [3.0])}, {"a": [1.0], "b": (2.0, [3.0])})
        self.assertAllClose([tf.constant(1.0), np.ones(2)], [1.0, [1.0, 1.0]])
        self.assertAllClose([np.nan, np.inf], tf.constant([np.nan, np.inf]))
        self.assertAllCloseAccordingToType(tf.constant(1.0, tf.bfloat16), 1.005)
        self.assertNotAllClose([1.0], [1.1])
        for a, b in (([1.0], [1.1]), ([1.0], [1.0, 1.0]), ({"a": 1.0}, {"b": 1.0})):
            with self.assertRaises(AssertionError):
                self.assertAllClose(a, b)

    def test_equal(self):
        self.assertAllEqual(tf.constant(["a", "b"]), [b"a", "b"])
        self.assertAllEqual({"a": 1, "b": 2}.keys(), {"b": 3, "a": 4}.keys())
        self.assertAllEqual([np.nan], tf.constant([np.nan]))
        self.assertNotAllEqual([1, 2], [1, 3])
        with self.assertRaisesRegex(AssertionError, "note"):
            self.assertAllEqual([1], [2], msg="note")

    def test_order_and_ranges(self):
        x = tf.constant([1.0, 2.0])
        self.assertAllGreater(x, 0.5)
        self.assertAllGreaterEqual(x, 1.0)
        self.assertAllLess(x, 2.5)
        self.assertAllLessEqual(x, 2.0)
        self.assertAllInRange(x, 1, 2)
        self.assertAllInSet(x, {1.0, 2.0, 3.0})
        with self.assertRaises(AssertionError):
            self.assertAllInRange(x, 1, 2, open_upper_bound=True)
        with self.assertRaises(AssertionError):
            self.assertAllInSet(x, [1.0])

    def test_errors(self):
        with self.assertRaisesOpError("shapes"):
            tf.zeros([2]) + tf.zeros([3])
        with self.assertRaisesWithPredicateMatch(ValueError, lambda e: "no" in str(e)):
            raise ValueError("no")
        with self.assertRaises(AssertionError), self.assertRaisesOpError("never"):
            pass

    def test_values_and_places(self):
        with self.cached_session() as session:
            self.assertEqual(session.run([tf.constant(1), tf.constant(2)]), [1, 2])
        self.assertEqual(self.evaluate({"a": tf.constant(1)}), {"a": 1})
        self.assertIsNone(self.evaluate(None))
        self.assertTrue(os.path.isdir(self.get_temp_dir()))
        self.assertEqual(self.get_temp_dir(), self.get_temp_dir())
        self.assertDTypeEqual(tf.constant(1.0), np.float32)
        self.assertShapeEqual(np.zeros([2]), tf.zeros([2]))

    def test_threads(self):
        thread = self.checkedThread(lambda: 1 / 0)
        thread.start()
        with self.assertRaises(AssertionError):
            thread.join()

    @tf.test.disable_with_predicate(lambda: True, "on purpose")
    def test_skipped(self):
        self.fail()


def test_each_test_starts_with_the_same_seed():
    class Draws(tf.test.TestCase):
        seen = []

        def test_draw(self):
            Draws.seen.append(np.random.rand())

    for _ in range(2):
        assert Draws("test_draw").run().wasSuccessful()
    assert Draws.seen[0] == Draws.seen[1]


def test_gradient_of_complex_numbers():
    x = tf.constant([1 + 2j, 3 - 1j], tf.complex128)
    exact, estimated = tf.test.compute_gradient(lambda x: x * x, [x], delta=1e-6)
    assert exact[0].shape == (4, 4) and exact[0].dtype == np.float64
    np.testing.assert_allclose(exact[0], estimated[0], atol=1e-8)


def test_gradient_shapes_and_absent_gradients():
    exact, estimated = tf.test.compute_gradient(
        lambda x, y: tf.reduce_sum(x, axis=0), [tf.ones([2, 3]), tf.ones([4])]
    )
    assert [part.shape for part in exact] == [(3, 6), (3, 4)]
    assert not exact[1].any() and not estimated[1].any()


def test_gradient_wants_a_list_of_floats():
    with pytest.raises(ValueError, match="a list"):
        tf.test.compute_gradient(lambda x: x, tf.constant(1.0))
    with pytest.raises(ValueError, match="int32"):
        tf.test.compute_gradient(lambda x: x, [tf.constant(1)])


class InGraphs(tf.test.TestCase):
    """What a test does in a graph; TensorFlow gives the same."""

    def test_sessions(self):
        with tf.Graph().as_default() as graph:
            x = tf1.placeholder(tf.float32, [2])
            v = tf1.get_variable("v", initializer=3.0)
            self.assertEqual(self.evaluate(tf.constant(2) + 1), 3)
            with self.session() as session:
                self.assertIs(session.graph, graph)
                self.assertIs(tf1.get_default_session(), session)
                session.run(v.initializer)
                self.assertAllEqual(session.run(x + v, {x: [1.0, 2.0]}), [4, 5])
                self.assertEqual(v.eval(), 3)
                self.assertAllClose({"a": v, "b": tf.constant([1.0])}, {"a": 3.0, "b": [1.0]})
            with self.assertRaises(RuntimeError):
                session.run(v)

    def test_kept_session(self):
        with tf.Graph().as_default():
            v = tf1.get_variable("v", initializer=3.0)
            with self.cached_session() as kept, self.test_session() as again:
                self.assertIs(kept, again)
                v.initializer.run()
            self.assertAllEqual(v, 3.0)
            self.assertEqual(self.evaluate([v, {"a": v}]), [3, {"a": 3}])
            with self.session() as fresh, self.assertRaises(tf.errors.FailedPreconditionError):
                fresh.run(v)
            with self.assertRaises(ValueError), self.cached_session(graph=tf.Graph()):
                pass

    def test_one_run_gives_all_values(self):
        with tf.Graph().as_default():
            drawn = tf.random.uniform([])
            first, second = self.evaluate([drawn, drawn + 1])
            self.assertAllClose(first + 1, second)


def test_each_test_begins_with_an_empty_graph():
    before = tf1.get_default_graph()
    assert InGraphs("test_one_run_gives_all_values").run().wasSuccessful()
    assert tf1.get_default_graph() is not before
