"""Attempts roll a graph of TensorFlow 1 back to its earlier state when code that builds it raises.

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
    """Roll the graph back to its state before the block if the block raises.

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
    """A snapshot of a graph's tables, taken when an attempt begins."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.named = set(graph._named)
        self.used = dict(graph._used)
        self.placed = dict(graph._placed)
        self.collections = {name: list(items) for name, items in graph.collections.items()}
        self.extras = {key: (value, _copy_table(value)) for key, value in graph.extras.items()}

    def restore(self) -> None:
        """Restore the graph's tables from the snapshot and remove what was added since."""
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
    """Return a copy of a table (list, set or dictionary), None for objects of other types."""
    return dict(value) if isinstance(value, dict) else None
