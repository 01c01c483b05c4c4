"""tf.train.Example and the messages it consists of: named lists of bytes, floats and integers.

The definitions are TensorFlow's (`example.proto`, `feature.proto`), described here field by field;
protobuf, an optional package, makes classes of them.
"""

from __future__ import annotations

from typing import Any

from talweg.api.export import export_value

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ImportError as error:
    raise ImportError(
        "tf.train.Example and its parts need the package protobuf: pip install talweg[graphdef]"
    ) from error

_Field = descriptor_pb2.FieldDescriptorProto
PACKAGE = "tensorflow"


def _one(message: Any, number: int, name: str, kind: str, choice: bool = False) -> None:
    """Write a field with another message."""
    field = message.field.add(
        name=name,
        number=number,
        type=_Field.TYPE_MESSAGE,
        label=_Field.LABEL_OPTIONAL,
        type_name=f".{PACKAGE}.{kind}",
    )
    if choice:
        field.oneof_index = 0


def _many(message: Any, kind: int, packed: bool = True, type_name: str | None = None) -> None:
    """Write a list, number 1."""
    name = "feature" if type_name else "value"
    field = message.field.add(
        name=name, number=1, type=kind, label=_Field.LABEL_REPEATED, type_name=type_name
    )
    if packed:
        field.options.packed = True


def _by_name(message: Any, name: str, kind: str) -> None:
    """Write a dictionary of messages by their names, number 1."""
    entry = message.nested_type.add(name=f"{name.title().replace('_', '')}Entry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=_Field.TYPE_STRING, label=_Field.LABEL_OPTIONAL)
    _one(entry, 2, "value", kind)
    message.field.add(
        name=name,
        number=1,
        type=_Field.TYPE_MESSAGE,
        label=_Field.LABEL_REPEATED,
        type_name=f".{PACKAGE}.{message.name}.{entry.name}",
    )


def _define_classes() -> dict[str, Any]:
    """Define the classes, by name."""
    file = descriptor_pb2.FileDescriptorProto(
        name="talweg/example.proto", package=PACKAGE, syntax="proto3"
    )
    add = file.message_type.add
    _many(add(name="BytesList"), _Field.TYPE_BYTES, packed=False)
    _many(add(name="FloatList"), _Field.TYPE_FLOAT)
    _many(add(name="Int64List"), _Field.TYPE_INT64)
    feature = add(name="Feature")
    feature.oneof_decl.add(name="kind")
    for number, kind in enumerate(("BytesList", "FloatList", "Int64List"), 1):
        _one(feature, number, f"{kind[:-4].lower()}_list", kind, choice=True)
    _by_name(add(name="Features"), "feature", "Feature")
    many = add(name="FeatureList")
    _many(many, _Field.TYPE_MESSAGE, packed=False, type_name=f".{PACKAGE}.Feature")
    _by_name(add(name="FeatureLists"), "feature_list", "FeatureList")
    _one(add(name="Example"), 1, "features", "Features")
    sequence = add(name="SequenceExample")
    _one(sequence, 1, "context", "Features")
    _one(sequence, 2, "feature_lists", "FeatureLists")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    names = [message.name for message in file.message_type]
    descriptors = [pool.FindMessageTypeByName(f"{PACKAGE}.{name}") for name in names]
    return dict(zip(names, map(message_factory.GetMessageClass, descriptors)))


_DEFINED = _define_classes()
BytesList = export_value(_DEFINED["BytesList"], "train.BytesList")
FloatList = export_value(_DEFINED["FloatList"], "train.FloatList")
Int64List = export_value(_DEFINED["Int64List"], "train.Int64List")
Feature = export_value(_DEFINED["Feature"], "train.Feature")
Features = export_value(_DEFINED["Features"], "train.Features")
FeatureList = export_value(_DEFINED["FeatureList"], "train.FeatureList")
FeatureLists = export_value(_DEFINED["FeatureLists"], "train.FeatureLists")
Example = export_value(_DEFINED["Example"], "train.Example")
SequenceExample = export_value(_DEFINED["SequenceExample"], "train.SequenceExample")
