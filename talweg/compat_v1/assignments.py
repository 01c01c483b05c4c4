"""tf.compat.v1: assign, scatter_update, count_up_to: changes of variables as functions.

In a graph each gives the new value, which is computed when a session runs it.  The result of one
may be changed further: that happens after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.core.errors import type_error
from talweg.core.roles import Role
from talweg.core.value import IndexedSlices, Tensor
from talweg.eager.graph_variable import GraphVariable
from talweg.eager.variable import Variable
from talweg.graph.symbol import Symbol

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


@contextmanager
def _variable(ref: object, function: str) -> Iterator[Any]:
    """Give the variable to change; for the result of a change, its variable, after that change."""
    if type(ref) is Symbol and ref.node.prim.role is Role.WRITE:
        with ref.graph.control_dependencies([ref]):
            yield ref.node.params["variable"].variable
        return
    if not isinstance(ref, Variable):
        raise type_error("TW104", f"{function}: ref is {ref!r}", "a tf.Variable")
    yield ref


@export("compat.v1.assign")
def assign(
    ref: TensorLike,
    value: TensorLike,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Set the variable `ref` to `value`; the new value.

    validate_shape: False lets a variable made with use_resource=False change its shape.
    ValueError for a value of another shape or dtype.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     v = tf.get_variable("v", [2])
    ...     session.run(tf.assign(v, [1.0, 2.0]))
    array([1., 2.], dtype=float32)
    """
    with _variable(ref, "assign") as variable:
        plain = isinstance(variable, GraphVariable) and not variable.use_resource
        if validate_shape is False and plain:
            return variable.assign_unchecked(value, name)
        return variable.assign(value, name=name)


@export("compat.v1.assign_add")
def assign_add(
    ref: TensorLike, value: TensorLike, use_locking: bool | None = None, name: str | None = None
) -> Tensor:
    """Add `value` to the variable `ref`; the new value.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     v = tf.Variable(1.0)
    ...     session.run(v.initializer)
    ...     float(session.run(tf.assign_add(v, 2.0)))
    3.0
    """
    with _variable(ref, "assign_add") as variable:
        return variable.assign_add(value, name=name)


@export("compat.v1.assign_sub")
def assign_sub(
    ref: TensorLike, value: TensorLike, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Subtract `value` from the variable `ref`; the new value."""
    with _variable(ref, "assign_sub") as variable:
        return variable.assign_sub(value, name=name)


@export("compat.v1.count_up_to")
def count_up_to(ref: TensorLike, limit: int, name: str | None = None) -> Tensor:
    """Add 1 to an integer variable; the value before.  OutOfRangeError where that is `limit`.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     v = tf.Variable(0)
    ...     count = tf.count_up_to(v, 3)
    ...     session.run(v.initializer)
    ...     [int(session.run(count)) for _ in range(3)]
    [0, 1, 2]
    """
    with _variable(ref, "count_up_to") as variable:
        return variable.count_up_to(limit)


def _scatter(ref: object, kind: str, indices: TensorLike, updates: Any) -> Any:
    with _variable(ref, f"scatter_{kind}") as variable:
        if isinstance(variable, GraphVariable):
            return variable.scatter_rows(kind, indices, updates)
        slices = IndexedSlices(tensor(updates, variable.dtype), tensor(indices))
        return getattr(variable, f"scatter_{kind}")(slices)


@export("compat.v1.scatter_update")
def scatter_update(
    ref: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = True,
    name: str | None = None,
) -> Any:
    """Set the rows `indices` of a variable to `updates` [*indices.shape, ...]; the new value.

    InvalidArgumentError for indices out of range and updates of another shape.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     v = tf.Variable([1.0, 2.0, 3.0])
    ...     session.run(v.initializer)
    ...     session.run(tf.scatter_update(v, [0, 2], [7.0, 9.0]))
    array([7., 2., 9.], dtype=float32)
    """
    return _scatter(ref, "update", indices, updates)


@export("compat.v1.scatter_add")
def scatter_add(
    ref: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Add `updates` to the rows `indices`, once for each time a row is named; the new value."""
    return _scatter(ref, "add", indices, updates)


@export("compat.v1.scatter_sub")
def scatter_sub(
    ref: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Subtract `updates` from the rows `indices`; the new value."""
    return _scatter(ref, "sub", indices, updates)


@export("compat.v1.scatter_mul")
def scatter_mul(
    ref: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Multiply the rows `indices` by `updates`; the new value."""
    return _scatter(ref, "mul", indices, updates)


@export("compat.v1.scatter_div")
def scatter_div(
    ref: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Divide the rows `indices` by `updates`; the new value."""
    return _scatter(ref, "div", indices, updates)


@export("compat.v1.scatter_min")
def scatter_min(
    ref: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Return the smaller of the rows `indices` and `updates`; the new value."""
    return _scatter(ref, "min", indices, updates)


@export("compat.v1.scatter_max")
def scatter_max(
    ref: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Return the larger of the rows `indices` and `updates`; the new value."""
    return _scatter(ref, "max", indices, updates)


@export("compat.v1.batch_scatter_update")
def batch_scatter_update(
    ref: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = True,
    name: str | None = None,
) -> Any:
    """Set rows within each batch: indices [b..., n], updates [b..., n, ...]; the new value."""
    with _variable(ref, "batch_scatter_update") as variable:
        return variable.batch_scatter_update(IndexedSlices(updates, indices))


@export("compat.v1.scatter_nd_update")
def scatter_nd_update(
    ref: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = True,
    name: str | None = None,
) -> Tensor:
    """Set the elements or slices that rows of `indices` name; the new value.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     v = tf.Variable([1.0, 2.0, 3.0])
    ...     session.run(v.initializer)
    ...     session.run(tf.scatter_nd_update(v, [[0], [2]], [7.0, 9.0]))
    array([7., 2., 9.], dtype=float32)
    """
    with _variable(ref, "scatter_nd_update") as variable:
        return variable.scatter_nd_update(indices, updates)


@export("compat.v1.scatter_nd_add")
def scatter_nd_add(
    ref: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Add `updates` to the elements or slices that rows of `indices` name; the new value."""
    with _variable(ref, "scatter_nd_add") as variable:
        return variable.scatter_nd_add(indices, updates)


@export("compat.v1.scatter_nd_sub")
def scatter_nd_sub(
    ref: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Subtract `updates` from the elements or slices that rows of `indices` name; the new value."""
    with _variable(ref, "scatter_nd_sub") as variable:
        return variable.scatter_nd_sub(indices, updates)
