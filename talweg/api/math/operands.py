"""Converts and checks the operands of tf.math."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.core.errors import type_error
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.operators import matching, matching_tensors
from talweg.eager.tensor import EagerTensor

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


def elementwise(function: Callable[[Any], Any], x: TensorLike) -> Any:
    """Compute `function` of `x` as a tensor."""
    return function(x if type(x) is EagerTensor else convert_to_tensor(x))


def keeping_zeros(function: Callable[[Any], Any], x: Any) -> Any:
    """Compute `function`, which is 0 at 0, of `x` as a tensor, or of the values of a sparse
    tensor.
    """
    if type(x) is not EagerTensor:
        if hasattr(x, "with_values"):
            return x.with_values(keeping_zeros(function, x.values))
        x = convert_to_tensor(x)
    return function(x)


def flag(value: bool | None, function: str, argument: str) -> bool:
    """Convert `value` to a truth value; None is false, TypeError for values neither true nor
    false.
    """
    if type(value) is bool:
        return value
    try:
        return bool(value)
    except ValueError:
        raise type_error(
            "TW104", f"{function}: {argument}={value!r} is neither true nor false"
        ) from None


def numeric(x: object, function: str, argument: str) -> Tensor:
    """Convert `x` to a tensor of numbers; TypeError for truth values and strings."""
    x = convert_to_tensor(x)
    if not x.dtype.is_numeric:
        raise type_error("TW102", f"{function}: {argument} has dtype {x.dtype.name}", "numbers")
    return x


__all__ = ["elementwise", "flag", "keeping_zeros", "matching", "matching_tensors", "numeric"]
