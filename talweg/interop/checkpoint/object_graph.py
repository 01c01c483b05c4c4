"""The message in a checkpoint that says which objects were saved, and how they hang together.

TensorFlow's TrackableObjectGraph, written and read by the few words of the wire format that it
needs.  Node 0 is the root; a child is a number of a node with the name that leads to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from talweg.formats import wire

KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"  # where a checkpoint keeps the message
VALUE = "VARIABLE_VALUE"  # the attribute of a variable


@dataclass
class Attribute:
    """A saved value of an object: its name, the variable's name, the key of its tensor."""

    name: str
    full_name: str
    key: str


@dataclass
class SavedSlot:
    """A slot variable of an optimizer: its name, the numbers of its variable and of itself."""

    name: str
    original: int
    number: int


@dataclass
class SavedObject:
    """An object in a checkpoint."""

    children: list[tuple[str, int]] = field(default_factory=list)
    attributes: list[Attribute] = field(default_factory=list)
    slots: list[SavedSlot] = field(default_factory=list)


def encode(nodes: list[SavedObject]) -> bytes:
    """Return the message of these objects."""
    valued = with_values(nodes)
    return b"".join(
        [wire.field(1, _encode_object(node, number in valued)) for number, node in enumerate(nodes)]
    )


def with_values(nodes: list[SavedObject]) -> set[int]:
    """Return the numbers of the objects that have values, or lead to some."""
    parents: list[list[int]] = [[] for _ in nodes]
    for number, node in enumerate(nodes):
        for child in (*[c for _, c in node.children], *[slot.number for slot in node.slots]):
            parents[child].append(number)
    found: set[int] = set()
    pending = [number for number, node in enumerate(nodes) if node.attributes]
    while pending:
        number = pending.pop()
        if number not in found:
            found.add(number)
            pending += parents[number]
    return found


def _encode_object(node: SavedObject, has_values: bool) -> bytes:
    parts = []
    for name, number in node.children:
        reference = (wire.field(1, number) if number else b"") + wire.field(2, name.encode())
        parts.append(wire.field(1, reference))
    for attribute in node.attributes:
        texts = (attribute.name, attribute.full_name, attribute.key)
        message = [wire.field(n, text.encode()) for n, text in enumerate(texts, 1) if text]
        parts.append(wire.field(2, b"".join(message)))
    for slot in node.slots:
        original = wire.field(1, slot.original) if slot.original else b""
        own = wire.field(3, slot.number) if slot.number else b""
        parts.append(wire.field(3, original + wire.field(2, slot.name.encode()) + own))
    parts.append(wire.field(5, wire.field(1, 1) if has_values else b""))
    return b"".join(parts)


def decode(message: bytes) -> list[SavedObject]:
    """Return the objects of a message; DataLossError if it is damaged."""
    nodes = [
        _decode_object(_bytes(value)) for number, value in wire.read_fields(message) if number == 1
    ]
    if not nodes:
        raise wire.data_loss_error("the checkpoint's object graph is empty")
    for node in nodes:
        parts = [(slot.name, n) for slot in node.slots for n in (slot.original, slot.number)]
        for name, child in (*node.children, *parts):
            if child >= len(nodes):
                raise wire.data_loss_error(f"the object {name!r} of the checkpoint is missing")
    return nodes


def _decode_object(message: bytes) -> SavedObject:
    node = SavedObject()
    for number, value in wire.read_fields(message):
        if number == 1:
            child, name = 0, ""
            for part, content in wire.read_fields(_bytes(value)):
                if part == 1:
                    child = _number(content)
                elif part == 2:
                    name = _text(content)
            node.children.append((name, child))
        elif number == 2:
            texts = {1: "", 2: "", 3: ""}
            texts.update(_texts(wire.read_fields(_bytes(value))))
            node.attributes.append(Attribute(texts[1], texts[2], texts[3]))
        elif number == 3:
            node.slots.append(_decode_slot(_bytes(value)))
    return node


def _decode_slot(message: bytes) -> SavedSlot:
    slot = SavedSlot("", 0, 0)
    for part, content in wire.read_fields(message):
        if part == 1:
            slot.original = _number(content)
        elif part == 2:
            slot.name = _text(content)
        elif part == 3:
            slot.number = _number(content)
    return slot


def _texts(fields: Iterable[tuple[int, Any]]) -> dict[int, str]:
    return {number: _text(value) for number, value in fields if number in (1, 2, 3)}


def _bytes(value: bytes) -> bytes:
    if not isinstance(value, bytes):
        raise wire.data_loss_error("the checkpoint's object graph has a field of the wrong type")
    return value


def _number(value: int) -> int:
    if not isinstance(value, int) or value >> 31:
        raise wire.data_loss_error("the checkpoint's object graph has a field of the wrong type")
    return value


def _text(value: bytes) -> str:
    try:
        return _bytes(value).decode("utf-8")
    except UnicodeDecodeError:
        raise wire.data_loss_error("a name in the checkpoint's object graph is no text") from None
