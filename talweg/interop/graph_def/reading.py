"""Taking a GraphDef or a FunctionDef apart: nodes with inputs, controls and attributes, checked.

Nothing is built here, and nothing recurses.  A tensor is (name of its node, number of the output).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from talweg.core.errors import NotFoundError, compose, value_error
from talweg.interop.graph_def import attributes
from talweg.raw import operations

Reference = tuple[str, int]
NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
_ARGUMENT = operations.OpSignature("_Arg", (), (), {}, False, {})


class NodeRecord:
    """A node of a GraphDef: `inputs` are tensors, `controls` names of nodes."""

    __slots__ = ("attributes", "controls", "inputs", "message", "name", "op", "operation", "raw")

    def __init__(self, message: Any, functions: Any):
        self.message, self.name, self.op = message, message.name, message.op
        self.raw: list[str] = [text for text in message.input if not text.startswith("^")]
        self.controls = [text[1:] for text in message.input if text.startswith("^")]
        self.inputs: list[Reference] = []
        self.operation = operations.find(self.op)
        if self.op in functions:
            self.operation = operations.find("PartitionedCall")
            self.attributes = call_attributes(functions[self.op].signature)
            return
        if self.operation is None:
            raise NotFoundError(
                None,
                None,
                compose(
                    "TW506",
                    f"Op type not registered '{self.op}': node '{self.name}' of the GraphDef has "
                    "a type of operation that talweg does not know",
                    "an operation of tf.raw_ops, a variable, a branch, a loop or a call",
                ),
            )
        self.attributes = attributes.read_all(self.operation, message.attr, self.described)

    @property
    def described(self) -> str:
        """The node as errors name it."""
        return f"node '{self.name}' ({self.op})"

    def error(self, text: str) -> ValueError:
        """Make the error of a node, to be raised."""
        return value_error("TW506", f"{self.described}: {text}")

    def check_inputs(self) -> None:
        """Raise ValueError unless there are as many inputs as the type of operation takes."""
        expected = [part.count(self.attributes) for part in self.operation.inputs]
        if any(count < 0 for count in expected) or sum(expected) != len(self.inputs):
            raise self.error(f"it has {len(self.inputs)} inputs instead of {sum(expected)}")

    def output_count(self) -> int:
        """Count the outputs of the node."""
        return sum(part.count(self.attributes) for part in self.operation.outputs)


def call_attributes(signature: Any) -> dict:
    """Return the attributes of a call of a function by its name as the type of a node."""
    kinds = [
        [attributes.read_dtype(part.type) for part in parts]
        for parts in (signature.input_arg, signature.output_arg)
    ]
    return {
        "Tin": kinds[0],
        "Tout": kinds[1],
        "f": signature.name,
        "config": "",
        "config_proto": "",
        "executor_type": "",
    }


def items_of(graph_def: Any, functions: object) -> dict[str, NodeRecord]:
    """Return the nodes of a GraphDef by name, in its order;
    ValueError if they do not hold together.
    """
    found = _find_named(graph_def.node, functions)
    for item in found.values():
        item.inputs = [_tensor(item, text) for text in item.raw]
        item.check_inputs()
    _check_references(found)
    return found


def _find_named(messages: Iterable, functions: object) -> dict[str, NodeRecord]:
    found: dict[str, NodeRecord] = {}
    for message in messages:
        if not NAME.fullmatch(message.name):
            raise value_error("TW506", f"Node name contains invalid characters: '{message.name}'")
        if message.name in found:
            raise value_error("TW506", f"Node '{message.name}' is not unique: two have this name")
        found[message.name] = NodeRecord(message, functions)
    return found


def _tensor(item: NodeRecord, text: str) -> Reference:
    name, colon, number = text.partition(":")
    if colon and not (number.isascii() and number.isdigit() and len(number) < 10):
        raise item.error(f"input {text!r} is no tensor")
    return name, int(number) if colon else 0


def _check_references(items: dict[str, NodeRecord]) -> None:
    counts = {name: item.output_count() for name, item in items.items()}
    for item in items.values():
        for name, number in item.inputs:
            if name not in counts:
                raise item.error(f"input '{name}' is no node of the GraphDef")
            if number >= counts[name]:
                raise item.error(
                    f"input '{name}:{number}' does not exist: '{name}' has {counts[name]} outputs"
                )
        for name in item.controls:
            if name not in counts:
                raise item.error(f"control input '^{name}' is no node of the GraphDef")


class FunctionRecord:
    """A function of a library: its arguments, nodes, and what it returns."""

    def __init__(self, message: Any, functions: Any):
        signature = message.signature
        self.name = signature.name
        self.arguments = [part.name for part in signature.input_arg]
        for part in (*signature.input_arg, *signature.output_arg):
            if part.number_attr or part.type_list_attr or part.type_attr:
                raise value_error(
                    "TW506", f"function '{self.name}': argument '{part.name}' has no fixed dtype"
                )
        self.dtypes = [attributes.read_dtype(part.type) for part in signature.input_arg]
        self.items = _find_named(message.node_def, functions)
        arguments = set(self.arguments)
        both = arguments & set(self.items)
        if both or len(arguments) != len(self.arguments):
            raise value_error(
                "TW506", f"function '{self.name}': two nodes are named {sorted(both)}"
            )
        for item in self.items.values():
            item.inputs = [self._resolve(text, item.error) for text in item.raw]
            item.check_inputs()
            for name in item.controls:
                if name not in self.items and name not in arguments:
                    raise item.error(f"control input '^{name}' is no node of '{self.name}'")
        self.results = []
        for part in signature.output_arg:
            if part.name not in message.ret:
                raise value_error("TW506", f"function '{self.name}' returns no '{part.name}'")
            self.results.append(self._resolve(message.ret[part.name], self._error))
        self.controls = [message.control_ret[name] for name in sorted(message.control_ret)]
        missing = [name for name in self.controls if name not in self.items]
        if missing:
            raise self._error(f"no node is named {missing}")

    def _error(self, text: str) -> ValueError:
        return value_error("TW506", f"function '{self.name}': {text}")

    def _resolve(self, text: str, error: Callable[[str], ValueError]) -> Reference:
        """Resolve `node:output:number` to a tensor."""
        name, _, rest = text.partition(":")
        if name in self.arguments and not rest:
            return name, 0
        item = self.items.get(name)
        if item is None:
            raise error(f"input {text!r} is no node of the function '{self.name}'")
        output, _, number = rest.partition(":")
        if number and not (number.isascii() and number.isdigit() and len(number) < 10):
            raise error(f"input {text!r} is no tensor")
        first = 0
        for part in item.operation.outputs:
            count = part.count(item.attributes)
            if part.name == output:
                if int(number or 0) >= count:
                    break
                return name, first + int(number or 0)
            first += count
        raise error(f"input {text!r} does not exist: '{name}' has no such output")
