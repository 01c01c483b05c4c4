"""Variables that belong to other variables: an optimizer's slots, the averages of a model."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from talweg.api.export import look_up
from talweg.core import dispatch
from talweg.eager.graph_variable import GraphVariable, outermost
from talweg.eager.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMES: Any = weakref.WeakKeyDictionary()  # handles of eager variables -> names given beside them


@contextmanager
def beside(primary: object) -> Iterator[Any]:
    """Build where a variable lives: outside of all functions and bodies; gives the graph, or None.

    `primary` is a variable, or a tensor, or None for the graph in force.
    """
    context = dispatch.context
    before = context.base
    if isinstance(primary, Variable):
        graph = primary.graph if isinstance(primary, GraphVariable) else None
    else:
        graph = outermost(before)
        graph = None if graph is not None and graph.building_function else graph
    context.base = graph
    dispatch.enter()
    try:
        if graph is None:
            yield None
        else:
            with graph.control_dependencies(None):
                yield graph
    finally:
        dispatch.leave()
        context.base = before


def name_of(primary: Any) -> str:
    """Return the name of a variable or tensor, without its number of result."""
    return primary.name.split(":")[0]


def variable_beside(
    primary: object, name: str, initial: Callable[[], Any], collections: Sequence[str] | None = None
) -> Any:
    """Return a variable that is not trained, named after another one: ``primary/name``.

    Its name is inside the variable scope in force, and in no name scope, as in TensorFlow.
    """
    with beside(primary) as graph:
        full = f"{name_of(primary)}/{name}"
        if graph is None:
            return Variable(initial(), trainable=False, name=_unique_name(primary, full))
        prefix = look_up("compat.v1.get_variable_scope")().name
        full = f"{prefix}/{full}" if prefix else full
        with graph.name_scope(None):
            return Variable(initial, trainable=False, name=full, **_as_list(collections))


def _unique_name(primary: Any, name: str) -> str:
    """Return the name; with a number behind it if something beside the variable has it already."""
    names = _NAMES.setdefault(primary.handle, {})
    count = names[name] = names.get(name, -1) + 1
    return f"{name}_{count}" if count else name


def _as_list(collections: Sequence[str] | None) -> dict:
    return {} if collections is None else {"collections": collections}


def first_value(primary: Any) -> Any:
    """Return the value a variable has when it is initialized; an eager variable's present value."""
    return primary.initial_value if isinstance(primary, GraphVariable) else primary.value()
