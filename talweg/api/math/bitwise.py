"""tf.bitwise: the bits of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.api.export import export
from talweg.api.math.operands import elementwise, matching_tensors
from talweg.core.value import Tensor
from talweg.prims import bitwise as prims

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


@export("bitwise.bitwise_and")
def bitwise_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the bits that are set in both x and y.

    x, y: tensors of one integer dtype, broadcast; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.bitwise.bitwise_and([12, 7], 10)
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([8, 2], dtype=int32)>
    """
    return prims.bitwise_and(*matching_tensors(x, y))


@export("bitwise.bitwise_or")
def bitwise_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the bits that are set in x or y.

    x, y: tensors of one integer dtype, broadcast; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.bitwise.bitwise_or([12, 7], 10)
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([14, 15], dtype=int32)>
    """
    return prims.bitwise_or(*matching_tensors(x, y))


@export("bitwise.bitwise_xor")
def bitwise_xor(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the bits that are set in exactly one of x and y.

    x, y: tensors of one integer dtype, broadcast; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.bitwise.bitwise_xor([12, 7], 10)
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([ 6, 13], dtype=int32)>
    """
    return prims.bitwise_xor(*matching_tensors(x, y))


@export("bitwise.invert")
def invert(x: TensorLike, name: str | None = None) -> Tensor:
    """Flip all bits of x.

    x: a tensor of integers; InvalidArgumentError otherwise.

    >>> import talweg as tf
    >>> tf.bitwise.invert([0, 5])
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([-1, -6], dtype=int32)>
    """
    return elementwise(prims.invert, x)


@export("bitwise.left_shift")
def left_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the bits of x moved y places up; those that leave are lost.

    x, y: tensors of one integer dtype, broadcast; InvalidArgumentError otherwise.
    Amounts are held within 0 and the number of bits less one.

    >>> import talweg as tf
    >>> tf.bitwise.left_shift([1, 3], [4, 1])
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([16,  6], dtype=int32)>
    """
    return prims.left_shift(*matching_tensors(x, y))


@export("bitwise.right_shift")
def right_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the bits of x moved y places down; the sign stays.

    x, y: tensors of one integer dtype, broadcast; InvalidArgumentError otherwise.
    Amounts are held within 0 and the number of bits less one.

    >>> import talweg as tf
    >>> tf.bitwise.right_shift([16, -8], [2, 1])
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([ 4, -4], dtype=int32)>
    """
    return prims.right_shift(*matching_tensors(x, y))
