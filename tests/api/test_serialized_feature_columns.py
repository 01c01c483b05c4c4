"""Feature columns as dictionaries: TensorFlow's forms, recorded by hand, and back."""

from __future__ import annotations

import pytest

import talweg as tf

columns = tf.feature_column
internal = tf.__internal__.feature_column


def square(x):
    return x * x


MADE = [
    columns.numeric_column("x", [2]),
    columns.numeric_column("x", normalizer_fn=square),
    columns.indicator_column(columns.categorical_column_with_hash_bucket("h", 5)),
    columns.bucketized_column(columns.numeric_column("x"), [1.0, 2.0]),
    columns.crossed_column(["g", columns.categorical_column_with_identity("i", 3)], 7),
    columns.categorical_column_with_vocabulary_list("g", ["a", "b"]),
]


@pytest.mark.parametrize("column", MADE, ids=[str(n) for n in range(len(MADE))])
def test_columns_come_back(column):
    config = internal.serialize_feature_column(column)
    assert config["class_name"] == type(column).__name__
    assert internal.deserialize_feature_column(config, {"square": square}) == column


def test_forms_are_those_of_tensorflow():
    assert internal.serialize_feature_column(MADE[1]) == {
        "class_name": "NumericColumn",
        "config": {
            "key": "x",
            "shape": (1,),
            "default_value": None,
            "dtype": "float32",
            "normalizer_fn": "square",
        },
    }
    assert internal.serialize_feature_column(MADE[4])["config"]["keys"] == (
        "g",
        {
            "class_name": "IdentityCategoricalColumn",
            "config": {"key": "i", "number_buckets": 3, "default_value": None},
        },
    )


def test_initializers_and_columns_that_are_one():
    column = columns.embedding_column(columns.categorical_column_with_identity("i", 3), 4)
    config = internal.serialize_feature_column(column)
    assert config["config"]["initializer"]["class_name"] == "TruncatedNormal"
    known = {}
    again = [internal.deserialize_feature_column(config, None, known) for _ in range(2)]
    assert again[0] is again[1]
    assert again[0].initializer.get_config() == column.initializer.get_config()


def test_what_is_no_column_is_refused():
    with pytest.raises(ValueError, match="FeatureColumn"):
        internal.serialize_feature_column(3)
    shapeless = {"class_name": "NumericColumn", "config": {"key": "x", "shap": (1,)}}
    for bad in (
        *(3, {"class_name": "Nope", "config": {}}, {"class_name": "Any", "config": {}}),
        *({"class_name": "NumericColumn"}, shapeless),
    ):
        with pytest.raises(ValueError, match="config format"):
            internal.deserialize_feature_column(bad)
    config = internal.serialize_feature_column(MADE[1])
    with pytest.raises(ValueError, match="Unknown object: square"):
        internal.deserialize_feature_column(config)
    column = columns.embedding_column(columns.categorical_column_with_identity("i", 3), 4)
    config = internal.serialize_feature_column(column)
    config["config"]["initializer"]["class_name"] = "Nope"
    with pytest.raises(ValueError, match="Unknown object: Nope"):
        internal.deserialize_feature_column(config)
