"""tf.train.ClusterDef, JobDef and ServerDef: descriptions of clusters as messages."""

from __future__ import annotations

from typing import Any

from talweg.api.export import export_value

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from tensorboard.compat.proto import cluster_pb2, config_pb2
except ImportError as error:
    raise ImportError(
        "messages of clusters need the package tensorboard, which has TensorFlow's definitions: "
        "pip install talweg[graphdef]"
    ) from error

ClusterDef = export_value(cluster_pb2.ClusterDef, "train.ClusterDef")
JobDef = export_value(cluster_pb2.JobDef, "train.JobDef")

_Field = descriptor_pb2.FieldDescriptorProto
FIELDS = (  # of tensorflow_server.proto
    ("cluster", 1, cluster_pb2.ClusterDef),
    ("job_name", 2, _Field.TYPE_STRING),
    ("task_index", 3, _Field.TYPE_INT32),
    ("default_session_config", 4, config_pb2.ConfigProto),
    ("protocol", 5, _Field.TYPE_STRING),
    ("port", 6, _Field.TYPE_INT32),
    ("replica", 8, _Field.TYPE_INT32),
)


def _server_def() -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name="talweg/server.proto",
        package="talweg",
        syntax="proto3",
        dependency=[cluster_pb2.DESCRIPTOR.name, config_pb2.DESCRIPTOR.name],
    )
    message = file.message_type.add(name="ServerDef")
    for name, number, kind in FIELDS:
        field = message.field.add(name=name, number=number, label=_Field.LABEL_OPTIONAL)
        if isinstance(kind, int):
            field.type = kind
        else:
            field.type, field.type_name = _Field.TYPE_MESSAGE, f".{kind.DESCRIPTOR.full_name}"
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("talweg.ServerDef"))


ServerDef = export_value(_server_def(), "train.ServerDef")
