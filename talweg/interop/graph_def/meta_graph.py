"""MetaGraphDefs: a GraphDef with the graph's collections, variables among them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export, look_up
from talweg.compat_v1.graphs import default_graph
from talweg.core.errors import compose
from talweg.core.shapes import as_shape
from talweg.eager.graph_variable import GraphVariable
from talweg.eager.variable import VariableAggregation, VariableSynchronization
from talweg.formats.files import read_file
from talweg.graph.attempts import attempt_on
from talweg.graph.handle import Handle
from talweg.graph.operation import Operation
from talweg.graph.symbol import Symbol
from talweg.interop.graph_def.files import write_message
from talweg.interop.graph_def.importing import import_into
from talweg.interop.graph_def.messages import (
    PRODUCER,
    DecodeError,
    MetaGraphDef,
    VariableDef,
    text_format,
)
from talweg.interop.graph_def.variable_defs import message_of, slice_of

if TYPE_CHECKING:
    from talweg.graph.graph import Graph

TENSORFLOW = "2.21.0"  # whose format is written


@export("compat.v1.train.export_meta_graph")
@as_it_is
def export_meta_graph(
    filename: str | None = None,
    meta_info_def: object = None,
    graph_def: Any = None,
    saver_def: object = None,
    collection_list: Any = None,
    as_text: bool = False,
    graph: Any = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **unused: object,
) -> Any:
    """Return the graph and its collections as a MetaGraphDef; written to `filename` if that is
    given.

    Variables, tensors, operations, numbers and strings of collections are in it; other things are
    left out.  `export_scope` and the last four arguments are accepted.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     v = tf.get_variable("v", initializer=[1.0, 2.0])
    ...     sorted(tf.train.export_meta_graph().collection_def)
    ['trainable_variables', 'variables']
    """
    graph = graph or default_graph()
    message = MetaGraphDef()
    if meta_info_def is not None:
        message.meta_info_def.CopyFrom(meta_info_def)
    message.meta_info_def.tensorflow_version = TENSORFLOW
    message.graph_def.CopyFrom(graph_def if graph_def is not None else graph.as_graph_def())
    message.graph_def.versions.producer = PRODUCER
    if clear_devices:
        for node in message.graph_def.node:
            node.device = ""
    if saver_def is not None:
        message.saver_def.CopyFrom(saver_def)
    for name in graph.get_all_collection_keys():
        if collection_list is None or name in collection_list:
            _write_collection(message, graph, name)
    if filename is not None:
        write_message(message, os.fspath(filename), as_text)
    return message


def _write_collection(message: Any, graph: Graph, name: str) -> None:
    items = graph.get_collection(name)
    collection = message.collection_def[name]
    try:
        for item in items:
            if isinstance(item, GraphVariable):
                definition = variable_def(item, message.graph_def)
                collection.bytes_list.value.append(definition.SerializeToString())
            elif isinstance(item, (Symbol, Operation)):
                collection.node_list.value.append(item.name)
            elif isinstance(item, bool):
                raise TypeError
            elif isinstance(item, int):
                collection.int64_list.value.append(item)
            elif isinstance(item, float):
                collection.float_list.value.append(item)
            elif isinstance(item, (str, bytes)):
                value = item.encode() if isinstance(item, str) else item
                collection.bytes_list.value.append(value)
            else:
                raise TypeError
        kinds = ("bytes_list", "node_list", "int64_list", "float_list")
        if sum(bool(getattr(collection, kind).value) for kind in kinds) > 1:
            raise TypeError
    except (TypeError, ValueError):  # no form for it, as in TensorFlow, which leaves it out
        del message.collection_def[name]


def variable_def(variable: GraphVariable, graph_def: Any) -> Any:
    """Return a variable as a message, with names of nodes of `graph_def`."""
    message, name = message_of(variable), variable.name.partition(":")[0]
    for node in graph_def.node:
        if node.name == message.initializer_name and len(node.input) > 1:
            source = node.input[1]
            message.initial_value_name = source if ":" in source else f"{source}:0"
        elif node.op == "ReadVariableOp" and list(node.input) == [name]:
            message.snapshot_name = message.snapshot_name or f"{node.name}:0"
    return message


@export("compat.v1.train.import_meta_graph")
@as_it_is
def import_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    **options: object,
) -> Any:
    """Add the nodes and collections of a MetaGraphDef (or of its file) to the default graph.

    A Saver of the imported variables; None if there are none.  OSError if the file cannot be read,
    ValueError if it is damaged; errors of nodes are those of `tf.import_graph_def`.  All of them
    leave the graph as it was.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     v = tf.get_variable("v", initializer=[1.0, 2.0])
    ...     meta_graph = tf.train.export_meta_graph()
    >>> with tf.Graph().as_default():
    ...     saver = tf.train.import_meta_graph(meta_graph)
    ...     [variable.name for variable in tf.global_variables()]
    ['v:0']
    """
    message = meta_graph_or_file
    if not isinstance(message, MetaGraphDef):
        message = _read(os.fspath(message))
    graph_def = message.graph_def
    if clear_devices:
        for node in graph_def.node:
            node.device = ""
    definitions = _variable_defs(message)
    made: dict[str, GraphVariable] = {}
    makers = [(_operation(d.variable_name), _maker(d, made)) for d in definitions.values()]
    graph = default_graph()
    with attempt_on(graph):
        _, prefix = import_into(
            graph_def,
            name=import_scope or "",
            variables=makers,
            **{k: v for k, v in options.items() if k == "input_map"},
        )
        for definition in definitions.values():
            _complete(graph, made[definition.variable_name], definition, prefix)
        for name, collection in message.collection_def.items():
            _add_collection(graph, name, collection, made, prefix)
        if not made:
            return None
        saver = message.saver_def if message.HasField("saver_def") else None
        return look_up("compat.v1.train.Saver")(saver_def=saver)


def _read(path: str) -> Any:
    if not os.path.exists(path):
        raise OSError(compose("TW506", f"File {path} does not exist."))
    data = read_file(path)
    message = MetaGraphDef()
    try:
        message.ParseFromString(data)
        return message
    except DecodeError:
        pass
    try:
        return text_format.Parse(data.decode("utf-8"), MetaGraphDef())
    except (text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        text = f"Cannot parse file {path} as a MetaGraphDef: {error}"
        raise OSError(compose("TW506", text)) from None


def _operation(tensor: str) -> str:
    return tensor.partition(":")[0]


def _variable_defs(message: Any) -> dict[str, Any]:
    """Return the definitions of variables in collections, by name."""
    found = {}
    for collection in message.collection_def.values():
        for data in collection.bytes_list.value:
            definition = _definition(data, message)
            if definition is not None:
                found.setdefault(definition.variable_name, definition)
    return found


def _definition(data: bytes, message: Any) -> Any:
    """Return a variable's definition from bytes; None if they are something else."""
    definition = VariableDef()
    try:
        definition.ParseFromString(data)
    except DecodeError:
        return None
    name = _operation(definition.variable_name)
    known = any(
        node.name == name and node.op in ("VarHandleOp", "VariableV2", "Variable")
        for node in message.graph_def.node
    )
    return definition if known and definition.initializer_name else None


