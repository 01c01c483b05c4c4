"""Calls in converted code: callees are converted too."""

from __future__ import annotations

import functools
import os
import sysconfig
import weakref
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from talweg.core.lazy import LazyModule
from talweg.core.provenance import is_inner
from talweg.trace.autograph.cache import get_or_make
from talweg.trace.autograph.overloads import OVERLOADS
from talweg.trace.autograph.status import LOGGER, log, status

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.trace.autograph import transpiler
    from talweg.trace.autograph.operators import FunctionScope
else:
    transpiler = LazyModule("talweg.trace.autograph.transpiler")  # needs malt

_LIBRARY = sysconfig.get_path("stdlib") + os.sep
_PACKAGES = tuple({sysconfig.get_path(name) + os.sep for name in ("purelib", "platlib")})
_SUSPENDING = 0x20 | 0x80 | 0x200  # generators, coroutines and asynchronous generators


class Codes:
    """A weak table with facts about code objects."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Any, Any]] = {}

    def __len__(self) -> int:
        return len(self._found)

    def get(self, code: CodeType, default: Any) -> Any:
        """Return the fact about a code object."""
        entry = self._found.get(id(code))
        return default if entry is None else entry[1]

    def keep(self, code: CodeType, value: object) -> Any:
        """Store a fact as long as the code object lives."""
        key, found = id(code), self._found

        def forget(reference: object) -> None:
            found.pop(key, None)

        found[key] = (weakref.ref(code, forget), value)
        return value


codes = Codes()  # code object -> a `Converted`; None if it is not to be converted
_roots = Codes()  # code objects of functions given to tf.function: what was to be done is done
OPERATORS: list = []  # what converted code knows as `ag__`, from operators.py
_UNKNOWN = object()
LEFT_ALONE, ORDINARY = False, True  # functions of a module that malt leaves alone; of any other


def convert_code(function: FunctionType) -> Any:
    """Return the converted code of a function; None if it runs as it is."""
    found = codes.get(function.__code__, _UNKNOWN)
    if found is _UNKNOWN:
        found = codes.keep(function.__code__, _convert(function))
    return found


def _convert(function: FunctionType) -> Any:
    if runs_as_it_is(function):
        return None
    try:
        converted = get_or_make(function, "code", lambda: _convert_target(function))
    except Exception as error:  # whatever malt makes of unusual code, the function still runs
        LOGGER.warning(
            "AutoGraph runs %s as it is: %s (tf.autograph.experimental.do_not_convert says that "
            "this is wanted)",
            function.__qualname__,
            str(error) or type(error).__name__,
        )
        return None
    if converted is LEFT_ALONE:
        log(2, f"AutoGraph leaves {function.__qualname__} of {function.__module__} alone")
        return None
    log(1, f"AutoGraph converted {function.__qualname__}")
    if converted is not None:
        log(3, converted.text)
    return converted


def _convert_target(function: FunctionType) -> Any:
    """Return the converted code of a function, None without need, or LEFT_ALONE."""
    if transpiler.is_left_alone(function.__module__ or ""):
        return LEFT_ALONE
    return transpiler.convert(function)


def convert_root(function: Callable[..., Any]) -> None:
    """Convert the loops of a function whose module is otherwise left alone.

    The user asked for this very function (`tf.function`); what it calls follows its own module.
    """
    while not isinstance(function, FunctionType):
        inner = getattr(
            function, "func" if type(function) is functools.partial else "__func__", None
        )
        if inner is None:
            return
        function = inner
    if _roots.get(function.__code__, False) or runs_as_it_is(function):
        return
    _roots.keep(function.__code__, True)
    try:
        converted = get_or_make(function, "loops", lambda: _convert_loops(function))
    except Exception as error:  # as in _convert: the function still runs as it is
        name = f"{function.__qualname__} of {function.__module__}"
        log(1, f"AutoGraph runs {name} as it is: {error}")
        return
    if converted is not ORDINARY:
        codes.keep(function.__code__, converted)


def _convert_loops(function: FunctionType) -> Any:
    """Return the code with its loops converted, if its module is left alone.

    ORDINARY if it is not.
    """
    if transpiler.is_left_alone(function.__module__ or ""):
        return transpiler.convert_loops(function)
    return ORDINARY


def convert_on_request(function: FunctionType) -> Any:
    """Return the converted code of any function.

    NoSourceError or NotImplementedError if there is none.
    """
    return convert_code(function) or transpiler.convert(function, always=True)


def runs_as_it_is(function: FunctionType) -> bool:
    """Return whether a function is never converted:
    talweg's own, converted ones, generators, Python's.
    """
    code = function.__code__
    if is_inner(code.co_filename) or "ag__" in code.co_freevars or code.co_flags & _SUSPENDING:
        return True
    standard = code.co_filename.startswith(_LIBRARY) and not code.co_filename.startswith(_PACKAGES)
    # what the standard library wraps around the user's functions hands the conversion on
    return standard and not hasattr(function, "__wrapped__")


def as_converted(function: FunctionType) -> FunctionType:
    """Return a function's converted form, or the function itself."""
    made = convert_code(function)
    return function if made is None else made.function(function, OPERATORS[0])


def converted_call(
    function: Any, args: tuple, kwargs: dict | None, scope: FunctionScope | None = None
) -> Any:
    """Call a function, converted if it is one of the user's."""
    kind = type(function)
    if kind is FunctionType:
        if not is_inner(function.__code__.co_filename) and status.converting is not False:
            function = as_converted(function)
        return function(*args, **kwargs) if kwargs else function(*args)
    if kind is BuiltinFunctionType or kind is type:
        function = OVERLOADS.get(function, function)
        return function(*args, **kwargs) if kwargs else function(*args)
    if status.converting is False:
        return function(*args, **(kwargs or {}))
    if kind is MethodType and type(function.__func__) is FunctionType:
        return converted_call(function.__func__, (function.__self__, *args), kwargs)
    if kind is functools.partial:
        named = {**function.keywords, **(kwargs or {})}
        return converted_call(function.func, (*function.args, *args), named)
    call_method = kind.__call__ if callable(function) else None
    if type(call_method) is FunctionType and not is_inner(call_method.__code__.co_filename):
        return converted_call(call_method, (function, *args), kwargs)
    return function(*args, **(kwargs or {}))


def call_print(function: Callable[..., Any], args: tuple, kwargs: dict | None) -> Any:
    """Call what the code names `print`: while tracing, unless `Feature.BUILTIN_FUNCTIONS` is on."""
    if status.printing:
        return converted_call(function, args, kwargs)
    return function(*args, **(kwargs or {}))


def as_called(function: object) -> Any:
    """Return a callback in the form in which converted code would call it."""
    if not callable(function) or function is print:
        return function
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is not None and (is_inner(code.co_filename) or "ag__" in code.co_freevars):
        return function
    return functools.update_wrapper(functools.partial(_call, function), function, updated=())


def _call(function: object, /, *args: object, **kwargs: object) -> Any:
    return converted_call(function, args, kwargs)


def call_as_it_is(
    function: Callable[..., Any], args: tuple, kwargs: dict | None, scope: str | None = None
) -> Any:
    """Call a function from code that was converted without its callees."""
    if type(function) in (BuiltinFunctionType, type):
        function = OVERLOADS.get(function, function)
    return function(*args, **(kwargs or {}))


def autograph_artifact(function: FunctionType) -> FunctionType:
    """Mark a function defined in converted code: it is converted already."""
    if "ag__" not in function.__code__.co_freevars:
        codes.keep(function.__code__, None)
    return function
