"""The context of one replica that is traced for all of them: merges and exchanges are in its graph.

Code that runs once for all replicas (in a merge) is in the graph of each: it computes the same
everywhere.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from talweg.api.export import look_up
from talweg.core import dispatch
from talweg.core.value import IndexedSlices
from talweg.eager.replica_contexts import contexts
from talweg.eager.replicated import Several, part_of, place, place_in_replica
from talweg.graph import structure
from talweg.graph.symbol import Symbol
from talweg.prims.collective import all_reduce
from talweg.strategies.contexts import ReduceOp, tensors_of
from talweg.strategies.contexts import reduce_op as known_op
from talweg.strategies.local_values import LocalValue, first_of, rows_of_all
from talweg.strategies.reduction import reduce_leaf
from talweg.strategies.replica_context import ReplicaThreadContext

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


class NotTracedOnceError(Exception):
    """One trace cannot stand for all replicas: each is traced by itself, in one graph."""


class TracedContext(ReplicaThreadContext):
    """The context of the replica that is traced for all of them."""

    def __init__(self, strategy: Any):
        super().__init__(strategy, 0, {})
        self.given: dict[int, Any] = {}  # what all replicas have alike, by id

    @property
    def replica_id_in_sync_group(self) -> Any:
        """The number of the replica that runs the trace."""
        return self.strategy.extended.numbers.values[0].value()

    @replica_id_in_sync_group.setter
    def replica_id_in_sync_group(self, value: Any) -> None:
        pass

    @contextlib.contextmanager
    def traced(self) -> Iterator[None]:
        """Trace a replica in the block."""
        context = dispatch.context
        before = context.replica, context.device, place.traced, contexts.traced
        place.traced, contexts.traced = True, self
        try:
            with self, place_in_replica(0):
                context.replica = (self.strategy.number, "traced")
                yield
        finally:
            context.replica, context.device, place.traced, contexts.traced = before

    def merge_call(self, merge_fn: Callable, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Call ``merge_fn(strategy, *args)``, which computes the same in all replicas."""
        given, named = self._local((tuple(args), dict(kwargs or {})))
        context = dispatch.context
        before, context.replica = context.replica, (self.strategy.number, "merged")
        contexts.stack.append((self.strategy, None))
        try:
            with place_in_replica(None):
                found = part_of(0, merge_fn(self.strategy, *given, **named))
        finally:
            contexts.stack.pop()
            context.replica = before
        return self._note(found)

    def run(self, function: Callable, args: tuple, kwargs: dict) -> Any:
        """Call a function in the replica, from code that runs once for all of them."""
        context = dispatch.context
        before, context.replica = context.replica, (self.strategy.number, "traced")
        contexts.stack.append((self.strategy, self))
        try:
            with place_in_replica(0):
                found = function(*part_of(0, args), **part_of(0, kwargs))
                return self._local(found, self.given)
        finally:
            contexts.stack.pop()
            context.replica = before

    def _note(self, found: Any) -> Any:
        """Return a nest that all replicas have alike."""
        self.given.update((id(leaf), leaf) for leaf in structure.flatten(found, composites=True))
        return found

    def _local(self, value: Any, given: Any = frozenset()) -> Any:
        """Return a nest as code outside of replicas sees it; `given`: ids of equal values."""
        if isinstance(value, Several) or id(value) in given:
            return value
        if isinstance(value, (Symbol, IndexedSlices)):
            return LocalValue(value, self.replica_id_in_sync_group, self.num_replicas_in_sync)
        if structure.is_nested(value):
            parts = [self._local(child, given) for child in structure.children(value)]
            return structure.rebuild(value, parts)
        return value

    def first(self, value: Any) -> Any:
        """Return the first replica's value, in all of them."""
        return self._note(first_of(self._local(value)))

    def share_variable(self, name: str, make: Callable[[], Any]) -> Any:
        """Return a variable of all replicas, which the one that is traced makes."""
        return make()

    def all_reduce(
        self, reduce_op: ReduceOp | str, value: TensorLike, options: object = None
    ) -> Any:
        """Return the sum or mean of `value` over the replicas; a nest is one, too."""
        how, count = known_op(reduce_op), self.num_replicas_in_sync

        def leaf(one: Any) -> Any:
            if isinstance(one, IndexedSlices):
                return part_of(0, reduce_leaf(how, self._local(one)))
            total = all_reduce(one, count=count)
            return total / count if how is ReduceOp.MEAN else total

        return self._note(structure.map_leaves(leaf, tensors_of(value)))

    def all_gather(self, value: TensorLike, axis: int, options: object = None) -> Any:
        """Return the replicas' values one after the other along `axis`."""
        count, number = self.num_replicas_in_sync, self.replica_id_in_sync_group

        def leaf(one: Any) -> Any:
            rows = rows_of_all(one, number, count)
            return look_up("concat")([rows[i] for i in range(count)], axis)

        return self._note(structure.map_leaves(leaf, tensors_of(value)))