def _maker(definition: Any, made: dict) -> Callable[[str, dict], GraphVariable]:
    """Make the function that makes the variable of a definition, once the prefix is known."""

    def make(prefix: str, items: dict) -> GraphVariable:
        name = _operation(definition.variable_name)
        attributes = items[name].attributes
        variable = GraphVariable.__new__(GraphVariable)
        variable._synchronization = VariableSynchronization.AUTO
        variable._aggregation = VariableAggregation.NONE
        variable._constraint, variable._device = None, ""
        variable._save_slice_info = slice_of(definition, prefix)
        variable._trainable = definition.trainable
        variable.table = default_graph().table
        variable.use_resource = items[name].op == "VarHandleOp"
        variable._shared, variable._name = f"{prefix}{name}", f"{prefix}{name}:0"
        variable._shape, variable._dtype = as_shape(attributes["shape"]), attributes["dtype"]
        variable._handle = Handle(variable, variable._name, variable._shape, variable._dtype)
        made[definition.variable_name] = variable
        return variable  # type: ignore

    return make


def _complete(graph: Any, variable: GraphVariable, definition: Any, prefix: str) -> None:
    """Let a variable hold its first value and the operation that assigns it."""
    initializer = graph.get_operation_by_name(f"{prefix}{_operation(definition.initializer_name)}")
    variable._initializer = initializer.node
    variable._initial = initializer.node.operands[0]
    name = definition.initial_value_name
    if name and graph.has_name(f"{prefix}{_operation(name)}"):
        variable._initial = graph.get_tensor_by_name(f"{prefix}{name}").node
    variable._safe_initial = variable._initial
    for node in (variable._initial, variable._safe_initial, variable._initializer):
        node.holders += 1


def _add_collection(graph: Graph, name: str, collection: Any, made: dict, prefix: str) -> None:
    kind = collection.WhichOneof("kind")
    if kind == "node_list":
        for element in collection.node_list.value:
            try:
                graph.add_to_collection(name, graph.as_graph_element(f"{prefix}{element}"))
            except (KeyError, ValueError):
                continue  # inside a branch or loop, which is one operation here
    elif kind in ("int64_list", "float_list"):
        for value in getattr(collection, kind).value:
            graph.add_to_collection(name, value)
    elif kind == "bytes_list":
        for data in collection.bytes_list.value:
            definition = VariableDef()
            try:
                definition.ParseFromString(data)
            except DecodeError:
                definition.Clear()
            if definition.variable_name in made:
                graph.add_to_collection(name, made[definition.variable_name])
            elif name not in ("cond_context", "while_context"):
                graph.add_to_collection(name, data.decode("utf-8", "replace"))
