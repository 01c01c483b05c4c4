"""Nests of specs and Python values as messages (StructuredValue), and back.

Signatures of functions, the values of Python arguments and the structures of results are written
this way.
"""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from talweg.api.export import export, look_up
from talweg.core.bounded_spec import BoundedTensorSpec
from talweg.core.dtypes import DType, as_dtype
from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape
from talweg.core.spec import TensorSpec, TypeSpec
from talweg.eager import extension
from talweg.eager.convert import convert_to_tensor
from talweg.eager.extension_spec import ExtensionTypeSpec
from talweg.eager.tensor import EagerTensor
from talweg.graph import structure
from talweg.interop.graph_def.tensor_protos import array_to_proto, make_ndarray, shape_from_proto
from talweg.interop.saved_model.messages import StructuredValue
from talweg.linear_operators.composite import LinearOperatorSpec

# The numbers of TypeSpecProto's classes -> public names here.
CLASSES = {
    1: "SparseTensorSpec",
    2: "IndexedSlicesSpec",
    3: "RaggedTensorSpec",
    4: "TensorArraySpec",
    7: "OptionalSpec",
}


@export("__internal__.saved_model.encode_structure")
def encode_value(value: object) -> Any:
    """Return a value as a message; ValueError for what has no form.

    >>> import talweg as tf
    >>> saved = tf.__internal__.saved_model
    >>> saved.decode_proto(saved.encode_structure({"x": [tf.TensorSpec([2], tf.int32)]}))
    {'x': [TensorSpec(shape=(2,), dtype=tf.int32, name=None)]}
    """
    message = StructuredValue()
    _write(value, message)
    return message


def _write(value: object, message: Any) -> None:
    if value is None:
        message.none_value.SetInParent()
    elif isinstance(value, (bool, np.bool_)):
        message.bool_value = bool(value)
    elif isinstance(value, (int, np.integer)):
        message.int64_value = int(value)
    elif isinstance(value, (float, np.floating)):
        message.float64_value = float(value)
    elif isinstance(value, str):
        message.string_value = value
    elif isinstance(value, DType):
        message.tensor_dtype_value = value.as_datatype_enum
    elif isinstance(value, TensorShape):
        message.tensor_shape_value.CopyFrom(value.as_proto())
    elif type(value) is TensorSpec:
        _write_spec(value, message.tensor_spec_value)
    elif isinstance(value, BoundedTensorSpec):
        _write_spec(value, message.bounded_tensor_spec_value)
        for bound in ("minimum", "maximum"):
            array = getattr(value, bound)
            getattr(message.bounded_tensor_spec_value, bound).CopyFrom(array_to_proto(array))
    elif isinstance(value, TypeSpec):
        _write_type_spec(value, message.type_spec_value)
    elif isinstance(value, EagerTensor):
        message.tensor_value.CopyFrom(array_to_proto(np.asarray(value._array), value.dtype))
    elif isinstance(value, np.ndarray):
        message.numpy_value.CopyFrom(array_to_proto(value))
    else:
        _write_container(value, message)


def _write_spec(spec: TensorSpec, message: Any) -> None:
    message.shape.CopyFrom(spec.shape.as_proto())
    message.dtype = spec.dtype.as_datatype_enum
    if spec.name is not None:
        message.name = spec.name


# Of TypeSpecProto's classes: the spec is known by its name, that of an extension type by the name
# which its class gives itself.
REGISTERED, EXTENSION_TYPE = 12, 13


def _write_type_spec(spec: TypeSpec, message: Any) -> None:
    if isinstance(spec, LinearOperatorSpec):
        message.type_spec_class = REGISTERED
        message.type_spec_class_name = spec.registered_name
        _write(spec.collect_state(), message.type_state)
        message.num_flat_components = len(spec.part_specs())
        return
    if isinstance(spec, ExtensionTypeSpec):
        _write_extension_type(spec, message)
        return
    name = type(spec).__name__
    number = next((number for number, known in CLASSES.items() if known == name), None)
    if number is None:
        _write_registered(spec, message)
        return
    message.type_spec_class = number
    message.type_spec_class_name = name
    _write(spec._serialize(), message.type_state)
    parts = getattr(spec, "part_specs", None)
    message.num_flat_components = 1 if parts is None else len(parts())


def _write_registered(spec: TypeSpec, message: Any) -> None:
    """Write a spec of a library's class, which it registered under a name."""
    name = _registered_name(spec)
    if name is None:
        raise value_error("TW509", f"{spec!r} has no form in a saved model")
    message.type_spec_class = REGISTERED
    message.type_spec_class_name = name
    _write(spec._serialize(), message.type_state)
    message.num_flat_components = len(spec.part_specs())


