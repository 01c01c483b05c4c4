"""Tensors in messages: `tf.make_tensor_proto`, `tf.make_ndarray`, shapes.

A message says a shape and either all bytes, or some values of which the last one stands for the
rest.  What it says is checked against what it holds before anything of that size is made.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.core.dtypes import NARROW, QUANTIZED, DType, as_dtype, integer_view
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import TensorShape, as_shape
from talweg.eager.convert import to_array
from talweg.eager.tensor import EagerTensor
from talweg.interop.graph_def.messages import TensorProto

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike

_FIELDS = {
    "float32": "float_val",
    "float64": "double_val",
    "int32": "int_val",
    "uint8": "int_val",
    "int16": "int_val",
    "int8": "int_val",
    "uint16": "int_val",
    "string": "string_val",
    "complex64": "scomplex_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "complex128": "dcomplex_val",
    "float16": "half_val",
    "bfloat16": "half_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
    "qint8": "int_val",
    "quint8": "int_val",
    "qint32": "int_val",
    "qint16": "int_val",
    "quint16": "int_val",
    **dict.fromkeys(NARROW, "float8_val"),
    **dict.fromkeys(("int4", "uint4", "int2", "uint2"), "int_val"),
}
_BITS = {"half_val": np.uint16, "float8_val": np.uint8}  # fields that hold the bits of floats
MOST = 2**63 - 1  # elements a shape may have


def shape_from_proto(message: Any) -> TensorShape:
    """Return a shape from a message; ValueError for sizes below -1."""
    if message.unknown_rank:
        return TensorShape(None)
    sizes = [dim.size for dim in message.dim]
    if any(size < -1 for size in sizes):
        raise value_error("TW506", f"a shape has the sizes {sizes}", "sizes of at least -1")
    return TensorShape([None if size == -1 else size for size in sizes])


def read_values(message: Any) -> tuple[np.ndarray, tuple[int, ...]]:
    """Read (the values a message holds, flat; the shape), where one value may stand for many.

    ValueError where the two do not fit; TypeError for dtypes without values.
    """
    try:
        dtype = as_dtype(int(message.dtype))
    except TypeError:
        raise value_error("TW506", f"a tensor has the dtype number {message.dtype}") from None
    shape = shape_from_proto(message.tensor_shape)
    if not shape.is_fully_defined():
        raise value_error("TW506", f"a tensor has the shape {shape}", "a fully known shape")
    dims = shape.as_tuple()
    count = math.prod(dims)
    if count > MOST:
        raise value_error("TW506", f"a tensor has the shape {list(dims)}: {count} elements")
    field = _FIELDS.get(dtype.name)
    if field is None:
        raise type_error("TW506", f"Unsupported tensor type: {dtype.name}")
    if message.tensor_content:
        return _from_content(message.tensor_content, dtype, dims, count), dims
    return _from_values(getattr(message, field), field, dtype, count), dims


def _from_content(content: bytes, dtype: DType, dims: tuple, count: int) -> np.ndarray:
    kind = dtype.numpy_dtype
    if dtype.name == "string" or len(content) != count * kind.itemsize:
        raise value_error(
            "TW506",
            f"a tensor of shape {list(dims)} and dtype {dtype.name} holds {len(content)} bytes",
            "as many bytes as its elements take",
        )
    return np.frombuffer(content, kind).copy()


def _from_values(given: Any, field: str, dtype: DType, count: int) -> np.ndarray:
    kind = dtype.numpy_dtype
    if field in _BITS:
        bits = given if field == "half_val" else list(given)
        values = np.array(bits, np.int64).astype(_BITS[field]).view(kind)
    elif dtype.is_complex:
        parts = np.array(given, kind.type(0).real.dtype)
        if parts.size % 2:
            raise value_error("TW506", "a complex tensor holds half a number")
        values = parts.view(kind)
    elif dtype.name == "string":
        values = np.empty(len(given), object)
        values[:] = list(given)
    else:
        values = np.array(given, np.uint64 if dtype.name == "uint64" else None).astype(kind)
    if len(values) > count:
        raise value_error(
            "TW506", f"a tensor holds {len(values)} values, and its shape has {count} elements"
        )
    if len(values) == 0:
        values = np.full(min(count, 1), b"" if dtype.name == "string" else 0, kind)
    return values


def fill_shape(values: np.ndarray, dims: tuple) -> np.ndarray:
    """Return the array of a shape, the last value repeated where values are missing."""
    count = math.prod(dims)
    if len(values) < count:
        whole = np.empty(count, values.dtype)
        whole[: len(values)] = values
        whole[len(values) :] = values[-1]
        values = whole
    return values.reshape(dims)


@export("make_ndarray", "compat.v1.make_ndarray")
@as_it_is
def make_ndarray(tensor: object) -> np.ndarray:
    """Return the array of a `TensorProto`.

    ValueError if what it holds does not fit its shape, TypeError for a dtype without values.

    >>> import talweg as tf
    >>> tf.make_ndarray(tf.make_tensor_proto([[1, 2], [3, 4]]))
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    return fill_shape(*read_values(tensor))


