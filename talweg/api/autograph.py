"""tf.autograph: conversion by hand, exclusion from it, and options of loops."""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from talweg.api.debugging.assertions import assert_
from talweg.api.export import export, export_value, implement_hook, look_up
from talweg.api.printing import print_
from talweg.core import dtypes
from talweg.core.errors import value_error
from talweg.eager.convert import convert_to_tensor, is_tensor_like
from talweg.trace.autograph import calls, convert, directives, operators
from talweg.trace.autograph.source import NoSourceError
from talweg.trace.autograph.status import options

if TYPE_CHECKING:
    from talweg.core.value import Tensor

# the conversion looks for this very function
export_value(directives.set_loop_options, "autograph.experimental.set_loop_options")


@export("autograph.experimental.Feature")
class Feature(enum.Enum):
    """Names the parts of a conversion.  talweg's always includes all of them, but for `print`.

    With `BUILTIN_FUNCTIONS` or `ALL`, `print` of a tensor prints its value whenever the graph runs;
    without, it prints the symbol once, while the function is traced.

    >>> import talweg as tf
    >>> tf.autograph.experimental.Feature.LISTS.value
    'LISTS'
    """

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple:
        """Return all features."""
        return tuple(cls)

    @classmethod
    def all_but(cls, exclude: Any) -> tuple:
        """Return all features but one or several, and but ALL."""
        excluded = exclude if isinstance(exclude, (list, tuple, set)) else (exclude,)
        return tuple([feature for feature in cls if feature not in {*excluded, cls.ALL}])


@export("autograph.experimental.do_not_convert")
def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """Mark a function: neither it nor the functions it calls are converted; without one, a
    decorator.

    >>> import talweg as tf
    >>> @tf.autograph.experimental.do_not_convert
    ... def rank(x):
    ...     return len(x.shape)
    >>> tf.function(lambda x: x * rank(x))(tf.constant([[2]]))
    <tf.Tensor: shape=(1, 1), dtype=int32, numpy=array([[4]], dtype=int32)>
    """
    return do_not_convert if func is None else convert.do_not_convert_function(func)


def _convert(entity: object) -> tuple[Any, FunctionType]:
    """Return the converted code of an entity, and its function; ValueError for what has no code."""
    function = entity.__func__ if isinstance(entity, MethodType) else entity
    if not isinstance(function, FunctionType):
        hint = "its python_function" if hasattr(entity, "python_function") else ""
        raise value_error("TW104", f"autograph: {entity!r} has no code", "a function", hint)
    try:
        return calls.convert_on_request(function), function
    except (NoSourceError, NotImplementedError) as error:
        raise value_error("TW104", f"autograph: converting {entity!r}: {error}") from None


@export("autograph.to_graph")
def to_graph(
    entity: Callable[..., Any],
    recursive: bool = True,
    experimental_optional_features: Any = None,
) -> Callable[..., Any]:
    """Return the converted form of a function or method, a Python function as well.

    recursive: whether the functions it calls are converted too.  A method becomes a function whose
    first argument is `self`.  ValueError if there is no source.

    >>> import talweg as tf
    >>> def halvings(x):
    ...     n = 0
    ...     while x > 1:
    ...         x, n = x // 2, n + 1
    ...     return n
    >>> tf.autograph.to_graph(halvings)(tf.constant(40)) + 0
    5
    """
    made, function = _convert(entity)
    features = experimental_optional_features
    converted = made.function(function, operators.RECURSIVE if recursive else operators.ONE_LEVEL)
    return convert.print_values(converted) if convert.prints_values(features) else converted


@export("autograph.to_code")
def to_code(
    entity: Any,
    recursive: bool = True,
    experimental_optional_features: Any = None,
) -> str:
    """Return the converted code of a function or method, as text.

    >>> import talweg as tf
    >>> def absolute(x):
    ...     if x < 0:
    ...         x = -x
    ...     return x
    >>> "ag__.if_stmt" in tf.autograph.to_code(absolute)
    True
    """
    return _convert(entity)[0].text


@export("autograph.set_verbosity")
def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Set the level of the conversion's log: 0 nothing, 1 the converted functions, 3 their code
    too.

    alsologtostdout: print it as well.

    >>> import talweg as tf
    >>> tf.autograph.set_verbosity(0)
    """
    options.verbosity, options.to_output = int(level), bool(alsologtostdout)


@export("autograph.trace")
def trace(*args: object) -> None:
    """Print the arguments, while the function is traced.

    >>> import talweg as tf
    >>> tf.autograph.trace("traced with", 3)
    traced with 3
    """
    print(*args)


@implement_hook("tensor_with_item")
def tensor_with_item(x: Tensor, index: Any, value: Tensor) -> Any:
    """Return `x` as it were after `x[index] = value`: value is broadcast to the shape of
    `x[index]`.
    """
    value = convert_to_tensor(value, x.dtype)
    if isinstance(index, int) or (is_tensor_like(index) and index.dtype in dtypes.INTEGER):
        index = convert_to_tensor(index)
        if index.shape.rank == 0:
            return _with_slice(x, index, value)
    if is_tensor_like(index) and index.dtype is dtypes.bool_:
        extra = x.shape.rank - index.shape.rank
        mask = look_up("reshape")(
            index, look_up("concat")([look_up("shape")(index), [1] * extra], axis=0)
        )
        return look_up("where")(mask, value, x)
    sizes = look_up("shape")(x)
    places = look_up("reshape")(look_up("range")(look_up("size")(x)), sizes)[index]
    spread = look_up("broadcast_to")(value, look_up("shape")(places))
    flat = look_up("tensor_scatter_nd_update")(
        look_up("reshape")(x, [-1]),
        look_up("reshape")(places, [-1, 1]),
        look_up("reshape")(spread, [-1]),
    )
    return look_up("reshape")(flat, sizes)


def _with_slice(x: object, index: Tensor, value: Tensor) -> Any:
    """Replace slice number `index` of `x`, counted from the end if negative."""
    sizes = look_up("shape")(x, out_type=index.dtype)
    place = look_up("where")(index < 0, index + sizes[0], index)
    row = look_up("broadcast_to")(value, sizes[1:])
    return look_up("tensor_scatter_nd_update")(x, place[None, None], row[None])


@implement_hook("look_up_export")
def look_up_export(name: str) -> Any:
    """Return a public function by its name."""
    return look_up(name)


@implement_hook("assert_in_graph")
def assert_in_graph(condition: Tensor, data: list) -> None:
    """Assert a tensor, for the statement `assert`."""
    assert_(condition, data)


@implement_hook("print_in_graph")
def print_in_graph(values: tuple, sep: str | None, end: str | None) -> None:
    """Print tensors to the standard output, when the graph runs."""
    sep, end = " " if sep is None else sep, "\n" if end is None else end
    print_(*values, output_stream=sys.stdout, sep=sep, end=end)
