"""Operations with effects, by which graphs take elements from iterators and run datasets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.core import dispatch
from talweg.eager.structured import Variant
from talweg.pipeline.run import stages_of
from talweg.pipeline.stage import Stage
from talweg.prims.host import host_call
from talweg.trace.synchronization import synchronized


def unwrap_variant(value: object) -> Any:
    """Return the content of a variant."""
    return value.value if type(value) is Variant else value


class IteratorOperation:
    """The action of an operation on iterators when a graph runs."""

    def __init__(self, tf_type: str, avals: tuple, call: Callable[..., Any]):
        self.tf_type, self.avals, self.call = tf_type, avals, call
        self.takes_near = getattr(call, "takes_near", False)  # arrays of a device as they are

    def __call__(self, *values: object) -> tuple:
        return self.call(*values)


def run_effect(
    tf_type: str, avals: list, call: Callable[..., Any], *operands: object, source: tuple = ()
) -> tuple:
    """Return the results of an operation with an effect.

    source: lists of the tensors and variables that the datasets use which it runs; their functions
    see those variables in program order.
    """
    operation = IteratorOperation(tf_type, tuple(avals), call)
    if not source:
        return host_call(*operands, call=operation)
    used = {id(leaf) for part in source for leaf in part}
    with synchronized(lambda handles: [handle for handle in handles if id(handle) in used]):
        return host_call(*operands, call=operation)


def leaves_of(stage: Stage) -> list:
    """Return the tensors and variables that a pipeline uses."""
    return [leaf for here in stages_of(stage) for leaf in here.leaves()]


def in_graph() -> bool:
    """Return whether the present call belongs into a graph."""
    return dispatch.context.base is not None


def in_session_graph() -> bool:
    """Return whether that graph is one of TensorFlow 1, whose constants are arrays only."""
    base = dispatch.context.base
    return base is not None and not base.building_function
