"""Checkpoints in several data files, with tensors in slices, as TensorFlow 2.21 writes them."""

import os

import numpy as np
import pytest

import talweg as tf
from talweg.formats.bundle import slices

NAME = "m/.ATTRIBUTES/VARIABLE_VALUE"
KEYS = [  # of a checkpoint that TensorFlow wrote
    (((0, 1), (0, 100)), b"\x01\x01\x02\x80\x81\x80\xc0d"),
    (((1, 1), (6, 94)), b"\x01\x01\x02\x81\x81\x86\xc0^"),
    (((2, 1), (37, 63)), b"\x01\x01\x02\x82\x81\xa5\xbf"),
    (((2, 1), (96, 4)), b"\x01\x01\x02\x82\x81\xc0`\x84"),
]


def objects(scale):
    """Some variables in a checkpoint."""
    return tf.train.Checkpoint(
        a=tf.Variable(tf.range(10.0) * scale),
        b=tf.Variable([1.0 * scale, 2.0]),
        m=tf.Variable(tf.reshape(tf.range(300.0), [3, 100]) * scale),
        s=tf.Variable("abc" if scale else ""),
    )


def sharing(callback):
    """The options of a checkpoint that is shared out."""
    return tf.train.CheckpointOptions(experimental_sharding_callback=callback)


def files(folder):
    """The names and sizes of the data files."""
    return {name: os.path.getsize(folder / name) for name in os.listdir(folder) if ".data-" in name}


@pytest.mark.parametrize("extents, key", KEYS)
def test_keys_of_slices(extents, key):
    """A slice's key has the bytes that TensorFlow writes."""
    assert slices.slice_key(NAME, extents) == b"\x00" + NAME.encode() + b"\x00" + key


@pytest.mark.parametrize("most", [16, 100, 500, 10_000])
def test_files_of_a_size(most, tmp_path):
    """A policy makes files of at most its size; what is read is what was written."""
    path = str(tmp_path / "x")
    objects(1).write(path, sharing(tf.train.experimental.MaxShardSizePolicy(most)))
    sizes = sorted(files(tmp_path).values())
    assert all(size <= most for size in sizes[:-1])  # the object graph is one string
    read = objects(0)
    read.read(path).assert_consumed()
    wanted = objects(1)
    for name in "abms":
        np.testing.assert_array_equal(getattr(read, name).numpy(), getattr(wanted, name).numpy())
    reader = tf.train.load_checkpoint(path)
    assert reader.get_variable_to_shape_map()[NAME] == [3, 100]


def test_overwritten_with_other_numbers_of_files(tmp_path):
    """Whatever number of files there was, the new checkpoint is there and old files are not."""
    path = str(tmp_path / "x")
    policy = tf.train.experimental.MaxShardSizePolicy(500)
    for scale, options in enumerate([policy, policy, None, None, policy], 1):
        objects(scale).write(path, sharing(options))
        read = objects(0)
        read.read(path).assert_consumed()
        assert read.a.numpy()[1] == scale
        assert len({name.rpartition("-of-")[2] for name in files(tmp_path)}) == 1


def test_a_callback_of_ones_own(tmp_path):
    """A callback sees every tensor with its owner, and says where each goes."""
    seen = []

    class Alone(tf.train.experimental.ShardingCallback):
        @property
        def description(self):
            return "each in a file of its own"

        def __call__(self, shardable_tensors):
            seen.extend(shardable_tensors)
            return [{each.checkpoint_key: {each.slice_spec: each.tensor}} for each in seen]

    written = objects(1)
    written.write(str(tmp_path / "x"), sharing(Alone()))
    assert len(files(tmp_path)) == len(seen) == 5
    assert seen[0].trackable is written.a
    assert (seen[0].dtype, seen[0].shape.as_list()) == (tf.float32, [10])
    assert seen[0].device.to_string() == "/job:localhost/replica:0/task:0/device:CPU:0"


def test_by_task(tmp_path):
    """One process writes one file."""
    objects(1).write(str(tmp_path / "x"), sharing(tf.train.experimental.ShardByTaskPolicy()))
    assert list(files(tmp_path)) == ["x.data-00000-of-00001"]


def test_refusals(tmp_path):
    """What is no callback, a size of nothing, and a file of nothing are refused."""
    with pytest.raises(ValueError, match="ShardingCallback"):
        sharing(3)
    with pytest.raises(ValueError, match="max_shard_size=0"):
        tf.train.experimental.MaxShardSizePolicy(0)

    class Nothing(tf.train.experimental.ShardByTaskPolicy):
        def __call__(self, shardable_tensors):
            return [{}]

    with pytest.raises(ValueError, match="without tensors"):
        objects(1).write(str(tmp_path / "x"), sharing(Nothing()))
    assert not files(tmp_path)


def test_a_slice_that_lacks(tmp_path):
    """A table whose slices do not make up the tensor is damaged, and says so."""
    from talweg.formats.bundle.reader import Bundle

    path = str(tmp_path / "x")
    objects(1).write(path, sharing(tf.train.experimental.MaxShardSizePolicy(500)))
    bundle = Bundle(path)
    entry = bundle.entries[NAME]
    object.__setattr__(entry, "slices", entry.slices[1:])
    with pytest.raises(tf.errors.DataLossError, match="do not make up"):
        bundle.read(NAME)
    bundle = Bundle(path)
    bundle._slices.clear()
    with pytest.raises(tf.errors.DataLossError, match="lacks a slice"):
        bundle.read(NAME)
