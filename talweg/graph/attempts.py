"""Attempts: what fails inside leaves a graph of TensorFlow 1 as it was.

Nodes that nobody holds leave a graph by themselves, so only what holds them has to be undone:
names, collections, and what upper layers keep with the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talweg.graph.graph import Graph


@contextmanager
def attempt_on(graph: Graph) -> Iterator[None]:
    """Undo what the block did to the graph if it raises.

    Names given, collections, devices, and entries of the tables in `graph.extras` are those of
    before; names that the block only asked for stay.
    """
    before = _Before(graph)
    try:
        yield
    except BaseException:
        before.restore()
        raise


class _Before:
    """What a graph held when an attempt began."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.named = set(graph._named)
        self.used = dict(graph._used)
        self.placed = dict(graph._placed)
        self.collections = {name: list(items) for name, items in graph.collections.items()}
        self.extras = {key: (value, _copy_table(value)) for key, value in graph.extras.items()}

    def restore(self) -> None:
        """Give the graph back what it held, and take away what it got."""
        graph = self.graph
        for name, items in list(graph.collections.items()):
            if name in self.collections:
                items[:] = self.collections[name]
            else:
                del graph.collections[name]
        graph.extras.clear()
        for key, (value, content) in self.extras.items():
            if content is not None:
                value.clear()
                value.update(content)
            graph.extras[key] = value
        graph._placed.clear()
        graph._placed.update(self.placed)
        for name in [name for name in graph._named if name not in self.named]:
            graph.take_name(name)
        graph._used.clear()
        graph._used.update(self.used)
        for name in graph._seen:
            graph._used.setdefault(name.lower(), 1)


def _copy_table(value: Any) -> dict | None:
    """What a table holds; None for other things."""
    return dict(value) if isinstance(value, dict) else None
