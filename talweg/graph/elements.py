"""Look-up of a graph's tensors and operations by name, and the notes about them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from talweg.core.errors import type_error, value_error
from talweg.core.hooks import hooks
from talweg.core.provenance import describe
from talweg.core.roles import Role
from talweg.graph.node import Node
from talweg.graph.operation import Operation
from talweg.graph.symbol import Symbol


class GraphElements:
    """The part of `Graph` that looks up tensors and operations and stores their devices."""

    table: Any

    def start_elements(self) -> None:
        """Initialize the tables of devices and of tensors that refuse feeding or fetching."""
        self.device_scopes: tuple = ()  # the device scopes entered, outer first
        self._placed: Any = weakref.WeakKeyDictionary()  # node -> device asked for
        self._unfeedable: Any = weakref.WeakSet()
        self._unfetchable: Any = weakref.WeakSet()

    # -- by name

    def as_graph_element(
        self, obj: object, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any:
        """Return the tensor or operation that `obj` is, or that it names.

        KeyError for unknown names, ValueError for malformed ones and for elements of another graph,
        TypeError for other things and for what is not allowed.
        """
        if not allow_tensor and not allow_operation:
            raise value_error("TW104", "allow_tensor and allow_operation can't both be False.")
        if not isinstance(obj, (str, bytes, Symbol, Operation)):
            obj = self._convert(obj)
        if isinstance(obj, (str, bytes)):
            return self._find_named_element(_text(obj), allow_tensor, allow_operation)
        if isinstance(obj, Symbol if allow_tensor else Operation if allow_operation else ()):
            return self.own(obj)
        if isinstance(obj, Operation) and allow_operation:
            return self.own(obj)
        raise type_error(
            "TW104",
            f"Can not convert a {type(obj).__name__} into a "
            f"{_describe_allowed_kinds(allow_tensor, allow_operation)}.",
        )

    def _convert(self, obj: object) -> Any:
        """Return the graph's tensor for `obj`: for a variable the tensor of its value."""
        if hasattr(obj, "handle_read"):
            if obj.table is not self.table:
                raise value_error("TW501", f"{obj!r} is not an element of this graph.")
            return self.reading(obj)
        convert = getattr(obj, "_as_graph_element", None)
        return obj if convert is None else convert()

    def reading(self, variable: Any) -> Symbol:
        """Return a variable's value at the start of a run, as a tensor, in finalized graphs too."""
        key = (hooks.read_variable_p, (("variable", variable.handle),))
        node = self.table.nodes.get(key)
        if node is not None:
            return self.symbol(node)  # type: ignore[attr-defined]
        with self.unlock(), self.control_dependencies(None):  # type: ignore[attr-defined]
            return self.read_variable(variable.handle)  # type: ignore[attr-defined]

    def own(self, element: object) -> Any:
        """Check that `element` belongs to this graph and return it; ValueError if it does not."""
        if element.node.table is not self.table:
            what = "Tensor" if isinstance(element, Symbol) else "Operation"
            raise value_error(
                "TW501",
                f"{what} {element!r} is not an element of this graph; it was made at "
                f"{describe(element.node.origin)}",
                "an element of this tf.Graph",
            )
        return element

    def _find_named_element(self, name: str, allow_tensor: bool, allow_operation: bool) -> Any:
        if ":" in name and allow_tensor:
            return self._tensor_named(name)
        if ":" not in name and allow_operation:
            return self.operation_of(self.node_named(name))  # type: ignore[attr-defined]
        what, example = ("tensor", "name:0") if allow_tensor else ("operation", "name")
        raise value_error(
            "TW501",
            f"The name {name!r} is not that of {'a' if allow_tensor else 'an'} {what}.",
            f"a name of the form '{example}'",
        )

    def _tensor_named(self, name: str) -> Symbol:
        operation, _, index = name.partition(":")
        if not operation or not index.isdigit():
            raise value_error(
                "TW501",
                f"The name {name!r} looks a like a Tensor name, but is not a valid one.",
                "a name of the form 'operation:0'",
            )
        try:
            node = self.node_named(operation)  # type: ignore[attr-defined]
        except KeyError:
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                f"{operation!r}, does not exist in the graph.  [TW501]"
            ) from None
        outputs = self.operation_of(node).outputs  # type: ignore[attr-defined]
        if int(index) >= len(outputs):
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                f"{operation!r}, exists but only has {len(outputs)} outputs.  [TW501]"
            )
        return outputs[int(index)]

    def get_tensor_by_name(self, name: str) -> Symbol:
        """Return the tensor called `name` (``operation:0``); see `as_graph_element` for errors."""
        if not isinstance(name, str):
            raise type_error("TW104", f"Tensor names are strings, not {type(name).__name__}.")
        return self.as_graph_element(name, allow_operation=False)

    def get_operation_by_name(self, name: str) -> Operation:
        """Return the operation called `name`; see `as_graph_element` for errors."""
        if not isinstance(name, str):
            raise type_error("TW104", f"Operation names are strings, not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False)

    # -- what may be fed and fetched

    def is_feedable(self, tensor: Any) -> bool:
        """Return whether a value may be fed for `tensor`."""
        return tensor.node not in self._unfeedable

    def prevent_feeding(self, tensor: Any) -> None:
        """Let no value be fed for `tensor`."""
        self._unfeedable.add(tensor.node)

    def is_fetchable(self, tensor_or_op: object) -> bool:
        """Return whether a tensor or operation may be fetched."""
        return self._maker(tensor_or_op) not in self._unfetchable

    def prevent_fetching(self, op: str) -> None:
        """Let neither the operation nor its results be fetched."""
        self._unfetchable.add(self._maker(op))

    def _maker(self, element: object) -> Node:
        node = element.node
        return node.inputs[0] if node.prim.role is Role.PROJECTION else node

    # -- devices, which are noted and change nothing

    @contextmanager
    def device(self, device_name_or_function: str | Callable[..., Any] | None) -> Iterator[None]:
        """Assign operations made in the block to a device; None forgets those of enclosing blocks.

        A function is given the operation and gives its device.
        """
        before = self.device_scopes
        self.device_scopes = (*before, hooks.device_spec(device_name_or_function))
        try:
            yield
        finally:
            self.device_scopes = before

    def note_device(self, node: Node) -> None:
        """Assign the device in force to a new node."""
        if node not in self._placed:
            node.holders += 1  # nobody else may hold it yet, and the handle below goes at once
            operation = self.operation_of(node)  # type: ignore[attr-defined]
            found = hooks.device_for(self.device_scopes, operation)
            del operation
            node.holders -= 1
            if found:
                self._placed[node] = found

    def place(self, node: Node, device: str) -> None:
        """Assign a device to a node."""
        self._placed[node] = device

    def device_of(self, node: Node) -> str:
        """Return the device that was requested for a node, '' if none was."""
        return self._placed.get(node, "")

    def devices_asked(self) -> list[tuple[Node, str]]:
        """Return the nodes for which a device was requested, and the devices."""
        return list(self._placed.items())

    def find_device(self, nodes: list[Node]) -> str | None:
        """Return the device that was requested for all of these nodes that compute something."""
        if not self._placed:
            return None
        computing = (Role.OPERATION, Role.BRANCH, Role.LOOP, Role.CALL)
        own = [node for node in nodes if node.inputs and node.prim.role in computing]
        asked = {self.device_of(node) for node in own}
        return asked.pop() or None if len(asked) == 1 else None

    @contextmanager
    def colocate_with(self, op: str, ignore_existing: bool = False) -> Iterator[None]:
        """Accept the request without effect: everything is on one device."""
        yield

    @contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Accept the request without effect: a session stores the values of all its variables."""
        yield container_name


def _text(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else name


def _describe_allowed_kinds(allow_tensor: bool, allow_operation: bool) -> str:
    return " or ".join(["Tensor"] * allow_tensor + ["Operation"] * allow_operation)
