"""What of tf.compat.v1.tpu works without a TPU, as recorded from TensorFlow on a CPU."""

import pytest

import talweg as tf

v1 = tf.compat.v1
embedding = tf.tpu.experimental.embedding


def test_bfloat16_variables_are_kept_wide():
    with tf.Graph().as_default(), v1.Session() as session:
        with v1.tpu.bfloat16_scope():
            narrow = v1.get_variable("a", [2], tf.bfloat16, v1.ones_initializer())
            wide = v1.get_variable("b", [2])
        with v1.tpu.bfloat16_scope("x") as scope:
            v1.get_variable("a", [2], tf.bfloat16)
        assert (narrow.dtype, wide.dtype, scope.name) == (tf.bfloat16, tf.float32, "x")
        assert [v.name for v in v1.global_variables()] == ["a:0", "b:0", "x/a:0"]
        assert {v.dtype for v in v1.global_variables()} == {tf.float32}
        session.run(v1.global_variables_initializer())
        assert session.run(tf.reduce_sum(narrow)) == 2


def test_columns_are_those_of_feature_column():
    with tf.Graph().as_default(), v1.Session() as session:
        ids = tf.feature_column.categorical_column_with_identity("a", 4)
        column = v1.tpu.experimental.embedding_column(ids, 2, initializer=tf.ones_initializer())
        x = v1.feature_column.input_layer({"a": tf.constant([[1], [2]])}, [column])
        session.run(v1.global_variables_initializer())
        assert session.run(x).tolist() == [[1, 1], [1, 1]]
        assert v1.global_variables()[0].name == "input_layer/a_embedding/embedding_weights:0"


def test_descriptions_are_checked():
    with pytest.raises(ValueError, match="slot_names"):
        embedding.CustomOptimizer(lambda *x: x[1], slot_names=["a"])
    with pytest.raises(ValueError, match="1 or 2"):
        embedding.CustomOptimizer(lambda *x: x[1], 0.1, ["a"], [tf.ones], slot_dims=[3])
    with pytest.raises(ValueError, match="initializer"):
        embedding.CustomCombiner(lambda *x: x[1], 3, num_weights=2)
    combiner = embedding.CustomCombiner(lambda *x: x[1], 3)
    assert embedding.TableConfig(5, 3, combiner=combiner).combiner is combiner
    assert str(combiner).startswith("custom_combiner_")


def test_what_drives_tpus_says_so():
    with pytest.raises(AttributeError, match="TPU"):
        v1.tpu.rewrite  # noqa: B018
