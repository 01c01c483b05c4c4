"""Objects made of the messages of a saved model.

Variables get their values as they are made: what a variable is called among the saved values
follows from the names that lead to it from the root.
"""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.resources import Asset
from talweg.core import dispatch
from talweg.core.dtypes import as_dtype, string
from talweg.core.errors import DataLossError, compose, value_error
from talweg.core.tracking import AutoTrackable
from talweg.eager.graph_variable import GraphVariable, lift
from talweg.eager.tensor import wrap
from talweg.eager.variable import Variable, VariableAggregation, VariableSynchronization
from talweg.formats.bundle.reader import Bundle, index_file
from talweg.formats.wire import data_loss_error
from talweg.interop.checkpoint import object_graph
from talweg.interop.checkpoint.object_graph import VALUE
from talweg.interop.checkpoint.object_walk import variable_in
from talweg.interop.checkpoint.restoring import object_graph as object_graph_in
from talweg.interop.graph_def.reading import NodeRecord
from talweg.interop.graph_def.rules_tables import MAKERS, ImportedTable
from talweg.interop.graph_def.tensor_protos import make_ndarray, shape_from_proto
from talweg.interop.saved_model.constants import (
    VARIABLES_DIRECTORY,
    VARIABLES_FILENAME,
)
from talweg.interop.saved_model.messages import asset_path
from talweg.interop.saved_model.options import LoadOptions
from talweg.interop.saved_model.parameters import signature_of
from talweg.interop.saved_model.registered_types import get_setter, registration_of
from talweg.interop.saved_model.restored import RestoredFunction, RestoredSignature, SavedTrace
from talweg.interop.saved_model.signatures import SignatureMap
from talweg.interop.saved_model.tables import CREATE, INITIALIZE

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike
    from talweg.graph.graph import Graph
    from talweg.graph.node import Node


def zeros_like(shape: Any, dtype: DTypeLike) -> np.ndarray:
    """Make zeros or empty strings of a shape, of which unknown sizes are 1."""
    dims = [size or 1 for size in (shape.as_list() if shape.rank is not None else ())]
    return np.full(dims, b"", object) if dtype is string else np.zeros(dims, dtype.numpy_dtype)


def tensor_of(array: np.ndarray) -> Any:
    """Return an array as a tensor."""
    return wrap(array[()] if array.ndim == 0 and array.dtype != object else array)


class RestoredValues:
    """The saved values of the objects of a saved model."""

    def __init__(self, nodes: Any, folder: str):
        for number, node in enumerate(nodes):
            for child in node.children:
                if not 0 <= child.node_id < len(nodes):
                    text = f"object {number} has object {child.node_id}, of {len(nodes)}, as a part"
                    raise data_loss_error(f"{text}, in the saved model {folder}")
        prefix = os.path.join(folder, VARIABLES_DIRECTORY, VARIABLES_FILENAME)
        self.bundle: Bundle | None = None
        self.attributes: dict[int, dict[str, str]] = {}  # object -> attribute -> key
        if os.path.exists(index_file(prefix)):
            self.bundle = Bundle(prefix)
            saved = object_graph.decode(object_graph_in(self.bundle, object_graph.KEY))
            self._meet(nodes, saved)

    def _meet(self, nodes: Any, saved: list) -> None:
        """Walk both descriptions side by side, by names."""
        pending, seen = deque([(0, 0)]), {0}
        while pending:
            number, place = pending.popleft()
            self.attributes[number] = {a.name: a.key for a in saved[place].attributes}
            below = dict(saved[place].children)
            for child in nodes[number].children:
                if child.local_name in below and child.node_id not in seen:
                    seen.add(child.node_id)
                    pending.append((child.node_id, below[child.local_name]))

    def get(self, number: int, attribute: str) -> str | None:
        """Return the key of a value; None if it was not saved."""
        return self.attributes.get(number, {}).get(attribute)

    def read(self, key: str) -> np.ndarray:
        """Return a value."""
        assert self.bundle is not None
        return self.bundle.read(key)


