"""Small things that the tests of TF-Agents ask of TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
import talweg.compat.v1 as tf1
from talweg.interop.checkpoint.data_structures import _TupleWrapper
from talweg.testing.test_case import TestCase


class Lists(TestCase):
    def runTest(self):
        self.assertEqual(self.evaluate([lambda: tf.constant(1), {"a": lambda: 2}]), [1, {"a": 2}])
        self.assertAllEqual([[[2]], [[2], [2]]], [[[2]], [[2], [2]]])
        with self.assertRaises(AssertionError):
            self.assertAllEqual([[[2]], [[2], [2]]], [[[2]], [[2], [3]]])


def test_assertions_call_functions_in_nests_and_compare_uneven_lists():
    assert Lists().run().wasSuccessful()


@pytest.mark.parametrize("kind", [tf.constant, tf.Variable])
def test_dropout_divides_by_what_a_tensor_leaves(kind):
    x = tf.range(1.0, 49.0)
    for function, seed in ((tf.nn.dropout, 1), (tf.nn.experimental.stateless_dropout, [1, 2])):
        kept = function(x, kind(0.3), seed=seed).numpy()
        quotients = (x / (1 - tf.constant(0.3))).numpy()
        assert 0 < (kept == 0).sum() < 48
        np.testing.assert_array_equal(kept[kept != 0], quotients[kept != 0])


def test_cells_do_without_training():
    cell = tf1.nn.rnn_cell.LSTMCell(3)
    output, _ = cell(tf.ones([2, 4]), cell.zero_state(2, tf.float32), training=False)
    assert output.shape == [2, 3]


def test_a_manager_takes_the_number_from_the_session(tmp_path):
    with tf1.Graph().as_default(), tf1.Session() as session:
        step = tf1.train.get_or_create_global_step()
        manager = tf.train.CheckpointManager(tf.train.Checkpoint(step=step), tmp_path, None)
        session.run([step.initializer, tf1.global_variables_initializer()])
        session.run(step.assign_add(5))
        assert manager.save(checkpoint_number=step).endswith("-5")


class Cell(tf.train.experimental.PythonState):
    """A text of a checkpoint."""

    text = ""

    def serialize(self):
        return self.text

    def deserialize(self, string_value):
        self.text = string_value.decode()


class Texts(tf.Module):
    """An object that makes the children that a checkpoint has for it."""

    def _lookup_dependency(self, name, cached_dependencies=None):
        known = super()._lookup_dependency(name, cached_dependencies)
        if known is None and name.startswith("text"):
            known = self._unconditional_dependency_names[name] = Cell()
        return known


def test_objects_make_their_children_when_they_are_restored(tmp_path):
    texts = Texts()
    texts._lookup_dependency("text1").text = "hello"
    path = tf.train.Checkpoint(texts=texts).save(str(tmp_path / "c"))
    others = Texts()
    tf.train.Checkpoint(texts=others).restore(path).assert_consumed()
    assert others._lookup_dependency("text1").text == "hello"


def test_what_got_no_value_is_told_before_values_that_nobody_took(tmp_path):
    path = tf.train.Checkpoint(a=tf.Variable(1.0)).save(str(tmp_path / "c"))
    status = tf.train.Checkpoint(b=tf.Variable(1.0)).restore(path)
    with pytest.raises(AssertionError, match="not bound to checkpointed values"):
        status.assert_consumed()
    status.expect_partial()


def test_tuples_are_wrapped_by_name():
    wrapped = _TupleWrapper((1, {"a": 2}))
    assert wrapped == (1, {"a": 2}) and isinstance(wrapped, tf.__internal__.tracking.Trackable)
    tf.nest.assert_same_structure(wrapped, (1, {"a": 3}))
