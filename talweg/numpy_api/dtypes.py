"""NumPy's types under its names, their promotion, and `select`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.gathering import where
from talweg.api.export import export, export_value
from talweg.api.tensors import cast
from talweg.core.dtypes import DType, as_dtype
from talweg.core.errors import value_error
from talweg.core.value import Tensor
from talweg.numpy_api.promotion import common_dtype, to_dtype

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike


@export("experimental.numpy.finfo")
def finfo(dtype: DTypeLike) -> np.finfo:
    """Return limits of a floating-point type, as `numpy.finfo` gives them.

    >>> import talweg as tf
    >>> float(tf.experimental.numpy.finfo(tf.float32).eps)
    1.1920928955078125e-07
    """
    return np.finfo(as_dtype(dtype).numpy_dtype)


@export("experimental.numpy.select")
def select(condlist: Any, choicelist: Any, default: TensorLike = 0) -> Tensor:
    """Return for each element the choice of the first condition that holds; else `default`.

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


for _name in (
    *("bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", "object_", "inexact"),
):
    export_value(getattr(np, _name), f"experimental.numpy.{_name}")
for _name, _type in {
    "int_": np.int64,
    "float_": np.float64,
    "complex_": np.complex128,
    "string_": np.bytes_,
    "unicode_": np.str_,
}.items():
    export_value(_type, f"experimental.numpy.{_name}")


@export("experimental.numpy.iinfo")
def iinfo(int_type: DTypeLike) -> np.iinfo:
    """Return limits of an integer type, as `numpy.iinfo` gives them.

    >>> import talweg as tf
    >>> tf.experimental.numpy.iinfo(tf.int8).max
    127
    """
    return np.iinfo(as_dtype(int_type).numpy_dtype)


@export("experimental.numpy.result_type")
def result_type(*arrays_and_dtypes: object) -> DType:
    """Return the dtype that arrays, numbers and dtypes have together; TypeError if there is none.

    >>> import talweg as tf
    >>> tf.experimental.numpy.result_type(tf.constant([1.0]), 1)
    tf.float32
    """
    return common_dtype(*arrays_and_dtypes)


@export("experimental.numpy.promote_types")
def promote_types(type1: DTypeLike, type2: DTypeLike) -> np.dtype:
    """Return the NumPy dtype that holds the values of two.

    >>> import talweg as tf
    >>> tf.experimental.numpy.promote_types("int32", "float32")
    dtype('float64')
    """
    return np.promote_types(to_dtype(type1).numpy_dtype, to_dtype(type2).numpy_dtype)
