"""Values of several replicas: one value for each (`tf.distribute.DistributedValues`).

A replica is one of several runs of the same function, on data of its own.  `place.index` says which
replica's values the present code sees; where it is None, code runs once for all of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from talweg.core.dtypes import DType
from talweg.core.errors import value_error
from talweg.core.spec import TensorSpec, TypeSpec
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.graph import structure
from talweg.graph.symbol import Symbol


class ReplicaPlace(threading.local):
    """The replica whose values the code of a thread sees."""

    index: int | None = None  # None: it runs once for all replicas
    updating: bool = False  # whether it changes the part of one replica, for all of them
    traced: bool = False  # whether one replica is traced that stands for all of them


place = ReplicaPlace()


@contextmanager
def place_in_replica(index: int | None, updating: bool = False) -> Iterator[None]:
    """See the values of one replica, or of none, inside the block."""
    before = place.index, place.updating
    place.index, place.updating = index, updating
    try:
        yield
    finally:
        place.index, place.updating = before


class DistributedValues:
    """A value for each replica (`tf.distribute.DistributedValues`): `values`.

    >>> import talweg as tf
    >>> isinstance(tf.constant(1), tf.distribute.DistributedValues)
    False
    """

    values: tuple

    def __repr__(self) -> str:
        return self._text(repr)

    def __str__(self) -> str:
        return self._text(str)

    def _text(self, show: Callable[[Any], str]) -> str:
        lines = [f"\n  {number}: {show(value)}" for number, value in enumerate(self.values)]
        return f"{type(self).__name__}:{{{','.join(lines)}\n}}"


class Several(DistributedValues):
    """Values of replicas, in order; a nest of them, as tensors are in a sparse tensor."""

    __array_priority__ = 100

    def __init__(self, values: Any):
        self.values = tuple(values)

    @property
    def _primary(self) -> Any:
        return self.values[0]

    def part(self, index: int) -> Any:
        """Return the value of one replica."""
        return self.values[index]

    @property
    def _type_spec(self) -> PerReplicaSpec:
        return PerReplicaSpec(*[_spec_of(value) for value in self.values])

    def _flat_components(self) -> list:
        return list(self.values)

    def _with_components(self, parts: list) -> Several:
        return type(self)(parts)

    def __tf_tensor__(self, dtype: DType | None = None, name: str | None = None) -> Tensor:
        if place.index is None:
            raise value_error(
                "TW511",
                f"a {type(self).__name__} of {len(self.values)} replicas was used where code runs "
                "once for all of them",
                "code inside a replica",
                "strategy.run(function, args=(values,)), or strategy.reduce of them",
            )
        return convert_to_tensor(self.part(place.index), dtype)


class PerReplica(Several):
    """A value of its own for each replica (`tf.types.experimental.distributed.PerReplica`).

    >>> import talweg as tf
    >>> kinds = tf.types.experimental.distributed
    >>> print(kinds.PerReplica([tf.constant(1), tf.constant(2)]))
    PerReplica:{
      0: tf.Tensor(1, shape=(), dtype=int32),
      1: tf.Tensor(2, shape=(), dtype=int32)
    }
    """


class Mirrored(Several):
    """A value that is the same in each replica (`tf.types.experimental.distributed.Mirrored`).

    >>> import talweg as tf
    >>> tf.types.experimental.distributed.Mirrored([1, 1]).values
    (1, 1)
    """


def _spec_of(value: object) -> Any:
    if isinstance(value, TypeSpec):  # what stands for the argument of a trace
        return value
    spec = None if hasattr(value, "handle_read") else getattr(value, "_type_spec", None)
    if spec is not None:
        return spec
    return TensorSpec.from_tensor(convert_to_tensor(value))


def _parts_of(spec: Any) -> list[TensorSpec]:
    return [spec] if isinstance(spec, TensorSpec) else spec.part_specs()


class PerReplicaSpec(TypeSpec):
    """The specs of a value for each replica."""

    __slots__ = ("layout", "specs")

    def __init__(self, *specs: object):
        self.specs = specs
        self.layout: Any = None  # what pipelines know of them, once they have asked

    @property
    def value_type(self) -> type:
        """`PerReplica`."""
        return PerReplica

    def _serialize(self) -> tuple:
        return self.specs

    def part_specs(self) -> list[TensorSpec]:
        """Return the specs of the tensors of all replicas' values."""
        return [part for spec in self.specs for part in _parts_of(spec)]

    def with_parts(self, parts: list) -> PerReplica:
        """Return the values that consist of these tensors."""
        remaining, values = list(parts), []
        for spec in self.specs:
            count = len(_parts_of(spec))
            own, remaining = remaining[:count], remaining[count:]
            values.append(own[0] if isinstance(spec, TensorSpec) else spec.with_parts(own))
        return PerReplica(values)

    def _of(self, value: object) -> TypeSpec | None:
        return value._type_spec if isinstance(value, Several) else None


def regroup(
    values: list, kind: type = PerReplica, always: bool = False, given: Any = frozenset()
) -> Any:
    """Pack the replicas' results into one nest; leaves that differ are wrapped.

    Tensors of a graph always are, unless there is only one replica, or they are among those `given`
    to all replicas (by id): equal operations are one tensor there, and yet each replica's own.
    """
    first = values[0]
    if len(values) == 1 and not always:
        return first
    if structure.is_nested(first) and all([_alike(first, other) for other in values]):
        columns = zip(*[structure.children(value) for value in values])
        parts = [regroup(list(each), kind, always, given) for each in columns]
        return structure.rebuild(first, parts)
    own = type(first) is Symbol
    if not always and all([v is first for v in values]) and (not own or id(first) in given):
        return first
    return kind(values)


def _alike(first: Any, other: Any) -> bool:
    """Return whether two values are the same container with other contents."""
    if type(first) is not type(other):
        return False
    if structure.kind_of(first) == structure.MAPPING:
        return structure.sort_keys(first) == structure.sort_keys(other)
    return len(structure.children(first)) == len(structure.children(other))


def part_of(index: int, value: object) -> Any:
    """Return replica `index`'s view of a nest: its own value of each `PerReplica`."""
    if isinstance(value, Several):
        return value.part(index)
    if structure.is_nested(value):
        parts = [part_of(index, child) for child in structure.children(value)]
        return structure.rebuild(value, parts)
    return value
