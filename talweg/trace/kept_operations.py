"""Deferred operations that a graph keeps under TensorFlow's names.

Of their results the dtypes are known from the signature of the operation, and nothing else.
`keep` is for functions of their operands, which have derivatives; `keep_effect` for those that act
on the world: each of them happens once a run, in the order in which they were made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.core.aval import Aval
from talweg.core.dtypes import DType
from talweg.eager.convert import convert_to_tensor
from talweg.eager.tensor import wrap
from talweg.graph.structure import map_leaves
from talweg.graph.symbol import Symbol
from talweg.prims.host import act, host_call
from talweg.prims.opaque import whole
from talweg.trace.host_calls import Outside
from talweg.trace.opaque_calls import Hole, OpaqueCall

if TYPE_CHECKING:
    from talweg.core.spec import TypeSpec


def _without_symbols(values: dict) -> tuple[dict, list]:
    operands: list = []

    def leave_out(leaf: TypeSpec) -> Any:
        if type(leaf) is not Symbol:
            return leaf
        operands.append(leaf)
        return Hole(len(operands) - 1)

    return map_leaves(leave_out, values), operands


def keep(function: Callable[..., Any], values: dict, dtypes: list[DType]) -> list:
    """Build an operation that computes function(**values) when the graph runs."""
    kwargs, operands = _without_symbols(values)
    call = OpaqueCall(function, (), kwargs)
    return list(whole(*operands, call=call, avals=tuple([(None, dtype) for dtype in dtypes])))


class EffectCall:
    """A deferred call of a function with effects; tensors of a graph are left out."""

    def __init__(self, function: Callable[..., Any], kwargs: dict, dtypes: list[DType]):
        self.function, self.kwargs, self.tf_type = function, kwargs, function.__name__
        self.avals = tuple([Aval(None, dtype) for dtype in dtypes])
        self.may_wait = self.tf_type.startswith("Queue")

    def __call__(self, *arrays: object) -> tuple:
        with Outside():
            tensors = [wrap(array) for array in arrays]
            fill = lambda leaf: tensors[leaf.number] if type(leaf) is Hole else leaf  # noqa: E731
            found = self.function(**map_leaves(fill, self.kwargs))
            results = found if isinstance(found, (list, tuple)) else [found]
            results = [part for x in results for part in (x if isinstance(x, list) else [x])]
            return tuple([convert_to_tensor(x)._array for x in results[: len(self.avals)]])


def keep_effect(function: Callable[..., Any], values: dict, dtypes: list[DType]) -> Any:
    """Build an operation that runs function(**values) with effects; its results, or itself."""
    kwargs, operands = _without_symbols(values)
    call = EffectCall(function, kwargs, dtypes)
    return list(host_call(*operands, call=call)) if dtypes else act(*operands, call=call).op
