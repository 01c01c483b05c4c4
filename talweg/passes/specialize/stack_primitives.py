"""Primitives of static programs only: rows of stacks, and numbers that follow from a trip.

A stack is an array of which each row is an element of a list, or what one trip of a loop kept.
`with_row` gives a changed copy; where nothing else reads the old one, lowering writes in place.
A stack of which nobody knows how many rows it will have is "endless": its memory grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOWERINGS, refuse_unknown
from talweg.core.dtypes import DType
from talweg.core.roles import Role, Trait
from talweg.prims import arithmetic
from talweg.prims.random.loop_rules import further_on

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive


ENDLESS = 1 << 40  # trips of a loop of which nothing is known, and the rows of its stacks


class LoopIndex:
    """The trip number of a loop with at most `trips` trips, as an index.

    Lowering sets it.
    """

    __slots__ = ("trip", "trips")

    def __init__(self, trips: int):
        self.trips = trips
        self.trip: Any = None

    def __repr__(self) -> str:
        return f"<loop of {self.trips}>"


class Construct:
    """A primitive that only equations of static programs have.

    `lowering` is as in declarations; `infer` and `numpy` likewise, where there are any.
    """

    __slots__ = (
        "effect",
        "elementwise",
        "infer",
        "lowering",
        "memory",
        "multiple",
        "name",
        "numpy",
        "role",
        "traits",
    )

    def __init__(
        self,
        name: str,
        lowering: dict,
        multiple: bool = False,
        effect: str | None = None,
        role: Role = Role.OPERATION,
        traits: Iterable[Trait] = (),
    ):
        refuse_unknown(name, lowering.keys() - LOWERINGS, LOWERINGS)
        self.name, self.lowering, self.multiple, self.effect = name, lowering, multiple, effect
        self.memory, self.elementwise, self.role = "none", False, role
        self.traits = frozenset(traits)
        self.infer: Callable[..., Any] | None = None
        self.numpy: Callable[..., Any] | None = None

    def __repr__(self) -> str:
        return f"<construct {self.name}>"


def _row_at(s: Any, index: tuple, x: Any, i: Any) -> Any:
    return x(s.element(i()), *index)


def _with_row_at(s: Any, index: tuple, x: Any, i: Any, y: Any) -> Any:
    here = s.element(i())
    first, *rest = index
    if first == here:
        return y(*rest)
    return s.select(s.equal(s.index(first), s.index(here)), y(*rest), x(*index))


def _put(x: Any, i: Any, y: object) -> Any:
    result = np.array(x)
    if i >= 0:
        result[i] = y
    return result


def _round_at(s: Any, index: tuple, *, loop: LoopIndex, start: int, step: int, dtype: DType) -> Any:
    return s.index(loop.trip * step + start, dtype)


def _advance_positions(s: Any, index: tuple, state: Any, blocks: Any) -> Any:
    return further_on(s, index, [state(k) for k in range(3)], blocks())


_STACK = frozenset((Trait.STACK_OPERATION,))

row: Any = Construct(  # x[i]
    "row",
    {"loops": _row_at, "call": "stack_row"},
    traits=_STACK | {Trait.REINDEXES, Trait.KEEPS_LIMITS},
)
row.infer = lambda x, i: Aval(x.dims[1:], x.dtype)
row.numpy = lambda x, i: x[i]

with_row: Any = Construct(  # x with y as row i; x where i is below zero
    "with_row", {"loops": _with_row_at, "call": "stack_put"}, traits=_STACK
)
with_row.infer = lambda x, i, y: x
with_row.numpy = _put

advanced: Any = Construct(
    "advanced", {"loops": _advance_positions}
)  # a random stream after n blocks
advanced.infer = lambda state, blocks: state

round_number: Any = Construct("round_number", {"loops": _round_at})  # start + step * trip
round_number.infer = lambda *, loop, start, step, dtype: Aval((), dtype)


append: Any = Construct(  # x with the first n rows of y from row i on
    "append", {"call": "append"}, traits=_STACK
)
append.infer = lambda x, i, y, n: x


widen: Any = Construct(  # the rows of x, and zeros behind them
    "widen", {"call": "widen"}, traits=_STACK
)
widen.infer = lambda x: Aval((ENDLESS, *x.dims[1:]), x.dtype)


def _head_dims(x: Any, *, size: int) -> Aval:
    return Aval((size, *x.dims[1:]), x.dtype)


head: Any = Construct("head", {"call": "head"}, traits=_STACK)  # the first `size` rows of x
head.infer = _head_dims


def is_endless(x: Any) -> bool:
    """Return whether a value is a stack with a row for each trip of a loop of unknown length.

    It has as many rows as are written.  Nothing is done with it as a whole.
    """
    return bool(x.dims) and x.dims[0] >= ENDLESS


def is_zero(x: Any) -> bool:
    """Return whether a value is certainly zero."""
    return x.content is not None and x.content.size == 1 and not x.content.reshape(-1)[0]


def is_one(x: Any) -> bool:
    """Return whether a value is certainly one."""
    return x.content is not None and x.content.size == 1 and x.content.reshape(-1)[0] == 1


def by_element(prim: Primitive) -> bool:
    """Return whether a primitive is elementwise."""
    return prim.elementwise or prim is arithmetic.cast