class Reviver:
    """Makes the objects of one meta graph; variables belong to `graph`, one of TensorFlow 1."""

    def __init__(
        self,
        meta_graph: Any,
        folder: str,
        options: LoadOptions,
        given: dict[int, tuple[Any, Any]] | None = None,
        graph: Graph | None = None,
    ):
        self.meta_graph, self.folder, self.options = meta_graph, folder, options
        self.graph = graph
        self.seed = dispatch.state.seed if graph is None else graph.seed
        self.message = meta_graph.object_graph_def
        self.nodes = self.message.nodes
        self.functions = {
            part.signature.name: part for part in meta_graph.graph_def.library.function
        }
        self.constants = {node.name: node for node in meta_graph.graph_def.node}
        self.values = RestoredValues(self.nodes, folder)
        self.given = given or {}  # objects that the program has already, and what sets children
        self.made: dict[int, Any] = {number: obj for number, (obj, _) in self.given.items()}
        self.traces: dict[str, SavedTrace] = {}
        self._check()

    def _check(self) -> None:
        count = len(self.nodes)
        for number, node in enumerate(self.nodes):
            for child in node.children:
                if not 0 <= child.node_id < count:
                    raise value_error(
                        "TW509",
                        f"object {number} of {self.folder} has a child "
                        f"{child.local_name!r} that is missing",
                    )
        if not count:
            raise value_error("TW509", f"{self.folder} holds no objects")

    def root(self) -> Any:
        """Revive the object that was saved."""
        for number in range(len(self.nodes)):
            self.get(number)
        for number, node in enumerate(self.nodes):
            self._connect(self.made[number], node, self._setter(number, node))
            if number in self.given:
                self._restore(number, self.made[number])
        for number, node in enumerate(self.nodes):
            if node.WhichOneof("kind") == "resource":
                self._fill(number, node)
        self.graph = None  # traces keep what revives their captures, and are to keep no graph
        root = self.made[0]
        if isinstance(root, AutoTrackable):
            info = self.meta_graph.meta_info_def
            root.__dict__["tensorflow_version"] = info.tensorflow_version
            root.__dict__["tensorflow_git_version"] = info.tensorflow_git_version
            root.__dict__["graph_debug_info"] = None
            if self.options.experimental_load_function_aliases:
                root.__dict__["function_aliases"] = self._aliases()
        return root

    def _aliases(self) -> dict[str, Any]:
        """Return the functions that have another name, by that."""
        names = self.meta_graph.meta_info_def.function_aliases
        found: dict[str, Any] = {}
        for node in self.nodes:
            for name in node.function.concrete_functions:
                alias = names.get(name)
                if alias is not None and alias not in found:
                    traces = [
                        self._trace(part)
                        for part in node.function.concrete_functions
                        if names.get(part) == alias
                    ]
                    found[alias] = RestoredFunction(alias, node.function.function_spec, traces)
        return found

    # -- objects

    def get(self, number: int) -> Any:
        """Return the object of a number; its children are set later, unless it is a tuple."""
        if number not in self.made:
            node = self.nodes[number]
            kind = node.WhichOneof("kind") or "user_object"
            self.made[number] = getattr(self, f"_{kind}")(number, node)
        return self.made[number]

    def _user_object(self, number: int, node: Node) -> Any:
        identifier = node.user_object.identifier
        if identifier == "trackable_list_wrapper":
            return []
        if identifier == "trackable_dict_wrapper":
            return {}
        if identifier == "trackable_tuple_wrapper":
            parts = {child.local_name: child.node_id for child in node.children}
            count = 1 + max([int(name) for name in parts if name.isdigit()], default=-1)
            return tuple(
                [self.get(parts[str(n)]) if str(n) in parts else None for n in range(count)]
            )
        if identifier == "signature_map":
            return SignatureMap({})
        registered = registration_of(node.user_object)
        if registered is not None:
            return registered.from_proto(node.user_object)
        return type("SavedObject", (RevivedObject,), {})()

    def _asset(self, number: int, node: Node) -> Asset:
        index = node.asset.asset_file_def_index
        if not 0 <= index < len(self.meta_graph.asset_file_def):
            raise value_error("TW509", f"asset {index} of {self.folder} is missing")
        name = self.meta_graph.asset_file_def[index].filename
        return Asset(asset_path(self.folder, name))

    def _variable(self, number: int, node: Node) -> Variable:
        message = node.variable
        dtype, shape = as_dtype(message.dtype), shape_from_proto(message.shape)
        key = self.values.get(number, VALUE)
        skipped = self.options.experimental_skip_checkpoint
        if key is None and not skipped and not self.options.allow_partial_checkpoint:
            text = f"the variable {message.name!r} of {self.folder} has no saved value"
            raise DataLossError(None, None, compose("TW509", text))
        if key is None or skipped:
            value = zeros_like(shape, dtype)
        else:
            value = self.values.read(key)
        given: dict[str, Any] = {
            "name": message.name or None,
            "dtype": dtype,
            "shape": shape,
            "synchronization": VariableSynchronization(message.synchronization),
            "aggregation": VariableAggregation(message.aggregation),
        }
        if self.graph is None:
            return Variable(tensor_of(value), trainable=message.trainable, **given)
        with lift(self.graph):  # no optimizer finds it in a collection, as in TensorFlow
            made = GraphVariable(tensor_of(value), trainable=False, **given)
        made._trainable = message.trainable
        return made

    def _constant(self, number: int, node: Node) -> Any:
        found = self.constants.get(node.constant.operation)
        if found is None or "value" not in found.attr:
            raise value_error(
                "TW509", f"the constant {node.constant.operation!r} of {self.folder} is missing"
            )
        return tensor_of(make_ndarray(found.attr["value"].tensor))

    def _captured_tensor(self, number: int, node: Node) -> Any:
        raise value_error(
            "TW509",
            f"{self.folder} holds a tensor inside a function, "
            f"{node.captured_tensor.name!r}, as an object",
        )

    # -- tables

    def _resource(self, number: int, node: Node) -> Any:
        for child in node.children:
            if child.local_name == CREATE:
                for name in self.nodes[child.node_id].function.concrete_functions:
                    found = self._find_table(name)
                    if found is not None:
                        return found
        return type("SavedObject", (RevivedObject,), {})()

    def _find_table(self, name: str) -> ImportedTable | None:
        """Return the table that a function makes."""
        for message in self.functions[name].node_def if name in self.functions else ():
            if message.op in MAKERS:
                item = NodeRecord(message, self.functions)
                return ImportedTable(item.attributes, message.name, "Mutable" not in item.op)
        return None

    def _fill(self, number: int, node: Node) -> None:
        table = self.made[number]
        for child in node.children:
            if child.local_name == INITIALIZE:
                self.made[child.node_id]()
        key = self.values.get(number, "table")
        if key is not None and isinstance(table, ImportedTable):
            table.take(self.values.read(f"{key}-keys"), self.values.read(f"{key}-values"))

    # -- functions

    def _trace(self, name: str) -> SavedTrace:
        found = self.traces.get(name)
        if found is None:
            if name not in self.message.concrete_functions:
                raise value_error("TW509", f"the function {name!r} of {self.folder} is missing")
            found = self.traces[name] = SavedTrace(
                name, self.message.concrete_functions[name], self.functions, self.get
            )
            found.seed = self.seed
        return found

    def _function(self, number: int, node: Node) -> RestoredFunction:
        traces = [self._trace(name) for name in node.function.concrete_functions]
        name = traces[0].name if traces else "function"
        return RestoredFunction(name, node.function.function_spec, traces)

    def _bare_concrete_function(self, number: int, node: Node) -> Any:
        message = node.bare_concrete_function
        trace = self._trace(message.concrete_function_name)
        trace.parameters = signature_of(message.function_spec)
        return trace

    # -- children

    def _setter(self, number: int, node: Node) -> Any:
        """Return the function that sets the children of an object, where it is not of a class of
        ours.
        """
        if number in self.given:
            return self.given[number][1]
        if node.WhichOneof("kind") == "user_object" and registration_of(node.user_object):
            return get_setter(node.user_object)
        return None

    def _restore(self, number: int, obj: object) -> None:
        """Give an object that was there already its saved value."""
        variable, key = variable_in(obj), self.values.get(number, VALUE)
        if variable is not None and key is not None:
            variable.assign(self.values.read(key))

    def _connect(self, obj: object, node: Node, setter: Any = None) -> None:
        """Give an object its children."""
        parts = {child.local_name: self.made[child.node_id] for child in node.children}
        if not isinstance(obj, SignatureMap):
            parts = {
                name: part.trace if isinstance(part, SavedTrace) else part
                for name, part in parts.items()
                if not isinstance(obj, (RestoredFunction, SavedTrace))
            }
        if setter is not None:
            for name, part in parts.items():
                setter(obj, name, part)
        elif isinstance(obj, list):
            count = 1 + max([int(name) for name in parts if name.isdigit()], default=-1)
            obj.extend([parts.get(str(key)) for key in range(count)])
        elif isinstance(obj, dict):
            obj.update(parts)
        elif isinstance(obj, SignatureMap):
            for name, part in parts.items():
                part.kind = RestoredSignature
                obj.functions[name] = part
        elif isinstance(obj, RevivedObject):
            _set_children(obj, parts)


class RevivedObject(AutoTrackable):
    """An object of a saved model; each has a class of its own, for its special methods."""


def _set_children(obj: RevivedObject, parts: dict[str, Any]) -> None:
    """Give an object its children; the special methods among them to its class."""
    for name, part in parts.items():
        if name.startswith("__") and name.endswith("__") and callable(part):
            setattr(type(obj), name, _method(name, part))
        obj.__dict__[name] = part


def _method(name: str, function: Any) -> Any:
    def call(self: Any, *args: object, **kwargs: object) -> Any:
        return function(*args, **kwargs)

    call.__name__ = name
    return call
