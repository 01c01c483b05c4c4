"""Printed forms of tensors: TensorFlow's, to the letter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core.dtypes import VARIANT, DType, integer_view, variant

if TYPE_CHECKING:
    import numpy as np

    from talweg.core.shapes import TensorShape


def numpy_text(array: Any, representation: bool = False) -> str:
    """Return the value as NumPy prints it (`str`, or `repr` without its type for scalars)."""
    array = integer_view(array)
    if array.ndim == 0:
        value = array[()]
        if isinstance(value, bytes):
            return repr(value)
        if representation and array.dtype.kind not in "c":
            value = value.item()  # TensorFlow shows the digits of the double
        return str(value)
    return repr(array) if representation else str(array)


def format_tensor(array: np.ndarray, dtype: DType) -> str:
    """Return ``tf.Tensor([1. 2.], shape=(2,), dtype=float32)``"""
    if dtype is variant:
        return f"tf.Tensor({_variant_text(array)}, shape={array.shape}, dtype={dtype.name})"
    text = numpy_text(array)
    if "\n" in text:
        text = "\n" + text
    return f"tf.Tensor({text}, shape={array.shape}, dtype={dtype.name})"


def represent_tensor(array: np.ndarray, dtype: DType) -> str:
    """Return ``<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>``"""
    if dtype is variant:
        text = _variant_text(array)
        return f"<tf.Tensor: shape={array.shape}, dtype={dtype.name}, value={text}>"
    return f"<tf.Tensor: shape={array.shape}, dtype={dtype.name}, numpy={value_text(array)}>"


def _variant_text(array: Any) -> str:
    """Return how a variant prints, or those of an array."""
    if array.dtype is VARIANT:
        return repr(array)
    texts = [f"<{type(value).__name__}>" for value in array["variant"].reshape(-1)[:3].tolist()]
    return f"[{' '.join(texts)}{'...' if array.size > 3 else ''}]"


def value_text(array: np.generic | np.ndarray) -> str:
    """Return the part after ``numpy=``: on lines of its own when it has several."""
    text = numpy_text(array, representation=True)
    return "\n" + text if "\n" in text else text


def represent_variable(name: str, shape: TensorShape, dtype: DType, array: np.generic) -> str:
    """Return ``<tf.Variable 'w:0' shape=(1,) dtype=float32, numpy=array([1.], dtype=float32)>``"""
    return f"<tf.Variable '{name}' shape={shape} dtype={dtype.name}, numpy={value_text(array)}>"
