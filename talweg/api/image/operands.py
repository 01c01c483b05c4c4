"""Converts and checks the operands of image functions: images of rank 3 or 4, bounded numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import require_sizes, tensor
from talweg.api.array.shapes import shape
from talweg.core.dims import same, smallest
from talweg.core.errors import value_error

if TYPE_CHECKING:
    from talweg.core.value import Tensor


def image_tensor(image: object, function: str, most: int | None = 4) -> Any:
    """Convert `image` to a tensor of rank 3 up to `most`; ValueError for another rank, or no
    pixels.
    """
    x = tensor(image)
    if x.ndim < 3:
        raise value_error(
            "TW203", f"{function}: 'image' (shape {x.dims}) must be at least three-dimensional"
        )
    if most is not None and x.ndim > most:
        raise value_error(
            "TW203", f"{function}: 'image' (shape {x.dims}) must have either 3 or 4 dimensions"
        )
    if any(same(n, 0) for n in x.dims[-3:]):
        raise value_error("TW205", f"inner 3 dims of 'image.shape' must be > 0: {x.dims}")
    some = tuple([smallest(n, 1) for n in x.dims[-3:]])
    return require_sizes(x, some, (1, 1, 1), "inner 3 dims of 'image.shape' must be > 0")


def sizes(x: Tensor) -> list:
    """Return the dimensions of a tensor, ints where they are known and scalar tensors where not."""
    return [size if type(size) is int else shape(x)[axis] for axis, size in enumerate(x.dims)]


def check_range(lower: Any, upper: Any) -> None:
    """Raise ValueError unless 0 <= lower < upper."""
    if upper <= lower:
        raise value_error("TW207", f"upper must be > lower, got {upper} and {lower}")
    if lower < 0:
        raise value_error("TW207", f"lower must be non-negative, got {lower}")


def check_delta(max_delta: Any, most: float | None = None) -> None:
    """Raise ValueError unless 0 <= max_delta, and at most `most`."""
    if most is not None and max_delta > most:
        raise value_error("TW207", f"max_delta must be <= {most}, got {max_delta}")
    if max_delta < 0:
        raise value_error("TW207", f"max_delta must be non-negative, got {max_delta}")
