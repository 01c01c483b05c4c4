"""Sessions of tests in graphs: one that a test keeps, and the values of tensors in it.

In eager execution tensors have values, and a test's session only hands them out.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from talweg.api.export import look_up
from talweg.core.errors import value_error
from talweg.core.hooks import hooks
from talweg.graph import structure
from talweg.graph.graph import Graph


class _Kept(threading.local):
    """The session that the present test keeps, and what it was asked to be."""

    session: Any = None
    asked: tuple = (None, None)


_kept = _Kept()


def drop_session() -> None:
    """Close the session that a test kept."""
    session, _kept.session = _kept.session, None
    if session is not None:
        session.close()


def keep_session(graph: Any = None, config: Any = None) -> Any:
    """Return the session that the test keeps, made at the first call.

    ValueError where another graph or configuration is asked for than then.
    """
    if _kept.session is None:
        _kept.session = look_up("compat.v1.Session")(graph=graph, config=config)
        _kept.asked = graph, config
    elif _kept.asked[0] is not graph or _kept.asked[1] != config:
        raise value_error(
            "TW503",
            "cached_session: the test has a session of another graph or configuration",
            hint="self.session(graph=...) for a new one",
        )
    return _kept.session


@contextlib.contextmanager
def enter_kept_session(graph: Any = None, config: Any = None) -> Iterator[Any]:
    """Make the session that the test keeps the default one in the block."""
    session = keep_session(graph, config)
    with session.as_default():
        yield session


@contextlib.contextmanager
def enter_new_session(graph: Any = None, config: Any = None) -> Iterator[Any]:
    """Make a new session the default one in the block, and close it after that."""
    with look_up("compat.v1.Session")(graph=graph, config=config) as session:
        yield session


def run_in_session(tensors: Any) -> Any:
    """Return a nest with the values of what is of a graph in it, of one run.

    The session is the default one, or the one that the test keeps.
    """
    leaves = [leaf for leaf in structure.flatten(tensors) if is_of_graph(leaf)]
    if not leaves:
        return tensors
    session = hooks.get_default_session()
    if session is not None:
        values = session.run(leaves)
    else:
        with enter_kept_session() as session:
            values = session.run(leaves)
    remaining = iter(values)
    return structure.map_leaves(lambda x: next(remaining) if is_of_graph(x) else x, tensors)


def is_of_graph(leaf: Any) -> bool:
    """Return whether a leaf is a tensor,
    variable or operation of a graph, or made of such tensors.
    """
    try:
        return isinstance(leaf.graph, Graph)
    except Exception:  # noqa: BLE001 -- eager tensors, arrays and anything else have none
        return False
