"""Small functions of TensorFlow's private modules that libraries call."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from talweg.api.array.passing import get_static_value
from talweg.api.debugging.assertions import assert_equal
from talweg.api.export import look_up
from talweg.api.scopes import control_dependencies
from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape, as_shape, unknown_shape
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.graph import structure

__all__ = ["as_shape", "unknown_shape"]

_numbers = itertools.count(1)


class KerasModeKeys:
    """The names of what a model of Keras 2 is run for."""

    TRAIN, TEST, PREDICT = "train", "test", "predict"


class NullContextmanager(contextlib.nullcontext):
    """A block with nothing around it, whatever the arguments."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()


def uid() -> int:
    """A number that this process has not had."""
    return next(_numbers)


def name_from_scope_name(name: str) -> str:
    """The name of an operation that stands for a scope: without the `/` at its end."""
    return name[:-1] if name.endswith("/") else name


def convert_to_tensor_or_composite(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A tensor of a value; sparse and ragged tensors, and their like, as they are."""
    return (
        value
        if structure.kind_of(value) == structure.COMPOSITE
        else convert_to_tensor(value, dtype)
    )


def constant_value_as_shape(tensor: Any) -> TensorShape:
    """What is known of a shape that is in a tensor."""
    return TensorShape(None) if tensor is None else as_shape(get_static_value(tensor, True))


def try_evaluate_constant(tensor: Any) -> Any:
    """The value of a tensor that is known before the graph runs; None otherwise."""
    return get_static_value(tensor)


def convert_variables_to_tensors(values: Any) -> Any:
    """A nest with the values of its variables in their places."""
    return structure.map_leaves(
        lambda x: convert_to_tensor(x) if hasattr(x, "assign") else x, values
    )


@contextmanager
def cache_variable_reads() -> Iterator[None]:
    """A block in which variables are read once: reads are cached in any case."""
    yield


def assert_splits_match(nested_splits_lists: Any) -> list:
    """Assertions that ragged tensors have the same row splits; ValueError for other ranks."""
    first = nested_splits_lists[0]
    if any(len(splits) != len(first) for splits in nested_splits_lists):
        raise value_error("TW208", "Inputs must have identical ragged splits")
    return [
        assert_equal(a, b, message="Inputs must have identical ragged splits")
        for splits in nested_splits_lists[1:]
        for a, b in zip(first, splits)
    ]


def _get_graph_from_inputs(op_input_list: Any, graph: Any = None) -> Any:
    found = [x.graph for x in op_input_list if isinstance(x, Tensor) and hasattr(x, "graph")]
    return graph or (found[0] if found else look_up("compat.v1.get_default_graph")())


__all__ += ["control_dependencies"]
