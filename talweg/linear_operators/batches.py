"""Batch axes: broadcasting them where a function wants equal ones, sizes static or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.array.joining import concat
from talweg.api.array.passing import get_static_value
from talweg.api.array.shapes import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    broadcast_to,
)
from talweg.api.array.shapes import shape as shape_of
from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape

if TYPE_CHECKING:
    from collections.abc import Callable


def static_broadcast(shapes: list[TensorShape]) -> TensorShape:
    """Return the common shape of batch shapes, as far as it is known;
    ValueError if there is none.
    """
    found = shapes[0]
    for shape in shapes[1:]:
        found = broadcast_static_shape(found, shape)
    return found


def sizes_of(shape: TensorShape, dynamic: Callable[..., Any]) -> Any:
    """Return a shape as a list of ints where it is known, else what `dynamic()` gives."""
    return shape.as_list() if shape.is_fully_defined() else dynamic()


def common_batch(values: list[Any], axes: int = 2) -> list[Any]:
    """Return tensors with the same batch shape, in front of their last axes."""
    batches = [value.shape[:-axes] for value in values]
    whole = static_broadcast(batches)
    if whole.is_fully_defined():
        wanted = whole.as_list()
        return [
            value
            if batch == whole
            else broadcast_to(value, concat([wanted, shape_of(value)[-axes:]], 0))
            for value, batch in zip(values, batches)
        ]
    dynamic = shape_of(values[0])[:-axes]
    for value in values[1:]:
        dynamic = broadcast_dynamic_shape(dynamic, shape_of(value)[:-axes])
    return [broadcast_to(v, concat([dynamic, shape_of(v)[-axes:]], 0)) for v in values]


def check_contraction(operator: Any, name: str, inner: int | None, given: int | None) -> None:
    """Raise ValueError where the number of rows of an argument is known not to fit an operator."""
    if inner is not None and given is not None and inner != given:
        raise value_error(
            "TW204",
            f"{name}: {type(operator).__name__} of shape {operator.shape} and an argument of "
            f"{given} rows",
            f"{inner} rows",
        )


def static_int(value: object) -> Any:
    """Return the value of an integer tensor as an int, None if it is not known."""
    found = get_static_value(value)
    return None if found is None else int(found)
