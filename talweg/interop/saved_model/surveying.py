"""Surveys an object for saving: everything with state below it, and its functions.

The children are those of a checkpoint, the functions that an object has as attributes or methods,
and lists and dictionaries of all these.  What two names lead to is one object.
"""

from __future__ import annotations

import warnings
from typing import Any

from talweg.api.export import implement_hook
from talweg.api.resources import Asset, TrackableResource
from talweg.core.tracking import EXPLICIT, UNTRACKED, AutoTrackable, Trackable
from talweg.interop.checkpoint import object_walk
from talweg.interop.checkpoint.object_walk import CONTAINERS, Survey, variable_in
from talweg.interop.saved_model.signatures import SignatureMap
from talweg.trace.concrete import ConcreteFunction
from talweg.trace.function import Function
from talweg.trace.methods import BoundFunction

FUNCTIONS = (Function, ConcreteFunction)


def same_object(value: object) -> Any:
    """Return the object that `value` counts as: the variable behind a Keras variable, a method's
    function.
    """
    if isinstance(value, BoundFunction):
        return value.__wrapped__
    if isinstance(value, Trackable):
        variable = variable_in(value)
        if variable is not None:
            return variable
    return value


def is_saved(value: object, inside: tuple = ()) -> bool:
    """Return whether a value is saved, or a container that leads to one that is."""
    if isinstance(value, (Trackable, BoundFunction, *FUNCTIONS)):
        return True
    if not isinstance(value, CONTAINERS) or any(value is outer for outer in inside):
        return False
    parts = value.values() if isinstance(value, dict) else value
    return any(is_saved(part, (*inside, value)) for part in parts)


def children(obj: object, cache: dict | None = None) -> dict[str, Any]:
    """Return the children directly below an object, by name."""
    if isinstance(obj, CONTAINERS) and not isinstance(obj, Trackable):
        return _parts(obj)
    if isinstance(obj, SignatureMap):
        return dict(obj)
    leaf = isinstance(obj, (Asset, TrackableResource, *FUNCTIONS)) or variable_in(obj) is not None
    if leaf or not isinstance(obj, Trackable):
        return {}
    try:
        parts = obj._trackable_children("savedmodel", cache={} if cache is None else cache)
    except NotImplementedError:
        parts = obj._trackable_children("checkpoint")
    parts = {name: child for name, child in parts.items() if is_saved(child)}
    explicit = EXPLICIT in getattr(obj, "__dict__", ())
    own = _containers(obj) if isinstance(obj, AutoTrackable) and not explicit else {}
    ordered = (
        {
            name: own.get(name, parts.get(name))
            for name in vars(obj)
            if name in own or (name in parts and not isinstance(parts[name], FUNCTIONS))
        }
        if hasattr(obj, "__dict__")
        else {}
    )
    return {**ordered, **own, **parts}


def _parts(container: Any) -> dict[str, Any]:
    if isinstance(container, dict):
        named = {key: part for key, part in container.items() if isinstance(key, str)}
    else:
        named = {str(place): part for place, part in enumerate(container)}
        named.update({name: getattr(container, name) for name in getattr(container, "_fields", ())})
    return {name: part for name, part in named.items() if is_saved(part)}


def _containers(obj: object) -> dict[str, Any]:
    """Return the attributes that are lists, tuples and dictionaries: public empty ones, too."""
    untracked = obj.__dict__.get(UNTRACKED, ())
    return {
        name: value
        for name, value in vars(obj).items()
        if isinstance(value, CONTAINERS)
        and not isinstance(value, Trackable)
        and name not in untracked
        and not name.startswith("_self_")
        and (is_saved(value) or (not name.startswith("_") and isinstance(value, (list, dict))))
    }


@implement_hook("functions_of")
def functions_of(obj: object) -> dict[str, Any]:
    """Return the traced functions among attributes and methods, by name.

    Those with an input signature are traced: what they make meanwhile can be a child of the object.
    """
    functions = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in dir(obj):
            try:
                value = getattr(obj, name, None)
            except Exception:  # noqa: BLE001 -- properties may fail in any way
                continue
            if isinstance(value, (BoundFunction, *FUNCTIONS)):
                functions[name] = same_object(value)
    for function in functions.values():
        if isinstance(function, Function):
            function.all_traces()
    return functions


def survey(root: Any, signatures: SignatureMap, cache: dict) -> Survey:
    """Survey `root` for saving: nearer objects first, each once, under its shortest path.

    cache: what objects remember of each other while they say their children.
    """

    def below(obj: object) -> dict[str, Any]:
        return children(obj, cache)

    return object_walk.survey(root, {"signatures": signatures}, below, same_object)
