"""Names of TensorFlow 1 with arguments of their own: ragged values, quantized numbers, columns."""

import json

import numpy as np
import pytest

import talweg.compat.v1 as tf


def test_ragged_values():
    found = tf.ragged.constant_value([[1, 2], [3]])
    assert (str(found), found.dtype) == ("<tf.RaggedTensorValue [[1, 2], [3]]>", np.int64)
    assert tf.ragged.constant_value([1.0, 2.0]).dtype == np.float64
    narrow = tf.ragged.constant_value([[1]], np.int32, row_splits_dtype="int32")
    assert (narrow.dtype, narrow.row_splits.dtype) == (np.int32, np.int32)


def test_ragged_placeholders():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.ragged.placeholder(tf.float32, 2, [3])
        assert (x.shape.as_list(), x.ragged_rank) == ([None, None, None, 3], 2)
        assert tf.ragged.placeholder(tf.float32, 0, [3]).shape == [3]
        rows = tf.ragged.placeholder(tf.int32, 1)
        given = tf.ragged.constant_value([[1, 2], [3]], np.int32)
        assert session.run(rows + 1, {rows: given}).to_list() == [[2, 3], [4]]


def test_quantized_numbers():
    """The values are TensorFlow 2.21's."""
    found = tf.quantize_v2([0.0, 1.0, -2.0], -2.0, 2.0, tf.qint8)
    assert found.output.numpy().tolist() == [-1, 63, -128]
    found = tf.quantize_v2([0.0, 1.0, -2.0], -2.0, 2.0, tf.quint8, "SCALED")
    assert (found.output.numpy().tolist(), float(found.output_min)) == ([0, 128, 0], 0.0)
    x = tf.cast(tf.reshape(tf.range(0, 160, 10), [1, 4, 4, 1]), tf.quint8)
    window = [1, 2, 2, 1], [1, 2, 2, 1], "VALID"
    largest = tf.nn.quantized_max_pool(x, 0.0, 1.0, *window)[0]
    mean = tf.nn.quantized_avg_pool(x, 0.0, 1.0, *window)[0]
    assert largest.numpy().reshape(-1).tolist() == [50, 70, 130, 150]
    assert mean.numpy().reshape(-1).tolist() == [25, 45, 105, 125]
    filters = tf.cast(tf.reshape(tf.range(0, 120, 30), [2, 2, 1, 1]), tf.quint8)
    found = tf.nn.quantized_conv2d(x, filters, 0.0, 10.0, -1.0, 1.0, [1, 1, 1, 1], "VALID")
    assert found[0].numpy().reshape(-1)[:3].tolist() == [-5600, -8920, -12240]
    assert float(found[1]) == pytest.approx(-660510.25)


def test_conversion():
    def double(x):
        if x > 0:
            x = 2 * x
        return x

    assert int(tf.autograph.to_graph(double)(tf.constant(3))) == 6
    assert "if_stmt" in tf.autograph.to_code(double, indentation="  ")


def test_columns_and_vocabularies(tmp_path):
    path = tmp_path / "words"
    path.write_text("a\nb\nc\n")
    column = tf.feature_column.categorical_column_with_vocabulary_file(
        "k", str(path), num_oov_buckets=1
    )
    assert (column.key, column.vocabulary_size, column.num_oov_buckets) == ("k", 3, 1)
    assert tf.train.VocabInfo("new", 3, 0, "old").axis == 0


def test_profiler_hook(tmp_path):
    with tf.Graph().as_default():
        step = tf.assign_add(tf.train.create_global_step(), 1)
        hook = tf.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path))
        with tf.train.MonitoredSession(hooks=[hook]) as session:
            for _ in range(3):
                session.run(step)
    found = json.loads((tmp_path / "timeline-2.json").read_text())
    assert all(event["ph"] == "X" for event in found["traceEvents"])
    with pytest.raises(ValueError, match="every_steps|save_s|one of"):
        tf.train.ProfilerHook()
