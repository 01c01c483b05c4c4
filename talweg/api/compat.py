"""tf.compat: text and bytes, and questions about versions; tf.get_logger."""

from __future__ import annotations

import logging
import numbers
import os
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import export, export_value
from talweg.core.errors import type_error

if TYPE_CHECKING:
    from talweg.core.annotations import PathLike, TensorLike

export_value((bytes, str), "compat.bytes_or_text_types")
export_value((numbers.Integral, np.integer), "compat.integral_types")
export_value((numbers.Real, np.integer, np.floating), "compat.real_types")
export_value((numbers.Complex, np.number), "compat.complex_types")


@export("compat.as_bytes")
def as_bytes(bytes_or_text: str | bytes, encoding: str = "utf-8") -> bytes:
    """Return text as bytes; TypeError for what is neither text nor bytes.

    >>> import talweg as tf
    >>> tf.compat.as_bytes("a")
    b'a'
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    raise type_error("TW104", f"Expected binary or unicode string, got {bytes_or_text!r}")


@export("compat.as_str", "compat.as_text")
def as_text(bytes_or_text: str | bytes, encoding: str = "utf-8") -> str:
    """Return bytes as text; TypeError for what is neither text nor bytes.

    >>> import talweg as tf
    >>> tf.compat.as_text(b"a")
    'a'
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise type_error("TW104", f"Expected binary or unicode string, got {bytes_or_text!r}")


@export("compat.as_str_any")
def as_str_any(value: TensorLike, encoding: str = "utf-8") -> str:
    """Return bytes as text, anything else by `str`.

    >>> import talweg as tf
    >>> tf.compat.as_str_any(5)
    '5'
    """
    return value.decode(encoding) if isinstance(value, bytes) else str(value)


@export("compat.path_to_str")
def path_to_str(path: PathLike) -> Any:
    """Return a path object as text; other values as they are.

    >>> import pathlib
    >>> import talweg as tf
    >>> tf.compat.path_to_str(pathlib.PurePosixPath("a/b"))
    'a/b'
    """
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path


@export("compat.dimension_value")
def dimension_value(dimension: Any) -> int | None:
    """Return a size of a shape: dimensions are ints already.

    >>> import talweg as tf
    >>> tf.compat.dimension_value(tf.TensorShape([2, None])[0])
    2
    """
    return dimension


@export("compat.forward_compatible")
def forward_compatible(year: int, month: int, day: int) -> bool:
    """Test whether a date lies in the past, so that forward-incompatible changes may be used.

    >>> import talweg as tf
    >>> tf.compat.forward_compatible(2020, 1, 1)
    True
    """
    return date(year, month, day) < date.today()


@export("get_logger")
def get_logger() -> logging.Logger:
    """Return the logger that warnings go through; programs set its level.

    >>> import talweg as tf
    >>> tf.get_logger().setLevel("ERROR")
    """
    logger = logging.getLogger("tensorflow")
    logging.getLogger("talweg").parent = logger  # so that its level counts for ours
    return logger
