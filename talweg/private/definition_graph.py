"""Graphs that show the nodes of a GraphDef one by one, for tf2onnx.

A graph of talweg holds no two equal nodes, and keeps a constant that is a parameter inside the
operation.  tf2onnx translates a graph node by node, by the names, inputs and attributes that a
GraphDef has.  So the `tf.Graph` that tf2onnx makes keeps the GraphDef that it imports, and shows
that; it computes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

from talweg.api.export import implement_hook
from talweg.compat_v1.graphs import default_graph
from talweg.core.dtypes import DType
from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape
from talweg.graph.graph import Graph
from talweg.interop.graph_def.attributes import read_dtype
from talweg.interop.graph_def.importing import check_message, import_graph_def
from talweg.interop.graph_def.messages import GraphDef, NodeDef
from talweg.interop.graph_def.reading import FunctionRecord, NodeRecord, items_of
from talweg.interop.graph_def.tensor_protos import shape_from_proto

SHAPES = "_output_shapes"


class DefinedTensor:
    """The output of a node of a GraphDef: its name, dtype and shape."""

    def __init__(self, op: DefinedOperation, number: int, dtype: DType, shape: TensorShape):
        self.op, self.value_index, self.dtype, self.shape = op, number, dtype, shape
        self.name, self.graph = f"{op.name}:{number}", op.graph

    def get_shape(self) -> TensorShape:
        """Return the shape."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Refine the shape; ValueError if it does not fit."""
        self.shape = self.shape.merge_with(shape)

    def consumers(self) -> list[DefinedOperation]:
        """Return the nodes that take it."""
        return [op for op in self.graph.get_operations() if self in op.inputs]


class DefinedOperation:
    """A node of a GraphDef, as `tf.Operation` shows it."""

    def __init__(self, graph: DefinitionGraph, record: NodeRecord):
        self.graph, self.node_def = graph, record.message
        self.name, self.type = record.name, record.op
        self.inputs: list[DefinedTensor] = []
        dtypes = [
            dtype for part in record.operation.outputs for dtype in part.dtypes(record.attributes)
        ]
        known = [shape_from_proto(each) for each in record.message.attr[SHAPES].list.shape]
        known = known if len(known) == len(dtypes) else [TensorShape(None)] * len(dtypes)
        if SHAPES in record.message.attr:
            del record.message.attr[SHAPES]
        self.outputs = [
            DefinedTensor(self, number, dtype, shape)
            for number, (dtype, shape) in enumerate(zip(dtypes, known))
        ]

    def get_attr(self, name: str) -> Any:
        """Return an attribute; ValueError if there is none of the name."""
        if name not in self.node_def.attr:
            raise value_error(
                "TW501", f"Operation '{self.name}' of type {self.type} has no attr named '{name}'."
            )
        return _read_attribute(self.node_def.attr[name])


