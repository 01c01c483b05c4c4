"""Conversion of numbers to pixels for the writers of images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from talweg.core.errors import compose

if TYPE_CHECKING:
    from talweg.core.dtypes import DType


def as_bytes(images: np.ndarray) -> np.ndarray:
    """Return images as uint8: floats in [0, 1] and the whole range of integers become 0 to 255."""
    kind, limit = images.dtype, 255
    if kind == np.uint8:
        return images
    if kind.kind in "iu":
        most = int(np.iinfo(kind).max)
        if most > limit:
            return np.clip(images // ((most + 1) >> 8), 0, limit).astype(np.uint8)
        return np.clip(images, 0, limit).astype(np.uint8) * np.uint8((limit + 1) // (most + 1))
    wide = images if kind.itemsize > 2 else images.astype(np.float32)
    scaled = np.clip(wide * wide.dtype.type(limit + 0.5), 0, limit)
    return np.where(np.isnan(scaled), 0, scaled).astype(np.uint8)


def stretch_range(image: np.ndarray) -> np.ndarray:
    """Return a float image as uint8, scaled so that its extreme is seen; zero is black, or 128 if
    there are negative values.  Pixels that are not finite become red.
    """
    finite = np.isfinite(image)
    least = float(image.min(initial=np.inf, where=finite))
    most = float(image.max(initial=-np.inf, where=finite))
    extreme, room, offset = most, 255.0, 0.0
    if least < 0:
        extreme, room, offset = max(abs(least), abs(most)), 127.0, 128.0
    scale = 0.0 if not extreme >= 1e-6 else room / extreme
    kind = image.dtype.type
    red = np.array([255, 0, 0, 255], np.uint8)[: image.shape[-1]]
    good = np.all(finite, -1, keepdims=True)
    values = np.where(good, image, 0) * kind(scale) + kind(offset)
    return np.where(good, values.astype(np.uint8), red)


def check_dtype_of_image(dtype: DType) -> None:
    """Raise AttributeError for images of neither floats nor integers, as in TensorFlow."""
    if not (dtype.is_floating or dtype.is_integer):
        text = f"image dtype must be either floating point or integer, got {dtype.name}"
        raise AttributeError(compose("TW102", text))
