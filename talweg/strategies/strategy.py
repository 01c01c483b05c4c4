"""tf.distribute strategies.  Each runs one replica, on the one device there is.

`scope`, `run`, `reduce` and the rest mean what they mean in TensorFlow where one device is used, so
programs written for several replicas run; a strategy that is asked for several devices says that
there is one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from talweg.api.device import full_device
from talweg.api.export import export, look_up
from talweg.core.errors import UnimplementedError, compose
from talweg.eager.replica_contexts import check_alone, contexts, enter
from talweg.eager.replicated import Several
from talweg.eager.tensor import DEVICE
from talweg.graph import structure
from talweg.strategies.contexts import ReplicaContext, reduce_op
from talweg.strategies.datasets import check_options, distribute_dataset, from_function
from talweg.strategies.extended import StrategyExtended
from talweg.strategies.values import InputContext, ValueContext


@export("distribute.Strategy")
class Strategy:
    """Runs functions in replicas (`tf.distribute.Strategy`); here, in one.

    >>> import talweg as tf
    >>> strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    >>> with strategy.scope():
    ...     v = tf.Variable(1.0)
    >>> float(strategy.reduce("SUM", strategy.run(lambda: v + 1.0), axis=None))
    2.0
    """

    _should_use_with_coordinator = False  # work is not sent to other machines

    def __init__(self, extended: Any = None):
        self.extended = StrategyExtended(self) if extended is None else extended
        self.replica = ReplicaContext(self)

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas: 1."""
        return 1

    @property
    def cluster_resolver(self) -> Any:
        """The resolver of other machines: None, there are none."""
        return None

    def scope(self) -> contextlib.AbstractContextManager:
        """Return a block in which this strategy is in force; variables made inside belong to it."""
        return enter(self, None)

    def run(
        self, fn: Callable, args: tuple = (), kwargs: dict | None = None, options: Any = None
    ) -> Any:
        """Call `fn` in each replica; the result is the nest that the one replica returns."""
        contexts.stack.append((self, self.replica))
        try:
            return fn(*args, **(kwargs or {}))
        finally:
            contexts.stack.pop()

    def reduce(self, reduce_op: Any, value: Any, axis: int | None) -> Any:
        """Return the sum or mean of `value` over the replicas and, if `axis` says, along that
        axis."""
        return _reduce_leaf(reduce_op, value, axis)

    def gather(self, value: Any, axis: int) -> Any:
        """Return the replicas' values joined along `axis`."""
        return value

    def experimental_local_results(self, value: Any) -> tuple:
        """Return the values of the replicas on this machine."""
        return (value,)

    def unwrap(self, value: Any) -> tuple:
        """Return the values of the replicas on this machine, by an older name."""
        return self.experimental_local_results(value)

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """Return the dataset shared out among the replicas: the one has all of it."""
        return dataset

    def distribute_datasets_from_function(self, dataset_fn: Callable, options: Any = None) -> Any:
        """Return the dataset that ``dataset_fn(input_context)`` makes for the one replica."""
        return dataset_fn(InputContext())

    def experimental_distribute_values_from_function(self, value_fn: Callable) -> Any:
        """Return ``value_fn(context)`` of each replica."""
        return value_fn(ValueContext())

    def __deepcopy__(self, memo: dict) -> Strategy:
        return self


def _reduce_leaf(how: Any, value: Any, axis: int | None) -> Any:
    operation = reduce_op(how)
    if axis is None:
        return value
    reduction = look_up("reduce_sum" if operation.value == "SUM" else "reduce_mean")
    return structure.map_leaves(lambda leaf: reduction(leaf, axis=axis), value)


def _one_device(devices: Any, kind: str) -> str:
    """Return the only device of a list; UnimplementedError where there are several."""
    named = [devices] if isinstance(devices, str) else list(devices or [DEVICE])
    if len(named) > 1:
        raise UnimplementedError(
            None,
            None,
            compose(
                "TW402",
                f"{kind} was asked for {len(named)} devices, {named}; talweg runs one replica, on "
                "one device, with all its cores",
                hint=f"{kind}() without devices",
            ),
        )
    return full_device(named[0])


class OneReplica(Strategy):
    """A strategy of the user's own with one replica, on one device."""

    def __init__(self, device: str):
        super().__init__(StrategyExtended(self, device))
        self._device = None if device == DEVICE else device

    def scope(self) -> contextlib.AbstractContextManager:
        """Return a block in which this strategy is in force; variables made inside belong to it."""
        check_alone(self)
        if self._device is None:
            return enter(self, None)
        blocks = contextlib.ExitStack()
        blocks.enter_context(look_up("device")(self._device))
        blocks.enter_context(enter(self, None))
        return blocks

    def run(
        self, fn: Callable, args: tuple = (), kwargs: dict | None = None, options: Any = None
    ) -> Any:
        """Call `fn` in the replica and return its result."""
        if self._device is None:
            return super().run(fn, args, kwargs)
        with look_up("device")(self._device):
            return super().run(fn, args, kwargs)

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """Return the dataset, as one that belongs to a strategy."""
        check_options(options)
        return distribute_dataset(dataset, 1)

    def distribute_datasets_from_function(self, dataset_fn: Callable, options: Any = None) -> Any:
        """Return the dataset that ``dataset_fn(input_context)`` makes for the one replica."""
        return from_function(dataset_fn, InputContext())

    def experimental_local_results(self, value: Any) -> tuple:
        """Return the values of the replicas: a tuple of one."""
        return value.values if isinstance(value, Several) else (value,)


@export("distribute.OneDeviceStrategy")
class OneDeviceStrategy(OneReplica):
    """All on one device (`tf.distribute.OneDeviceStrategy`).

    >>> import talweg as tf
    >>> tf.distribute.OneDeviceStrategy("/cpu:0").num_replicas_in_sync
    1
    """

    def __init__(self, device: str):
        super().__init__(_one_device(device, type(self).__name__))


@export("distribute.experimental.CentralStorageStrategy")
class CentralStorageStrategy(OneReplica):
    """Variables on the CPU, a replica on each GPU: here, one replica on the CPU.

    >>> import talweg as tf
    >>> tf.distribute.experimental.CentralStorageStrategy().num_replicas_in_sync
    1
    """

    def __init__(self, compute_devices: Any = None, parameter_device: Any = None):
        super().__init__(_one_device(compute_devices, type(self).__name__))
