"""Reachability of an object from a function, otherwise than as an argument.

A trace made for one variable serves others in its place only if the function cannot have meant
this very one: by a name it sees, an attribute of its object, an entry of a dictionary.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from talweg.core.value import Reference, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.trace.methods import Method

LIMIT = 5000  # objects that are looked at
OPERATORS, AUTOGRAPH = "ag__", "talweg.trace.autograph."  # what converted functions see besides
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type, CodeType, Tensor)


def may_reach(function: Method | Callable[..., Any], targets: list) -> bool:
    """Return whether a function may reach one of these objects."""
    return bool(find_reached(function, targets, 1))


def find_reached(
    function: Method | Callable[..., Any], targets: list, enough: int | None = None
) -> list:
    """Return the objects that a function may reach: all if the search takes too long.

    enough: the number after which the search may end; None for all.
    """
    wanted = {id(target): target for target in targets}
    enough = len(wanted) if enough is None else enough
    reached: list = []
    seen: dict[int, Any] = {}
    pending = [function]
    while pending and len(reached) < enough:
        value = pending.pop()
        if id(value) in wanted:
            reached.append(wanted.pop(id(value)))
            continue
        if isinstance(value, _PLAIN) or id(value) in seen:
            continue
        seen[id(value)] = value
        if len(seen) > LIMIT:
            return targets
        pending.extend(_next_to(value))
    return reached


def _next_to(obj: object) -> Iterator[Any]:
    """Return the objects that an object refers to and a program could access."""
    if isinstance(obj, FunctionType):
        yield from _visible_to(obj)
    elif isinstance(obj, MethodType):
        yield obj.__func__
        yield obj.__self__
    elif isinstance(obj, functools.partial):
        yield obj.func
        yield from obj.args
        yield from obj.keywords.values()
    elif isinstance(obj, Reference):
        yield obj.deref()
    elif isinstance(obj, Mapping):
        for key, value in list(obj.items()):
            yield key
            yield value
    elif isinstance(obj, (list, tuple, set, frozenset)):
        yield from list(obj)
    elif hasattr(obj, "python_function"):  # a traced function
        yield obj.python_function
    elif hasattr(obj, "bound") and hasattr(obj, "__wrapped__"):  # the function of a method
        yield obj.bound
    elif not isinstance(obj, ModuleType) and not type(obj).__module__.startswith(AUTOGRAPH):
        yield from list(getattr(obj, "__dict__", {}).values())
        for kind in type(obj).__mro__:
            for name in _slots(kind):
                yield getattr(obj, name, None)


def _slots(kind: type) -> tuple:
    names = kind.__dict__.get("__slots__", ())
    return (names,) if isinstance(names, str) else tuple(names)


def _visible_to(function: FunctionType) -> Iterator[Any]:
    """Return the objects a function sees: its cells, defaults, and globals that it names."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        if name == OPERATORS:
            continue
        try:
            yield cell.cell_contents
        except ValueError:  # nothing yet
            continue
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    names = set(_names(function.__code__)) - {OPERATORS}
    for name in names:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType):
            if not value.__name__.startswith("talweg"):
                yield from [vars(value).get(other) for other in names]
        else:
            yield value


def _names(code: CodeType) -> Iterator[str]:
    """Return the names that code uses, and code inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
