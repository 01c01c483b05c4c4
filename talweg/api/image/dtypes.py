"""Images in other dtypes: floats from 0 to 1, integers over the whole of their range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.export import export
from talweg.api.tensors import cast, saturate_cast
from talweg.core.dtypes import as_dtype
from talweg.core.errors import type_error
from talweg.core.value import Tensor

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike


@export("image.convert_image_dtype")
def convert_image_dtype(
    image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Return an image in another dtype, its numbers scaled to the range of that dtype.

    Floats go from 0 to 1, integers from 0 to their maximum.  saturate: clip what is outside.
    TypeError for other dtypes.

    >>> import talweg as tf
    >>> tf.image.convert_image_dtype([0.0, 0.5, 1.0], tf.uint8).numpy()
    array([  0, 127, 255], dtype=uint8)
    """
    x, dtype = tensor(image), as_dtype(dtype)
    if not (dtype.is_floating or dtype.is_integer):
        raise type_error("TW102", f"dtype {dtype.name} of an image", "floats or integers")
    if dtype is x.dtype:
        return x
    fit = saturate_cast if saturate else cast
    if x.dtype.is_integer and dtype.is_integer:
        return _between_integers(x, dtype, saturate)
    if x.dtype.is_floating and dtype.is_floating:
        return fit(x, dtype)
    if x.dtype.is_integer:
        converted = cast(x, dtype)
        return fit(converted * (1.0 / x.dtype.max), dtype)
    return fit(x * (dtype.max + 0.5), dtype)  # so that 1.0 is the largest, and intervals are equal


def _between_integers(x: Tensor, dtype: DTypeLike, saturate: bool) -> Any:
    own, wanted = int(x.dtype.max), int(dtype.max)
    if own > wanted:
        scaled = x // ((own + 1) // (wanted + 1))
        return saturate_cast(scaled, dtype) if saturate else cast(scaled, dtype)
    factor = (wanted + 1) // (own + 1)
    wide = saturate_cast(x, dtype) if saturate else cast(x, dtype)
    return wide * factor
