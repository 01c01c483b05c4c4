"""tf.__internal__.dispatch: dispatchers of libraries, called where a public function refuses its
arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from talweg.api.asked import ask_first
from talweg.api.export import export
from talweg.core.errors import value_error
from talweg.core.fallbacks import FALLBACKS, NOT_SUPPORTED, REFUSALS, fall_back


@export("__internal__.dispatch.OpDispatcher")
class OpDispatcher:
    """Dispatches failed calls of one public function; subclasses define `handle`."""

    NOT_SUPPORTED = NOT_SUPPORTED

    def handle(self, args: Any, kwargs: Any) -> Any:
        """Return the result for these arguments, or NOT_SUPPORTED."""
        return self.NOT_SUPPORTED

    def register(self, op: Any) -> None:
        """Answer for `op`, a public function or a class method."""
        owner = getattr(op, "__self__", None)
        if owner is None and hasattr(op, "in_eager_mode"):
            ask_first(op, self._ask_on_failure)
            return
        if not isinstance(owner, type):
            raise value_error("TW104", f"{op!r} does not support dispatch.", "a function of tf")

        def call_method(cls: type, *args: object, **kwargs: object) -> Any:
            return self._ask_on_failure(functools.partial(op.__func__, cls), (cls,))(
                *args, **kwargs
            )

        setattr(owner, op.__name__, classmethod(functools.update_wrapper(call_method, op.__func__)))

    def _ask_on_failure(
        self, function: Callable[..., Any], before: tuple = ()
    ) -> Callable[..., Any]:
        """Wrap `function`, which asks this dispatcher where it fails."""

        def call(*args: object, **kwargs: object) -> Any:
            try:
                return function(*args, **kwargs)
            except REFUSALS:
                found = self.handle((*before, *args), kwargs)
                if found is NOT_SUPPORTED:
                    raise
                return found

        return call


@export("__internal__.dispatch.GlobalOpDispatcher")
class GlobalOpDispatcher:
    """Dispatches failed calls of all public functions; subclasses define `handle`."""

    NOT_SUPPORTED = NOT_SUPPORTED

    def handle(self, op: Any, args: Any, kwargs: Any) -> Any:
        """Return the result of `op` for these arguments, or NOT_SUPPORTED."""
        return self.NOT_SUPPORTED

    def register(self) -> None:
        """Answer from now on."""
        FALLBACKS.append(self)


@export("__internal__.dispatch.add_dispatch_support")
def add_dispatch_support(target: Any = None, iterable_parameters: Any = None) -> Any:
    """Return a decorator: where the function fails, dispatchers are asked, as for those of `tf`."""
    if target is None:
        return add_dispatch_support

    @functools.wraps(target)
    def call(*args: object, **kwargs: object) -> Any:
        try:
            return function(*args, **kwargs)
        except REFUSALS as error:
            result = fall_back(error, call, args, kwargs)
            if result is NOT_SUPPORTED:
                raise
            return result

    function = target
    call.in_eager_mode = target  # type: ignore[attr-defined]
    return call


class _OfTypes(OpDispatcher):
    """Calls a function where an argument is of one of these types."""

    def __init__(self, function: Callable[..., Any], types: tuple):
        self._function, self._types = function, types

    def handle(self, args: Any, kwargs: Any) -> Any:
        """Return the function's result, if some argument is of its types."""
        values = [*args, *kwargs.values()]
        flat = [x for v in values for x in (v if isinstance(v, (list, tuple)) else (v,))]
        if any(isinstance(x, self._types) for x in flat):
            return self._function(*args, **kwargs)
        return self.NOT_SUPPORTED


def dispatch_for_types(op: Any, *types: type) -> Callable[[Any], Any]:
    """Return a decorator:
    `op` calls the function where it fails and an argument has one of the types.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        _OfTypes(function, types).register(op)
        return function

    return decorate
