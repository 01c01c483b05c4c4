"""Converts and checks the operands of tf.linalg and tf.signal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.api.arguments import tensor
from talweg.core.value import Tensor
from talweg.eager.convert import is_tensor_like

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


def pair(a: object, b: object) -> tuple[Tensor, Tensor]:
    """Convert two operands to tensors; the second takes the dtype of the first if it can."""
    a = tensor(a)
    return a, tensor(b, hint=a.dtype)


def matching(a: TensorLike, b: TensorLike) -> tuple[Tensor, Tensor]:
    """Convert two operands to tensors; others than tensors take the other's dtype if they can."""
    hint = b.dtype if is_tensor_like(b) and not is_tensor_like(a) else None
    a = tensor(a, hint=hint)
    return a, tensor(b, hint=a.dtype)
