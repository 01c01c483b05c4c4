"""tf.math: comparisons, logic, the larger and the smaller, and whether a tensor is in order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.api.math.operands import matching, numeric
from talweg.core.dims import largest
from talweg.core.dtypes import bool_
from talweg.core.value import Tensor
from talweg.eager import operators
from talweg.eager.convert import is_tensor_like
from talweg.prims import arithmetic
from talweg.prims.layout import reshape, strided_slice
from talweg.prims.reduce import reduce_all

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


@export("math.equal", "equal")
def equal(x: object, y: object, name: str | None = None) -> Tensor:
    """Return x = y, element by element, broadcast.  NaN equals nothing.

    x, y: tensors of one dtype, any; InvalidArgumentError if dtypes or shapes do not match,
    TypeError for what cannot have the dtype of the tensor beside it.

    >>> import talweg as tf
    >>> tf.equal([1, 2, 3], [3, 2, 1])
    <tf.Tensor: shape=(3,), dtype=bool, numpy=array([False,  True, False])>
    """
    return arithmetic.equal(*matching(x, y))


@export("math.not_equal", "not_equal")
def not_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x ≠ y, element by element, broadcast.  NaN differs from everything.

    x, y: tensors of one dtype, any; InvalidArgumentError if dtypes or shapes do not match,
    TypeError for what cannot have the dtype of the tensor beside it.

    >>> import talweg as tf
    >>> tf.not_equal([1, 2, 3], [3, 2, 1])
    <tf.Tensor: shape=(3,), dtype=bool, numpy=array([ True, False,  True])>
    """
    return arithmetic.not_equal(*matching(x, y))


@export("math.less", "less")
def less(x: object, y: object, name: str | None = None) -> Tensor:
    """Return x < y, element by element, broadcast.

    x, y: tensors of one real dtype; InvalidArgumentError if dtypes or shapes do not match,
    TypeError for what cannot have the dtype of the tensor beside it.

    >>> import talweg as tf
    >>> tf.less([1, 2, 3], [3, 2, 1])
    <tf.Tensor: shape=(3,), dtype=bool, numpy=array([ True, False, False])>
    """
    return arithmetic.less(*matching(x, y))


@export("math.less_equal", "less_equal")
def less_equal(x: object, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x <= y, element by element, broadcast.

    x, y: tensors of one real dtype; InvalidArgumentError if dtypes or shapes do not match,
    TypeError for what cannot have the dtype of the tensor beside it.

    >>> import talweg as tf
    >>> tf.less_equal([1, 2, 3], [3, 2, 1])
    <tf.Tensor: shape=(3,), dtype=bool, numpy=array([ True,  True, False])>
    """
    return arithmetic.less_equal(*matching(x, y))


@export("math.greater", "greater")
def greater(x: object, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x > y, element by element, broadcast.

    x, y: tensors of one real dtype; InvalidArgumentError if dtypes or shapes do not match,
    TypeError for what cannot have the dtype of the tensor beside it.

    >>> import talweg as tf
    >>> tf.greater([1, 2, 3], [3, 2, 1])
    <tf.Tensor: shape=(3,), dtype=bool, numpy=array([False, False,  True])>
    """
    return arithmetic.greater(*matching(x, y))


@export("math.greater_equal", "greater_equal")
def greater_equal(x: object, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x >= y, element by element, broadcast.

    x, y: tensors of one real dtype; InvalidArgumentError if dtypes or shapes do not match,
    TypeError for what cannot have the dtype of the tensor beside it.

    >>> import talweg as tf
    >>> tf.greater_equal([1, 2, 3], [3, 2, 1])
    <tf.Tensor: shape=(3,), dtype=bool, numpy=array([False,  True,  True])>
    """
    return arithmetic.greater_equal(*matching(x, y))


@export("math.maximum", "maximum")
def maximum(x: object, y: object, name: str | None = None) -> Tensor:
    """Return the larger of x and y, element by element, broadcast; NaN wins.

    x, y: tensors of one real dtype; InvalidArgumentError if dtypes or shapes do not match,
    TypeError for what cannot have the dtype of the tensor beside it.
    Where they are equal the derivative goes to x.

    >>> import talweg as tf
    >>> tf.maximum([1.0, -2.0], 0.0)
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 0.], dtype=float32)>
    """
    return arithmetic.maximum(*matching(x, y))


@export("math.minimum", "minimum")
def minimum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the smaller of x and y, element by element, broadcast; NaN wins.

    x, y: tensors of one real dtype; InvalidArgumentError if dtypes or shapes do not match,
    TypeError for what cannot have the dtype of the tensor beside it.
    Where they are equal the derivative goes to x.

    >>> import talweg as tf
    >>> tf.minimum([1.0, -2.0], 0.0)
    <tf.Tensor: shape=(2,), dtype=float32, numpy=array([ 0., -2.], dtype=float32)>
    """
    return arithmetic.minimum(*matching(x, y))


