"""tf.distribute.MirroredStrategy: a replica on each of several logical devices of this machine."""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.config import list_logical_devices
from talweg.api.device import full_device
from talweg.api.export import export
from talweg.core import dispatch
from talweg.core.errors import compose, value_error
from talweg.eager.replica_contexts import check_alone, contexts
from talweg.eager.replicated import (
    DistributedValues,
    Mirrored,
    PerReplica,
    place,
    place_in_replica,
    regroup,
)
from talweg.eager.tensor import DEVICE
from talweg.graph import structure
from talweg.strategies import on_devices
from talweg.strategies.datasets import check_options, distribute_dataset, from_function
from talweg.strategies.extended import StrategyExtended
from talweg.strategies.reduction import gather_values, reduce_leaf, reduce_nest
from talweg.strategies.replica_context import ReplicaThreadContext
from talweg.strategies.replica_threads import run_replicas
from talweg.strategies.strategy import OneReplica, Strategy
from talweg.strategies.values import InputContext, ValueContext
from talweg.strategies.variables import (
    DistributedVariable,
    local_results,
    make_variable,
    update_parts,
)
from talweg.trace.autograph.convert import adopt_function
from talweg.trace.function import Function
from talweg.trace.host_calls import Outside
from talweg.trace.methods import BoundFunction
from talweg.trace.options import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.annotations import TensorLike
    from talweg.pipeline.dataset import Dataset

_NUMBERS = itertools.count()  # of strategies, for what is traced inside of them


