"""The context of one of several replicas, and its exchange of values with the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.export import look_up
from talweg.core import dispatch
from talweg.core.errors import compose
from talweg.core.value import IndexedSlices
from talweg.eager.convert import convert_to_tensor
from talweg.eager.custom import custom_gradient
from talweg.eager.replica_contexts import contexts
from talweg.eager.replicated import Mirrored, PerReplica, Several
from talweg.graph import structure
from talweg.strategies.contexts import ReplicaContext, tensors_of
from talweg.strategies.contexts import reduce_op as known_op
from talweg.strategies.crossing import join_over_workers
from talweg.strategies.reduction import gather_values, reduce_together
from talweg.strategies.replica_threads import Replica

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.strategies.contexts import ReduceOp
    from talweg.strategies.mirrored import MirroredStrategy


class ReplicaThreadContext(ReplicaContext):
    """The replica context of one of several replicas."""

    replica: Replica | None = None  # while the replica runs

    def __init__(self, strategy: Any, index: int, made: dict):
        super().__init__(strategy, index)
        self.index = index
        self.made = made  # the variables of all replicas, by name
        self._found: dict[str, int] = {}  # how many of each name it has come to
        self._base: Any = None  # the graph, if there is one, in which replicas may meet

    @property
    def replica_id_in_sync_group(self) -> Any:
        """The number of this replica, from 0; in a cluster, among those of all workers."""
        return convert_to_tensor(self.strategy.first_replica + self.index)

    @replica_id_in_sync_group.setter
    def replica_id_in_sync_group(self, value: Any) -> None:
        self.index = value

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas."""
        return self.strategy.num_replicas_in_sync

    @property
    def devices(self) -> tuple:
        """The device of this replica."""
        return (self.strategy.extended.worker_devices[self.index],)

    def __enter__(self) -> ReplicaContext:
        contexts.stack.append((self.strategy, self))
        dispatch.context.device = self.strategy.extended.placements[self.index]
        dispatch.context.replica = (self.strategy.number, self.index)
        self._base = dispatch.context.base
        return self

    def merge_call(self, merge_fn: Callable, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Call ``merge_fn(strategy, *args)`` once for all replicas, which all have to come here.

        Each gets its part of the result.  RuntimeError inside of functions, branches and loops that
        are traced for one replica by itself.
        """
        if self.replica is None:
            raise RuntimeError(
                compose(
                    "TW510",
                    "`merge_call` was called after the replica was over",
                    "a call inside of strategy.run",
                )
            )
        if dispatch.context.base is not self._base:
            raise RuntimeError(
                compose(
                    "TW510",
                    "`merge_call` called while defining a new graph or a tf.function: a replica "
                    "meets the others (as optimizer.apply_gradients and all_reduce do) inside of a "
                    "nested tf.function, a tf.cond or a loop, which is traced for it alone",
                    "no merge inside of control flow on tensors",
                    "one tf.function around strategy.run, or strategy.run(tf_function)",
                )
            )
        return self.replica.ask((merge_fn, args, kwargs or {}))

    def share_variable(self, name: str, make: Callable[[], Any]) -> Any:
        """Return a variable of all replicas: the first one makes it, the others find it by its
        name.

        Variables of one name are found in the order in which they were made; RuntimeError if there
        are not as many.
        """
        made = self.made.setdefault(name, [])
        if self.index == 0:
            made.append(make())
            return made[-1]
        number = self._found.get(name, 0)
        if number >= len(made):
            raise RuntimeError(
                compose(
                    "TW510",
                    f"replica {self.index} makes a variable {name!r} that the first replica did "
                    "not make",
                    "the same variables in every replica",
                )
            )
        self._found[name] = number + 1
        return made[number]

    def all_reduce(
        self, reduce_op: ReduceOp | str, value: TensorLike, options: object = None
    ) -> Any:
        """Return the sum or mean of `value` over the replicas; a nest is one, too.

        Its derivative is the sum, or mean, of the cotangents of all replicas.
        """
        how = known_op(reduce_op)

        def merge(strategy: MirroredStrategy, *leaves: object) -> list:
            count, cluster = strategy.replicas_here, strategy.extended.cluster
            columns = [_of_replicas(leaf) for leaf in leaves]
            return [Mirrored([total] * count) for total in reduce_together(how, columns, cluster)]

        def meet(*leaves: object) -> tuple:
            total = self.merge_call(merge, leaves)
            return total, lambda *upstream: self.all_reduce(how, list(upstream))

        return _exchange(tensors_of(value), meet)

    def all_gather(self, value: TensorLike, axis: int, options: object = None) -> Any:
        """Return the replicas' values one after the other along `axis`; sizes along it may
        differ.
        """

        def merge(strategy: Any, *leaves: object) -> list:
            count, cluster = strategy.replicas_here, strategy.extended.cluster
            every = [PerReplica(_of_replicas(leaf, count)) for leaf in leaves]
            return [Mirrored([gather_values(each, axis, cluster)] * count) for each in every]

        def sizes(strategy: Any, *leaves: object) -> list:
            shape, stack = look_up("shape"), look_up("stack")
            count, cluster = strategy.replicas_here, strategy.extended.cluster
            gathered = []
            for leaf in leaves:
                own = stack([shape(part)[axis] for part in _of_replicas(leaf, count)])
                gathered.append(Mirrored([join_over_workers(cluster, own, 0)] * count))
            return gathered

        strategy = self.strategy

        def meet(*leaves: object) -> tuple:
            together = self.merge_call(merge, leaves)

            def own(*upstream: object) -> list:
                total = self.all_reduce("SUM", list(upstream))
                counts = self.merge_call(sizes, leaves)
                split = look_up("split")
                number, every = strategy.first_replica + self.index, strategy.num_replicas_in_sync
                return [
                    split(part, count, axis=axis, num=every)[number]
                    for part, count in zip(total, counts)
                ]

            return together, own

        return _exchange(tensors_of(value), meet)


def _of_replicas(value: object, count: int = 1) -> Any:
    """Return the replicas' values; one tensor that all of them brought is there `count` times."""
    return value.values if isinstance(value, Several) else [value] * count


def _exchange(value: object, meet: Callable) -> Any:
    """Return a nest after its leaves have met those of the other replicas."""
    leaves = structure.flatten(value)
    if not leaves:
        return value
    if any([isinstance(leaf, IndexedSlices) for leaf in leaves]):
        return structure.pack(value, list(meet(*leaves)[0]))
    found = custom_gradient(meet)(*leaves)
    return structure.pack(value, list(found))
