"""tf.__operators__: Python's operators as public functions, by which Keras 2 names its layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.core.hooks import hooks

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


@export("__operators__.add")
def add(x: TensorLike, y: TensorLike, name: str | None = None) -> Any:
    """Return ``x + y``, as the operator does it, of texts too.

    >>> import talweg as tf
    >>> int(tf.__operators__.add(tf.constant(1), 2))
    3
    """
    return hooks.add(x, y)


@export("__operators__.eq")
def eq(self: Any, other: TensorLike) -> Any:
    """Return ``self == other``, elementwise.

    >>> import talweg as tf
    >>> bool(tf.__operators__.eq(tf.constant(1), 1))
    True
    """
    return hooks.equal_operator(self, other)


@export("__operators__.ne")
def ne(self: Any, other: TensorLike) -> Any:
    """Return ``self != other``, elementwise.

    >>> import talweg as tf
    >>> bool(tf.__operators__.ne(tf.constant(1), 1))
    False
    """
    return hooks.not_equal_operator(self, other)


@export("__operators__.getitem")
def getitem(tensor: Any, slice_spec: Any, var: Any = None) -> Any:
    """Index a tensor, ``tensor[slice_spec]``; of a variable `var`, a slice that can be assigned.

    >>> import talweg as tf
    >>> int(tf.__operators__.getitem(tf.constant([1, 2]), 1))
    2
    """
    if var is not None:
        return hooks.variable_getitem(var, slice_spec)
    return hooks.getitem(tensor, slice_spec)


@export("__operators__.ragged_getitem")
def ragged_getitem(rt_input: Any, key: Any) -> Any:
    """Return ``rt_input[key]`` of a ragged tensor.

    >>> import talweg as tf
    >>> tf.__operators__.ragged_getitem(tf.ragged.constant([[1], [2, 3]]), 1).numpy().tolist()
    [2, 3]
    """
    return rt_input[key]
