"""The messages of saved models, and the files they are in.

The whole file is not among tensorboard's copies of TensorFlow's definitions.  Its two fields are
described here.
"""

from __future__ import annotations

import os
from typing import Any

from talweg.api.export import export_value
from talweg.core.errors import DataLossError, OpError, UnimplementedError, compose, value_error
from talweg.formats.files import read_file
from talweg.interop.graph_def.messages import DecodeError, MetaGraphDef, text_format
from talweg.interop.saved_model.constants import (
    ASSETS_DIRECTORY,
    SAVED_MODEL_FILENAME_PB,
    SAVED_MODEL_FILENAME_PBTXT,
    SAVED_MODEL_SCHEMA_VERSION,
)

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from tensorboard.compat.proto import meta_graph_pb2, saved_object_graph_pb2
    from tensorboard.compat.proto.struct_pb2 import StructuredValue
except ImportError as error:
    raise ImportError(
        "Saved models need the package tensorboard, which has TensorFlow's definitions: "
        "pip install talweg[graphdef]"
    ) from error

AssetFileDef = meta_graph_pb2.AssetFileDef
SavedObjectGraph = saved_object_graph_pb2.SavedObjectGraph
SignatureDef = export_value(meta_graph_pb2.SignatureDef, "compat.v1.SignatureDef")
TensorInfo = export_value(meta_graph_pb2.TensorInfo, "compat.v1.TensorInfo")

_Field = descriptor_pb2.FieldDescriptorProto


def _define_class() -> Any:
    """Define the class of the whole file."""
    file = descriptor_pb2.FileDescriptorProto(
        name="talweg/saved_model.proto",
        package="talweg",
        syntax="proto3",
        dependency=[meta_graph_pb2.DESCRIPTOR.name],
    )
    model = file.message_type.add(name="SavedModel")
    model.field.add(
        name="saved_model_schema_version",
        number=1,
        type=_Field.TYPE_INT64,
        label=_Field.LABEL_OPTIONAL,
    )
    model.field.add(
        name="meta_graphs",
        number=2,
        type=_Field.TYPE_MESSAGE,
        label=_Field.LABEL_REPEATED,
        type_name=f".{MetaGraphDef.DESCRIPTOR.full_name}",
    )
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("talweg.SavedModel"))


SavedModel = _define_class()


def cannot_save(text: str, hint: str = "") -> OpError:
    """Make the error of an object that has no form in a saved model; the caller raises it."""
    return UnimplementedError(None, None, compose("TW509", text, hint=hint))


def asset_path(folder: str, name: str) -> str:
    """Return the path of an asset in a saved model; DataLossError for one that is not in its
    folder.

    name: as it stands in the model, which anybody can have written.
    """
    inside = os.path.normpath(name)
    leaves = os.path.isabs(name) or os.path.splitdrive(name)[0] or os.pardir in inside.split(os.sep)
    if leaves or inside == os.curdir or "\0" in name:
        text = f"{folder}: the asset {name!r} is not in the folder {ASSETS_DIRECTORY!r}"
        raise DataLossError(None, None, compose("TW509", text))
    return os.path.join(folder, ASSETS_DIRECTORY, name)


def read_saved_model(folder: str) -> Any:
    """Read the message of a saved model; OSError if there is none or it is damaged."""
    path = os.path.join(folder, SAVED_MODEL_FILENAME_PB)
    text_path = os.path.join(folder, SAVED_MODEL_FILENAME_PBTXT)
    message = SavedModel()
    if os.path.exists(path):
        data = read_file(path)
        try:
            message.ParseFromString(data)
        except DecodeError as error:
            raise OSError(f"Cannot parse file {path}: {error}.  [TW509]") from None
    elif os.path.exists(text_path):
        data = read_file(text_path)
        try:
            text_format.Parse(data.decode("utf-8"), message)
        except (text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
            raise OSError(f"Cannot parse file {text_path}: {error}.  [TW509]") from None
    else:
        raise OSError(
            f"SavedModel file does not exist at: {folder}{os.path.sep}"
            f"{{{SAVED_MODEL_FILENAME_PBTXT}|{SAVED_MODEL_FILENAME_PB}}}  [TW509]"
        )
    if message.saved_model_schema_version > SAVED_MODEL_SCHEMA_VERSION:
        raise value_error(
            "TW509",
            f"{folder} is a saved model of version {message.saved_model_schema_version}",
            f"version {SAVED_MODEL_SCHEMA_VERSION}",
        )
    return message


__all__ = [
    "AssetFileDef",
    "SavedModel",
    "SavedObjectGraph",
    "SignatureDef",
    "StructuredValue",
    "TensorInfo",
    "cannot_save",
    "read_saved_model",
]
