"""tf.compat.v1.Dimension: one size of a shape, which may be unknown; and the version numbers."""

from __future__ import annotations

from typing import Any

from talweg.api.export import export, export_value
from talweg.core.dimension import Dimension
from talweg.core.version import VERSION

export_value(VERSION, "compat.v1.VERSION")
export_value("unknown", "compat.v1.GIT_VERSION")
export_value("unknown", "compat.v1.COMPILER_VERSION")


export("compat.v1.Dimension")(Dimension)


@export("compat.v1.dimension_value")
def dimension_value(dimension: Any) -> int | None:
    """Return the size of a Dimension; other sizes as they are.

    >>> import talweg.compat.v1 as tf
    >>> tf.dimension_value(tf.Dimension(3)), tf.dimension_value(None)
    (3, None)
    """
    return dimension.value if isinstance(dimension, Dimension) else dimension


@export("compat.v1.dimension_at_index", "compat.dimension_at_index")
def dimension_at_index(shape: Any, index: int) -> Dimension:
    """Return one size of a TensorShape; unknown if the rank is.

    >>> import talweg as T
    >>> T.compat.v1.dimension_at_index(T.TensorShape([2, None]), 0)
    Dimension(2)
    """
    return Dimension(None if shape.rank is None else shape[index])
