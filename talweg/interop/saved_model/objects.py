"""The objects of a saved model as messages: what each is, its children, and its functions."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from talweg.api.resources import Asset
from talweg.core.errors import value_error
from talweg.eager.variable import Variable
from talweg.graph.handle import Handle
from talweg.interop.checkpoint.object_walk import Survey
from talweg.interop.graph_def.writing import Output
from talweg.interop.saved_model.functions import Traces
from talweg.interop.saved_model.graph import OuterGraph
from talweg.interop.saved_model.parameters import function_spec, input_signature, output_signature
from talweg.interop.saved_model.registered_types import registration_for
from talweg.interop.saved_model.signatures import SignatureMap
from talweg.interop.saved_model.structured_values import encode_value
from talweg.interop.saved_model.tables import SavedTable, wrap_table
from talweg.trace.concrete import ConcreteFunction
from talweg.trace.function import Function


class ObjectWriter:
    """Writes the objects that a survey found into a SavedObjectGraph."""

    def __init__(self, message: Any, found: Survey, aliases: dict[str, Any]):
        self.message, self.found, self.aliases = message, found, aliases
        self.outputs: dict[int, Output] = {}  # id of a thing -> its node in the outer graph
        self.numbers: dict[int, int] = {}  # id of a thing -> its number among the objects
        self.own_traces: dict[int, list[ConcreteFunction]] = {}  # id of a function -> its traces
        self.tables: dict[int, SavedTable] = {}
        self.kept: list = []  # so that ids stay theirs

    def traces(self) -> list[ConcreteFunction]:
        """Return the traces of all functions."""
        found = []
        for obj in self.found.objects:
            if isinstance(obj, ConcreteFunction):
                self.own_traces[id(obj)] = [obj]
            elif isinstance(obj, Function):
                self.own_traces[id(obj)] = _savable(obj.all_traces())
            found += self.own_traces.get(id(obj), [])
        return found

    # -- writing

    def write(self, graph: OuterGraph, traces: Traces) -> dict[str, str]:
        """Write all objects; the files that are assets, by name."""
        files: dict[str, str] = {}
        for number, obj in enumerate(self.found.objects):
            message = self.message.nodes.add()
            self.numbers[id(obj)] = number
            for name, child in self.found.children[number]:
                message.children.add(node_id=child, local_name=name)
            self._describe(obj, message, graph, files)
        for obj, message in zip(self.found.objects, list(self.message.nodes)):
            if isinstance(obj, (Function, ConcreteFunction)):
                self._function(obj, message, graph, traces)
        for number, obj in enumerate(self.found.objects):
            if id(obj) in self.tables:
                self.tables[id(obj)].write_functions(self, graph, number)
        for name, function in self.aliases.items():
            inner = getattr(function, "__wrapped__", function)
            for trace in self.own_traces.get(id(inner), self.own_traces.get(id(function), ())):
                alias = traces.names[id(trace)]
                graph.meta_graph.meta_info_def.function_aliases[alias] = name
        return files

    def _describe(self, obj: object, message: Any, graph: OuterGraph, files: dict) -> None:
        """Describe an object in its message; functions follow later, when all captures have
        numbers.
        """
        table = wrap_table(obj)
        if isinstance(obj, Variable):
            self.outputs[id(obj)] = graph.variable(obj)
            _describe_variable(obj, message.variable)
        elif isinstance(obj, Asset):
            number = len(graph.meta_graph.asset_file_def)
            name = _file(obj, files)
            self.outputs[id(obj._path)] = self.outputs[id(obj)] = graph.asset(number, name)
            self.numbers[id(obj._path)] = self.numbers[id(obj)]
            message.asset.asset_file_def_index = number
        elif table is not None:
            self.tables[id(obj)] = table
            self.outputs[id(obj)] = graph.table(table)
            message.resource.SetInParent()
        elif not isinstance(obj, (Function, ConcreteFunction)):
            user = message.user_object
            user.identifier = _identifier(obj)
            user.version.producer = user.version.min_consumer = 1
            registered = registration_for(obj)
            if registered is not None:
                user.ClearField("version")
                registered.write(user)

    # -- functions

    def _function(self, obj: object, message: Any, graph: OuterGraph, traces: Traces) -> None:
        for trace in self.own_traces[id(obj)]:
            name = traces.names[id(trace)]
            if name not in self.message.concrete_functions:
                self._trace(trace, name, graph, traces)
        if isinstance(obj, Function):
            names = [traces.names[id(trace)] for trace in self.own_traces[id(obj)]]
            message.function.concrete_functions.extend(names)
            function_spec(message.function.function_spec, obj._signature, obj.input_signature)
            return
        bare = message.bare_concrete_function
        bare.concrete_function_name = traces.names[id(obj)]
        bare.argument_keywords.extend(obj._argument_names)
        bare.allowed_positional_arguments = len(obj._argument_names)
        function_spec(bare.function_spec, obj.signature, None)

    def _trace(self, trace: ConcreteFunction, name: str, graph: OuterGraph, traces: Traces) -> None:
        message = self.message.concrete_functions[name]
        for captured in traces.captures[name]:
            message.bound_inputs.append(self._number_capture(captured, trace, graph))
        message.canonicalized_input_signature.CopyFrom(encode_value(input_signature(trace)))
        message.output_signature.CopyFrom(encode_value(output_signature(trace)))

    def _number_capture(self, captured: object, trace: ConcreteFunction, graph: OuterGraph) -> int:
        """Number the object that a trace uses from outside; tensors become objects."""
        thing = captured.variable if isinstance(captured, Handle) else captured
        number = self.numbers.get(id(thing))
        if number is not None:
            return number
        if not hasattr(thing, "_array"):
            raise AssertionError(
                "Tried to export a function which references an 'untracked' resource. TensorFlow "
                "objects (e.g. tf.Variable) captured by functions must be 'tracked' by assigning "
                "them to an attribute of a tracked object or assigned to an attribute of the main "
                f"object directly.  The function '{trace.name}' uses {thing}.  [TW509]"
            )
        output = self.outputs[id(thing)] = graph.constant(thing)
        number = self.numbers[id(thing)] = self.add_constant(output)
        self.kept.append(thing)
        return number

    def add_constant(self, output: Output) -> int:
        """Add one more object: a constant; its number."""
        message = self.message.nodes.add()
        message.constant.operation = output.node
        return len(self.message.nodes) - 1

    def find_captured_outputs(self, trace: ConcreteFunction, traces: Traces) -> list[Output]:
        """Find the nodes of a trace's captures."""
        return [
            self.outputs[id(x.variable if isinstance(x, Handle) else x)]
            for x in traces.captures[traces.names[id(trace)]]
        ]