class MirroredExtended(StrategyExtended):
    """`strategy.extended` of several replicas."""

    def __init__(self, strategy: object, devices: list[str]):
        super().__init__(strategy, devices[0])
        self._devices = tuple(devices)
        self._together: Any = weakref.WeakKeyDictionary()  # functions, with what runs all replicas
        self.on_devices: Any = weakref.WeakKeyDictionary()  # functions, each traced once for all
        self.mesh: Any = None  # what runs them, if there is a device for each replica
        self._numbers: Any = None
        self.cluster: Any = None  # the workers of which this process is one
        self.everywhere: list[list] = []  # JAX's devices of all of them

    @property
    def placements(self) -> tuple:
        """The devices as threads note them: None is the first of all."""
        return tuple([None if device == DEVICE else device for device in self._devices])

    @property
    def numbers(self) -> Any:
        """A variable of which each replica's part is its number."""
        if self._numbers is None:
            with Outside():
                options = {"initial_value": np.int32(0), "trainable": False, "name": "replica_id"}
                self._numbers = make_variable(self.container_strategy, (), options)
                before = self.container_strategy.first_replica
                for index, part in enumerate(self._numbers.values):
                    part.assign(np.int32(before + index))
        return self._numbers

    @property
    def worker_devices(self) -> tuple:
        return self._devices

    parameter_devices = worker_devices

    def update(
        self,
        var: Any,
        fn: Callable,
        args: tuple = (),
        kwargs: dict | None = None,
        group: bool = True,
    ) -> Any:
        """Return ``fn(part, *args)`` for the part of a variable in each replica.

        In a replica this is a merge, to which all of them have to come.
        """
        replica = contexts.stack[-1][1] if contexts.stack else None
        if replica is not None:

            def merge(strategy: Any, *args: object, **kwargs: object) -> Any:
                return self.update(var, fn, args, kwargs, group)

            return replica.merge_call(merge, args, kwargs)
        own = iter(range(len(self._devices)))

        def each(*given: object, **named: object) -> Any:
            index = next(own)
            with place_in_replica(index, updating=True), self._on(index):
                return adopt_function(fn)(*given, **named)

        with self.container_strategy.scope():
            parts_out = update_parts(self.container_strategy, var, each, args, kwargs or {})
        together = regroup(parts_out, Mirrored)
        if group:
            return together
        count = len(self._devices)
        return structure.map_leaves(lambda leaf: local_results(leaf, count), together)

    @contextlib.contextmanager
    def _on(self, index: int) -> Iterator[None]:
        before = dispatch.context.device
        dispatch.context.device = self.placements[index]
        try:
            yield
        finally:
            dispatch.context.device = before

    def reduce_to(
        self, reduce_op: object, value: TensorLike, destinations: object, options: object = None
    ) -> Any:
        """Return the sum or mean of `value` over the replicas;
        mirrored if all replicas are to have it.
        """
        found = reduce_leaf(reduce_op, value, self.cluster)
        everywhere = isinstance(destinations, (DistributedValues, list, tuple))
        return Mirrored([found] * len(self._devices)) if everywhere else found

    def batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Any, options: object = None):
        """Return `reduce_to` for many."""
        return [self.reduce_to(reduce_op, value, where) for value, where in value_destination_pairs]

    def call_for_each_replica(
        self, fn: Callable, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        """Call `fn` in each replica; a tf.function is traced for all of them together."""
        strategy = self.container_strategy
        strategy.need_all("run")
        own: Any = fn.__wrapped__ if type(fn) is BoundFunction else fn
        if place.traced:
            return contexts.traced.run(adopt_function(fn), tuple(args), dict(kwargs or {}))
        if not options.run_eagerly:
            results = on_devices.run(self, own, args, kwargs or {})
            if results is not NotImplemented:
                return results
        eager = dispatch.context.base is None and not options.run_eagerly
        if eager and type(own) is Function:
            with strategy.scope():
                return self.trace_together(own)(*args, **(kwargs or {}))
        with strategy.scope():
            return self._run(adopt_function(fn), args, kwargs or {})

    def _run(self, fn: Callable, args: tuple, kwargs: dict) -> Any:
        strategy = self.container_strategy
        made: dict = {}
        replicas = [
            ReplicaThreadContext(strategy, index, made) for index in range(len(self._devices))
        ]
        return run_replicas(replicas, fn, args, kwargs)

    def trace_together(self, own: Function) -> Function:
        """Return a function that runs a traced one in all replicas, in one graph."""
        found = self._together.get(own)
        if found is not None:
            return found
        python_function = own.python_function

        def run_all(*args: object, **kwargs: object) -> Any:
            return self._run(adopt_function(python_function), args, kwargs)

        found = Function(run_all, **{**own._options(), "input_signature": None})
        found._replicas = None
        self._together[own] = found
        return found

    def variable_created_in_scope(self, v: TensorLike) -> bool:
        """Return whether a variable belongs to this strategy."""
        return getattr(v, "distribute_strategy", None) is self.container_strategy

    def value_container(self, value: object) -> Any:
        """Return the variable that a replica's part belongs to; other values as they are."""
        own = getattr(value, "_distributed_container", None)
        return value if own is None else own()


class SeveralReplicas(Strategy):
    """A strategy of several replicas on this machine; `MirroredStrategy` of several devices."""

    def __init__(self, devices: list[str], extended: Any = None):
        Strategy.__init__(self, extended or MirroredExtended(self, devices))
        self.number = next(_NUMBERS)
        dispatch.state.variable_maker = variable_in_force

    first_replica = 0  # the number of the first replica of this process

    @property
    def replicas_here(self) -> int:
        """The number of replicas of this process."""
        return len(self.extended.worker_devices)

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas."""
        return self.replicas_here

    def need_all(self, what: str) -> None:
        """Raise RuntimeError inside of a replica, for work that is done once for all of them."""
        if contexts.stack and contexts.stack[-1][1] is not None:
            raise RuntimeError(
                compose(
                    "TW510",
                    f"{what}: Method requires being in cross-replica context, use "
                    "get_replica_context().merge_call()",
                )
            )

    def scope(self) -> contextlib.AbstractContextManager:
        """Return a block in which this strategy is in force; variables made inside are mirrored."""
        return self._entered()

    @contextlib.contextmanager
    def _entered(self) -> Iterator[Any]:
        self.need_all("scope")
        check_alone(self)
        context = dispatch.context
        before = context.replica
        contexts.stack.append((self, None))
        context.replica = (self.number, None)
        options.change(replicated=1)
        try:
            yield self
        finally:
            options.change(replicated=-1)
            context.replica = before
            contexts.stack.pop()

    def run(
        self, fn: Callable, args: tuple = (), kwargs: dict | None = None, options: Any = None
    ) -> Any:
        """Call `fn` in each replica, with its own part of `PerReplica` arguments."""
        if not callable(fn):
            raise TypeError(compose("TW104", f"run: {fn!r} is not callable", "a function"))
        return self.extended.call_for_each_replica(fn, args, kwargs)

    def reduce(self, reduce_op: Any, value: object, axis: int | None) -> Any:
        """Return the sum or mean of `value` over the replicas and, if `axis` says, along that
        axis."""
        self.need_all("reduce")
        return reduce_nest(reduce_op, value, axis, self.replicas_here, self.extended.cluster)

    def gather(self, value: TensorLike, axis: int) -> Any:
        """Return the replicas' values joined along `axis`."""
        self.need_all("gather")
        return gather_values(value, axis, self.extended.cluster)

    def experimental_local_results(self, value: object) -> tuple:
        """Return the values of the replicas: a tuple with one for each."""
        return local_results(value, self.replicas_here)

    def experimental_distribute_values_from_function(self, value_fn: Callable) -> Any:
        """Return ``value_fn(context)`` of each replica."""
        count, before = self.num_replicas_in_sync, self.first_replica
        numbers = range(before, before + self.replicas_here)
        found = [value_fn(ValueContext(number, count)) for number in numbers]
        return regroup(found, PerReplica, always=True)

    def experimental_distribute_dataset(self, dataset: Dataset, options: object = None) -> Any:
        """Return the dataset with each batch divided among the replicas."""
        check_options(options)
        return distribute_dataset(dataset, self.replicas_here, self.extended.cluster)

    def distribute_datasets_from_function(
        self, dataset_fn: Callable, options: object = None
    ) -> Any:
        """Return the dataset of ``dataset_fn(input_context)``, whose batches go to replicas in
        turn."""
        cluster = self.extended.cluster
        workers, own = (1, 0) if cluster is None else (cluster.count, cluster.own)
        context = InputContext(workers, own, self.num_replicas_in_sync)
        return from_function(dataset_fn, context, self.replicas_here, cluster)


def variable_in_force(args: tuple, kwargs: dict) -> DistributedVariable | None:
    """Return the variable that `tf.Variable(...)` is here; None for one of its own."""
    strategy, replica = contexts.stack[-1] if contexts.stack else (contexts.default, None)
    base = dispatch.context.base
    if not isinstance(strategy, SeveralReplicas) or (base and not base.building_function):
        return None
    if replica is None:
        with place_in_replica(None):
            return make_variable(strategy, args, kwargs)
    name = args[4] if len(args) > 4 else kwargs.get("name")
    return replica.share_variable(
        str(name or "Variable"), lambda: make_variable(strategy, args, kwargs)
    )


def devices_for(devices: Any) -> list[str]:
    """Return the devices of a mirrored strategy:
    those named, or all logical ones of this machine.
    """
    if isinstance(devices, str):
        raise value_error("TW104", f"devices: {devices!r} is a text", "a list of device names")
    named = [full_device(device) for device in devices or []]
    devices_there = list_logical_devices("GPU") or list_logical_devices("CPU")
    there = [full_device(device.name) for device in devices_there]
    if not named:
        return there
    if len(set(named)) < len(named):
        raise value_error("TW207", f"No duplicates allowed in `devices` argument: {named}")
    missing = [name for name in named if name not in there and "CPU" not in name]
    if missing and len(named) > 1:
        raise value_error(
            "TW207",
            f"MirroredStrategy: {missing[0]} is not there",
            f"some of {there}",
            "tf.config.set_logical_device_configuration makes several devices of the CPU",
        )
    return named


@export("distribute.MirroredStrategy")
class MirroredStrategy(OneReplica):
    """A replica on each device (`tf.distribute.MirroredStrategy`); by default on all there are.

    The CPU is one device, unless `tf.config.set_logical_device_configuration` divides it; replicas
    on its parts run in turn.  With one device there is one replica, and variables are plain ones.

    >>> import talweg as tf
    >>> tf.distribute.MirroredStrategy(["CPU:0"]).num_replicas_in_sync
    1
    """

    def __new__(cls, devices: Any = None, cross_device_ops: Any = None) -> Any:
        found = devices_for(devices) if cls is MirroredStrategy else []
        return object.__new__(_Several if len(found) > 1 else cls)

    def __init__(self, devices: Sequence[Any] | None = None, cross_device_ops: Any = None):
        super().__init__(devices_for(devices)[0])


class _Several(SeveralReplicas, MirroredStrategy):  # type: ignore[misc]
    """A MirroredStrategy of several devices."""

    def __init__(self, devices: list[Any] | None = None, cross_device_ops: object = None):
        SeveralReplicas.__init__(self, devices_for(devices))


_Several.__name__ = _Several.__qualname__ = "MirroredStrategy"  # what users see
