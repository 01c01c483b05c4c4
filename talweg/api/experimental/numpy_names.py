"""tf.experimental.numpy, as far as Keras uses it."""

from __future__ import annotations

from typing import Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.gathering import where
from talweg.api.export import export
from talweg.api.tensors import cast
from talweg.core.dtypes import as_dtype
from talweg.core.errors import value_error


@export("experimental.numpy.finfo")
def finfo(dtype: Any) -> np.finfo:
    """Limits of a floating-point type, as `numpy.finfo` gives them.

    >>> import talweg as tf
    >>> float(tf.experimental.numpy.finfo(tf.float32).eps)
    1.1920928955078125e-07
    """
    return np.finfo(as_dtype(dtype).numpy_dtype)


@export("experimental.numpy.select")
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """For each element the choice of the first condition that holds; else `default`.

    ValueError unless there are as many conditions as choices.

    >>> import talweg as tf
    >>> x = tf.constant([1, 5, 9])
    >>> tf.experimental.numpy.select([x < 3, x < 7], [x, 10 * x]).numpy()
    array([ 1, 50,  0], dtype=int32)
    """
    if len(condlist) != len(choicelist):
        raise value_error(
            "TW204", f"{len(condlist)} conditions and {len(choicelist)} choices", "as many"
        )
    choices = [tensor(choice) for choice in choicelist]
    result = cast(default, choices[0].dtype) if choices else tensor(default)
    for condition, choice in zip(reversed(condlist), reversed(choices)):
        result = where(tensor(condition), choice, result)
    return result
