"""Attributes of nodes: from messages to Python values, checked against the kind they should have,
and back."""

from __future__ import annotations

from typing import Any

from talweg.core.dtypes import DType, as_dtype
from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape, as_shape
from talweg.interop.graph_def.messages import AttrValue
from talweg.interop.graph_def.tensor_protos import shape_from_proto
from talweg.raw.operations import REQUIRED, OpSignature

REFERENCE = 100  # what is added to the number of a dtype to mean a reference to it
_FIELD = {
    "int": "i",
    "float": "f",
    "bool": "b",
    "string": "s",
    "type": "type",
    "shape": "shape",
    "tensor": "tensor",
    "func": "func",
}


def _dtype(number: int) -> DType:
    try:
        return as_dtype(int(number) % REFERENCE)
    except TypeError:
        raise value_error("TW506", f"{number} is no dtype") from None


def _text(value: bytes) -> str | bytes:
    """Decode the text of an attribute; bytes that are no text (a module of StableHLO) stay
    bytes.
    """
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


_READ: dict[str, Any] = {
    "type": _dtype,
    "shape": shape_from_proto,
    "string": _text,
    "float": float,
    "bool": bool,
    "int": int,
    "tensor": lambda value: value,
    "func": lambda value: value,
}


def read(message: Any, kind: str) -> Any:
    """Return the value of an attribute of this kind; ValueError if it is of another one."""
    held = message.WhichOneof("value")
    if kind.startswith("list("):
        kind = kind[5:-1]
        if held != "list":
            raise value_error("TW506", f"it is of the kind {held!r}", f"a list of {kind}")
        return [_READ[kind](item) for item in getattr(message.list, _FIELD[kind])]
    if held != _FIELD[kind]:
        raise value_error("TW506", f"it is of the kind {held!r}", f"{_FIELD[kind]!r} ({kind})")
    return _READ[kind](getattr(message, held))


def read_all(operation: OpSignature, messages: Any, described: str) -> dict[str, Any]:
    """Return the values of all attributes of a node;
    ValueError for missing ones and wrong kinds.
    """
    values = {}
    for name, (kind, default) in operation.attributes.items():
        if name in messages:
            try:
                values[name] = read(messages[name], kind)
            except ValueError as error:
                raise value_error("TW506", f"{described}: attribute {name!r}: {error}") from None
        elif default is REQUIRED:
            raise value_error("TW506", f"{described}: attribute {name!r} ({kind}) is missing")
        else:
            values[name] = as_shape(default) if kind == "shape" else default
    return values


def write(value: Any, kind: str) -> Any:
    """Write a Python value as an attribute of this kind."""
    message = AttrValue()
    if kind.startswith("list("):
        kind = kind[5:-1]
        message.list.SetInParent()
        for item in value:
            if kind in ("shape", "tensor", "func"):
                getattr(message.list, _FIELD[kind]).add().CopyFrom(_write(item, kind))
            else:
                getattr(message.list, _FIELD[kind]).append(_write(item, kind))
        return message
    if kind in ("shape", "tensor", "func"):
        getattr(message, _FIELD[kind]).CopyFrom(_write(value, kind))
    else:
        setattr(message, _FIELD[kind], _write(value, kind))
    return message


def _write(value: object, kind: str) -> Any:
    if kind == "type":
        return value.as_datatype_enum
    if kind == "string":
        return value.encode() if isinstance(value, str) else value
    if kind == "shape" and isinstance(value, (TensorShape, tuple, list, type(None))):
        return as_shape(value).as_proto()
    return value


read_dtype = _dtype
