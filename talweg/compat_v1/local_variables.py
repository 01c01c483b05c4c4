"""tf.compat.v1: variables that are neither trained nor saved."""

from __future__ import annotations

from typing import Any

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.compat_v1.variable_scopes import get_variable
from talweg.compat_v1.variable_store import LOCAL_VARIABLES
from talweg.eager.variable import VariableAggregation, VariableSynchronization


@export("compat.v1.get_local_variable")
@as_it_is
def get_local_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = False,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
) -> Any:
    """`get_variable` for a variable that is local: not trained, not saved, initialized apart.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     v = tf.get_local_variable("v", initializer=1.0)
    ...     len(tf.local_variables()), len(tf.global_variables())
    (1, 0)
    """
    return get_variable(
        name,
        shape,
        dtype,
        initializer,
        regularizer,
        False,
        [*(collections or ()), LOCAL_VARIABLES],
        caching_device,
        partitioner,
        validate_shape,
        use_resource,
        custom_getter,
        constraint,
        synchronization,
        aggregation,
    )
