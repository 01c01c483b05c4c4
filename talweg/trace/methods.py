"""Traced methods, bound to objects that their traces do not keep alive."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from typing import Any

from talweg.core.tracebacks import pass_out


class BoundFunction:
    """A traced method of an object, which it keeps alive; the object keeps the traces."""

    __slots__ = ("__self__", "__wrapped__")

    def __init__(self, function: Any, instance: object):
        self.__wrapped__, self.__self__ = function, instance

    @property
    def __signature__(self) -> inspect.Signature | None:
        return self.__wrapped__._signature

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.__wrapped__(*args, **kwargs)
        except Exception as error:
            pass_out(error)
            raise

    @property
    def __class__(self) -> type:  # a traced function too, for all who ask whether it is one
        return type(self.__wrapped__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __repr__(self) -> str:
        return f"<bound {self.__wrapped__!r}>"


class Method:
    """A function weakly bound to an object."""

    def __init__(self, function: Callable[..., Any], instance: object):
        self.__wrapped__ = function
        self._instance = weakref.ref(instance)
        self.__name__ = getattr(function, "__name__", "method")
        self.__doc__ = function.__doc__

    @property
    def bound(self) -> Any:
        """The bound method."""
        instance = self._instance()
        if instance is None:
            raise ReferenceError(f"the object of the method {self.__name__!r} is gone")
        return self.__wrapped__.__get__(instance)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.bound)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self.bound(*args, **kwargs)


def unwrap_method(function: Method | Callable[..., Any]) -> Any:
    """Return the function of a class that a method is made of; any other function itself."""
    return function.__wrapped__ if isinstance(function, Method) else function


def signature_of(function: Method | Callable[..., Any]) -> inspect.Signature | None:
    """Return the signature of a function, without `self` for a method; None without one."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def positional(signature: inspect.Signature | None) -> tuple[list[inspect.Parameter], str]:
    """Return the positional parameters, and the name of `*args` or ''."""
    parameters = [] if signature is None else list(signature.parameters.values())
    own = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = [p.name for p in parameters if p.kind is p.VAR_POSITIONAL]
    return own, rest[0] if rest else "args" if signature is None else ""
