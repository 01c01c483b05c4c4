"""Functions of talweg that call the user's own for his extension types (`dispatch_for_api`).

A handler is put inside the function it is for, so that nothing is asked of functions that have
none, and every name of a function, in every module that took it, knows of it.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from talweg.api.asked import ask_first
from talweg.api.export import export, look_up
from talweg.core.errors import value_error

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike

Handler = Callable[[dict], Callable[[], Any] | None]
_HANDLERS: dict[Any, list[tuple[Any, Handler]]] = {}  # a public function: (user's, handler)
_OF_ALL: dict[str, dict[tuple, Any]] = {"unary": {}, "binary": {}, "binary assert": {}}

UNARY = (
    "abs",
    "acos",
    "acosh",
    "angle",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bitcast",
    "cast",
    "ceil",
    "clip_by_norm",
    "clip_by_value",
    "complex",
    "conj",
    "cos",
    "cosh",
    "digamma",
    "exp",
    "expm1",
    "floor",
    "identity",
    "imag",
    "lgamma",
    "log",
    "log1p",
    "log_sigmoid",
    "logical_not",
    "negative",
    "ones_like",
    "zeros_like",
    "reciprocal",
    "real",
    "rint",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "is_finite",
    "is_inf",
    "is_nan",
    "erf",
    "erfc",
    "ndtri",
    "nn.elu",
    "nn.gelu",
    "nn.relu",
    "nn.relu6",
    "nn.leaky_relu",
    "nn.selu",
    "nn.silu",
    "nn.softplus",
    "nn.softsign",
    "nn.dropout",
    "as_string",
    "bitwise.invert",
    "strings.length",
    "strings.lower",
    "strings.upper",
    "strings.strip",
    "strings.to_number",
    "strings.to_hash_bucket",
    "strings.to_hash_bucket_fast",
    "strings.to_hash_bucket_strong",
    "strings.regex_full_match",
    "strings.regex_replace",
    "strings.substr",
    "strings.unicode_script",
    "strings.unicode_transcode",
    "io.decode_raw",
    "io.decode_base64",
    "io.encode_base64",
    "saturate_cast",
    "image.adjust_brightness",
    "image.adjust_contrast",
    "image.adjust_gamma",
    "image.adjust_hue",
    "image.adjust_saturation",
    "image.convert_image_dtype",
    "image.per_image_standardization",
    "image.rgb_to_grayscale",
    "image.grayscale_to_rgb",
    "image.rgb_to_hsv",
    "image.hsv_to_rgb",
)
BINARY = (
    "add",
    "atan2",
    "divide",
    "equal",
    "floordiv",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "maximum",
    "minimum",
    "multiply",
    "not_equal",
    "pow",
    "subtract",
    "truediv",
    "math.divide_no_nan",
    "math.floormod",
    "math.squared_difference",
    "math.xdivy",
    "math.xlogy",
    "math.xlog1py",
    "math.zeta",
    "math.igamma",
    "math.igammac",
    "math.polygamma",
    "math.multiply_no_nan",
    "math.mod",
    "math.truncatediv",
    "math.truncatemod",
    "math.nextafter",
    "logical_and",
    "logical_or",
    "math.logical_xor",
    "bitwise.bitwise_and",
    "bitwise.bitwise_or",
    "bitwise.bitwise_xor",
    "bitwise.left_shift",
    "bitwise.right_shift",
    "dtypes.complex",
)
ASSERTS = ("equal", "greater", "greater_equal", "less", "less_equal", "near", "none_equal")


@export("experimental.dispatch_for_api")
def dispatch_for_api(api: Callable[..., Any], *signatures: dict[str, Any]) -> Callable[[Any], Any]:
    """Return a decorator: `api` calls the decorated function for arguments of these types.

    signatures: the types that named arguments must have, a type or `List[type]`; by default the
    annotations of the decorated function.  ValueError for functions that are not talweg's, and
    without any signature.

    >>> import talweg as tf
    >>> class Sparse(tf.experimental.ExtensionType):
    ...     value: tf.Tensor
    >>> @tf.experimental.dispatch_for_api(tf.add)
    ... def add(x: Sparse, y: Sparse, name=None):
    ...     return Sparse(x.value + y.value)
    >>> int(tf.add(Sparse(1), Sparse(2)).value)
    3
    """
    if not hasattr(api, "in_eager_mode"):
        raise value_error("TW104", f"{api!r} does not support dispatch.", "a function of tf")
    own = _parameters(api)

    def decorate(function: Callable[..., Any]) -> Any:
        annotated = list(signatures) or [_annotations(function)]
        if not any(annotated):
            raise value_error(
                "TW104",
                "The dispatch_for_api decorator must be called with at least one signature, or "
                "applied to a function that has type annotations on its parameters.",
            )
        wanted = [_by_name(signature, list(own), api) for signature in annotated]

        def handler(arguments: dict) -> Callable[[], Any] | None:
            if any(_matches(arguments, signature) for signature in wanted):
                return lambda: function(**_default_arguments(arguments))
            return None

        _handle(api, function, handler)
        return function

    return decorate


@export("experimental.dispatch_for_unary_elementwise_apis")
def dispatch_for_unary_elementwise_apis(x_type: DTypeLike) -> Callable[[Any], Any]:
    """Return a decorator: elementwise functions of an `x_type` call `handler(api, x)`.

    `api` is the function with its other arguments filled in.  ValueError if there is a handler
    for the type.
    """
    return _for_all("unary", [look_up(name) for name in _there(UNARY)], (x_type,))


@export("experimental.dispatch_for_binary_elementwise_apis")
def dispatch_for_binary_elementwise_apis(
    x_type: DTypeLike, y_type: DTypeLike
) -> Callable[[Any], Any]:
    """Return a decorator: elementwise functions of these two types call `handler(api, x, y)`.

    `api` is the function with its other arguments filled in.  ValueError if there is a handler
    for the types.
    """
    return _for_all("binary", [look_up(name) for name in _there(BINARY)], (x_type, y_type))


@export("experimental.dispatch_for_binary_elementwise_assert_apis")
def dispatch_for_binary_elementwise_assert_apis(
    x_type: DTypeLike, y_type: DTypeLike
) -> Callable[[Any], Any]:
    """Return a decorator: `tf.debugging.assert_equal` and its kin call `handler(api, x, y)`.

    `api` is the function with its other arguments filled in.  ValueError if there is a handler
    for the types.
    """
    names = [f"debugging.assert_{name}" for name in ASSERTS]
    return _for_all("binary assert", [look_up(name) for name in names], (x_type, y_type))


@export("experimental.unregister_dispatch_for")
def unregister_dispatch_for(dispatch_target: Callable[..., Any]) -> None:
    """Undo a `dispatch_for_*` decorator; ValueError if the function was not decorated.

    >>> import talweg as tf
    >>> tf.experimental.unregister_dispatch_for(print)
    Traceback (most recent call last):
    ValueError: Function <built-in function print> was not registered using a `@dispatch_for_*` ...
    """
    removed = False
    for handlers in (*_HANDLERS.values(),):
        kept = [entry for entry in handlers if entry[0] is not dispatch_target]
        removed = removed or len(kept) < len(handlers)
        handlers[:] = kept
    for kinds in _OF_ALL.values():
        for key in [key for key, own in kinds.items() if own is dispatch_target]:
            del kinds[key]
    if not removed:
        raise value_error(
            "TW104",
            f"Function {dispatch_target!r} was not registered using a `@dispatch_for_*` decorator.",
        )


def _there(names: Sequence[str]) -> list[str]:
    """Return the public names of elementwise functions that are plain functions."""
    spelled = [found for name in names if (found := _full(name)) is not None]
    return [name for name in spelled if hasattr(look_up(name), "in_eager_mode")]


def _full(name: str) -> str | None:
    for space in ("", "math.", "nn."):
        try:
            look_up(space + name)
            return space + name
        except AttributeError:
            pass
    return None


def _for_all(kind: str, functions: list, types: tuple) -> Callable[[Any], Any]:
    def decorate(function: Callable[..., Any]) -> Any:
        if types in _OF_ALL[kind]:
            shown = " and ".join(map(str, types))
            raise value_error(
                "TW104",
                f"A {kind} elementwise dispatch handler ({_OF_ALL[kind][types]!r}) has already "
                f"been registered for {shown}.",
            )
        _OF_ALL[kind][types] = function
        for api in dict.fromkeys(functions):
            _handle(api, function, _elementwise(api, function, types))
        return function

    return decorate


def _elementwise(api: Callable[..., Any], function: Callable[..., Any], types: tuple) -> Handler:
    names = list(_parameters(api))[: len(types)]

    def handler(arguments: dict) -> Callable[[], Any] | None:
        if not all(_is_of(arguments.get(name), kind) for name, kind in zip(names, types)):
            return None
        rest = {
            name: value
            for name, value in _default_arguments(arguments).items()
            if name not in names
        }

        def with_rest(*operands: object) -> Any:
            return api(**dict(zip(names, operands)), **rest)

        with_rest.__name__ = getattr(api, "__name__", "api")
        return lambda: function(with_rest, *[arguments[name] for name in names])

    return handler


# -- functions that ask their handlers


def _parameters(api: Any) -> Any:
    return inspect.signature(api.in_eager_mode).parameters


def _handle(api: object, function: Callable[..., Any], handler: Handler) -> None:
    handlers = _HANDLERS.get(api)
    if handlers is None:
        handlers = _HANDLERS[api] = []
        _ask_first(api, handlers)
    handlers.append((function, handler))


def _ask_first(api: Any, handlers: list) -> None:
    """Put before a public function the question whether a handler takes the arguments."""
    signature = inspect.signature(api.in_eager_mode)

    def question(original: Callable[..., Any]) -> Callable[..., Any]:
        def asking(*args: object, **kwargs: object) -> Any:
            if not handlers:
                return original(*args, **kwargs)
            try:
                arguments = signature.bind(*args, **kwargs).arguments
            except TypeError:
                return original(*args, **kwargs)
            takers = [(own, call) for own, ask in handlers if (call := ask(arguments)) is not None]
            if len(takers) > 1:
                raise value_error(
                    "TW104",
                    f"Multiple dispatch targets ({[own for own, _ in takers]}) match the arguments "
                    f"to {original.__name__}",
                )
            return takers[0][1]() if takers else original(*args, **kwargs)

        return asking

    ask_first(api, question)


def _annotations(function: Callable[..., Any]) -> dict:
    try:
        hints = typing.get_type_hints(function)
    except NameError:
        hints = dict(inspect.get_annotations(function))
    return {name: hint for name, hint in hints.items() if name not in ("return", "name")}


def _by_name(signature: dict, names: list[str], api: Any) -> dict:
    """Return a signature with names of arguments, which may be given by their numbers."""
    found = {}
    for key, kind in signature.items():
        name = names[key] if isinstance(key, int) and key < len(names) else key
        if name not in names:
            raise value_error(
                "TW104", f"dispatch_for_api: {api.__name__} has no argument {key!r}", f"of {names}"
            )
        found[name] = kind
    return found


def _default_arguments(arguments: dict) -> dict:
    """Return the arguments without a name that nobody gave."""
    return {name: value for name, value in arguments.items() if name != "name" or value is not None}


def _matches(arguments: dict, signature: dict) -> bool:
    return all(
        name in arguments and _is_of(arguments[name], kind) for name, kind in signature.items()
    )


def _is_of(value: Any, kind: type[Any]) -> bool:
    """Return whether a value is of a type: a class, Union, Optional or List of these."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind is None or kind is type(None):
        return value is None
    if origin is typing.Union or type(kind).__name__ == "UnionType":
        return any(_is_of(value, part) for part in parts)
    if origin in (list, tuple):
        listed = isinstance(value, (list, tuple)) and len(value) > 0
        return listed and all(_is_of(item, parts[0]) for item in value)
    return isinstance(kind, type) and isinstance(value, kind)
