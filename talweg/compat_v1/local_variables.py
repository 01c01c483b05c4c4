"""tf.compat.v1: variables that are neither trained nor saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.compat_v1.variable_scopes import get_variable
from talweg.compat_v1.variable_store import LOCAL_VARIABLES
from talweg.eager.variable import VariableAggregation, VariableSynchronization

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from talweg.core.annotations import DTypeLike, ShapeLike


@export("compat.v1.get_local_variable")
@as_it_is
def get_local_variable(
    name: str,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    initializer: object = None,
    regularizer: object = None,
    trainable: bool = False,
    collections: Sequence[str] | None = None,
    caching_device: object = None,
    partitioner: object = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Callable[..., Any] | None = None,
    constraint: object = None,
    synchronization: object = VariableSynchronization.AUTO,
    aggregation: object = VariableAggregation.NONE,
) -> Any:
    """Call `get_variable` for a variable that is local: not trained, not saved, initialized apart.

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