def _savable(traces: Iterable[ConcreteFunction]) -> list[ConcreteFunction]:
    """Return the traces whose Python arguments have a form in a message."""
    found = []
    for trace in traces:
        if trace.formals:  # variables among the arguments
            continue
        try:
            encode_value(input_signature(trace))
        except ValueError:
            continue
        found.append(trace)
    return found


def _describe_variable(variable: Variable, message: Any) -> None:
    message.dtype = variable.dtype.as_datatype_enum
    message.shape.CopyFrom(variable.shape.as_proto())
    message.trainable = bool(variable.trainable)
    message.synchronization = variable.synchronization.value
    message.aggregation = variable.aggregation.value
    message.name = variable._shared_name


def _identifier(obj: object) -> str:
    """Return the name of a kind of object, by which TensorFlow revives it."""
    if isinstance(obj, SignatureMap):
        return "signature_map"
    if isinstance(obj, list):
        return "trackable_list_wrapper"
    if isinstance(obj, tuple):
        return "trackable_tuple_wrapper"
    if isinstance(obj, dict):
        return "trackable_dict_wrapper"
    return getattr(obj, "_object_identifier", "_generic_user_object")


def _file(asset: Asset, files: dict[str, str]) -> str:
    """Return the name of a file among the assets; ValueError if there is no such file."""
    path = os.fsdecode(asset._path.numpy())
    if not os.path.isfile(path):
        raise value_error("TW509", f"the asset {path} is no file")
    base, number = os.path.basename(path), 0
    stem, ending = os.path.splitext(base)
    name = base
    while name in files and files[name] != path:
        number += 1
        name = f"{stem}_{number}{ending}"
    files[name] = path
    return name
