"""The form of a loop variable: a tensor, a nest of tensors, or a constant Python object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core.errors import type_error, value_error
from talweg.graph import structure
from talweg.trace.autograph.values import can_be_tensor, is_missing

if TYPE_CHECKING:
    from talweg.graph.symbol import Symbol


class GrownError(Exception):
    """A list is longer after an iteration; the loop catches this and restarts with an array."""

    def __init__(self, name: str, value: list):
        super().__init__(name)
        self.name, self.value = name, value


class LeafForm:
    """The form of a tensor, number `place` of the carried ones."""

    def __init__(self, place: int):
        self.place, self.places = place, [place]

    def build(self, tensors: list) -> Any:
        """Return the value, made of all carried tensors."""
        return tensors[self.place]

    def flatten(self, name: str, value: Symbol) -> list:
        """Return the tensors of a value of this form; TypeError or ValueError for another."""
        if value is None or is_missing(value):
            raise value_error("TW208", f"'{name}' is None after one iteration, and a tensor before")
        if structure.is_nested(value, composites=True) or not can_be_tensor(value):
            raise _differs(name, "a tensor", describe_form(value))
        return [value]


class NestForm:
    """The form of a container of other forms."""

    def __init__(self, like: Any, parts: list):
        self.like, self.parts = like, parts
        self.places = [place for part in parts for place in part.places]

    def build(self, tensors: list) -> Any:
        """Return the value, made of all carried tensors."""
        return structure.rebuild(self.like, [part.build(tensors) for part in self.parts])

    def flatten(self, name: str, value: object) -> list:
        """Return the tensors of a value of this form; TypeError if it has another."""
        children = self._children(value)
        if children is None or len(children) != len(self.parts):
            if type(self.like) is list and type(value) is list and len(value) > len(self.parts):
                raise GrownError(name, value)
            raise _differs(name, describe_form(self.like), describe_form(value))
        leaves: list = []
        for part, child in zip(self.parts, children):
            leaves.extend(part.flatten(name, child))
        return leaves

    def _children(self, value: Any) -> list | None:
        """Return the items of a container; new keys of dictionaries are names of their own."""
        if structure.kind_of(value) != structure.kind_of(self.like):
            return None
        if structure.kind_of(value) != structure.MAPPING:
            return structure.children(value)
        keys = structure.sort_keys(self.like)
        return [value[key] for key in keys] if all([key in value for key in keys]) else None


class FixedForm:
    """The form of a Python object; `free` where the loop may assign any object."""

    def __init__(self, value: Any, free: bool = False):
        self.value, self.free = value, free
        self.places: list = []

    def build(self, tensors: list) -> Any:
        """Return the object, independent of the carried tensors."""
        return self.value

    def flatten(self, name: str, value: list[Any]) -> list:
        """Return no tensors; TypeError if it is another object."""
        if value is not self.value and not self.free:
            raise type_error(
                "TW208",
                f"'{name}' is a Python object that the loop changes: {self.value!r}, then "
                f"{value!r}",
                "tensors, or an object that stays the same",
            )
        return []


def describe_form(value: object) -> str:
    """Describe the form of a value in words."""
    if structure.is_nested(value, composites=True):
        return f"{type(value).__name__} of {len(structure.children(value))}"
    return "a tensor" if can_be_tensor(value) else type(value).__name__


def _differs(name: str, before: str, after: str) -> Exception:
    return type_error(
        "TW208",
        f"'{name}' must have the same nested structure before and after one iteration: it is "
        f"{before}, then {after}",
    )
