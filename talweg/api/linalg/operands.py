"""How the functions of tf.linalg and tf.signal take their operands."""

from __future__ import annotations

from typing import Any

from talweg.api.arguments import tensor
from talweg.core.value import Tensor


def pair(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    """Two operands as tensors; the second takes the dtype of the first if it can."""
    a = tensor(a)
    return a, tensor(b, hint=a.dtype)
