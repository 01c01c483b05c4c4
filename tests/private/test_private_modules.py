"""Modules below `tensorflow` that are not public, as far as Keras and its tests import them."""

from __future__ import annotations

import importlib
import logging

import pytest

import talweg as tf


@pytest.fixture(autouse=True)
def _alias():
    tf.as_tensorflow()


def test_batch_sizes():
    """As TensorFlow 2.21 finds them."""
    distribute = importlib.import_module("tensorflow.python.data.experimental.ops.distribute")
    numbers = tf.data.Dataset.range(16)
    batches = numbers.batch(8)
    cases = [
        (batches, 8),
        (numbers.batch(8, True), 8),
        (batches.prefetch(2), 8),
        (batches.shuffle(3), 8),
        (batches.filter(lambda x: True), 8),
        (batches.repeat(2), 8),
        (tf.data.Dataset.zip((batches, batches)), 8),
        (batches.concatenate(batches), 8),
        (tf.data.Dataset.zip((batches, numbers.batch(4))), -1),
        (numbers.padded_batch(4), 4),
        (batches.map(lambda x: x + 1), -1),
        (batches.window(2), -1),
        (batches.batch(3), 3),
        (tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4]]), 2),
    ]
    for dataset, size in cases:
        assert distribute.compute_batch_size(dataset).numpy() == size, dataset


def test_names_of_specs():
    registry = importlib.import_module("tensorflow.python.framework.type_spec_registry")
    spec = tf.RaggedTensorSpec([2, None])
    name = registry.get_name(type(spec))
    assert name == "tf.RaggedTensorSpec" and registry.lookup(name) is tf.RaggedTensorSpec
    with pytest.raises(ValueError, match="No TypeSpec has been registered"):
        registry.lookup("tf.add")
    with pytest.raises(ValueError, match="has not been registered"):
        registry.get_name(tf.OptionalSpec)


def test_messages_and_records(tmp_path):
    from tensorflow.core.util import event_pb2
    from tensorflow.python.lib.io import tf_record

    path = str(tmp_path / "events")
    with tf_record.TFRecordWriter(path) as writer:
        writer.write(event_pb2.Event(step=3).SerializeToString())
    (record,) = tf_record.tf_record_iterator(path)
    assert event_pb2.Event.FromString(record).step == 3


def test_determinism_is_remembered():
    config = importlib.import_module("tensorflow.python.framework.config")
    config.disable_op_determinism()  # an example may have asked for it in this process
    assert not config.is_op_determinism_enabled()
    tf.config.experimental.enable_op_determinism()
    assert config.is_op_determinism_enabled()
    config.disable_op_determinism()
    assert not config.is_op_determinism_enabled()


def test_the_seed_and_what_is_in_force():
    """What scikeras imports to make `random_state` hold."""
    from tensorflow.python.eager import context
    from tensorflow.python.framework import config, ops

    assert config.is_op_determinism_enabled() is False
    tf.random.set_seed(5)
    assert context.executing_eagerly() and context.global_seed() == 5
    tf.random.set_seed(None)
    assert context.global_seed() is None
    with tf.Graph().as_default() as graph:
        tf.compat.v1.set_random_seed(7)
        assert not context.executing_eagerly()
        assert ops.get_default_graph() is graph and graph.seed == 7


def test_private_names_that_are_not_there_are_told_once(caplog, monkeypatch):
    """A library that catches the ImportError goes on without: the log says so."""
    monkeypatch.setattr(logging.getLogger("talweg"), "disabled", False)  # by whom ran before
    caplog.set_level(logging.WARNING, "talweg")
    for _ in range(2):
        with pytest.raises(ImportError, match="smart_module"):
            from tensorflow.python.framework import smart_module  # noqa: F401
        with pytest.raises(ImportError, match="smart_name"):
            from tensorflow.python.framework.ops import smart_name  # noqa: F401
        with pytest.raises(ImportError, match="smart_folder"):
            import tensorflow.python.smart_folder.inner  # noqa: F401
    from tensorflow.python.framework import config  # noqa: F401

    told = [record.getMessage() for record in caplog.records if record.name == "talweg"]
    assert [text.split()[0] for text in told] == [
        "tensorflow.python.framework.smart_module",
        "tensorflow.python.framework.ops.smart_name",
        "tensorflow.python.smart_folder",
    ]
