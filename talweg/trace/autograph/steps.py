"""The iteration space of a traced loop: a number of steps, and the item of each.

`enumerate`, `zip` and `map` of tensors give `Steps`, so that a loop over them is traced once;
outside of loops they are iterated if the number of steps is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from talweg.core import dispatch, dtypes
from talweg.core.errors import OperatorNotAllowedInGraphError, compose, type_error
from talweg.core.hooks import hooks
from talweg.core.roles import Role
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.graph.symbol import Symbol
from talweg.prims import arithmetic, sequences
from talweg.prims.lists import elements
from talweg.prims.rounding import floor_div


class IterationSteps:
    """An iteration space of `length` steps, an int or int32 scalar, with items `item(i)`."""

    def __init__(self, length: object, item: Callable[[Any], Any]):
        self.length, self.item = length, item

    def __iter__(self) -> Iterator[Any]:
        if not isinstance(self.length, int):
            raise OperatorNotAllowedInGraphError(
                compose(
                    "TW104",
                    "the number of elements is only known when the graph runs",
                    "a `for` over them",
                )
            )
        return iter([self.item(place) for place in range(self.length)])


def steps_of(value: Any) -> IterationSteps | None:
    """Return the steps of a loop over `value`; None for Python iterables."""
    if isinstance(value, IterationSteps):
        return value
    if dispatch.context.base is None:
        return None
    if hasattr(type(value), "handle_read"):
        value = value.value()
    if isinstance(value, Tensor):
        return _steps_of_tensor(value)
    if hasattr(value, "mark_used") and hasattr(value, "read"):
        return IterationSteps(value.size(), value.read)
    if hasattr(value, "nrows") and hasattr(value, "_flat_components"):
        return IterationSteps(hooks.cast(value.nrows(), dtypes.int32), lambda i: value[i])
    return None


def _steps_of_tensor(x: Tensor) -> IterationSteps:
    rank = x.shape.rank
    if rank == 0:
        raise type_error("TW203", f"a loop cannot go over a scalar: {x!r}")
    known = None if rank is None else x.shape[0]
    numbers = _steps_of_numbers(x) if known is None else None
    if numbers is not None:
        return numbers
    length = hooks.look_up_export("shape")(x)[0] if known is None else known
    if x.dtype in dtypes.INTEGER or x.dtype is dtypes.bool_ or rank is None:
        return IterationSteps(length, lambda i: hooks.gather(x, i))
    # the derivative of reading from a list takes time that does not grow with its length
    parts: list = []

    def item(index: Symbol) -> Any:
        if type(index) is int:
            return x[index]
        return elements.list_get(parts[0], index, dims=inner_dims(x), dtype=x.dtype)

    steps = IterationSteps(length, item)
    parts.append(elements.list_from(x))
    return steps


def _steps_of_numbers(x: Tensor) -> IterationSteps | None:
    """Return the steps of a loop over `tf.range`; none for a negative number of them."""
    if (
        type(x) is not Symbol
        or x.node.prim is not sequences.sequence
        or x.dtype not in dtypes.INTEGER
    ):
        return None
    start, limit, delta = [x.graph.symbol(part) for part in x.node.operands]
    if delta.node.prim.role is not Role.CONSTANT or not delta.node.params["value"].array:
        return None
    step = int(delta.node.params["value"].array)
    over = arithmetic.add(arithmetic.sub(limit, start), step - 1 if step > 0 else step + 1)
    length = arithmetic.maximum(floor_div(over, delta), arithmetic.zeros_of(over))

    def item(index: Symbol) -> Any:
        index = hooks.cast(convert_to_tensor(index), x.dtype)
        return arithmetic.add(start, arithmetic.mul(index, delta))

    return IterationSteps(length, item)


def inner_dims(x: Tensor) -> tuple:
    """Return the dimensions of the slices along the first axis."""
    aval: Any = x.aval if type(x) is Symbol else x
    return tuple(aval.dims[1:])


def enumerate_values(values: Any, start: Any) -> Any:
    """Return the steps of `enumerate`."""
    if hasattr(values, "trace_steps") and hasattr(values, "enumerate"):
        return values.enumerate(start)
    steps = steps_of(values)
    if steps is None:
        return enumerate(values, start)
    return IterationSteps(steps.length, lambda i: (i + start, steps.item(i)))


def together(values: tuple) -> tuple[Any, list[IterationSteps]] | None:
    """Return the common length of several iterables, and each one's steps; None for Python's.

    Python does if one of them is a Python iterable and all tensors have a known length.
    """
    every_steps = [steps_of(value) for value in values]
    known = [steps for steps in every_steps if steps is not None]
    if len(known) < len(values):
        if all([isinstance(steps.length, int) for steps in known]):
            return None
        known = [
            _steps_of_tensor(convert_to_tensor(list(value))) if steps is None else steps
            for value, steps in zip(values, every_steps)
        ]
    lengths = [steps.length for steps in known]
    numbers = [length for length in lengths if isinstance(length, int)]
    length: Any = min(numbers) if numbers else None
    for other in lengths:
        if not isinstance(other, int):
            length = other if length is None else hooks.look_up_export("minimum")(length, other)
    return length, known


def zip_values(values: tuple) -> Any:
    """Return the steps of `zip`; None for Python iterables."""
    if all([hasattr(value, "trace_steps") and hasattr(value, "zip") for value in values]):
        return type(values[0]).zip(tuple(values))
    found = together(values)
    if found is None:
        return None
    length, parts = found
    return IterationSteps(length, lambda i: tuple([part.item(i) for part in parts]))


def map_values(function: Callable[..., Any], values: tuple) -> Any:
    """Return the steps of `map`; None for Python iterables."""
    if len(values) == 1 and hasattr(values[0], "trace_steps") and hasattr(values[0], "map"):
        return values[0].map(function)
    found = together(values)
    if found is None:
        return None
    length, parts = found
    return IterationSteps(length, lambda i: function(*[part.item(i) for part in parts]))


def as_count(value: Any) -> Any:
    """Return a number of iterations as an int32 scalar."""
    if isinstance(value, Tensor):
        return hooks.cast(value, dtypes.int32)
    return convert_to_tensor(np.int32(value))
