"""`tensorflow.python.util.tf_inspect`: `inspect`, which looks through TensorFlow's decorators."""

from __future__ import annotations

import inspect
from collections import namedtuple
from inspect import (  # noqa: F401 -- asked for here by libraries
    FullArgSpec,
    Parameter,
    Signature,
    currentframe,
    getframeinfo,
    isbuiltin,
    isclass,
    isframe,
    isfunction,
    isgenerator,
    isgeneratorfunction,
    ismethod,
    ismodule,
    isroutine,
    signature,
    stack,
)
from typing import Any

from talweg.private.decorators import unwrap

ArgSpec = namedtuple("ArgSpec", "args varargs keywords defaults")
_inspect = inspect


def getfullargspec(obj: object) -> inspect.FullArgSpec:
    """Return the arguments of the function inside the decorators."""
    decorators, target = unwrap(obj)
    for known in decorators:
        if known.decorator_argspec is not None:
            return known.decorator_argspec
    own = getattr(target, "in_eager_mode", None)  # functions of talweg's: what is wrapped
    if inspect.isfunction(own):
        return inspect.getfullargspec(own)._replace(annotations={})
    restored = getattr(target, "__dict__", {}).get("__signature__")
    if not isinstance(restored, Signature) and (
        inspect.isroutine(target) or inspect.isclass(target)
    ):
        return inspect.getfullargspec(target)
    return _arguments_of_signature(inspect.signature(target))


def _arguments_of_signature(source: inspect.Signature) -> inspect.FullArgSpec:
    """Convert a signature to the tuple that came before it; that of a bound method lacks its
    object.
    """
    kinds: dict[Any, list[inspect.Parameter]] = {}
    for parameter in source.parameters.values():
        kinds.setdefault(parameter.kind, []).append(parameter)
    positional = kinds.get(Parameter.POSITIONAL_ONLY, [])
    positional = positional + kinds.get(Parameter.POSITIONAL_OR_KEYWORD, [])
    by_name = kinds.get(Parameter.KEYWORD_ONLY, [])
    several = [kinds.get(kind) for kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)]
    varargs, varkw = [group[0].name if group else None for group in several]
    defaults = tuple([p.default for p in positional if p.default is not Parameter.empty])
    names = {p.name: p.default for p in by_name if p.default is not Parameter.empty}
    return inspect.FullArgSpec(
        [p.name for p in positional],
        varargs,
        varkw,
        defaults or None,
        [p.name for p in by_name],
        names or None,
        {},
    )


def getargspec(obj: object) -> ArgSpec:
    """Return the arguments without annotations; ValueError for those that have only names."""
    found = getfullargspec(obj)
    if found.kwonlyargs and not set(found.kwonlyargs) <= set(found.kwonlydefaults or ()):
        raise ValueError(f"{obj!r} has arguments that are given by name only")
    return ArgSpec(found.args, found.varargs, found.varkw, found.defaults)


def getcallargs(*func_and_positional: object, **named: object) -> dict[str, Any]:
    """Return the values of the arguments of a call, by name; those that `**kwargs` takes, too."""
    function, *positional = func_and_positional
    arguments = getfullargspec(function)
    if inspect.ismethod(function) and arguments.args[:1]:
        positional.insert(0, function.__self__)
    left = [name for name in arguments.args if name not in named]
    found = {**named, **dict(zip(left, positional))}
    defaults = arguments.defaults or ()
    for name, default in zip(arguments.args[len(arguments.args) - len(defaults) :], defaults):
        found.setdefault(name, default)
    for name, default in (arguments.kwonlydefaults or {}).items():
        found.setdefault(name, default)
    return found


def getmembers(object: Any, predicate: Any = None) -> list:
    """Return the members of an object."""
    return inspect.getmembers(object, predicate)


def isanytargetmethod(object: Any) -> bool:
    """Return whether a function, or the function inside its decorators, is a method."""
    decorators, target = unwrap(object)
    return any(inspect.ismethod(known.decorated_target) for known in decorators) or (
        inspect.ismethod(target)
    )


def getmro(cls: type) -> tuple:
    """Return the classes that a class inherits from, itself first."""
    return inspect.getmro(cls)


def _of_target(name: str) -> Any:
    asked = getattr(inspect, name)

    def ask(object: Any) -> Any:
        return asked(unwrap(object)[1])

    ask.__name__ = ask.__qualname__ = name
    ask.__doc__ = asked.__doc__
    return ask


getdoc, getfile, getmodule = _of_target("getdoc"), _of_target("getfile"), _of_target("getmodule")
getsource, getsourcefile = _of_target("getsource"), _of_target("getsourcefile")
getsourcelines = _of_target("getsourcelines")