@export("make_tensor_proto", "compat.v1.make_tensor_proto")
@as_it_is
def make_tensor_proto(
    values: TensorLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> Any:
    """Return a `TensorProto` of an array, number, list or eager tensor.

    Several numbers are bytes (`tensor_content`).  A single one, booleans, complex numbers and
    strings stand in the field of their dtype (`float_val`, ...), and so do values that do not fill
    `shape`: the last one stands for the rest.

    TypeError for values of another dtype, or if `verify_shape` and the shape is another one.
    ValueError for more values than that; TypeError for fewer with `allow_broadcast`, unless there
    is just one.

    >>> import talweg as tf
    >>> tf.make_tensor_proto([1.0, 2.0]).dtype == tf.float32.as_datatype_enum
    True
    """
    if isinstance(values, TensorProto):
        return values
    given = None if dtype is None else as_dtype(dtype)
    if isinstance(values, EagerTensor):
        array = np.asarray(values._array)
    elif given in QUANTIZED:
        array = np.array(values, given.numpy_dtype)  # where tuples may stand for elements
    else:
        try:
            array = np.asarray(to_array(values, given))
        except ValueError as error:
            if values is None or "non-rectangular" in str(error):
                raise
            raise TypeError(*error.args) from None  # values of no dtype, as TensorFlow has it here
    if shape is None:
        return array_to_proto(array, given)
    wanted = as_shape(shape).as_tuple()
    if verify_shape and array.shape != wanted:
        raise type_error("TW205", f"Expected Tensor's shape: {wanted}, but got {array.shape}.")
    count = math.prod(wanted)
    if count == array.size:
        return array_to_proto(array.reshape(wanted), given)
    if allow_broadcast and array.size != 1:
        text = f"{array.size} values were given for a tensor of shape {list(wanted)}"
        raise type_error("TW205", text, "as many, or one")
    if array.size > count > 0:
        text = f"{array.size} values were given for a tensor of shape {list(wanted)}"
        raise value_error("TW205", text)
    return _message(array.reshape(-1)[:count], given, wanted, whole=False)


def array_to_proto(array: np.ndarray, dtype: DType | None = None) -> Any:
    """Return an array as a message: numbers of several elements as bytes, all else as values."""
    return _message(array, dtype, array.shape, whole=True)


def _message(array: np.ndarray, dtype: DType | None, dims: tuple, whole: bool) -> Any:
    """Make the message of a tensor of shape `dims`; the last value stands for more if not
    `whole`.
    """
    dtype = as_dtype(array.dtype) if dtype is None else dtype
    message = TensorProto()
    message.dtype = dtype.as_datatype_enum
    message.tensor_shape.CopyFrom(TensorShape(dims).as_proto())
    if dtype.name == "string":
        message.string_val.extend(
            [x.encode() if isinstance(x, str) else bytes(x) for x in array.reshape(-1)]
        )
        return message
    field, flat = _FIELDS[dtype.name], np.ascontiguousarray(array).reshape(-1)
    if dtype.is_integer and dtype.name in NARROW:
        getattr(message, field).extend(list(map(int, integer_view(flat))))
    elif whole and array.size > 1 and not (dtype.is_bool or dtype.is_complex):
        message.tensor_content = flat.tobytes()
    elif field == "float8_val":
        message.float8_val = flat.tobytes()
    elif field == "half_val":
        message.half_val.extend(flat.view(np.uint16).tolist())
    else:
        values = integer_view(flat)
        values = values.view(values.real.dtype) if dtype.is_complex else values
        getattr(message, field).extend(values.tolist())
    return message
