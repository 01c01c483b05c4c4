"""Replica-local values, where one replica is traced for all of them.

The trace has the value of the replica that runs it; what the others have comes by a collective
operation, when somebody asks.
"""

from __future__ import annotations

from typing import Any

from talweg.api.export import look_up
from talweg.core.dtypes import bool_, int32
from talweg.core.value import IndexedSlices
from talweg.eager.convert import convert_to_tensor
from talweg.eager.replicated import PerReplica, part_of
from talweg.prims.collective import all_reduce


class LocalValue(PerReplica):
    """A value of which the trace of one replica has its own; `values` are those of all.

    number: the replica's number, as a tensor; count: how many there are.
    """

    def __init__(self, local: Any, number: Any, count: int):
        self.local, self._number, self.count = local, number, count

    @property
    def values(self) -> tuple:  # type: ignore[override]
        """The values of all replicas."""
        local = self.local
        if isinstance(local, IndexedSlices):
            rows, places = self._all(local.values), self._all(local.indices)
            pairs = zip(rows, places)
            return tuple([IndexedSlices(x, i, local.dense_shape) for x, i in pairs])
        return self._all(convert_to_tensor(local))

    def part(self, index: int) -> Any:
        """Return the value of the replica that runs the trace."""
        return self.local

    def _flat_components(self) -> list:
        return [self.local]

    def _with_components(self, parts: list) -> LocalValue:
        return type(self)(parts[0], self._number, self.count)

    def sum(self) -> Any:
        """Return the sum over all replicas."""
        return all_reduce(convert_to_tensor(self.local), count=self.count)

    def _all(self, x: Any) -> tuple:
        rows = rows_of_all(x, self._number, self.count)
        return tuple([rows[place] for place in range(self.count)])

    def _text(self, show: Any) -> str:
        return f"{type(self).__name__}({show(self.local)})"


def first_of(value: Any) -> Any:
    """Return the value of the first replica."""
    return value.values[0] if isinstance(value, LocalValue) else part_of(0, value)


def rows_of_all(x: Any, number: Any, count: int) -> Any:
    """Return the values of all replicas, one row each: each adds its own to zeros."""
    if x.dtype is bool_:
        return look_up("cast")(rows_of_all(look_up("cast")(x, int32), number, count), bool_)
    own = look_up("equal")(look_up("range")(count), number)
    own = look_up("reshape")(own, [count, *[1] * x.shape.rank])
    row = look_up("expand_dims")(x, 0)
    return all_reduce(look_up("where")(own, row, look_up("zeros_like")(row)), count=count)
