"""Lookup tables in functions, datasets, sessions, checkpoints, saved models; many keys at once."""

import numpy as np
import pytest

import talweg as tf
from talweg.kernels.strings import native

WORDS = ["a", "b", "c"]


def _vocabulary():
    ids = tf.constant(np.arange(len(WORDS)), tf.int64)
    return tf.lookup.StaticVocabularyTable(tf.lookup.KeyValueTensorInitializer(WORDS, ids), 2)


def _dense():
    table = tf.lookup.experimental.DenseHashTable(tf.string, tf.int64, -1, "", "$")
    table.insert(["a", "b"], [5, 6])
    return table


@pytest.mark.parametrize("make", [_vocabulary, _dense])
def test_in_function_and_dataset(make):
    """Functions and pipelines look words up as eager code does."""
    table, keys = make(), tf.constant(["b", "z", "a"])
    wanted = table.lookup(keys).numpy()
    spec = [tf.TensorSpec([None], tf.string)]
    traced = tf.function(lambda x: table.lookup(x), input_signature=spec)
    np.testing.assert_array_equal(traced(keys).numpy(), wanted)
    data = tf.data.Dataset.from_tensors(keys).map(table.lookup)
    np.testing.assert_array_equal(next(iter(data)).numpy(), wanted)


@pytest.mark.parametrize("make", [_vocabulary, _dense])
def test_saved_model(make, tmp_path):
    """A module with a table is saved with what the table holds."""
    module = tf.Module()
    module.table = make()
    spec = [tf.TensorSpec([None], tf.string)]
    module.find = tf.function(lambda x: module.table.lookup(x), input_signature=spec)
    wanted = module.find(tf.constant(["b", "z"])).numpy()
    tf.saved_model.save(module, str(tmp_path))
    found = tf.saved_model.load(str(tmp_path)).find(tf.constant(["b", "z"]))
    np.testing.assert_array_equal(found.numpy(), wanted)


def test_session():
    """A graph of the first generation with a vocabulary; its initializer is there."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        table = v1.lookup.StaticVocabularyTable(
            tf.lookup.KeyValueTensorInitializer(WORDS, np.arange(3, dtype=np.int64)), 1
        )
        found = table.lookup(v1.placeholder_with_default(tf.constant(["c", "z"]), [None]))
        session.run([v1.tables_initializer(), table.initializer])
        assert session.run(found).tolist() == [2, 3]


def test_checkpoint(tmp_path):
    """A dense table is saved and restored as a mutable one is."""
    table = _dense()
    path = tf.train.Checkpoint(table=table).save(str(tmp_path / "point"))
    other = tf.lookup.experimental.DenseHashTable(tf.string, tf.int64, -1, "", "$")
    tf.train.Checkpoint(table=other).restore(path)
    assert other.lookup(["a", "b", "c"]).numpy().tolist() == [5, 6, -1]


@pytest.mark.parametrize("dtype", [tf.string, tf.int64, tf.int32])
def test_many_keys(dtype, monkeypatch):
    """Many keys are found at once, and what changes in between is seen."""
    monkeypatch.setattr(native, "MANY", 50)
    monkeypatch.setattr("talweg.api.lookup.tables.MANY", 50)
    numbers = np.arange(-50, 150)
    keys = tf.as_string(numbers) if dtype is tf.string else tf.constant(numbers, dtype)
    table = tf.lookup.experimental.MutableHashTable(dtype, tf.float32, -1.0)
    table.insert(keys[50:], tf.range(150.0))
    wanted = np.where(numbers < 0, -1.0, numbers)
    for _ in range(2):
        np.testing.assert_array_equal(table.lookup(keys).numpy(), wanted)
    table.insert(keys[:1], [7.0])
    assert table.lookup(keys).numpy()[0] == 7
    table.remove(keys[:1])
    assert table.lookup(keys).numpy()[0] == -1
    static = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(keys[50:], tf.as_string(tf.range(150))), "?"
    )
    found = static.lookup(keys).numpy()
    assert found[:50].tolist() == [b"?"] * 50
    assert found[50:].tolist() == [b"%d" % n for n in range(150)]


def test_a_failed_insert_changes_nothing():
    """Keys that a dense table cannot hold are refused before anything is written."""
    table = _dense()
    with pytest.raises(tf.errors.InvalidArgumentError, match="empty_key"):
        table.insert(["new", ""], [1, 2])
    assert table.lookup(["new"]).numpy().tolist() == [-1]


@pytest.mark.parametrize("dtype", [tf.int64, tf.float64, tf.int32, tf.string])
def test_many_keys_of_all_lengths_are_told_apart(dtype):
    """Keys of up to 7 bytes are compared by a word, longer ones by their bytes."""
    stems = ["", "a", "abcdef", "abcdefg", "abcdefgh", "abcdefgh" * 3]
    keys = [stem + tail for stem in stems for tail in ("", "\0", "\0\0", "b", "é")]
    keys = list(dict.fromkeys(keys))[:-1]
    values = tf.cast(tf.range(len(keys)), dtype) if dtype != tf.string else tf.constant(keys)
    default = tf.constant(-1, dtype) if dtype != tf.string else tf.constant("none")
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant(keys), values), default
    )
    asked = [*keys, "x", "abcdefghi", "\0\0\0", "abcdefg\0\0\0"] * 700
    wanted = dict(zip(keys, values.numpy().tolist()))
    for _ in range(2):  # few at a time, then with the compiled table
        found = table.lookup(tf.constant(asked)).numpy().tolist()
        assert found == [wanted.get(key, default.numpy()) for key in asked]