def _registered_name(spec: TypeSpec) -> str | None:
    return next((name for name, known in extension.REGISTERED.items() if known is type(spec)), None)


def _write_extension_type(spec: ExtensionTypeSpec, message: Any) -> None:
    name = _registered_name(spec)
    if name is None:
        kind = spec.value_type.__name__
        raise value_error(
            "TW509",
            f"{spec!r} has no form in a saved model, since {kind} has no name there",
            f'__name__ = "package.{kind}" in the class {kind}',
        )
    message.type_spec_class = EXTENSION_TYPE
    message.type_spec_class_name = name
    _write(spec._serialize(), message.type_state)
    message.num_flat_components = len(spec.part_specs())


def _write_container(value: Any, message: Any) -> None:
    kind = structure.kind_of(value)
    if kind == structure.NAMEDTUPLE:
        message.named_tuple_value.name = type(value).__name__
        for name, part in zip(value._fields, value):
            pair = message.named_tuple_value.values.add()
            pair.key = name
            _write(part, pair.value)
    elif kind == structure.MAPPING and all(isinstance(key, str) for key in value):
        message.dict_value.SetInParent()
        for key, part in value.items():
            _write(part, message.dict_value.fields[key])
    elif isinstance(value, tuple) or kind == structure.VIEW:
        message.tuple_value.SetInParent()
        for part in value:
            _write(part, message.tuple_value.values.add())
    elif kind == structure.SEQUENCE:
        message.list_value.SetInParent()
        for part in value:
            _write(part, message.list_value.values.add())
    else:
        raise value_error(
            "TW509",
            f"{value!r} of type {type(value).__name__} has no form in a saved model",
            "numbers, texts, specs, and nests of these",
        )


@export("__internal__.saved_model.decode_proto")
def read(message: Any) -> Any:
    """Return the value of a message; ValueError for kinds that are not known."""
    kind = message.WhichOneof("kind")
    if kind == "none_value" or kind is None:
        return None
    reader = _READERS.get(kind)
    if reader is None:
        raise value_error("TW509", f"a saved model holds a value of the kind {kind}")
    return reader(getattr(message, kind))


def _read_spec(message: Any) -> Any:
    return TensorSpec(
        shape_from_proto(message.shape), as_dtype(message.dtype), message.name or None
    )


def _read_bounded(message: Any) -> Any:
    spec, bounds = _read_spec(message), [message.minimum, message.maximum]
    return BoundedTensorSpec(spec.shape, spec.dtype, *map(make_ndarray, bounds), name=spec.name)


def _read_type_spec(message: Any) -> Any:
    registered = message.type_spec_class_name
    if message.type_spec_class == REGISTERED and registered.startswith("tf.linalg.LinearOperator"):
        return LinearOperatorSpec.from_registered(registered, read(message.type_state))
    if message.type_spec_class == EXTENSION_TYPE:
        known: Any = extension.REGISTERED.get(registered)
        if known is None:
            kind = registered.removesuffix(".Spec")
            raise value_error(
                "TW509",
                f"a saved model has an extension type that calls itself {kind!r}",
                f'its class, with __name__ = "{kind}", defined before the model is loaded',
            )
        return known._deserialize(read(message.type_state))
    name = CLASSES.get(message.type_spec_class)
    if name is None and registered in extension.REGISTERED:
        return extension.REGISTERED[registered]._deserialize(read(message.type_state))
    if name is None:
        raise value_error(
            "TW509",
            f"a saved model has a spec of the class {message.type_spec_class_name!r} "
            f"({message.type_spec_class}), which talweg does not know",
        )
    return look_up(name)._deserialize(read(message.type_state))


def _read_named_tuple(message: Any) -> Any:
    names = [pair.key for pair in message.values]
    made = collections.namedtuple(message.name, names)  # type: ignore[misc]
    return made(*[read(pair.value) for pair in message.values])


_READERS: dict[str, Any] = {
    "bool_value": bool,
    "int64_value": int,
    "float64_value": float,
    "string_value": str,
    "tensor_dtype_value": as_dtype,
    "tensor_shape_value": shape_from_proto,
    "tensor_spec_value": _read_spec,
    "bounded_tensor_spec_value": _read_bounded,
    "type_spec_value": _read_type_spec,
    "tensor_value": lambda message: convert_to_tensor(make_ndarray(message)),
    "numpy_value": make_ndarray,
    "list_value": lambda message: [read(part) for part in message.values],
    "tuple_value": lambda message: tuple([read(part) for part in message.values]),
    "dict_value": lambda message: {key: read(part) for key, part in message.fields.items()},
    "named_tuple_value": _read_named_tuple,
}
