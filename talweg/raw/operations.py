"""The signatures of TensorFlow's operations: inputs, outputs and attributes of each type.

They are read from `operations.txt`, which `tools/record_operations.py` writes and describes.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from talweg.core.dtypes import BY_NAME, DType

TABLE = Path(__file__).with_name("operations.txt")
REQUIRED: Any = object()  # the default of an attribute that has none


class Argument(NamedTuple):
    """An input or output.  One tensor of `dtype`, or of the dtype the attribute `kind` gives;
    `number` names the attribute that counts them, `listed` the one that lists their dtypes.
    `keyword` is its name in `tf.raw_ops`."""

    name: str
    dtype: DType | None
    kind: str
    number: str
    listed: str
    reference: bool
    keyword: str

    def dtypes(self, attributes: dict) -> list:
        """Return the dtypes of its tensors, given the node's attributes."""
        if self.listed:
            return list(attributes[self.listed])
        dtype = self.dtype if self.dtype is not None else attributes[self.kind]
        return [dtype] * (attributes[self.number] if self.number else 1)

    def count(self, attributes: dict) -> int:
        """Count the tensors of the argument."""
        if self.listed:
            return len(attributes[self.listed])
        return attributes[self.number] if self.number else 1

    @property
    def is_list(self) -> bool:
        """Whether it is any number of tensors."""
        return bool(self.number or self.listed)


class OpSignature(NamedTuple):
    """A type of operation; `attributes` are (type, default) by name, `renamed` those that have
    another name in `tf.raw_ops`."""

    name: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    attributes: dict[str, tuple[str, Any]]
    stateful: bool
    renamed: dict[str, str]

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the function of `tf.raw_ops`, and their defaults (`REQUIRED`).

        Attributes that follow from the inputs are none.
        """
        inferred = {n for part in self.inputs for n in (part.kind, part.number, part.listed)}
        given = {
            self.renamed.get(name, name): default
            for name, (_, default) in self.attributes.items()
            if name not in inferred
        }
        found: dict[str, Any] = {part.keyword: REQUIRED for part in self.inputs}
        found.update({name: value for name, value in given.items() if value is REQUIRED})
        return {**found, **given, "name": None}


def _argument(text: str) -> Argument:
    declared, _, kind = text.partition(":")
    name, other, keyword = declared.partition(">")
    keyword = keyword if other else name
    reference = kind.startswith("&")
    kind = kind.lstrip("&")
    if kind.startswith("@"):
        return Argument(name, None, "", "", kind[1:], reference, keyword)
    number, star, kind = kind.rpartition("*")
    dtype = BY_NAME.get(kind)
    return Argument(name, dtype, kind, number if star else "", "", reference, keyword)


def _attribute(text: str) -> tuple[str, tuple[str, Any]]:
    declared, equals, default = text.partition("=")
    name, _, kind = declared.partition(":")
    value: Any = json.loads(default) if equals else REQUIRED
    if value is not REQUIRED and kind == "type":
        value = BY_NAME[value]
    elif value is not REQUIRED and kind == "list(type)":
        value = [BY_NAME[part] for part in value]
    return name, (kind, value)


def _operation(line: str) -> OpSignature:
    name, inputs, outputs, attributes = line.split(" | ")
    found = dict(map(_attribute, attributes.split()))
    renamed = dict([name.split(">") for name in found if ">" in name])
    return OpSignature(
        name.rstrip("!"),
        tuple(map(_argument, inputs.split())),
        tuple(map(_argument, outputs.split())),
        {name.partition(">")[0]: value for name, value in found.items()},
        name.endswith("!"),
        renamed,
    )


@cache
def names() -> list[str]:
    """Return all types of operations that there are."""
    return list(_lines())


@cache
def _lines() -> dict[str, str]:
    lines = TABLE.read_text("utf-8").splitlines()
    return {line.split(" ", 1)[0].rstrip("!"): line for line in lines}


@cache
def find(name: str) -> OpSignature | None:
    """Return the signature of a type of operation; None if it is not in the table."""
    line = _lines().get(name)
    return None if line is None else _operation(line)
