"""Python's built-in functions in converted code: on tensors they build graph operations.

Calls with nothing symbolic among the arguments go to Python's function unchanged.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from talweg.core.hooks import hooks
from talweg.core.value import Tensor
from talweg.graph import structure
from talweg.trace.autograph.calls import as_called
from talweg.trace.autograph.overloads import overload
from talweg.trace.autograph.steps import IterationSteps, enumerate_values, map_values, zip_values
from talweg.trace.autograph.values import is_symbolic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _operation(name: str, *args: object) -> Any:
    """Call a public function of talweg."""
    return hooks.look_up_export(name)(*args)


def _any_traced(values: tuple) -> bool:
    return any(
        [
            is_symbolic(value) or isinstance(value, IterationSteps) or _is_dataset(value)
            for value in values
        ]
    )


def _is_dataset(value: Sequence[Any]) -> bool:
    """Return whether a loop over `value` runs as long as it has elements."""
    return hasattr(value, "trace_steps") and hasattr(value, "enumerate")


@overload(builtins.bool)
def bool_(x: Any = False) -> Any:
    """Compute `bool(x)`, a tensor for a tensor."""
    return _operation("cast", x, "bool") if is_symbolic(x) else bool(x)


@overload(builtins.int)
def int_(x: Any = 0, *base: object, **named: object) -> Any:
    """Compute `int(x)`, an int32 tensor for a tensor."""
    if not is_symbolic(x):
        return int(x, *base, **named)
    if x.dtype.name == "string":
        return _operation("strings.to_number", x, "int32")
    return _operation("cast", x, "int32")


@overload(builtins.float)
def float_(x: Any = 0.0) -> Any:
    """Compute `float(x)`, a float32 tensor for a tensor."""
    if not is_symbolic(x):
        return float(x)
    if x.dtype.name == "string":
        return _operation("strings.to_number", x, "float32")
    return _operation("cast", x, "float32")


@overload(builtins.len)
def len_(x: Tensor) -> Any:
    """Compute `len(x)`; a tensor where only the graph knows it."""
    if isinstance(x, IterationSteps):
        return x.length
    if not is_symbolic(x):
        return x.size() if hasattr(x, "mark_used") and hasattr(x, "size") else len(x)
    if x.shape.rank == 0:
        raise TypeError("len() of a tensor without axes")
    known = None if x.shape.rank is None else x.shape[0]
    return _operation("shape", x)[0] if known is None else known


@overload(builtins.range)
def range_(*ends: Any) -> Any:
    """Make `range(...)`, a tensor if an end is one."""
    return _operation("range", *ends) if any(map(is_symbolic, ends)) else range(*ends)


@overload(builtins.print)
def print_(*values: Any, **named: Any) -> None:
    """Run `print(...)`; with tensors among the values, when the graph runs.

    Reached through another name (`log = print`), or with `Feature.BUILTIN_FUNCTIONS`.
    """
    leaves = [leaf for value in values for leaf in structure.flatten(value)]
    if not any(map(is_symbolic, leaves)) or named.get("file") is not None:
        return print(*values, **named)
    return hooks.print_in_graph(values, named.get("sep"), named.get("end"))


@overload(builtins.enumerate)
def enumerate_(values: Any, start: Any = 0) -> Any:
    """Make `enumerate(...)`; over a tensor, for a loop that is traced once."""
    if _any_traced((values, start)):
        return enumerate_values(values, start)
    return enumerate(values, start)


@overload(builtins.zip)
def zip_(*values: object, strict: bool = False) -> Any:
    """Make `zip(...)`; over tensors, for a loop that is traced once."""
    found = zip_values(values) if _any_traced(values) else None
    if found is not None:
        return found
    return zip(*values, strict=strict)


@overload(builtins.map)
def map_(function: object, *values: Any) -> Any:
    """Make `map(...)`; over tensors, for a loop that is traced once."""
    own = as_called(function)
    found = map_values(own, values) if _any_traced(values) else None
    return map(own, *values) if found is None else found


@overload(builtins.filter)
def filter_(function: Callable[..., Any], values: tuple[Any, ...]) -> Any:
    """Make `filter(...)` of a Python iterable, whose test may not depend on tensors."""
    return filter(None if function is None else as_called(function), values)


@overload(builtins.any)
def any_(values: tuple[Any, ...]) -> Any:
    """Compute `any(...)`; a tensor for a vector of truth values, or for a list with tensors."""
    return _quantify(values, "reduce_any", "logical_or", any)


@overload(builtins.all)
def all_(values: tuple[Any, ...]) -> Any:
    """Compute `all(...)`; a tensor for a vector of truth values, or for a list with tensors."""
    return _quantify(values, "reduce_all", "logical_and", all)


def _quantify(values: Any, reduce: str, join: str, plain: Any) -> Any:
    if is_symbolic(values):
        return _operation(reduce, values, 0)
    values = list(values)
    tensors = [x for x in values if is_symbolic(x)]
    decided = plain([x for x in values if not is_symbolic(x)])
    if not tensors or decided is (plain is any):
        return decided
    result = _operation("cast", tensors[0], "bool")
    for x in tensors[1:]:
        result = _operation(join, result, _operation("cast", x, "bool"))
    return result


@overload(builtins.sum)
def sum_(values: Any, /, start: Any = 0) -> Any:
    """Compute `sum(...)`; over the first axis of a tensor."""
    if not is_symbolic(values):
        return sum(values, start)
    total = _operation("reduce_sum", values, 0)
    return total if type(start) is int and start == 0 else total + start


@overload(builtins.min)
def min_(*values: object, **named: object) -> Any:
    """Compute `min(...)`; of tensors, without truth values of them."""
    return _extreme(values, named, "reduce_min", "minimum", min)


@overload(builtins.max)
def max_(*values: object, **named: object) -> Any:
    """Compute `max(...)`; of tensors, without truth values of them."""
    return _extreme(values, named, "reduce_max", "maximum", max)


def _extreme(values: tuple, named: dict, reduce: str, join: str, plain: Any) -> Any:
    if "key" in named:
        return plain(*values, **named)
    if len(values) == 1 and is_symbolic(values[0]):
        return _operation(reduce, values[0], 0)
    parts = list(values[0]) if len(values) == 1 and not isinstance(values[0], Tensor) else values
    if not any(map(is_symbolic, parts)):
        return plain(parts, **named) if len(values) == 1 else plain(*values, **named)
    result = parts[0]
    for part in parts[1:]:
        result = _operation(join, result, part)
    return result


@overload(builtins.sorted)
def sorted_(values: tuple[Any, ...], /, *, key: object = None, reverse: bool = False) -> Any:
    """Compute `sorted(...)`; of a tensor without a key, by `tf.sort`."""
    if is_symbolic(values) and key is None:
        return _operation("sort", values, -1, "DESCENDING" if reverse else "ASCENDING")
    return sorted(values, key=None if key is None else as_called(key), reverse=reverse)
