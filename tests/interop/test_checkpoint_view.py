"""Checkpoints seen without a program, and state in Python among what they keep."""

import numpy as np
import pytest

import talweg as tf

# what TensorFlow 2.21 says of the checkpoint of `_Pair("root")` with a `leaf`
ALL = list(range(13))
NAMES = ["a", "b", "leaf", "save_counter", "vars"]


class _Pair(tf.Module):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.a = tf.Variable(5.0)
        self.b = tf.Variable(4.0)
        self.vars = [tf.Variable(1.0), tf.Variable(2.0)]


@pytest.fixture
def view(tmp_path):
    root = _Pair("root")
    root.leaf = _Pair("leaf")
    path = tf.train.Checkpoint(root).save(str(tmp_path / "c"))
    return tf.train.CheckpointView(path), root


def test_children_and_descendants(view):
    saved, _ = view
    assert sorted(set(saved.children(0)) - {"root"}) == NAMES
    assert saved.descendants() == ALL
    with pytest.raises(IndexError):
        saved.children(99)


def test_match_and_diff(view):
    saved, root = view
    found, lacking, others = saved.diff(root)
    assert (sorted(found), lacking, others) == ([n for n in ALL if n != 5], [5], [])
    other = _Pair()
    other.other = _Pair()
    found, lacking, others = saved.diff(other)
    assert sorted(found) == [0, 1, 2, 3, 6, 7]
    assert lacking == [4, 5, 8, 9, 10, 11, 12]
    assert len(others) == 6  # other, its two variables, its list and that's two variables
    assert others[0] is other.other


def test_no_checkpoint(tmp_path):
    with pytest.raises(tf.errors.NotFoundError):
        tf.train.CheckpointView(str(tmp_path / "none"))


class _Array(tf.train.experimental.PythonState):
    def __init__(self, array):
        self.array = array

    def serialize(self):
        return self.array.tobytes()

    def deserialize(self, string_value):
        self.array = np.frombuffer(string_value)


def test_state_in_python(tmp_path):
    """A key and a value as TensorFlow writes them."""
    checkpoint = tf.train.Checkpoint(state=_Array(np.array([1.0, 2.0])))
    path = checkpoint.save(str(tmp_path / "c"))
    assert ("state/.ATTRIBUTES/py_state", []) in tf.train.list_variables(path)
    checkpoint.state.array = np.zeros(3)
    checkpoint.restore(path).assert_consumed()
    assert checkpoint.state.array.tolist() == [1.0, 2.0]
    with pytest.raises(TypeError):
        tf.train.experimental.PythonState()
