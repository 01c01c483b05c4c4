"""Values that nobody computed: those inside a branch that was not taken, seen from outside.

Derivatives are written for all branches, so they pass such values along, to where these would be
used: inside the derived branch, which is not taken either.  Whatever is computed of one on the way
is one again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core.aval import Aval
from talweg.core.dtypes import DType
from talweg.core.errors import InvalidArgumentError
from talweg.core.lazy import LazyModule
from talweg.core.shapes import TensorShape, static
from talweg.core.value import Tensor
from talweg.execute.call import avals_of
from talweg.graph.node import BODY, GRAPH
from talweg.prims.host import HOST

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive
    from talweg.eager import structured
else:
    structured = LazyModule("talweg.eager.structured")

STRUCTURED = frozenset((BODY, GRAPH, HOST))


class UncomputedTensor(Tensor):
    """A tensor without a value, of which the dtype and perhaps the shape is known."""

    __slots__ = ("aval",)
    level = 0.5  # above tensors with values, below graphs and batches

    def __init__(self, aval: Aval):
        self.aval = aval

    @property
    def interpreter(self) -> Any:  # type: ignore[override]
        """The interpreter that applies primitives to it."""
        return INTERPRETER

    @property
    def dims(self) -> tuple:
        """The dimensions, 0 where one is unknown: no number depends on it."""
        return tuple([size if type(size) is int else 0 for size in self.aval.dims or ()])

    @property
    def shape(self) -> TensorShape:
        return static(self.aval.dims)

    @property
    def dtype(self) -> DType:
        return self.aval.dtype

    def __repr__(self) -> str:
        return f"<UncomputedTensor: shape={self.shape}, dtype={self.dtype.name}>"


class UncomputedInterpreter:
    """Applies primitives to operands of which some were not computed."""

    level = UncomputedTensor.level

    def bind(self, prim: Primitive, operands: tuple, params: dict) -> Any:
        """Return results that are not computed, except where an operation passes values along."""
        if prim.effect in STRUCTURED:
            return structured.evaluate_structured(prim, operands, params)
        found = results_of(prim, operands, params)
        if prim.multiple:
            return tuple([UncomputedTensor(aval) for aval in found])
        return UncomputedTensor(found)


INTERPRETER = UncomputedInterpreter()


def results_of(prim: Primitive, operands: tuple, params: dict) -> Any:
    """Return the abstract value(s) of the result(s) of `prim`."""
    avals = []
    for x in operands:
        avals.append(Aval(x.dims, x.dtype) if isinstance(x, Tensor) else avals_of([x])[0])
    try:
        return prim.infer(*avals, **params)
    except (InvalidArgumentError, TypeError, ValueError):  # sizes that are not known do not fit
        if prim.multiple:
            raise
        return Aval(None, avals[0].dtype)
