"""`tensorflow.python.util.deprecation`: decorators that warn, once, of deprecated names."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from talweg.api.compat import get_logger
from talweg.private.decorators import make_decorator

_warned: set[Any] = set()
_silent: list[bool] = []


@contextmanager
def silence() -> Iterator[None]:
    """Silence these warnings in the block."""
    _silent.append(True)
    try:
        yield
    finally:
        _silent.pop()


def _warn(key: Any, once: bool, text: str, *values: object) -> None:
    if _silent or (once and key in _warned):
        return
    _warned.add(key)
    get_logger().warning(text, *values)


def _when(date: str | None) -> str:
    return "in a future version" if date is None else f"after {date}"


def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Callable:
    """Make a decorator: calling the function, or making an object of the class, warns."""

    def decorate(function: Any) -> Any:
        if isinstance(function, type):
            make = function.__init__  # type: ignore[misc]

            @functools.wraps(make)
            def initialize(self: Any, *args: object, **kwargs: object) -> None:
                warn()
                make(self, *args, **kwargs)

            def warn() -> None:
                name = function.__qualname__
                _warn(function, warn_once, "%s: %s %s", name, _when(date), instructions)

            function.__init__ = initialize  # type: ignore[misc]
            return function

        def call(*args: Any, **kwargs: Any) -> Any:
            name = getattr(function, "__qualname__", repr(function))
            _warn(
                function, warn_once, "%s: will be removed %s. %s", name, _when(date), instructions
            )
            return function(*args, **kwargs)

        return make_decorator(function, call, "deprecated")

    return decorate


def deprecated_endpoints(*args: str) -> Callable:
    """Return a decorator that notes the names by which a function should not be called any more."""

    def decorate(function: Any) -> Any:
        function._tf_deprecated_api_names = args
        return function

    return decorate


def deprecated_alias(
    deprecated_name: str, name: str, func_or_class: Any, warn_once: bool = True
) -> Any:
    """Return a function or class under an old name, which warns."""
    text = f"use {name} instead of {deprecated_name}"
    if isinstance(func_or_class, type):
        made = type(func_or_class.__name__, (func_or_class,), {"__doc__": func_or_class.__doc__})
        return deprecated(None, text, warn_once)(made)

    def call(*args: Any, **kwargs: Any) -> Any:
        _warn((deprecated_name, name), warn_once, "%s", text)
        return func_or_class(*args, **kwargs)

    return make_decorator(func_or_class, call, "deprecated_alias")


def deprecated_args(
    date: str | None, instructions: str, *deprecated_arg_names_or_tuples: Any, **kwargs: Any
) -> Callable:
    """Make a decorator: giving one of these arguments warns, unless it has the value of a
    tuple.
    """
    fine = {x[0]: x[1:] for x in deprecated_arg_names_or_tuples if isinstance(x, tuple)}
    names = [x if isinstance(x, str) else x[0] for x in deprecated_arg_names_or_tuples]
    once = kwargs.get("warn_once", True)

    def decorate(function: Any) -> Any:
        signature = inspect.signature(function)

        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                given = signature.bind_partial(*args, **kwargs).arguments
            except TypeError:
                given = kwargs
            for name in names:
                if name in given and not any(given[name] is x for x in fine.get(name, ())):
                    text = "%s: the argument %s will be removed %s. %s"
                    qualified_name = getattr(function, "__qualname__", repr(function))
                    _warn(
                        (function, name),
                        once,
                        text,
                        qualified_name,
                        name,
                        _when(date),
                        instructions,
                    )
            return function(*args, **kwargs)

        return make_decorator(function, call, "deprecated_args")

    return decorate


def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs: Any
) -> Callable:
    """Make a decorator: giving an argument one of these values warns."""

    def decorate(function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                given = inspect.signature(function).bind(*args, **kwargs).arguments
            except TypeError:
                given = kwargs
            for name, value in deprecated_kwargs.items():
                if name in given and given[name] is value:
                    text = "%s: %s=%r will be removed %s. %s"
                    qualified_name = getattr(function, "__qualname__", repr(function))
                    key = (function, name)
                    _warn(
                        key, warn_once, text, qualified_name, name, value, _when(date), instructions
                    )
            return function(*args, **kwargs)

        return make_decorator(function, call, "deprecated_arg_values")

    return decorate


def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """Return the value of an argument that may have been given under its old name.

    ValueError if both are given.
    """
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
    return old_value


def rewrite_argument_docstring(old_doc: str, old_argument: str, new_argument: str) -> str:
    """Rewrite documentation in which an argument has its new name."""
    return old_doc.replace(f"`{old_argument}`", f"`{new_argument}`").replace(
        f"{old_argument}:", f"{new_argument}:"
    )
