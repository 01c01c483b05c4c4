"""Strategy.extended: what libraries (Keras's optimizers) ask of a strategy; one replica."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.core.errors import value_error
from talweg.eager.replica_contexts import contexts, enter
from talweg.eager.tensor import DEVICE
from talweg.strategies.contexts import reduce_op

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


@export("distribute.StrategyExtended")
class StrategyExtended:
    """More of a strategy (`tf.distribute.StrategyExtended`): `strategy.extended`.

    >>> import talweg as tf
    >>> extended = tf.distribute.get_strategy().extended
    >>> float(extended.update(tf.Variable(1.0), lambda v, x: v.assign_add(x), args=(2.0,)))
    3.0
    """

    experimental_require_static_shapes = False
    _global_batch_size = True  # a dataset's batches are those of all replicas; Keras 2 asks

    def __init__(self, strategy: object, device: str = DEVICE):
        self.container_strategy = strategy
        self._device = device

    @property
    def worker_devices(self) -> tuple:
        """The devices that run replicas."""
        return (self._device,)

    @property
    def parameter_devices(self) -> tuple:
        """The devices that hold variables."""
        return (self._device,)

    @contextlib.contextmanager
    def colocate_vars_with(self, colocate_with_variable: Any) -> Iterator[None]:
        """Return a context whose variables lie where the given one does: there is one place."""
        yield

    def update(
        self,
        var: object,
        fn: Callable,
        args: tuple = (),
        kwargs: dict | None = None,
        group: bool = True,
    ) -> Any:
        """Call ``fn(var, *args, **kwargs)``; without `group`, a tuple of each replica's result."""
        outside = contexts.stack and contexts.stack[-1][1] is None
        with contextlib.nullcontext() if outside else enter(self.container_strategy, None):
            result = fn(var, *args, **(kwargs or {}))
        return result if group else (result,)

    def reduce_to(
        self, reduce_op: object, value: TensorLike, destinations: object, options: object = None
    ) -> Any:
        """Return the sum or mean of `value` over the replicas."""
        return _check_reduction(reduce_op, value)

    def batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Any, options: object = None):
        """Call `reduce_to` for many."""
        return [_check_reduction(reduce_op, value) for value, _ in value_destination_pairs]

    def call_for_each_replica(
        self, fn: Callable, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        """Call `fn` in the replica."""
        return self.container_strategy.run(fn, args, kwargs)

    def variable_created_in_scope(self, v: TensorLike) -> bool:
        """Return whether a variable belongs to this strategy: all do."""
        return True

    def value_container(self, value: object) -> Any:
        """Return the container of a replica's value: the value."""
        return value

    def read_var(self, v: Any) -> Any:
        """Return the value of a variable."""
        return v.read_value()

    def _in_multi_worker_mode(self) -> bool:
        return False


def _check_reduction(how: object, value: object) -> Any:
    try:
        reduce_op(how)
    except ValueError:
        raise value_error("TW207", f"reduce_op {how!r} is not known", "'SUM' or 'MEAN'") from None
    return value
