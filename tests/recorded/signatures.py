"""How the kind and the signature of a public name are written down, for both libraries."""

import enum
import inspect
import math

PLAIN = (int, float, str, bytes, bool, type(None))


def describe(value):
    """`function(...)`, `class(...)` or `value`."""
    if inspect.isclass(value):
        if issubclass(value, enum.Enum):
            return "class"
        return f"class{parameters(value)}"
    if callable(value):
        return f"function{parameters(value)}"
    return "value"


def parameters(function):
    """The parameters as Python writes them, without annotations; `(?)` if nobody knows them."""
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return "(?)"
    parts = []
    star = False
    for place, parameter in enumerate(found):
        if parameter.kind is parameter.VAR_POSITIONAL:
            star = True
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        parts.append(written(parameter))
        following = found[place + 1].kind if place + 1 < len(found) else None
        if parameter.kind is parameter.POSITIONAL_ONLY and following is not parameter.kind:
            parts.append("/")
    return f"({', '.join(parts)})"


def written(parameter):
    """A parameter with its default."""
    mark = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    if parameter.default is parameter.empty:
        return f"{mark}{parameter.name}"
    return f"{parameter.name}={default(parameter.default)}"


def default(value):
    """A default: plain values and lists of them, names of dtypes, `...` for other things."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if type(value) is float and math.isfinite(value) and value == int(value):
        return repr(int(value))  # 1.0 is 1
    if type(value) in PLAIN:
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(default, value))}]"
    name = getattr(value, "name", None)
    if hasattr(value, "as_numpy_dtype") and isinstance(name, str):
        return name
    return "..."
