"""What TF-Agents asks of structures, specs and trackable objects."""

from __future__ import annotations

import pytest

import talweg as tf
from talweg.interop.checkpoint.data_structures import NoDependency


def test_lists_of_any_class_are_one_structure():
    class Mine(list):
        pass

    module = tf.Module()
    module.wrapped = [1, 2]
    for other in (module.wrapped, Mine([3, 4])):
        tf.nest.assert_same_structure([1, 2], other)
        assert tf.nest.map_structure(lambda a, b: a + b, [1, 2], other)[0] == 1 + other[0]
    tf.nest.assert_same_structure({"a": [1]}, {"a": Mine([2])})
    with pytest.raises(TypeError):
        tf.nest.assert_same_structure([1], (1,))


def test_specs_of_batches():
    spec = tf.TensorSpec([3, 2])
    assert spec._unbatch() == tf.TensorSpec([2])
    assert spec._batch(5) == tf.TensorSpec([5, 3, 2])
    assert spec._batch(None).shape.as_list() == [None, 3, 2]
    with pytest.raises(ValueError, match="scalar"):
        tf.TensorSpec([])._unbatch()


def test_attributes_without_dependency_are_the_value_itself(tmp_path):
    module = tf.Module()
    module.v = tf.Variable(1.0)
    module.left_out = NoDependency([tf.Variable(2.0)])
    module.left_out.append(3)
    assert type(module.left_out) is list
    names = [name for name, _ in module._unconditional_checkpoint_dependencies]
    assert names == ["v"]
    path = tf.train.Checkpoint(module).write(tmp_path / "it")
    assert not any("left_out" in name for name, _ in tf.train.list_variables(path))
