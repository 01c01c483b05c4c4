"""`tensorflow.python.util.tf_decorator` and its kin: decorators that know the function inside."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from talweg.api.export import export
from talweg.trace.function import Function
from talweg.trace.methods import BoundFunction, Method


class TFDecorator:
    """Describes a decorated function: the function inside, and the decorator's name."""

    def __init__(
        self,
        decorator_name: str,
        target: Any,
        decorator_doc: str = "",
        decorator_argspec: Any = None,
    ):
        self.decorator_name, self.decorated_target = decorator_name, target
        self.decorator_doc, self.decorator_argspec = decorator_doc, decorator_argspec


@export("__internal__.decorator.make_decorator")
def make_decorator(
    target: Any,
    decorator_func: Any,
    decorator_name: str | None = None,
    decorator_doc: str = "",
    decorator_argspec: Any = None,
) -> Any:
    """Return `decorator_func` with the name, documentation and signature of `target`, which it
    keeps.

    >>> import talweg as tf
    >>> def f(x): return x
    >>> g = tf.__internal__.decorator.make_decorator(f, lambda *args: f(*args) + 1)
    >>> g(1), g.__name__, tf.__internal__.decorator.unwrap(g)[1] is f
    (2, 'f', True)
    """
    name = decorator_name or "make_decorator"
    known = [n for n in functools.WRAPPER_ASSIGNMENTS if hasattr(target, n)]
    functools.update_wrapper(decorator_func, target, assigned=known, updated=())
    for key, value in getattr(target, "__dict__", {}).items():
        if key not in decorator_func.__dict__ and isinstance(target, Callable):  # type: ignore
            decorator_func.__dict__[key] = value
    decorator_func._tf_decorator = TFDecorator(name, target, decorator_doc, decorator_argspec)
    return decorator_func


@export("__internal__.decorator.unwrap")
def unwrap(maybe_tf_decorator: Any) -> tuple[list, Any]:
    """Return the decorators round a function, outermost first, and the function inside of them."""
    decorators: list = []
    target = maybe_tf_decorator
    while True:
        known = getattr(target, "__dict__", {}).get("_tf_decorator")
        if isinstance(known, TFDecorator):
            decorators.append(known)
            target = known.decorated_target
        elif isinstance(target, (Function, BoundFunction)):
            decorators.append(TFDecorator("tf.function", target.python_function))
            target = target.python_function
        elif isinstance(target, Method):
            decorators.append(TFDecorator("class_method_to_instance_method", target.bound))
            target = target.bound
        else:
            return decorators, target


def rewrap(decorator_func: Any, previous_target: Any, new_target: Any) -> Any:
    """Put `decorator_func` round `new_target` where it was round `previous_target`."""
    known = getattr(decorator_func, "_tf_decorator", None)
    if decorator_func is previous_target or known is None:
        return new_target
    inner = rewrap(known.decorated_target, previous_target, new_target)
    known.decorated_target = decorator_func.__wrapped__ = inner
    return decorator_func
