"""The strategy in force: the default one outside all scopes and runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.api.export import export
from talweg.eager.replica_contexts import Contexts, contexts, enter, strategy_in_force
from talweg.strategies.strategy import Strategy

DEFAULT = Contexts.bottom = Strategy()


@export("distribute.get_strategy")
def get_strategy() -> Any:
    """Return the strategy in whose scope or replica this runs; the default one outside all.

    >>> import talweg as tf
    >>> tf.distribute.get_strategy().num_replicas_in_sync
    1
    """
    if contexts.stack:
        return contexts.stack[-1][0]
    return contexts.default or DEFAULT


@export("distribute.has_strategy")
def has_strategy() -> bool:
    """Return whether a strategy other than the default one is in force.

    >>> import talweg as tf
    >>> tf.distribute.has_strategy()
    False
    """
    return strategy_in_force() is not None


@export("distribute.in_cross_replica_context")
def in_cross_replica_context() -> bool:
    """Return whether this runs once for all replicas: inside a `scope`, but not inside a `run`.

    >>> import talweg as tf
    >>> tf.distribute.in_cross_replica_context()
    False
    """
    if contexts.stack:
        return contexts.stack[-1][1] is None
    return contexts.default is not None


@export("distribute.get_replica_context")
def get_replica_context() -> Any:
    """Return the context of the present replica; None where code runs once for all of them.

    >>> import talweg as tf
    >>> tf.distribute.get_replica_context().replica_id_in_sync_group
    0
    """
    if contexts.stack:
        return contexts.stack[-1][1]
    return None if contexts.default is not None else DEFAULT.replica


@export("distribute.experimental_set_strategy")
def experimental_set_strategy(strategy: Any) -> None:
    """Make `strategy` the one in force where no scope says otherwise; None is the default one.

    >>> import talweg as tf
    >>> tf.distribute.experimental_set_strategy(None)
    """
    contexts.default = None if strategy is DEFAULT else strategy


def maybe_merge_call(fn: Callable, strategy: Strategy, *args: object, **kwargs: object) -> Any:
    """Call ``fn(strategy, *args)`` once for all replicas."""
    replica = get_replica_context()
    if replica is not None and replica.num_replicas_in_sync > 1:
        return replica.merge_call(fn, args, kwargs)
    with enter(strategy, None):
        return fn(strategy, *args, **kwargs)


def strategy_supports_no_merge_call() -> bool:
    """Return whether the strategy in force updates variables inside replicas; none here does."""
    return get_strategy() is None