def _read_attribute(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "list":
        names = [part.name for part, content in value.list.ListFields() if content]
        items = list(getattr(value.list, names[0])) if names else []
        return [read_dtype(item) for item in items] if names == ["type"] else items
    content = getattr(value, kind)
    return read_dtype(content) if kind == "type" else content


class DefinitionGraph(Graph):
    """A graph that shows the nodes of the GraphDef that was imported into it."""

    def __init__(self) -> None:
        super().__init__()
        self.definition = GraphDef()
        self._shown: dict[str, DefinedOperation] = {}
        self._functions: dict[str, Any] = {}

    def define(self, graph_def: Any) -> None:
        """Show the nodes of a GraphDef; ValueError if they do not hold together."""
        graph_def = check_message(graph_def)
        self.definition.CopyFrom(graph_def)
        functions = {part.signature.name: part for part in graph_def.library.function}
        copied = GraphDef()
        copied.CopyFrom(graph_def)
        self.show(items_of(copied, functions).values())
        self._functions = {name: SimpleNamespace(definition=f) for name, f in functions.items()}

    def show(self, records: Iterable[NodeRecord]) -> None:
        """Make the operations of nodes, in their order."""
        records = list(records)
        self._shown.update({each.name: DefinedOperation(self, each) for each in records})
        for each in records:
            self._shown[each.name].inputs = [self._shown[n].outputs[i] for n, i in each.inputs]

    def get_operations(self) -> list[Any]:
        """Return the nodes as operations."""
        return list(self._shown.values())

    def get_operation_by_name(self, name: str) -> Any:
        """Return the node of a name; KeyError if there is none."""
        return self._shown[name]

    def get_tensor_by_name(self, name: str) -> Any:
        """Return the output of a node by its name; KeyError if there is none."""
        node, _, number = name.partition(":")
        return self._shown[node].outputs[int(number)]

    def as_graph_def(self, *args: Any, **kwargs: Any) -> Any:
        """Return the GraphDef, with the shapes that are known."""
        message = GraphDef()
        message.CopyFrom(self.definition)
        for node in message.node:
            shapes = node.attr[SHAPES].list.shape
            del shapes[:]
            shapes.extend([tensor.shape.as_proto() for tensor in self._shown[node.name].outputs])
        return message


def _with_scope(message: Any) -> Any:
    """Return a function whose nodes are in a scope of its name: ONNX wants names that are unique
    in the whole model.
    """
    scoped = type(message)()
    scoped.CopyFrom(message)
    scope = f"{message.signature.name}/"
    for part in scoped.signature.input_arg:
        part.name = scope + part.name
    for node in scoped.node_def:
        node.name = scope + node.name
        for number, text in enumerate(node.input):
            node.input[number] = f"^{scope}{text[1:]}" if text.startswith("^") else scope + text
    for controls in (scoped.ret, scoped.control_ret):
        for key, text in list(controls.items()):
            controls[key] = scope + text
    return scoped


class FuncGraph(DefinitionGraph):
    """The graph of a function of a GraphDef's library."""

    def __init__(self, message: Any, input_shapes: Sequence[Any] | None):
        super().__init__()
        record = FunctionRecord(_with_scope(message), FUNCTIONS)
        self.name = record.name
        arguments = []
        for name, part in zip(record.arguments, message.signature.input_arg):
            node = NodeDef(name=name, op="Placeholder")
            node.attr["dtype"].type = part.type
            arguments.append(NodeRecord(node, {}))
        self.show([*arguments, *record.items.values()])
        self.inputs = [self._shown[name].outputs[0] for name in record.arguments]
        for tensor, shape in zip(self.inputs, input_shapes or ()):
            tensor.set_shape(shape)
        self.outputs = [
            self._copy(name, result)
            if name in record.arguments
            else self._shown[name].outputs[number]
            for result, (name, number) in enumerate(record.results)
        ]

    def _copy(self, argument: str, number: int) -> DefinedTensor:
        """Return a copy of an argument: the loops of ONNX return no input as it is."""
        source = self._shown[argument].outputs[0]
        node = NodeDef(name=f"result_{number}/{argument}", op="Identity", input=[argument])
        node.attr["T"].type = source.dtype.as_datatype_enum
        record = NodeRecord(node, {})
        record.inputs = [(argument, 0)]
        self.show([record])
        copy = self._shown[node.name].outputs[0]
        copy.set_shape(source.shape)
        return copy


FuncGraph.__module__ = "tensorflow.python.framework.func_graph"  # tf2onnx looks for this name
FUNCTIONS: dict[str, Any] = {}


def function_def_to_graph(fdef: Any, input_shapes: Sequence[Any] | None = None) -> FuncGraph:
    """Return the nodes of a function of a GraphDef's library, as a graph."""
    return FuncGraph(fdef, input_shapes)


def OptimizeGraph(config_proto: Any, metagraph: Any, **options: Any) -> Any:
    """Return the GraphDef of a MetaGraphDef with copies of constants as constants, and without
    nodes that only pass several tensors on.

    Nothing else is left to do: graphs of talweg are simplified when they are made.
    """
    message = GraphDef()
    message.CopyFrom(metagraph.graph_def)
    constants = {node.name: node for node in message.node if node.op == "Const"}
    for node in message.node:
        if node.op == "Identity" and len(node.input) == 1 and node.input[0] in constants:
            name, source = node.name, constants[node.input[0]]
            node.CopyFrom(source)
            node.name = name
            constants[name] = node
    fetched = [name for part in metagraph.collection_def.values() for name in part.node_list.value]
    _pass_by(message, {name if ":" in name else f"{name}:0" for name in fetched})
    return message


def _pass_by(message: Any, fetched: set[str]) -> None:
    """Have nodes take from where an IdentityN takes; one that is fetched has only what is."""
    passing = {node.name: node for node in message.node if node.op == "IdentityN"}
    for node in message.node:
        for position, text in enumerate(node.input):
            name, _, number = text.partition(":")
            while name in passing:
                text = passing[name].input[int(number or 0)]
                name, _, number = text.partition(":")
            node.input[position] = text
    for name, node in passing.items():
        kept = [k for k in range(len(node.input)) if f"{name}:{k}" in fetched]
        types = node.attr["T"].list.type
        for position in range(len(node.input)) if kept else ():
            if position not in kept:
                node.input[position], types[position] = node.input[kept[0]], types[kept[0]]
        if not kept:
            message.node.remove(node)


def import_definition(graph_def: Any, *args: Any, **kwargs: Any) -> Any:
    """Import a GraphDef, or show it if the default graph is of `DefinitionGraph`."""
    graph = default_graph()
    if isinstance(graph, DefinitionGraph):
        return graph.define(graph_def)
    return import_graph_def(graph_def, *args, **kwargs)


class Definitions(ModuleType):
    """The module `tensorflow` as tf2onnx sees it: its graphs show what they import."""

    Graph, import_graph_def = DefinitionGraph, staticmethod(import_definition)

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.modules["talweg"], name)


@implement_hook("show_definitions")
def show_definitions(module: Any) -> None:
    """Let a module of tf2onnx make graphs that show what they import."""
    module.tf = Definitions("tensorflow")
