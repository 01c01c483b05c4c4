"""Traces as functions of a GraphDef's library.

A trace takes the values of variables as inputs; a function of TensorFlow takes the variables, and
reads them itself.  Arguments come first, then what the trace uses from outside.
"""

from __future__ import annotations

from typing import Any

from talweg.core.dtypes import resource
from talweg.graph.handle import Handle
from talweg.graph.node import Node
from talweg.interop.graph_def import attributes
from talweg.interop.graph_def.bodies import (
    FunctionLibrary,
    handles_of,
    list_elements,
    name_of_argument,
    note_results,
    write_nodes,
)
from talweg.interop.graph_def.exporting import Exporter
from talweg.interop.graph_def.writing import Output, static_shape
from talweg.interop.saved_model.messages import cannot_save
from talweg.trace.concrete import ConcreteFunction

REASON = "_talweg_reason"


class Traces:
    """Writes traces into the library of a GraphDef; `captures` says what each uses from outside."""

    def __init__(self, graph_def: object, traces: list[ConcreteFunction]):
        self.message = graph_def
        self.names: dict[int, str] = {}  # id of a trace -> name of its function
        self.captures: dict[str, list] = {}  # function -> tensors, handles, tables
        nodes = [node for trace in traces for node in trace.body.nodes]
        self.library = FunctionLibrary(graph_def, list_elements(nodes), self._writer)
        self.library.find_requested(nodes)
        for trace in traces:
            self._add(trace)

    def _writer(self, nodes: Any) -> Exporter:
        return Exporter(nodes, self.library, True, (), False, True)

    def _add(self, trace: ConcreteFunction) -> None:
        if id(trace) in self.names:
            return
        label = "".join(c if c.isalnum() or c == "_" else "_" for c in trace.name)
        name = self.names[id(trace)] = f"__inference_{label}_{len(self.names)}"
        start = len(self.message.library.function)
        self.captures[name] = self._write(name, trace)
        for function in self.message.library.function[start:]:
            _check(function, trace)

    def _write(self, name: str, trace: ConcreteFunction) -> list:
        message = self.message.library.function.add()
        message.signature.name = name
        writer = self._writer(message.node_def)
        body = trace.body
        outside = list(trace._outside)
        own = len(body.inputs) - len(outside)
        captured = dict(zip(body.inputs[own:], outside))
        shapes = []
        for number, node in enumerate(body.inputs):
            value = captured.get(node)
            label = trace._argument_names[number] if number < own else None
            shapes.append(_argument(message, writer, node, value, label))
        for handle in handles_of((body,)):
            if handle not in writer.handles:
                outside.append(handle)
                shapes.append(_resource(message, writer, handle))
        message.attr["_input_shapes"].CopyFrom(attributes.write(shapes, "list(shape)"))
        reads = _first_reads(writer, captured)
        effects = write_nodes(writer, body, reads)
        note_results(message, [writer.value(node) for node in body.outputs], effects)
        if captured:
            message.signature.is_stateful = True  # reads of variables are, for TensorFlow
        return outside


def _argument(message: Any, writer: Exporter, node: Node, value: object, label: str | None) -> Any:
    """Add an argument for an input of the trace; its shape."""
    if isinstance(value, Handle):
        writer.captured_variables[node] = value
        return _resource(message, writer, value)
    name = writer.unique(
        name_of_argument(node) or "captured" if value is not None else _plain(label or "arg")
    )
    part = message.signature.input_arg.add()
    part.name, part.type = name, node.aval.dtype.as_datatype_enum
    if label is not None:
        number = len(message.signature.input_arg) - 1
        label_attribute = attributes.write(label, "string")
        message.arg_attr[number].attr["_user_specified_name"].CopyFrom(label_attribute)
    writer.values[node] = [Output(name, 0, name, node.aval.dtype)]
    writer.names[node] = name
    return static_shape(node.aval.dims)


def _plain(label: str) -> str:
    """Return a name that an argument can have."""
    text = "".join(c if c.isalnum() or c == "_" else "_" for c in label.lower())
    return text if text[:1].isalpha() else f"arg_{text}"


def _resource(message: Any, writer: Exporter, handle: Any) -> Any:
    """Add one more argument for a variable or table; its shape."""
    base = handle.name.partition(":")[0].rpartition("/")[2]
    name = writer.unique(_plain(f"{base}_resource"))
    part = message.signature.input_arg.add()
    part.name, part.type = name, resource.as_datatype_enum
    if isinstance(handle, Handle):
        data = part.handle_data.add()
        data.dtype = handle.dtype.as_datatype_enum
        data.shape.CopyFrom(handle.shape.as_proto())
    writer.handles[handle] = Output(name, 0, name, resource)
    return static_shape(())


def _first_reads(writer: Exporter, captured: dict) -> dict[Any, list[str]]:
    """Read the variables whose values the trace takes; the names of the reads."""
    found: dict[Any, list[str]] = {}
    for node, value in captured.items():
        if isinstance(value, Handle):
            writer.write(node, "")
            name = writer.names[node] = writer.renamed[node]
            found.setdefault(value, []).append(name)
    return found


def _check(function: Any, trace: ConcreteFunction) -> None:
    """Raise UnimplementedError if something in a function is not TensorFlow's."""
    for node in function.node_def:
        if REASON in node.attr:
            reason = node.attr[REASON].s.decode("utf-8", "replace")
            raise cannot_save(
                f"the function '{trace.name}' cannot be saved: {reason}",
                "a function without this operation, or without tf.function around it, which is "
                "not saved",
            )
