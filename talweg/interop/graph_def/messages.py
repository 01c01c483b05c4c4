"""The message classes (`tf.GraphDef`, ...): tensorboard's copies of TensorFlow's definitions.

tensorboard is an optional package; without it, importing this module says what to install.
"""

from __future__ import annotations

from talweg.api.export import export_value

try:
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError
    from tensorboard.compat.proto.attr_value_pb2 import AttrValue, NameAttrList
    from tensorboard.compat.proto.function_pb2 import FunctionDef, FunctionDefLibrary
    from tensorboard.compat.proto.graph_pb2 import GraphDef
    from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef
    from tensorboard.compat.proto.node_def_pb2 import NodeDef
    from tensorboard.compat.proto.saver_pb2 import SaverDef
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
    from tensorboard.compat.proto.variable_pb2 import VariableDef
except ImportError as error:
    raise ImportError(
        "GraphDef messages need the package tensorboard, which has TensorFlow's definitions: "
        "pip install talweg[graphdef]"
    ) from error

PRODUCER = 2474  # the version of GraphDefs that is written: TensorFlow 2.21

export_value(AttrValue, "compat.v1.AttrValue")
export_value(GraphDef, "compat.v1.GraphDef")
export_value(MetaGraphDef, "compat.v1.MetaGraphDef")
export_value(NameAttrList, "compat.v1.NameAttrList")
export_value(NodeDef, "compat.v1.NodeDef")
export_value(SaverDef, "compat.v1.train.SaverDef")
export_value(TensorProto, "compat.v1.TensorProto")

__all__ = [
    "AttrValue",
    "DecodeError",
    "FunctionDef",
    "FunctionDefLibrary",
    "GraphDef",
    "MetaGraphDef",
    "NameAttrList",
    "NodeDef",
    "PRODUCER",
    "SaverDef",
    "TensorProto",
    "TensorShapeProto",
    "VariableDef",
    "text_format",
]
