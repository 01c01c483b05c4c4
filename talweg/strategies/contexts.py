"""The context of a replica, where there is one, and how values of replicas are reduced."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.core.errors import value_error
from talweg.eager.convert import convert_to_tensor, is_tensor_like
from talweg.eager.replica_contexts import contexts, enter
from talweg.eager.variable import VariableAggregation
from talweg.graph import structure

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.value import Tensor


@export("distribute.ReduceOp")
class ReduceOp(enum.Enum):
    """The reductions that make one value of several replicas' (`tf.distribute.ReduceOp`).

    >>> import talweg as tf
    >>> tf.distribute.ReduceOp.SUM.value
    'SUM'
    """

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation: Any) -> ReduceOp:
        """Return the reduction that a variable's `aggregation` asks for; ValueError for others."""
        names = {VariableAggregation.SUM: ReduceOp.SUM, VariableAggregation.MEAN: ReduceOp.MEAN}
        if aggregation not in names:
            raise value_error("TW207", f"Could not convert {aggregation} to a ReduceOp")
        return names[aggregation]


def reduce_op(value: object) -> ReduceOp:
    """Return a ReduceOp, or its name in any case."""
    return value if isinstance(value, ReduceOp) else ReduceOp(str(value).upper())


@export("distribute.ReplicaContext")
class ReplicaContext:
    """The context of the only replica (`tf.distribute.ReplicaContext`).

    >>> import talweg as tf
    >>> replica = tf.distribute.get_replica_context()
    >>> float(replica.all_reduce("sum", tf.constant(3.0)))
    3.0
    """

    def __init__(self, strategy: Any, replica_id_in_sync_group: int | Tensor = 0):
        self.strategy = strategy
        self.replica_id_in_sync_group = replica_id_in_sync_group

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas: 1."""
        return 1

    @property
    def devices(self) -> tuple:
        """The devices of this replica."""
        return (self.strategy.extended.worker_devices[0],)

    def all_reduce(self, reduce_op: ReduceOp, value: TensorLike, options: object = None) -> Any:
        """Return the sum or mean of `value` over the replicas: `value`; a nest is one, too."""
        return tensors_of(value)

    def all_gather(self, value: TensorLike, axis: int, options: object = None) -> Any:
        """Return the replicas' values joined along `axis`: `value`."""
        return tensors_of(value)

    def merge_call(self, merge_fn: Callable, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Call ``merge_fn(strategy, *args)`` once for all replicas."""
        with enter(self.strategy, None):
            return merge_fn(self.strategy, *args, **(kwargs or {}))

    def __enter__(self) -> ReplicaContext:
        contexts.stack.append((self.strategy, self))
        return self

    def __exit__(self, *error: object) -> None:
        contexts.stack.pop()


def tensors_of(value: object) -> Any:
    """Return a nest with tensors, slices and composites as they are,
    everything else made tensors.
    """

    def tensor(leaf: object) -> Any:
        return leaf if is_tensor_like(leaf) else convert_to_tensor(leaf)

    return structure.map_leaves(tensor, value)
