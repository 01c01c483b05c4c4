"""The check that a traced function leaves its list and dictionary arguments unchanged.

They are made for the trace alone, so that a change would be lost, and happen once only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from talweg.core.errors import value_error
from talweg.graph import structure


class Contents:
    """A snapshot of the containers among the arguments, taken before a function runs."""

    def __init__(self, arguments: tuple[Any, ...]):
        self._held: list[tuple[Any, list]] = []
        self._note(arguments)

    def _note(self, value: object) -> None:
        if structure.kind_of(value) in (structure.LEAF, structure.COMPOSITE, structure.CUSTOM):
            return
        self._held.append((value, _list_contents(value)))
        for child in structure.children(value):
            self._note(child)

    def check(self, function: str) -> None:
        """Raise ValueError if one of the containers has changed."""
        for container, before in self._held:
            after = _list_contents(container)
            if len(after) == len(before) and all([a is b for a, b in zip(after, before)]):
                continue
            raise value_error(
                "TW208",
                f"{function} should not modify its Python input arguments: it has changed a "
                f"{type(container).__name__} among them",
                "arguments as they were given; modifying a copy is allowed",
                "a copy: list(x) or dict(x)",
            )


def _list_contents(container: object) -> list:
    """Return a container's contents: keys and values of a mapping, else the items."""
    if isinstance(container, Mapping):
        return [*container, *container.values()]
    return structure.children(container)
