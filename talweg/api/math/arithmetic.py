"""tf.math: arithmetic, comparison and rounding of one or two tensors, element by element."""

from __future__ import annotations

from typing import Any

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.core.value import OPERATIONS
from talweg.prims import arithmetic


@export("math.add", "add")
def add(x: Any, y: Any, name: str | None = None) -> Any:
    """x + y, broadcast; strings are joined.

    x, y: tensors of one numeric dtype, or what converts to one.  InvalidArgumentError if the dtypes
    differ or the shapes do not broadcast.

    >>> import talweg as tf
    >>> tf.add([1, 2], 3)
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([4, 5], dtype=int32)>
    """
    return OPERATIONS["add"](x, y)


@export("math.subtract", "subtract")
def subtract(x: Any, y: Any, name: str | None = None) -> Any:
    """x - y, broadcast."""
    return OPERATIONS["subtract"](x, y)


@export("math.multiply", "multiply")
def multiply(x: Any, y: Any, name: str | None = None) -> Any:
    """x y, broadcast."""
    return OPERATIONS["multiply"](x, y)


@export("math.square", "square")
def square(x: Any, name: str | None = None) -> Any:
    """x², element by element."""
    return arithmetic.square(tensor(x))