def _truths(*values: object) -> list:
    """Return the operands, bool unless they are tensors of something else."""
    return [tensor(value, None if is_tensor_like(value) else bool_) for value in values]


@export("math.logical_and", "logical_and")
def logical_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return whether both x and y are true.

    x, y: tensors of bool, broadcast; InvalidArgumentError for tensors of other dtypes, TypeError
    for what cannot become bool.

    >>> import talweg as tf
    >>> tf.logical_and([True, True, False], [True, False, False])
    <tf.Tensor: shape=(3,), dtype=bool, numpy=array([ True, False, False])>
    """
    return arithmetic.logical_and(*_truths(x, y))


@export("math.logical_or", "logical_or")
def logical_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return whether x or y or both are true.

    x, y: tensors of bool, broadcast; InvalidArgumentError for tensors of other dtypes, TypeError
    for what cannot become bool.

    >>> import talweg as tf
    >>> tf.logical_or([True, True, False], [True, False, False])
    <tf.Tensor: shape=(3,), dtype=bool, numpy=array([ True,  True, False])>
    """
    return arithmetic.logical_or(*_truths(x, y))


@export("math.logical_xor")
def logical_xor(x: TensorLike, y: TensorLike, name: str | None = "LogicalXor") -> Tensor:
    """Return whether exactly one of x and y is true.

    x, y: tensors of bool, broadcast; InvalidArgumentError for tensors of other dtypes, TypeError
    for what cannot become bool.

    >>> import talweg as tf
    >>> tf.math.logical_xor([True, True, False], [True, False, False])
    <tf.Tensor: shape=(3,), dtype=bool, numpy=array([False,  True, False])>
    """
    return operators.logical_xor(*_truths(x, y))


@export("math.logical_not", "logical_not")
def logical_not(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether x is false.

    x: a tensor of bool; InvalidArgumentError for tensors of other dtypes, TypeError for what cannot
    become bool.

    >>> import talweg as tf
    >>> tf.logical_not([True, False])
    <tf.Tensor: shape=(2,), dtype=bool, numpy=array([False,  True])>
    """
    return arithmetic.logical_not(tensor(x, None if is_tensor_like(x) else bool_))


def _neighbours(x: object, function: str) -> tuple[Any, Any]:
    """Return all elements but the last, all but the first, in row-major order."""
    x = numeric(x, function, "x")
    size = math.prod(x.dims)
    x = reshape(x, shape=(size,))
    last = largest(size - 1, 0)
    return (
        strided_slice(x, begin=(0,), end=(last,), strides=(1,)),
        strided_slice(x, begin=(size - last,), end=(size,), strides=(1,)),
    )


@export("math.is_non_decreasing")
def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether no element, in row-major order, is smaller than the one before it.  A scalar
    bool.

    x: a tensor of real numbers; TypeError for truth values and strings.

    >>> import talweg as tf
    >>> tf.math.is_non_decreasing([1, 2, 2])
    <tf.Tensor: shape=(), dtype=bool, numpy=True>
    """
    earlier, later = _neighbours(x, "is_non_decreasing")
    return reduce_all(arithmetic.less_equal(earlier, later), axes=(0,), keepdims=False)


@export("math.is_strictly_increasing")
def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether each element, in row-major order, is larger than the one before it.  A scalar
    bool.

    x: a tensor of real numbers; TypeError for truth values and strings.

    >>> import talweg as tf
    >>> tf.math.is_strictly_increasing([1, 2, 2])
    <tf.Tensor: shape=(), dtype=bool, numpy=False>
    """
    earlier, later = _neighbours(x, "is_strictly_increasing")
    return reduce_all(arithmetic.less(earlier, later), axes=(0,), keepdims=False)
