"""Feature columns as dictionaries, in which Keras's layers keep them, and back.

A column is a tuple with names; its dictionary has its class and a value for each name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from talweg.api.export import export, look_up
from talweg.core.dtypes import DType, as_dtype
from talweg.core.errors import value_error
from talweg.feature_columns import categorical, dense, embedding, sequences
from talweg.feature_columns.column import FeatureColumn

MODULES = (categorical, dense, embedding, sequences)
FUNCTIONS = ("normalizer_fn",)


@export("__internal__.feature_column.serialize_feature_column")
def serialize_feature_column(fc: Any) -> Any:
    """Return a feature column as a dictionary of its class and its arguments; a key as it is.

    Functions become their names.  ValueError for anything else.

    >>> import talweg as tf
    >>> column = tf.feature_column.numeric_column("x")
    >>> tf.__internal__.feature_column.serialize_feature_column(column)["config"]["dtype"]
    'float32'
    """
    if isinstance(fc, str):
        return fc
    if not isinstance(fc, FeatureColumn) or not hasattr(fc, "_fields"):
        raise value_error("TW207", f"serialize_feature_column: {fc!r}", "a FeatureColumn or a key")
    config = {name: _serialize(getattr(fc, name)) for name in fc._fields}
    return {"class_name": type(fc).__name__, "config": config}


def _serialize(value: Any) -> Any:
    if isinstance(value, FeatureColumn):
        return serialize_feature_column(value)
    if isinstance(value, DType):
        return value.name
    if isinstance(value, tuple):
        return tuple([_serialize(part) for part in value])
    if hasattr(value, "get_config"):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    return value.__name__ if callable(value) else value


@export("__internal__.feature_column.deserialize_feature_column")
def deserialize_feature_column(
    config: Any,
    custom_objects: Mapping[str, Any] | None = None,
    columns_by_name: dict[str, Any] | None = None,
) -> Any:
    """Return the feature column of a dictionary that `serialize_feature_column` made.

    custom_objects: functions and classes by name.  columns_by_name: equal columns become those that
    are in it.  ValueError for a class or function that is not known.

    >>> import talweg as tf
    >>> internal = tf.__internal__.feature_column
    >>> column = tf.feature_column.numeric_column("x", [2])
    >>> config = internal.serialize_feature_column(column)
    >>> internal.deserialize_feature_column(config) == column
    True
    """
    if isinstance(config, str):
        return config
    known = custom_objects or {}
    column_class = _find_class(config, known)
    values = {
        name: _deserialize(name, value, known, columns_by_name)
        for name, value in config["config"].items()
    }
    try:
        column = column_class(**values)
    except TypeError as error:
        raise _make_format_error(config) from error
    if columns_by_name is None:
        return column
    return columns_by_name.setdefault(f"{type(column).__name__}:{column.name}", column)


def _find_class(config: Any, known: Mapping[str, Any]) -> Any:
    if isinstance(config, Mapping) and isinstance(config.get("config"), Mapping):
        for names in (known, *map(vars, MODULES)):
            found = names.get(config.get("class_name", ""))
            if isinstance(found, type) and issubclass(found, FeatureColumn):
                return found
    raise _make_format_error(config)


def _make_format_error(config: Any) -> ValueError:
    text = f"Improper config format: {config!r}"
    return value_error("TW207", text, "what serialize_feature_column returned")


def _deserialize(name: str, value: Any, known: Mapping[str, Any], columns: Any) -> Any:
    if isinstance(value, Mapping) and value.get("class_name", "").endswith("Column"):
        return deserialize_feature_column(value, known, columns)
    if isinstance(value, Mapping) and "class_name" in value:
        return _find_initializer(value["class_name"], known)(**value["config"])
    if name == "dtype":
        return as_dtype(value)
    if name in FUNCTIONS and isinstance(value, str):
        if value not in known:
            raise value_error("TW207", f"Unknown object: {value}", f"one of {sorted(known)}")
        return known[value]
    if isinstance(value, (list, tuple)):
        return tuple([_deserialize("", part, known, columns) for part in value])
    return value


def _find_initializer(name: str, known: Mapping[str, Any]) -> Any:
    if name in known:
        return known[name]
    try:
        return look_up(f"compat.v1.initializers.{_snake_case(name)}")
    except AttributeError:
        text = f"Unknown object: {name}"
        raise value_error("TW207", text, f"an initializer or one of {sorted(known)}") from None


def _snake_case(name: str) -> str:
    return "".join([f"_{c.lower()}" if c.isupper() else c for c in name]).lstrip("_")
